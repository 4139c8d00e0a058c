// SPDX-License-Identifier: Apache-2.0
//! Filters by the qualifier, place or timestamp of a cell.

use std::collections::BTreeSet;
use std::ops::Bound;

use basalt_model::CellRef;
use basalt_model::filter::ColumnOffset;
use bytes::Bytes;

use super::{CellFilter, SeekKey, Seen, ValueForm, Verdict};
use crate::Result;

/// Qualifiers that begin with some bytes.
pub(super) struct Prefix(Bytes);

impl Prefix {
    pub(super) fn new(prefix: Bytes) -> Self {
        Self(prefix)
    }
}

impl CellFilter for Prefix {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        let qualifier = cell.qualifier;
        Ok(if qualifier.starts_with(&self.0) {
            Verdict::Include
        } else if qualifier < &self.0[..] {
            Verdict::Seek
        } else {
            Verdict::NextRow
        })
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        Ok(Some(SeekKey::before_column(cell, &self.0)))
    }

    fn may_seek(&self) -> bool {
        true
    }
}

/// Qualifiers that begin with one of several byte strings.
pub(super) struct Prefixes {
    sorted: BTreeSet<Bytes>,
    next: Bytes,
}

impl Prefixes {
    pub(super) fn new(prefixes: &[Bytes]) -> Self {
        Self { sorted: prefixes.iter().cloned().collect(), next: Bytes::new() }
    }
}

impl CellFilter for Prefixes {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        if self.sorted.is_empty() {
            return Ok(Verdict::Include);
        }
        let up_to = (Bound::Unbounded, Bound::Included(cell.qualifier));
        let below = self.sorted.range::<[u8], _>(up_to).next_back();
        if below.is_some_and(|below| cell.qualifier.starts_with(below)) {
            return Ok(Verdict::Include);
        }
        let above = (Bound::Excluded(cell.qualifier), Bound::Unbounded);
        match self.sorted.range::<[u8], _>(above).next() {
            Some(next) => {
                self.next = next.clone();
                Ok(Verdict::Seek)
            }
            None => Ok(Verdict::NextRow),
        }
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        Ok(Some(SeekKey::before_column(cell, &self.next)))
    }

    fn may_seek(&self) -> bool {
        true
    }
}

/// Qualifiers in a range.
pub(super) struct Range {
    min: (Option<Bytes>, bool),
    max: (Option<Bytes>, bool),
}

impl Range {
    /// Each bound with whether it belongs to the range.
    pub(super) fn new(min: (Option<Bytes>, bool), max: (Option<Bytes>, bool)) -> Self {
        Self { min, max }
    }
}

impl CellFilter for Range {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        if let (Some(min), inclusive) = &self.min {
            match cell.qualifier.cmp(min) {
                std::cmp::Ordering::Less => return Ok(Verdict::Seek),
                std::cmp::Ordering::Equal if !inclusive => return Ok(Verdict::NextColumn),
                _ => {}
            }
        }
        let inside = match &self.max {
            (None, _) => true,
            (Some(max), true) => cell.qualifier <= &max[..],
            (Some(max), false) => cell.qualifier < &max[..],
        };
        Ok(if inside { Verdict::Include } else { Verdict::NextRow })
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        Ok(Some(SeekKey::before_column(cell, self.min.0.as_deref().unwrap_or_default())))
    }

    fn may_seek(&self) -> bool {
        true
    }
}

/// Some columns of each row.
pub(super) struct Page {
    limit: u64,
    offset: ColumnOffset,
    seen: u64,
}

impl Page {
    pub(super) fn new(limit: u32, offset: ColumnOffset) -> Self {
        Self { limit: u64::from(limit), offset, seen: 0 }
    }
}

impl CellFilter for Page {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.seen = 0;
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        let skipped = match &self.offset {
            ColumnOffset::Count(offset) => u64::from(*offset),
            ColumnOffset::Qualifier(_) => 0,
        };
        if self.seen >= skipped + self.limit {
            return Ok(Verdict::NextRow);
        }
        if let ColumnOffset::Qualifier(first) = &self.offset
            && self.seen == 0
            && cell.qualifier < &first[..]
        {
            return Ok(Verdict::Seek);
        }
        self.seen += 1;
        Ok(if self.seen <= skipped { Verdict::NextColumn } else { Verdict::IncludeNextColumn })
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        Ok(match &self.offset {
            ColumnOffset::Qualifier(first) => Some(SeekKey::before_column(cell, first)),
            ColumnOffset::Count(_) => None,
        })
    }
}

/// The first columns of a row; the scan ends with the first row that has more.
pub(super) struct Count {
    limit: u32,
    seen: u32,
}

impl Count {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, seen: 0 }
    }
}

impl CellFilter for Count {
    fn reset(&mut self) {
        self.seen = 0;
    }

    fn all_remaining(&self) -> bool {
        self.seen > self.limit
    }

    fn drops_row_key(&mut self, _: &CellRef<'_>) -> Result<bool> {
        Ok(self.all_remaining())
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        self.seen = self.seen.saturating_add(1);
        Ok(if self.all_remaining() { Verdict::NextColumn } else { Verdict::IncludeNextColumn })
    }
}

/// The first cell of each row.
#[derive(Default)]
pub(super) struct First {
    found: bool,
}

impl CellFilter for First {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.found = false;
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        let before = std::mem::replace(&mut self.found, true);
        Ok(if before { Verdict::NextRow } else { Verdict::Include })
    }
}

/// The cells of each row up to the first with one of some qualifiers.
pub(super) struct UpTo {
    qualifiers: BTreeSet<Bytes>,
    found: bool,
}

impl UpTo {
    pub(super) fn new(qualifiers: &[Bytes]) -> Self {
        Self { qualifiers: qualifiers.iter().cloned().collect(), found: false }
    }
}

impl CellFilter for UpTo {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.found = false;
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        if self.found {
            return Ok(Verdict::NextRow);
        }
        self.found = self.qualifiers.contains(cell.qualifier);
        Ok(Verdict::Include)
    }
}

/// Cells without their values.
pub(super) struct KeyOnly {
    length_as_value: bool,
}

impl KeyOnly {
    pub(super) fn new(length_as_value: bool) -> Self {
        Self { length_as_value }
    }
}

impl CellFilter for KeyOnly {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn hides_cells(&self) -> bool {
        false
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        Ok(Verdict::Include)
    }

    fn value_form(&self, form: ValueForm) -> ValueForm {
        if self.length_as_value { form.length() } else { ValueForm::Empty }
    }
}

/// Cells with one of some timestamps.
pub(super) struct Times {
    sorted: BTreeSet<i64>,
    can_hint: bool,
}

impl Times {
    pub(super) fn new(timestamps: &[i64], can_hint: bool) -> Self {
        Self { sorted: timestamps.iter().copied().collect(), can_hint }
    }
}

impl CellFilter for Times {
    fn forgets_rows(&self) -> bool {
        true
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict> {
        Ok(if self.sorted.contains(&cell.timestamp) {
            Verdict::Include
        } else if self.sorted.first().is_none_or(|&min| cell.timestamp < min) {
            Verdict::NextColumn
        } else if self.can_hint {
            Verdict::Seek
        } else {
            Verdict::Skip
        })
    }

    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        if !self.can_hint {
            return Ok(None);
        }
        Ok(Some(match self.sorted.range(..cell.timestamp).next_back() {
            Some(&older) => SeekKey::before_version(cell, cell.qualifier, older),
            None => SeekKey::behind_column(cell),
        }))
    }

    fn may_seek(&self) -> bool {
        true
    }
}
