// SPDX-License-Identifier: Apache-2.0
//! How many durable rows per second does the log take? Batches of 1,000 three-column rows from one writer, and
//! single rows from 64 writers at a time, each acknowledged after its sync; then the same through bulk load.
//!
//! `cargo bench -p basalt-store --bench write [-- DIR [ROWS]]`; the directory decides which disk is measured.

#![expect(clippy::disallowed_methods, reason = "a bench has a clock of its own")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use basalt_model::{FamilyDescriptor, LATEST_TIMESTAMP, TableDescriptor, TableId, TableName, WriteBatch};
use basalt_store::{Database, Durability, OpenOptions, Result};

const BATCH_ROWS: u64 = 1_000;
const WRITERS: u64 = 64;

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let dir = args.first().map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let rows = args.get(1).and_then(|rows| rows.parse().ok()).unwrap_or(1_000_000);
    let db = Database::open(&dir.join("bench.db"), OpenOptions::create())?;
    for durability in [Durability::Sync, Durability::Async, Durability::Skip] {
        let table = create(&db, &format!("BATCHES_{durability:?}"))?;
        let (elapsed, slowest) = batches(&db, table, rows, durability)?;
        report(&format!("batches of {BATCH_ROWS}, one writer, {durability:?}"), rows, elapsed, slowest);
    }
    let table = create(&db, "SINGLE")?;
    let single_rows = rows / 10;
    let (elapsed, slowest) = single(&db, table, single_rows)?;
    report(&format!("single rows, {WRITERS} writers, Sync"), single_rows, elapsed, slowest);
    let table = create(&db, "LOAD")?;
    let started = Instant::now();
    let mut load = db.ingest(table)?;
    for first in (0..rows).step_by(BATCH_ROWS as usize) {
        load.add(batch(table, first, BATCH_ROWS, |row| row))?;
    }
    load.finish()?;
    report("bulk load, sorted", rows, started.elapsed(), Duration::ZERO);
    let started = Instant::now();
    db.flush(None)?;
    println!("flush of what was left: {:.2} s; {:?}", started.elapsed().as_secs_f64(), db.metrics());
    let started = Instant::now();
    db.close()?;
    let db = Database::open(&dir.join("bench.db"), OpenOptions::default())?;
    println!("close and open: {:.3} s", started.elapsed().as_secs_f64());
    drop(db);
    recovery(&dir, rows)
}

/// How long the log of `rows` rows takes to replay.
fn recovery(dir: &std::path::Path, rows: u64) -> Result<()> {
    let path = dir.join("recovery.db");
    let large = OpenOptions { memory_bytes: 8 << 30, memtable_bytes: Some(4 << 30), ..OpenOptions::create() };
    let db = Database::open(&path, large.clone())?;
    let table = create(&db, "LOG")?;
    batches(&db, table, rows, Durability::Async)?;
    let wal_bytes = db.metrics().wal_bytes;
    db.close()?;
    let started = Instant::now();
    let _db = Database::open(&path, large)?;
    let mib = wal_bytes as f64 / (1 << 20) as f64;
    println!("replay of {mib:.0} MiB of log: {:.2} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn create(db: &Database, name: &str) -> Result<TableId> {
    db.create_table(TableDescriptor {
        name: TableName::in_default(name),
        families: vec![FamilyDescriptor::new("0")],
        schema: None,
        attributes: BTreeMap::new(),
        index: None,
    })
}

/// `create table test (pk integer primary key, v1 float, v2 float)`: two values and the empty cell.
fn batch(table: TableId, first: u64, rows: u64, key: impl Fn(u64) -> u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for row in first..first + rows {
        let key = ((key(row) as u32) ^ 0x8000_0000).to_be_bytes();
        let mut builder = batch.row(table, &key).expect("4 bytes are a key");
        let value = (row as f32).to_be_bytes();
        for (qualifier, value) in
            [(&[0, 0, 0, 0][..], &b"x"[..]), (&[0x80, 0x0b], &value), (&[0x80, 0x0c], &value)]
        {
            builder.put(b"0", qualifier, LATEST_TIMESTAMP, value).expect("short cells");
        }
        builder.finish();
    }
    batch
}

/// Keys in an order that is not theirs.
fn scattered(row: u64) -> u64 {
    row.wrapping_mul(0x9e37_79b9) & 0xffff_ffff
}

fn batches(db: &Database, table: TableId, rows: u64, durability: Durability) -> Result<(Duration, Duration)> {
    let started = Instant::now();
    let mut slowest = Duration::ZERO;
    for first in (0..rows).step_by(BATCH_ROWS as usize) {
        let begun = Instant::now();
        db.write(batch(table, first, BATCH_ROWS, scattered), durability)?;
        slowest = slowest.max(begun.elapsed());
    }
    Ok((started.elapsed(), slowest))
}

fn single(db: &Database, table: TableId, rows: u64) -> Result<(Duration, Duration)> {
    let started = Instant::now();
    let writer = |number: u64| -> Result<Duration> {
        let mut slowest = Duration::ZERO;
        for row in (number..rows).step_by(WRITERS as usize) {
            let begun = Instant::now();
            db.write(batch(table, row, 1, scattered), Durability::Sync)?;
            slowest = slowest.max(begun.elapsed());
        }
        Ok(slowest)
    };
    let slowest = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS).map(|number| scope.spawn(move || writer(number))).collect();
        let results: Result<Vec<Duration>> =
            threads.into_iter().map(|thread| thread.join().expect("no writer panics")).collect();
        results.map(|slowest| slowest.into_iter().max().unwrap_or_default())
    })?;
    Ok((started.elapsed(), slowest))
}

fn report(what: &str, rows: u64, elapsed: Duration, slowest: Duration) {
    let rate = rows as f64 / elapsed.as_secs_f64();
    println!("{what}: {rate:.0} rows/s ({rows} rows), slowest call {:.1} ms", slowest.as_secs_f64() * 1e3);
}
