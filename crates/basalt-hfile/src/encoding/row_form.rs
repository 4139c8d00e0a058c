// SPDX-License-Identifier: Apache-2.0
//! The form of a row's bytes: which of them the next row must have as well, if it is to have the same columns and
//! lengths everywhere.
//!
//! Most rows of most tables differ from the one before in nothing but key, values, timestamps and sequence numbers, all of
//! the same length. Whether a row does is one comparison of its bytes with those of a row before, under a mask, 32 bytes at a time;
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

/// Which bits of a row are the same in each row of this form, and what they are.
#[derive(Debug, Default)]
pub(super) struct RowForm {
    mask: Vec<u8>,
    /// The fixed bytes in pieces: of 32 bytes, a register of AVX2, if a row has as many; else of eight.
    wide: Vec<Piece<WIDE>>,
    narrow: Vec<Piece<BYTES_MIN>>,
}

const WIDE: usize = 32;

/// Some bytes of a row, of which those under the mask are fixed.
#[derive(Debug)]
struct Piece<const N: usize> {
    at: usize,
    mask: [u8; N],
    fixed: [u8; N],
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

    /// The row that has the form, once all that is free is known.
    pub(super) fn fix(&mut self, model: &[u8]) {
        debug_assert_eq!(model.len(), self.len());
        fill(&mut self.wide, &self.mask, model);
        match self.wide.is_empty() {
            true => fill(&mut self.narrow, &self.mask, model),
            false => self.narrow.clear(),
        }
    }

    /// The form of rows that have `form` and in `bytes` what `model` has.
    pub(super) fn fix_more(&mut self, form: &Self, bytes: impl Iterator<Item = Range<usize>>, model: &[u8]) {
        self.mask.clone_from(&form.mask);
        bytes.for_each(|bytes| self.mask[bytes].fill(0xff));
        self.fix(model);
    }

    /// How many of `rows`, each as long as the form, have it, one after the other.
    #[inline(always)]
    pub(super) fn count<'a>(&self, rows: impl Iterator<Item = &'a [u8]>) -> usize {
        // How many pieces there are is decided here, once, for the usual numbers.
        match &self.wide[..] {
            [] => rows.take_while(|row| fit(&self.narrow, row)).count(),
            [one] => count(&[one], rows),
            [one, two] => count(&[one, two], rows),
            [one, two, three] => count(&[one, two, three], rows),
            [one, two, three, four] => count(&[one, two, three, four], rows),
            [one, two, three, four, five] => count(&[one, two, three, four, five], rows),
            wide => rows.take_while(|row| fit(wide, row)).count(),
        }
    }

    /// True if `row`, as long as the form, has it.
    #[inline(always)]
    pub(super) fn fits(&self, row: &[u8]) -> bool {
        debug_assert!(row.len() == self.len());
        if self.narrow.is_empty() { fit(&self.wide, row) } else { fit(&self.narrow, row) }
    }
}

/// The pieces of a row; none if it is shorter than one. The last overlaps the one before where it would pass the end.
fn fill<const N: usize>(pieces: &mut Vec<Piece<N>>, mask: &[u8], model: &[u8]) {
    pieces.clear();
    let Some(last) = model.len().checked_sub(N) else { return };
    for at in (0..model.len()).step_by(N) {
        let at = at.min(last);
        if let (Some(&mask), Some(&model)) = (mask[at..].first_chunk(), model[at..].first_chunk::<N>()) {
            pieces.push(Piece { at, mask, fixed: std::array::from_fn(|byte| model[byte] & mask[byte]) });
        }
    }
}

#[inline(always)]
fn fit<const N: usize>(pieces: &[Piece<N>], row: &[u8]) -> bool {
    let mut different = [0; N];
    for piece in pieces {
        let Some(bytes) = row.get(piece.at..).and_then(|bytes| bytes.first_chunk::<N>()) else {
            return false;
        };
        for (byte, sum) in different.iter_mut().enumerate() {
            *sum |= bytes[byte] & piece.mask[byte] ^ piece.fixed[byte];
        }
    }
    different == [0; N]
}

/// How many rows fit all `pieces`, one after the other.
#[inline(always)]
fn count<'a, const PIECES: usize>(
    pieces: &[&Piece<WIDE>; PIECES],
    rows: impl Iterator<Item = &'a [u8]>,
) -> usize {
    let pieces = pieces.map(|piece| (piece.mask, piece.fixed));
    rows.take_while(|row| {
        let mut different = [0; WIDE];
        let mut compare = |(mask, fixed): &([u8; WIDE], [u8; WIDE]), bytes: &[u8; WIDE]| {
            for (byte, sum) in different.iter_mut().enumerate() {
                *sum |= bytes[byte] & mask[byte] ^ fixed[byte];
            }
        };
        // All pieces but the last lie side by side, and that one ends the row.
        let (chunks, _) = row.as_chunks();
        let (Some(chunks), Some(last)) = (chunks.get(..PIECES - 1), row.last_chunk()) else { return false };
        pieces.iter().zip(chunks).for_each(|(piece, chunk)| compare(piece, chunk));
        compare(&pieces[PIECES - 1], last);
        different == [0; WIDE]
    })
    .count()
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
