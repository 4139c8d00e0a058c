// SPDX-License-Identifier: Apache-2.0
//! Which columns a reader wants, and how many versions of the current one it has seen.

use basalt_model::{CellRef, CellType};
use bytes::Bytes;

use super::Step;
use crate::read::resolve::Rules;

/// See the module.
pub(super) enum Columns {
    All(AllColumns),
    Some(SomeColumns),
}

/// Versions and times that are kept.
struct Kept {
    versions_max: u32,
    versions_min: u32,
    /// Older cells are past the TTL.
    timestamp_min: i64,
}

impl Kept {
    fn expired(&self, timestamp: i64) -> bool {
        timestamp < self.timestamp_min
    }
}

/// Every column.
pub(super) struct AllColumns {
    kept: Kept,
    qualifier: Option<Vec<u8>>,
    versions: u32,
    last: Option<(i64, CellType)>,
}

/// Columns that were named.
pub(super) struct SomeColumns {
    kept: Kept,
    wanted: Vec<Bytes>,
    versions: Vec<u32>,
    /// The wanted column that comes next, or is being read.
    at: usize,
    /// False once the last one was served.
    waiting: bool,
    last: Option<i64>,
}

impl Columns {
    /// `wanted` is sorted; empty for all.
    pub(super) fn new(wanted: &[Bytes], versions_max: u32, rules: &Rules) -> Self {
        let (versions_min, timestamp_min) = (rules.versions_min, rules.timestamp_min);
        let kept = Kept { versions_max, versions_min, timestamp_min };
        if wanted.is_empty() {
            return Self::All(AllColumns { kept, qualifier: None, versions: 0, last: None });
        }
        let versions = vec![0; wanted.len()];
        let wanted = wanted.to_vec();
        Self::Some(SomeColumns { kept, wanted, versions, at: 0, waiting: true, last: None })
    }

    /// Begins a row.
    pub(super) fn reset(&mut self) {
        match self {
            Self::All(all) => (all.qualifier, all.last) = (None, None),
            Self::Some(some) => {
                some.versions.fill(0);
                (some.at, some.waiting, some.last) = (0, true, None);
            }
        }
    }

    /// True if no wanted column is left in the row.
    pub(super) fn all_served(&self) -> bool {
        matches!(self, Self::Some(some) if some.is_served())
    }

    /// True if this and all older versions of the column are gone.
    pub(super) fn is_over(&self, timestamp: i64) -> bool {
        let kept = match self {
            Self::All(all) => &all.kept,
            Self::Some(some) => &some.kept,
        };
        kept.versions_min == 0 && kept.expired(timestamp)
    }

    /// [`Step::Include`] if the column is wanted, or where to go on.
    pub(super) fn wants(&mut self, cell: &CellRef<'_>) -> Step {
        match self {
            Self::All(_) => Step::Include,
            Self::Some(some) => some.wants(cell),
        }
    }

    /// Counts a cell of a wanted column.
    pub(super) fn count(&mut self, cell: &CellRef<'_>) -> Step {
        match self {
            Self::All(all) => all.count(cell),
            Self::Some(some) => some.count(cell),
        }
    }

    /// Leaves the column of `cell`.
    pub(super) fn finish(&mut self, cell: &CellRef<'_>) {
        if let Self::Some(some) = self {
            some.finish(cell);
        }
    }

    /// Leaves the column of `cell` and says where to go on.
    pub(super) fn leave(&mut self, cell: &CellRef<'_>) -> Step {
        self.finish(cell);
        match self {
            Self::Some(some) if !some.waiting => Step::NextRow,
            _ => Step::NextColumn,
        }
    }

    /// The wanted column that comes next, if columns were named.
    pub(super) fn next_wanted(&self) -> Option<&[u8]> {
        match self {
            Self::Some(some) if some.waiting => some.wanted.get(some.at).map(|column| &column[..]),
            _ => None,
        }
    }
}

impl AllColumns {
    fn count(&mut self, cell: &CellRef<'_>) -> Step {
        if self.qualifier.as_deref() == Some(cell.qualifier) {
            // Of cells with one timestamp and type the first stands for all.
            if self.last == Some((cell.timestamp, cell.cell_type)) {
                return Step::Skip;
            }
        } else {
            let qualifier = self.qualifier.get_or_insert_default();
            qualifier.clear();
            qualifier.extend_from_slice(cell.qualifier);
            (self.versions, self.last) = (0, None);
        }
        self.versions += u32::from(!cell.cell_type.is_delete());
        let kept = self.versions <= self.kept.versions_min || !self.kept.expired(cell.timestamp);
        if self.versions > self.kept.versions_max || !kept {
            return Step::NextColumn;
        }
        self.last = Some((cell.timestamp, cell.cell_type));
        Step::Include
    }
}

impl SomeColumns {
    fn is_served(&self) -> bool {
        self.at >= self.wanted.len()
    }

    fn wants(&mut self, cell: &CellRef<'_>) -> Step {
        while !self.is_served() && self.waiting {
            let order = cell.qualifier.cmp(&self.wanted[self.at][..]);
            if order.is_eq() {
                return Step::Include;
            }
            self.last = None;
            if order.is_lt() {
                return Step::NextColumn;
            }
            self.at += 1;
        }
        Step::NextRow
    }

    fn count(&mut self, cell: &CellRef<'_>) -> Step {
        if self.last == Some(cell.timestamp) {
            return Step::Skip;
        }
        self.versions[self.at] += 1;
        let versions = self.versions[self.at];
        // The version that reaches the minimum ends the column even if it is past the TTL itself.
        let enough = versions >= self.kept.versions_min && self.kept.expired(cell.timestamp);
        if versions < self.kept.versions_max && !enough {
            self.last = Some(cell.timestamp);
            return Step::Include;
        }
        self.at += 1;
        self.last = None;
        self.waiting = !self.is_served();
        if self.waiting { Step::IncludeNextColumn } else { Step::IncludeNextRow }
    }

    fn finish(&mut self, cell: &CellRef<'_>) {
        while self.waiting && !self.is_served() {
            let order = cell.qualifier.cmp(&self.wanted[self.at][..]);
            self.last = None;
            if order.is_ge() {
                self.at += 1;
                self.waiting = !self.is_served();
            }
            if !order.is_gt() {
                return;
            }
        }
    }
}
