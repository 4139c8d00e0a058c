// SPDX-License-Identifier: Apache-2.0
//! Text as values of the declared types, and the arrays that collect them.
//!
//! | type | text |
//! |---|---|
//! | integers | digits, with a sign if need be; must fit the type |
//! | DECIMAL(p,s), DECIMAL | digits, point, exponent; digits that the scale would cut off are an error, zeros are not |
//! | FLOAT, DOUBLE | as usual, also `NaN` and `Infinity` |
//! | BOOLEAN | `true false t f yes no y n 1 0` in any case |
//! | DATE, TIME, TIMESTAMP | `2026-01-31`, `2026-01-31 12:34:56.789`, with `T` for the space and `Z` at the end if one likes |
//! | CHAR(n), VARCHAR(n) | at most n characters, CHAR one byte each; the empty text is NULL |
//! | JSON | one JSON value; the empty text is NULL |
//! | BINARY(n), VARBINARY | hex; the empty value is NULL |
//! | arrays | only NULL; other files and UPSERT have them |
//!
//! A row is parsed whole before any of it goes into the arrays, so a bad field leaves no half row behind.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Decimal128Builder, Decimal256Builder, Float32Builder,
    Float64Builder, Int8Builder, Int16Builder, Int32Builder, Int64Builder, StringViewBuilder,
    TimestampMillisecondBuilder, TimestampNanosecondBuilder, new_null_array,
};
use arrow::datatypes::{DataType, i256};
use basalt_hfile::typed::{DECIMAL_DEFAULT, arrow_type, widened};
use basalt_model::SqlType;
use basalt_model::types::Decimal;
use basalt_model::types::value::check_json;

/// One value on its way from text to an array.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    /// All integer types.
    Integer(i64),
    /// DECIMAL(p,s), scaled.
    Decimal(i128),
    /// DECIMAL, at the scale that Arrow has it with.
    WideDecimal(i256),
    Float(f32),
    Double(f64),
    Boolean(bool),
    /// Milliseconds, or nanoseconds for TIMESTAMP, since the epoch.
    Instant(i64),
    Text(&'a str),
    Bytes(Vec<u8>),
}

/// Reads `text` as a value of `sql_type`; the error says what is wrong with it.
pub(super) fn parse(sql_type: SqlType, text: &str) -> Result<Value<'_>, String> {
    use SqlType::*;
    match sql_type {
        Varchar(None) => return Ok(if text.is_empty() { Value::Null } else { Value::Text(text) }),
        Varchar(Some(length)) => return varchar(text, length),
        Json => return json(text),
        Char(length) => return char(text, length),
        _ => {}
    }
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(Value::Null);
    }
    let not_a = || format!("{} is not {}", quoted(text), with_article(sql_type));
    match sql_type {
        TinyInt | SmallInt | Integer | BigInt | UnsignedTinyInt | UnsignedSmallInt | UnsignedInt
        | UnsignedLong => integer(sql_type, trimmed),
        Float => trimmed.parse().map_err(|_| not_a()).and_then(|value| finite32(trimmed, value)),
        Double => trimmed.parse().map_err(|_| not_a()).and_then(|value| finite64(trimmed, value)),
        UnsignedFloat => trimmed
            .parse()
            .map_err(|_| not_a())
            .and_then(|value: f32| if value >= 0.0 { finite32(trimmed, value) } else { Err(not_a()) }),
        UnsignedDouble => trimmed
            .parse()
            .map_err(|_| not_a())
            .and_then(|value: f64| if value >= 0.0 { finite64(trimmed, value) } else { Err(not_a()) }),
        Decimal(size) => {
            let (value, scale) = match size {
                Some((precision, scale)) => (decimal(trimmed, precision, scale), scale),
                None => (wide_decimal(trimmed), DECIMAL_DEFAULT.1),
            };
            value.map_err(|wrong| match wrong {
                DecimalError::NotANumber => not_a(),
                DecimalError::TooLarge => format!("{} does not fit {sql_type}", quoted(text)),
                DecimalError::TooFine => {
                    format!(
                        "{} has more than {scale} digits behind the point, which {sql_type} cannot keep",
                        quoted(text)
                    )
                }
            })
        }
        Boolean => boolean(trimmed).map(Value::Boolean).ok_or_else(not_a),
        Date | Time | UnsignedDate | UnsignedTime => instant(trimmed, 1_000)
            .filter(|&at| at >= 0 || !is_unsigned(sql_type))
            .map(Value::Instant)
            .ok_or_else(not_a),
        Timestamp | UnsignedTimestamp => instant(trimmed, 1_000_000_000)
            .filter(|&at| at >= 0 || !is_unsigned(sql_type))
            .map(Value::Instant)
            .ok_or_else(not_a),
        Binary(length) => bytes(trimmed, Some(length)),
        Varbinary(length) => bytes(trimmed, length),
        Array(_) => Err(format!("{sql_type} is loaded from Parquet and Arrow files, or written with UPSERT")),
        Varchar(_) | Char(_) | Json => unreachable!("texts are handled above"),
    }
}

/// The smallest and the largest integer of a type.
pub(super) fn integer_range(sql_type: SqlType) -> Option<(i64, i64)> {
    use SqlType::*;
    Some(match sql_type {
        TinyInt => (i8::MIN.into(), i8::MAX.into()),
        SmallInt => (i16::MIN.into(), i16::MAX.into()),
        Integer => (i32::MIN.into(), i32::MAX.into()),
        BigInt => (i64::MIN, i64::MAX),
        UnsignedTinyInt => (0, i8::MAX.into()),
        UnsignedSmallInt => (0, i16::MAX.into()),
        UnsignedInt => (0, i32::MAX.into()),
        UnsignedLong => (0, i64::MAX),
        _ => return None,
    })
}

fn is_unsigned(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::UnsignedDate | SqlType::UnsignedTime | SqlType::UnsignedTimestamp)
}

fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}

fn with_article(sql_type: SqlType) -> String {
    let name = sql_type.to_string();
    let article = if name.starts_with(['I', 'U', 'A', 'E', 'O']) { "an" } else { "a" };
    format!("{article} {name}")
}

fn integer(sql_type: SqlType, text: &str) -> Result<Value<'static>, String> {
    let (min, max) = integer_range(sql_type).unwrap_or((i64::MIN, i64::MAX));
    match text.parse::<i64>() {
        Ok(value) if (min..=max).contains(&value) => Ok(Value::Integer(value)),
        Err(error)
            if !matches!(
                error.kind(),
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow
            ) =>
        {
            Err(format!("{} is not {}", quoted(text), with_article(sql_type)))
        }
        _ => Err(format!("{} does not fit {sql_type} ({min} to {max})", quoted(text))),
    }
}

fn finite32(text: &str, value: f32) -> Result<Value<'static>, String> {
    if value.is_infinite() && !names_infinity(text) {
        Err(format!("{} does not fit FLOAT", quoted(text)))
    } else {
        Ok(Value::Float(value))
    }
}

fn finite64(text: &str, value: f64) -> Result<Value<'static>, String> {
    if value.is_infinite() && !names_infinity(text) {
        Err(format!("{} does not fit DOUBLE", quoted(text)))
    } else {
        Ok(Value::Double(value))
    }
}

fn names_infinity(text: &str) -> bool {
    text.trim_start_matches(['+', '-']).starts_with(['i', 'I'])
}

fn boolean(text: &str) -> Option<bool> {
    let is = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    match () {
        () if is(&["true", "t", "yes", "y", "1"]) => Some(true),
        () if is(&["false", "f", "no", "n", "0"]) => Some(false),
        () => None,
    }
}

fn varchar(text: &str, length: u32) -> Result<Value<'_>, String> {
    // Bytes are counted first: they are never fewer than characters.
    let fits = text.len() <= length as usize || text.chars().count() <= length as usize;
    match text {
        "" => Ok(Value::Null),
        _ if fits => Ok(Value::Text(text)),
        _ => Err(format!(
            "{} has {} characters, VARCHAR({length}) takes {length}",
            quoted(text),
            text.chars().count()
        )),
    }
}

fn json(text: &str) -> Result<Value<'_>, String> {
    match text {
        "" => Ok(Value::Null),
        _ => check_json(text).map(|()| Value::Text(text)).map_err(|error| error.to_string()),
    }
}

fn char(text: &str, length: u32) -> Result<Value<'_>, String> {
    let text = text.trim_end_matches(' ');
    match text {
        "" => Ok(Value::Null),
        _ if !text.is_ascii() => {
            Err(format!("{} has characters that CHAR cannot hold; take VARCHAR", quoted(text)))
        }
        _ if text.len() > length as usize => {
            Err(format!("{} has {} characters, CHAR({length}) takes {length}", quoted(text), text.len()))
        }
        _ => Ok(Value::Text(text)),
    }
}

fn bytes(text: &str, length: Option<u32>) -> Result<Value<'static>, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("\\x")).unwrap_or(text).as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    });
    let bytes: Vec<u8> = pairs
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{} is not an even number of hex digits", quoted(text)))?;
    match length {
        Some(length) if bytes.len() > length as usize => {
            Err(format!("{} has {} bytes, the column takes {length}", quoted(text), bytes.len()))
        }
        _ => Ok(Value::Bytes(bytes)),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum DecimalError {
    NotANumber,
    TooLarge,
    TooFine,
}

/// The number with `scale` digits behind the point.
fn decimal(text: &str, precision: u8, scale: i8) -> Result<Value<'static>, DecimalError> {
    let number = number(text)?.normalized();
    if number.scale > i32::from(scale) {
        return Err(DecimalError::TooFine);
    }
    match number.rescale(scale.into()) {
        Some(digits) if digits.unsigned_abs() < 10u128.pow(precision.into()) => Ok(Value::Decimal(digits)),
        _ => Err(DecimalError::TooLarge),
    }
}

/// The number as a DECIMAL without precision: 38 digits, wherever the point is.
fn wide_decimal(text: &str) -> Result<Value<'static>, DecimalError> {
    let number = number(text)?.normalized();
    if number.scale > i32::from(DECIMAL_DEFAULT.1) {
        return Err(DecimalError::TooFine);
    }
    widened(number).map(Value::WideDecimal).ok_or(DecimalError::TooLarge)
}

fn number(text: &str) -> Result<Decimal, DecimalError> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, exponent.parse::<i32>().map_err(|_| DecimalError::NotANumber)?)
        }
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut value: i128 = 0;
    let mut digits_seen = false;
    let mut behind_point: Option<i32> = None;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                digits_seen = true;
                value = value
                    .checked_mul(10)
                    .and_then(|value| value.checked_add(i128::from(byte - b'0')))
                    .ok_or(DecimalError::TooLarge)?;
                behind_point = behind_point.map(|count| count + 1);
            }
            b'.' if behind_point.is_none() => behind_point = Some(0),
            _ => return Err(DecimalError::NotANumber),
        }
    }
    if !digits_seen {
        return Err(DecimalError::NotANumber);
    }
    let scale = behind_point.unwrap_or(0).saturating_sub(exponent);
    Ok(Decimal::new(if negative { -value } else { value }, scale))
}

/// `2026-01-31`, with an optional time of day, in units of which `per_second` make a second. Digits behind the unit must be zeros.
fn instant(text: &str, per_second: i64) -> Option<i64> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, time) = match text.find([' ', 'T', 't']) {
        Some(at) => (&text[..at], text[at + 1..].trim_start()),
        None => (text, ""),
    };
    let days = days(date)?;
    let (seconds, nanos) = if time.is_empty() { (0, 0) } else { time_of_day(time)? };
    let unit = 1_000_000_000 / per_second;
    if nanos % unit != 0 {
        return None;
    }
    days.checked_mul(86_400)?.checked_add(seconds)?.checked_mul(per_second)?.checked_add(nanos / unit)
}

fn days(date: &str) -> Option<i64> {
    let (negative, date) = match date.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, date),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (digits(parts.next()?)?, digits(parts.next()?)?, digits(parts.next()?)?);
    if parts.next().is_some() || year > 300_000_000 {
        return None;
    }
    let year = if negative { -year } else { year };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Count from 0000-03-01 so that the leap day is the last of its year; an era is 400 years, 146,097 days.
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let of_era = shifted_year.rem_euclid(400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Seconds and nanoseconds since midnight of `12:34`, `12:34:56` or `12:34:56.789`.
fn time_of_day(time: &str) -> Option<(i64, i64)> {
    let mut parts = time.split(':');
    let (hour, minute) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let (second, nanos) = match parts.next() {
        None => (0, 0),
        Some(second) => match second.split_once('.') {
            None => (digits(second)?, 0),
            Some((second, fraction)) if fraction.len() <= 9 => {
                (digits(second)?, digits(fraction)? * 10i64.pow(9 - fraction.len() as u32))
            }
            Some(_) => return None,
        },
    };
    let fits = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    fits.then_some((hour * 3_600 + minute * 60 + second, nanos))
}

fn digits(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) { None } else { text.parse().ok() }
}

/// Collects the values of one column.
pub(super) enum Collector {
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float(Float32Builder),
    Double(Float64Builder),
    Decimal(Decimal128Builder),
    WideDecimal(Decimal256Builder),
    Boolean(BooleanBuilder),
    Millis(TimestampMillisecondBuilder),
    Nanos(TimestampNanosecondBuilder),
    Text(StringViewBuilder),
    Bytes(BinaryBuilder),
    /// Of an array type: text has none.
    Nulls {
        data_type: DataType,
        count: usize,
    },
}

/// Appends one value to a builder, NULL where the value is of another kind (which `parse` rules out).
macro_rules! append {
    ($builder:expr, $value:expr, $kind:path, $convert:expr) => {
        match $value {
            $kind(value) => $builder.append_value($convert(value)),
            other => {
                debug_assert_eq!(*other, Value::Null, "parse gives the values of the declared type");
                $builder.append_null();
            }
        }
    };
}

impl Collector {
    /// An empty collector; its arrays have the type that the engine uses for columns of `sql_type`.
    pub(super) fn new(sql_type: SqlType) -> Self {
        use SqlType::*;
        match sql_type {
            TinyInt | UnsignedTinyInt => Self::Int8(Int8Builder::new()),
            SmallInt | UnsignedSmallInt => Self::Int16(Int16Builder::new()),
            Integer | UnsignedInt => Self::Int32(Int32Builder::new()),
            BigInt | UnsignedLong => Self::Int64(Int64Builder::new()),
            Float | UnsignedFloat => Self::Float(Float32Builder::new()),
            Double | UnsignedDouble => Self::Double(Float64Builder::new()),
            Decimal(Some(_)) => Self::Decimal(Decimal128Builder::new().with_data_type(arrow_type(sql_type))),
            Decimal(None) => Self::WideDecimal(Decimal256Builder::new().with_data_type(arrow_type(sql_type))),
            Boolean => Self::Boolean(BooleanBuilder::new()),
            Date | Time | UnsignedDate | UnsignedTime => Self::Millis(TimestampMillisecondBuilder::new()),
            Timestamp | UnsignedTimestamp => Self::Nanos(TimestampNanosecondBuilder::new()),
            Char(_) | Varchar(_) | Json => Self::Text(StringViewBuilder::new()),
            Binary(_) | Varbinary(_) => Self::Bytes(BinaryBuilder::new()),
            Array(_) => Self::Nulls { data_type: arrow_type(sql_type), count: 0 },
        }
    }

    /// Appends a value that `parse` made for the same type.
    pub(super) fn append(&mut self, value: &Value<'_>) {
        // `parse` has checked the range of each integer, so none is changed by the conversion.
        match self {
            Self::Int8(builder) => append!(builder, value, Value::Integer, |value: &i64| *value as i8),
            Self::Int16(builder) => append!(builder, value, Value::Integer, |value: &i64| *value as i16),
            Self::Int32(builder) => append!(builder, value, Value::Integer, |value: &i64| *value as i32),
            Self::Int64(builder) => append!(builder, value, Value::Integer, |value: &i64| *value),
            Self::Float(builder) => append!(builder, value, Value::Float, |value: &f32| *value),
            Self::Double(builder) => append!(builder, value, Value::Double, |value: &f64| *value),
            Self::Decimal(builder) => append!(builder, value, Value::Decimal, |value: &i128| *value),
            Self::WideDecimal(builder) => append!(builder, value, Value::WideDecimal, |value: &i256| *value),
            Self::Boolean(builder) => append!(builder, value, Value::Boolean, |value: &bool| *value),
            Self::Millis(builder) => append!(builder, value, Value::Instant, |value: &i64| *value),
            Self::Nanos(builder) => append!(builder, value, Value::Instant, |value: &i64| *value),
            Self::Text(builder) => match value {
                Value::Text(text) => builder.append_value(text),
                _ => builder.append_null(),
            },
            Self::Bytes(builder) => match value {
                Value::Bytes(bytes) => builder.append_value(bytes),
                _ => builder.append_null(),
            },
            // `parse` reads no array but NULL.
            Self::Nulls { count, .. } => *count += 1,
        }
    }

    /// The values so far; the collector is empty afterwards.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Int8(builder) => Arc::new(builder.finish()),
            Self::Int16(builder) => Arc::new(builder.finish()),
            Self::Int32(builder) => Arc::new(builder.finish()),
            Self::Int64(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Double(builder) => Arc::new(builder.finish()),
            Self::Decimal(builder) => Arc::new(builder.finish()),
            Self::WideDecimal(builder) => Arc::new(builder.finish()),
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Millis(builder) => Arc::new(builder.finish()),
            Self::Nanos(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Bytes(builder) => Arc::new(builder.finish()),
            Self::Nulls { data_type, count } => new_null_array(data_type, std::mem::take(count)),
        }
    }
}

#[cfg(test)]
mod tests;
