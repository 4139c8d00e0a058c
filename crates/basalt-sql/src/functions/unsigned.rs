// SPDX-License-Identifier: Apache-2.0
//! `CAST(x AS UNSIGNED_INT)` and its like: an unsigned type has Arrow's type of its signed sibling, so that a negative value has to
//! be noticed beside the CAST. As in Phoenix it is an error (201), not a value.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::plain::constant_text;
use crate::error::{SqlError, code};

/// What stands around a CAST to an unsigned type: (value, name of the type).
pub(crate) const NOT_NEGATIVE: &str = "$not_negative";

/// The function of this name.
pub(super) fn not_negative() -> ScalarUDF {
    ScalarUDF::new_from_impl(NotNegative { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NotNegative {
    signature: Signature,
}

impl ScalarUDFImpl for NotNegative {
    fn name(&self) -> &str {
        NOT_NEGATIVE
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [value, _] = args else { return exec_err!("{NOT_NEGATIVE} takes two arguments") };
        Ok(value.schema_name().to_string())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types[0].clone())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        if let Some(row) = first_negative(&values)? {
            let value = array_value_to_string(&values, row)?;
            let sql_type = constant_text(&args, 1, "the name of a type")?.unwrap_or_default();
            let message = format!("{value} is negative, and {sql_type} has no negative values");
            return Err(SqlError::coded(code::ILLEGAL_DATA, message).into());
        }
        Ok(args.args[0].clone())
    }
}

/// Numbers, and dates before 1970; NaN and -0.0 are not below zero.
fn first_negative(values: &ArrayRef) -> Result<Option<usize>> {
    let is_value = |row: &usize| values.is_valid(*row);
    Ok(match values.data_type() {
        DataType::Float32 | DataType::Float64 => {
            let numbers = cast(values, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            (0..values.len()).filter(is_value).find(|&row| numbers.value(row) < 0.0)
        }
        _ => {
            let numbers = cast(values, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            (0..values.len()).filter(is_value).find(|&row| numbers.value(row) < 0)
        }
    })
}
