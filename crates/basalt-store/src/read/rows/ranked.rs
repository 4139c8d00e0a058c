// SPDX-License-Identifier: Apache-2.0
//! Rows that come in no order, each with its rank, and are put in order when all are there: those of a window of
//! [`super::super::straight`].

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::error::ArrowError;
use basalt_hfile::CellRun;
use basalt_hfile::columnar::Mask;
use bytes::Bytes;

use crate::read::straight::GroupRows;

/// The ranks of rows that wait.
pub(super) struct Ranked {
    /// Of the rows that come as cells, by their keys, which ascend. Not all of them need come.
    of_cells: Vec<(Bytes, u32)>,
    /// How many of these lie before the row that came last, it included.
    next: usize,
    /// Of the rows that came.
    ranks: Vec<u32>,
}

impl Ranked {
    pub(super) fn new(of_cells: Vec<(Bytes, u32)>) -> Self {
        Self { of_cells, next: 0, ranks: Vec::new() }
    }

    /// Takes the ranks of some rows of a vector.
    pub(super) fn add_rows(&mut self, rows: &GroupRows, wanted: &Mask) {
        self.ranks.extend(wanted.rows().filter_map(|row| rows.rank(row)));
    }

    /// Takes the ranks of rows that come as cells; the first may have begun in the run before.
    pub(super) fn add_cells(&mut self, run: &CellRun) {
        let CellRun { block, cells } = run;
        let mut at = cells.start;
        while at < cells.end {
            let row = block.row(at);
            let goes_on = self.next.checked_sub(1).is_some_and(|last| self.of_cells[last].0 == row);
            if !goes_on && let Some(behind) = self.of_cells[self.next..].iter().position(|of| of.0 == row) {
                self.next += behind + 1;
                self.ranks.push(self.of_cells[self.next - 1].1);
            }
            let next = block.row_starts.partition_point(|&start| start as usize <= at);
            at = block.row_starts.get(next).map_or(cells.end, |&start| start as usize);
        }
    }

    /// The rows, which came in the order in which their ranks did, by their ranks.
    pub(super) fn in_order(&self, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        let ranks = &self.ranks;
        if ranks.len() != batch.num_rows() {
            let what = format!("{} rows of a window have {} ranks", batch.num_rows(), ranks.len());
            return Err(ArrowError::ComputeError(what));
        }
        if ranks.is_sorted() {
            return Ok(batch);
        }
        let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
        // The stable sort finds the sides, which are in order, and merges them.
        order.sort_by_key(|&row| ranks[row as usize]);
        take_record_batch(&batch, &UInt32Array::from(order))
    }
}
