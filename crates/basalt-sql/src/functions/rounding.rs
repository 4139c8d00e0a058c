// SPDX-License-Identifier: Apache-2.0
//! ROUND, CEIL, FLOOR and TRUNC of numbers (to digits behind the point) and of dates (to a unit of time), as
//! Phoenix has them: `ROUND(n[, scale])`, `ROUND(d, 'HOUR'[, multiplier])`, which is a DATE, also of a TIMESTAMP unless it is rounded to milliseconds. Halves go away from zero, and TRUNC is FLOOR.

use std::sync::Arc;

use basalt_hfile::typed::wide_power_of_ten;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, TimestampMillisecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, TimeUnit,
    TimestampMillisecondType, TimestampNanosecondType, i256,
};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::calendar::Unit;
use super::plain::{Plain, constant_text, count, is_text};

/// Which neighbour is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    Nearest,
    Up,
    Down,
}

/// ROUND, CEIL, FLOOR and TRUNC.
pub(crate) fn functions() -> [ScalarUDF; 4] {
    [
        Plain::by_literals("round", coerce, return_type, |args| run(args, Toward::Nearest)),
        Plain::by_literals("ceil", coerce, return_type, |args| run(args, Toward::Up)),
        Plain::by_literals("floor", coerce, return_type, |args| run(args, Toward::Down)),
        Plain::by_literals("trunc", coerce, return_type, |args| run(args, Toward::Down)),
    ]
}

fn coerce(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 1, 3)?;
    let upper = name.to_uppercase();
    let mut wanted = vec![match &found[0] {
        timestamp @ DataType::Timestamp(..) => timestamp.clone(),
        decimal @ (DataType::Decimal128(..) | DataType::Decimal256(..)) => decimal.clone(),
        integer if integer.is_integer() => DataType::Int64,
        DataType::Float32 | DataType::Float64 | DataType::Null => DataType::Float64,
        other => return plan_err!("{upper} takes numbers and dates, not {other}"),
    }];
    let is_date = matches!(found[0], DataType::Timestamp(..));
    match found.get(1) {
        None if is_date => return plan_err!("{upper} of a date needs a unit such as 'DAY'"),
        None => {}
        Some(unit) if is_date && is_text(unit) => wanted.push(DataType::Utf8),
        Some(scale) if !is_date && scale.is_integer() => wanted.push(DataType::Int64),
        Some(other) => return plan_err!("the second argument of {upper} cannot be of type {other}"),
    }
    if found.len() == 3 {
        if !is_date {
            return plan_err!("{upper} of a number takes one or two arguments");
        }
        wanted.push(DataType::Int64);
    }
    Ok(wanted)
}

/// Rounding 9.5 gives 10, and 0.5 gives 1: one digit more before the point. Dates and times give a DATE, but a TIMESTAMP
/// that is rounded to milliseconds stays one.
fn return_type(found: &[DataType], literals: &[Option<&ScalarValue>]) -> DataType {
    let unit = literals.get(1).copied().flatten().and_then(|unit| unit.try_as_str().flatten());
    let to_millis = unit.is_some_and(|unit| unit.parse() == Ok(Unit::Millis(1)));
    match &found[0] {
        DataType::Decimal128(precision, scale) => {
            DataType::Decimal128((precision + 1).min(DECIMAL128_MAX_PRECISION), *scale)
        }
        DataType::Timestamp(..) if !to_millis => DataType::Timestamp(TimeUnit::Millisecond, None),
        other => other.clone(),
    }
}

fn run(args: &ScalarFunctionArgs, toward: Toward) -> Result<ColumnarValue> {
    let values = args.args[0].to_array(args.number_rows)?;
    let values_type = values.data_type();
    let rounded: ArrayRef = match values_type {
        DataType::Timestamp(..) => round_dates(args, &values, toward)?,
        DataType::Decimal128(_, scale) => {
            let digits = digits(args)?;
            let step = match i64::from(*scale) - digits {
                extra @ 1..=37 => 10_i128.pow(extra.unsigned_abs() as u32),
                _ => 1,
            };
            let decimals = values.as_primitive::<Decimal128Type>();
            let rounded: Decimal128Array = decimals.unary(|value| nearest_multiple(value, step, toward));
            Arc::new(rounded.with_data_type(return_type(std::slice::from_ref(values_type), &[])))
        }
        DataType::Decimal256(_, scale) => {
            let extra = u32::try_from(i64::from(*scale) - digits(args)?).unwrap_or(0);
            let step = wide_power_of_ten(extra).unwrap_or(i256::ONE);
            let decimals = values.as_primitive::<Decimal256Type>();
            let rounded: Decimal256Array = decimals.unary(|value| nearest_wide_multiple(value, step, toward));
            Arc::new(rounded.with_data_type(values_type.clone()))
        }
        DataType::Float64 => {
            let factor = 10_f64.powi(i32::try_from(digits(args)?).unwrap_or(0));
            let rounded: Float64Array = values.as_primitive::<Float64Type>().unary(|value| {
                let scaled = value * factor;
                let rounded = match toward {
                    Toward::Nearest => scaled.round(),
                    Toward::Up => scaled.ceil(),
                    Toward::Down => scaled.floor(),
                };
                // Beyond what a DOUBLE counts exactly there is nothing behind the point.
                if scaled.is_finite() { rounded / factor } else { value }
            });
            Arc::new(rounded)
        }
        _ => values,
    };
    Ok(ColumnarValue::Array(rounded))
}

/// Digits behind the point that stay.
fn digits(args: &ScalarFunctionArgs) -> Result<i64> {
    match args.args.get(1) {
        None => Ok(0),
        Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(digits)))) if *digits >= 0 => Ok(*digits),
        Some(_) => exec_err!("the digits to round to must be a literal and at least 0"),
    }
}

/// The multiple of `step` next to `value`; `step` is positive.
fn nearest_multiple(value: i128, step: i128, toward: Toward) -> i128 {
    let below = value.div_euclid(step);
    let rest = value.rem_euclid(step);
    let up = match toward {
        Toward::Down => false,
        Toward::Up => rest > 0,
        Toward::Nearest if value < 0 => rest * 2 > step,
        Toward::Nearest => rest * 2 >= step,
    };
    (below + i128::from(up)) * step
}

/// The same in 256 bits.
fn nearest_wide_multiple(value: i256, step: i256, toward: Toward) -> i256 {
    let rest = value.wrapping_rem(step);
    let rest = if rest.is_negative() { rest.wrapping_add(step) } else { rest };
    let below = value.wrapping_sub(rest);
    let to_next = step.wrapping_sub(rest);
    let up = match toward {
        Toward::Down => false,
        Toward::Up => rest > i256::ZERO,
        Toward::Nearest if value.is_negative() => rest > to_next,
        Toward::Nearest => rest >= to_next,
    };
    if up { below.wrapping_add(step) } else { below }
}

fn round_dates(args: &ScalarFunctionArgs, values: &ArrayRef, toward: Toward) -> Result<ArrayRef> {
    let Some(name) = constant_text(args, 1, "a unit of time")? else {
        return exec_err!("a unit of time is missing");
    };
    let unit = match name.parse::<Unit>() {
        Ok(unit) => unit,
        Err(error) => return exec_err!("{error}"),
    };
    let multiplier = match args.args.get(2) {
        None => 1,
        Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(multiplier)))) if *multiplier > 0 => *multiplier,
        Some(_) => return exec_err!("the multiplier of a unit must be a literal and at least 1"),
    };
    let nanoseconds = matches!(values.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _));
    let millis: TimestampMillisecondArray = match nanoseconds {
        true => values.as_primitive::<TimestampNanosecondType>().unary(|nanos| nanos.div_euclid(1_000_000)),
        false => values.as_primitive::<TimestampMillisecondType>().clone(),
    };
    // What a cast to milliseconds drops still counts: all of it for CEIL, half of one for ROUND to milliseconds.
    let rest = |row: usize| match nanoseconds {
        true => values.as_primitive::<TimestampNanosecondType>().value(row).rem_euclid(1_000_000),
        false => 0,
    };
    let counts = |row: usize| match toward {
        Toward::Up => rest(row) > 0,
        Toward::Nearest => unit == Unit::Millis(1) && multiplier == 1 && rest(row) >= 500_000,
        Toward::Down => false,
    };
    let rounded = (0..millis.len()).map(|row| {
        let value = millis.is_valid(row).then(|| millis.value(row))?;
        // Rounded up already, where milliseconds are the unit.
        Some(unit.round(value + i64::from(counts(row)), multiplier, toward))
    });
    let rounded: ArrayRef =
        Arc::new(datafusion::arrow::array::PrimitiveArray::<Int64Type>::from_iter(rounded));
    let rounded = cast(&rounded, &DataType::Timestamp(TimeUnit::Millisecond, None))?;
    Ok(cast(&rounded, args.return_field.data_type())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        let round = |value| nearest_multiple(value, 10, Toward::Nearest);
        assert_eq!([25, -25, 24, -24, 26, -26, 35].map(round), [30, -30, 20, -20, 30, -30, 40]);
        assert_eq!(nearest_multiple(-123_456, 10, Toward::Down), -123_460);
        assert_eq!(nearest_multiple(-123_456, 10, Toward::Up), -123_450);
        assert_eq!(nearest_multiple(120, 10, Toward::Up), 120);
    }

    #[test]
    fn wide_numbers_are_rounded_as_others_are() {
        let wide = i256::from_i128;
        for (value, step) in (-45..45).flat_map(|value| [1, 3, 10].map(|step| (value, step))) {
            for toward in [Toward::Nearest, Toward::Up, Toward::Down] {
                let rounded = nearest_wide_multiple(wide(value), wide(step), toward);
                assert_eq!(
                    rounded,
                    wide(nearest_multiple(value, step, toward)),
                    "{value} by {step}, {toward:?}"
                );
            }
        }
    }
}
