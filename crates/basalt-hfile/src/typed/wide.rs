// SPDX-License-Identifier: Apache-2.0
//! DECIMALs that declare no precision, as Arrow has them: 256 bits, with 38 digits behind the point and as many before it.
//!
//! Stored they have 38 digits in all, wherever the point is ([`basalt_model::types::decimal`]); between the two numbers lie the ones that a
//! statement computes. Of what is stored only digits behind the 38th are cut off when read.

use arrow::datatypes::i256;
use basalt_model::types::Decimal;
use basalt_model::types::decimal::{DIGITS_MAX, power_of_ten};

/// Precision and scale of a DECIMAL that declares none.
pub const DECIMAL_DEFAULT: (u8, i8) = (76, 38);

/// Powers of ten that 256 bits hold.
const POWERS: [i256; 77] = {
    let mut powers = [i256::ONE; 77];
    let mut exponent = 1;
    while exponent < 77 {
        powers[exponent] = powers[exponent - 1].wrapping_mul(i256::from_i128(10));
        exponent += 1;
    }
    powers
};

/// `10^exponent` in 256 bits, or `None` above 76.
pub fn wide_power_of_ten(exponent: u32) -> Option<i256> {
    POWERS.get(exponent as usize).copied()
}

/// The digits of a number at the scale of [`DECIMAL_DEFAULT`], cut off behind it; `None` if there are more than 38 before the point.
#[inline]
pub fn widened(number: Decimal) -> Option<i256> {
    let shift = i64::from(DECIMAL_DEFAULT.1) - i64::from(number.scale);
    if shift < 0 {
        let cut = u32::try_from(-shift).ok().and_then(power_of_ten);
        return Some(cut.map_or(i256::ZERO, |power| i256::from_i128(number.unscaled / power)));
    }
    if number.unscaled == 0 {
        return Some(i256::ZERO);
    }
    let power = wide_power_of_ten(u32::try_from(shift).ok()?)?;
    let digits = i256::from_i128(number.unscaled).checked_mul(power)?;
    (digits.wrapping_abs() < POWERS[76]).then_some(digits)
}

/// The number `digits / 10^scale` in 38 digits; more are rounded, halves away from zero, as they are when a number is stored. `None` for more
/// than 76 digits.
#[inline]
pub fn narrowed(digits: i256, scale: i32) -> Option<Decimal> {
    let all = power_of_ten(DIGITS_MAX)?;
    if let Some(short) = digits.to_i128()
        && short.unsigned_abs() < all.unsigned_abs()
    {
        return Some(Decimal::new(short, scale));
    }
    let (above, below) = halves(digits.checked_abs()?)?;
    if below == 0 {
        return Some(Decimal::new(
            if digits.is_negative() { -above } else { above },
            scale - DIGITS_MAX as i32,
        ));
    }
    // As many of the lower half go as there are above.
    let dropped = above.checked_ilog10()? + 1;
    let unit = power_of_ten(dropped)?;
    let (kept, rest) = (below / unit, below % unit);
    let up = rest >= unit - rest;
    let number = above * power_of_ten(DIGITS_MAX - dropped)? + kept + i128::from(up);
    Some(Decimal::new(if digits.is_negative() { -number } else { number }, scale - dropped as i32))
}

/// The upper and the lower 38 of at most 76 digits.
fn halves(digits: i256) -> Option<(i128, i128)> {
    let above = digits.checked_div(POWERS[38])?.to_i128()?;
    let below = digits.checked_rem(POWERS[38])?.to_i128()?;
    (above < power_of_ten(DIGITS_MAX)?).then_some((above, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str) -> i256 {
        i256::from_string(text).expect("a whole number")
    }

    fn one(zeros: usize) -> String {
        format!("1{}", "0".repeat(zeros))
    }

    #[test]
    fn what_is_stored_comes_back() {
        let largest = 10_i128.pow(38) - 1;
        let numbers = [0, 1, -1, 15, 123_456_789, largest, -largest];
        for (number, scale) in
            numbers.into_iter().flat_map(|number| [0, 1, 10, 37, 38].map(|scale| (number, scale)))
        {
            let number = Decimal::new(number, scale);
            let digits = widened(number).expect("it has no more than 38 digits before the point");
            assert_eq!(narrowed(digits, 38), Some(number), "{number}");
        }
        assert_eq!(widened(Decimal::new(12, -36)), Some(wide(&format!("12{}", "0".repeat(74)))));
        assert_eq!(widened(Decimal::new(1, -38)), None, "39 digits before the point");
        assert_eq!(widened(Decimal::new(i128::MAX, 0)), None);
        assert_eq!(widened(Decimal::new(0, i32::MIN)), Some(i256::ZERO));
        assert_eq!(widened(Decimal::new(-129, 40)), Some(wide("-1")), "cut off, not rounded");
        assert_eq!(widened(Decimal::new(9, i32::MAX)), Some(i256::ZERO));
    }

    #[test]
    fn more_than_38_digits_are_rounded() {
        let nines = "9".repeat(38);
        assert_eq!(narrowed(wide(&format!("{nines}5")), 39), Some(Decimal::new(10_i128.pow(38), 38)));
        assert_eq!(narrowed(wide(&format!("-{nines}4")), 39), Some(Decimal::new(1 - 10_i128.pow(38), 38)));
        let third = format!("-1{}49", "0".repeat(37));
        assert_eq!(narrowed(wide(&third), 38), Some(Decimal::new(-10_i128.pow(37), 36)));
        assert_eq!(narrowed(wide(&one(75)), 38), Some(Decimal::new(10_i128.pow(37), 0)));
        assert_eq!(narrowed(wide(&one(76)), 38), None);
        assert_eq!(narrowed(i256::MIN, 0), None);
        assert_eq!(narrowed(i256::MAX, 0), None);
    }
}
