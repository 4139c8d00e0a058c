// SPDX-License-Identifier: Apache-2.0
//! What a merge reads from: anything that hands out cells of one family in key order, a run at a time.

use basalt_hfile::CellRun;
use bytes::Bytes;

use crate::Result;

/// Cells of one family (or, above the families, of one region) in key order.
///
/// A source shows exactly the cells that its reader may see: one that holds cells newer than the reader's
/// snapshot leaves them out itself.
pub trait CellSource: Send {
    /// Stands before the first cell whose row is `>= row`. Reads nothing yet.
    fn seek(&mut self, row: &[u8]);

    /// The next cells, at least one, or `None` when none are left below `end` (`None`: no bound).
    ///
    /// `end` is a hint for stopping early: the run may reach beyond it, and the caller cuts. After `None`
    /// the position is undefined until the next [`seek`](Self::seek).
    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>>;

    /// The last row before `before` (`None`: of all) that may have a cell, wherever the source stands.
    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>>;

    /// A timestamp that no cell of the source is below; decides whether a TTL can concern it at all.
    fn timestamp_min(&self) -> i64 {
        i64::MIN
    }

    /// True for a memtable.
    fn in_memory(&self) -> bool {
        false
    }
}

impl<S: CellSource + ?Sized> CellSource for Box<S> {
    fn seek(&mut self, row: &[u8]) {
        (**self).seek(row);
    }

    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>> {
        (**self).next_run(end)
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        (**self).row_before(before)
    }

    fn timestamp_min(&self) -> i64 {
        (**self).timestamp_min()
    }

    fn in_memory(&self) -> bool {
        (**self).in_memory()
    }
}

/// Runs held in memory as a source: what a point lookup found, or a test built.
#[derive(Debug, Clone, Default)]
pub struct RunList {
    runs: Vec<CellRun>,
    next: usize,
}

impl RunList {
    /// Runs that follow each other in key order.
    pub fn new(runs: Vec<CellRun>) -> Self {
        debug_assert!(runs.iter().all(|run| !run.cells.is_empty()));
        Self { runs, next: 0 }
    }
}

impl CellSource for RunList {
    fn seek(&mut self, row: &[u8]) {
        self.next = self.runs.partition_point(|run| run.block.row(run.cells.end - 1) < row);
        if let Some(run) = self.runs.get_mut(self.next) {
            let start = run.block.lower_bound_row(row).max(run.cells.start);
            run.cells.start = start;
        }
    }

    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>> {
        let Some(run) = self.runs.get(self.next) else { return Ok(None) };
        if end.is_some_and(|end| run.block.row(run.cells.start) >= end) {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(run.clone()))
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        let first = |run: &CellRun| before.is_none_or(|before| run.block.row(run.cells.start) < before);
        let Some(run) = self.runs.iter().rev().find(|run| first(run)) else { return Ok(None) };
        let end = before.map_or(run.cells.end, |before| run.block.lower_bound_row(before).min(run.cells.end));
        Ok(Some(Bytes::copy_from_slice(run.block.row(end - 1))))
    }
}
