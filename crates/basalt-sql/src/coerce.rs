// SPDX-License-Identifier: Apache-2.0
//! From the type of an expression to the type of the column that it is assigned to, as strictly as Phoenix:
//! numbers to numbers that can hold them, text to text, dates to dates, and nothing else without a CAST.
//!
//! | from \ to    | integers        | FLOAT, DOUBLE | DECIMAL          | text | binary | dates        |
//! |--------------|-----------------|---------------|------------------|------|--------|--------------|
//! | integers     | in range        | yes           | in precision     | no   | no     | no           |
//! | FLOAT, DOUBLE| no              | in range      | in precision     | no   | no     | no           |
//! | DECIMAL      | whole, in range | yes           | cut, in precision| no   | no     | no           |
//! | text         | no              | no            | no               | yes  | yes    | if it is one |
//! | dates        | no              | no            | no               | no   | no     | in range     |
//!
//! Arrays go to arrays, element by element in the same way.
//! Lengths of text and binary values are checked where they are encoded. A DECIMAL with more digits behind the
//! point than its column has is cut, not rounded.

use std::sync::Arc;

use basalt_hfile::typed::arrow_type;
use basalt_model::SqlType;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int64Array, ListArray, new_null_array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, Float32Type, Float64Type, TimeUnit};
use datafusion::arrow::util::display::array_value_to_string;

use crate::error::{SqlError, code, readable_type};
use crate::functions::{decimals, parse_instant};

/// Why a column of values cannot be assigned; `row` counts from 0 within the array.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The first value that does not fit; `None` if the types do not.
    pub(crate) row: Option<usize>,
    /// What and why.
    pub(crate) error: SqlError,
}

/// The values as the arrow type of `target`.
pub(crate) fn coerce(values: &ArrayRef, target: SqlType) -> Result<ArrayRef, Refusal> {
    let wanted = arrow_type(target);
    let found = values.data_type().clone();
    if let DataType::Dictionary(_, inner) = &found {
        let plain = cast(values, inner).map_err(|error| types_differ(&error.to_string()))?;
        return coerce(&plain, target);
    }
    match (kind(&found), kind(&wanted)) {
        (Kind::Null, _) => Ok(new_null_array(&wanted, values.len())),
        (Kind::Text, Kind::Date) => dates(values, target, &wanted),
        (Kind::Decimal, Kind::Integer) => whole(values, target, &wanted),
        (Kind::Decimal, Kind::Decimal) => cut(values, target, &wanted),
        (Kind::Float, Kind::Decimal) => exact(values, target, &wanted),
        (Kind::List, Kind::List) => lists(values, target),
        (Kind::Integer, Kind::Integer | Kind::Float | Kind::Decimal)
        | (Kind::Float, Kind::Float)
        | (Kind::Decimal, Kind::Float)
        | (Kind::Text, Kind::Text | Kind::Binary)
        | (Kind::Binary, Kind::Binary)
        | (Kind::Date, Kind::Date)
        | (Kind::Boolean, Kind::Boolean) => convert(values, target, &wanted),
        _ => Err(types_differ(&format!(
            "{target} cannot take a value of type {}{}",
            readable_type(&found),
            advice(&found, target)
        ))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Integer,
    Float,
    Decimal,
    Text,
    Binary,
    Date,
    Boolean,
    List,
    Other,
}

fn kind(data_type: &DataType) -> Kind {
    use DataType::*;
    match data_type {
        Null => Kind::Null,
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Kind::Integer,
        Float16 | Float32 | Float64 => Kind::Float,
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => Kind::Decimal,
        Utf8 | LargeUtf8 | Utf8View => Kind::Text,
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => Kind::Binary,
        Date32 | Date64 | Timestamp(..) | Time32(_) | Time64(_) => Kind::Date,
        Boolean => Kind::Boolean,
        List(_) => Kind::List,
        _ => Kind::Other,
    }
}

fn advice(found: &DataType, target: SqlType) -> String {
    match (kind(found), kind(&arrow_type(target))) {
        (Kind::Float, Kind::Integer) => "; use CAST, ROUND or FLOOR".to_owned(),
        (Kind::Text, Kind::Integer | Kind::Float | Kind::Decimal) => {
            "; leave the quotes away or use CAST".to_owned()
        }
        _ => String::new(),
    }
}

fn types_differ(message: &str) -> Refusal {
    Refusal { row: None, error: SqlError::coded(code::TYPE_MISMATCH, message) }
}

fn out_of_range(values: &ArrayRef, row: usize, target: SqlType) -> Refusal {
    let value = array_value_to_string(values, row).unwrap_or_else(|_| "the value".to_owned());
    let code =
        if matches!(target, SqlType::Decimal(_)) { code::DATA_EXCEEDS_CAPACITY } else { code::TYPE_MISMATCH };
    Refusal {
        row: Some(row),
        error: SqlError::coded(code, format!("value {value} is out of range for {target}")),
    }
}

/// Casts; a value that the cast turns into NULL did not fit.
fn convert(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    if values.data_type() == wanted && !matches!(wanted, DataType::Decimal128(..)) {
        return Ok(Arc::clone(values));
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let converted =
        cast_with_options(values, wanted, &options).map_err(|error| types_differ(&error.to_string()))?;
    if let Some(row) = first_lost(values, &converted) {
        return Err(out_of_range(values, row, target));
    }
    if kind(wanted) == Kind::Float
        && let Some(row) = first_overflow(values, &converted)
    {
        return Err(out_of_range(values, row, target));
    }
    Ok(converted)
}

/// FLOAT and DOUBLE to DECIMAL.
fn exact(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    let DataType::Decimal128(precision, scale) = *wanted else { return convert(values, target, wanted) };
    let Some(decimals) = decimals(values, precision, scale) else {
        return convert(values, target, wanted);
    };
    let decimals: ArrayRef = Arc::new(decimals);
    match first_lost(values, &decimals) {
        Some(row) => Err(out_of_range(values, row, target)),
        None => Ok(decimals),
    }
}

/// Texts that are dates.
fn dates(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    let texts = cast(values, &DataType::Utf8).map_err(|error| types_differ(&error.to_string()))?;
    let unit_nanos =
        if matches!(wanted, DataType::Timestamp(TimeUnit::Nanosecond, _)) { 1 } else { 1_000_000 };
    let mut instants = Vec::with_capacity(values.len());
    for (row, text) in texts.as_string::<i32>().iter().enumerate() {
        let instant = match text.map(|text| (text, parse_instant(text))) {
            None => None,
            Some((text, parsed)) => {
                let nanos = parsed.and_then(|nanos| i64::try_from(nanos.div_euclid(unit_nanos)).ok());
                if nanos.is_none() {
                    let message = format!("'{text}' is no {target}; it is written as yyyy-MM-dd HH:mm:ss");
                    return Err(Refusal {
                        row: Some(row),
                        error: SqlError::coded(code::TYPE_MISMATCH, message),
                    });
                }
                nanos
            }
        };
        instants.push(instant);
    }
    cast(&Int64Array::from(instants), wanted).map_err(|error| types_differ(&error.to_string()))
}

/// Arrays, element by element.
fn lists(values: &ArrayRef, target: SqlType) -> Result<ArrayRef, Refusal> {
    let (SqlType::Array(element), list) = (target, values.as_list::<i32>()) else {
        return Err(types_differ(&format!("{target} cannot take an array")));
    };
    let offsets = list.value_offsets();
    let (first, last) = (offsets[0], offsets[list.len()]);
    let elements = list.values().slice(first as usize, (last - first) as usize);
    let elements = coerce(&elements, element.into()).map_err(|refusal| {
        let row_of = |index: usize| offsets.partition_point(|&end| (end - first) as usize <= index) - 1;
        Refusal { row: refusal.row.map(row_of), error: refusal.error }
    })?;
    let offsets = OffsetBuffer::new(offsets.iter().map(|offset| offset - first).collect());
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let list = ListArray::try_new(field, offsets, elements, list.nulls().cloned());
    Ok(Arc::new(list.map_err(|error| types_differ(&error.to_string()))?))
}

fn first_lost(before: &ArrayRef, after: &ArrayRef) -> Option<usize> {
    if after.null_count() == before.null_count() {
        return None;
    }
    (0..before.len()).find(|&row| before.is_valid(row) && after.is_null(row))
}

/// DOUBLE to FLOAT turns what is too large into infinity.
fn first_overflow(before: &ArrayRef, after: &ArrayRef) -> Option<usize> {
    let (before, after) =
        (before.as_primitive_opt::<Float64Type>()?, after.as_primitive_opt::<Float32Type>()?);
    (0..before.len())
        .find(|&row| before.is_valid(row) && before.value(row).is_finite() && !after.value(row).is_finite())
}

fn as_decimal128(values: &ArrayRef) -> Result<(ArrayRef, i8), Refusal> {
    let (precision, scale) = match values.data_type() {
        DataType::Decimal128(_, scale) => return Ok((Arc::clone(values), *scale)),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => (*precision, *scale),
        DataType::Decimal256(_, scale) => (38, *scale),
        other => return Err(types_differ(&format!("{} is no decimal", readable_type(other)))),
    };
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let narrow = cast_with_options(values, &DataType::Decimal128(precision, scale), &options)
        .map_err(|error| types_differ(&error.to_string()))?;
    match first_lost(values, &narrow) {
        Some(row) => Err(out_of_range(values, row, SqlType::Decimal(None))),
        None => Ok((narrow, scale)),
    }
}

/// DECIMAL to integers: only whole numbers.
fn whole(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    let (decimals, scale) = as_decimal128(values)?;
    let decimals = decimals.as_primitive::<Decimal128Type>();
    let unit = 10_i128.checked_pow(scale.max(0).unsigned_abs().into()).unwrap_or(i128::MAX);
    let fraction = (0..decimals.len()).find(|&row| decimals.is_valid(row) && decimals.value(row) % unit != 0);
    if let Some(row) = fraction {
        let value = array_value_to_string(values, row).unwrap_or_default();
        let message = format!("{target} cannot take {value}, which is not a whole number");
        return Err(Refusal { row: Some(row), error: SqlError::coded(code::TYPE_MISMATCH, message) });
    }
    convert(values, target, wanted)
}

/// DECIMAL to DECIMAL: digits behind the scale are cut off.
fn cut(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    let DataType::Decimal128(precision, scale) = *wanted else { return convert(values, target, wanted) };
    if values.data_type() == wanted {
        return Ok(Arc::clone(values));
    }
    let (decimals, from) = as_decimal128(values)?;
    let decimals = decimals.as_primitive::<Decimal128Type>();
    let factor = 10_i128.pow(u32::from(scale.abs_diff(from)).min(38));
    let limit = 10_i128.pow(u32::from(precision));
    let rescale = |value: i128| {
        let value = if scale >= from { value.checked_mul(factor)? } else { value / factor };
        (value.abs() < limit).then_some(value)
    };
    let mut rescaled = Vec::with_capacity(decimals.len());
    for (row, value) in decimals.iter().enumerate() {
        match value.map(rescale) {
            None => rescaled.push(None),
            Some(Some(value)) => rescaled.push(Some(value)),
            Some(None) => return Err(out_of_range(values, row, target)),
        }
    }
    let array = Decimal128Array::from(rescaled).with_precision_and_scale(precision, scale);
    Ok(Arc::new(array.map_err(|error| types_differ(&error.to_string()))?))
}

#[cfg(test)]
mod tests;
