// SPDX-License-Identifier: Apache-2.0
//! How much of the database's memory is left for the cache.
//!
//! The memory is one number. What writes and readers hold of it comes and goes; the cache has the rest, but for a part
//! that stays free for what nobody counts (batches on their way to the log, decoded parts in a reader's hand), and is made to fit
//! whenever the rest has changed by more than a hundredth. The cache keeps a thirty-second in any case.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::BlockCache;

/// The rest must have changed by this fraction of the memory before the cache is made to fit: that costs a lock of every part
/// of the cache.
const STEP: u64 = 128;
/// The fraction that the cache keeps.
const FLOOR: u64 = 32;

/// Memory that is not the cache's, by who holds it, in bytes.
#[derive(Debug)]
pub(super) struct Room {
    /// What the cache may have if nobody else holds anything.
    most: u64,
    /// Indexes and Bloom filters of open files.
    pub(super) indexes: AtomicU64,
    /// Memtables: active ones, sealed ones, and flushed ones that a snapshot still reads.
    pub(super) memtables: AtomicU64,
    /// Files being written, loads, row groups in the hands of scans.
    pub(super) working: AtomicU64,
    /// What the cache was made to fit last.
    pub(super) capacity: AtomicU64,
}

impl Room {
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            indexes: AtomicU64::new(0),
            memtables: AtomicU64::new(0),
            working: AtomicU64::new(0),
            capacity: AtomicU64::new(most),
        }
    }

    /// The capacity that the cache should have now, if that is another one.
    fn changed(&self) -> Option<u64> {
        let others = [&self.indexes, &self.memtables, &self.working];
        let held: u64 = others.iter().map(|bytes| bytes.load(Relaxed)).sum();
        let capacity = self.most.saturating_sub(held).max(self.most / FLOOR);
        let before = self.capacity.load(Relaxed);
        let differs =
            before.abs_diff(capacity) > self.most / STEP || (capacity == self.most && before != capacity);
        differs.then(|| {
            self.capacity.store(capacity, Relaxed);
            capacity
        })
    }
}

/// Memory that somebody works with, taken from the cache until this is dropped.
#[derive(Debug)]
pub(crate) struct WorkingMemory {
    cache: Arc<BlockCache>,
    bytes: u64,
}

impl Drop for WorkingMemory {
    fn drop(&mut self) {
        self.cache.room.working.fetch_sub(self.bytes, Relaxed);
        self.cache.fit();
    }
}

impl BlockCache {
    /// Takes memory to work with; blocks leave for it at once.
    pub(crate) fn work_with(self: &Arc<Self>, bytes: u64) -> WorkingMemory {
        self.room.working.fetch_add(bytes, Relaxed);
        self.fit();
        WorkingMemory { cache: Arc::clone(self), bytes }
    }

    /// Leaves room for indexes and Bloom filters of open files.
    pub(crate) fn make_room_for_indexes(&self, bytes: u64) {
        self.room.indexes.store(bytes, Relaxed);
        self.fit();
    }

    /// Leaves room for memtables.
    pub(crate) fn make_room_for_memtables(&self, bytes: u64) {
        self.room.memtables.store(bytes, Relaxed);
        self.fit();
    }

    fn fit(&self) {
        if let Some(capacity) = self.room.changed() {
            self.look_at_favoured();
            self.blocks.set_capacity(capacity);
        }
    }
}
