// SPDX-License-Identifier: Apache-2.0
//! Digits of DECIMALs as they are stored, brought to the scale of the column that they go to.

use std::ops::Mul;

use arrow::array::NullBufferBuilder;
use arrow::datatypes::i256;
use basalt_model::types::decimal;

use super::super::super::decode::Selected;
use super::super::super::{DECIMAL_DEFAULT, wide_power_of_ten};
use super::super::Values;
use super::{copy, widened};
use crate::columnar::{Form, Place, VectorValues};

/// Copies the digits of some rows; false, and nothing done, if they take the way over their bytes: there are none, or perhaps too many.
pub(super) fn copies_decimals(
    values: &mut Values,
    (from, form): (&VectorValues, Form),
    gaps: Option<&[Place]>,
    rows: &Selected,
    nulls: &mut NullBufferBuilder,
) -> bool {
    match (values, from, form) {
        (
            Values::Decimal { values: to, precision, scale },
            VectorValues::Digits(from),
            Form::LongDecimal(stored),
        ) => {
            let factor = factor_between(stored, *scale);
            let Some(factor) = factor.filter(|factor| all_fit(from, *factor, *precision)) else {
                return false;
            };
            copy(to, from, gaps, rows, nulls, |digits| digits * factor);
        }
        (Values::WideDecimal(to), VectorValues::Digits(from), Form::LongDecimal(stored)) => {
            // At the scale that it has, a number of 38 digits and as many zeros has no more than 76.
            let Some(factor) = wide_factor(stored).filter(|_| stored >= 0) else { return false };
            copy(to, from, gaps, rows, nulls, |digits| i256::from_i128(digits).wrapping_mul(factor));
        }
        (Values::Decimal { values: to, precision, scale }, from, Form::Decimal(stored)) => {
            let factor = decimal_factor(from, stored, *precision, *scale);
            return factor.is_some_and(|factor| copy_decimals(to, from, factor, gaps, rows, nulls));
        }
        (Values::ShortDecimal { values: to, precision, scale }, from, Form::Decimal(stored)) => {
            let factor = decimal_factor(from, stored, *precision, *scale);
            let factor = factor.and_then(|factor| i64::try_from(factor).ok());
            return factor.is_some_and(|factor| copy_decimals(to, from, factor, gaps, rows, nulls));
        }
        (Values::WideDecimal(to), from, Form::Decimal(stored)) => {
            // A number has 63 bits, so 19 digits, and ten to the power of more than 57 would be too much for some.
            let factor = wide_factor(stored).filter(|_| stored >= DECIMAL_DEFAULT.1 - 57);
            return factor.is_some_and(|factor| copy_wide_decimals(to, from, factor, gaps, rows, nulls));
        }
        _ => return false,
    }
    true
}

/// Appends the digits of some rows, each times a factor; false, and nothing done, if they are none.
fn copy_decimals<T>(
    to: &mut Vec<T>,
    from: &VectorValues,
    factor: T,
    gaps: Option<&[Place]>,
    rows: &Selected,
    nulls: &mut NullBufferBuilder,
) -> bool
where
    T: Copy + Default + From<i64> + Mul<Output = T> + PartialEq,
{
    let is_one = factor == T::from(1);
    match from {
        VectorValues::Wide(from) if is_one => {
            copy(to, from, gaps, rows, nulls, |digits| T::from(digits as i64));
        }
        VectorValues::Wide(from) => {
            copy(to, from, gaps, rows, nulls, |digits| T::from(digits as i64) * factor);
        }
        VectorValues::Narrow(from) if is_one => {
            copy(to, from, gaps, rows, nulls, |digits| T::from(widened(digits)));
        }
        VectorValues::Narrow(from) => {
            copy(to, from, gaps, rows, nulls, |digits| T::from(widened(digits)) * factor);
        }
        VectorValues::Texts(_) | VectorValues::Codes(..) | VectorValues::Digits(_) => return false,
    }
    true
}

/// The same in 256 bits.
fn copy_wide_decimals(
    to: &mut Vec<i256>,
    from: &VectorValues,
    factor: i256,
    gaps: Option<&[Place]>,
    rows: &Selected,
    nulls: &mut NullBufferBuilder,
) -> bool {
    let wide = |digits: i64| i256::from_i128(digits.into()).wrapping_mul(factor);
    match from {
        VectorValues::Wide(from) => copy(to, from, gaps, rows, nulls, |digits| wide(digits as i64)),
        VectorValues::Narrow(from) => copy(to, from, gaps, rows, nulls, |digits| wide(widened(digits))),
        VectorValues::Texts(_) | VectorValues::Codes(..) | VectorValues::Digits(_) => return false,
    }
    true
}

/// What digits at one scale are multiplied with to be those at another; `None` if some would have to be cut off.
fn factor_between(stored: i8, scale: i8) -> Option<i128> {
    u32::try_from(scale.saturating_sub(stored)).ok().and_then(decimal::power_of_ten)
}

/// The same for DECIMALs without declared precision.
fn wide_factor(stored: i8) -> Option<i256> {
    u32::try_from(DECIMAL_DEFAULT.1.saturating_sub(stored)).ok().and_then(wide_power_of_ten)
}

/// True if each of these numbers, times the factor, has no more digits than `precision`.
fn all_fit(digits: &[i128], factor: i128, precision: u8) -> bool {
    let most = digits.iter().map(|digits| digits.unsigned_abs()).max().unwrap_or(0);
    let limit = decimal::power_of_ten(precision.into()).map(i128::unsigned_abs);
    let most = most.checked_mul(factor.unsigned_abs());
    most.zip(limit).is_some_and(|(most, limit)| most < limit)
}

/// What stored digits are multiplied with to have `scale` digits behind the point; `None` if some of them may then be
/// more than `precision`, or digits would have to be cut off.
fn decimal_factor(digits: &VectorValues, stored: i8, precision: u8, scale: i8) -> Option<i128> {
    let (factor, limit) = (factor_between(stored, scale)?, decimal::power_of_ten(precision.into())?);
    let fits = |most: i128| most.checked_mul(factor).is_some_and(|most| most < limit);
    if matches!(digits, VectorValues::Narrow(_)) && fits(1 << 31) {
        return Some(factor);
    }
    // All bits that a number or its complement has are those of a number that none is above.
    let bits = match digits {
        VectorValues::Narrow(digits) => {
            digits.iter().fold(0, |bits, &n| bits | n ^ (n as i32 >> 31) as u32).into()
        }
        VectorValues::Wide(digits) => digits.iter().fold(0, |bits, &n| bits | n ^ (n as i64 >> 63) as u64),
        VectorValues::Texts(_) | VectorValues::Codes(..) | VectorValues::Digits(_) => return None,
    };
    if fits(1i128 << (64 - u64::leading_zeros(bits))) {
        return Some(factor);
    }
    let most = match digits {
        VectorValues::Narrow(digits) => digits.iter().map(|&n| widened(n).unsigned_abs()).max(),
        VectorValues::Wide(digits) => digits.iter().map(|&n| (n as i64).unsigned_abs()).max(),
        VectorValues::Texts(_) | VectorValues::Codes(..) | VectorValues::Digits(_) => None,
    };
    let most = i128::from(most.unwrap_or(0)).checked_mul(factor)?;
    (most < limit).then_some(factor)
}
