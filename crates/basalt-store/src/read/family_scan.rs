// SPDX-License-Identifier: Apache-2.0
//! The cells of one family that a reader wants, row by row, in either direction.
//!
//! Cells are judged one by one ([`Matcher`]), but for rows that lie whole in a lone plain block: when the reader
//! has no wishes those are passed on as they are, many at once to who can take them; when a filter is all that it has,
//! rows of which the filter lets nothing pass are left out many at once.

use std::ops::Range;
use std::sync::Arc;

use basalt_hfile::{CellBlock, CellRun};
use basalt_model::{CellRef, KeyRange};
use bytes::Bytes;

use super::family::BoxedSource;
use super::filter::{CellFilter, Seen, WholeRow};
use super::matcher::{Matcher, Step, Wishes};
use super::merge::{Merge, Stretch};
use super::result::{Row, ValueForm, cell_bytes};
use super::seek::SeekKey;
use crate::Result;

/// How much of a row one result takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// Cells.
    pub(crate) cells_max: Option<u64>,
    /// Bytes.
    pub(crate) bytes_max: Option<u64>,
    cells: u64,
    bytes: u64,
    /// A row is being skipped: nothing is counted.
    skipping: bool,
}

impl Limits {
    pub(crate) fn new(cells_max: Option<u64>, bytes_max: Option<u64>) -> Self {
        Self { cells_max, bytes_max, ..Self::default() }
    }

    /// Begins a result.
    pub(crate) fn reset(&mut self) {
        (self.cells, self.bytes, self.skipping) = (0, 0, false);
    }

    /// Limits for a row of which nothing is wanted.
    pub(crate) fn skipping() -> Self {
        Self { skipping: true, ..Self::default() }
    }

    pub(crate) fn cells_reached(&self) -> bool {
        !self.skipping && self.cells_max.is_some_and(|max| self.cells >= max)
    }

    pub(crate) fn bytes_reached(&self) -> bool {
        !self.skipping && self.bytes_max.is_some_and(|max| self.bytes >= max)
    }

    pub(crate) fn reached(&self) -> bool {
        self.cells_reached() || self.bytes_reached()
    }

    fn are_none(&self) -> bool {
        self.cells_max.is_none() && self.bytes_max.is_none()
    }
}

/// See the module.
pub(crate) struct FamilyScan {
    merge: Merge<BoxedSource>,
    matcher: Matcher,
    range: KeyRange,
    reversed: bool,
    /// The plain way only, for comparison in tests.
    pub(super) always_plain: bool,
    stretch: Option<Stretch>,
    /// Next cell of the stretch.
    at: usize,
    /// Of a reversed scan: the row that the merge stands in.
    row: Option<Bytes>,
    started: bool,
    closed: bool,
    /// Cells of the row that passed.
    count: u64,
}

impl FamilyScan {
    /// The cells of `sources`, newest first, in `range`.
    pub(crate) fn new(sources: Vec<BoxedSource>, wishes: Wishes, range: KeyRange, reversed: bool) -> Self {
        Self {
            merge: Merge::new(sources),
            matcher: Matcher::new(wishes),
            range,
            reversed,
            always_plain: false,
            stretch: None,
            at: 0,
            row: None,
            started: false,
            closed: false,
            count: 0,
        }
    }

    /// True if there is a next cell, which [`FamilyScan::front`] then gives.
    pub(crate) fn peek(&mut self) -> Result<bool> {
        if self.closed {
            return Ok(false);
        }
        if !self.started {
            self.started = true;
            if self.reversed {
                let end = self.range.end.clone();
                self.go_back(end.as_deref())?;
            } else {
                self.merge.seek(&self.range);
            }
        }
        loop {
            if self.stretch.as_ref().is_some_and(|stretch| self.at < stretch.run.cells.end) {
                return Ok(true);
            }
            if self.reversed && self.row.is_none() {
                return Ok(false);
            }
            self.stretch = self.merge.next()?;
            match &self.stretch {
                Some(stretch) => self.at = stretch.run.cells.start,
                None if self.reversed => {
                    let row = self.row.take();
                    self.go_back(row.as_deref())?;
                }
                None => return Ok(false),
            }
        }
    }

    /// The next cell. [`FamilyScan::peek`] said that there is one.
    pub(crate) fn front(&self) -> CellRef<'_> {
        self.block().cell(self.at)
    }

    fn block(&self) -> &Arc<CellBlock> {
        &self.stretch.as_ref().expect("peek found a cell").run.block
    }

    fn seen<'a>(&self, block: &'a CellBlock) -> Seen<'a> {
        let in_memory = self.stretch.as_ref().is_some_and(|stretch| stretch.in_memory);
        Seen { cell: block.cell(self.at), in_memory }
    }

    fn end(&self) -> usize {
        self.stretch.as_ref().expect("peek found a cell").run.cells.end
    }

    /// Stands at the last row before `before`, or behind everything if there is none.
    fn go_back(&mut self, before: Option<&[u8]>) -> Result<()> {
        self.stretch = None;
        self.row = self.merge.row_before(before)?.filter(|row| *row >= self.range.start);
        if let Some(row) = &self.row {
            self.merge.seek(&KeyRange::point(row.clone()));
        }
        Ok(())
    }

    /// Appends the next cells of the current row that pass to `out`, up to the row's end or a limit.
    pub(crate) fn next(
        &mut self,
        out: &mut Row,
        mut filter: Option<&mut (dyn CellFilter + 'static)>,
        limits: &mut Limits,
    ) -> Result<()> {
        if !self.peek()? {
            return Ok(());
        }
        if limits.are_none() || !self.matcher.is_in_row() {
            self.begin_row();
            if limits.cells_max.is_none() && !limits.skipping {
                // What is left of the row in the next block is judged below.
                self.pass_plain_row(out, limits);
            }
        }
        while self.peek()? {
            let block = Arc::clone(self.block());
            let step = self.matcher.check(&self.seen(&block), filter.as_deref_mut())?;
            match step {
                Step::Include | Step::IncludeNextColumn | Step::IncludeNextRow => {
                    let form = ValueForm::Stored(block.slots[self.at].value_len);
                    let form = filter.as_deref().map_or(form, |filter| filter.value_form(form));
                    if self.include(out, &block, form, limits) {
                        self.matcher.end_row();
                        return self.next_row();
                    }
                    match step {
                        Step::IncludeNextRow => self.leave_row()?,
                        Step::IncludeNextColumn => self.leave_column()?,
                        _ => self.at += 1,
                    }
                    if limits.reached() {
                        return Ok(());
                    }
                }
                Step::RowOver => {
                    self.matcher.end_row();
                    return Ok(());
                }
                Step::ScanOver => {
                    self.closed = true;
                    return Ok(());
                }
                Step::Skip => self.at += 1,
                Step::NextColumn => self.leave_column()?,
                Step::NextRow => self.leave_row()?,
                Step::Seek => {
                    let filter = filter.as_deref_mut().expect("only a filter asks to seek");
                    let hint = filter.hint(&block.cell(self.at))?;
                    self.follow(hint, &block)?;
                }
            }
        }
        Ok(())
    }

    fn begin_row(&mut self) {
        self.count = 0;
        let stretch = self.stretch.as_ref().expect("peek found a cell");
        self.matcher.begin_row(stretch.run.block.row(self.at));
    }

    /// Counts an included cell; true if it was the last one wanted of the row.
    fn include(
        &mut self,
        out: &mut Row,
        block: &Arc<CellBlock>,
        form: ValueForm,
        limits: &mut Limits,
    ) -> bool {
        self.count += 1;
        let wishes = self.matcher.wishes();
        let offset = u64::from(wishes.offset);
        if self.count <= offset {
            return false;
        }
        if !limits.skipping {
            out.push(block, self.at, form);
        }
        limits.cells += 1;
        limits.bytes += cell_bytes(&block.cell(self.at));
        wishes.limit.is_some_and(|limit| self.count >= u64::from(limit) + offset)
    }

    /// Passes the cells of the current row on if they need no question; its rest may follow in the next block.
    /// Not those that would reach a limit.
    fn pass_plain_row(&mut self, out: &mut Row, limits: &mut Limits) {
        let stretch = self.stretch.as_ref().expect("peek found a cell");
        if !self.passes_whole(stretch) {
            return;
        }
        let block = &stretch.run.block;
        let end = row_end(block, self.at).min(stretch.run.cells.end);
        if let Some(max) = limits.bytes_max {
            let bytes = limits.bytes + (self.at..end).map(|i| cell_bytes(&block.cell(i))).sum::<u64>();
            if bytes >= max {
                return;
            }
            limits.bytes = bytes;
        }
        out.push_run(block, self.at..end);
        self.matcher.passed_by(&block.cell(end - 1));
        self.at = end;
    }

    /// True if the rows of a stretch need no question.
    fn passes_whole(&self, stretch: &Stretch) -> bool {
        self.matcher.wishes().are_plain() && self.shows_whole(stretch)
    }

    /// True if the rows of a stretch need no question but the filter's.
    fn shows_whole(&self, stretch: &Stretch) -> bool {
        let (wishes, block) = (self.matcher.wishes(), &stretch.run.block);
        let expiring = wishes.rules.timestamp_min > stretch.timestamp_min || !block.tags.is_empty();
        stretch.lone && block.plain && !expiring && wishes.show_all() && !self.always_plain
    }

    /// Whole rows of the stretch in hand from the next cell on, as the first number of a row and the one behind the last; not the last one of
    /// a block, which may go on in the next.
    fn whole_rows(&self, stretch: &Stretch) -> Range<usize> {
        let starts = &stretch.run.block.row_starts;
        let first = starts.partition_point(|&start| (start as usize) < self.at);
        let last =
            starts.partition_point(|&start| (start as usize) < stretch.run.cells.end).saturating_sub(1);
        let begins = starts.get(first).is_some_and(|&start| start as usize == self.at);
        if begins && first < last { first..last } else { 0..0 }
    }

    /// Leaves out the next rows as far as `filter` says, which forgets rows, that nothing of them passes; how many.
    pub(crate) fn skip_left_out(&mut self, filter: &dyn CellFilter) -> Result<u64> {
        if self.reversed || self.matcher.is_in_row() || !self.peek()? {
            return Ok(0);
        }
        let stretch = self.stretch.as_ref().expect("peek found a cell");
        if !self.shows_whole(stretch) {
            return Ok(0);
        }
        let (block, rows) = (&stretch.run.block, self.whole_rows(stretch));
        let mut next = rows.start;
        while next < rows.end {
            let cells = block.row_starts[next] as usize..block.row_starts[next + 1] as usize;
            if !filter.leaves_out(&WholeRow { block, cells, in_memory: stretch.in_memory })? {
                break;
            }
            next += 1;
        }
        if next > rows.start {
            self.at = block.row_starts[next] as usize;
        }
        Ok((next - rows.start) as u64)
    }

    /// The next rows as they lie, up to `rows_max`, if they need no question and each takes less than `bytes_max`.
    pub(crate) fn next_rows(&mut self, rows_max: usize, bytes_max: Option<u64>) -> Result<Option<CellRun>> {
        if self.reversed || self.matcher.is_in_row() || !self.peek()? {
            return Ok(None);
        }
        let stretch = self.stretch.as_ref().expect("peek found a cell");
        let block = &stretch.run.block;
        let small = bytes_max.is_none_or(|max| (block.memory_bytes() as u64) < max);
        if !small || !self.passes_whole(stretch) {
            return Ok(None);
        }
        let rows = self.whole_rows(stretch);
        let end = rows.end.min(rows.start.saturating_add(rows_max));
        if end <= rows.start {
            return Ok(None);
        }
        let run = CellRun { block: Arc::clone(block), cells: self.at..block.row_starts[end] as usize };
        self.at = run.cells.end;
        Ok(Some(run))
    }

    fn follow(&mut self, hint: Option<SeekKey>, block: &Arc<CellBlock>) -> Result<()> {
        let Some(hint) = hint else {
            self.at += 1;
            return Ok(());
        };
        let order = hint.compare_to(&block.cell(self.at));
        if self.reversed && order.is_lt() || !self.reversed && order.is_gt() {
            self.seek(&hint)
        } else {
            self.at += 1;
            Ok(())
        }
    }

    fn leave_row(&mut self) -> Result<()> {
        self.matcher.end_row();
        self.next_row()
    }

    fn leave_column(&mut self) -> Result<()> {
        let key = self.matcher.next_column(&self.front());
        self.seek(&key)
    }

    /// Leaves the row of the current cell without looking at it.
    pub(crate) fn skip_row(&mut self) -> Result<()> {
        self.leave_row()
    }

    /// Leaves the row of the current cell.
    fn next_row(&mut self) -> Result<()> {
        let block = Arc::clone(self.block());
        let start = self.at;
        if self.reversed {
            return self.go_back(Some(block.row(start)));
        }
        loop {
            self.at = row_end(self.block(), self.at).min(self.end());
            if self.at < self.end() || !self.peek()? || self.block().row(self.at) != block.row(start) {
                return Ok(());
            }
        }
    }

    /// Stands at the first cell that is not before `key`, in the row of the key or, if that has none, in the
    /// next row of the scan's direction.
    fn seek(&mut self, key: &SeekKey) -> Result<()> {
        if self.reversed && self.row.as_deref() != Some(&key.row[..]) {
            let behind = KeyRange::point(key.row.clone()).end.expect("a row has a next one");
            self.go_back(Some(&behind))?;
            if self.row.as_deref() != Some(&key.row[..]) {
                return Ok(());
            }
        }
        while self.peek()? {
            let (block, end) = (Arc::clone(self.block()), self.end());
            let before = |i: usize| key.compare_to(&block.cell(i)).is_gt();
            if self.reversed && block.row(self.at) != key.row || !before(self.at) {
                return Ok(());
            }
            if before(end - 1) {
                self.at = end;
                if !self.reversed && block.row(end - 1) < &key.row[..] {
                    self.jump(key)?;
                }
                continue;
            }
            let (mut low, mut high) = (self.at, end - 1);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if before(middle) { low = middle } else { high = middle }
            }
            self.at = high;
            return Ok(());
        }
        Ok(())
    }

    /// Goes to a row behind the current stretch by way of the files' indexes.
    fn jump(&mut self, key: &SeekKey) -> Result<()> {
        self.stretch = None;
        let start = self.range.start.clone().max(Bytes::copy_from_slice(&key.row));
        self.merge.seek(&KeyRange { start, end: self.range.end.clone() });
        Ok(())
    }

    /// Stands at the first cell of `row` or behind it, as a scan of rows that another family decides about.
    pub(crate) fn seek_row(&mut self, row: &[u8]) -> Result<()> {
        if self.peek()? && self.front().row < row {
            self.matcher.end_row();
            self.seek(&SeekKey::before_row(row.to_vec()))?;
        }
        Ok(())
    }
}

/// End of the cells of a block that belong to the row of cell `at`.
fn row_end(block: &CellBlock, at: usize) -> usize {
    let next = block.row_starts.partition_point(|&start| start as usize <= at);
    block.row_starts.get(next).map_or(block.len(), |&start| start as usize)
}

#[cfg(test)]
mod tests;
