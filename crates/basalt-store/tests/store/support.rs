// SPDX-License-Identifier: Apache-2.0
//! A database of text cells on a simulated file system.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use basalt_model::{
    CellType, FamilyDescriptor, KeyRange, LATEST_TIMESTAMP, TableDescriptor, TableId, TableName, WriteBatch,
};
use basalt_store::env::Clock;
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Env, OpenOptions, Result, ScanOptions, Snapshot};

pub(crate) const ROOT: &str = "/db";

/// Chance from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % sides
    }

    pub(crate) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.roll(list.len() as u64) as usize]
    }
}

/// Options without threads, so that a run is the same each time.
pub(crate) fn options(storage: &SimStorage) -> OpenOptions {
    let env = Env::with_storage(Arc::new(storage.clone()));
    OpenOptions { env, create: true, background: false, ..OpenOptions::default() }
}

/// Every look at it is a second later, so that no two writes share a timestamp.
#[derive(Debug)]
struct SteppingClock;

static NOW_MS: AtomicI64 = AtomicI64::new(1_700_000_000_000);

impl Clock for SteppingClock {
    fn now_ms(&self) -> i64 {
        NOW_MS.fetch_add(1_000, Relaxed)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) {}
}

/// Its looks often share a millisecond, and now and then it is set back; the same each time for one seed.
#[derive(Debug)]
pub(crate) struct UnevenClock {
    now_ms: AtomicI64,
    state: AtomicU64,
}

impl UnevenClock {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let (now_ms, state) = (1_700_000_000_000.into(), seed.wrapping_mul(2).wrapping_add(1).into());
        Arc::new(Self { now_ms, state })
    }
}

impl Clock for UnevenClock {
    fn now_ms(&self) -> i64 {
        let state = self.state.load(Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        self.state.store(state, Relaxed);
        let step = match (state >> 33) % 16 {
            0..8 => 0,
            8..12 => 1,
            12..15 => 40,
            _ => -20,
        };
        self.now_ms.fetch_add(step, Relaxed) + step
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) {}
}

/// As [`options`], with a clock of which no two looks are alike.
pub(crate) fn options_with_stepping_clock(storage: &SimStorage) -> OpenOptions {
    let mut options = options(storage);
    options.env.clock = Arc::new(SteppingClock);
    options
}

pub(crate) fn open(storage: &SimStorage) -> Result<Database> {
    Database::open(Path::new(ROOT), options(storage))
}

pub(crate) fn descriptor(name: &str, families: &[&str]) -> TableDescriptor {
    TableDescriptor {
        name: TableName::in_default(name),
        families: families.iter().map(|name| FamilyDescriptor::new(*name)).collect(),
        schema: None,
        attributes: BTreeMap::new(),
        index: None,
    }
}

pub(crate) fn put(batch: &mut WriteBatch, table: TableId, row: &str, columns: &[(&str, &str)]) {
    let mut builder = batch.row(table, row.as_bytes()).unwrap();
    for (column, value) in columns {
        let (family, qualifier) = column.split_once(':').unwrap();
        builder.put(family.as_bytes(), qualifier.as_bytes(), LATEST_TIMESTAMP, value.as_bytes()).unwrap();
    }
    builder.finish();
}

pub(crate) fn delete_column(batch: &mut WriteBatch, table: TableId, row: &str, column: &str) {
    let mut builder = batch.row(table, row.as_bytes()).unwrap();
    let (family, qualifier) = column.split_once(':').unwrap();
    builder
        .delete(family.as_bytes(), qualifier.as_bytes(), LATEST_TIMESTAMP, CellType::DeleteColumn)
        .unwrap();
    builder.finish();
}

pub(crate) fn one(table: TableId, row: &str, columns: &[(&str, &str)]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    put(&mut batch, table, row, columns);
    batch
}

/// Row, then column -> value.
pub(crate) type Rows = BTreeMap<String, BTreeMap<String, String>>;

/// Everything a snapshot shows of a table.
pub(crate) fn rows(snapshot: &Snapshot, table: TableId) -> Result<Rows> {
    rows_in(snapshot, table, vec![KeyRange::all()])
}

pub(crate) fn rows_in(snapshot: &Snapshot, table: TableId, ranges: Vec<KeyRange>) -> Result<Rows> {
    let mut scan = snapshot.scan(table, &ScanOptions { ranges, ..ScanOptions::default() })?;
    let mut rows = Rows::new();
    while let Some(runs) = scan.next_runs()? {
        for run in runs {
            for i in run.cells {
                let cell = run.block.cell(i);
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let column = format!("{}:{}", text(cell.family), text(cell.qualifier));
                let before = rows.entry(text(cell.row)).or_default().insert(column, text(cell.value));
                assert!(before.is_none(), "a column of a row was shown twice");
            }
        }
    }
    Ok(rows)
}

/// `row f:a=1 f:b=2` per row.
pub(crate) fn show(rows: &Rows) -> Vec<String> {
    let line = |(row, columns): (&String, &BTreeMap<String, String>)| {
        columns.iter().fold(row.clone(), |line, (column, value)| format!("{line} {column}={value}"))
    };
    rows.iter().map(line).collect()
}

/// Says how many faults a test injected, also when it passes: the runner keeps what goes through `println!` to itself then.
pub(crate) fn report(line: std::fmt::Arguments<'_>) {
    use std::io::Write;
    let mut uncaptured = std::io::stderr();
    writeln!(uncaptured, "{line}").unwrap();
}
