// SPDX-License-Identifier: Apache-2.0
//! Numbers none of which is below the one before, in half a bit more than chance leaves of them: the lower bits of their distances from the
//! first are packed, the upper ones are counted in a bitmap (Elias 1974 and Fano 1971; Vigna, Quasi-succinct indices, WSDM 2013). Number `n` has
//! bit `n + upper` set. A frame of differences needs a bit more for each, where these are as random as the gaps of chosen keys are.
//!
//! ```text
//! u8 lower bits | u8 0 | u16 bytes of the bitmap | i64 first | lower bits, packed | bitmap, least significant bit first
//!
//! 10, 11, 17, 25 in 2 lower bits    02 00 0100 0a00000000000000 d4 53     lower 0, 1, 3, 3; upper 0, 0, 1, 3: bits 0, 1, 3, 6
//! ```

use super::bitpack::{pack, packed_len};
use super::frame::Lane;
use super::input::Input;
use crate::error::Damage;

/// True if no number is below the one before it.
pub(super) fn is_ascending(values: &[i64]) -> bool {
    values.is_sorted()
}

/// How many lower bits make the fewest of all, of `count` distances up to `most`.
fn lower_bits(count: usize, most: u64) -> u32 {
    let total = |lower: u32| count as u64 * u64::from(lower) + (most >> lower);
    // With fewer, the bitmap alone is longer than with these all are.
    let least = (most / count.max(1) as u64).checked_ilog2().unwrap_or(0).saturating_sub(1);
    (least..least + 3).rev().min_by_key(|&lower| total(lower)).expect("there are three")
}

/// Appends `values`, of which there are at most 65,536, in ascending order.
pub(super) fn encode(values: &[i64], out: &mut Vec<u8>) {
    debug_assert!(is_ascending(values) && values.len() <= 1 << 16);
    let first = values.first().copied().unwrap_or(0);
    let distance = |value: &i64| value.abs_diff(first);
    let lower = lower_bits(values.len(), values.last().map_or(0, distance));
    let mut bitmap = Vec::new();
    for (index, distance) in values.iter().map(distance).enumerate() {
        let bit = index + (distance >> lower) as usize;
        bitmap.resize(bit / 8 + 1, 0u8);
        bitmap[bit / 8] |= 1 << (bit % 8);
    }
    let mask = (1u64 << lower) - 1;
    let lows: Vec<u64> = values.iter().map(|value| distance(value) & mask).collect();
    out.extend_from_slice(&[lower as u8, 0]);
    out.extend_from_slice(&(bitmap.len() as u16).to_le_bytes());
    out.extend_from_slice(&first.to_le_bytes());
    pack(&lows, lower, out);
    out.extend_from_slice(&bitmap);
}

/// Takes `out.len()` numbers off the input; each is `unit` times the stored one and `rest` more.
pub(super) fn decode<T: Lane>(
    input: &mut Input<'_>,
    (unit, rest): (i64, i64),
    out: &mut [T],
) -> Result<(), Damage> {
    let (lower, zero) = (u32::from(input.u8()?), input.u8()?);
    if lower >= u64::BITS || zero != 0 {
        return Err(input.damage(format!("ascending numbers of {lower} lower bits")));
    }
    let bitmap_len = usize::from(input.u16()?);
    let first = T::of(input.i64()?);
    T::unpack(input.take(packed_len(out.len(), lower))?, lower, first, out);
    add_upper(input, bitmap_len, lower, out)?;
    if (unit, rest) != (1, 0) {
        let (unit, rest) = (T::of(unit), T::of(rest));
        out.iter_mut().for_each(|number| *number = number.times(unit).plus(rest));
    }
    Ok(())
}

/// Adds to each number the bits of it that the bitmap counts.
fn add_upper<T: Lane>(
    input: &mut Input<'_>,
    bitmap_len: usize,
    lower: u32,
    out: &mut [T],
) -> Result<(), Damage> {
    let bitmap = input.take(bitmap_len)?;
    let count = out.len();
    let mut numbers = out.iter_mut().enumerate();
    let (words, tail) = bitmap.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    for (at, word) in (0..).step_by(64).zip(words.iter().chain([&last])) {
        let mut word = u64::from_le_bytes(*word);
        while word != 0 {
            let bit = at + word.trailing_zeros() as usize;
            let Some((index, number)) = numbers.next() else {
                return Err(input.damage(format!("more than {count} ascending numbers")));
            };
            let upper = ((bit - index) as u64) << lower;
            *number = number.plus(T::of(upper as i64));
            word &= word - 1;
        }
    }
    match numbers.len() {
        0 => Ok(()),
        missing => Err(input.damage(format!("{} of {count} ascending numbers", count - missing))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_above() {
        let mut bytes = vec![];
        encode(&[10, 11, 17, 25], &mut bytes);
        assert_eq!(bytes, [2, 0, 1, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0b1111_0100, 0b100_1011]);
    }

    #[test]
    fn extremes_and_repetitions_come_back() {
        let all = [
            vec![],
            vec![i64::MIN],
            vec![7; 1024],
            vec![i64::MIN, i64::MAX],
            vec![i64::MIN, -1, 0, 0, 0, i64::MAX],
            (0..1024).map(|at| at * at * at).collect(),
            (0..1024).map(|at| if at < 1000 { at } else { i64::MAX - 1024 + at }).collect(),
            (0..5000).map(|at| at / 3 * 1_000_003).collect(),
        ];
        for values in all {
            let mut bytes = vec![];
            encode(&values, &mut bytes);
            assert!(bytes.len() <= 13 + values.len() * 67 / 8, "{} bytes", bytes.len());
            let (mut input, mut out) = (Input::new(&bytes), vec![0u64; values.len()]);
            decode(&mut input, (3, -5), &mut out).unwrap();
            input.finish().unwrap();
            let expected = values.iter().map(|value| value.wrapping_mul(3).wrapping_sub(5) as u64);
            assert!(out.into_iter().eq(expected));
        }
    }

    #[test]
    fn random_gaps_take_little_more_than_chance_leaves_of_them() {
        // Exponential gaps of a hundred thousand on average have log2(e * 100,000) = 18.05 bits.
        let mut last = 0f64;
        let mut gap = |at: u64| {
            let random = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
            last += -(1.0 - random).ln() * 1e5;
            last as i64
        };
        let values: Vec<i64> = (1..=1024).map(&mut gap).collect();
        let mut bytes = vec![];
        encode(&values, &mut bytes);
        assert!((bytes.len() * 8) as f64 / 1024.0 < 18.75, "{}", bytes.len());
    }

    #[test]
    fn too_many_and_too_few_are_damage() {
        let mut bytes = vec![];
        encode(&[1, 2, 3, 400], &mut bytes);
        let error = |bytes: &[u8], count: usize| {
            decode(&mut Input::new(bytes), (1, 0), &mut vec![0u64; count]).unwrap_err().what
        };
        assert_eq!(error(&bytes, 3), "more than 3 ascending numbers");
        let mut fewer = bytes.clone();
        *fewer.last_mut().unwrap() = 0;
        assert_eq!(error(&fewer, 4), "3 of 4 ascending numbers");
        bytes[0] = 64;
        assert_eq!(error(&bytes, 4), "ascending numbers of 64 lower bits");
    }
}
