// SPDX-License-Identifier: Apache-2.0
//! Filters by row key that do not seek.

use std::cmp::Ordering;

use basalt_model::CellRef;
use bytes::Bytes;

use super::{CellFilter, Seen, Verdict};
use crate::Result;

/// Rows that begin with some bytes.
pub(super) struct Prefix {
    prefix: Bytes,
    reversed: bool,
    passed: bool,
    dropped: bool,
}

impl Prefix {
    pub(super) fn new(prefix: Bytes, reversed: bool) -> Self {
        Self { prefix, reversed, passed: false, dropped: true }
    }
}

impl CellFilter for Prefix {
    fn reset(&mut self) {
        self.dropped = true;
    }

    fn all_remaining(&self) -> bool {
        self.passed
    }

    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        let Some(start) = first.row.get(..self.prefix.len()) else { return Ok(true) };
        if self.passed {
            return Ok(true);
        }
        let order = start.cmp(&self.prefix);
        let behind = if self.reversed { Ordering::Less } else { Ordering::Greater };
        self.passed |= order == behind;
        self.dropped = order.is_ne();
        Ok(self.dropped)
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        Ok(if self.dropped { Verdict::NextRow } else { Verdict::Include })
    }

    fn drops_row(&mut self) -> bool {
        self.dropped
    }
}

/// A number of rows.
pub(super) struct Page {
    rows: u64,
    accepted: u64,
}

impl Page {
    pub(super) fn new(rows: u64) -> Self {
        Self { rows, accepted: 0 }
    }
}

impl CellFilter for Page {
    fn all_remaining(&self) -> bool {
        self.accepted >= self.rows
    }

    fn drops_row_key(&mut self, _: &CellRef<'_>) -> Result<bool> {
        Ok(self.all_remaining())
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        Ok(Verdict::Include)
    }

    fn drops_row(&mut self) -> bool {
        self.accepted += 1;
        self.accepted > self.rows
    }

    fn needs_whole_rows(&self) -> bool {
        true
    }
}

/// Rows up to and including one.
pub(super) struct InclusiveStop {
    row: Bytes,
    reversed: bool,
    done: bool,
}

impl InclusiveStop {
    pub(super) fn new(row: Bytes, reversed: bool) -> Self {
        Self { row, reversed, done: false }
    }
}

impl CellFilter for InclusiveStop {
    fn all_remaining(&self) -> bool {
        self.done
    }

    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        if !self.done {
            let order = first.row.cmp(&self.row);
            self.done = if self.reversed { order.is_lt() } else { order.is_gt() };
        }
        Ok(self.done)
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        Ok(if self.done { Verdict::NextRow } else { Verdict::Include })
    }
}

/// Each row with a chance.
pub(super) struct Random {
    share: f32,
    state: u64,
    dropped: bool,
}

impl Random {
    /// Of all numbers, `seed` decides which rows.
    pub(super) fn new(share: f32, seed: u64) -> Self {
        Self { share, state: seed | 1, dropped: false }
    }

    /// A number from 0 to below 1.
    fn roll(&mut self) -> f32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 40) as f32 / (1_u64 << 24) as f32
    }
}

impl CellFilter for Random {
    fn reset(&mut self) {
        self.dropped = false;
    }

    fn drops_row_key(&mut self, _: &CellRef<'_>) -> Result<bool> {
        self.dropped = self.share < 0.0 || self.share <= 1.0 && self.roll() >= self.share;
        Ok(self.dropped)
    }

    fn check(&mut self, _: &Seen<'_>) -> Result<Verdict> {
        Ok(if self.dropped { Verdict::NextRow } else { Verdict::Include })
    }

    fn drops_row(&mut self) -> bool {
        self.dropped
    }

    fn needs_whole_rows(&self) -> bool {
        true
    }
}
