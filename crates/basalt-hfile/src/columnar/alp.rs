// SPDX-License-Identifier: Apache-2.0
//! The two schemes for floats, from "ALP: Adaptive Lossless floating-Point Compression" (Afroozeh, Kuffo, Boncz,
//! SIGMOD 2024).
//!
//! **ALP**, for floats that were decimals once: `value * 10^e / 10^f` is an integer which gives the very same float
//! back. One pair (e, f) per section; what does not come back is an exception.
//!
//! ```text
//! ALP     frame of the integers | u16 exceptions | u16 position of each | i64 number of each
//! ```
//!
//! **Split** (the paper's ALP-RD), for all others: sign, exponent and the first bits of the mantissa take few
//! values, the rest is noise. The left part becomes a code of up to three bits, the right part is packed as it is.
//! It works on any numbers whose high bits repeat.
//!
//! ```text
//! split   packed codes | packed right parts | u16 exceptions | u16 position of each | i64 number of each
//! ```
//!
//! Floats come and go as numbers that sort as they do ([`sortable_32`], [`sortable_64`]).

use super::VECTOR;
use super::bitpack::{bits, pack, packed_len};
use super::frame::{self, Lane, read_patches, write_patches};
use super::input::Input;
use super::mask::Mask;
use crate::error::Damage;

/// The bits of a 32-bit float as a number that sorts as floats do (-NaN, -inf, …, -0, 0, …, inf, NaN). Its own
/// inverse.
#[inline(always)]
pub(super) fn sortable_32(bits: u32) -> u32 {
    bits ^ ((bits as i32 >> 31) as u32 >> 1)
}

/// As [`sortable_32`], for 64 bits.
#[inline(always)]
pub(super) fn sortable_64(bits: u64) -> u64 {
    bits ^ ((bits as i64 >> 63) as u64 >> 1)
}

const EXPONENTS: usize = 19;

const TENS: [f64; EXPONENTS] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];
const TENTHS: [f64; EXPONENTS] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
    1e-16, 1e-17, 1e-18,
];
/// Integers beyond this are not tried: they save nothing.
const INTEGER_MAX: f64 = (1u64 << 51) as f64;

/// How floats of a section become integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alp {
    exponent: u8,
    factor: u8,
    /// 32-bit floats, computed in 64 bits.
    single: bool,
}

impl Alp {
    /// The pair that serves a sample best, if it serves at all.
    pub(super) fn choose(sample: &[i64], single: bool) -> Option<Self> {
        let step = sample.len().div_ceil(256).max(1);
        let sample: Vec<i64> = sample.iter().copied().step_by(step).collect();
        let mut best: Option<(usize, Self)> = None;
        for exponent in 0..EXPONENTS as u8 {
            for factor in 0..=exponent {
                let alp = Self { exponent, factor, single };
                let cost = alp.cost(&sample);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, alp));
                }
            }
        }
        let plain = sample.len() * if single { 32 } else { 64 };
        best.filter(|(cost, _)| *cost < plain).map(|(_, alp)| alp)
    }

    fn cost(self, sample: &[i64]) -> usize {
        let (mut min, mut max, mut exceptions) = (i64::MAX, i64::MIN, 0);
        for &value in sample {
            match self.integer(value) {
                Some(integer) => (min, max) = (min.min(integer), max.max(integer)),
                None => exceptions += 1,
            }
        }
        let width = if min > max { 0 } else { bits(max.abs_diff(min)) as usize };
        sample.len() * width + exceptions * 80
    }

    /// The integer that gives the float back, bit by bit.
    #[inline]
    fn integer(self, value: i64) -> Option<i64> {
        let float = match self.single {
            true => f64::from(f32::from_bits(sortable_32(value as u32))),
            false => f64::from_bits(sortable_64(value as u64)),
        };
        let scaled = float * TENS[usize::from(self.exponent)] * TENTHS[usize::from(self.factor)];
        if scaled.is_nan() || scaled.abs() >= INTEGER_MAX {
            return None;
        }
        let integer = scaled.round() as i64;
        (self.float(integer) == value).then_some(integer)
    }

    /// The sortable number of the float of an integer.
    #[inline(always)]
    fn float(self, integer: i64) -> i64 {
        let float = integer as f64 * TENS[usize::from(self.factor)] * TENTHS[usize::from(self.exponent)];
        match self.single {
            true => i64::from(sortable_32((float as f32).to_bits()) as i32),
            false => sortable_64(float.to_bits()) as i64,
        }
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.exponent, self.factor, u8::from(self.single)]);
    }

    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, Damage> {
        let (exponent, factor, single) = (input.u8()?, input.u8()?, input.u8()?);
        if usize::from(exponent) >= EXPONENTS || factor > exponent || single > 1 {
            return Err(input.damage(format!("powers of ten {exponent} and {factor}, {single}")));
        }
        Ok(Self { exponent, factor, single: single == 1 })
    }

    pub(super) fn encode(self, values: &[i64], out: &mut Vec<u8>) {
        let mut integers = Vec::with_capacity(values.len());
        let (mut positions, mut exceptions) = (Vec::new(), Vec::new());
        let mut filler = values.iter().find_map(|&value| self.integer(value)).unwrap_or(0);
        for (position, &value) in values.iter().enumerate() {
            match self.integer(value) {
                Some(integer) => filler = integer,
                None => {
                    positions.push(position as u16);
                    exceptions.push(value);
                }
            }
            integers.push(filler);
        }
        frame::encode(&integers, out);
        out.extend_from_slice(&(exceptions.len() as u16).to_le_bytes());
        write_patches(&positions, &exceptions, out);
    }

    pub(super) fn decode<T: Lane>(self, input: &mut Input<'_>, out: &mut [T]) -> Result<(), Damage> {
        let mut integers = vec![0u64; out.len()];
        frame::decode(input, 1, 0, &mut integers)?;
        for (to, integer) in out.iter_mut().zip(integers) {
            *to = T::of(self.float(integer as i64));
        }
        let exceptions = input.u16()?;
        read_patches(input, exceptions, out, T::of)
    }

    /// Of a vector of `count` floats those within one of some ranges of their sortable numbers, both ends inclusive. Their integers are
    /// compared, since a greater integer is never a lesser float. `None` if these have to be decoded for that.
    pub(super) fn within(
        self,
        input: &mut Input<'_>,
        count: usize,
        ranges: &[(i64, i64)],
    ) -> Result<Option<Mask>, Damage> {
        let of_integers = |&(low, high): &(i64, i64)| {
            let behind = high.checked_add(1).and_then(|behind| self.first_from(behind));
            Some((self.first_from(low)?, behind.map_or(Some(i64::MAX), |first| first.checked_sub(1))?))
        };
        let integers: Vec<(i64, i64)> = ranges.iter().filter_map(of_integers).collect();
        let Some(mut mask) = frame::within(input, (1, 0), count, &integers)? else { return Ok(None) };
        let exceptions = input.u16()?;
        frame::within_patches(input, exceptions, count, &mut mask, |number| {
            ranges.iter().any(|&(low, high)| (low..=high).contains(&number))
        })?;
        Ok(Some(mask))
    }

    /// The least integer whose float is not below the one of a sortable number; `None` if there is none.
    fn first_from(self, sortable: i64) -> Option<i64> {
        let (mut below, mut from) = (i64::MIN, i64::MAX);
        if self.float(from) < sortable {
            return None;
        }
        if self.float(below) >= sortable {
            return Some(below);
        }
        while from.abs_diff(below) > 1 {
            let middle = below.midpoint(from);
            match self.float(middle) < sortable {
                true => below = middle,
                false => from = middle,
            }
        }
        Some(from)
    }
}

/// Most left parts that a section has codes for.
const LEFT_MAX: usize = 8;

/// Where numbers are split, and their usual left parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Split {
    right_bits: u32,
    left: Vec<i64>,
}

impl Split {
    /// The split that serves a sample best. `value_bits` is 32 or 64.
    pub(super) fn choose(sample: &[i64], value_bits: u32) -> Option<Self> {
        let mut sorted = sample.to_vec();
        sorted.sort_unstable();
        let mut best: Option<(usize, Self)> = None;
        for right_bits in value_bits - 16..value_bits {
            let left = usual_left_parts(&sorted, right_bits);
            let covered: usize = left.iter().map(|(count, _)| count).sum();
            let split = Self { right_bits, left: left.into_iter().map(|(_, value)| value).collect() };
            let cost =
                sorted.len() * (split.code_bits() + right_bits) as usize + (sorted.len() - covered) * 80;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, split));
            }
        }
        best.map(|(_, split)| split)
    }

    fn code_bits(&self) -> u32 {
        bits(self.left.len() as u64 - 1)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.right_bits as u8, self.left.len() as u8]);
        out.extend(self.left.iter().flat_map(|value| value.to_le_bytes()));
    }

    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, Damage> {
        let (right_bits, count) = (u32::from(input.u8()?), usize::from(input.u8()?));
        if !(1..=63).contains(&right_bits) || !(1..=LEFT_MAX).contains(&count) {
            return Err(input.damage(format!("{count} left parts before {right_bits} bits")));
        }
        let left = (0..count).map(|_| input.i64()).collect::<Result<_, _>>()?;
        Ok(Self { right_bits, left })
    }

    pub(super) fn encode(&self, values: &[i64], out: &mut Vec<u8>) {
        let mask = (1u64 << self.right_bits) - 1;
        let (mut codes, mut rights) = (Vec::with_capacity(values.len()), Vec::with_capacity(values.len()));
        let (mut positions, mut exceptions) = (Vec::new(), Vec::new());
        for (position, &value) in values.iter().enumerate() {
            let code = self.left.iter().position(|&left| left == value >> self.right_bits);
            if code.is_none() {
                positions.push(position as u16);
                exceptions.push(value);
            }
            codes.push(code.unwrap_or(0) as u64);
            rights.push(value as u64 & mask);
        }
        pack(&codes, self.code_bits(), out);
        pack(&rights, self.right_bits, out);
        out.extend_from_slice(&(exceptions.len() as u16).to_le_bytes());
        write_patches(&positions, &exceptions, out);
    }

    pub(super) fn decode<T: Lane>(&self, input: &mut Input<'_>, out: &mut [T]) -> Result<(), Damage> {
        let mut left = [T::default(); LEFT_MAX];
        for (to, &value) in left.iter_mut().zip(&self.left) {
            *to = T::of(value << self.right_bits);
        }
        let (mut of_vector, mut of_more) = ([0u32; VECTOR], Vec::new());
        let codes = if out.len() <= VECTOR {
            &mut of_vector[..out.len()]
        } else {
            of_more.resize(out.len(), 0);
            &mut of_more[..]
        };
        u32::unpack(input.take(packed_len(out.len(), self.code_bits()))?, self.code_bits(), 0, codes);
        T::unpack(input.take(packed_len(out.len(), self.right_bits))?, self.right_bits, T::default(), out);
        T::add_looked_up(&left, codes, out);
        let exceptions = input.u16()?;
        read_patches(input, exceptions, out, T::of)
    }
}

/// The most frequent left parts of sorted numbers, with how often each occurs.
fn usual_left_parts(sorted: &[i64], right_bits: u32) -> Vec<(usize, i64)> {
    let mut counts: Vec<(usize, i64)> = Vec::new();
    for &value in sorted {
        let left = value >> right_bits;
        match counts.last_mut() {
            Some((count, last)) if *last == left => *count += 1,
            _ => counts.push((1, left)),
        }
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.truncate(LEFT_MAX);
    counts
}

#[cfg(test)]
mod tests;
