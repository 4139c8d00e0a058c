// SPDX-License-Identifier: Apache-2.0
//! DECIMALs of which some have more digits than 64 bits hold: each vector's as what they are more than its least one, the upper and
//! the lower 64 bits of that in a frame each. Digits are kept at the least scale at which none is lost.

use basalt_model::types::{Decimal, decimal};

use super::super::form::{decimal_scale, long_digits};
use super::super::frame;
use super::super::input::Input;
use super::super::strings::{StringList, Strings};
use crate::error::Damage;

/// The scale of a section's digits.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Decimals {
    scale: i8,
}

impl Decimals {
    /// For these vectors, whose values all have digits at the scale of their form.
    pub(super) fn of(vectors: &[&StringList], form_scale: i8) -> Self {
        Self { scale: decimal_scale(vectors.iter().flat_map(|vector| vector.iter())).min(form_scale) }
    }

    pub(super) fn write_params(&self, out: &mut Vec<u8>) {
        out.push(self.scale as u8);
    }

    pub(super) fn read_params(input: &mut Input<'_>) -> Result<Self, Damage> {
        let scale = input.u8()? as i8;
        match u32::from(scale.unsigned_abs()) <= decimal::DIGITS_MAX {
            true => Ok(Self { scale }),
            false => Err(input.damage(format!("DECIMALs of scale {scale}"))),
        }
    }

    /// Appends a vector.
    pub(super) fn encode(&self, strings: &StringList, out: &mut Vec<u8>) {
        let digits = |string| long_digits(string, self.scale).expect("chosen for strings like these");
        let digits: Vec<i128> = strings.iter().map(digits).collect();
        let base = digits.iter().copied().min().unwrap_or(0);
        // Of less than 2 * 10^38, which 128 bits hold.
        let distances = || digits.iter().map(|digits| digits.wrapping_sub(base) as u128);
        out.extend_from_slice(&base.to_le_bytes());
        frame::encode(&distances().map(|distance| (distance >> 64) as i64).collect::<Vec<_>>(), out);
        frame::encode(&distances().map(|distance| distance as i64).collect::<Vec<_>>(), out);
    }

    /// The digits at `scale` of a vector of `count` numbers, which `bytes` is all of.
    pub(in super::super) fn digits_at(
        &self,
        scale: i8,
        bytes: &[u8],
        count: usize,
    ) -> Result<Vec<i128>, Damage> {
        let mut input = Input::new(bytes);
        let base = i128::from_le_bytes(*input.take(16)?.first_chunk().expect("as many were taken"));
        let (mut high, mut low) = (vec![0u64; count], vec![0u64; count]);
        frame::decode(&mut input, 1, 0, &mut high)?;
        frame::decode(&mut input, 1, 0, &mut low)?;
        let zeros = u32::try_from(i16::from(scale) - i16::from(self.scale)).ok();
        let factor = zeros.and_then(decimal::power_of_ten);
        let end = decimal::power_of_ten(decimal::DIGITS_MAX).expect("it has that power");
        let number = |(high, low): (u64, u64)| {
            let distance = u128::from(high) << 64 | u128::from(low);
            let digits = base.wrapping_add(distance as i128).checked_mul(factor?)?;
            (-end < digits && digits < end).then_some(digits)
        };
        let numbers: Option<Vec<i128>> = high.into_iter().zip(low).map(number).collect();
        let what =
            || format!("a DECIMAL that has no 38 digits at scale {scale}, of digits at scale {}", self.scale);
        let numbers = numbers.ok_or_else(|| input.damage(what()))?;
        input.finish()?;
        Ok(numbers)
    }

    /// Decodes a vector of `count` strings, which `bytes` is all of; they may come to `bytes_max`.
    pub(super) fn decode(&self, bytes: &[u8], count: usize, bytes_max: usize) -> Result<Strings, Damage> {
        let (mut plain, mut lengths) = (Vec::new(), Vec::with_capacity(count));
        for digits in self.digits_at(self.scale, bytes, count)? {
            let from = plain.len();
            decimal::encode(Decimal::new(digits, self.scale.into()), &mut plain)
                .map_err(|_| Damage::new(0, "a number that no DECIMAL holds"))?;
            if plain.len() > bytes_max {
                return Err(Damage::new(0, format!("strings of more than {bytes_max} bytes")));
            }
            lengths.push(plain.len() - from);
        }
        Ok(Strings::back_to_back(plain.into(), 0, &lengths).expect("as many bytes as the strings have"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(numbers: &[i128], scale: i8) -> StringList {
        let encoded = |&digits: &i128| {
            let mut bytes = Vec::new();
            decimal::encode(Decimal::new(digits, scale.into()), &mut bytes).unwrap();
            bytes
        };
        let encoded: Vec<Vec<u8>> = numbers.iter().map(encoded).collect();
        encoded.iter().map(Vec::as_slice).collect()
    }

    const MOST: i128 = 10i128.pow(38) - 1;

    #[test]
    fn digits_are_kept_at_the_least_scale() {
        let strings = list(&[12_500_000_000_000_000_000_000, -500, 0], 4);
        let decimals = Decimals::of(&[&strings], 4);
        assert_eq!(decimals, Decimals { scale: 2 });
        let mut bytes = Vec::new();
        decimals.encode(&strings, &mut bytes);
        assert_eq!(decimals.digits_at(4, &bytes, 3).unwrap(), [12_500_000_000_000_000_000_000, -500, 0]);
        // A scale that would cut digits off, and one at which there would be too many.
        assert!(decimals.digits_at(1, &bytes, 3).is_err());
        assert!(decimals.digits_at(38, &bytes, 3).is_err());
        assert!(decimals.decode(&bytes, 3, 5).is_err());
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            numbers in proptest::collection::vec(-MOST..=MOST, 0..200),
            shift in 0u32..100,
            scale in 0i8..=38,
        ) {
            let numbers: Vec<i128> = numbers.iter().map(|number| number >> shift).collect();
            let strings = list(&numbers, scale);
            let decimals = Decimals::of(&[&strings], scale);
            let mut bytes = Vec::new();
            decimals.encode(&strings, &mut bytes);
            prop_assert_eq!(decimals.digits_at(scale, &bytes, numbers.len()).unwrap(), numbers);
            let decoded = decimals.decode(&bytes, strings.len(), 1 << 16).unwrap();
            prop_assert!(strings.iter().enumerate().all(|(at, string)| decoded.get(at) == string));
        }
    }
}
