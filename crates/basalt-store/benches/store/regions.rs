// SPDX-License-Identifier: Apache-2.0
//! How long does a database of 1,000 regions take to open, and what does a region take of memory before anybody asked it and after?

use std::path::Path;
use std::time::Instant;

use basalt_model::{FamilyDescriptor, Get, LATEST_TIMESTAMP, TableDescriptor, TableName, WriteBatch};
use basalt_store::{Database, Durability, OpenOptions, Result};
use bytes::Bytes;

use crate::allocations::live;
use crate::figures::Figures;

const REGIONS: u32 = 1_000;
const ROWS_OF_REGION: u32 = 100;

pub(crate) fn measure(dir: &Path, figures: &mut Figures) -> Result<()> {
    let path = dir.join("regions.db");
    create(&path)?;
    let before = live();
    let started = Instant::now();
    let db = Database::open(&path, OpenOptions::default())?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    let at_rest = live() - before;
    let table = db.open_table(&TableName::in_default("t"))?;
    for region in 0..REGIONS {
        assert!(table.get(&Get::new(key(region, 0)))?.value(b"f", b"q").is_some());
    }
    let asked = live() - before;
    db.close()?;
    let each = |bytes: usize| format!("{:.1} kB", bytes as f64 / f64::from(REGIONS) / 1e3);
    figures.title(&["1,000 regions, each a store file", ""]);
    figures.row(&["opened in".to_owned(), format!("{open_ms:.1} ms")]);
    figures.row(&["memory of a region at rest".to_owned(), each(at_rest)]);
    figures
        .row(&["memory of a region of which a row was read, its block in the cache".to_owned(), each(asked)]);
    Ok(())
}

fn key(region: u32, row: u32) -> Vec<u8> {
    format!("{region:06}-{row:06}").into_bytes()
}

fn create(path: &Path) -> Result<()> {
    let db = Database::open(path, OpenOptions::create())?;
    let descriptor = TableDescriptor::new(TableName::in_default("t")).family(FamilyDescriptor::new("f"));
    let splits: Vec<Bytes> = (1..REGIONS).map(|region| key(region, 0).into()).collect();
    let table = db.create_table_split(descriptor, &splits)?;
    for region in 0..REGIONS {
        let mut batch = WriteBatch::new();
        for row in 0..ROWS_OF_REGION {
            let mut builder = batch.row(table, &key(region, row)).expect("the key is valid");
            builder.put(b"f", b"q", LATEST_TIMESTAMP, &[row as u8; 32]).expect("the cell is valid");
            builder.finish();
        }
        db.write(batch, Durability::Async)?;
    }
    db.flush(None)?;
    db.close()
}
