// SPDX-License-Identifier: Apache-2.0
//! Checksums that bind bytes to their place, and where the bytes of a block come from.
//!
//! ```text
//! CRC32C of   u64 number of the file | i64 its creation time | u64 offset of the block | u32 position | the bytes
//! ```
//!
//! Number and creation time stand in the file info; the position counts from the end of the block's head, and is
//! 2^32 - 1 for the head itself. So a page of another file, another block or another column is found out, though
//! its checksum was right where it came from.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};

use crate::error::{Damage, Error, Result};
use crate::file::FileRead;

/// Position of the head, for its checksum.
pub(super) const HEAD: u32 = u32::MAX;

/// The state of the checksum before the position: the file, or the file and the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal(u32);

impl Seal {
    /// That of no file.
    pub(super) const NOTHING: Self = Self(0);

    /// That of a file.
    pub(crate) fn of_file(number: u64, create_time_ms: i64) -> Self {
        Self(append(append(0, &number.to_le_bytes()), &create_time_ms.to_le_bytes()))
    }

    /// That of a block of the file.
    pub(super) fn of_block(self, offset: u64) -> Self {
        Self(append(self.0, &offset.to_le_bytes()))
    }

    /// The checksum of bytes at a position.
    pub(super) fn checksum(self, position: u32, bytes: &[u8]) -> u32 {
        append(append(self.0, &position.to_le_bytes()), bytes)
    }
}

/// From so many bytes on wide registers are faster than the processor's own instruction.
const WIDE: usize = 1 << 10;

/// The CRC32C of bytes behind others, which have that of `before`.
fn append(before: u32, bytes: &[u8]) -> u32 {
    if bytes.len() < WIDE {
        return crc32c::crc32c_append(before, bytes);
    }
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, (!before).into());
    digest.update(bytes);
    digest.finalize() as u32
}

/// The bytes of one block, read as far as they are asked for.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: Arc<dyn FileRead>,
    /// Offset of the block in the file.
    pub(super) offset: u64,
    pub(super) seal: Seal,
    /// Bytes that one vector may decode to.
    pub(super) bytes_max: usize,
    /// From the block's start to the end of its head.
    pub(super) sections_at: usize,
    /// Bytes of the sections.
    pub(super) sections_len: usize,
    /// Parts of the sections that are in memory.
    pub(super) loaded: Mutex<Vec<(Range<usize>, Bytes)>>,
}

impl Source {
    /// The same, with other parts in memory.
    pub(super) fn with_loaded(&self, loaded: Vec<(Range<usize>, Bytes)>) -> Self {
        Self { file: Arc::clone(&self.file), loaded: Mutex::new(loaded), ..*self }
    }

    /// Some bytes of the sections.
    pub(super) fn read(&self, range: Range<usize>) -> Result<Bytes> {
        self.check_range(&range)?;
        if let Some(bytes) = self.loaded(&range) {
            return Ok(bytes);
        }
        let offset = self.offset_of(&range);
        self.file.read_at(offset, range.len()).map_err(|source| self.unreadable(offset, source))
    }

    /// The same into memory that is there.
    pub(super) fn read_into(&self, range: Range<usize>, out: &mut [u8]) -> Result<()> {
        self.check_range(&range)?;
        if let Some(bytes) = self.loaded(&range) {
            out.copy_from_slice(&bytes);
            return Ok(());
        }
        let offset = self.offset_of(&range);
        self.file.read_into(offset, out).map_err(|source| self.unreadable(offset, source))
    }

    fn check_range(&self, range: &Range<usize>) -> Result<()> {
        if range.start <= range.end && range.end <= self.sections_len {
            return Ok(());
        }
        let what = format!("bytes {}..{} of {} in its sections", range.start, range.end, self.sections_len);
        Err(self.corrupt(Damage::new(0, what)))
    }

    /// Bytes that are in memory.
    fn loaded(&self, range: &Range<usize>) -> Option<Bytes> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |part: &&(Range<usize>, Bytes)| part.0.start <= range.start && range.end <= part.0.end;
        let (part, bytes) = loaded.iter().find(holds)?;
        Some(bytes.slice(range.start - part.start..range.end - part.start))
    }

    fn offset_of(&self, range: &Range<usize>) -> u64 {
        self.offset + (self.sections_at + range.start) as u64
    }

    fn unreadable(&self, offset: u64, source: io::Error) -> Error {
        Error::Io { file: self.file.name().to_owned(), offset, source }
    }

    /// Reads a range and keeps it.
    pub(super) fn load(&self, range: Range<usize>) -> Result<()> {
        let bytes = self.read(range.clone())?;
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).push((range, bytes));
        Ok(())
    }

    /// Some bytes of the sections, which must have this checksum.
    pub(super) fn verified(&self, range: Range<usize>, expected: u32) -> Result<Bytes> {
        let at = range.start;
        let bytes = self.read(range)?;
        self.check(at, &bytes, expected)?;
        Ok(bytes)
    }

    /// An error if bytes of the sections do not have this checksum; `at` is where they begin.
    pub(super) fn check(&self, at: usize, bytes: &[u8], expected: u32) -> Result<()> {
        let found = self.seal.checksum(at as u32, bytes);
        if found != expected {
            let what =
                format!("checksum mismatch in a section: expected {expected:#010x}, found {found:#010x}");
            return Err(self.corrupt(Damage::new(at, what)));
        }
        Ok(())
    }

    #[cold]
    pub(super) fn corrupt(&self, damage: Damage) -> Error {
        damage.in_block(self.file.name(), self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_bytes_have_the_checksum_that_the_processor_gives() {
        let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let known = append(0, b"123456789");
        assert_eq!(known, 0xe306_9283);
        for len in [0, 1, WIDE - 1, WIDE, WIDE + 1, 3 * WIDE + 7, bytes.len()] {
            assert_eq!(append(known, &bytes[..len]), crc32c::crc32c_append(known, &bytes[..len]), "{len}");
        }
    }
}
