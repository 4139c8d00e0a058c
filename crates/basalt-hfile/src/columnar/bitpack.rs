// SPDX-License-Identifier: Apache-2.0
//! Packing unsigned integers into a fixed number of bits each.
//!
//! Exactly 1,024 values are packed in the transposed order of the FastLanes paper (VLDB 2023), on lanes of 32 bits
//! for widths up to 32 and of 64 bits above, each word little-endian: `128 * width` bytes. Any other number of
//! values is one stream of bits, least significant first: `ceil(count * width / 8)` bytes.
//!
//! ```text
//! 5, 6, 7 in 3 bits    f5 01      111 110 101, read from the right
//! ```

use std::ops::RangeInclusive;

use fastlanes::{BitPacking, BitPackingCompare, FoR, transpose_bits};
use zerocopy::FromBytes;

use super::VECTOR;
use super::mask::Mask;

/// Bits that the value needs.
#[inline]
pub(super) fn bits(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// Bytes that `count` values of `width` bits take.
#[inline]
pub(super) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Calls the packing function of the crate for a width that is known at run time.
macro_rules! by_width {
    ($lane:ty, $bits:literal, $call:ident, $width:expr, $from:expr, $to:expr, [$($w:literal)*]) => {
        match $width {
            $($w => by_width!(@$call $lane, $w, { 1024 * $w / $bits }, $from, $to),)*
            width => unreachable!("{width} bits in a lane of {}", $bits),
        }
    };
    (@pack $lane:ty, $w:literal, $len:block, $from:expr, $to:expr) => {{
        let to: &mut [$lane; $len] = (&mut $to[..$len]).try_into().expect("cut to the length");
        <$lane as BitPacking>::pack::<$w, $len>($from, to)
    }};
    (@unpack $lane:ty, $w:literal, $len:block, $from:expr, $to:expr) => {{
        let (base, out) = $to;
        unpack_of_width::<$lane, $w, $len>($from, base, out)
    }};
    (@within $lane:ty, $w:literal, $len:block, $from:expr, $to:expr) => {
        within_of_width::<$w, $len>($from, $to)
    };
}

macro_rules! narrow {
    ($call:ident, $width:expr, $from:expr, $to:expr) => {
        by_width!(u32, 32, $call, $width, $from, $to, [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
            24 25 26 27 28 29 30 31 32])
    };
}

macro_rules! wide {
    ($call:ident, $width:expr, $from:expr, $to:expr) => {
        by_width!(u64, 64, $call, $width, $from, $to, [33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53
            54 55 56 57 58 59 60 61 62 63 64])
    };
}

/// A word of a lane.
trait Word: FoR + FromBytes + zerocopy::Immutable + zerocopy::KnownLayout {
    /// The first words of little-endian bytes.
    fn words_of<const WORDS: usize>(bytes: &[u8]) -> [Self; WORDS];

    /// The same where they lie, if the processor can read them there as they are.
    #[inline(always)]
    fn words_in<const WORDS: usize>(bytes: &[u8]) -> Option<&[Self; WORDS]> {
        if cfg!(target_endian = "big") {
            return None;
        }
        <[Self; WORDS]>::ref_from_bytes(bytes).ok()
    }
}

impl Word for u32 {
    #[inline(always)]
    fn words_of<const WORDS: usize>(bytes: &[u8]) -> [Self; WORDS] {
        let words = bytes.as_chunks().0;
        std::array::from_fn(|word| Self::from_le_bytes(words[word]))
    }
}

impl Word for u64 {
    #[inline(always)]
    fn words_of<const WORDS: usize>(bytes: &[u8]) -> [Self; WORDS] {
        let words = bytes.as_chunks().0;
        std::array::from_fn(|word| Self::from_le_bytes(words[word]))
    }
}

/// Unpacks, and adds `base` to each number. A function for each width: one for all would have room on its stack for the words of every width.
#[inline(never)]
fn unpack_of_width<T: Word, const WIDTH: usize, const WORDS: usize>(
    bytes: &[u8],
    base: T,
    out: &mut [T; VECTOR],
) {
    match T::words_in(bytes) {
        Some(words) => T::unfor_pack::<WIDTH, WORDS>(words, base, out),
        None => T::unfor_pack::<WIDTH, WORDS>(&T::words_of(bytes), base, out),
    }
}

/// As [`unpack_of_width`], and compared with a range: the first number of it, and how many more there are.
#[inline(never)]
fn within_of_width<const WIDTH: usize, const WORDS: usize>(
    bytes: &[u8],
    (mask, first, span): (&mut [u64; VECTOR / 64], u32, u32),
) {
    let is_within = |number: u32, first: u32| number.wrapping_sub(first) <= span;
    match u32::words_in(bytes) {
        Some(words) => u32::unpack_cmp::<WIDTH, WORDS, u32, _>(words, mask, is_within, first),
        None => u32::unpack_cmp::<WIDTH, WORDS, u32, _>(&u32::words_of(bytes), mask, is_within, first),
    }
}

/// Appends `values`, none of which needs more than `width` bits.
pub(super) fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    debug_assert!(width <= 64 && values.iter().all(|&value| bits(value) <= width));
    if width == 0 {
        return;
    }
    let Ok(values) = <&[u64; VECTOR]>::try_from(values) else { return pack_stream(values, width, out) };
    if width > 32 {
        let mut words = [0u64; VECTOR];
        wide!(pack, width, values, words);
        let words = &words[..VECTOR * width as usize / 64];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    } else {
        let mut words = [0u32; VECTOR];
        narrow!(pack, width, &values.map(|value| value as u32), words);
        let words = &words[..VECTOR * width as usize / 32];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
}

fn pack_stream(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut pending, mut filled) = (0u128, 0);
    out.reserve(packed_len(values.len(), width));
    for &value in values {
        pending |= u128::from(value) << filled;
        filled += width;
        while filled >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(pending as u8);
    }
}

/// Unpacks as many values as `out` has room for from `bytes`, which are [`packed_len`] long, and adds `base` to each; `width` is at
/// most 32. A whole vector is read where it lies if it begins at a multiple of four bytes, else its words are copied first.
pub(super) fn unpack_32(bytes: &[u8], width: u32, base: u32, out: &mut [u32]) {
    assert!(width <= 32 && bytes.len() == packed_len(out.len(), width));
    if width == 0 {
        return out.fill(base);
    }
    let Ok(out) = <&mut [u32; VECTOR]>::try_from(&mut *out) else {
        return unpack_stream(bytes, width, out, |value| (value as u32).wrapping_add(base));
    };
    narrow!(unpack, width, bytes, (base, out));
}

/// Which of the values of a packed vector lie in a range, as they are packed; `width` is 1 to 32. It takes about the time of
/// unpacking them.
pub(super) fn vector_within(bytes: &[u8], width: u32, range: RangeInclusive<u32>) -> Mask {
    assert!((1..=32).contains(&width) && bytes.len() == packed_len(VECTOR, width));
    let (mut by_lane, mut by_row) = ([0; VECTOR / 64], [0; VECTOR / 64]);
    let Some(span) = range.end().checked_sub(*range.start()) else { return Mask::NONE };
    narrow!(within, width, bytes, (&mut by_lane, *range.start(), span));
    transpose_bits::<u32>(&by_lane, &mut by_row);
    Mask::of_words(by_row)
}

/// As [`unpack_32`], for widths up to 64.
pub(super) fn unpack_64(bytes: &[u8], width: u32, base: u64, out: &mut [u64]) {
    assert!(width <= 64 && bytes.len() == packed_len(out.len(), width));
    if width == 0 {
        return out.fill(base);
    }
    let Ok(out) = <&mut [u64; VECTOR]>::try_from(&mut *out) else {
        return unpack_stream(bytes, width, out, |value| value.wrapping_add(base));
    };
    if width <= 32 {
        let mut narrow = [0u32; VECTOR];
        unpack_32(bytes, width, 0, &mut narrow);
        for (to, from) in out.iter_mut().zip(narrow) {
            *to = u64::from(from).wrapping_add(base);
        }
        return;
    }
    wide!(unpack, width, bytes, (base, out));
}

#[inline(always)]
fn unpack_stream<T>(bytes: &[u8], width: u32, out: &mut [T], make: impl Fn(u64) -> T) {
    let mask = u64::MAX >> (64 - width);
    for (index, out) in out.iter_mut().enumerate() {
        let bit = index * width as usize;
        let (at, shift) = (bit / 8, (bit % 8) as u32);
        let low = match bytes[at..].first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => little_endian(&bytes[at..]),
        };
        let mut value = low >> shift;
        if shift + width > 64 {
            value |= u64::from(bytes[at + 8]) << (64 - shift);
        }
        *out = make(value & mask);
    }
}

#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests;
