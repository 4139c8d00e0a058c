// SPDX-License-Identifier: Apache-2.0
//! How long does a database take to open after a crash that left 256 MiB of log? Rows of 100 bytes under random keys, in
//! batches of 100; of one region and of eight, with memory for all of them and with so little that they are flushed on the way.
//! The crash is a copy of manifest and log, made while the database is open.

use std::fs;
use std::path::Path;
use std::time::Instant;

use basalt_model::{FamilyDescriptor, LATEST_TIMESTAMP, TableDescriptor, TableId, TableName, WriteBatch};
use basalt_store::{Database, Durability, OpenOptions, Result};
use bytes::Bytes;

use crate::allocations::{live, peak_of};
use crate::figures::{Figures, processor_time};

const LOG_BYTES: u64 = 256 << 20;
const BATCH_ROWS: u64 = 100;
const RUNS: usize = 3;

pub(crate) fn measure(dir: &Path, figures: &mut Figures) -> Result<()> {
    figures.title(&["opening after a crash", "s", "MiB/s", "MiB per core-second", "MiB of memory, at most"]);
    for (regions, memory_bytes) in [(1, 4 << 30), (8, 4 << 30), (8, 256 << 20)] {
        let path = dir.join(format!("recovery-{regions}.db"));
        let crashed = dir.join("crashed.db");
        write(&path, &crashed, regions)?;
        let mut best: Option<[f64; 3]> = None;
        for _ in 0..RUNS {
            let found = open_copy(&crashed, &dir.join("opened.db"), memory_bytes)?;
            best = Some(best.map_or(found, |best| if found[0] < best[0] { found } else { best }));
        }
        let [seconds, core_seconds, peak] = best.expect("it ran at least once");
        let mib = (LOG_BYTES >> 20) as f64;
        figures.row(&[
            format!("{mib:.0} MiB of log, regions: {regions}, memory {} MiB", memory_bytes >> 20),
            format!("{seconds:.2}"),
            format!("{:.0}", mib / seconds),
            format!("{:.0}", mib / core_seconds),
            format!("{peak:.0}"),
        ]);
        fs::remove_dir_all(&crashed).expect("the copy can be removed");
    }
    Ok(())
}

/// Writes the rows and copies what a crash would leave.
fn write(path: &Path, crashed: &Path, regions: u64) -> Result<()> {
    let options =
        OpenOptions { memory_bytes: 8 << 30, memtable_bytes: Some(8 << 30), ..OpenOptions::create() };
    let db = Database::open(path, options)?;
    let descriptor = TableDescriptor::new(TableName::in_default("t")).family(FamilyDescriptor::new("f"));
    let splits: Vec<Bytes> = (1..regions).map(|i| Bytes::from(vec![(i * 256 / regions) as u8])).collect();
    let table = db.create_table_split(descriptor, &splits)?;
    let mut row = 0;
    while db.metrics().wal_bytes < LOG_BYTES {
        db.write(batch(table, row), Durability::Async)?;
        row += BATCH_ROWS;
    }
    db.write(batch(table, row), Durability::Sync)?;
    copy(path, crashed);
    db.close()?;
    fs::remove_dir_all(path).expect("the database can be removed");
    Ok(())
}

fn batch(table: TableId, first: u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for row in first..first + BATCH_ROWS {
        // Fibonacci hashing: no two rows have one key.
        let key = row.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let mut builder = batch.row(table, &[key, row.to_be_bytes()].concat()).expect("the key is valid");
        builder.put(b"f", b"q", LATEST_TIMESTAMP, &[row as u8; 84]).expect("the cell is valid");
        builder.finish();
    }
    batch
}

/// The manifest and the log; nothing was flushed.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to.join("wal")).expect("the copy has room");
    for dir in ["", "wal"] {
        for entry in fs::read_dir(from.join(dir)).expect("the database is there").flatten() {
            if entry.file_type().is_ok_and(|found| found.is_file()) {
                fs::copy(entry.path(), to.join(dir).join(entry.file_name())).expect("the copy has room");
            }
        }
    }
}

/// Seconds, core-seconds, and MiB of memory at most.
fn open_copy(crashed: &Path, opened: &Path, memory_bytes: u64) -> Result<[f64; 3]> {
    copy(crashed, opened);
    let options = OpenOptions { memory_bytes, memtable_bytes: Some(memory_bytes), ..OpenOptions::default() };
    let before = live();
    let (started, processor) = (Instant::now(), processor_time());
    let (peak, db) = peak_of(|| Database::open(opened, options));
    let (elapsed, processor) = (started.elapsed(), processor_time() - processor);
    db?.close()?;
    let peak = (peak - before) as f64 / f64::from(1 << 20);
    Ok([elapsed.as_secs_f64(), processor.as_secs_f64(), peak])
}
