// SPDX-License-Identifier: Apache-2.0
//! Single values of any type, and their bytes. Bulk paths decide the type once per column and use the
//! functions below it; this is the plain way, and the oracle of the fast ones.

use std::borrow::Cow;

use super::array::{ArrayReader, ArrayWriter};
use super::decimal::{self, Decimal, DecimalError};
use super::number;
use super::{SqlType, TypeError};
use crate::schema::SortOrder;

/// A value of some SQL type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// NULL, of any type.
    Null,
    /// All integer types.
    Int(i64),
    /// FLOAT and UNSIGNED_FLOAT.
    Float(f32),
    /// DOUBLE and UNSIGNED_DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// BOOLEAN.
    Boolean(bool),
    /// DATE, TIME and their unsigned forms: milliseconds since the epoch.
    Millis(i64),
    /// TIMESTAMP and UNSIGNED_TIMESTAMP: milliseconds since the epoch and nanoseconds below the millisecond.
    Timestamp {
        /// Milliseconds since the epoch.
        millis: i64,
        /// Nanoseconds below the millisecond, less than a million.
        nanos: u32,
    },
    /// CHAR (without padding) and VARCHAR.
    Text(Cow<'a, str>),
    /// BINARY and VARBINARY.
    Bytes(Cow<'a, [u8]>),
    /// Arrays.
    Array(Vec<Value<'a>>),
}

impl Value<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "integer",
            Self::Float(_) | Self::Double(_) => "float",
            Self::Decimal(_) => "decimal",
            Self::Boolean(_) => "boolean",
            Self::Millis(_) => "date",
            Self::Timestamp { .. } => "timestamp",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Array(_) => "array",
        }
    }

    /// True for NULL and for the values that a type cannot tell from it: the empty text and no bytes.
    pub fn is_null(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Array(values) => values.is_empty(),
            _ => false,
        }
    }

    /// The same value, borrowing nothing.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Int(v) => Value::Int(v),
            Self::Float(v) => Value::Float(v),
            Self::Double(v) => Value::Double(v),
            Self::Decimal(v) => Value::Decimal(v),
            Self::Boolean(v) => Value::Boolean(v),
            Self::Millis(v) => Value::Millis(v),
            Self::Timestamp { millis, nanos } => Value::Timestamp { millis, nanos },
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Array(values) => Value::Array(values.into_iter().map(Value::into_owned).collect()),
        }
    }
}

impl SqlType {
    /// Appends the bytes of a value; nothing for NULL. On error `out` is as it was.
    pub fn encode(self, order: SortOrder, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), TypeError> {
        let start = out.len();
        if let Err(error) = encode_asc(self, value, out) {
            out.truncate(start);
            return Err(error);
        }
        if order == SortOrder::Desc {
            invert(self, &mut out[start..]);
        }
        Ok(())
    }

    /// The value of some bytes; NULL for none.
    pub fn decode(self, order: SortOrder, bytes: &[u8]) -> Result<Value<'_>, TypeError> {
        if order == SortOrder::Asc {
            return decode_asc(self, bytes);
        }
        let mut inverted = bytes.to_vec();
        invert(self, &mut inverted);
        decode_asc(self, &inverted).map(Value::into_owned)
    }

    /// True for the types whose values are never negative.
    pub fn is_unsigned(self) -> bool {
        use SqlType::*;
        matches!(
            self,
            UnsignedTinyInt
                | UnsignedSmallInt
                | UnsignedInt
                | UnsignedLong
                | UnsignedFloat
                | UnsignedDouble
                | UnsignedDate
                | UnsignedTime
                | UnsignedTimestamp
        )
    }

    /// Refuses a DECIMAL of more digits than declared.
    pub fn check_decimal(self, value: Decimal) -> Result<(), TypeError> {
        let (precision, scale) = match self {
            SqlType::Decimal(Some((precision, scale))) => (precision as u32, scale as i32),
            _ => return Ok(()),
        };
        let fits = value.rescale(scale).is_some_and(|digits| {
            decimal::power_of_ten(precision).is_none_or(|limit| digits.unsigned_abs() < limit as u128)
        });
        if fits { Ok(()) } else { Err(out_of_range(self, value)) }
    }
}

/// Turns the ASC form into the DESC form of the same value, or back.
#[inline]
pub fn invert(sql_type: SqlType, bytes: &mut [u8]) {
    let mask = if sql_type == SqlType::Boolean { 0x01 } else { 0xff };
    for byte in bytes {
        *byte ^= mask;
    }
}

#[cold]
fn out_of_range(sql_type: SqlType, value: impl std::fmt::Display) -> TypeError {
    TypeError::OutOfRange { sql_type, value: value.to_string() }
}

fn encode_asc(sql_type: SqlType, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), TypeError> {
    use SqlType::*;
    match (sql_type, value) {
        (_, Value::Null) => {}
        (TinyInt | SmallInt | Integer | BigInt, &Value::Int(v)) => put_int(sql_type, v, true, out)?,
        (UnsignedTinyInt | UnsignedSmallInt | UnsignedInt | UnsignedLong, &Value::Int(v)) => {
            put_int(sql_type, v, false, out)?
        }
        (Float, &Value::Float(v)) => out.extend_from_slice(&number::encode_f32(v)),
        (Double, &Value::Double(v)) => out.extend_from_slice(&number::encode_f64(v)),
        (UnsignedFloat, &Value::Float(v)) => {
            out.extend_from_slice(&unsigned_f32(v).ok_or_else(|| out_of_range(sql_type, v))?)
        }
        (UnsignedDouble, &Value::Double(v)) => {
            out.extend_from_slice(&unsigned_f64(v).ok_or_else(|| out_of_range(sql_type, v))?)
        }
        (SqlType::Decimal(_), &Value::Decimal(v)) => put_decimal(sql_type, v, out)?,
        (Boolean, &Value::Boolean(v)) => out.push(v as u8),
        (Date | Time, &Value::Millis(v)) => put_int(sql_type, v, true, out)?,
        (UnsignedDate | UnsignedTime, &Value::Millis(v)) => put_int(sql_type, v, false, out)?,
        (Timestamp | UnsignedTimestamp, &Value::Timestamp { millis, nanos }) => {
            if nanos >= number::NANOS_PER_MILLI as u32 {
                return Err(out_of_range(sql_type, format_args!("{millis} ms + {nanos} ns")));
            }
            put_int(sql_type, millis, sql_type == Timestamp, out)?;
            out.extend_from_slice(&nanos.to_be_bytes());
        }
        (Char(_) | Varchar(_) | Json, Value::Text(text)) => put_text(sql_type, text, out)?,
        (Binary(_) | Varbinary(_), Value::Bytes(bytes)) => put_bytes(sql_type, bytes, out)?,
        (Array(element), Value::Array(values)) => {
            let mut writer = ArrayWriter::new(element, out);
            for value in values {
                writer.push(|out| encode_asc(element.into(), value, out))?;
            }
            writer.finish()?;
        }
        (_, value) => return Err(TypeError::Kind { sql_type, kind: value.kind() }),
    }
    Ok(())
}

fn put_int(sql_type: SqlType, value: i64, signed: bool, out: &mut Vec<u8>) -> Result<(), TypeError> {
    let width = sql_type.fixed_width().unwrap_or(8).min(8);
    let shift = 64 - 8 * width as u32;
    let fits = (value << shift) >> shift == value && (signed || value >= 0);
    if !fits {
        return Err(out_of_range(sql_type, value));
    }
    let mut bytes = (value << shift).to_be_bytes();
    if signed {
        bytes[0] ^= 0x80;
    }
    out.extend_from_slice(&bytes[..width]);
    Ok(())
}

/// UNSIGNED_FLOAT's bytes, or `None` for negative values and NaN. -0 becomes 0.
#[inline]
pub fn unsigned_f32(value: f32) -> Option<[u8; 4]> {
    (value >= 0.0).then(|| value.abs().to_be_bytes())
}

/// UNSIGNED_DOUBLE's bytes, or `None` for negative values and NaN. -0 becomes 0.
#[inline]
pub fn unsigned_f64(value: f64) -> Option<[u8; 8]> {
    (value >= 0.0).then(|| value.abs().to_be_bytes())
}

fn put_decimal(sql_type: SqlType, value: Decimal, out: &mut Vec<u8>) -> Result<(), TypeError> {
    sql_type.check_decimal(value)?;
    // Digits behind the declared scale are cut off, as Phoenix does.
    let value = match sql_type {
        SqlType::Decimal(Some((_, scale))) if value.scale > scale as i32 => {
            let scale = scale as i32;
            Decimal::new(value.rescale(scale).ok_or_else(|| out_of_range(sql_type, value))?, scale)
        }
        _ => value,
    };
    decimal::encode(value, out).map_err(|_| out_of_range(sql_type, value))
}

/// Appends the ASC bytes of a CHAR, VARCHAR or JSON; nothing for the empty text, which is NULL.
#[inline]
pub fn put_text(sql_type: SqlType, text: &str, out: &mut Vec<u8>) -> Result<(), TypeError> {
    match sql_type {
        SqlType::Char(_) if text.is_empty() => {}
        SqlType::Char(width) => {
            let width = width as usize;
            if !text.is_ascii() {
                return Err(TypeError::NotSingleByte { sql_type, value: text.to_owned() });
            }
            if text.len() > width {
                return Err(TypeError::TooLong { sql_type, found: text.len(), unit: "characters" });
            }
            out.extend_from_slice(text.as_bytes());
            out.resize(out.len() + width - text.len(), b' ');
        }
        SqlType::Varchar(Some(most)) if text.len() > most as usize => {
            let found = text.chars().count();
            if found > most as usize {
                return Err(TypeError::TooLong { sql_type, found, unit: "characters" });
            }
            out.extend_from_slice(text.as_bytes());
        }
        SqlType::Json if text.is_empty() => {}
        SqlType::Json => {
            check_json(text)?;
            out.extend_from_slice(text.as_bytes());
        }
        _ => out.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

/// An error unless the text is one JSON value (RFC 8259).
pub fn check_json(text: &str) -> Result<(), TypeError> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(TypeError::NotJson { what: error.to_string() }),
    }
}

/// Appends the ASC bytes of a BINARY or VARBINARY; nothing for no bytes, which are NULL.
#[inline]
pub fn put_bytes(sql_type: SqlType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TypeError> {
    let most = match sql_type {
        SqlType::Binary(width) => width as usize,
        SqlType::Varbinary(Some(most)) => most as usize,
        _ => usize::MAX,
    };
    if bytes.len() > most {
        return Err(TypeError::TooLong { sql_type, found: bytes.len(), unit: "bytes" });
    }
    out.extend_from_slice(bytes);
    if matches!(sql_type, SqlType::Binary(_)) && !bytes.is_empty() {
        out.resize(out.len() + most - bytes.len(), 0);
    }
    Ok(())
}

fn decode_asc(sql_type: SqlType, bytes: &[u8]) -> Result<Value<'_>, TypeError> {
    use SqlType::*;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if let Some(expected) = sql_type.fixed_width()
        && bytes.len() != expected
    {
        return Err(TypeError::Width { sql_type, expected, found: bytes.len() });
    }
    let damaged = |what| TypeError::Bytes { sql_type, what };
    Ok(match sql_type {
        TinyInt | SmallInt | Integer | BigInt => Value::Int(signed(bytes)),
        UnsignedTinyInt | UnsignedSmallInt | UnsignedInt | UnsignedLong => {
            Value::Int(unsigned(bytes).ok_or(damaged("the sign bit is set"))?)
        }
        Float => Value::Float(number::decode_f32(array(bytes))),
        Double => Value::Double(number::decode_f64(array(bytes))),
        UnsignedFloat => Value::Float(f32::from_be_bytes(array(bytes))),
        UnsignedDouble => Value::Double(f64::from_be_bytes(array(bytes))),
        SqlType::Decimal(_) => Value::Decimal(decimal::decode(bytes).map_err(|error| match error {
            DecimalError::Bytes(what) => damaged(what),
            DecimalError::OutOfRange => damaged("the number is out of range"),
        })?),
        Boolean => match bytes {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return Err(damaged("the byte is neither 00 nor 01")),
        },
        Date | Time => Value::Millis(signed(bytes)),
        UnsignedDate | UnsignedTime => Value::Millis(unsigned(bytes).ok_or(damaged("the sign bit is set"))?),
        Timestamp | UnsignedTimestamp => {
            let (millis, nanos) = bytes.split_at(8);
            let millis = match sql_type {
                Timestamp => signed(millis),
                _ => unsigned(millis).ok_or(damaged("the sign bit is set"))?,
            };
            let parts = number::timestamp_parts(millis, u32::from_be_bytes(array(nanos)));
            let (millis, nanos) = parts.ok_or(damaged("the nanoseconds are out of range"))?;
            Value::Timestamp { millis, nanos }
        }
        Char(_) => {
            let text = std::str::from_utf8(bytes).map_err(|_| damaged("the text is not UTF-8"))?;
            Value::Text(Cow::Borrowed(text.trim_end_matches(' ')))
        }
        Varchar(_) | Json => {
            let text = std::str::from_utf8(bytes).map_err(|_| damaged("the text is not UTF-8"))?;
            Value::Text(Cow::Borrowed(text))
        }
        Binary(_) | Varbinary(_) => Value::Bytes(Cow::Borrowed(bytes)),
        Array(element) => {
            let reader = ArrayReader::try_new(element, bytes)?;
            let value = |index| decode_asc(element.into(), reader.get(index)?.unwrap_or_default());
            Value::Array((0..reader.len()).map(value).collect::<Result<_, _>>()?)
        }
    })
}

/// The first `N` bytes; zeros where there are fewer, which callers have ruled out.
#[inline]
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | byte as u64)
}

fn signed(bytes: &[u8]) -> i64 {
    let shift = 64 - 8 * bytes.len() as u32;
    let flipped = (big_endian(bytes) << shift) ^ (1 << 63);
    flipped as i64 >> shift
}

fn unsigned(bytes: &[u8]) -> Option<i64> {
    let top = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    (!top).then(|| big_endian(bytes) as i64)
}
