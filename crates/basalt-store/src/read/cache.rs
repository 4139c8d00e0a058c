// SPDX-License-Identifier: Apache-2.0
//! The block cache: blocks of store files, shared by everything that reads a database.
//!
//! Other blocks are held decoded, or verified and decompressed but encoded: decoding them again takes less than reading them.
//! Of a row group the cache holds its head, which leads to all parts of it, the sections that scans have loaded, as they are
//! stored, and the parts that were decoded to cells, each for itself.
//!
//! Lookups leave decoded blocks. A scan that goes on leaves what it reads as it is stored, in as little memory as possible, and decodes it
//! anew when it comes again: that takes less time than new memory for all of its cells would.
//!
//! Of a row group a lookup of one row decodes that row alone, until the same part was asked for a few times
//! ([`BlockCache::is_worth_decoding`]). Its sections leave when all of its parts are decoded, or the cache is full.
//!
//! Weighed in bytes of memory, evicted by quick_cache's scan-resistant policy (S3-FIFO: a block that is asked
//! for once leaves before one that is asked for again). Blocks are immutable and files are never reused, so
//! nothing is ever invalidated; blocks of a removed file age out. How large it is at the moment is decided in [`room`].
//!
//! Blocks of families with IN_MEMORY are favoured: while all of those held take no more than half of the cache, none of them
//! leaves for others. Beyond that they are blocks like any other.

mod room;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use basalt_hfile::columnar::{Section, SectionShelf};
use basalt_hfile::{CellBlock, CellSlot, ColumnarBlock, EncodedBlock};
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, Weighter};

use self::room::Room;
use super::access::Tally;
use crate::FileId;
pub(crate) use room::WorkingMemory;

/// Weight that the cache expects of a block; decides only how it sizes its tables.
const BLOCK_BYTES_EXPECTED: u64 = 96 << 10;
/// Lookups of rows of one part, each of all columns, before it is decoded for good: they take about as long as that.
const LOOKUPS: usize = 16;
/// Of parts that were looked up so often and for which others have to leave one in so many is decoded: the work that may be in vain,
/// if they are more than the cache holds, stays a fraction of that of the lookups.
const TURNED_AWAY: u64 = 4;
/// Counters of such lookups. Of parts that share one each waits for the others.
const LOOKUP_COUNTERS: usize = 1 << 16;
/// Memory that an entry takes beside its block.
const ENTRY_OVERHEAD: u64 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BlockKey {
    file: FileId,
    index: u32,
    part: u32,
}

/// The file that a block is of, as the cache needs to know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockOwner {
    pub(crate) file: FileId,
    /// It belongs to a family with IN_MEMORY.
    pub(crate) favoured: bool,
}

/// The part number of a row group's head.
const HEAD: u32 = u32::MAX;
/// The part number of a block that is held encoded.
const ENCODED: u32 = u32::MAX - 1;
/// The part number of the first of its sections; no row group has so many parts.
const SECTIONS: u32 = 1 << 31;

#[derive(Debug, Clone)]
struct Entry {
    held: Held,
    favoured: bool,
}

#[derive(Debug, Clone)]
enum Held {
    Cells(Arc<CellBlock>),
    Encoded(EncodedBlock),
    Head(Arc<ColumnarBlock>, u64),
    Section(Arc<Section>),
}

#[derive(Debug, Clone, Copy)]
struct ByMemory;

impl Weighter<BlockKey, Entry> for ByMemory {
    fn weight(&self, _: &BlockKey, entry: &Entry) -> u64 {
        let bytes = match &entry.held {
            Held::Cells(block) => {
                // Decoders guess how many cells there are.
                let slots = (block.slots.capacity() - block.slots.len()) * size_of::<CellSlot>();
                let starts = (block.row_starts.capacity() - block.row_starts.len()) * size_of::<u32>();
                (block.memory_bytes() + slots + starts) as u64
            }
            Held::Encoded(block) => block.memory_bytes() as u64,
            Held::Head(_, bytes) => *bytes,
            Held::Section(section) => section.memory_bytes() as u64,
        };
        bytes + ENTRY_OVERHEAD
    }
}

/// Counts what has to leave for something else, and says what does not.
#[derive(Debug, Clone, Default)]
struct Leaving(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    evictions: AtomicU64,
    /// Weight of favoured blocks, in bytes.
    favoured_bytes: AtomicU64,
    /// They are more than is theirs.
    too_many_favoured: AtomicBool,
    /// Weight of what is held as it is stored, in bytes.
    stored_bytes: AtomicU64,
}

impl Entry {
    /// It is held as it is stored: a scan came by.
    fn is_stored(&self) -> bool {
        matches!(self.held, Held::Encoded(_) | Held::Section(_))
    }
}

impl Counts {
    fn came(&self, entry: &Entry, weight: u64) {
        if entry.favoured {
            self.favoured_bytes.fetch_add(weight, Relaxed);
        }
        if entry.is_stored() {
            self.stored_bytes.fetch_add(weight, Relaxed);
        }
    }

    fn left(&self, entry: &Entry, weight: u64) {
        if entry.favoured {
            self.favoured_bytes.fetch_sub(weight, Relaxed);
        }
        if entry.is_stored() {
            self.stored_bytes.fetch_sub(weight, Relaxed);
        }
    }
}

impl Lifecycle<BlockKey, Entry> for Leaving {
    type RequestState = ();

    fn is_pinned(&self, _: &BlockKey, entry: &Entry) -> bool {
        entry.favoured && !self.0.too_many_favoured.load(Relaxed)
    }

    fn on_evict(&self, _: &mut (), key: BlockKey, entry: Entry) {
        self.0.evictions.fetch_add(1, Relaxed);
        self.0.left(&entry, ByMemory.weight(&key, &entry));
    }
}

/// Decoded blocks in memory.
#[derive(Debug)]
pub struct BlockCache {
    blocks: Cache<BlockKey, Entry, ByMemory, DefaultHashBuilder, Leaving>,
    room: Room,
    leaving: Leaving,
    lookups: Box<[AtomicU8]>,
    turned_away: AtomicU64,
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
    /// Blocks that had to leave for others.
    pub evictions: u64,
    /// Blocks held.
    pub blocks: u64,
    /// Memory held, in bytes.
    pub bytes: u64,
    /// Of it by blocks of families with IN_MEMORY, in bytes.
    pub favoured_bytes: u64,
    /// Memory that may be held now, in bytes: what memtables, indexes and work under way leave.
    pub capacity_bytes: u64,
    /// Memory of indexes and Bloom filters of open files, in bytes.
    pub index_bytes: u64,
    /// Memory of memtables, those included that are flushed and still read, in bytes.
    pub memtable_bytes: u64,
    /// Memory set aside for files being written, loads, and row groups in the hands of scans, in bytes.
    pub working_bytes: u64,
}

impl BlockCache {
    /// A cache of up to `capacity_bytes`; 0 keeps nothing.
    pub fn new(capacity_bytes: u64) -> Self {
        let blocks = usize::try_from(capacity_bytes / BLOCK_BYTES_EXPECTED).unwrap_or(usize::MAX).max(16);
        let leaving = Leaving::default();
        Self {
            blocks: Cache::with(
                blocks,
                capacity_bytes,
                ByMemory,
                DefaultHashBuilder::default(),
                leaving.clone(),
            ),
            room: Room::new(capacity_bytes),
            leaving,
            lookups: (0..LOOKUP_COUNTERS).map(|_| AtomicU8::new(0)).collect(),
            turned_away: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// A part of a block; of blocks that are no row groups the only one, 0.
    pub(crate) fn get(&self, file: FileId, index: usize, part: usize) -> Option<Arc<CellBlock>> {
        match self.get_held(&key(file, index, part as u32)) {
            Some(Held::Cells(block)) => Some(block),
            _ => None,
        }
    }

    /// As [`Self::get`], for who comes by on the way and will not come again for it: it stays no longer for that, and
    /// what is not there is not missed.
    pub(crate) fn get_in_passing(&self, file: FileId, index: usize, part: usize) -> Option<Arc<CellBlock>> {
        let Held::Cells(block) = self.blocks.peek(&key(file, index, part as u32))?.held else { return None };
        self.hits.fetch_add(1, Relaxed);
        Some(block)
    }

    pub(crate) fn insert(&self, owner: BlockOwner, index: usize, part: usize, block: &Arc<CellBlock>) {
        self.hold(owner, index, part as u32, Held::Cells(Arc::clone(block)));
    }

    /// A block that is no row group, as it is encoded. Whoever asks has asked for the decoded one in vain, which was counted.
    pub(crate) fn get_encoded(&self, file: FileId, index: usize) -> Option<EncodedBlock> {
        let Held::Encoded(block) = self.blocks.get(&key(file, index, ENCODED))?.held else { return None };
        self.hits.fetch_add(1, Relaxed);
        self.misses.fetch_sub(1, Relaxed);
        Some(block)
    }

    pub(crate) fn insert_encoded(&self, owner: BlockOwner, index: usize, block: &EncodedBlock) {
        self.hold(owner, index, ENCODED, Held::Encoded(block.clone()));
    }

    /// The block is held decoded now.
    pub(crate) fn remove_encoded(&self, file: FileId, index: usize) {
        self.remove(&key(file, index, ENCODED));
    }

    pub(crate) fn get_head(&self, file: FileId, index: usize) -> Option<Arc<ColumnarBlock>> {
        match self.get_held(&key(file, index, HEAD)) {
            Some(Held::Head(block, _)) => Some(block),
            _ => None,
        }
    }

    /// Keeps the head of a row group. It grows by the headers of the sections that are read through it.
    pub(crate) fn insert_head(&self, owner: BlockOwner, index: usize, block: &Arc<ColumnarBlock>) {
        let bytes = block.memory_bytes_max() as u64;
        self.hold(owner, index, HEAD, Held::Head(Arc::clone(block), bytes));
    }

    /// Where the sections of a row group are kept, which are counted when they are read or found there.
    pub(super) fn shelf(
        self: &Arc<Self>,
        owner: BlockOwner,
        index: usize,
        tally: Tally,
    ) -> Box<dyn SectionShelf> {
        Box::new(Shelf { cache: Arc::clone(self), owner, index, tally })
    }

    /// Lets the sections of a row group go, of which a part was decoded: if all the others are, or something else would have to leave for those
    /// that lookups come to next.
    pub(crate) fn make_room_in(&self, file: FileId, index: usize, group: &ColumnarBlock) {
        let mut sections = (0..group.sections()).map(|number| key(file, index, SECTIONS + number as u32));
        let Some(first) = sections.find(|section| self.blocks.contains_key(section)) else { return };
        let is_full = self.blocks.weight() >= self.blocks.capacity() / 16 * 15;
        if is_full
            || (0..group.vectors()).all(|part| self.blocks.contains_key(&key(file, index, part as u32)))
        {
            std::iter::once(first).chain(sections).for_each(|section| self.remove(&section));
        }
    }

    /// True if a part of a row group, which is not held, should be decoded and kept: rows of it are looked up again and
    /// again. `columns`: how many a lookup reads, and how many there are; of fewer columns more lookups take as long.
    pub(crate) fn is_worth_decoding(
        &self,
        file: FileId,
        (index, part): (usize, usize),
        columns: (usize, usize),
    ) -> bool {
        let (read, all) = (columns.0.max(1), columns.1.max(columns.0));
        let wanted = u8::try_from(LOOKUPS * all / read).unwrap_or(u8::MAX);
        let mixed = (file.0 << 32 ^ (index as u64) << 8 ^ part as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let counter = &self.lookups[(mixed >> 32) as usize % LOOKUP_COUNTERS];
        if counter.load(Relaxed) < wanted {
            counter.fetch_add(1, Relaxed);
            return false;
        }
        counter.store(0, Relaxed);
        self.has_room() || (self.turned_away.fetch_add(1, Relaxed) + 1).is_multiple_of(TURNED_AWAY)
    }

    /// True if nothing but what scans have left has to leave for another block.
    fn has_room(&self) -> bool {
        let stored = self.leaving.0.stored_bytes.load(Relaxed);
        self.blocks.weight().saturating_sub(stored) < self.blocks.capacity() / 16 * 15
    }

    fn get_held(&self, key: &BlockKey) -> Option<Held> {
        let found = self.blocks.get(key);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found.map(|entry| entry.held)
    }

    fn hold(&self, owner: BlockOwner, index: usize, part: u32, held: Held) {
        let (key, entry) = (key(owner.file, index, part), Entry { held, favoured: owner.favoured });
        self.leaving.0.came(&entry, ByMemory.weight(&key, &entry));
        if owner.favoured {
            self.look_at_favoured();
        }
        self.blocks.insert(key, entry);
    }

    fn remove(&self, key: &BlockKey) {
        if let Some((key, entry)) = self.blocks.remove(key) {
            self.leaving.0.left(&entry, ByMemory.weight(&key, &entry));
        }
    }

    /// Finds out whether favoured blocks still are, before something has to leave.
    fn look_at_favoured(&self) {
        let counts = &self.leaving.0;
        let too_many = counts.favoured_bytes.load(Relaxed) > self.room.capacity.load(Relaxed) / 2;
        counts.too_many_favoured.store(too_many, Relaxed);
    }

    /// Counters and contents.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            evictions: self.leaving.0.evictions.load(Relaxed),
            blocks: self.blocks.len() as u64,
            bytes: self.blocks.weight(),
            favoured_bytes: self.leaving.0.favoured_bytes.load(Relaxed),
            capacity_bytes: self.room.capacity.load(Relaxed),
            index_bytes: self.room.indexes.load(Relaxed),
            memtable_bytes: self.room.memtables.load(Relaxed),
            working_bytes: self.room.working.load(Relaxed),
        }
    }
}

/// The sections of one row group.
#[derive(Debug)]
struct Shelf {
    cache: Arc<BlockCache>,
    owner: BlockOwner,
    index: usize,
    tally: Tally,
}

impl SectionShelf for Shelf {
    fn get(&self, number: usize) -> Option<Arc<Section>> {
        match self.cache.get_held(&key(self.owner.file, self.index, SECTIONS + number as u32)) {
            Some(Held::Section(section)) => {
                self.tally.found(section.memory_bytes() as u64);
                Some(section)
            }
            _ => None,
        }
    }

    fn put(&self, number: usize, section: &Arc<Section>) {
        self.tally.read(section.memory_bytes() as u64);
        self.cache.hold(self.owner, self.index, SECTIONS + number as u32, Held::Section(Arc::clone(section)));
    }
}

fn key(file: FileId, index: usize, part: u32) -> BlockKey {
    let index = u32::try_from(index).expect("a store file has fewer than 2^32 blocks");
    BlockKey { file, index, part }
}

#[cfg(test)]
mod tests;
