// SPDX-License-Identifier: Apache-2.0
//! The flushes and compactions that are under way, and how far they are.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::TableId;
use parking_lot::Mutex;

use crate::ids::RegionId;
use crate::metrics::RunningStats;
use crate::read::ReadCounters;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<Vec<Arc<Entry>>>);

#[derive(Debug)]
struct Entry {
    stats: RunningStats,
    /// Counts what is read of store files.
    reads: Option<Arc<ReadCounters>>,
}

/// One of them; it has ended when this is dropped.
#[derive(Debug)]
pub(super) struct UnderWay<'a> {
    list: &'a Running,
    entry: Arc<Entry>,
}

impl Running {
    /// A flush of memtables of `bytes` begins.
    pub(super) fn flush(&self, place: (TableId, RegionId), bytes: u64, started_ms: i64) -> UnderWay<'_> {
        self.begin(RunningStats::new(place, None, "flush", (bytes, started_ms)), None)
    }

    /// A compaction of store files of `bytes` begins, whose reads are counted in `reads`.
    pub(super) fn compaction(
        &self,
        (place, family): ((TableId, RegionId), &str),
        reason: &'static str,
        (bytes, started_ms): (u64, i64),
        reads: &Arc<ReadCounters>,
    ) -> UnderWay<'_> {
        let stats = RunningStats::new(place, Some(family.to_owned()), reason, (bytes, started_ms));
        self.begin(stats, Some(Arc::clone(reads)))
    }

    fn begin(&self, stats: RunningStats, reads: Option<Arc<ReadCounters>>) -> UnderWay<'_> {
        let entry = Arc::new(Entry { stats, reads });
        self.0.lock().push(Arc::clone(&entry));
        UnderWay { list: self, entry }
    }

    /// All of them, in the order in which they began.
    pub(super) fn stats(&self) -> Vec<RunningStats> {
        let so_far = |entry: &Arc<Entry>| {
            let read = entry.reads.as_ref().map(|reads| reads.bytes_read.load(Relaxed));
            // Blocks that lie in two regions are counted for both.
            let bytes_done = read.map(|read| read.min(entry.stats.bytes_total));
            RunningStats { bytes_done, ..entry.stats.clone() }
        };
        self.0.lock().iter().map(so_far).collect()
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.list.0.lock().retain(|entry| !Arc::ptr_eq(entry, &self.entry));
    }
}
