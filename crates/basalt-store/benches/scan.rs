// SPDX-License-Identifier: Apache-2.0
//! How fast does a lone file run through the scan path, and how fast is one row found in the cache?
//!
//! `cargo bench -p basalt-store --bench scan`, with `ROWS` and `RUNS` in the environment if the defaults do not
//! suit. Prints one line per question: the best of several runs on one thread.
//!
//! The table is like LINEITEM: 15 cells a row, keys of 12 bytes, values of 1 to 25 bytes.
#![allow(clippy::disallowed_methods, reason = "a bench times the machine")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use basalt_hfile::{Compression, HFileWriter, WriterOptions};
use basalt_model::{CellRef, CellType, FamilyDescriptor, KeyRange, Seq};
use basalt_store::read::{
    BlockCache, CellScan, FamilyInput, Keep, ReadAccess, ReadCounters, RegionInput, Rules, StoreFile, get_row,
};
use basalt_store::{Env, FileId, FileMeta};

const CELLS_A_ROW: u64 = 15;

fn main() {
    let rows = setting("ROWS", 400_000);
    let runs = setting("RUNS", 3) as usize;
    let dir = tempfile::tempdir().expect("a temporary directory");
    for compression in [Compression::None, Compression::Zstd] {
        let file = write(dir.path(), rows, compression);
        let mb = file.meta().size_bytes >> 20;
        println!("NONE/{}: {rows} rows, {mb} MiB on disk", compression.name());
        let cold = best(runs, || count(&file, 0));
        report("  count, every block read and decoded", rows, cold);
        let access = access(8 << 30);
        count_with(&file, &access);
        let warm = best(runs, || count_with(&file, &access));
        report("  count, every block in the cache", rows, warm);
        points(&file, rows, &access);
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn report(what: &str, rows: u64, time: Duration) {
    let rate = rows as f64 / time.as_secs_f64() / 1e6;
    println!(
        "{what:<42} {:>8.1} ms  {rate:>7.2} M rows/s  {:>7.1} M cells/s",
        time.as_secs_f64() * 1e3,
        rate * CELLS_A_ROW as f64
    );
}

fn best(runs: usize, mut run: impl FnMut() -> u64) -> Duration {
    let timed = |_| {
        let start = Instant::now();
        assert!(std::hint::black_box(run()) > 0);
        start.elapsed()
    };
    (0..runs).map(timed).min().expect("at least one run")
}

fn access(cache_bytes: u64) -> ReadAccess {
    let (cache, counters) = (Arc::new(BlockCache::new(cache_bytes)), Arc::new(ReadCounters::default()));
    ReadAccess {
        cache,
        keep: if cache_bytes > 0 { Keep::Decoded } else { Keep::Nothing },
        columns: None,
        counters,
    }
}

fn input(file: &Arc<StoreFile>) -> FamilyInput {
    let rules = Rules::new(&FamilyDescriptor::new("0"), 2_000_000_000_000);
    FamilyInput { rules, memtables: Vec::new(), files: vec![Arc::clone(file)] }
}

fn count(file: &Arc<StoreFile>, cache_bytes: u64) -> u64 {
    count_with(file, &access(cache_bytes))
}

/// Counts rows as a reader that wants no column does.
fn count_with(file: &Arc<StoreFile>, access: &ReadAccess) -> u64 {
    let region = RegionInput { range: KeyRange::all(), families: vec![input(file)] };
    let mut scan = CellScan::new(vec![region], vec![KeyRange::all()], access.clone(), Seq(u64::MAX));
    let mut rows = 0;
    while let Some(runs) = scan.next_runs().expect("the file is sound") {
        rows += runs.iter().map(|run| run.block.row_starts.len() as u64).sum::<u64>();
    }
    rows
}

fn points(file: &Arc<StoreFile>, rows: u64, access: &ReadAccess) {
    let mut row = 1u64;
    let mut times: Vec<Duration> = (0..200_000)
        .map(|_| {
            row = (row.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)) | 1;
            let key = row_key((row >> 17) % rows);
            let start = Instant::now();
            let found = get_row(vec![input(file)], &key, access, Seq(u64::MAX)).expect("the file is sound");
            let time = start.elapsed();
            assert_eq!(found.iter().map(|run| run.cells.len() as u64).sum::<u64>(), CELLS_A_ROW);
            time
        })
        .collect();
    times.sort();
    let at = |part: f64| times[(times.len() as f64 * part) as usize].as_nanos() as f64 / 1e3;
    println!("  get from the cache: p50 {:.2} µs, p99 {:.2} µs", at(0.5), at(0.99));
    assert_eq!(access.counters.blocks_read.load(Relaxed), access.cache.stats().misses);
}

fn row_key(row: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&((row / 4) | 1 << 63).to_be_bytes());
    key[8..].copy_from_slice(&((row % 4) as u32 | 1 << 31).to_be_bytes());
    key
}

fn write(dir: &Path, rows: u64, compression: Compression) -> Arc<StoreFile> {
    let env = Env::local();
    let path: PathBuf = dir.join(compression.name());
    let mut file = env.storage.create(&path).expect("the directory is writable");
    let options = WriterOptions { compression, with_seq: false, ..WriterOptions::default() };
    let mut writer = HFileWriter::new(&mut file, options).expect("the options are valid");
    let text = b"carefully final deposits sleep";
    for row in 0..rows {
        let key = row_key(row);
        let mix = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for column in 0..CELLS_A_ROW {
            let number = (mix >> column).to_be_bytes();
            let value = match column {
                0..6 => &number[..4 + (column as usize & 4)],
                6..8 => &text[(mix as usize >> 8) % 20..][..1],
                8..12 => &number[..8],
                _ => &text[(mix as usize >> 16) % 5..][..10 + (mix as usize >> 24) % 15],
            };
            let cell = CellRef {
                row: &key,
                family: b"0",
                qualifier: &[0x80, 11 + column as u8],
                timestamp: 1_700_000_000_000,
                cell_type: CellType::Put,
                value,
                seq: Seq(0),
                tags: b"",
            };
            writer.append(cell).expect("the cells are sorted");
        }
    }
    let written = writer.finish().expect("the disk has space");
    let meta = FileMeta {
        id: FileId(compression as u64),
        size_bytes: written.size_bytes,
        cells: written.cells,
        rows: written.rows,
        deletes: written.deletes,
        raw_bytes: written.raw_bytes,
        first_row: written.first_row,
        last_row: written.last_row,
        timestamp_min: written.timestamp_min,
        timestamp_max: written.timestamp_max,
        seq_min: Seq(1),
        seq_max: Seq(1),
        own_ttl: None,
        seq_override: Some(Seq(1)),
        created_ms: 0,
        dir: None,
        part: None,
    };
    Arc::new(StoreFile::new(env, path, "T".into(), meta))
}
