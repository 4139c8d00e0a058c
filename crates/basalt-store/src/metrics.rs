// SPDX-License-Identifier: Apache-2.0
//! What the database has done since it was opened.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use basalt_model::{KeyRange, TableId};
use parking_lot::Mutex;

use crate::FileMeta;
use crate::env::DiskCacheStats;
use crate::ids::RegionId;
use crate::read::CacheStats;

/// Counters as they are updated.
#[derive(Debug, Default)]
pub(crate) struct MetricCounters {
    pub(crate) batches_written: AtomicU64,
    pub(crate) rows_written: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) flush_bytes: AtomicU64,
    pub(crate) compactions: AtomicU64,
    pub(crate) compaction_bytes: AtomicU64,
    pub(crate) ingested_bytes: AtomicU64,
    pub(crate) slowed_writes: AtomicU64,
    pub(crate) stalled_writes: AtomicU64,
    pub(crate) upkeep_failures: AtomicU64,
    /// The last compactions, the newest last.
    pub(crate) ended: Mutex<VecDeque<CompactionStats>>,
}

/// Compactions that are remembered.
const ENDED_MAX: usize = 256;

/// Counters and sizes at one moment. Bytes are bytes, everything else is a number of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Batches acknowledged.
    pub batches_written: u64,
    /// Row mutations in them.
    pub rows_written: u64,
    /// Bytes of their cells, as the log stores them.
    pub bytes_written: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Bytes of the files that flushes wrote.
    pub flush_bytes: u64,
    /// Compactions done.
    pub compactions: u64,
    /// Bytes of the files that compactions wrote.
    pub compaction_bytes: u64,
    /// Bytes of the files that bulk loads added.
    pub ingested_bytes: u64,
    /// Writes that were slowed down, because flushes or compactions were behind.
    pub slowed_writes: u64,
    /// Writes that had to wait for a flush.
    pub stalled_writes: u64,
    /// Background flushes, compactions and log syncs that failed.
    pub upkeep_failures: u64,
    /// Bytes in memtables.
    pub unflushed_bytes: u64,
    /// Bytes in the write-ahead log.
    pub wal_bytes: u64,
    /// Store files that one row can be in, at most; 0 while they are few.
    pub depth: u64,
    /// The block cache.
    pub cache: CacheStats,
    /// Its second tier, if there is one.
    pub disk_cache: Option<DiskCacheStats>,
}

/// What is known of a table without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TableStats {
    /// Rows, about: a row that lies in several files or families is counted where it is counted most.
    pub rows_estimate: u64,
    /// Cells in store files, delete markers and hidden versions included.
    pub cells: u64,
    /// Bytes of store files.
    pub size_bytes: u64,
    /// Bytes in memtables.
    pub memtable_bytes: u64,
    /// Row mutations in memtables.
    pub memtable_rows: u64,
    /// Store files.
    pub files: u64,
    /// Regions.
    pub regions: u64,
}

/// One region of a table, and what is known of it without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegionStats {
    /// Identity; never used again.
    pub id: RegionId,
    /// Its rows.
    pub range: KeyRange,
    /// Bytes in memtables.
    pub memtable_bytes: u64,
    /// Store files.
    pub files: u64,
    /// Bytes of store files.
    pub size_bytes: u64,
}

/// A store file that a region lists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileStats {
    /// The table.
    pub table: TableId,
    /// The region.
    pub region: RegionId,
    /// The family.
    pub family: String,
    /// What the manifest says of it.
    pub meta: FileMeta,
}

/// A compaction that has ended, of one family of one region.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionStats {
    /// The table.
    pub table: TableId,
    /// The region.
    pub region: RegionId,
    /// The family.
    pub family: String,
    /// Why: `expired`, `deep`, `ingested`, `aged`, `deletes`, `small`, `part` or `major`.
    pub reason: &'static str,
    /// Store files that it took.
    pub files_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Store files that it left.
    pub files_written: u64,
    /// Their bytes.
    pub bytes_written: u64,
    /// When it began, in milliseconds since the epoch.
    pub started_ms: i64,
    /// When it ended.
    pub ended_ms: i64,
}

/// A flush or a compaction that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningStats {
    /// The table.
    pub table: TableId,
    /// The region; of a flush of several the first.
    pub region: RegionId,
    /// The family; `None`: all of them.
    pub family: Option<String>,
    /// `flush`, or why it compacts: see [`CompactionStats::reason`].
    pub what: &'static str,
    /// Bytes of the memtables or store files that it takes.
    pub bytes_total: u64,
    /// Those that it has read so far; `None` where that is not known: of flushes, which take a second or so.
    pub bytes_done: Option<u64>,
    /// When it began, in milliseconds since the epoch.
    pub started_ms: i64,
}

impl RunningStats {
    pub(crate) fn new(
        (table, region): (TableId, RegionId),
        family: Option<String>,
        what: &'static str,
        (bytes_total, started_ms): (u64, i64),
    ) -> Self {
        Self { table, region, family, what, bytes_total, bytes_done: None, started_ms }
    }
}

impl MetricCounters {
    /// Counts a compaction and remembers it.
    pub(crate) fn note_compaction(&self, stats: CompactionStats) {
        self.compactions.fetch_add(1, Relaxed);
        self.compaction_bytes.fetch_add(stats.bytes_written, Relaxed);
        let mut ended = self.ended.lock();
        if ended.len() == ENDED_MAX {
            ended.pop_front();
        }
        ended.push_back(stats);
    }

    pub(crate) fn read(&self) -> Metrics {
        Metrics {
            batches_written: self.batches_written.load(Relaxed),
            rows_written: self.rows_written.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            flushes: self.flushes.load(Relaxed),
            flush_bytes: self.flush_bytes.load(Relaxed),
            compactions: self.compactions.load(Relaxed),
            compaction_bytes: self.compaction_bytes.load(Relaxed),
            ingested_bytes: self.ingested_bytes.load(Relaxed),
            slowed_writes: self.slowed_writes.load(Relaxed),
            stalled_writes: self.stalled_writes.load(Relaxed),
            upkeep_failures: self.upkeep_failures.load(Relaxed),
            ..Metrics::default()
        }
    }
}
