// SPDX-License-Identifier: Apache-2.0
//! The second tier of the block cache: pieces of store files on a disk that is nearer than the storage of the database, kept over restarts.
//!
//! One file of equal slots. In front of them lies a table that says of each slot which piece of which file it holds, and the checksum of the
//! piece. Nothing is ever synced and nothing is trusted: a piece counts if its checksum is right, so a torn write, a lost one, or an old entry over
//! new bytes is a piece that is not there. What fails here (a full or broken disk) slows reads down and fails none.
//!
//! ```text
//! header   4,096 bytes  MAGIC, slots (u64), zeros
//! table    40 bytes a slot: file (16), piece (u64), length (u32), CRC-32C of the piece (u32), CRC-32C of the entry (u32), zeros (4)
//! slots    PIECE_BYTES each, from the next multiple of it on
//! ```
//!
//! A file is known by its size and the hash of its end, where a store file has its number, the moment at which it was created, and its index. So two databases that were one
//! (a copy, a backup put back) may use a cache one after the other, and a file of which the name is used again is another file.
//!
//! Which pieces stay is decided by quick_cache as for blocks in memory (S3-FIFO): what a scan reads once leaves first.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it is a file of the machine, whatever the storage"
)]

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use basalt_hfile::FileRead;
use bytes::{Bytes, BytesMut};
use md5::{Digest, Md5};
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, UnitWeighter};
use rustix::fs::{FlockOperation, flock};

/// Name of the file in its directory.
const FILE_NAME: &str = "basalt-blocks.cache";
const MAGIC: &[u8; 16] = b"BasaltBlocks\0\0\0\x01";
const HEADER_BYTES: u64 = 4_096;
const ENTRY_BYTES: usize = 40;
/// What is read and kept at once, in bytes; the last piece of a file is shorter.
const PIECE_BYTES: u64 = 64 << 10;
/// The end of a file that tells it from others.
const END_BYTES: u64 = 64 << 10;
/// Slots that are kept free for those who write at the same time.
const SPARE_SLOTS: u64 = 16;
/// The smallest cache, in bytes.
const BYTES_MIN: u64 = 16 << 20;
/// Memory that a slot takes.
const SLOT_MEMORY_BYTES: u64 = 112;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PieceKey {
    file: [u8; 16],
    piece: u64,
}

/// Where a piece lies.
#[derive(Debug, Clone, Copy)]
struct Slot {
    number: u32,
    len: u32,
    crc: u32,
}

/// Slots that hold nothing, and how many had to leave theirs.
#[derive(Debug, Clone, Default)]
struct Free(Arc<(Mutex<Vec<u32>>, AtomicU64)>);

impl Lifecycle<PieceKey, Slot> for Free {
    type RequestState = ();

    fn on_evict(&self, _: &mut (), _: PieceKey, slot: Slot) {
        self.0.0.lock().push(slot.number);
        self.0.1.fetch_add(1, Relaxed);
    }
}

/// What a disk cache has done so far and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCacheStats {
    /// Pieces found.
    pub hits: u64,
    /// Pieces asked for and not found.
    pub misses: u64,
    /// Pieces that had to leave for others.
    pub evictions: u64,
    /// Pieces that could not be read or written, or were not what had been written.
    pub failures: u64,
    /// Bytes held.
    pub bytes: u64,
    /// Bytes that may be held.
    pub capacity_bytes: u64,
}

/// Pieces of store files on a local disk.
pub struct DiskCache {
    file: File,
    slots: u64,
    pieces: Cache<PieceKey, Slot, UnitWeighter, DefaultHashBuilder, Free>,
    free: Free,
    hits: AtomicU64,
    misses: AtomicU64,
    failures: AtomicU64,
}

impl DiskCache {
    /// The cache in the directory `dir`, which is made if need be, of `bytes` at most. What another process or an earlier one of another size left is
    /// used as far as it can be. An error says why the directory cannot be used.
    pub fn open(dir: &Path, bytes: u64) -> io::Result<Self> {
        if bytes < BYTES_MIN {
            let what = format!("a disk cache takes at least {BYTES_MIN} bytes; found {bytes}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        fs::create_dir_all(dir)?;
        let path = dir.join(FILE_NAME);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| in_use(&path))?;
        let slots = slots_of(bytes);
        let free = Free::default();
        let capacity = slots - SPARE_SLOTS;
        let pieces = Cache::with(
            capacity as usize,
            capacity,
            UnitWeighter,
            DefaultHashBuilder::default(),
            free.clone(),
        );
        let cache = Self {
            file,
            slots,
            pieces,
            free,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        };
        cache.take_up()?;
        Ok(cache)
    }

    /// Reads what is there, or begins anew.
    fn take_up(&self) -> io::Result<()> {
        let mut header = vec![0; HEADER_BYTES as usize];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        header[MAGIC.len()..][..8].copy_from_slice(&self.slots.to_le_bytes());
        let mut found = vec![0; header.len()];
        let mut table = vec![0; self.slots as usize * ENTRY_BYTES];
        let is_ours = self.file.read_exact_at(&mut found, 0).is_ok() && found == header;
        if !is_ours || self.file.read_exact_at(&mut table, HEADER_BYTES).is_err() {
            self.file.set_len(0)?;
            table.fill(0);
            self.file.write_all_at(&header, 0)?;
            self.file.set_len(self.slot_at(self.slots as u32))?;
        }
        let mut empty = Vec::new();
        for (number, entry) in (0..).zip(table.chunks_exact(ENTRY_BYTES)) {
            match read_entry(entry, number) {
                Some((key, slot)) if self.pieces.peek(&key).is_none() => self.pieces.insert(key, slot),
                _ => empty.push(number),
            }
        }
        self.free.0.0.lock().extend(empty);
        self.free.0.1.store(0, Relaxed);
        Ok(())
    }

    fn slot_at(&self, number: u32) -> u64 {
        let table_end = HEADER_BYTES + self.slots * ENTRY_BYTES as u64;
        table_end.next_multiple_of(PIECE_BYTES) + u64::from(number) * PIECE_BYTES
    }

    /// Memory that the list of pieces takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.slots * SLOT_MEMORY_BYTES
    }

    /// Counters and contents.
    pub fn stats(&self) -> DiskCacheStats {
        DiskCacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            evictions: self.free.0.1.load(Relaxed),
            failures: self.failures.load(Relaxed),
            bytes: self.pieces.len() as u64 * PIECE_BYTES,
            capacity_bytes: self.slots * PIECE_BYTES,
        }
    }

    /// A store file that is read through the cache.
    pub(crate) fn read_through(self: &Arc<Self>, file: Arc<dyn FileRead>) -> io::Result<ReadThrough> {
        let size = file.size();
        let end = size.min(END_BYTES);
        let mut hash = Md5::new();
        hash.update(size.to_le_bytes());
        hash.update(file.read_at(size - end, end as usize)?);
        Ok(ReadThrough { cache: Arc::clone(self), identity: hash.finalize().into(), file, keeps: true })
    }

    fn get(&self, key: &PieceKey) -> Option<Bytes> {
        let Some(slot) = self.pieces.get(key) else {
            self.misses.fetch_add(1, Relaxed);
            return None;
        };
        let mut bytes = BytesMut::zeroed(slot.len as usize);
        let read = self.file.read_exact_at(&mut bytes, self.slot_at(slot.number));
        if read.is_err() || crc32c::crc32c(&bytes) != slot.crc {
            // It may have left meanwhile, which is no failure.
            if self.pieces.remove_if(key, |held| held.number == slot.number && held.crc == slot.crc).is_some()
            {
                self.failures.fetch_add(1, Relaxed);
                self.free.0.0.lock().push(slot.number);
            }
            self.misses.fetch_add(1, Relaxed);
            return None;
        }
        self.hits.fetch_add(1, Relaxed);
        Some(bytes.freeze())
    }

    fn put(&self, key: PieceKey, bytes: &[u8]) {
        if self.pieces.peek(&key).is_some() {
            return;
        }
        let Some(number) = self.free.0.0.lock().pop() else { return };
        let slot = Slot { number, len: bytes.len() as u32, crc: crc32c::crc32c(bytes) };
        let entry_at = HEADER_BYTES + u64::from(number) * ENTRY_BYTES as u64;
        let written = self.file.write_all_at(bytes, self.slot_at(number));
        if written.and_then(|()| self.file.write_all_at(&entry(&key, &slot), entry_at)).is_err() {
            self.failures.fetch_add(1, Relaxed);
            self.free.0.0.lock().push(number);
            return;
        }
        self.pieces.insert(key, slot);
    }
}

impl fmt::Debug for DiskCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskCache").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// How many slots there is room for, the table included.
fn slots_of(bytes: u64) -> u64 {
    let slots = (bytes - HEADER_BYTES - PIECE_BYTES) / (PIECE_BYTES + ENTRY_BYTES as u64);
    slots.min(u64::from(u32::MAX))
}

fn in_use(path: &Path) -> io::Error {
    let what =
        format!("{} is in use by another process; give each process a cache of its own", path.display());
    io::Error::new(io::ErrorKind::ResourceBusy, what)
}

fn entry(key: &PieceKey, slot: &Slot) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..16].copy_from_slice(&key.file);
    bytes[16..24].copy_from_slice(&key.piece.to_le_bytes());
    bytes[24..28].copy_from_slice(&slot.len.to_le_bytes());
    bytes[28..32].copy_from_slice(&slot.crc.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..32]);
    bytes[32..36].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn read_entry(bytes: &[u8], number: u32) -> Option<(PieceKey, Slot)> {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (len, crc) = (u32_at(24), u32_at(28));
    if crc32c::crc32c(&bytes[..32]) != u32_at(32) || len == 0 || u64::from(len) > PIECE_BYTES {
        return None;
    }
    let file = bytes[..16].try_into().expect("sixteen bytes");
    let piece = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
    Some((PieceKey { file, piece }, Slot { number, len, crc }))
}

/// A store file and the pieces of it that are nearer.
#[derive(Debug)]
pub(crate) struct ReadThrough {
    cache: Arc<DiskCache>,
    identity: [u8; 16],
    file: Arc<dyn FileRead>,
    /// What is read from the file goes into the cache.
    keeps: bool,
}

impl ReadThrough {
    /// The same for those who come but once: what the cache has is taken from there, and nothing goes into it.
    pub(crate) fn passing(&self) -> Arc<dyn FileRead> {
        let (cache, file) = (Arc::clone(&self.cache), Arc::clone(&self.file));
        Arc::new(Self { cache, identity: self.identity, file, keeps: false })
    }

    fn key(&self, piece: u64) -> PieceKey {
        PieceKey { file: self.identity, piece }
    }

    /// Reads pieces that the cache does not have, and keeps them.
    fn fetch(&self, pieces: std::ops::Range<u64>) -> io::Result<Bytes> {
        let start = pieces.start * PIECE_BYTES;
        let end = (pieces.end * PIECE_BYTES).min(self.size());
        let bytes = self.file.read_at(start, (end - start) as usize)?;
        if self.keeps {
            for (piece, bytes) in pieces.zip(bytes.chunks(PIECE_BYTES as usize)) {
                self.cache.put(self.key(piece), bytes);
            }
        }
        Ok(bytes)
    }
}

impl FileRead for ReadThrough {
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let end = offset.checked_add(len as u64).filter(|&end| end <= self.size());
        let Some(end) = end else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let pieces = offset / PIECE_BYTES..end.div_ceil(PIECE_BYTES);
        let cut = |bytes: &Bytes, first: u64| {
            let at = first * PIECE_BYTES;
            let from = offset.saturating_sub(at) as usize;
            bytes.slice(from..bytes.len().min((end - at) as usize))
        };
        if pieces.end - pieces.start == 1 {
            let bytes = self.cache.get(&self.key(pieces.start));
            return Ok(cut(&bytes.map_or_else(|| self.fetch(pieces.clone()), Ok)?, pieces.start));
        }
        let mut found = BytesMut::with_capacity(len);
        let mut missing = pieces.start..pieces.start;
        for piece in pieces.clone() {
            match self.cache.get(&self.key(piece)) {
                Some(bytes) => {
                    if !missing.is_empty() {
                        found.extend_from_slice(&cut(&self.fetch(missing.clone())?, missing.start));
                    }
                    found.extend_from_slice(&cut(&bytes, piece));
                    missing = piece + 1..piece + 1;
                }
                None => missing.end = piece + 1,
            }
        }
        if !missing.is_empty() {
            found.extend_from_slice(&cut(&self.fetch(missing.clone())?, missing.start));
        }
        Ok(found.freeze())
    }

    fn size(&self) -> u64 {
        self.file.size()
    }

    fn name(&self) -> &str {
        self.file.name()
    }
}

/// Where a second tier of the block cache lies and how large it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskCacheOptions {
    /// A directory on a local disk; one process at a time uses it.
    pub dir: PathBuf,
    /// Bytes of the disk that it takes at most, at least 16 MiB.
    pub bytes: u64,
}

#[cfg(test)]
mod tests;
