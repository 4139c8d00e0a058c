// SPDX-License-Identifier: Apache-2.0
//! Decimal numbers of any size as HBase's clients store them, compared by what they are worth.
//!
//! ```text
//! scale: i32, big-endian | digits: a two's complement number, big-endian, one byte at least
//! 00 00 00 02            | 04 d2                                                             12.34
//! ff ff ff ff            | 85                                                                -1230
//! ```
//!
//! The number is `digits / 10^scale`: 1.0 and 1.00 are equal, though their bytes differ.

use std::cmp::Ordering;

/// Bytes of a number, at most: about 2,400 digits. The time to read one grows with the square of its length.
pub(super) const LEN_MAX: usize = 1 << 10;
/// What digits are split by: the largest power of ten of 32 bits.
const CHUNK: u64 = 1_000_000_000;
const CHUNK_DIGITS: usize = 9;

/// A number, ready to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// Decimal digits, the first one not 0; none if the number is 0.
    digits: Vec<u8>,
    /// Digits before the point; below 0 there are zeros behind the point instead.
    exponent: i64,
}

impl Decimal {
    /// `None` if it is no number: fewer than five bytes, or more than [`LEN_MAX`].
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (scale, number) = bytes.split_first_chunk::<4>()?;
        if number.is_empty() || bytes.len() > LEN_MAX {
            return None;
        }
        let negative = number[0] & 0x80 != 0;
        let digits = decimal_digits(magnitude(number, negative));
        let exponent = digits.len() as i64 - i64::from(i32::from_be_bytes(*scale));
        Some(Self { negative, digits, exponent })
    }

    /// -1, 0 or 1.
    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let size =
            || self.exponent.cmp(&other.exponent).then_with(|| compare_digits(&self.digits, &other.digits));
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            0 => Ordering::Equal,
            1 => size(),
            _ => size().reverse(),
        })
    }
}

/// What a two's complement number is without its sign: 32 bits each, the lowest first.
fn magnitude(number: &[u8], negative: bool) -> Vec<u32> {
    let fill = if negative { 0xff } else { 0 };
    let mut carry = negative;
    let mut limbs = Vec::with_capacity(number.len() / 4 + 1);
    for bytes in number.rchunks(4) {
        let mut limb = [fill; 4];
        limb[4 - bytes.len()..].copy_from_slice(bytes);
        let mut limb = u32::from_be_bytes(limb);
        if negative {
            (limb, carry) = (!limb).overflowing_add(u32::from(carry));
        }
        limbs.push(limb);
    }
    if carry && negative {
        limbs.push(1);
    }
    limbs
}

/// The decimal digits of a number, which is used up.
fn decimal_digits(mut limbs: Vec<u32>) -> Vec<u8> {
    let mut digits = Vec::new();
    while let Some(last) = limbs.iter().rposition(|&limb| limb != 0) {
        limbs.truncate(last + 1);
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 32 | u64::from(*limb);
            *limb = (value / CHUNK) as u32;
            rest = value % CHUNK;
        }
        for _ in 0..CHUNK_DIGITS {
            digits.push((rest % 10) as u8);
            rest /= 10;
        }
    }
    let len = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
    digits.truncate(len);
    digits.reverse();
    digits
}

/// Digits behind the same point; those that are missing at the end are zeros.
fn compare_digits(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    let more = |digits: &[u8]| digits[common..].iter().any(|&digit| digit != 0);
    a[..common].cmp(&b[..common]).then_with(|| more(a).cmp(&more(b)))
}

#[cfg(test)]
mod tests;
