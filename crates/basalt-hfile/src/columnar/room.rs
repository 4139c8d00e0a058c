// SPDX-License-Identifier: Apache-2.0
//! Memory for what is kept long and read where it lies.
//!
//! What is larger than a mebibyte comes from the system at once, in pages that are all there: a program that writes to new memory
//! bit by bit is stopped for every page of it, and what scans keep is new memory all the time.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use memmap2::{MmapMut, MmapOptions};

/// Less than that comes from the allocator.
pub(super) const MAPPED_BYTES_MIN: usize = 1 << 20;
/// So many at once: Linux allows a process 65,530 mappings, of which the allocator and others need some.
const MAPPINGS_MAX: usize = 16 << 10;

static MAPPINGS: AtomicUsize = AtomicUsize::new(0);

/// Zeros to be written over.
#[derive(Debug)]
pub(super) enum Room {
    Allocated(Vec<u8>),
    Mapped(Mapped),
}

/// Memory from the system.
#[derive(Debug)]
pub(super) struct Mapped(MmapMut);

impl Room {
    /// Room for `len` bytes.
    pub(super) fn new(len: usize) -> Self {
        Mapped::new(len).map_or_else(|| Self::Allocated(vec![0; len]), Self::Mapped)
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(Mapped(bytes)) => bytes,
        }
    }

    /// The first `len` bytes.
    pub(super) fn into_bytes(self, len: usize) -> Bytes {
        match self {
            Self::Allocated(mut bytes) => {
                bytes.truncate(len);
                Bytes::from(bytes)
            }
            Self::Mapped(bytes) => Bytes::from_owner(bytes).slice(..len),
        }
    }
}

impl Mapped {
    /// `None` if so little is better asked of the allocator, or the system does not give it.
    fn new(len: usize) -> Option<Self> {
        if len < MAPPED_BYTES_MIN || MAPPINGS.load(Relaxed) >= MAPPINGS_MAX {
            return None;
        }
        let mapped = MmapOptions::new().len(len).populate().map_anon().ok()?;
        MAPPINGS.fetch_add(1, Relaxed);
        Some(Self(mapped))
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        MAPPINGS.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_and_little_room_holds_what_is_written_into_it() {
        for len in [0, 1, MAPPED_BYTES_MIN - 1, MAPPED_BYTES_MIN, MAPPED_BYTES_MIN + 4_097] {
            let mut room = Room::new(len);
            assert_eq!(matches!(room, Room::Mapped(_)), len >= MAPPED_BYTES_MIN);
            assert!(room.bytes().len() == len && room.bytes().iter().all(|byte| *byte == 0));
            room.bytes().iter_mut().zip(0..).for_each(|(byte, at)| *byte = (at % 251) as u8);
            let kept = room.into_bytes(len / 2);
            assert_eq!(kept.len(), len / 2);
            assert!(kept.iter().zip(0..).all(|(byte, at)| *byte == (at % 251) as u8));
        }
    }
}
