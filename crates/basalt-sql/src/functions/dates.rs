// SPDX-License-Identifier: Apache-2.0
//! Functions of dates: TO_DATE, TO_TIME, TO_TIMESTAMP, TO_CHAR, the parts YEAR to SECOND, days added to dates, and those between two.
//! DATE and TIME have milliseconds, TIMESTAMP nanoseconds; all are UTC.

use std::sync::Arc;

use chrono::{Datelike, NaiveDateTime, Timelike};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int32Array, Int64Array, StringArray, TimestampMillisecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampMillisecondType, TimestampNanosecondType,
};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::calendar::date_time;
use super::date_format::DateFormat;
use super::instant::{iso, parse_instant};
use super::number_text;
use super::plain::{Plain, constant_text, count, texts};
use super::zones::Zone;

const MILLIS: DataType = DataType::Timestamp(TimeUnit::Millisecond, None);
const NANOS: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);
const DAY_NANOS: f64 = 86_400e9;
/// Days between two dates: room for all dates that there are, and a fraction from which milliseconds can be told again.
const DAYS: DataType = DataType::Decimal128(38, DAYS_SCALE as i8);
const DAYS_SCALE: u32 = 18;

/// TO_DATE, TO_TIME and TO_TIMESTAMP: `(text[, pattern[, zone]])`.
pub(crate) fn from_text() -> [ScalarUDF; 3] {
    let coerce = |name: &str, found: &[DataType]| match found {
        // A date given as one passes.
        [DataType::Timestamp(..)] => Ok(found.to_vec()),
        _ => texts(name, found, 1, 3),
    };
    [
        Plain::function("to_date", coerce, |_| MILLIS, |args| to_instant(args, &MILLIS)),
        Plain::function("to_time", coerce, |_| MILLIS, |args| to_instant(args, &MILLIS)),
        Plain::function("to_timestamp", coerce, |_| NANOS, |args| to_instant(args, &NANOS)),
    ]
}

/// TO_CHAR(date or number[, pattern]).
pub(crate) fn to_char() -> ScalarUDF {
    let coerce = |name: &str, found: &[DataType]| {
        count(name, found, 1, 2)?;
        if !found[0].is_numeric() && !matches!(found[0], DataType::Timestamp(..) | DataType::Null) {
            return plan_err!("TO_CHAR takes dates and numbers, not {}", found[0]);
        }
        Ok([&found[..1], &vec![DataType::Utf8; found.len() - 1]].concat())
    };
    Plain::function("to_char", coerce, |_| DataType::Utf8, run_to_char)
}

/// The parts of a date, by function name.
type Part = fn(NaiveDateTime) -> u32;

/// YEAR, MONTH, WEEK, DAYOFYEAR, DAYOFMONTH, DAYOFWEEK (1 is Monday), HOUR, MINUTE, SECOND.
pub(crate) fn parts() -> [ScalarUDF; 9] {
    macro_rules! part {
        ($name:literal, $part:expr) => {
            Plain::function($name, coerce_date, |_| DataType::Int32, |args| run_part(args, $part))
        };
    }
    [
        part!("year", |date| date.year().unsigned_abs()),
        part!("month", |date| date.month()),
        part!("week", |date| date.iso_week().week()),
        part!("dayofyear", |date| date.ordinal()),
        part!("dayofmonth", |date| date.day()),
        part!("dayofweek", |date| date.weekday().number_from_monday()),
        part!("hour", |date| date.hour()),
        part!("minute", |date| date.minute()),
        part!("second", |date| date.second()),
    ]
}

fn coerce_date(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    match found {
        [DataType::Timestamp(..) | DataType::Null] => Ok(vec![MILLIS]),
        [other] => plan_err!("{} takes a date, not {other}", name.to_uppercase()),
        _ => plan_err!("{} takes one argument, not {}", name.to_uppercase(), found.len()),
    }
}

fn run_part(args: &ScalarFunctionArgs, part: Part) -> Result<ColumnarValue> {
    let dates = args.args[0].to_array(args.number_rows)?;
    let dates = dates.as_primitive::<TimestampMillisecondType>();
    let parts: Int32Array = dates.iter().map(|date| Some(part(date_time(date?)?) as i32)).collect();
    Ok(ColumnarValue::Array(Arc::new(parts)))
}

fn to_instant(args: &ScalarFunctionArgs, wanted: &DataType) -> Result<ColumnarValue> {
    let values = args.args[0].to_array(args.number_rows)?;
    if matches!(values.data_type(), DataType::Timestamp(..)) {
        return Ok(ColumnarValue::Array(cast(&values, wanted)?));
    }
    let format = match constant_text(args, 1, "a date pattern")?.map(|pattern| DateFormat::new(&pattern)) {
        None => None,
        Some(Ok(format)) => Some(format),
        Some(Err(error)) => return exec_err!("{error}"),
    };
    let zone = match constant_text(args, 2, "a time zone")?.map(|name| (Zone::named(&name), name)) {
        None => None,
        Some((Some(zone), _)) => Some(zone),
        Some((None, name)) => {
            return exec_err!("there is no time zone {name}; write Europe/Berlin or GMT+01:00");
        }
    };
    let millis = *wanted == MILLIS;
    let instants = values.as_string::<i32>().iter().map(|text| {
        let Some(text) = text else { return Ok(None) };
        let parsed = match &format {
            Some(format) => format.parse(text),
            None => iso(text).or_else(|| parse_instant(text)),
        };
        let Some(nanos) = parsed else { return exec_err!("'{text}' is no date") };
        let nanos = nanos - zone.map_or(0, |zone| zone_nanos(zone, nanos));
        let instant = if millis { nanos.div_euclid(1_000_000) } else { nanos };
        match i64::try_from(instant) {
            Ok(instant) => Ok(Some(instant)),
            Err(_) => exec_err!("'{text}' is outside the years that a TIMESTAMP covers, 1677 to 2262"),
        }
    });
    let instants: Int64Array = instants.collect::<Result<_>>()?;
    Ok(ColumnarValue::Array(cast(&(Arc::new(instants) as ArrayRef), wanted)?))
}

/// Between UTC and the clock of a zone that shows this time.
fn zone_nanos(zone: Zone, clock_nanos: i128) -> i128 {
    let clock = i64::try_from(clock_nanos.div_euclid(1_000_000)).ok().and_then(date_time);
    clock.map_or(0, |clock| i128::from(zone.offset_of_clock(clock)) * 1_000_000_000)
}

fn run_to_char(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    const STANDARD: &str = "yyyy-MM-dd HH:mm:ss.SSS";
    let values = args.args[0].to_array(args.number_rows)?;
    if !matches!(values.data_type(), DataType::Timestamp(..)) {
        return number_text::to_char(args, &values);
    }
    let pattern = constant_text(args, 1, "a date pattern")?;
    let format = match DateFormat::new(pattern.as_deref().unwrap_or(STANDARD)) {
        Ok(format) => format,
        Err(error) => return exec_err!("{error}"),
    };
    let millis = cast(&values, &MILLIS)?;
    let millis = millis.as_primitive::<TimestampMillisecondType>();
    let texts: StringArray = millis.iter().map(|value| Some(format.format(date_time(value?)?))).collect();
    Ok(ColumnarValue::Array(Arc::new(texts)))
}

/// Plans `date + days`, `days + date`, `date - days` and `date - date`; days may have a fraction.
#[derive(Debug)]
pub(crate) struct DateArithmetic {
    add: Arc<ScalarUDF>,
    subtract: Arc<ScalarUDF>,
    between: Arc<ScalarUDF>,
}

impl DateArithmetic {
    pub(crate) fn new() -> Self {
        let coerce = |_: &str, found: &[DataType]| Ok(vec![found[0].clone(), DataType::Float64]);
        let first = |found: &[DataType]| found[0].clone();
        Self {
            add: Arc::new(Plain::function("$add_days", coerce, first, |args| add_days(args, 1.0))),
            subtract: Arc::new(Plain::function("$subtract_days", coerce, first, |args| add_days(args, -1.0))),
            between: Arc::new(Plain::function("$days_between", both_alike, |_| DAYS, days_between)),
        }
    }
}

impl ExprPlanner for DateArithmetic {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_date = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Timestamp(_, None)));
        let is_number = |expr: &Expr| expr.get_type(schema).is_ok_and(|data_type| data_type.is_numeric());
        let planned = match expr.op {
            BinaryOperator::Plus if is_date(&expr.left) && is_number(&expr.right) => {
                self.add.call(vec![expr.left, expr.right])
            }
            BinaryOperator::Plus if is_number(&expr.left) && is_date(&expr.right) => {
                self.add.call(vec![expr.right, expr.left])
            }
            BinaryOperator::Minus if is_date(&expr.left) && is_number(&expr.right) => {
                self.subtract.call(vec![expr.left, expr.right])
            }
            BinaryOperator::Minus if is_date(&expr.left) && is_date(&expr.right) => {
                self.between.call(vec![expr.left, expr.right])
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(planned))
    }
}

fn both_alike(_: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    let unit = if found.contains(&NANOS) { NANOS } else { MILLIS };
    Ok(vec![unit; found.len()])
}

/// The days from the second date to the first, rounded, halves away from zero.
fn days_between(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (left, right) = (args.args[0].to_array(args.number_rows)?, args.args[1].to_array(args.number_rows)?);
    let day = if *left.data_type() == NANOS { 86_400_000_000_000 } else { 86_400_000_i128 };
    let (left, right) = (cast(&left, &DataType::Int64)?, cast(&right, &DataType::Int64)?);
    let (left, right) = (left.as_primitive::<Int64Type>(), right.as_primitive::<Int64Type>());
    let between = left.iter().zip(right).map(|(left, right)| {
        // Twice the days, so that a half is seen; 2 · 2^64 · 10^18 fits.
        let ticks = (i128::from(left?) - i128::from(right?)) * 10_i128.pow(DAYS_SCALE) * 2;
        Some((ticks / day + ticks.signum()) / 2)
    });
    let between: Decimal128Array = between.collect();
    Ok(ColumnarValue::Array(Arc::new(between.with_data_type(DAYS))))
}

fn add_days(args: &ScalarFunctionArgs, sign: f64) -> Result<ColumnarValue> {
    let dates = args.args[0].to_array(args.number_rows)?;
    let days = args.args[1].to_array(args.number_rows)?;
    let days = days.as_primitive::<Float64Type>();
    let unit_nanos = if *dates.data_type() == NANOS { 1.0 } else { 1e6 };
    let raw: ArrayRef = match dates.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Arc::new(
            dates.as_primitive::<TimestampNanosecondType>().reinterpret_cast::<TimestampMillisecondType>(),
        ),
        _ => Arc::clone(&dates),
    };
    let raw: &TimestampMillisecondArray = raw.as_primitive();
    let moved = raw.iter().zip(days.iter()).map(|(date, days)| {
        let (Some(date), Some(days)) = (date, days) else { return Ok(None) };
        let ticks = (sign * days * DAY_NANOS / unit_nanos).round();
        if ticks.abs() >= i64::MAX as f64 {
            return exec_err!("{days} days lead out of the calendar");
        }
        match date.checked_add(ticks as i64) {
            Some(moved) => Ok(Some(moved)),
            None => exec_err!("{days} days lead out of the calendar"),
        }
    });
    let moved: Int64Array = moved.collect::<Result<_>>()?;
    let moved = cast(&(Arc::new(moved) as ArrayRef), dates.data_type())?;
    if args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_))) && !moved.is_empty() {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&moved, 0)?));
    }
    Ok(ColumnarValue::Array(moved))
}
