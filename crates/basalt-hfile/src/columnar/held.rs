// SPDX-License-Identifier: Apache-2.0
//! The pages of a section in memory of their own, laid so that packed numbers are read where they lie.

use std::sync::atomic::AtomicBool;

use bytes::Bytes;

use super::room::Room;

/// The pages of a section, in memory.
#[derive(Debug)]
pub(super) struct HeldPages {
    pub(super) bytes: Bytes,
    /// Where each page begins among them.
    pub(super) starts: Vec<u32>,
    /// Whether each page has the right checksum; it is looked at once.
    pub(super) verified: Vec<AtomicBool>,
}

/// Bytes of a processor's line of memory.
const LINE: usize = 64;
/// Bytes of a frame before its packed numbers ([`super::frame`]).
const FRAME_HEAD: usize = 12;

impl HeldPages {
    /// Copies pages, of which each ends at one of `ends`, so that packed numbers behind the head of a frame begin with a line: they are read where
    /// they lie then, and none of their words lies in two lines.
    pub(super) fn new(pages: &[u8], ends: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        let mut room = Room::new(pages.len() + (ends.len() + 1) * LINE);
        let bytes = room.bytes();
        let before_line = bytes.as_ptr().align_offset(LINE) + LINE - FRAME_HEAD;
        let (mut start, mut len, mut starts) = (0, 0_usize, Vec::with_capacity(ends.len()));
        for end in ends {
            let at = before_line + (len + LINE - 1).saturating_sub(before_line) / LINE * LINE;
            starts.push(at as u32);
            len = at + end - start;
            bytes[at..len].copy_from_slice(&pages[start..end]);
            start = end;
        }
        Self::of(room.into_bytes(len), starts)
    }

    /// Pages as they were read, one behind the other.
    pub(super) fn as_read(bytes: Bytes, ends: impl ExactSizeIterator<Item = usize>) -> Self {
        let mut start = 0;
        Self::of(bytes, ends.map(|end| std::mem::replace(&mut start, end as u32)).collect())
    }

    fn of(bytes: Bytes, starts: Vec<u32>) -> Self {
        let verified = starts.iter().map(|_| AtomicBool::new(false)).collect();
        Self { bytes, starts, verified }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_begin_with_a_line_and_pages_stay_as_they_are() {
        let pages: Vec<u8> = (0..=255).cycle().take(5_000).collect();
        let ends = [0_usize, 1, 700, 701, 1_000, 5_000];
        let held = HeldPages::new(&pages, ends.into_iter());
        let mut start = 0;
        for (at, end) in held.starts.iter().zip(ends) {
            let page = &held.bytes[*at as usize..*at as usize + end - start];
            assert_eq!(page, &pages[start..end]);
            assert_eq!((page.as_ptr().addr() + FRAME_HEAD) % LINE, 0, "a page at {at}");
            start = end;
        }
        assert!(held.bytes.len() <= pages.len() + (ends.len() + 1) * LINE);
        assert!(HeldPages::new(&[], std::iter::empty()).bytes.is_empty());
    }
}
