// SPDX-License-Identifier: Apache-2.0
//! TO_NUMBER, and TO_CHAR of numbers.

use std::sync::Arc;

use basalt_hfile::typed::DECIMAL_DEFAULT;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal256Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::cast_utils::parse_decimal;
use datafusion::arrow::datatypes::{DataType, Decimal256Type, TimeUnit};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::number_format::{NumberFormat, STANDARD};
use super::plain::{Plain, constant_text, count, is_text};
use crate::error::{SqlError, code};

const DECIMAL: DataType = DataType::Decimal256(DECIMAL_DEFAULT.0, DECIMAL_DEFAULT.1);

/// TO_NUMBER(text[, pattern]), and of dates the milliseconds since 1970.
pub(super) fn to_number() -> ScalarUDF {
    let coerce = |name: &str, found: &[DataType]| {
        count(name, found, 1, 2)?;
        let value = match &found[0] {
            text if is_text(text) => DataType::Utf8,
            DataType::Timestamp(..) => DataType::Timestamp(TimeUnit::Millisecond, None),
            other => return plan_err!("TO_NUMBER takes texts and dates, not {other}"),
        };
        Ok([vec![value], vec![DataType::Utf8; found.len() - 1]].concat())
    };
    Plain::function("to_number", coerce, |_| DECIMAL, run_to_number)
}

fn run_to_number(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let values = args.args[0].to_array(args.number_rows)?;
    if matches!(values.data_type(), DataType::Timestamp(..)) {
        return Ok(ColumnarValue::Array(cast(&cast(&values, &DataType::Int64)?, &DECIMAL)?));
    }
    let format = format(args)?;
    let numbers = values.as_string::<i32>().iter().map(|text| {
        let Some(text) = text else { return Ok(None) };
        let digits = match &format {
            Some(format) => format.parse(text),
            None => Some(text.trim().to_owned()),
        };
        match digits.and_then(|digits| {
            parse_decimal::<Decimal256Type>(&digits, DECIMAL_DEFAULT.0, DECIMAL_DEFAULT.1).ok()
        }) {
            Some(number) => Ok(Some(number)),
            None => Err(SqlError::coded(code::ILLEGAL_DATA, format!("'{text}' is no number")).into()),
        }
    });
    let numbers: Decimal256Array = numbers.collect::<Result<_>>()?;
    Ok(ColumnarValue::Array(Arc::new(numbers.with_data_type(DECIMAL))))
}

fn format(args: &ScalarFunctionArgs) -> Result<Option<NumberFormat>> {
    match constant_text(args, 1, "a number pattern")?.map(|pattern| NumberFormat::new(&pattern)) {
        None => Ok(None),
        Some(Ok(format)) => Ok(Some(format)),
        Some(Err(error)) => exec_err!("{error}"),
    }
}

/// Without an exponent; what is infinite as it is read and shown elsewhere.
fn shortest(value: f64) -> String {
    match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        other => other.to_string(),
    }
}

/// TO_CHAR of numbers.
pub(super) fn to_char(args: &ScalarFunctionArgs, numbers: &ArrayRef) -> Result<ColumnarValue> {
    let format = match format(args)? {
        Some(format) => format,
        None => NumberFormat::new(STANDARD).expect("it is one"),
    };
    // Floating-point numbers in their shortest form, never with an exponent.
    let written: Vec<Option<String>> = match numbers.data_type() {
        DataType::Float32 | DataType::Float64 => {
            let doubles = cast(numbers, &DataType::Float64)?;
            let doubles = doubles.as_primitive::<datafusion::arrow::datatypes::Float64Type>();
            doubles.iter().map(|value| value.map(shortest)).collect()
        }
        _ => {
            let texts = cast(numbers, &DataType::Utf8)?;
            texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
        }
    };
    let is_finite = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b".-+".contains(&byte));
    let texts = written
        .into_iter()
        .map(|number| number.map(|number| if is_finite(&number) { format.format(&number) } else { number }));
    Ok(ColumnarValue::Array(Arc::new(texts.collect::<StringArray>())))
}
