// SPDX-License-Identifier: Apache-2.0
//! How long do writers wait while more is written than the disk takes? Four threads write batches of 20 rows of a kilobyte under random keys as
//! fast as they can, acknowledged before they are on disk, so that no sync of the log is among the pauses.

use std::path::Path;
use std::time::{Duration, Instant};

use basalt_model::{FamilyDescriptor, LATEST_TIMESTAMP, TableDescriptor, TableId, TableName, WriteBatch};
use basalt_store::{Database, Durability, OpenOptions, Result};

use crate::figures::Figures;

const WRITERS: u64 = 4;
const BATCH_ROWS: u64 = 20;
const WRITTEN_BYTES: u64 = 1 << 30;
const ROW_BYTES: u64 = 1 << 10;

pub(crate) fn measure(dir: &Path, figures: &mut Figures) -> Result<()> {
    let options = OpenOptions { memory_bytes: 128 << 20, ..OpenOptions::create() };
    let db = Database::open(&dir.join("pauses.db"), options)?;
    let descriptor = TableDescriptor::new(TableName::in_default("t")).family(FamilyDescriptor::new("f"));
    let table = db.create_table(descriptor)?;
    let started = Instant::now();
    let written: Result<Vec<Vec<Duration>>> = std::thread::scope(|scope| {
        let writer = |number| {
            scope.spawn({
                let db = &db;
                move || write(db, table, number)
            })
        };
        let writers: Vec<_> = (0..WRITERS).map(writer).collect();
        writers.into_iter().map(|writer| writer.join().expect("no writer panics")).collect()
    });
    let mut pauses = written?.concat();
    let rate = (WRITTEN_BYTES >> 20) as f64 / started.elapsed().as_secs_f64();
    let metrics = db.metrics();
    db.close()?;
    pauses.sort_unstable();
    let at = |part: f64| pauses[((pauses.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    figures.title(&[
        "a flood of writes, 1 GiB with 128 MiB of memory",
        "MiB/s",
        "slowed down",
        "stopped",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "longest ms",
    ]);
    figures.row(&[
        format!("{WRITERS} writers, batches of {BATCH_ROWS} rows of 1 KiB"),
        format!("{rate:.0}"),
        metrics.slowed_writes.to_string(),
        metrics.stalled_writes.to_string(),
        format!("{:.2}", at(0.5)),
        format!("{:.1}", at(0.99)),
        format!("{:.1}", at(0.999)),
        format!("{:.1}", at(1.0)),
    ]);
    Ok(())
}

/// How long each call took.
fn write(db: &Database, table: TableId, number: u64) -> Result<Vec<Duration>> {
    let rows = WRITTEN_BYTES / ROW_BYTES / WRITERS;
    let mut times = Vec::with_capacity((rows / BATCH_ROWS) as usize + 1);
    for first in (0..rows).step_by(BATCH_ROWS as usize) {
        let mut batch = WriteBatch::new();
        for row in first..first + BATCH_ROWS {
            // Fibonacci hashing: no two rows have one key.
            let key = (number << 32 | row).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            let mut builder = batch.row(table, &key).expect("the key is valid");
            let value = [key[0]; ROW_BYTES as usize - 8];
            builder.put(b"f", b"q", LATEST_TIMESTAMP, &value).expect("the cell is valid");
            builder.finish();
        }
        let started = Instant::now();
        db.write(batch, Durability::Async)?;
        times.push(started.elapsed());
    }
    Ok(times)
}
