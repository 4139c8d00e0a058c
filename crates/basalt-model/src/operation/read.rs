// SPDX-License-Identifier: Apache-2.0
//! Gets and scans.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::KeyRange;
use crate::filter::Filter;

/// Timestamps from `min` (inclusive) to `max` (exclusive; `i64::MAX` for no bound).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// Smallest timestamp.
    pub min: i64,
    /// First timestamp behind the range.
    pub max: i64,
}

impl TimeRange {
    /// All times.
    pub const fn all() -> Self {
        Self { min: 0, max: i64::MAX }
    }

    /// From `min` to before `max`.
    pub const fn new(min: i64, max: i64) -> Self {
        Self { min, max }
    }

    /// True if every timestamp lies in it.
    pub fn is_all(&self) -> bool {
        self.min <= 0 && self.max == i64::MAX
    }

    /// True if the timestamp lies in it.
    pub fn contains(&self, timestamp: i64) -> bool {
        self.min <= timestamp && (timestamp < self.max || self.max == i64::MAX)
    }
}

impl Default for TimeRange {
    fn default() -> Self {
        Self::all()
    }
}

/// The columns a reader wants: all if nothing is named. As in HBase's client, a family named as a whole
/// replaces columns of it named before, and a column named later narrows a family named as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    families: BTreeMap<Bytes, BTreeSet<Bytes>>,
}

impl Selection {
    /// Wants a whole family.
    pub fn add_family(&mut self, family: impl Into<Bytes>) {
        self.families.insert(family.into(), BTreeSet::new());
    }

    /// Wants a column.
    pub fn add_column(&mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) {
        self.families.entry(family.into()).or_default().insert(qualifier.into());
    }

    /// True if nothing was named, so everything is wanted.
    pub fn is_all(&self) -> bool {
        self.families.is_empty()
    }

    /// The families named, each with its columns (none: the whole family).
    pub fn families(&self) -> &BTreeMap<Bytes, BTreeSet<Bytes>> {
        &self.families
    }
}

/// What gets and scans have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOptions {
    /// Versions per column, at most as many as the family keeps. Default 1.
    pub versions: u32,
    /// Timestamps wanted.
    pub time_range: TimeRange,
    /// Timestamps wanted of single families, in place of `time_range`.
    pub family_time_ranges: BTreeMap<Bytes, TimeRange>,
    /// Columns wanted.
    pub columns: Selection,
    /// Cells per family and row, at most; `None` for all.
    pub family_limit: Option<u32>,
    /// Cells per family and row that are left out before the first.
    pub family_offset: u32,
    /// What else is left out.
    pub filter: Option<Filter>,
    /// Read families that the filter does not need only for rows that pass. Default true.
    pub families_on_demand: bool,
    /// Put the blocks that are read into the cache. Default true.
    pub cache_blocks: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            versions: 1,
            time_range: TimeRange::all(),
            family_time_ranges: BTreeMap::new(),
            columns: Selection::default(),
            family_limit: None,
            family_offset: 0,
            filter: None,
            families_on_demand: true,
            cache_blocks: true,
        }
    }
}

macro_rules! read_options {
    ($read:ident) => {
        impl $read {
            /// Wants a whole family.
            #[must_use]
            pub fn family(mut self, family: impl Into<Bytes>) -> Self {
                self.options.columns.add_family(family);
                self
            }

            /// Wants a column.
            #[must_use]
            pub fn column(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
                self.options.columns.add_column(family, qualifier);
                self
            }

            /// Wants up to this many versions per column.
            #[must_use]
            pub fn versions(mut self, versions: u32) -> Self {
                self.options.versions = versions;
                self
            }

            /// Wants timestamps from `min` to before `max`.
            #[must_use]
            pub fn time_range(mut self, min: i64, max: i64) -> Self {
                self.options.time_range = TimeRange::new(min, max);
                self
            }

            /// Wants timestamps of one family from `min` to before `max`.
            #[must_use]
            pub fn family_time_range(mut self, family: impl Into<Bytes>, min: i64, max: i64) -> Self {
                self.options.family_time_ranges.insert(family.into(), TimeRange::new(min, max));
                self
            }

            /// Leaves out what the filter leaves out.
            #[must_use]
            pub fn filter(mut self, filter: Filter) -> Self {
                self.options.filter = Some(filter);
                self
            }

            /// Wants at most this many cells of each family.
            #[must_use]
            pub fn family_limit(mut self, cells: u32) -> Self {
                self.options.family_limit = Some(cells);
                self
            }

            /// Leaves out the first cells of each family.
            #[must_use]
            pub fn family_offset(mut self, cells: u32) -> Self {
                self.options.family_offset = cells;
                self
            }

            /// Chooses whether blocks that are read go into the cache.
            #[must_use]
            pub fn cache_blocks(mut self, cache: bool) -> Self {
                self.options.cache_blocks = cache;
                self
            }
        }
    };
}
read_options!(Get);
read_options!(Scan);

/// Reads one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Get {
    pub(crate) row: Bytes,
    /// What of it.
    pub options: ReadOptions,
}

impl Get {
    /// The newest version of every column.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), options: ReadOptions::default() }
    }

    /// The row.
    pub fn row(&self) -> &[u8] {
        &self.row
    }

    /// The row, shared.
    pub fn row_bytes(&self) -> &Bytes {
        &self.row
    }
}

/// Reads rows in key order.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Where the scan begins; empty for the first row, or the last of a reversed scan.
    pub start: Bytes,
    /// The start row itself belongs to the scan. Default true.
    pub start_inclusive: bool,
    /// Where the scan ends; empty for the last row, or the first of a reversed scan.
    pub stop: Bytes,
    /// The stop row itself belongs to the scan. Default false.
    pub stop_inclusive: bool,
    /// From the larger rows to the smaller ones.
    pub reversed: bool,
    /// Rows, at most; `None` for all.
    pub limit: Option<u64>,
    /// Cells per result, at most: longer rows come in several results. `None` for whole rows.
    pub batch: Option<u32>,
    /// Bytes of keys and values after which a result ends, even inside a row: rows longer than that come in
    /// several results. `None` for whole rows.
    pub result_bytes_max: Option<u64>,
    /// Shows delete markers and what they hide.
    pub raw: bool,
    /// What of the rows.
    pub options: ReadOptions,
}

impl Default for Scan {
    fn default() -> Self {
        Self::new()
    }
}

impl Scan {
    /// The newest version of every column of every row.
    pub fn new() -> Self {
        Self {
            start: Bytes::new(),
            start_inclusive: true,
            stop: Bytes::new(),
            stop_inclusive: false,
            reversed: false,
            limit: None,
            batch: None,
            result_bytes_max: None,
            raw: false,
            options: ReadOptions::default(),
        }
    }

    /// Begins at this row, inclusive.
    #[must_use]
    pub fn start(mut self, row: impl Into<Bytes>) -> Self {
        (self.start, self.start_inclusive) = (row.into(), true);
        self
    }

    /// Begins behind this row.
    #[must_use]
    pub fn start_exclusive(mut self, row: impl Into<Bytes>) -> Self {
        (self.start, self.start_inclusive) = (row.into(), false);
        self
    }

    /// Ends before this row.
    #[must_use]
    pub fn stop(mut self, row: impl Into<Bytes>) -> Self {
        (self.stop, self.stop_inclusive) = (row.into(), false);
        self
    }

    /// Ends with this row.
    #[must_use]
    pub fn stop_inclusive(mut self, row: impl Into<Bytes>) -> Self {
        (self.stop, self.stop_inclusive) = (row.into(), true);
        self
    }

    /// Reads the rows that begin with these bytes.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<Bytes>) -> Self {
        let range = KeyRange::prefix(prefix);
        (self.start, self.start_inclusive) = (range.start, true);
        (self.stop, self.stop_inclusive) = (range.end.unwrap_or_default(), false);
        self
    }

    /// Goes from the larger rows to the smaller ones.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.reversed = true;
        self
    }

    /// True if the scan goes from the larger rows to the smaller ones.
    pub fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Ends after this many rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Cuts rows into results of at most this many cells.
    #[must_use]
    pub fn batch(mut self, cells: u32) -> Self {
        self.batch = Some(cells);
        self
    }

    /// Cuts rows into results of about this many bytes.
    #[must_use]
    pub fn result_bytes_max(mut self, bytes: u64) -> Self {
        self.result_bytes_max = Some(bytes);
        self
    }

    /// Shows delete markers and what they hide.
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// The rows, whatever the direction. A range that no row can lie in is empty.
    pub fn key_range(&self) -> KeyRange {
        let (low, low_inclusive, high, high_inclusive) = if self.reversed {
            (&self.stop, self.stop_inclusive, &self.start, self.start_inclusive)
        } else {
            (&self.start, self.start_inclusive, &self.stop, self.stop_inclusive)
        };
        let start = if low.is_empty() || low_inclusive { low.clone() } else { behind(low) };
        let end = if high.is_empty() {
            None
        } else if high_inclusive {
            Some(behind(high))
        } else {
            Some(high.clone())
        };
        KeyRange { start, end }
    }
}

/// The next row after this one.
fn behind(row: &Bytes) -> Bytes {
    let mut next = Vec::with_capacity(row.len() + 1);
    next.extend_from_slice(row);
    next.push(0);
    next.into()
}
