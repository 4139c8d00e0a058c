// SPDX-License-Identifier: Apache-2.0
//! Products of DECIMALs that have more digits behind the point than are kept, rounded, halves away from zero.

use datafusion::arrow::array::{Array, Decimal128Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::i256;

/// Digits that a product may have.
const DIGITS: u32 = 38;

/// `left * right / 10^dropped` for each pair of unscaled values, NULL where either is; `None` if a product has more than 38 digits. Both arrays have
/// one length; the answer's type is Arrow's default DECIMAL, its caller gives it a precision and a scale.
pub fn products(left: &Decimal128Array, right: &Decimal128Array, dropped: u32) -> Option<Decimal128Array> {
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let divisor = i256::from_i128(10).wrapping_pow(dropped);
    let pairs = left.values().iter().zip(right.values()).enumerate();
    let product = |(at, (&left, &right)): (usize, (&i128, &i128))| match &nulls {
        Some(nulls) if nulls.is_null(at) => Some(0),
        _ => product(left, right, divisor),
    };
    let values: Vec<i128> = pairs.map(product).collect::<Option<_>>()?;
    Some(Decimal128Array::new(values.into(), nulls))
}

/// The product without its last digits. 256 bits hold that of any two numbers of 128.
fn product(left: i128, right: i128, divisor: i256) -> Option<i128> {
    let exact = i256::from_i128(left).wrapping_mul(i256::from_i128(right));
    let (whole, rest) = (exact.checked_div(divisor)?, exact.checked_rem(divisor)?);
    let up = rest.wrapping_abs().checked_add(rest.wrapping_abs())? >= divisor;
    let sign = if exact.is_negative() { i256::MINUS_ONE } else { i256::ONE };
    let rounded = if up { whole.checked_add(sign)? } else { whole };
    rounded.to_i128().filter(|value| value.unsigned_abs() < 10_u128.pow(DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(left: i128, right: i128, dropped: u32) -> Option<i128> {
        product(left, right, i256::from_i128(10).wrapping_pow(dropped))
    }

    #[test]
    fn products_are_rounded_away_from_zero() {
        assert_eq!([of(12, 12, 2), of(5, 30, 2), of(7, 7, 2)], [Some(1), Some(2), Some(0)]);
        assert_eq!([of(-5, 30, 2), of(5, -30, 2), of(-5, -30, 2)], [Some(-2), Some(-2), Some(2)]);
        assert_eq!(of(0, -3, 40), Some(0));
    }

    #[test]
    fn products_have_38_digits_at_most() {
        let largest = 10_i128.pow(38) - 1;
        assert_eq!(of(largest, 10, 1), Some(largest));
        assert_eq!(of(largest, 11, 1), None);
        // 128 bits hold more than 38 digits.
        assert_eq!(of(11, 10_i128.pow(37), 0), None);
        assert_eq!(of(largest, largest, 39), Some(10_i128.pow(37)));
        assert_eq!(of(largest, largest, 0), None);
    }

    #[test]
    fn nulls_are_not_multiplied() {
        let left = Decimal128Array::from(vec![Some(25), None, Some(i128::MAX)]);
        let right = Decimal128Array::from(vec![Some(10), Some(i128::MAX), None]);
        let found = products(&left, &right, 2).expect("the product is short");
        assert_eq!(found.iter().collect::<Vec<_>>(), [Some(3), None, None]);
    }
}
