// SPDX-License-Identifier: Apache-2.0
//! Frame of reference with patches: integers as their distance from a base, in as few bits as most of them need;
//! the others are listed. The form in which all other schemes keep their numbers.
//!
//! ```text
//! u8 width | u8 0 | u16 patches | i64 base | packed distances | u16 position of each patch | i64 value of each
//! ```
//!
//! The base need not be the smallest value: where the outliers are small, they are the patches. Random floats in
//! 0..1 have a quarter of a percent of them below 2^-8, which makes 26 bits of 30.
//!
//! ```text
//! 100, 101, 102    02 00 0000 6400000000000000 24
//! ```

use super::VECTOR;
use super::bitpack::{bits, pack, packed_len, unpack_32, unpack_64, vector_within};
use super::input::Input;
use super::mask::Mask;
use super::processor;
use crate::error::Damage;

/// Bits that a patch takes.
const PATCH_BITS: usize = 16 + 64;

/// Integers as the two's complement that a decoder fills: 32 bits where all values fit, else 64.
pub(super) trait Lane: Copy + Default + Send + Sync + 'static {
    fn of(value: i64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn to_i64(self) -> i64;
    /// Unpacks numbers of `width` bits and adds `base` to each; what does not fit the lane is cut off.
    fn unpack(bytes: &[u8], width: u32, base: Self, out: &mut [Self]);
    /// Adds to each number that of `table` whose place is the lower three bits of its code.
    fn add_looked_up(table: &[Self; 8], codes: &[u32], numbers: &mut [Self]);
}

impl Lane for u32 {
    #[inline(always)]
    fn of(value: i64) -> Self {
        value as u32
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self as i32)
    }
    fn unpack(bytes: &[u8], width: u32, base: Self, out: &mut [Self]) {
        if width <= 32 {
            return unpack_32(bytes, width, base, out);
        }
        // Only a damaged or hostile section packs 32-bit values so wide.
        let mut wide = vec![0; out.len()];
        unpack_64(bytes, width, base.into(), &mut wide);
        for (to, from) in out.iter_mut().zip(wide) {
            *to = from as u32;
        }
    }
    #[inline(always)]
    fn add_looked_up(table: &[Self; 8], codes: &[u32], numbers: &mut [Self]) {
        processor::add_looked_up(table, codes, numbers);
    }
}

impl Lane for u64 {
    #[inline(always)]
    fn of(value: i64) -> Self {
        value as u64
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        self as i64
    }
    fn unpack(bytes: &[u8], width: u32, base: Self, out: &mut [Self]) {
        unpack_64(bytes, width, base, out);
    }
    #[inline(always)]
    fn add_looked_up(table: &[Self; 8], codes: &[u32], numbers: &mut [Self]) {
        for (number, code) in numbers.iter_mut().zip(codes) {
            *number = number.wrapping_add(table[(code % 8) as usize]);
        }
    }
}

/// Base and width of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    base: i64,
    width: u32,
}

/// Values that are looked at to find where most of them lie.
const SAMPLE: usize = 64;

impl Plan {
    /// The cheapest frame: the base at the smallest value, so that the largest has all bits set, or so that the
    /// outliers of a sample on both sides are left out.
    fn of(values: &[i64]) -> Self {
        let (Some(&min), Some(&max)) = (values.iter().min(), values.iter().max()) else {
            return Self { base: 0, width: 0 };
        };
        let whole = bits(max.abs_diff(min));
        let mut best = (values.len() * whole as usize, Self { base: min, width: whole });
        let mut offer = |width: u32, patches: usize, base: i64| {
            let cost = values.len() * width as usize + patches * PATCH_BITS;
            if cost < best.0 {
                best = (cost, Self { base, width });
            }
        };
        // A narrower frame leaves out at least the values that need all bits: often these alone cost more than all do.
        let half = 1u64 << whole.saturating_sub(1);
        let is_dear = |far: usize| far * PATCH_BITS >= values.len() * whole as usize;
        let far_up = values.iter().filter(|value| value.abs_diff(min) >= half).count();
        let far_down = values.iter().filter(|value| value.abs_diff(max) >= half).count();
        if !is_dear(far_up) || !is_dear(far_down) {
            let (mut up, mut down) = ([0usize; 65], [0usize; 65]);
            for &value in values {
                up[bits(value.abs_diff(min)) as usize] += 1;
                down[bits(max.abs_diff(value)) as usize] += 1;
            }
            let mut beyond = (0, 0);
            for width in (0..whole).rev() {
                beyond.0 += up[width as usize + 1];
                beyond.1 += down[width as usize + 1];
                offer(width, beyond.0, min);
                let span = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
                offer(width, beyond.1, max.wrapping_sub_unsigned(span));
            }
        }
        if let Some(base) = usual_min(values).filter(|base| *base > min) {
            let outside = |value: &&i64| **value < base || value.abs_diff(base) >= half;
            if !is_dear(values.iter().filter(outside).count()) {
                let mut up = [0usize; 65];
                let above = values.iter().filter(|value| **value >= base);
                above.for_each(|value| up[bits(value.abs_diff(base)) as usize] += 1);
                let mut beyond = values.len() - up.iter().sum::<usize>();
                for width in (0..64).rev() {
                    beyond += up[width as usize + 1];
                    offer(width, beyond, base);
                }
            }
        }
        best.1
    }
}

/// The smallest of a sample without its outliers.
fn usual_min(values: &[i64]) -> Option<i64> {
    let mut sample: Vec<i64> = values.iter().copied().step_by(values.len().div_ceil(SAMPLE).max(1)).collect();
    let place = sample.len() / 32;
    (!sample.is_empty()).then(|| *sample.select_nth_unstable(place).1)
}

/// Appends `values`, of which there are at most 65,536.
pub(super) fn encode(values: &[i64], out: &mut Vec<u8>) {
    debug_assert!(values.len() <= 1 << 16);
    let Plan { base, width } = Plan::of(values);
    let mut distances: Vec<u64> =
        values.iter().map(|&value| (value as u64).wrapping_sub(base as u64)).collect();
    let (mut positions, mut patches) = (Vec::new(), Vec::new());
    let most = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
    let is_inside = |value: i64, distance: u64| value >= base && distance <= most;
    if !values.iter().zip(&distances).all(|(&value, &distance)| is_inside(value, distance)) {
        for (position, (&value, distance)) in values.iter().zip(&mut distances).enumerate() {
            if !is_inside(value, *distance) {
                positions.push(position as u16);
                patches.push(value);
                *distance = 0;
            }
        }
    }
    // At one bit less for 80 more, no more than a fraction of the values are patches.
    debug_assert!(patches.len() <= usize::from(u16::MAX));
    out.extend_from_slice(&[width as u8, 0]);
    out.extend_from_slice(&(patches.len() as u16).to_le_bytes());
    out.extend_from_slice(&base.to_le_bytes());
    pack(&distances, width, out);
    write_patches(&positions, &patches, out);
}

/// Takes a frame of `out.len()` values off the input; each is `unit` times the stored one and `rest` more.
pub(super) fn decode<T: Lane>(
    input: &mut Input<'_>,
    unit: i64,
    rest: i64,
    out: &mut [T],
) -> Result<(), Damage> {
    let (width, zero) = (u32::from(input.u8()?), input.u8()?);
    if width > 64 || zero != 0 {
        return Err(input.damage(format!("a frame of {width} bits")));
    }
    let patches = input.u16()?;
    let base = T::of(input.i64()?);
    let packed = input.take(packed_len(out.len(), width))?;
    let (unit, rest) = (T::of(unit), T::of(rest));
    if unit.to_i64() == 1 {
        T::unpack(packed, width, base.plus(rest), out);
    } else {
        T::unpack(packed, width, T::default(), out);
        let base = base.times(unit).plus(rest);
        for value in &mut *out {
            *value = value.times(unit).plus(base);
        }
    }
    read_patches(input, patches, out, |value| T::of(value).times(unit).plus(rest))
}

/// Of a frame of `count` values, at most a vector of them, those within one of some ranges: numbers as [`decode`] gives them,
/// both ends inclusive. They are compared as they are packed. `None` if the frame is of a kind that has to be decoded.
pub(super) fn within(
    input: &mut Input<'_>,
    (unit, rest): (i64, i64),
    count: usize,
    ranges: &[(i64, i64)],
) -> Result<Option<Mask>, Damage> {
    let (width, zero) = (u32::from(input.u8()?), input.u8()?);
    let patches = input.u16()?;
    let base = input.i64()?;
    if width > 32 || zero != 0 || unit < 1 || count > VECTOR {
        return Ok(None);
    }
    let packed = input.take(packed_len(count, width))?;
    let span_max = if width == 0 { 0 } else { i128::from(u32::MAX >> (32 - width)) };
    let (unit, rest, base) = (i128::from(unit), i128::from(rest), i128::from(base));
    let mut numbers = None;
    let mut mask = Mask::NONE;
    for &(low, high) in ranges {
        // The first number whose multiple is not below the range, and the last whose is not above it.
        let low = ((i128::from(low) - rest + unit - 1).div_euclid(unit) - base).max(0);
        let high = ((i128::from(high) - rest).div_euclid(unit) - base).min(span_max);
        if low > high {
            continue;
        }
        let (low, high) = (low as u32, high as u32);
        let found = match ranges {
            [_] if count == VECTOR && width > 0 => vector_within(packed, width, low..=high),
            _ => {
                let numbers = numbers.get_or_insert_with(|| {
                    let mut numbers = [0u32; VECTOR];
                    unpack_32(packed, width, 0, &mut numbers[..count]);
                    numbers
                });
                Mask::of_tests(count, |at| numbers[at].wrapping_sub(low) <= high - low)
            }
        };
        mask = mask.or(found);
    }
    within_patches(input, patches, count, &mut mask, |value| {
        let value = i128::from(value) * unit + rest;
        ranges.iter().any(|&(low, high)| (low.into()..=high.into()).contains(&value))
    })?;
    Ok(Some(mask))
}

/// Takes positions and values off the input, and sets those positions of a vector of `count` values whose value passes.
pub(super) fn within_patches(
    input: &mut Input<'_>,
    patches: u16,
    count: usize,
    mask: &mut Mask,
    passes: impl Fn(i64) -> bool,
) -> Result<(), Damage> {
    let positions = input.take(2 * usize::from(patches))?;
    let values = input.take(8 * usize::from(patches))?;
    for (position, value) in positions.as_chunks().0.iter().zip(values.as_chunks().0) {
        let position = usize::from(u16::from_le_bytes(*position));
        if position >= count {
            return Err(input.damage(format!("a patch at {position} of {count} values")));
        }
        mask.set(position, passes(i64::from_le_bytes(*value)));
    }
    Ok(())
}

/// Appends positions and values.
pub(super) fn write_patches(positions: &[u16], values: &[i64], out: &mut Vec<u8>) {
    out.extend(positions.iter().flat_map(|position| position.to_le_bytes()));
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Takes positions and values off the input and puts the values where they belong.
pub(super) fn read_patches<T: Lane>(
    input: &mut Input<'_>,
    count: u16,
    out: &mut [T],
    make: impl Fn(i64) -> T,
) -> Result<(), Damage> {
    let positions = input.take(2 * usize::from(count))?;
    let values = input.take(8 * usize::from(count))?;
    for (position, value) in positions.as_chunks().0.iter().zip(values.as_chunks().0) {
        let position = u16::from_le_bytes(*position);
        let len = out.len();
        let slot = out
            .get_mut(usize::from(position))
            .ok_or_else(|| input.damage(format!("a patch at {position} of {len} values")))?;
        *slot = make(i64::from_le_bytes(*value));
    }
    Ok(())
}

/// A frame of `count` numbers, none of them below 0 or above `max`: lengths, codes, counts.
pub(super) fn decode_bounded(input: &mut Input<'_>, count: usize, max: usize) -> Result<Vec<usize>, Damage> {
    let mut values = vec![0u64; count];
    decode(input, 1, 0, &mut values)?;
    match values.iter().find(|&&value| value > max as u64) {
        Some(value) => Err(input.damage(format!("a number of {value} where {max} is the most"))),
        None => Ok(values.into_iter().map(|value| value as usize).collect()),
    }
}

#[cfg(test)]
pub(super) mod tests;
