// SPDX-License-Identifier: Apache-2.0
//! The memory budget: whatever writes, flushes, compactions, loads of row groups, scans and gets do at once, the
//! process holds no more than a tenth above `OpenOptions::memory_bytes`.
//!
//! Every allocation of the process is counted, so nothing else may be tested in it. The files lie on a disk: those of the simulated one
//! would be counted, too.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "../../benches/store/allocations.rs"]
mod allocations;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use arrow::array::{Int64Array, RecordBatch, StringViewArray};
use basalt_hfile::typed::{RowEncoder, arrow_schema};
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::{
    ColumnRef, FamilyDescriptor, Get, KeyRange, LATEST_TIMESTAMP, SqlType, TableDescriptor, TableId,
    TableName, TableSchema, WriteBatch,
};
use basalt_store::read::RowRequest;
use basalt_store::{Database, Durability, OpenOptions, Snapshot};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

const MEMORY_BYTES: usize = 128 << 20;
/// What each of the two tables gets: far more than the memory.
const WRITTEN_BYTES: usize = 120 << 20;
const BATCH_ROWS: usize = 1_000;
const TEXT_BYTES: usize = 96;

/// One table by column, one by row.
struct Tables {
    db: Database,
    columnar: TableId,
    schema: Arc<TableSchema>,
    cells: TableId,
}

fn open(dir: &Path) -> Tables {
    let options = OpenOptions { memory_bytes: MEMORY_BYTES as u64, ..OpenOptions::create() };
    let db = Database::open(&dir.join("db"), options).unwrap();
    let columns = vec![
        ColumnDefinition::new("K", SqlType::BigInt),
        ColumnDefinition::new("N", SqlType::BigInt),
        ColumnDefinition::new("T", SqlType::Varchar(None)),
    ];
    let schema = TableSchema::try_new(SchemaDefinition::new(columns, vec![KeyPart::asc("K")])).unwrap();
    let family = |name: &str, encoding: &str| FamilyDescriptor {
        encoding: encoding.into(),
        ..FamilyDescriptor::new(name)
    };
    let typed = TableDescriptor {
        schema: Some(schema.clone()),
        families: schema.families().iter().map(|name| family(name, "COLUMNAR")).collect(),
        ..TableDescriptor::new(TableName::in_default("COLUMNAR"))
    };
    let plain = TableDescriptor::new(TableName::in_default("CELLS")).family(family("f", "NONE"));
    let (columnar, cells) = (db.create_table(typed).unwrap(), db.create_table(plain).unwrap());
    Tables { db, columnar, schema: Arc::new(schema), cells }
}

/// Keys in an order that has nothing to do with theirs.
fn mixed(number: usize) -> i64 {
    (number as i64).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)
}

/// Half of it does not compress.
fn text(number: usize) -> String {
    format!("{:016x}{:016x}{}", mixed(number), mixed(!number), "x".repeat(TEXT_BYTES - 32))
}

impl Tables {
    fn write_rows(&self) {
        let order = self.schema.declared_order();
        let mut encoder = RowEncoder::try_new(&self.schema, order).unwrap();
        for first in (0..WRITTEN_BYTES / 128).step_by(BATCH_ROWS) {
            let rows = first..first + BATCH_ROWS;
            let keys = Int64Array::from_iter_values(rows.clone().map(mixed));
            let numbers = Int64Array::from_iter_values(rows.clone().map(|row| row as i64));
            let texts = StringViewArray::from_iter_values(rows.map(text));
            let columns = Arc::new(arrow_schema(&self.schema));
            let rows =
                RecordBatch::try_new(columns, vec![Arc::new(keys), Arc::new(numbers), Arc::new(texts)])
                    .unwrap();
            let mut batch = WriteBatch::new();
            encoder.encode(&rows, self.columnar, LATEST_TIMESTAMP, false, &mut batch).unwrap();
            self.db.write(batch, Durability::Async).unwrap();
        }
    }

    fn write_cells(&self) {
        for first in (0..WRITTEN_BYTES / 160).step_by(BATCH_ROWS) {
            let mut batch = WriteBatch::new();
            for row in first..first + BATCH_ROWS {
                let mut builder = batch.row(self.cells, &mixed(row).to_be_bytes()).unwrap();
                builder.put(b"f", b"n", LATEST_TIMESTAMP, &row.to_be_bytes()).unwrap();
                builder.put(b"f", b"t", LATEST_TIMESTAMP, text(row).as_bytes()).unwrap();
                builder.finish();
            }
            self.db.write(batch, Durability::Async).unwrap();
        }
    }

    fn scan_rows(&self, snapshot: &Snapshot) -> usize {
        let columns: Vec<ColumnRef> =
            ["K", "N", "T"].iter().map(|name| self.schema.find(None, name).unwrap()).collect();
        let request = RowRequest::of_columns(&columns, 8_192);
        let rows = snapshot.rows(self.columnar, &self.schema, request, vec![KeyRange::all()]).unwrap();
        rows.map(|batch| batch.unwrap().batch.num_rows()).sum()
    }

    fn scan_cells(&self, snapshot: &Snapshot) -> usize {
        let mut scan = snapshot.scan(self.cells, &Default::default()).unwrap();
        let mut cells = 0;
        while let Some(runs) = scan.next_runs().unwrap() {
            cells += runs.iter().map(|run| run.cells.len()).sum::<usize>();
        }
        cells
    }

    fn get(&self, number: usize) {
        let get = Get::new(mixed(number).to_be_bytes().to_vec());
        self.db.snapshot().get(self.cells, &get).unwrap();
    }
}

#[test]
fn everything_together_stays_within_a_tenth_of_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let before = allocations::live();
    let (peak, ()) = allocations::peak_of(|| {
        let tables = &open(dir.path());
        let writing = &AtomicBool::new(true);
        std::thread::scope(|scope| {
            let writers = [scope.spawn(|| tables.write_rows()), scope.spawn(|| tables.write_cells())];
            for thread in 0..2 {
                scope.spawn(move || {
                    while writing.load(Relaxed) {
                        let snapshot = tables.db.snapshot();
                        match thread {
                            0 => tables.scan_rows(&snapshot),
                            _ => tables.scan_cells(&snapshot),
                        };
                    }
                });
            }
            scope.spawn(move || {
                for number in 0.. {
                    tables.get(number * 7 % (WRITTEN_BYTES / 160));
                    if !writing.load(Relaxed) {
                        return;
                    }
                }
            });
            for writer in writers {
                writer.join().unwrap();
            }
            // Both at once, beside those of the upkeep.
            let both = [tables.columnar, tables.cells];
            let both = both.map(|table| scope.spawn(move || tables.db.compact(Some(table), true).unwrap()));
            both.into_iter().for_each(|compaction| compaction.join().unwrap());
            writing.store(false, Relaxed);
        });
        let metrics = tables.db.metrics();
        println!("{metrics:?}");
        assert!(
            metrics.flushes > 10 && metrics.compactions > 0 && metrics.cache.evictions > 0,
            "{metrics:?}"
        );
    });
    let held = peak - before;
    println!("{} MiB at most", held >> 20);
    assert!(held <= MEMORY_BYTES / 10 * 11, "{} MiB were held of {}", held >> 20, MEMORY_BYTES >> 20);
}
