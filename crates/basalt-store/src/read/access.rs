// SPDX-License-Identifier: Apache-2.0
//! How a reader reads: through which cache, what it leaves there, and what it counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
    /// Decoded blocks as well.
    Decoded,
}

impl Keep {
    /// Everything, or nothing.
    pub(crate) fn if_wanted(wanted: bool) -> Self {
        if wanted { Self::Decoded } else { Self::Nothing }
    }
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
