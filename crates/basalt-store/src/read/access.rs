// SPDX-License-Identifier: Apache-2.0
//! How a reader reads: through which cache, what it leaves there, and what it counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use basalt_hfile::{CellBlock, EncodedBlock};

use super::cache::BlockCache;
use super::cell_columns::CellColumns;

/// What of that which is read goes into the block cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// Nothing: whoever reads comes but once.
    Nothing,
    /// Blocks as they are encoded, heads and sections of row groups as they are stored. For scans whose decoded blocks would push out all others.
    Stored,
    /// Of what was looked for the decoded blocks as well.
    Decoded,
}

impl Keep {
    /// Everything, or nothing.
    pub(crate) fn if_wanted(wanted: bool) -> Self {
        if wanted { Self::Decoded } else { Self::Nothing }
    }
}

/// How a reader came to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It was looked for: others may look for it as well.
    Sought,
    /// It follows others that were read, of which nobody may ever come again.
    Followed,
}

/// How a reader reads: through which cache, and what it counts.
#[derive(Debug, Clone)]
pub struct ReadAccess {
    /// Looked into before every read.
    pub cache: Arc<BlockCache>,
    /// What of it goes into the cache.
    pub keep: Keep,
    /// What is wanted of a row that is looked up; all, without it.
    pub columns: Option<CellColumns>,
    /// Counted up while reading.
    pub counters: Arc<ReadCounters>,
}

/// What a reader has done so far; read from other threads for progress.
#[derive(Debug, Default)]
pub struct ReadCounters {
    /// Rows handed out.
    pub rows: AtomicU64,
    /// Cells handed out.
    pub cells: AtomicU64,
    /// Bytes read from storage.
    pub bytes_read: AtomicU64,
    /// Blocks read from storage.
    pub blocks_read: AtomicU64,
    /// Blocks found in the cache.
    pub blocks_cached: AtomicU64,
    /// What they take of its memory, in bytes.
    pub bytes_cached: AtomicU64,
    /// Row groups of which no row was read, because their heads say enough.
    pub blocks_skipped: AtomicU64,
    /// Rows that a predicate, or an offset, left out before they were decoded.
    pub rows_skipped: AtomicU64,
    /// Rows of which a scan for cells gave nothing, because its filter left them out or all is deleted; the one at which the filter ended it is one of them.
    pub rows_filtered: AtomicU64,
    /// Scans that their filter ended before it had looked at a row's cells.
    pub ended_by_filter: AtomicU64,
}

/// How a row group that somebody reads is counted: as read from storage, by its size, until its sections are asked for; then as read if one of
/// them had to be, by the bytes of those, else as found in the cache.
#[derive(Debug)]
pub(super) struct Tally {
    counters: Arc<ReadCounters>,
    size_bytes: u64,
    so_far: AtomicU8,
}

/// No section was asked for yet.
const OPENED: u8 = 0;
/// All that were asked for were in the cache.
const CACHED: u8 = 1;
/// One was read.
const READ: u8 = 2;

impl Tally {
    /// Of a group that takes so many bytes of its file.
    pub(super) fn new(counters: &Arc<ReadCounters>, size_bytes: u64) -> Self {
        counters.blocks_read.fetch_add(1, Relaxed);
        counters.bytes_read.fetch_add(size_bytes, Relaxed);
        Self { counters: Arc::clone(counters), size_bytes, so_far: AtomicU8::new(OPENED) }
    }

    /// A section was in the cache.
    pub(super) fn found(&self, bytes: u64) {
        if self.so_far.compare_exchange(OPENED, CACHED, Relaxed, Relaxed).is_ok() {
            self.counters.blocks_cached.fetch_add(1, Relaxed);
            self.counters.blocks_read.fetch_sub(1, Relaxed);
            self.counters.bytes_read.fetch_sub(self.size_bytes, Relaxed);
        }
        self.counters.bytes_cached.fetch_add(bytes, Relaxed);
    }

    /// A section was read.
    pub(super) fn read(&self, bytes: u64) {
        match self.so_far.swap(READ, Relaxed) {
            OPENED => _ = self.counters.bytes_read.fetch_sub(self.size_bytes, Relaxed),
            CACHED => {
                self.counters.blocks_read.fetch_add(1, Relaxed);
                self.counters.blocks_cached.fetch_sub(1, Relaxed);
            }
            _ => {}
        }
        self.counters.bytes_read.fetch_add(bytes, Relaxed);
    }
}

impl ReadCounters {
    pub(super) fn found_encoded(&self, block: &EncodedBlock) {
        self.blocks_cached.fetch_add(1, Relaxed);
        self.bytes_cached.fetch_add(block.memory_bytes() as u64, Relaxed);
    }

    pub(super) fn found_in_cache(&self, block: &CellBlock) {
        self.blocks_cached.fetch_add(1, Relaxed);
        self.bytes_cached.fetch_add(block.memory_bytes() as u64, Relaxed);
    }
}
