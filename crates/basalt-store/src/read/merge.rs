// SPDX-License-Identifier: Apache-2.0
//! Merges sorted sources into one stream of stretches, comparing rows rather than cells where it can.
//!
//! ```text
//! source 0   a a b |   |     | k k |        stretches
//! source 1         | f | g g |     |   ->   [a a b] lone 0, [f] shared 1, [f] shared 2, [g g] lone 1,
//! source 2         | f |     |     |        [k k] lone 0
//! ```
//!
//! 1. The source with the smallest row is alone below the next source's row: all its cells below that row
//!    go on as one *lone* stretch, found by binary search over the rows of the block, however long it is.
//! 2. Several sources stand at the same row: the cells of that row are merged one by one, in stretches that
//!    end where another source has the smaller cell. These stretches are *shared*.
//! 3. Two cells equal in everything, sequence number included: the source with the lower index comes first,
//!    so the caller lists sources newest first.
//!
//! A row may span several runs of a source; rule 2 then loads further runs of it while it merges the row.
//! The merge never drops a cell.

use std::cmp::Ordering;
use std::sync::Arc;

use basalt_hfile::{CellBlock, CellRun};
use basalt_model::KeyRange;
use bytes::Bytes;

use super::source::CellSource;
use crate::Result;

/// Some consecutive cells out of a merge.
#[derive(Debug, Clone)]
pub(crate) struct Stretch {
    /// The cells.
    pub(crate) run: CellRun,
    /// True if no other source has a cell in any row of the run, but for the run's first row, which may
    /// be the rest of a row whose other cells came in earlier stretches.
    pub(crate) lone: bool,
    /// No cell of the run has a lower timestamp.
    pub(crate) timestamp_min: i64,
    /// The cells are of a memtable.
    pub(crate) in_memory: bool,
}

/// A merge of sources, the newest first.
pub(crate) struct Merge<S> {
    cursors: Vec<Cursor<S>>,
    /// Cursors that have cells, by descending (row, index): the smallest row is last.
    order: Vec<usize>,
    /// How many cursors at the end of `order` are being merged cell by cell in one row; 0 outside of that.
    shared: usize,
    range: KeyRange,
    started: bool,
}

struct Cursor<S> {
    source: S,
    block: Arc<CellBlock>,
    /// Next cell and end of the current run.
    at: usize,
    end: usize,
    timestamp_min: i64,
}

impl<S: CellSource> Cursor<S> {
    fn row(&self) -> &[u8] {
        self.block.row(self.at)
    }

    /// Loads the next run if the current one is used up; false when the source is done.
    fn fill(&mut self, end: Option<&Bytes>) -> Result<bool> {
        if self.at == self.end {
            let Some(run) = self.source.next_run(end.map(|end| &end[..]))? else { return Ok(false) };
            assert!(!run.cells.is_empty(), "a source hands out no empty runs");
            (self.block, self.at, self.end) = (run.block, run.cells.start, run.cells.end);
        }
        Ok(end.is_none_or(|end| self.row() < &end[..]))
    }

    /// Takes the cells up to `end` off the front.
    fn take(&mut self, end: usize, lone: bool) -> Stretch {
        debug_assert!(self.at < end && end <= self.end);
        let run = CellRun { block: Arc::clone(&self.block), cells: self.at..end };
        self.at = end;
        Stretch { run, lone, timestamp_min: self.timestamp_min, in_memory: self.source.in_memory() }
    }

    /// End of the front cells whose row is below `bound`.
    fn end_below(&self, bound: &[u8]) -> usize {
        if self.block.row(self.end - 1) < bound {
            return self.end;
        }
        self.block.lower_bound_row(bound).clamp(self.at, self.end)
    }

    /// End of the front cells that belong to the row of the first.
    fn end_of_row(&self) -> usize {
        let rows = &self.block.row_starts;
        let next = rows.partition_point(|&start| start as usize <= self.at);
        rows.get(next).map_or(self.end, |&start| (start as usize).min(self.end))
    }
}

impl<S: CellSource> Merge<S> {
    /// Merges `sources`, listed newest first; [`seek`](Self::seek) must come before the first stretch.
    pub(crate) fn new(sources: Vec<S>) -> Self {
        let empty = Arc::new(CellBlock::default());
        let cursor = |source: S| {
            let timestamp_min = source.timestamp_min();
            Cursor { source, block: Arc::clone(&empty), at: 0, end: 0, timestamp_min }
        };
        Self {
            cursors: sources.into_iter().map(cursor).collect(),
            order: Vec::new(),
            shared: 0,
            range: KeyRange::all(),
            started: false,
        }
    }

    /// No cell of any source has a lower timestamp.
    pub(crate) fn timestamp_min(&self) -> i64 {
        self.cursors.iter().map(|cursor| cursor.timestamp_min).min().unwrap_or(i64::MAX)
    }

    /// Stands at the start of `range`; the stretches that follow end with it.
    pub(crate) fn seek(&mut self, range: &KeyRange) {
        for cursor in &mut self.cursors {
            (cursor.at, cursor.end) = (0, 0);
            cursor.source.seek(&range.start);
        }
        self.order.clear();
        self.shared = 0;
        self.range = range.clone();
        self.started = false;
    }

    /// The next stretch of cells, or `None` at the end of the range.
    pub(crate) fn next(&mut self) -> Result<Option<Stretch>> {
        if !self.started {
            self.start()?;
        }
        if self.shared > 1 {
            return self.next_shared().map(Some);
        }
        let Some(&smallest) = self.order.last() else { return Ok(None) };
        let runner_up = self.order.len().checked_sub(2).map(|at| self.order[at]);
        if let Some(second) = runner_up
            && self.cursors[second].row() == self.cursors[smallest].row()
        {
            let row = self.cursors[smallest].row();
            self.shared = self.order.iter().rev().take_while(|&&i| self.cursors[i].row() == row).count();
            return self.next_shared().map(Some);
        }
        let cursor = &self.cursors[smallest];
        let mut end = cursor.end;
        if let Some(bound) = &self.range.end {
            end = end.min(cursor.end_below(bound));
        }
        if let Some(second) = runner_up {
            end = end.min(cursor.end_below(self.cursors[second].row()));
        }
        let stretch = self.cursors[smallest].take(end, true);
        self.order.pop();
        self.place(smallest)?;
        Ok(Some(stretch))
    }

    /// The last row before `before` (or of all) that a source has, wherever the merge stands.
    pub(crate) fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        let mut last = None;
        for cursor in &self.cursors {
            last = last.max(cursor.source.row_before(before)?);
        }
        Ok(last)
    }

    fn start(&mut self) -> Result<()> {
        self.started = true;
        for i in 0..self.cursors.len() {
            self.place(i)?;
        }
        Ok(())
    }

    /// Fills cursor `i` and puts it where it belongs in the order, or leaves it out when it is done.
    fn place(&mut self, i: usize) -> Result<()> {
        if !self.cursors[i].fill(self.range.end.as_ref())? {
            return Ok(());
        }
        let mut at = self.order.len();
        let row = self.cursors[i].row();
        while at > 0 {
            let other = self.order[at - 1];
            if row.cmp(self.cursors[other].row()).then(i.cmp(&other)).is_lt() {
                break;
            }
            at -= 1;
        }
        self.order.insert(at, i);
        Ok(())
    }

    /// The next stretch of the row at which the last `shared` cursors of the order stand.
    fn next_shared(&mut self) -> Result<Stretch> {
        let first = self.order.len() - self.shared;
        let (mut at, mut smallest, mut second) = (first, self.order[first], None);
        for (place, &i) in self.order.iter().enumerate().skip(first + 1) {
            if self.compare_fronts(i, smallest).is_lt() {
                (second, smallest, at) = (Some(smallest), i, place);
            } else if second.is_none_or(|second| self.compare_fronts(i, second).is_lt()) {
                second = Some(i);
            }
        }
        let second = second.expect("a shared row has at least two sources");
        let end = self.end_before(smallest, second);
        let stretch = self.cursors[smallest].take(end, false);
        self.refill_shared(at, smallest, &stretch)?;
        Ok(stretch)
    }

    fn compare_fronts(&self, a: usize, b: usize) -> Ordering {
        let (left, right) = (&self.cursors[a], &self.cursors[b]);
        left.block.cell(left.at).compare(&right.block.cell(right.at)).then(a.cmp(&b))
    }

    /// End of the cells of `smallest`, in its current row, that sort before the front of `second`.
    fn end_before(&self, smallest: usize, second: usize) -> usize {
        let cursor = &self.cursors[smallest];
        let other = self.cursors[second].block.cell(self.cursors[second].at);
        let row_end = cursor.end_of_row();
        let mut end = cursor.at + 1;
        while end < row_end && cursor.block.cell(end).compare(&other).then(smallest.cmp(&second)).is_lt() {
            end += 1;
        }
        end
    }

    /// After a shared stretch was taken from cursor `i` at `place` of the order: keeps the cursor there
    /// while it stands at the same row, moves it on otherwise, and ends the sharing with the last but one.
    fn refill_shared(&mut self, place: usize, i: usize, taken: &Stretch) -> Result<()> {
        let more = self.cursors[i].fill(self.range.end.as_ref());
        let row = taken.run.block.row(taken.run.cells.start);
        if matches!(more, Ok(true)) && self.cursors[i].row() == row {
            return Ok(());
        }
        self.order.remove(place);
        self.shared -= 1;
        if more? { self.place(i) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
