// SPDX-License-Identifier: Apache-2.0
//! SQRT and POWER by the rules of IEEE 754, as in Phoenix and as LN, LOG and EXP here: the root of a negative number is not a number, zero
//! to a negative power is infinite. The planner's own make the statement fail.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::{binary, unary};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use datafusion::scalar::ScalarValue;

use super::plain::{Plain, count};

/// Both.
pub(super) fn functions() -> [ScalarUDF; 2] {
    [
        Plain::function("sqrt", |name, found| numbers(name, found, 1), |_| DataType::Float64, sqrt),
        Plain::function("power", |name, found| numbers(name, found, 2), |_| DataType::Float64, power),
    ]
}

fn numbers(name: &str, found: &[DataType], wanted: usize) -> Result<Vec<DataType>> {
    count(name, found, wanted, wanted)?;
    if let Some(other) = found.iter().find(|data_type| !data_type.is_numeric() && !data_type.is_null()) {
        return plan_err!("{} takes numbers, not {other}", name.to_uppercase());
    }
    Ok(vec![DataType::Float64; wanted])
}

fn sqrt(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let values = arrays(args)?;
    let roots: Float64Array = unary(values[0].as_primitive::<Float64Type>(), f64::sqrt);
    answer(args, roots)
}

fn power(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let values = arrays(args)?;
    let [base, exponent] = [values[0].as_primitive::<Float64Type>(), values[1].as_primitive::<Float64Type>()];
    answer(args, binary(base, exponent, f64::powf)?)
}

/// The arguments as long as each other.
fn arrays(args: &ScalarFunctionArgs) -> Result<Vec<ArrayRef>> {
    ColumnarValue::values_to_arrays(&args.args)
}

/// One value, if all arguments are.
fn answer(args: &ScalarFunctionArgs, values: Float64Array) -> Result<ColumnarValue> {
    if args.args.iter().any(|argument| matches!(argument, ColumnarValue::Array(_))) {
        return Ok(ColumnarValue::Array(Arc::new(values)));
    }
    ScalarValue::try_from_array(&values, 0).map(ColumnarValue::Scalar)
}
