// SPDX-License-Identifier: Apache-2.0
//! The block cache: decoded blocks of store files, shared by everything that reads a database.
//!
//! Of a row group the cache holds its head, which leads to all parts of it, and the parts that were decoded to
//! cells, each for itself.
//!
//! Weighed in bytes of memory, evicted by quick_cache's scan-resistant policy (S3-FIFO: a block that is asked
//! for once leaves before one that is asked for again). Blocks are immutable and files are never reused, so
//! nothing is ever invalidated; blocks of a removed file age out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use basalt_hfile::{CellBlock, ColumnarBlock};
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
    part: u32,
}

/// The part number of a row group's head.
const HEAD: u32 = u32::MAX;

#[derive(Debug, Clone)]
enum Entry {
    Cells(Arc<CellBlock>),
    Head(Arc<ColumnarBlock>, u64),
}

#[derive(Debug, Clone, Copy)]
struct ByMemory;

impl Weighter<BlockKey, Entry> for ByMemory {
    fn weight(&self, _: &BlockKey, entry: &Entry) -> u64 {
        let bytes = match entry {
            Entry::Cells(block) => block.memory_bytes() as u64,
            Entry::Head(_, bytes) => *bytes,
        };
        bytes + ENTRY_OVERHEAD
    }
}

/// Decoded blocks in memory.
#[derive(Debug)]
pub struct BlockCache {
    blocks: Cache<BlockKey, Entry, ByMemory>,
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

    /// A part of a block; of blocks that are no row groups the only one, 0.
    pub(crate) fn get(&self, file: FileId, index: usize, part: usize) -> Option<Arc<CellBlock>> {
        match self.count(self.blocks.get(&key(file, index, part as u32))) {
            Some(Entry::Cells(block)) => Some(block),
            _ => None,
        }
    }

    pub(crate) fn insert(&self, file: FileId, index: usize, part: usize, block: &Arc<CellBlock>) {
        self.blocks.insert(key(file, index, part as u32), Entry::Cells(Arc::clone(block)));
    }

    pub(crate) fn get_head(&self, file: FileId, index: usize) -> Option<Arc<ColumnarBlock>> {
        match self.count(self.blocks.get(&key(file, index, HEAD))) {
            Some(Entry::Head(block, _)) => Some(block),
            _ => None,
        }
    }

    /// Keeps the head of a row group. It grows by the headers of the sections that are read through it.
    pub(crate) fn insert_head(&self, file: FileId, index: usize, block: &Arc<ColumnarBlock>) {
        let bytes = block.memory_bytes_max() as u64;
        self.blocks.insert(key(file, index, HEAD), Entry::Head(Arc::clone(block), bytes));
    }

    fn count(&self, found: Option<Entry>) -> Option<Entry> {
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found
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

fn key(file: FileId, index: usize, part: u32) -> BlockKey {
    let index = u32::try_from(index).expect("a store file has fewer than 2^32 blocks");
    BlockKey { file, index, part }
}
