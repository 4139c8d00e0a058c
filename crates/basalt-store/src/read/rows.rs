// SPDX-License-Identifier: Apache-2.0
//! A scan of a SQL table: visible cells into record batches.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use basalt_hfile::CellRun;
use basalt_hfile::typed::{RowDecoder, TypedError};
use basalt_model::{ColumnRef, TableSchema};

use super::file::ReadCounters;
use super::scan::{CellScan, Chunk};
use super::straight::GroupRows;
use crate::{Error, Result};

/// Rows of a row group from which on its columns are read in one go; fewer are read vector by vector.
const LOAD_ROWS_MIN: usize = 8192;

/// Rows of a scan, some thousands at a time. Without columns the batches have rows and no columns, for counting.
///
/// After an error there are no more batches.
pub struct RowScan {
    cells: CellScan,
    decoder: RowDecoder,
    table: Arc<str>,
    batch_rows: usize,
    runs: std::vec::IntoIter<CellRun>,
    /// No cells are left.
    ended: bool,
    failed: bool,
}

impl RowScan {
    /// Decodes `cells` into batches of at least `batch_rows` rows (but the last), at most one block more.
    /// `table` is named in errors.
    pub fn new(cells: CellScan, decoder: RowDecoder, table: Arc<str>, batch_rows: usize) -> Self {
        let (runs, batch_rows) = (Vec::new().into_iter(), batch_rows.max(1));
        let mut cells = cells;
        cells.allow_row_groups();
        Self { cells, decoder, table, batch_rows, runs, ended: false, failed: false }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.decoder.schema()
    }

    /// What the scan has read so far; goes on counting while it runs.
    pub fn counters(&self) -> &Arc<ReadCounters> {
        self.cells.counters()
    }

    fn fill(&mut self) -> Result<()> {
        while !self.ended && self.decoder.rows_ready() < self.batch_rows {
            if let Some(run) = self.runs.next() {
                self.decoder.push(&run).map_err(|error| self.explain(error))?;
                continue;
            }
            match self.cells.next_chunk()? {
                Some(Chunk::Cells(runs)) => self.runs = runs.into_iter(),
                Some(Chunk::Rows(rows)) => self.push_rows(&rows)?,
                None => {
                    self.decoder.end().map_err(|error| self.explain(error))?;
                    self.ended = true;
                }
            }
        }
        Ok(())
    }

    fn push_rows(&mut self, rows: &GroupRows) -> Result<()> {
        let GroupRows { group, vector, rows: of_vector, begins, .. } = rows;
        if begins.is_some_and(|rows| rows >= LOAD_ROWS_MIN) {
            self.decoder.load(group).map_err(|error| rows.explain(error))?;
        }
        self.decoder.push_vector(group, *vector, of_vector.clone()).map_err(|error| match error {
            TypedError::File(error) => rows.explain(error),
            error => self.explain(error),
        })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.fill()?;
        let rows = self.decoder.rows_ready() as u64;
        if rows == 0 {
            return Ok(None);
        }
        self.counters().rows.fetch_add(rows, Relaxed);
        self.decoder.finish_batch().map(Some).map_err(|error| self.explain(error))
    }

    #[cold]
    fn explain(&self, source: TypedError) -> Error {
        Error::StoredRow { table: self.table.to_string(), source: Arc::new(source) }
    }
}

impl Iterator for RowScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.failed {
            return None;
        }
        let next = self.next_batch().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

/// The families that a scan of these columns must read: theirs, and that of the empty cell, which every row
/// has. Sorted, each once.
pub fn families_of(schema: &TableSchema, columns: &[ColumnRef]) -> Vec<String> {
    let family = |column: &ColumnRef| match column {
        ColumnRef::Key(_) => None,
        ColumnRef::Column(index) => Some(schema.columns[*index].family.clone()),
    };
    let mut families: Vec<String> = columns.iter().filter_map(family).collect();
    families.push(schema.empty_family.clone());
    families.sort_unstable();
    families.dedup();
    families
}

#[cfg(test)]
mod tests;
