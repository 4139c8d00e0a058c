// SPDX-License-Identifier: Apache-2.0
//! Judges the stored cells of one family for a reader with wishes of its own: columns, times, versions, filters.
//!
//! The order of the questions is HBase's (`UserScanQueryMatcher` and its column trackers, 2.6), and shows: VERSIONS
//! of the family count the cells in the wanted times; the filter sees only those; the versions that the reader
//! wants are counted after it.
//!
//! 1. Row over? All wanted columns served? Past the TTL?
//! 2. A marker is noted. One after the wanted times counts as well, unless the family keeps deleted cells: then a
//!    reader of a moment sees what was there at that moment.
//! 3. Hidden by a marker? By sequence also: beyond VERSIONS at any time, whichever times and versions are wanted?
//!    Outside of the wanted times? Not a wanted column? Beyond VERSIONS?
//! 4. The filter. Then the versions that the reader wants.
//!
//! A reader without wishes takes the [`Resolver`](super::resolve::Resolver), which passes whole blocks.

use basalt_model::operation::TimeRange;
use basalt_model::table::{DeleteRule, KeepDeletedCells};
use basalt_model::{CellRef, CellType};
use bytes::Bytes;

use super::filter::{CellFilter, Seen, Verdict};
use super::marks::{Lives, Marks, first_delete};
use super::resolve::Rules;
use super::seek::SeekKey;
use crate::Result;
use crate::tags::own_ttl_passed;
use columns::Columns;

mod columns;

/// What a reader wants of one family.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    /// The family's rules, with its own VERSIONS.
    pub(crate) rules: Rules,
    /// Wanted columns, sorted; all if empty.
    pub(crate) columns: Vec<Bytes>,
    pub(crate) time_range: TimeRange,
    pub(crate) versions: u32,
    /// Markers and what they hide are wanted as well.
    pub(crate) raw: bool,
    pub(crate) has_filter: bool,
    /// Cells per row.
    pub(crate) limit: Option<u32>,
    /// Cells of a row that are left out before the first.
    pub(crate) offset: u32,
}

impl Wishes {
    /// Nothing but the newest cells: what blocks can be passed on for.
    pub(crate) fn are_plain(&self) -> bool {
        self.show_all() && !self.has_filter
    }

    /// Nothing but the newest cells, or what a filter leaves of them.
    pub(crate) fn show_all(&self) -> bool {
        let Self { columns, time_range, raw, limit, offset, .. } = self;
        columns.is_empty() && time_range.is_all() && !raw && limit.is_none() && *offset == 0
    }

    /// Versions that count before the filter.
    fn versions_checked(&self) -> u32 {
        match (self.raw, self.has_filter) {
            (true, true) => u32::MAX,
            (true, false) => self.versions,
            (false, true) => self.rules.versions_max,
            (false, false) => self.versions_wanted(),
        }
    }

    fn versions_wanted(&self) -> u32 {
        if self.raw { self.versions } else { self.versions.min(self.rules.versions_max) }
    }
}

/// What to do with a cell, and where to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Include,
    IncludeNextColumn,
    IncludeNextRow,
    Skip,
    NextColumn,
    NextRow,
    /// Where the filter says.
    Seek,
    /// The cell belongs to the next row.
    RowOver,
    /// Nothing passes the filter any more.
    ScanOver,
}

/// See the module.
pub(crate) struct Matcher {
    wishes: Wishes,
    columns: Columns,
    row: Vec<u8>,
    in_row: bool,
    family_marks: Marks,
    column_marks: Marks,
    /// Qualifier that the column's marks belong to.
    marked: Vec<u8>,
    /// By sequence: the puts of a column so far, and its qualifier.
    lives: Lives,
    lived: Vec<u8>,
    /// Qualifier of the last cell that passed the filter, and how many of it did.
    passed: Option<Vec<u8>>,
    passed_count: u32,
}

impl Matcher {
    pub(crate) fn new(wishes: Wishes) -> Self {
        let columns = Columns::new(&wishes.columns, wishes.versions_checked(), &wishes.rules);
        Self {
            wishes,
            columns,
            row: Vec::new(),
            in_row: false,
            family_marks: Marks::default(),
            column_marks: Marks::default(),
            marked: Vec::new(),
            lives: Lives::default(),
            lived: Vec::new(),
            passed: None,
            passed_count: 0,
        }
    }

    pub(crate) fn wishes(&self) -> &Wishes {
        &self.wishes
    }

    pub(crate) fn is_in_row(&self) -> bool {
        self.in_row
    }

    pub(crate) fn begin_row(&mut self, row: &[u8]) {
        self.row.clear();
        self.row.extend_from_slice(row);
        self.in_row = true;
        self.columns.reset();
        self.family_marks.clear();
        self.column_marks.clear();
        self.lives.clear();
        (self.passed, self.passed_count) = (None, 0);
    }

    pub(crate) fn end_row(&mut self) {
        self.in_row = false;
    }

    /// Takes note of a visible cell that was passed without a question and has its column to itself so far.
    pub(crate) fn passed_by(&mut self, cell: &CellRef<'_>) {
        let _ = self.columns.count(cell);
        if self.wishes.rules.delete_rule == DeleteRule::BySequence {
            self.lives_of(cell.qualifier).add(cell.timestamp, cell.seq.0, None);
        }
    }

    /// The puts so far of the column in hand.
    fn lives_of(&mut self, qualifier: &[u8]) -> &mut Lives {
        if self.lived != qualifier {
            self.lives.clear();
            self.lived.clear();
            self.lived.extend_from_slice(qualifier);
        }
        &mut self.lives
    }

    /// The next step after a cell.
    pub(crate) fn check(
        &mut self,
        cell: &Seen<'_>,
        filter: Option<&mut (dyn CellFilter + 'static)>,
    ) -> Result<Step> {
        if filter.as_ref().is_some_and(|filter| filter.all_remaining()) {
            return Ok(Step::ScanOver);
        }
        if !self.in_row || self.row != cell.row {
            return Ok(Step::RowOver);
        }
        if self.columns.all_served() {
            return Ok(Step::NextRow);
        }
        if self.columns.is_over(cell.timestamp) {
            return Ok(self.columns.leave(cell));
        }
        if !cell.tags.is_empty() && own_ttl_passed(cell, self.wishes.rules.now_ms) {
            return Ok(Step::Skip);
        }
        if !self.wishes.raw {
            if cell.cell_type.is_delete() {
                self.note(cell);
                return Ok(Step::Skip);
            }
            if let Some(step) = self.step_if_hidden(cell) {
                return Ok(step);
            }
        }
        self.check_visible(cell, filter)
    }

    /// Remembers what a marker hides.
    fn note(&mut self, cell: &CellRef<'_>) {
        let Self { wishes, family_marks, column_marks, marked, .. } = self;
        let range = &wishes.time_range;
        let sees_past = wishes.rules.keep_deleted_cells != KeepDeletedCells::False;
        let counts = if sees_past { range.contains(cell.timestamp) } else { cell.timestamp >= range.min };
        if !counts {
            return;
        }
        let seq = match wishes.rules.delete_rule {
            DeleteRule::ByTimestamp => u64::MAX,
            DeleteRule::BySequence => cell.seq.0,
        };
        if matches!(cell.cell_type, CellType::DeleteColumn | CellType::Delete) && marked != cell.qualifier {
            column_marks.clear();
            marked.clear();
            marked.extend_from_slice(cell.qualifier);
        }
        match cell.cell_type {
            CellType::DeleteFamily => family_marks.add_range(cell.timestamp, seq),
            CellType::DeleteFamilyVersion => family_marks.add_point(cell.timestamp, seq),
            CellType::DeleteColumn => column_marks.add_range(cell.timestamp, seq),
            CellType::Delete => column_marks.add_point(cell.timestamp, seq),
            CellType::Put => unreachable!("a put is no marker"),
        }
    }

    fn step_if_hidden(&mut self, cell: &CellRef<'_>) -> Option<Step> {
        let (timestamp, seq) = (cell.timestamp, cell.seq.0);
        if self.marked != cell.qualifier {
            self.column_marks.clear();
        }
        let (family, own) = (&self.family_marks, &self.column_marks);
        let by_range = family.hide_range(timestamp, seq) || own.hide_range(timestamp, seq);
        if self.wishes.rules.delete_rule == DeleteRule::ByTimestamp {
            if by_range {
                // Everything older is hidden as well.
                return Some(self.columns.leave(cell));
            }
            let hidden = family.hide(timestamp, seq) || own.hide(timestamp, seq);
            return hidden.then_some(Step::Skip);
        }
        let deleted = first_delete(family, own, timestamp, seq);
        let versions_kept = self.wishes.rules.versions_kept;
        let lives = self.lives_of(cell.qualifier);
        if by_range {
            lives.pass(timestamp, seq);
            return Some(Step::Skip);
        }
        (!lives.meet(timestamp, seq, deleted, versions_kept)).then_some(Step::Skip)
    }

    fn check_visible(
        &mut self,
        cell: &Seen<'_>,
        filter: Option<&mut (dyn CellFilter + 'static)>,
    ) -> Result<Step> {
        let range = &self.wishes.time_range;
        if !range.contains(cell.timestamp) {
            return Ok(if cell.timestamp < range.min { self.columns.leave(cell) } else { Step::Skip });
        }
        let step = match self.columns.wants(cell) {
            Step::Include => self.columns.count(cell),
            other => return Ok(other),
        };
        let Some(filter) = filter else { return Ok(step) };
        if matches!(step, Step::Skip | Step::NextColumn) {
            return Ok(step);
        }
        let verdict = filter.check(cell)?;
        Ok(self.after_filter(cell, step, verdict))
    }

    /// Joins what the columns say about an included cell with what the filter says.
    fn after_filter(&mut self, cell: &CellRef<'_>, step: Step, verdict: Verdict) -> Step {
        let step = match (verdict, step) {
            (Verdict::Skip, Step::IncludeNextColumn) => return Step::NextColumn,
            (Verdict::Skip | Verdict::NextColumn, Step::IncludeNextRow) => return Step::NextRow,
            (Verdict::Skip, _) => return Step::Skip,
            (Verdict::NextColumn, _) => return self.columns.leave(cell),
            (Verdict::NextRow, _) => return Step::NextRow,
            (Verdict::Seek, _) => return Step::Seek,
            (Verdict::Include, step) => step,
            (Verdict::IncludeNextColumn, Step::Include) => Step::IncludeNextColumn,
            (Verdict::IncludeNextColumn, step) => step,
            (Verdict::IncludeNextRow, _) => Step::IncludeNextRow,
        };
        if self.passed.as_deref() != Some(cell.qualifier) {
            (self.passed, self.passed_count) = (Some(cell.qualifier.to_vec()), 0);
        }
        self.passed_count += 1;
        let step = if self.passed_count <= self.wishes.versions_wanted() {
            step
        } else if step == Step::IncludeNextRow {
            Step::NextRow
        } else {
            Step::NextColumn
        };
        if matches!(step, Step::IncludeNextColumn | Step::NextColumn) {
            self.columns.finish(cell);
        }
        step
    }

    /// Where the next column begins. Markers of the family may lie among the versions of the empty qualifier, so
    /// those are never jumped over.
    pub(crate) fn next_column(&self, cell: &CellRef<'_>) -> SeekKey {
        if cell.qualifier.is_empty() {
            return SeekKey::behind_type(cell);
        }
        match self.columns.next_wanted() {
            Some(qualifier) => SeekKey::before_column(cell, qualifier),
            None => SeekKey::behind_column(cell),
        }
    }
}
