// SPDX-License-Identifier: Apache-2.0
//! From the type of an expression to the type of the column that it is assigned to, as strictly as Phoenix:
//! numbers to numbers that can hold them, text to text, dates to dates, and nothing else without a CAST.
//!
//! | from \ to    | integers        | FLOAT, DOUBLE | DECIMAL          | text | binary | dates        |
//! |--------------|-----------------|---------------|------------------|------|--------|--------------|
//! | integers     | in range        | yes           | in precision     | no   | no     | no           |
//! | FLOAT, DOUBLE| no              | in range      | cut, in precision| no   | no     | no           |
//! | DECIMAL      | whole, in range | yes           | cut, in precision| no   | no     | no           |
//! | text         | no              | no            | no               | yes  | yes    | if it is one |
//! | dates        | no              | no            | no               | no   | no     | in range     |
//!
//! Arrays go to arrays, element by element in the same way.
//! Lengths of text and binary values are checked where they are encoded. A DECIMAL with more digits behind the
//! point than its column has is cut, not rounded.

use std::sync::Arc;

use basalt_hfile::typed::{arrow_type, narrowed, widened};
use basalt_model::SqlType;
use basalt_model::types::Decimal;
use basalt_model::types::decimal::power_of_ten;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float32Array, Float64Array, Int64Array,
    ListArray, new_null_array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Field, Float32Type, Float64Type, TimeUnit,
};
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
        (Kind::Float | Kind::Decimal, Kind::Float) => convert(values, target, &wanted).map(one_zero),
        (Kind::Integer, Kind::Integer | Kind::Float | Kind::Decimal)
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
    if values.data_type() == wanted && kind(wanted) != Kind::Decimal {
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

/// FLOATs and DOUBLEs without the zero below zero, which is another value in keys and in the order of columns, and none in a comparison.
fn one_zero(values: ArrayRef) -> ArrayRef {
    if let Some(doubles) = values.as_primitive_opt::<Float64Type>() {
        let is_below = |value: &f64| *value == 0.0 && value.is_sign_negative();
        if doubles.values().iter().any(is_below) {
            let positive: Float64Array = doubles.unary(|value| value + 0.0);
            return Arc::new(positive);
        }
    } else if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
        let is_below = |value: &f32| *value == 0.0 && value.is_sign_negative();
        if floats.values().iter().any(is_below) {
            let positive: Float32Array = floats.unary(|value| value + 0.0);
            return Arc::new(positive);
        }
    }
    values
}

/// FLOAT and DOUBLE to DECIMAL: the digits that the number is shown with, of which those behind the scale are cut off.
fn exact(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    let all = arrow_type(SqlType::Decimal(None));
    let Some(decimals) = decimals(values, &all) else { return convert(values, target, wanted) };
    match first_lost(values, &decimals) {
        Some(row) => Err(out_of_range(values, row, target)),
        None => cut(&decimals, target, wanted),
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

/// DECIMALs of any kind, each as the number that it is.
fn numbers(values: &ArrayRef) -> Result<Vec<Option<Decimal>>, Refusal> {
    let (precision, scale) = match values.data_type() {
        DataType::Decimal128(_, scale) => {
            let number = |digits| Decimal::new(digits, i32::from(*scale));
            let values = values.as_primitive::<Decimal128Type>();
            return Ok(values.iter().map(|digits| digits.map(number)).collect());
        }
        DataType::Decimal256(_, scale) => {
            let values_256 = values.as_primitive::<Decimal256Type>();
            let number = |(row, digits): (usize, Option<_>)| match digits
                .map(|digits| narrowed(digits, i32::from(*scale)))
            {
                None => Ok(None),
                Some(Some(number)) => Ok(Some(number)),
                Some(None) => Err(out_of_range(values, row, SqlType::Decimal(None))),
            };
            return values_256.iter().enumerate().map(number).collect();
        }
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => (*precision, *scale),
        other => return Err(types_differ(&format!("{} is no decimal", readable_type(other)))),
    };
    let wide = cast(values, &DataType::Decimal128(precision, scale));
    numbers(&wide.map_err(|error| types_differ(&error.to_string()))?)
}

/// DECIMAL to integers: only whole numbers.
fn whole(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    let is_whole = |number: Decimal| {
        let unit = u32::try_from(number.scale).ok().map(|scale| power_of_ten(scale).unwrap_or(i128::MAX));
        unit.is_none_or(|unit| number.unscaled % unit == 0)
    };
    let fraction =
        numbers(values)?.into_iter().position(|number| number.is_some_and(|number| !is_whole(number)));
    if let Some(row) = fraction {
        let value = array_value_to_string(values, row).unwrap_or_default();
        let message = format!("{target} cannot take {value}, which is not a whole number");
        return Err(Refusal { row: Some(row), error: SqlError::coded(code::TYPE_MISMATCH, message) });
    }
    convert(values, target, wanted)
}

/// DECIMAL to DECIMAL: digits behind the scale are cut off.
fn cut(values: &ArrayRef, target: SqlType, wanted: &DataType) -> Result<ArrayRef, Refusal> {
    if values.data_type() == wanted {
        return Ok(Arc::clone(values));
    }
    let numbers = numbers(values)?;
    let array: ArrayRef = match *wanted {
        DataType::Decimal128(precision, scale) => {
            let limit = 10_u128.pow(u32::from(precision));
            let rescaled = |number: Decimal| {
                number.rescale(i32::from(scale)).filter(|digits| digits.unsigned_abs() < limit)
            };
            let array: Decimal128Array = all(values, target, numbers, rescaled)?.into();
            Arc::new(array.with_data_type(wanted.clone()))
        }
        DataType::Decimal256(..) => {
            let array: Decimal256Array = all(values, target, numbers, widened)?.into();
            Arc::new(array.with_data_type(wanted.clone()))
        }
        _ => return convert(values, target, wanted),
    };
    Ok(array)
}

/// What becomes of each number; the first one of which nothing does is refused.
fn all<T>(
    values: &ArrayRef,
    target: SqlType,
    numbers: Vec<Option<Decimal>>,
    digits: impl Fn(Decimal) -> Option<T>,
) -> Result<Vec<Option<T>>, Refusal> {
    let of = |(row, number): (usize, Option<Decimal>)| match number.map(&digits) {
        None => Ok(None),
        Some(Some(digits)) => Ok(Some(digits)),
        Some(None) => Err(out_of_range(values, row, target)),
    };
    numbers.into_iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests;
