// SPDX-License-Identifier: Apache-2.0
//! How fast is one row found, or written durably? Rows of 100 bytes (a key of 16, one cell of 84) under random keys.
//!
//! `cargo bench -p basalt-store --bench points [-- DIR [ROWS [ENCODING [COMPRESSION]]]]`; the directory decides which
//! disk is measured. Prints lines `question<TAB>figure<TAB>unit`, the same as `bench/rocksdb/points.cc` prints of RocksDB;
//! `make bench-points` puts them side by side.

#![expect(clippy::disallowed_methods, reason = "a bench has a clock of its own")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use basalt_model::{
    FamilyDescriptor, Get, LATEST_TIMESTAMP, Put, TableDescriptor, TableId, TableName, WriteBatch,
};
use basalt_store::{Database, Durability, OpenOptions, Result, ScanOptions, Table};

const BATCH_ROWS: u64 = 1_000;
const WRITERS: u64 = 64;
const GETS: u64 = 300_000;
const MULTI_GETS: u64 = 200;
const SINGLE_PUTS: u64 = 50_000;
const VALUE_BYTES: usize = 84;

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let dir = args.first().map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let rows = args.get(1).and_then(|rows| rows.parse().ok()).unwrap_or(1_000_000);
    let encoding = args.get(2).map_or("NONE", String::as_str);
    let compression = args.get(3).map_or("NONE", String::as_str);
    let options = OpenOptions { memory_bytes: 2 << 30, ..OpenOptions::create() };
    let db = Database::open(&dir.join("points.db"), options)?;
    let table = create(&db, encoding, compression)?;
    load(&db, &table, rows)?;
    space(&db, &table, rows)?;
    scan(&db, table.id(), rows)?;
    for threads in [1, 2] {
        gets(&table, rows, threads)?;
        multi_gets(&table, rows, threads)?;
    }
    puts(&table, rows)?;
    db.close()
}

fn report(question: &str, figure: f64, unit: &str) {
    println!("{question}\t{figure:.2}\t{unit}");
}

/// SplitMix64: a bijection, so that no two rows have one key.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn key(row: u64) -> [u8; 16] {
    let mut key = *b"user000000000000";
    key[4..].copy_from_slice(format!("{:012}", mixed(row) % 1_000_000_000_000).as_bytes());
    key
}

/// Half of it chance, half of it the same in all rows.
fn value(row: u64) -> [u8; VALUE_BYTES] {
    let mut value = [b'x'; VALUE_BYTES];
    for (i, chunk) in value[..VALUE_BYTES / 2].chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&mixed(row ^ (i as u64) << 48).to_le_bytes()[..chunk.len()]);
    }
    value
}

fn create(db: &Database, encoding: &str, compression: &str) -> Result<Table> {
    let name = TableName::in_default("points");
    let family = FamilyDescriptor {
        encoding: encoding.into(),
        compression: compression.into(),
        ..FamilyDescriptor::new("f")
    };
    db.create_table(TableDescriptor::new(name.clone()).family(family))?;
    db.open_table(&name)
}

/// All rows in batches, each durable before the next; then flushed and compacted.
fn load(db: &Database, table: &Table, rows: u64) -> Result<()> {
    let started = Instant::now();
    for first in (0..rows).step_by(BATCH_ROWS as usize) {
        let mut batch = WriteBatch::new();
        for row in first..rows.min(first + BATCH_ROWS) {
            let mut builder = batch.row(table.id(), &key(row)).expect("the key is valid");
            builder.put(b"f", b"", LATEST_TIMESTAMP, &value(row)).expect("the cell is valid");
            builder.finish();
        }
        db.write(batch, Durability::Sync)?;
    }
    report("batches of 1,000 rows", rows as f64 / started.elapsed().as_secs_f64(), "rows/s");
    table.flush()?;
    table.major_compact()
}

fn space(db: &Database, table: &Table, rows: u64) -> Result<()> {
    report("space", db.stats(table.id())?.size_bytes as f64 / rows as f64, "bytes/row");
    let metrics = db.metrics();
    let written = metrics.bytes_written + metrics.flush_bytes + metrics.compaction_bytes;
    report("write amplification", written as f64 / (rows * 100) as f64, "times");
    Ok(())
}

fn scan(db: &Database, table: TableId, rows: u64) -> Result<()> {
    let scanned = || -> Result<(u64, u64)> {
        let mut scan = db.snapshot().scan(table, &ScanOptions::default())?;
        let (mut count, mut sum) = (0, 0);
        while let Some(runs) = scan.next_runs()? {
            for run in runs {
                for cell in run.cells.map(|i| run.block.cell(i)) {
                    count += 1;
                    sum += u64::from(cell.row[15]) + u64::from(cell.value[0]);
                }
            }
        }
        Ok((count, sum))
    };
    for question in ["scan of files", "scan of the cache"] {
        let started = Instant::now();
        let (count, sum) = scanned()?;
        assert!(count == rows && sum > 0);
        report(question, rows as f64 / started.elapsed().as_secs_f64(), "rows/s");
    }
    Ok(())
}

fn in_threads<T: Send>(threads: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        started.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    })
}

fn gets(table: &Table, rows: u64, threads: u64) -> Result<()> {
    let timed = |thread: u64, count: u64| -> Result<Vec<u32>> {
        let mut times = Vec::with_capacity(count as usize);
        for i in 0..count {
            let row = mixed(i << 8 | thread) % rows;
            let started = Instant::now();
            let found = table.get(&Get::new(key(row).to_vec()))?;
            let first = found.value(b"f", b"").map(|value| value[0]);
            times.push(started.elapsed().as_nanos() as u32);
            assert_eq!(first, Some(value(row)[0]));
        }
        Ok(times)
    };
    timed(9, GETS)?;
    let started = Instant::now();
    let times: Result<Vec<Vec<u32>>> =
        in_threads(threads, |thread| timed(thread, GETS)).into_iter().collect();
    let rate = (GETS * threads) as f64 / started.elapsed().as_secs_f64();
    let mut times = times?.concat();
    times.sort_unstable();
    let at = |part: f64| f64::from(times[(times.len() as f64 * part) as usize]) / 1e3;
    report(&format!("get, {threads} threads, p50"), at(0.5), "us");
    report(&format!("get, {threads} threads, p99"), at(0.99), "us");
    report(&format!("get, {threads} threads, rate"), rate, "rows/s");
    Ok(())
}

fn multi_gets(table: &Table, rows: u64, threads: u64) -> Result<()> {
    let work = |thread: u64| -> Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(MULTI_GETS as usize);
        for i in 0..MULTI_GETS {
            let wanted: Vec<u64> = (0..BATCH_ROWS).map(|k| mixed(i << 32 | k << 8 | thread) % rows).collect();
            let gets: Vec<Get> = wanted.iter().map(|&row| Get::new(key(row).to_vec())).collect();
            let started = Instant::now();
            let found = table.get_all(&gets)?;
            times.push(started.elapsed());
            assert!(found.iter().zip(&wanted).all(|(found, &row)| {
                found.value(b"f", b"").is_some_and(|found| found[..] == value(row)[..])
            }));
        }
        Ok(times)
    };
    let times: Result<Vec<Vec<Duration>>> = in_threads(threads, work).into_iter().collect();
    let mut times = times?.concat();
    times.sort_unstable();
    let median = times[times.len() / 2].as_secs_f64() / BATCH_ROWS as f64;
    report(&format!("multi-get of 1,000, {threads} threads, p50"), median * 1e6, "us/key");
    Ok(())
}

fn puts(table: &Table, rows: u64) -> Result<()> {
    let started = Instant::now();
    let done: Result<Vec<()>> = in_threads(WRITERS, |writer| -> Result<()> {
        for i in 0..SINGLE_PUTS / WRITERS {
            let row = mixed(i << 8 | writer) % rows;
            table.put(Put::new(key(row).to_vec()).add("f", "", value(i).to_vec()))?;
        }
        Ok(())
    })
    .into_iter()
    .collect();
    done?;
    let rate = SINGLE_PUTS as f64 / started.elapsed().as_secs_f64();
    report("durable single puts, 64 writers", rate, "rows/s");
    Ok(())
}
