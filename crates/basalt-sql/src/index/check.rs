// SPDX-License-Identifier: Apache-2.0
//! CHECK INDEX: the index and its table, compared in one snapshot.
//!
//! 1. Both sides are read once, and a sum of 128-bit hashes of index rows is taken of either: of those that are there, and of
//!    those that the rows of the table make. Equal sums and counts: no difference. Memory does not grow with the table.
//! 2. Only if they differ, each side is looked up in the other, and what is missing or stale is counted.
//!
//! In tables with a TTL an index row may outlive its row, so there only what is missing counts.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::escape::Escaped;
use basalt_model::{
    IndexState, KeyRange, LATEST_TIMESTAMP, Seq, TableDescriptor, TableId, TableSchema, WriteBatch,
};
use basalt_store::read::{Keep, RowRequest};
use basalt_store::{ScanOptions, Snapshot};
use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
use datafusion::arrow::record_batch::RecordBatch;

use super::entries::Entries;
use super::expires;
use super::keeper::Leading;
use crate::error::SqlError;
use crate::ingest::typed;
use crate::plan::Planning;

/// How often the sides of an index are looked up once more, if rows end by themselves.
const AGAIN: usize = 3;

/// What a comparison found.
#[derive(Debug, Default)]
struct Found {
    /// Rows of the table.
    rows: i64,
    /// Rows of the index.
    entries: i64,
    /// Index rows that should be there and are not, or hold something else.
    missing: i64,
    /// Index rows that no row of the table asks for.
    stale: i64,
    first: Option<String>,
}

/// Sum of the hashes of index rows, whatever their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Digest {
    count: u64,
    sum: u128,
}

impl Digest {
    fn add(&mut self, row: &[u8], cells: &[Cell]) {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, row, cells).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        self.count += 1;
        self.sum = self.sum.wrapping_add(half(0) << 64 | half(1));
    }
}

/// Qualifier and value.
type Cell = (Vec<u8>, Vec<u8>);

/// Compares; one row with what was found.
pub(super) fn check(planning: &Planning, index: TableId) -> Result<RecordBatch, SqlError> {
    let database = planning.engine.database();
    let snapshot = database.snapshot();
    let descriptor = database.table_by_id(index)?;
    let state = descriptor.index.as_ref().map(|index| index.state);
    if !matches!(state, Some(IndexState::Active | IndexState::Unusable)) {
        let failure = planning.engine.builders().failure(index);
        let failure =
            failure.map_or_else(String::new, |failure| format!(", and its last build failed ({failure})"));
        return Err(SqlError::statement(format!(
            "index {} is {}{failure}; it can be compared once it is built",
            descriptor.name,
            state.map_or("none", IndexState::name)
        )));
    }
    let comparison = Comparison::try_new(planning, index, &descriptor, snapshot)?;
    report(&descriptor, &comparison.run()?)
}

fn report(descriptor: &TableDescriptor, found: &Found) -> Result<RecordBatch, SqlError> {
    let number = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let text = |value: Option<String>| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let columns = [
        ("INDEX_NAME", text(Some(descriptor.name.to_string()))),
        ("ROWS", number(found.rows)),
        ("ENTRIES", number(found.entries)),
        ("MISSING", number(found.missing)),
        ("STALE", number(found.stale)),
        ("FIRST_DIFFERENCE", text(found.first.clone())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .map_err(|error| SqlError::internal(format!("the columns of the answer differ in length: {error}")))
}

struct Comparison {
    index: TableId,
    base: TableId,
    snapshot: Snapshot,
    entries: Entries,
    leading: Leading,
    expires: bool,
}

impl Comparison {
    fn try_new(
        planning: &Planning,
        index: TableId,
        descriptor: &TableDescriptor,
        snapshot: Snapshot,
    ) -> Result<Self, SqlError> {
        let entries = Entries::try_new(planning, descriptor)?;
        let definition = descriptor.index.as_ref().ok_or_else(|| SqlError::internal("an index is none"))?;
        let base = definition.base;
        let table = planning.engine.database().table_by_id(base)?;
        let leading = Leading::of(definition);
        Ok(Self { index, base, snapshot, entries, leading, expires: expires(&table) })
    }

    fn run(&self) -> Result<Found, SqlError> {
        let mut found = Found::default();
        let (mut wanted, mut there) = (Digest::default(), Digest::default());
        found.rows = self.each_wanted(&mut |row, cells| {
            wanted.add(row, cells);
            Ok(())
        })?;
        each_row(&self.snapshot, self.index, self.entries.index(), &mut |row, cells| {
            there.add(row, cells);
            Ok(())
        })?;
        found.entries = there.count as i64;
        if wanted == there {
            return Ok(found);
        }
        let mut located = self.locate(&found)?;
        // A row may end by itself between the look at it and that at its index row, which then seems to be missing; next time it is not wanted.
        for _ in 0..AGAIN {
            if !self.expires || located.missing == 0 {
                break;
            }
            let again = self.locate(&found)?;
            if again.missing < located.missing {
                located = again;
            }
        }
        Ok(located)
    }

    /// Step 2: what was found, and where the sides differ.
    fn locate(&self, found: &Found) -> Result<Found, SqlError> {
        let mut found = Found { rows: found.rows, entries: found.entries, ..Found::default() };
        let (mut same, mut other) = (0, 0);
        self.each_wanted(&mut |row, cells| {
            let there = self.snapshot.get_row(self.index, row)?;
            if !there.is_empty()
                && (self.expires || cells_of(self.entries.index(), &there).as_slice() == cells)
            {
                same += 1;
                return Ok(());
            }
            // A value that ended by itself is NULL without an index row that says so.
            if self.expires && self.leading.values_of(self.entries.index(), row).is_none() {
                return Ok(());
            }
            other += i64::from(!there.is_empty());
            found.missing += 1;
            let what = if there.is_empty() { "is missing" } else { "holds other values" };
            found.first.get_or_insert_with(|| format!("index row {} {what}", Escaped(row)));
            Ok(())
        })?;
        if !self.expires {
            found.stale = found.entries - same - other;
        }
        if found.stale > 0 {
            found
                .first
                .get_or_insert_with(|| "index rows are there that no row of the table makes".to_owned());
        }
        Ok(found)
    }

    /// Calls `each` with every index row that the table's rows make; returns the number of these rows.
    fn each_wanted(&self, each: &mut Each<'_>) -> Result<i64, SqlError> {
        let request = RowRequest::of_columns(self.entries.needed(), super::BATCH_ROWS);
        let request = RowRequest { cached: false, any_order: true, ..request };
        let all = vec![KeyRange::all()];
        let mut scan = self.snapshot.rows(self.base, self.entries.base(), request, all)?;
        let mut encoder = self.entries.encoder()?;
        let mut rows = 0;
        while let Some(batch) = scan.next().transpose()? {
            rows += batch.batch.num_rows() as i64;
            let (made, _) = self.entries.make(&batch.batch)?;
            let mut out = WriteBatch::new();
            encoder
                .encode(&made, self.index, LATEST_TIMESTAMP, true, &mut out)
                .map_err(|error| typed(error).error)?;
            for (_, row) in out.iter() {
                let cells = row.cells(Seq(0)).map(|cell| (cell.qualifier.to_vec(), cell.value.to_vec()));
                each(row.row(), &cells.collect::<Vec<_>>())?;
            }
        }
        Ok(rows)
    }
}

type Each<'a> = dyn FnMut(&[u8], &[Cell]) -> Result<(), SqlError> + 'a;

/// Cells of included columns that were dropped stay behind.
fn is_known(schema: &TableSchema, qualifier: &[u8]) -> bool {
    schema.empty_qualifier == qualifier || schema.columns.iter().any(|column| column.qualifier == qualifier)
}

fn cells_of(schema: &TableSchema, runs: &[CellRun]) -> Vec<Cell> {
    let mut cells = vec![];
    for run in runs {
        for cell in run.cells.clone().map(|index| run.block.cell(index)) {
            if is_known(schema, cell.qualifier) {
                cells.push((cell.qualifier.to_vec(), cell.value.to_vec()));
            }
        }
    }
    cells
}

/// Calls `each` with every row of a table of one family.
pub(super) fn each_row(
    snapshot: &Snapshot,
    table: TableId,
    schema: &TableSchema,
    each: &mut Each<'_>,
) -> Result<(), SqlError> {
    let mut scan = snapshot.scan(table, &ScanOptions { keep: Keep::Nothing, ..ScanOptions::default() })?;
    let mut row: Vec<u8> = vec![];
    let mut cells: Vec<Cell> = vec![];
    while let Some(runs) = scan.next_runs()? {
        for run in runs {
            for cell in run.cells.clone().map(|index| run.block.cell(index)) {
                if cell.row != row {
                    if !row.is_empty() {
                        each(&row, &cells)?;
                    }
                    row = cell.row.to_vec();
                    cells.clear();
                }
                if is_known(schema, cell.qualifier) {
                    cells.push((cell.qualifier.to_vec(), cell.value.to_vec()));
                }
            }
        }
    }
    if row.is_empty() { Ok(()) } else { each(&row, &cells) }
}
