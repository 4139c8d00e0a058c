// SPDX-License-Identifier: Apache-2.0
//! Which cells of a merged family a reader sees, and which a compaction keeps: VERSIONS, TTL, delete markers.
//!
//! The rules are HBase's (`NormalUserScanQueryMatcher`, `MinorCompactionScanQueryMatcher`,
//! `MajorCompactionScanQueryMatcher`, 2.6). Per column, in key order (timestamps descending, markers before
//! puts of the same timestamp):
//!
//! 1. A cell past its TTL is gone, and with it the rest of its column, unless MIN_VERSIONS keeps some. A
//!    cell with a TTL tag of its own goes alone.
//! 2. A marker is noted. Family markers lie in front of the row's columns, column markers in front of what
//!    they hide, so one pass suffices.
//! 3. A put is hidden by a marker that covers its timestamp; under [`DeleteRule::BySequence`] only if the
//!    marker was not written before it.
//! 4. Of puts with one timestamp the first (highest sequence number) stands for all.
//! 5. The first VERSIONS puts that remain are visible. Under `BySequence` those that were already gone when one of them was
//!    deleted stay gone ([`Lives`]).
//!
//! A compaction keeps markers until nothing outside of its inputs can hold what they hide.
//!
//! By timestamp, puts that are hidden or beyond VERSIONS leave in every compaction, as in HBase: a later delete of exactly
//! one version then shows nothing where it would have shown the version before.
//!
//! Under `BySequence` no compaction changes what readers see. A partial one knows neither the puts nor the markers elsewhere.
//! What a range of deletes hides leaves. What only the delete of its version hides stays, for it may keep an older put
//! elsewhere from being seen. A put beyond VERSIONS leaves if that is one, and one version above it was written after it:
//! whatever range marker elsewhere hides that one hides it as well.
//!
//! The fast path: a lone stretch of a *plain* block (puts only, one per column) that no TTL can concern is
//! visible as it is. Only a row that began in an earlier stretch is looked at cell by cell.

use std::sync::Arc;

use basalt_hfile::{CellBlock, CellRun, CellSlot};
use basalt_model::table::{DeleteRule, FamilyDescriptor, KeepDeletedCells};
use basalt_model::{CellRef, CellType};

use super::marks::{Lives, Marks, first_delete};
use super::merge::Stretch;
use crate::tags::own_ttl_passed;

/// What decides about the cells of one family, at one moment.
#[derive(Debug, Clone)]
pub struct Rules {
    /// VERSIONS, or fewer if the reader asked for fewer.
    pub versions_max: u32,
    /// VERSIONS.
    pub versions_kept: u32,
    /// MIN_VERSIONS.
    pub versions_min: u32,
    /// The moment of the read, for TTLs; milliseconds since the epoch.
    pub now_ms: i64,
    /// Cells with a lower timestamp are past the family's TTL.
    pub timestamp_min: i64,
    /// Cells with a higher timestamp are not there for a reader of a moment in the past; `i64::MAX` for all others.
    pub timestamp_max: i64,
    /// NEW_VERSION_BEHAVIOR or HBase's default.
    pub delete_rule: DeleteRule,
    /// KEEP_DELETED_CELLS; concerns compactions, and readers of a moment in the past.
    pub keep_deleted_cells: KeepDeletedCells,
    /// No put that a compaction reads is older: markers that are have nothing to hide. `i64::MIN` if unknown.
    pub put_timestamp_min: i64,
    /// Open scans are not older than this commit: a compaction keeps what was written later, and masks nothing
    /// with it, as in HBase. `u64::MAX` if there are none.
    pub seq_horizon: u64,
}

impl Rules {
    /// The rules of a family at `now_ms`.
    pub fn new(family: &FamilyDescriptor, now_ms: i64) -> Self {
        let ttl_ms = family.ttl_secs.map(|secs| i64::try_from(secs.saturating_mul(1000)).unwrap_or(i64::MAX));
        Self {
            versions_max: family.versions_max.max(1),
            versions_kept: family.versions_max.max(1),
            versions_min: family.versions_min,
            now_ms,
            timestamp_min: ttl_ms.map_or(i64::MIN, |ttl_ms| now_ms.saturating_sub(ttl_ms)),
            timestamp_max: i64::MAX,
            delete_rule: family.delete_rule,
            keep_deleted_cells: family.keep_deleted_cells,
            put_timestamp_min: i64::MIN,
            seq_horizon: u64::MAX,
        }
    }

    /// The reader sees the family as it was.
    pub(super) fn is_of_the_past(&self) -> bool {
        self.timestamp_max < i64::MAX
    }

    pub(super) fn expired(&self, timestamp: i64) -> bool {
        timestamp < self.timestamp_min
    }
}

/// For whom cells are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A reader: visible puts only.
    Read,
    /// A compaction of some of the files (or a flush): markers stay.
    CompactSome,
    /// A compaction of every file that holds any of the rows: markers that have done their work leave.
    CompactAll,
}

/// Turns the stretches of a merge, in order, into the runs of cells that pass.
#[derive(Debug)]
pub(crate) struct Resolver {
    rules: Rules,
    purpose: Purpose,
    /// The last cell seen.
    last: Option<(Arc<CellBlock>, usize)>,
    row: RowState,
}

/// What the earlier cells of the current row mean for those to come.
#[derive(Debug, Default)]
struct RowState {
    family: Marks,
    column: ColumnState,
}

#[derive(Debug, Default)]
struct ColumnState {
    marks: Marks,
    /// Versions counted.
    versions: u32,
    /// Noted by sequence only.
    lives: Lives,
    /// Timestamp and type of the last cell that was let pass: another one like it adds nothing.
    last: Option<(i64, CellType)>,
    /// No further put of this column passes. Markers are still noted: those of the family lie among the
    /// puts of the empty qualifier.
    done: bool,
    /// Nothing of this column passes any more, markers included.
    left: bool,
}

impl ColumnState {
    fn clear(&mut self) {
        self.marks.clear();
        self.versions = 0;
        self.lives.clear();
        self.last = None;
        self.done = false;
        self.left = false;
    }
}

impl Resolver {
    pub(crate) fn new(rules: Rules, purpose: Purpose) -> Self {
        Self { rules, purpose, last: None, row: RowState::default() }
    }

    /// Forgets the current row; the next stretch is the first of another range.
    pub(crate) fn reset(&mut self) {
        self.last = None;
    }

    /// Appends the cells of `stretch` that pass to `out`.
    pub(crate) fn push(&mut self, stretch: &Stretch, out: &mut Vec<CellRun>) {
        let CellRun { block, cells } = &stretch.run;
        let ttl_matters = self.rules.timestamp_min > stretch.timestamp_min || !block.tags.is_empty();
        let fast = stretch.lone && block.plain && !ttl_matters && !self.rules.is_of_the_past();
        let split = if fast { self.end_of_begun_row(&stretch.run) } else { cells.end };
        if split > cells.start {
            self.push_cells(block, cells.start, split, out);
        }
        if split < cells.end {
            append(out, block, split, cells.end);
            self.stand_behind(&block.slots[cells.end - 1]);
        }
        self.last = Some((Arc::clone(block), cells.end - 1));
    }

    /// The state after a visible put that has its column to itself in a row without markers so far.
    fn stand_behind(&mut self, slot: &CellSlot) {
        self.row.family.clear();
        let column = &mut self.row.column;
        column.clear();
        column.versions = 1;
        if self.rules.delete_rule == DeleteRule::BySequence {
            column.lives.add(slot.timestamp, slot.seq.0, None);
        }
        column.last = Some((slot.timestamp, slot.cell_type));
    }

    /// Index of the first cell of `run` that does not belong to the row of the last cell seen.
    fn end_of_begun_row(&self, run: &CellRun) -> usize {
        let (block, start) = (&run.block, run.cells.start);
        let begun = self.last.as_ref().is_some_and(|(last, i)| last.row(*i) == block.row(start));
        if !begun {
            return start;
        }
        let next = block.row_starts.partition_point(|&row| row as usize <= start);
        block.row_starts.get(next).map_or(run.cells.end, |&row| (row as usize).min(run.cells.end))
    }

    /// The plain way: one cell after the other.
    fn push_cells(&mut self, block: &Arc<CellBlock>, start: usize, end: usize, out: &mut Vec<CellRun>) {
        let mut passing = start;
        for i in start..end {
            let cell = block.cell(i);
            if i > start {
                self.enter(&block.cell(i - 1), &cell);
            } else {
                self.enter_first(&cell);
            }
            if !self.passes(&cell) {
                append(out, block, passing, i);
                passing = i + 1;
            }
        }
        append(out, block, passing, end);
    }

    fn enter_first(&mut self, cell: &CellRef<'_>) {
        match self.last.take() {
            Some((block, i)) => self.enter(&block.cell(i), cell),
            None => {
                self.row.family.clear();
                self.row.column.clear();
            }
        }
    }

    /// Resets what ends between two neighbouring cells.
    fn enter(&mut self, previous: &CellRef<'_>, cell: &CellRef<'_>) {
        if previous.row != cell.row {
            self.row.family.clear();
            self.row.column.clear();
        } else if previous.qualifier != cell.qualifier {
            self.row.column.clear();
        }
    }

    fn passes(&mut self, cell: &CellRef<'_>) -> bool {
        if self.row.column.left {
            return false;
        }
        if cell.timestamp > self.rules.timestamp_max {
            return false;
        }
        if self.rules.versions_min == 0 && self.rules.expired(cell.timestamp) {
            return false;
        }
        if !cell.tags.is_empty() && own_ttl_passed(cell, self.rules.now_ms) {
            return false;
        }
        let kept_for_scans = self.purpose != Purpose::Read && cell.seq.0 > self.rules.seq_horizon;
        match cell.cell_type.is_delete() {
            true => kept_for_scans || self.marker_passes(cell),
            false => {
                let passes = if kept_for_scans { !self.is_hidden(cell) } else { self.put_passes(cell) };
                if !passes {
                    self.leave_column(cell);
                }
                passes
            }
        }
    }

    /// A compaction by timestamp takes no second look at a column of which a put is gone together with all older
    /// ones: markers behind it go with them, as in HBase. Those of the family lie among the puts of the empty
    /// qualifier, so that one is looked at to its end.
    fn leave_column(&mut self, cell: &CellRef<'_>) {
        let by_timestamp = self.rules.delete_rule == DeleteRule::ByTimestamp && self.purpose != Purpose::Read;
        if by_timestamp && !cell.qualifier.is_empty() {
            let RowState { family, column } = &mut self.row;
            let hides = |marks: &Marks| marks.hide_range(cell.timestamp, cell.seq.0);
            column.left = column.done || hides(family) || hides(&column.marks);
        }
    }

    fn marker_passes(&mut self, cell: &CellRef<'_>) -> bool {
        let kept = match (self.purpose, self.rules.keep_deleted_cells) {
            (Purpose::Read, _) | (_, KeepDeletedCells::False) => false,
            (_, KeepDeletedCells::True) => true,
            (_, KeepDeletedCells::Ttl) => !self.rules.expired(cell.timestamp),
        };
        if !kept {
            self.note(cell);
        }
        match self.purpose {
            Purpose::Read => false,
            Purpose::CompactSome => true,
            Purpose::CompactAll => {
                kept && cell.timestamp >= self.rules.put_timestamp_min && self.counts(cell)
            }
        }
    }

    /// Remembers what a marker hides.
    fn note(&mut self, cell: &CellRef<'_>) {
        let seq = match self.rules.delete_rule {
            DeleteRule::ByTimestamp => u64::MAX,
            DeleteRule::BySequence => cell.seq.0,
        };
        let RowState { family, column } = &mut self.row;
        match cell.cell_type {
            CellType::DeleteFamily => family.add_range(cell.timestamp, seq),
            CellType::DeleteFamilyVersion => family.add_point(cell.timestamp, seq),
            CellType::DeleteColumn => column.marks.add_range(cell.timestamp, seq),
            CellType::Delete => column.marks.add_point(cell.timestamp, seq),
            CellType::Put => unreachable!("a put is no marker"),
        }
    }

    fn put_passes(&mut self, cell: &CellRef<'_>) -> bool {
        if self.row.column.done {
            return false;
        }
        match (self.rules.delete_rule, self.purpose) {
            (DeleteRule::ByTimestamp, _) => !self.is_hidden(cell) && self.counts(cell),
            (DeleteRule::BySequence, Purpose::CompactSome) => self.may_be_needed(cell),
            (DeleteRule::BySequence, _) => self.lives(cell) && self.counts(cell),
        }
    }

    fn is_hidden(&self, cell: &CellRef<'_>) -> bool {
        let (family, own) = (&self.row.family, &self.row.column.marks);
        family.hide(cell.timestamp, cell.seq.0) || own.hide(cell.timestamp, cell.seq.0)
    }

    /// By sequence: true if a put was neither deleted nor beyond VERSIONS at any time.
    fn lives(&mut self, cell: &CellRef<'_>) -> bool {
        let (timestamp, seq) = (cell.timestamp, cell.seq.0);
        let RowState { family, column } = &mut self.row;
        if family.hide_range(timestamp, seq) || column.marks.hide_range(timestamp, seq) {
            column.lives.pass(timestamp, seq);
            return false;
        }
        let deleted = first_delete(family, &column.marks, timestamp, seq);
        column.lives.meet(timestamp, seq, deleted, self.rules.versions_kept)
    }

    /// By sequence: false if no reader can see a put, nor be kept by it from seeing another, whatever else there is.
    fn may_be_needed(&mut self, cell: &CellRef<'_>) -> bool {
        let (timestamp, seq) = (cell.timestamp, cell.seq.0);
        let RowState { family, column } = &mut self.row;
        if family.hide_range(timestamp, seq) || column.marks.hide_range(timestamp, seq) {
            return false;
        }
        // MIN_VERSIONS keeps versions past their TTL as long as few newer ones are there, of which a marker elsewhere may take some.
        if self.rules.versions_kept == 1 && column.lives.any_written_since(seq) {
            return false;
        }
        column.lives.add(timestamp, seq, first_delete(family, &column.marks, timestamp, seq));
        true
    }

    /// Rules 4 and 5. Markers that a compaction keeps are checked like puts, but count for nothing.
    fn counts(&mut self, cell: &CellRef<'_>) -> bool {
        let column = &mut self.row.column;
        if column.last == Some((cell.timestamp, cell.cell_type)) {
            return false;
        }
        let put = u32::from(!cell.cell_type.is_delete());
        let rank = column.versions + put;
        let rules = &self.rules;
        let too_old = rank > rules.versions_min && rules.expired(cell.timestamp);
        if rank > rules.versions_max || too_old {
            // Markers behind it are beyond VERSIONS as well.
            (column.done, column.versions) = (true, rank);
            return false;
        }
        column.versions = rank;
        column.last = Some((cell.timestamp, cell.cell_type));
        true
    }
}

/// Appends cells to a list of runs, growing the last run where they continue it.
fn append(out: &mut Vec<CellRun>, block: &Arc<CellBlock>, start: usize, end: usize) {
    if start >= end {
        return;
    }
    if let Some(last) = out.last_mut()
        && last.cells.end == start
        && Arc::ptr_eq(&last.block, block)
    {
        last.cells.end = end;
        return;
    }
    out.push(CellRun { block: Arc::clone(block), cells: start..end });
}

#[cfg(test)]
pub(crate) mod tests;
