// SPDX-License-Identifier: Apache-2.0
//! Delete markers of one row that a reader has met, and what they hide; when the puts of a column came and went.

use std::collections::BTreeSet;

/// Delete markers as (timestamp, sequence number); the latter is the maximum where it must not matter.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Hide everything up to and including their timestamp.
    ranges: Vec<(i64, u64)>,
    /// Hide exactly their timestamp. A column may have as many as it has versions.
    points: BTreeSet<(i64, u64)>,
}

impl Marks {
    /// True if a marker hides a cell with this timestamp and number.
    pub(super) fn hide(&self, timestamp: i64, seq: u64) -> bool {
        self.hide_range(timestamp, seq) || self.first_point(timestamp, seq).is_some()
    }

    /// True if a marker hides the cell together with everything older.
    pub(super) fn hide_range(&self, timestamp: i64, seq: u64) -> bool {
        self.ranges.iter().any(|&(up_to, by)| timestamp <= up_to && seq <= by)
    }

    /// The number of the first marker of exactly this timestamp that hides a cell with this number.
    fn first_point(&self, timestamp: i64, seq: u64) -> Option<u64> {
        self.points.range((timestamp, seq)..=(timestamp, u64::MAX)).next().map(|&(_, by)| by)
    }

    pub(super) fn add_point(&mut self, timestamp: i64, seq: u64) {
        self.points.insert((timestamp, seq));
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

/// The number of the first marker of a family and of a column that deletes exactly this version.
pub(super) fn first_delete(family: &Marks, column: &Marks, timestamp: i64, seq: u64) -> Option<u64> {
    match (family.first_point(timestamp, seq), column.first_point(timestamp, seq)) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Puts of one column in the order of writes, for [`DeleteRule::BySequence`](basalt_model::table::DeleteRule): a put that was
/// beyond VERSIONS once is gone for good, as if a compaction followed every write. Otherwise the delete of one version would
/// show the one before it or not, as compactions happened to run. HBase's `NewVersionBehaviorTracker` (HBASE-15968) has the
/// same rule.
///
/// What is hidden by a range of deletes or was beyond VERSIONS need not be noted: what it could have displaced is hidden by
/// the same marker, or was displaced by the same versions.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// Number of the put, and that of what ended it; the maximum if nothing did.
    lives: Vec<(u64, u64)>,
    /// Timestamp and number of the last put.
    last: Option<(i64, u64)>,
}

impl Lives {
    /// Notes a put, after all newer ones of its column, that no range of deletes hides; `deleted` is the number of the first
    /// delete of its very version. True if it is still there: neither deleted nor overwritten, and never beyond VERSIONS.
    pub(super) fn meet(&mut self, timestamp: i64, seq: u64, deleted: Option<u64>, versions_max: u32) -> bool {
        let overwritten = self.overwritten(timestamp);
        self.last = Some((timestamp, seq));
        let end = deleted.unwrap_or(u64::MAX).min(overwritten.unwrap_or(u64::MAX));
        if seq >= end || self.most_within(seq, end, versions_max) >= versions_max as usize {
            return false;
        }
        self.lives.push((seq, end));
        end == u64::MAX
    }

    /// The number of the put that took the place of one with this timestamp.
    fn overwritten(&self, timestamp: i64) -> Option<u64> {
        self.last.filter(|(at, _)| *at == timestamp).map(|(_, seq)| seq)
    }

    /// Notes a put that a range of deletes hides.
    pub(super) fn pass(&mut self, timestamp: i64, seq: u64) {
        self.last = Some((timestamp, seq));
    }

    /// True if a version was written together with `seq` or later, and lasted for a while.
    pub(super) fn any_written_since(&self, seq: u64) -> bool {
        self.lives.iter().any(|(born, _)| *born >= seq)
    }

    /// Notes a put that may or may not have been beyond VERSIONS.
    pub(super) fn add(&mut self, timestamp: i64, seq: u64, deleted: Option<u64>) {
        let is_version = self.overwritten(timestamp).is_none();
        self.last = Some((timestamp, seq));
        let end = deleted.unwrap_or(u64::MAX);
        if is_version && seq < end {
            self.lives.push((seq, end));
        }
    }

    /// The largest number of lives at one moment from `start` to before `end`; from `enough` on not counted exactly.
    fn most_within(&self, start: u64, end: u64, enough: u32) -> usize {
        let meeting = || self.lives.iter().filter(|(born, ended)| *born < end && *ended > start);
        let count = meeting().count();
        if count < enough as usize || enough <= 1 {
            return count;
        }
        let mut begins: Vec<u64> = meeting().map(|(born, _)| (*born).max(start)).collect();
        let mut ends: Vec<u64> = meeting().map(|(_, ended)| *ended).collect();
        begins.sort_unstable();
        ends.sort_unstable();
        let mut ended = 0;
        let alive = begins.iter().enumerate().map(|(before, begin)| {
            ended += ends[ended..].iter().take_while(|end| *end <= begin).count();
            before + 1 - ended
        });
        alive.max().unwrap_or(0)
    }

    pub(super) fn clear(&mut self) {
        self.lives.clear();
        self.last = None;
    }
}
