// SPDX-License-Identifier: Apache-2.0
//! Visible cells of a key range as batches of rows.

use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::typed::RowDecoder;
use basalt_model::schema::ColumnRef;
use basalt_model::{KeyRange, TableId, TableSchema};
use basalt_store::read::CellScan;
use basalt_store::{ScanOptions, Snapshot};
use datafusion::arrow::record_batch::RecordBatch;

use crate::error::SqlError;

/// Reads rows in key order, about `batch_rows` at a time.
pub(crate) struct RowScan {
    cells: CellScan,
    decoder: RowDecoder,
    batch_rows: usize,
    /// Rows that were decoded together and are not handed out yet.
    rest: Option<RecordBatch>,
    ended: bool,
}

impl RowScan {
    /// Rows of sorted, disjoint ranges.
    pub(crate) fn open(
        snapshot: &Snapshot,
        table: TableId,
        schema: &TableSchema,
        columns: &[ColumnRef],
        ranges: Vec<KeyRange>,
        batch_rows: usize,
    ) -> Result<Self, SqlError> {
        let options = ScanOptions { ranges, families: families(schema, columns), ..ScanOptions::default() };
        let cells = snapshot.scan(table, &options)?;
        let decoder = RowDecoder::of_columns(schema, columns);
        Ok(Self { cells, decoder, batch_rows, rest: None, ended: false })
    }

    /// The next rows; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(self.cut(rest)));
        }
        while !self.ended && self.decoder.rows_ready() < self.batch_rows {
            match self.cells.next_runs()? {
                Some(runs) => {
                    for run in &runs {
                        self.decoder.push(run)?;
                    }
                }
                None => {
                    self.decoder.end()?;
                    self.ended = true;
                }
            }
        }
        if self.decoder.rows_ready() == 0 {
            return Ok(None);
        }
        let batch = self.decoder.finish_batch()?;
        Ok(Some(self.cut(batch)))
    }

    fn cut(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows();
        if rows <= self.batch_rows {
            return batch;
        }
        self.rest = Some(batch.slice(self.batch_rows, rows - self.batch_rows));
        batch.slice(0, self.batch_rows)
    }

    /// Bytes read from storage, and blocks used, so far.
    pub(crate) fn counted(&self) -> (u64, u64) {
        let counters = self.cells.counters();
        (counters.bytes_read.load(Relaxed), counters.blocks_read.load(Relaxed) + counters.blocks_cached.load(Relaxed))
    }
}

/// The families that must be read: those of the columns, and that of the empty cell, by which a row exists.
fn families(schema: &TableSchema, columns: &[ColumnRef]) -> Option<Vec<String>> {
    let mut families = vec![schema.empty_family.clone()];
    for column in columns {
        if let ColumnRef::Column(index) = column {
            families.push(schema.columns[*index].family.clone());
        }
    }
    families.sort();
    families.dedup();
    (families.len() < schema.families().len()).then_some(families)
}
