// SPDX-License-Identifier: Apache-2.0
//! How to open a database and how much it may use.

pub use basalt_model::Durability;

use crate::env::{DiskCacheOptions, Env};

/// What to do about damage in the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// Refuse to open; the error names file, offset, table and key range.
    #[default]
    Strict,
    /// Replay everything but the damaged parts and report them
    /// ([`Database::recovery_damage`](crate::Database::recovery_damage)). Also opens from the manifest before
    /// a damaged one. Acknowledged writes may be missing afterwards: those that the damage held.
    SkipDamagedWal,
}

/// Everything that can be chosen when a database is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Storage, clock, chance, threads. Default: the machine's.
    pub env: Env,
    /// Create the database if the directory is missing or empty. Default false.
    pub create: bool,
    /// Change nothing on disk; several readers may have the database open, but no writer. Default false.
    pub read_only: bool,
    /// What to do about damage in the log. Default [`Recovery::Strict`].
    pub recovery: Recovery,
    /// Run flushes, compactions and log syncs on threads of their own. Without them flushes happen inside
    /// writes and compactions only on request: a run is then the same each time. Default true.
    pub background: bool,
    /// Memory of the database, in bytes. Default 1 GiB. Up to a quarter is for unflushed writes; files being written and
    /// scans set aside what they work with, an eighth stays free for what is not counted, and the block cache has what
    /// all these leave at the moment.
    pub memory_bytes: u64,
    /// A second tier of the block cache on a local disk, which survives a restart: for a database on slower storage than that. Default none.
    pub disk_cache: Option<DiskCacheOptions>,
    /// Size at which a memtable is flushed, in bytes. Default: an eighth of `memory_bytes`, at most 128 MiB.
    /// Larger memtables make fewer, larger files and a longer recovery.
    pub memtable_bytes: Option<u64>,
    /// Largest cell that is taken, in bytes: row, family, qualifier, value and tags together. Default 10 MiB, as in HBase.
    /// A table's attribute `hbase.server.keyvalue.maxsize` goes before it.
    /// Blocks and batches are held in memory whole: larger cells make larger ones.
    pub cell_bytes_max: u64,
    /// Size at which a segment of the log is closed, in bytes. Default 64 MiB.
    pub wal_segment_bytes: u64,
    /// Size of the log at which the oldest memtables are flushed to shorten it, in bytes. Default 1 GiB.
    pub wal_bytes_max: u64,
    /// Milliseconds after which writes are flushed even if their memtable is not full. Default 3,600,000. Lower shortens
    /// the log of tables that are written now and then, and makes more, smaller files.
    pub flush_interval_ms: u64,
    /// Milliseconds after which writes with [`Durability::Async`] are synced. Default 100.
    pub async_sync_ms: u64,
    /// Longest time that a write waits for memory before it fails, in milliseconds. Default 10,000.
    pub stall_ms_max: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            env: Env::local(),
            create: false,
            read_only: false,
            recovery: Recovery::Strict,
            background: true,
            memory_bytes: 1 << 30,
            disk_cache: None,
            memtable_bytes: None,
            cell_bytes_max: 10 << 20,
            wal_segment_bytes: 64 << 20,
            wal_bytes_max: 1 << 30,
            flush_interval_ms: 3_600_000,
            async_sync_ms: 100,
            stall_ms_max: 10_000,
        }
    }
}

/// Memory beside an eighth that is left free, at most.
const UNCOUNTED_BYTES: u64 = 32 << 20;

impl OpenOptions {
    /// Options that create the database if need be.
    pub fn create() -> Self {
        Self { create: true, ..Self::default() }
    }

    /// Memory for unflushed writes, in bytes.
    pub(crate) fn unflushed_bytes_max(&self) -> u64 {
        self.memory_bytes / 4
    }

    /// Memory that the block cache may have while nothing else needs any, in bytes. The rest is for what nobody counts, which grows with the
    /// number of threads and not with the memory: so a small memory leaves a larger part of itself.
    pub(crate) fn cache_bytes(&self) -> u64 {
        let eighth = self.memory_bytes / 8;
        self.memory_bytes - eighth - eighth.min(UNCOUNTED_BYTES)
    }

    /// Bytes of rows and values at which a row group ends, at most: a file being written holds a few of them.
    pub(crate) fn group_bytes_max(&self) -> u64 {
        self.memory_bytes / 32
    }

    /// Size at which a memtable is flushed.
    pub(crate) fn memtable_bytes(&self) -> u64 {
        self.memtable_bytes.unwrap_or((self.memory_bytes / 8).min(128 << 20)).max(1)
    }
}
