// SPDX-License-Identifier: Apache-2.0
//! How the bytes of a value become an integer, and back to the very same bytes.
//!
//! | form | argument | bytes | integer |
//! |---|---|---|---|
//! | 0 bytes | | any | none: stored as strings |
//! | 1 unsigned | width, 1 to 8 | big-endian | the number; of 8 bytes as two's complement |
//! | 2 signed | width, 1 to 8 | big-endian, sign bit flipped | the number |
//! | 3 float | 4 or 8 | FLOAT, DOUBLE | the float's sortable form |
//! | 4 raw float | 4 or 8 | UNSIGNED_FLOAT, UNSIGNED_DOUBLE | the float's sortable form |
//! | 5 decimal | scale, -38 to 38 | DECIMAL | the digits at that scale |
//! | 6 timestamp | | TIMESTAMP | nanoseconds since the epoch |
//! | 7 unsigned timestamp | | UNSIGNED_TIMESTAMP | the same |
//! | 8 long decimal | scale, -38 to 38 | DECIMAL | none: stored as strings, each of which has at most 38 digits at that scale |
//!
//! The bytes are those of `basalt_model::types`. A value that its form would write otherwise (a DECIMAL with more
//! digits, a denormal TIMESTAMP, a value of another width) has no integer, and its section no form but those of strings.

use basalt_model::SqlType;
use basalt_model::types::{Decimal, decimal, number};

use super::alp::{sortable_32, sortable_64};
use super::input::Input;
use super::ints::Nature;
use crate::error::Damage;

/// Digits that always fit an `i64`.
const SHORT_DIGITS_MAX: u32 = 18;

/// See the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Strings.
    Bytes,
    /// Big-endian numbers of this many bytes.
    Unsigned(u8),
    /// Big-endian numbers of this many bytes with the sign bit flipped.
    Signed(u8),
    /// FLOAT or DOUBLE, by width.
    Float(u8),
    /// UNSIGNED_FLOAT or UNSIGNED_DOUBLE, by width.
    RawFloat(u8),
    /// DECIMAL at this scale.
    Decimal(i8),
    /// TIMESTAMP.
    Timestamp,
    /// UNSIGNED_TIMESTAMP.
    UnsignedTimestamp,
    /// Strings that are DECIMALs as they are usually written, of up to 38 digits at this scale.
    LongDecimal(i8),
}

impl Form {
    /// The form of a type's values. That of a DECIMAL without scale depends on the values: `decimal_scale`.
    pub(crate) fn of(sql_type: SqlType, decimal_scale: impl FnOnce() -> i8) -> Self {
        use SqlType::*;
        match sql_type {
            TinyInt => Self::Signed(1),
            SmallInt => Self::Signed(2),
            Integer => Self::Signed(4),
            BigInt | Date | Time => Self::Signed(8),
            UnsignedTinyInt | Boolean => Self::Unsigned(1),
            UnsignedSmallInt => Self::Unsigned(2),
            UnsignedInt => Self::Unsigned(4),
            UnsignedLong | UnsignedDate | UnsignedTime => Self::Unsigned(8),
            Float => Self::Float(4),
            Double => Self::Float(8),
            UnsignedFloat => Self::RawFloat(4),
            UnsignedDouble => Self::RawFloat(8),
            SqlType::Decimal(Some((_, scale))) => Self::Decimal(scale),
            SqlType::Decimal(None) => Self::Decimal(decimal_scale()),
            SqlType::Timestamp => Self::Timestamp,
            SqlType::UnsignedTimestamp => Self::UnsignedTimestamp,
            Char(_) | Varchar(_) | Json | Binary(_) | Varbinary(_) | Array(_) => Self::Bytes,
        }
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&match self {
            Self::Bytes => [0, 0],
            Self::Unsigned(width) => [1, width],
            Self::Signed(width) => [2, width],
            Self::Float(width) => [3, width],
            Self::RawFloat(width) => [4, width],
            Self::Decimal(scale) => [5, scale as u8],
            Self::Timestamp => [6, 0],
            Self::UnsignedTimestamp => [7, 0],
            Self::LongDecimal(scale) => [8, scale as u8],
        });
    }

    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, Damage> {
        Ok(match (input.u8()?, input.u8()?) {
            (0, 0) => Self::Bytes,
            (1, width @ 1..=8) => Self::Unsigned(width),
            (2, width @ 1..=8) => Self::Signed(width),
            (3, width @ (4 | 8)) => Self::Float(width),
            (4, width @ (4 | 8)) => Self::RawFloat(width),
            (5, scale) if (-38..=38).contains(&(scale as i8)) => Self::Decimal(scale as i8),
            (6, 0) => Self::Timestamp,
            (7, 0) => Self::UnsignedTimestamp,
            (8, scale) if (-38..=38).contains(&(scale as i8)) => Self::LongDecimal(scale as i8),
            (form, argument) => return Err(input.damage(format!("no form {form} of {argument}"))),
        })
    }

    /// The number that an integer stands for, moments in milliseconds, as far as a float can say it; `None` if it is none.
    pub(super) fn as_number(self, value: i64) -> Option<f64> {
        Some(match self {
            Self::Bytes | Self::LongDecimal(_) => return None,
            Self::Unsigned(_) | Self::Signed(_) => value as f64,
            Self::Float(4) | Self::RawFloat(4) => f64::from(float_32(value as u32)),
            Self::Float(_) | Self::RawFloat(_) => float_64(value as u64),
            Self::Decimal(scale) => value as f64 / 10f64.powi(i32::from(scale)),
            Self::Timestamp | Self::UnsignedTimestamp => value as f64 / 1e6,
        })
        .filter(|number| number.is_finite())
    }

    /// True if values are stored as strings.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Bytes | Self::LongDecimal(_))
    }

    /// What the integers stand for.
    pub(super) fn nature(self) -> Nature {
        match self {
            Self::Float(width) | Self::RawFloat(width) => Nature::Float(8 * u32::from(width)),
            _ => Nature::Integer,
        }
    }

    /// True if all integers fit 32 bits, as two's complement.
    pub(super) fn fits_narrow(self) -> bool {
        match self {
            Self::Unsigned(width) => width < 4,
            Self::Signed(width) | Self::Float(width) | Self::RawFloat(width) => width <= 4,
            _ => false,
        }
    }

    /// Width of all values in bytes, if they have one.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            Self::Bytes | Self::Decimal(_) | Self::LongDecimal(_) => None,
            Self::Unsigned(width) | Self::Signed(width) | Self::Float(width) | Self::RawFloat(width) => {
                Some(width.into())
            }
            Self::Timestamp | Self::UnsignedTimestamp => Some(12),
        }
    }

    /// The integer of a value; `None` if it would not come back as the same bytes.
    #[inline]
    pub(crate) fn to_integer(self, bytes: &[u8]) -> Option<i64> {
        if let Some(width) = self.width()
            && bytes.len() != width
        {
            return None;
        }
        match self {
            Self::Bytes | Self::LongDecimal(_) => None,
            Self::Unsigned(_) => Some(big_endian(bytes) as i64),
            Self::Signed(width) => {
                let shift = 64 - 8 * u32::from(width);
                Some(((big_endian(bytes) << shift) ^ 1 << 63) as i64 >> shift)
            }
            Self::Float(4) => Some(sortable_of_32(unordered_32(big_endian(bytes) as u32))),
            Self::Float(_) => Some(sortable_64(unordered_64(big_endian(bytes))) as i64),
            Self::RawFloat(4) => Some(sortable_of_32(big_endian(bytes) as u32)),
            Self::RawFloat(_) => Some(sortable_64(big_endian(bytes)) as i64),
            Self::Decimal(scale) => decimal_digits(bytes, scale),
            Self::Timestamp => {
                let (millis, nanos) = bytes.split_at(8);
                nanoseconds((big_endian(millis) ^ 1 << 63) as i64, big_endian(nanos) as u32)
            }
            Self::UnsignedTimestamp => {
                let (millis, nanos) = bytes.split_at(8);
                let millis = i64::try_from(big_endian(millis)).ok()?;
                nanoseconds(millis, big_endian(nanos) as u32)
            }
        }
    }

    /// Appends the bytes of an integer.
    #[inline]
    pub(super) fn append(self, integer: i64, out: &mut Vec<u8>) -> Result<(), Damage> {
        let put = |number: u64, width: u8, out: &mut Vec<u8>| {
            out.extend_from_slice(&number.to_be_bytes()[8 - usize::from(width)..]);
        };
        match self {
            Self::Bytes | Self::LongDecimal(_) => {
                return Err(Damage::new(0, "numbers in a column of strings"));
            }
            Self::Unsigned(width) => put(integer as u64, width, out),
            Self::Signed(width) => put(integer as u64 ^ 1 << (8 * width - 1), width, out),
            Self::Float(4) => put(ordered_32(sortable_32(integer as u32)).into(), 4, out),
            Self::Float(_) => put(ordered_64(sortable_64(integer as u64)), 8, out),
            Self::RawFloat(4) => put(sortable_32(integer as u32).into(), 4, out),
            Self::RawFloat(_) => put(sortable_64(integer as u64), 8, out),
            Self::Decimal(_) => self.append_digits(integer.into(), out)?,
            Self::Timestamp | Self::UnsignedTimestamp => {
                let (millis, nanos) = number::split_nanos(integer);
                let flip = if self == Self::Timestamp { 1 << 63 } else { 0 };
                put(millis as u64 ^ flip, 8, out);
                put(nanos.into(), 4, out);
            }
        }
        Ok(())
    }

    /// Appends the bytes of a DECIMAL's digits at the form's scale.
    pub(super) fn append_digits(self, digits: i128, out: &mut Vec<u8>) -> Result<(), Damage> {
        let (Self::Decimal(scale) | Self::LongDecimal(scale)) = self else {
            return Err(Damage::new(0, "digits in a column that is no DECIMAL"));
        };
        decimal::encode(Decimal::new(digits, scale.into()), out)
            .map_err(|_| Damage::new(0, "a number that no DECIMAL holds"))
    }
}

#[inline]
fn big_endian(bytes: &[u8]) -> u64 {
    match bytes.len() {
        4 => u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into(),
        8 => u64::from_be_bytes(*bytes.first_chunk().expect("eight bytes")),
        _ => bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}

/// The float of its sortable form.
#[inline(always)]
pub(crate) fn float_32(sortable: u32) -> f32 {
    f32::from_bits(sortable_32(sortable))
}

/// As [`float_32`], for 64 bits.
#[inline(always)]
pub(crate) fn float_64(sortable: u64) -> f64 {
    f64::from_bits(sortable_64(sortable))
}

/// FLOAT's order-preserving bits to IEEE 754 and back. Unlike `number::decode_f32` these keep every bit of a NaN.
fn unordered_32(ordered: u32) -> u32 {
    let ordered = ordered.wrapping_sub(1);
    ordered ^ (((!ordered as i32) >> 31) as u32 | 1 << 31)
}

fn ordered_32(bits: u32) -> u32 {
    (bits ^ (((bits as i32) >> 31) as u32 | 1 << 31)).wrapping_add(1)
}

fn unordered_64(ordered: u64) -> u64 {
    let ordered = ordered.wrapping_sub(1);
    ordered ^ (((!ordered as i64) >> 63) as u64 | 1 << 63)
}

fn ordered_64(bits: u64) -> u64 {
    (bits ^ (((bits as i64) >> 63) as u64 | 1 << 63)).wrapping_add(1)
}

#[inline]
fn sortable_of_32(bits: u32) -> i64 {
    i64::from(sortable_32(bits) as i32)
}

fn nanoseconds(millis: i64, nanos: u32) -> Option<i64> {
    if i64::from(nanos) >= number::NANOS_PER_MILLI {
        return None;
    }
    millis.checked_mul(number::NANOS_PER_MILLI)?.checked_add(nanos.into())
}

/// The digits of a DECIMAL at a scale, if they are at most 18 and the number's bytes are the usual ones.
fn decimal_digits(bytes: &[u8], scale: i8) -> Option<i64> {
    let digits = i64::try_from(decimal::decode_to_scale(bytes, scale.into()).ok()?).ok()?;
    let is_short = digits.unsigned_abs() < 10u64.pow(SHORT_DIGITS_MAX);
    (is_short && is_usual(bytes, digits.into(), scale)).then_some(digits)
}

/// The same of up to 38 digits.
pub(super) fn long_digits(bytes: &[u8], scale: i8) -> Option<i128> {
    let digits = decimal::decode_to_scale(bytes, scale.into()).ok()?;
    let most = decimal::power_of_ten(decimal::DIGITS_MAX)?;
    (digits.unsigned_abs() < most.unsigned_abs() && is_usual(bytes, digits, scale)).then_some(digits)
}

/// True if these are the bytes of that number.
fn is_usual(bytes: &[u8], digits: i128, scale: i8) -> bool {
    let mut again = Vec::with_capacity(decimal::BYTES_MAX + 1);
    decimal::encode(Decimal::new(digits, scale.into()), &mut again).is_ok() && again == bytes
}

/// The least scale at which no digit of these DECIMALs is lost; 0 if there are none.
pub(super) fn decimal_scale<'a>(values: impl Iterator<Item = &'a [u8]>) -> i8 {
    let scales = values.filter_map(|bytes| Some(decimal::decode(bytes).ok()?.normalized().scale));
    scales.max().unwrap_or(0).clamp(0, decimal::DIGITS_MAX as i32) as i8
}

#[cfg(test)]
mod tests;
