// SPDX-License-Identifier: Apache-2.0
//! Delete markers of one row that a reader has met, and what they hide.

/// Delete markers as (timestamp, sequence number); the latter is the maximum where it must not matter.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Hide everything up to and including their timestamp.
    ranges: Vec<(i64, u64)>,
    /// Hide exactly their timestamp.
    points: Vec<(i64, u64)>,
}

impl Marks {
    /// True if a marker hides a cell with this timestamp and number.
    pub(super) fn hide(&self, timestamp: i64, seq: u64) -> bool {
        self.hide_range(timestamp, seq) || self.points.iter().any(|&(at, by)| timestamp == at && seq <= by)
    }

    /// True if a marker hides the cell together with everything older.
    pub(super) fn hide_range(&self, timestamp: i64, seq: u64) -> bool {
        self.ranges.iter().any(|&(up_to, by)| timestamp <= up_to && seq <= by)
    }

    pub(super) fn add_point(&mut self, timestamp: i64, seq: u64) {
        self.points.push((timestamp, seq));
    }

    pub(super) fn add_range(&mut self, timestamp: i64, seq: u64) {
        if !self.ranges.iter().any(|&(up_to, by)| timestamp <= up_to && seq <= by) {
            self.ranges.push((timestamp, seq));
        }
    }

    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        self.points.clear();
    }
}
