// SPDX-License-Identifier: Apache-2.0
//! Rows in some ranges, seeking from range to range.

use std::cmp::Ordering;

use basalt_model::CellRef;
use basalt_model::filter::RowRange;
use bytes::Bytes;

use super::{CellFilter, FilterFault, SeekKey, Seen, Verdict};
use crate::{Error, Result};

/// See the module.
pub(super) struct Ranges {
    /// In the order in which a scan meets them.
    ranges: Vec<RowRange>,
    reversed: bool,
    found_first: bool,
    current: Option<usize>,
    verdict: Option<Verdict>,
    done: bool,
}

impl Ranges {
    pub(super) fn new(ranges: &[RowRange], reversed: bool) -> Self {
        let mut ranges = merge(ranges);
        if reversed {
            ranges.reverse();
        }
        Self { ranges, reversed, found_first: false, current: None, verdict: None, done: false }
    }

    /// The bound that a scan meets first, and whether it belongs to the range.
    fn front(&self, at: usize) -> (&Bytes, bool) {
        let range = &self.ranges[at];
        if self.reversed {
            (&range.stop, range.stop_inclusive)
        } else {
            (&range.start, range.start_inclusive)
        }
    }

    /// The range whose front equals `row`, or where it would be inserted.
    fn search(&self, row: &[u8]) -> Result<usize, usize> {
        self.ranges_by_front(|front| if self.reversed { row.cmp(front) } else { front.cmp(row) })
    }

    fn ranges_by_front(&self, order: impl Fn(&[u8]) -> Ordering) -> Result<usize, usize> {
        let indices: Vec<usize> = (0..self.ranges.len()).collect();
        indices.binary_search_by(|&at| order(self.front(at).0))
    }

    /// Takes note of a row outside of the current range.
    fn move_to(&mut self, row: &[u8]) {
        let (index, on_excluded_front) = match self.search(row) {
            Ok(at) => (Some(at), !self.front(at).1),
            Err(at) if at > 0 && contains(&self.ranges[at - 1], row) => (Some(at - 1), false),
            Err(0) if !contains(&self.ranges[0], row) => (None, false),
            Err(at) => {
                self.found_first = true;
                (Some(at), false)
            }
        };
        if index.is_some_and(|index| index >= self.ranges.len()) {
            self.done = true;
            self.verdict = Some(Verdict::NextRow);
            return;
        }
        let current = index.unwrap_or(0);
        self.current = Some(current);
        if on_excluded_front {
            self.verdict = Some(Verdict::NextRow);
            return;
        }
        let inside = if self.found_first { contains(&self.ranges[current], row) } else { index.is_some() };
        self.found_first = true;
        self.verdict = Some(if inside { Verdict::Include } else { Verdict::Seek });
    }
}

impl CellFilter for Ranges {
    fn all_remaining(&self) -> bool {
        self.done
    }

    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        if self.done {
            return Ok(true);
        }
        let inside = self.current.is_some_and(|at| contains(&self.ranges[at], first.row));
        if self.found_first && inside {
            self.verdict = Some(Verdict::Include);
        } else {
            self.move_to(first.row);
        }
        Ok(false)
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        self.verdict.ok_or(Error::Filter(FilterFault::Unpositioned))
    }

    fn hint(&mut self, _: &CellRef<'_>) -> Result<Option<SeekKey>> {
        let current = self.current.ok_or(Error::Filter(FilterFault::Unpositioned))?;
        Ok(Some(SeekKey::before_row(self.front(current).0.to_vec())))
    }

    fn may_seek(&self) -> bool {
        true
    }
}

fn contains(range: &RowRange, row: &[u8]) -> bool {
    let above = match row.cmp(&range.start) {
        Ordering::Less => false,
        Ordering::Equal => range.start_inclusive,
        Ordering::Greater => true,
    };
    let below = match row.cmp(&range.stop) {
        _ if range.stop.is_empty() => true,
        Ordering::Less => true,
        Ordering::Equal => range.stop_inclusive,
        Ordering::Greater => false,
    };
    above && below
}

/// Sorted by start; ranges that overlap or touch become one. As in HBase, of ranges with one start the first
/// given decides whether that row belongs to them, and a range inside a joined one makes its stop inclusive if its own
/// is.
fn merge(ranges: &[RowRange]) -> Vec<RowRange> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by(|a, b| a.start.cmp(&b.start));
    let mut merged: Vec<RowRange> = Vec::new();
    // The last range took its stop from a later one.
    let mut extended = false;
    for range in sorted {
        let Some(last) = merged.last_mut() else {
            merged.push(range);
            continue;
        };
        let gap = match range.start.cmp(&last.stop) {
            _ if last.stop.is_empty() => false,
            Ordering::Less => false,
            Ordering::Equal => !(last.stop_inclusive || range.start_inclusive),
            Ordering::Greater => true,
        };
        if gap {
            extended = false;
            merged.push(range);
            continue;
        }
        if last.stop.is_empty() {
            continue;
        }
        match range.stop.cmp(&last.stop) {
            _ if range.stop.is_empty() => last.stop = range.stop,
            Ordering::Greater => {
                (last.stop, last.stop_inclusive) = (range.stop, range.stop_inclusive);
                extended = true;
            }
            Ordering::Equal => last.stop_inclusive |= range.stop_inclusive,
            Ordering::Less => last.stop_inclusive |= extended && range.stop_inclusive,
        }
    }
    merged
}
