// SPDX-License-Identifier: Apache-2.0
//! The form of a row's bytes: which of them the next row must have as well, if it is to have the same columns and
//! lengths everywhere.
//!
//! Most rows of most tables differ from the one before in nothing but key, values, timestamps and sequence numbers, all of
//! the same length. Whether a row does is one comparison of its bytes with those of the row before, under a mask;
//! if so, where everything lies is known, and the row is decoded by copying the slots of the row before. That is what
//! [`super::raw_rows`] and [`super::delta`]'s `rows` do, three to five times as fast as cell by cell.
//!
//! ```text
//! row      00000014 00000004 0004 80000001 01 30 5631 0000018bcfe56800 04 bf31a2c7 07   a raw cell of it
//! mask     ffffffff ffffffff ffff 00000000 ff ff ffff 0000000000000000 ff 00000000 80   80: the number stays one byte
//! ```
//!
//! The decoders that go cell by cell take whatever does not match, and are the oracle of the tests.

use std::ops::Range;

/// Cells that a row may have for its form to be learned, and bytes.
pub(super) const CELLS_MAX: usize = 64;
const BYTES_MAX: usize = 4096;
const BYTES_MIN: usize = 8;

/// Which bits of a row are the same in each row of this form.
#[derive(Debug, Default)]
pub(super) struct RowForm {
    mask: Vec<u8>,
}

impl RowForm {
    /// A form in which all of `len` bytes are fixed; false if that is too long or too short to be worth it.
    pub(super) fn reset(&mut self, len: usize) -> bool {
        self.mask.clear();
        self.mask.resize(len.min(BYTES_MAX), 0xff);
        (BYTES_MIN..=BYTES_MAX).contains(&len)
    }

    /// Bytes of a row.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.mask.len()
    }

    /// These bytes may be any.
    pub(super) fn free(&mut self, bytes: Range<usize>) {
        self.mask[bytes].fill(0);
    }

    /// The last byte of a VLONG that is not negative, `len` bytes in all, may be any that needs as many bytes.
    pub(super) fn free_vlong(&mut self, last: usize, len: usize) {
        // One byte holds 0 to 127, two hold 128 to 255 behind the marker; in longer ones the bytes before decide.
        self.mask[last] = if len <= 2 { 0x80 } else { 0 };
    }

    /// True if `row` has the form of `model`, both as long as the form.
    #[inline(always)]
    pub(super) fn fits(&self, model: &[u8], row: &[u8]) -> bool {
        debug_assert!(model.len() == self.len() && row.len() == self.len());
        let differ = |mask: &[u8; 8], model: &[u8; 8], row: &[u8; 8]| {
            (u64::from_le_bytes(*model) ^ u64::from_le_bytes(*row)) & u64::from_le_bytes(*mask)
        };
        let mut different = 0;
        let masks = self.mask.as_chunks().0;
        for ((mask, model), row) in masks.iter().zip(model.as_chunks().0).zip(row.as_chunks().0) {
            different |= differ(mask, model, row);
        }
        // The rest, with some of the bytes before once more; a row shorter than that was not learned.
        match (self.mask.last_chunk(), model.last_chunk(), row.last_chunk()) {
            (Some(mask), Some(model), Some(row)) => different | differ(mask, model, row) == 0,
            _ => false,
        }
    }
}

/// After rows that fit no form, learning the next is put off, twice as long each time.
#[derive(Debug, Default)]
pub(super) struct Patience {
    pause: u32,
    left: u32,
}

/// Rows that are at most decoded cell by cell before a form is looked for again.
const PAUSE_MAX: u32 = 64;

impl Patience {
    /// True if a form should be learned from the row that just ended.
    pub(super) fn is_ready(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    /// Whether what was learned was of use.
    pub(super) fn note(&mut self, useful: bool) {
        self.pause = if useful { 1 } else { (2 * self.pause).clamp(1, PAUSE_MAX) };
        self.left = self.pause;
    }
}

/// Eight bytes as they lie.
#[inline(always)]
pub(super) fn load(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests;
