// SPDX-License-Identifier: Apache-2.0
//! `/` where a side is a DECIMAL and the other one, too, or a whole number: eighteen digits behind the point, or as many as the
//! dividend has, rounded, halves away from zero. The planner's own quotient keeps four digits more than the dividend, so that
//! `1 / 3.0` is 0.3333; Phoenix has 38 digits in all, unless the dividend is a column with a scale, to which it cuts the quotient off.

use std::sync::Arc;

use basalt_sql_operators::{NoQuotient, QUOTIENT_DIGITS, quotients};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DFSchema, DataFusionError, Result, exec_err, plan_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::arithmetic::is_whole;
use crate::error::{SqlError, code};

/// Digits of a quotient behind the point.
const SCALE: i8 = 18;

/// Plans divisions of DECIMALs.
#[derive(Debug)]
pub(crate) struct ExactDivision {
    function: Arc<ScalarUDF>,
}

impl ExactDivision {
    pub(crate) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { function: Arc::new(ScalarUDF::new_from_impl(Divide { signature })) }
    }
}

impl ExprPlanner for ExactDivision {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::Divide {
            return Ok(PlannerResult::Original(expr));
        }
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let exact = as_decimal(&left).is_some() && as_decimal(&right).is_some();
        if !exact || (is_whole(&left) && is_whole(&right)) {
            return Ok(PlannerResult::Original(expr));
        }
        Ok(PlannerResult::Planned(self.function.call(vec![expr.left, expr.right])))
    }
}

/// The DECIMAL that a number is divided as.
fn as_decimal(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(..) => Some(data_type.clone()),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            Some(DataType::Decimal128(*precision, *scale))
        }
        whole if is_whole(whole) => Some(DataType::Decimal128(19, 0)),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Divide {
    signature: Signature,
}

impl ScalarUDFImpl for Divide {
    fn name(&self) -> &str {
        "$divide"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = args else { return exec_err!("{} takes two arguments", self.name()) };
        Ok(format!("{} / {}", left.schema_name(), right.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let coerced: Option<Vec<_>> = arg_types.iter().map(as_decimal).collect();
        match coerced {
            Some(coerced) => Ok(coerced),
            None => plan_err!("{} takes numbers", self.name()),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let DataType::Decimal128(_, scale) = arg_types[0] else {
            return plan_err!("{} is no DECIMAL", arg_types[0]);
        };
        Ok(DataType::Decimal128(QUOTIENT_DIGITS, scale.max(SCALE)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let wanted = args.return_type().clone();
        let (
            DataType::Decimal128(_, left_scale),
            DataType::Decimal128(_, right_scale),
            DataType::Decimal128(_, scale),
        ) = (args.args[0].data_type(), args.args[1].data_type(), &wanted)
        else {
            return exec_err!("{} got other types than it was planned with", self.name());
        };
        let (left, right) =
            (args.args[0].to_array(args.number_rows)?, args.args[1].to_array(args.number_rows)?);
        let (left, right) = (left.as_primitive::<Decimal128Type>(), right.as_primitive::<Decimal128Type>());
        // Not negative: the quotient has no fewer digits behind the point than the dividend.
        let shift = i32::from(*scale) + i32::from(right_scale) - i32::from(left_scale);
        let quotients = quotients(left, right, shift.unsigned_abs()).map_err(refused)?;
        let quotients = Arc::new(quotients.with_data_type(wanted.clone()));
        Ok(ColumnarValue::Array(quotients))
    }
}

fn refused(error: NoQuotient) -> DataFusionError {
    match error {
        NoQuotient::ByZero => ArrowError::DivideByZero.into(),
        NoQuotient::TooLarge => SqlError::coded(
            code::DATA_EXCEEDS_CAPACITY,
            "the quotient has more than 20 digits before the point",
        )
        .into(),
    }
}
