// SPDX-License-Identifier: Apache-2.0
//! The block cache: decoded blocks of store files, shared by everything that reads a database.
//!
//! Weighed in bytes of memory, evicted by quick_cache's scan-resistant policy (S3-FIFO: a block that is asked
//! for once leaves before one that is asked for again). Blocks are immutable and files are never reused, so
//! nothing is ever invalidated; blocks of a removed file age out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use basalt_hfile::CellBlock;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::FileId;

/// Weight that the cache expects of a block; decides only how it sizes its tables.
const BLOCK_BYTES_EXPECTED: u64 = 96 << 10;
/// Memory that an entry takes beside its block.
const ENTRY_OVERHEAD: u64 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BlockKey {
    file: FileId,
    index: u32,
}

#[derive(Debug, Clone, Copy)]
struct ByMemory;

impl Weighter<BlockKey, Arc<CellBlock>> for ByMemory {
    fn weight(&self, _: &BlockKey, block: &Arc<CellBlock>) -> u64 {
        block.memory_bytes() as u64 + ENTRY_OVERHEAD
    }
}

/// Decoded blocks in memory.
#[derive(Debug)]
pub struct BlockCache {
    blocks: Cache<BlockKey, Arc<CellBlock>, ByMemory>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What a cache has done so far and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Blocks found.
    pub hits: u64,
    /// Blocks asked for and not found.
    pub misses: u64,
    /// Blocks held.
    pub blocks: u64,
    /// Memory held, in bytes.
    pub bytes: u64,
    /// Memory that may be held, in bytes.
    pub capacity_bytes: u64,
}

impl BlockCache {
    /// A cache of up to `capacity_bytes`; 0 keeps nothing.
    pub fn new(capacity_bytes: u64) -> Self {
        let blocks = usize::try_from(capacity_bytes / BLOCK_BYTES_EXPECTED).unwrap_or(usize::MAX).max(16);
        Self {
            blocks: Cache::with_weighter(blocks, capacity_bytes, ByMemory),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub(crate) fn get(&self, file: FileId, index: usize) -> Option<Arc<CellBlock>> {
        let found = self.blocks.get(&key(file, index));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found
    }

    pub(crate) fn insert(&self, file: FileId, index: usize, block: &Arc<CellBlock>) {
        self.blocks.insert(key(file, index), Arc::clone(block));
    }

    /// Counters and contents.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            blocks: self.blocks.len() as u64,
            bytes: self.blocks.weight(),
            capacity_bytes: self.blocks.capacity(),
        }
    }
}

fn key(file: FileId, index: usize) -> BlockKey {
    BlockKey { file, index: u32::try_from(index).expect("a store file has fewer than 2^32 blocks") }
}
