// SPDX-License-Identifier: Apache-2.0
//! What scans say of themselves: taken from the store's counters, told in parts, each answer what came after the one before.

use std::sync::atomic::Ordering::Relaxed;

use basalt_store::read::ReadCounters;

/// What a scan has read, for its metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Measures {
    /// Rows of which nothing was given.
    pub(crate) filtered: u64,
    /// Of these the ones that were not looked into, because a filter ended the scan there.
    pub(crate) ended: u64,
    pub(crate) bytes_read: u64,
    pub(crate) blocks_read: u64,
    pub(crate) bytes_cached: u64,
}

impl Measures {
    pub(super) fn of(counters: &ReadCounters) -> Self {
        Self {
            filtered: counters.rows_filtered.load(Relaxed),
            ended: counters.ended_by_filter.load(Relaxed),
            bytes_read: counters.bytes_read.load(Relaxed),
            blocks_read: counters.blocks_read.load(Relaxed),
            bytes_cached: counters.bytes_cached.load(Relaxed),
        }
    }

    pub(super) fn since(self, before: &Self) -> Self {
        Self {
            filtered: self.filtered - before.filtered,
            ended: self.ended - before.ended,
            bytes_read: self.bytes_read - before.bytes_read,
            blocks_read: self.blocks_read - before.blocks_read,
            bytes_cached: self.bytes_cached - before.bytes_cached,
        }
    }
}
