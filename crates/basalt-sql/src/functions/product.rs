// SPDX-License-Identifier: Apache-2.0
//! `*` of two DECIMALs whose product would have more digits behind the point than there is room for: rounded to twenty, or to as many as a factor has, halves away from
//! zero. The planner's own product has as many as both factors together, up to 38: nothing would be left before the point of a product of quotients. One that
//! has no more than twenty, or no more than 38 in all, is the planner's, and exact.

use std::sync::Arc;

use basalt_sql_operators::products;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type};
use datafusion::common::{DFSchema, Result, exec_err, plan_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::error::{SqlError, code};

/// Digits of a product behind the point, if it has to be rounded.
const SCALE: i8 = 20;

/// Plans such products.
#[derive(Debug)]
pub(crate) struct RoundedProducts {
    function: Arc<ScalarUDF>,
}

impl RoundedProducts {
    pub(crate) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { function: Arc::new(ScalarUDF::new_from_impl(Product { signature })) }
    }
}

impl ExprPlanner for RoundedProducts {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::Multiply {
            return Ok(PlannerResult::Original(expr));
        }
        match (expr.left.get_type(schema), expr.right.get_type(schema)) {
            (Ok(left), Ok(right)) if is_long(&left, &right) => {
                Ok(PlannerResult::Planned(self.function.call(vec![expr.left, expr.right])))
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }
}

/// True if the exact product has more than 38 digits, and more than [`SCALE`] of them behind the point.
fn is_long(left: &DataType, right: &DataType) -> bool {
    let (DataType::Decimal128(left, left_scale), DataType::Decimal128(right, right_scale)) = (left, right)
    else {
        return false;
    };
    left_scale + right_scale > SCALE && left + right + 1 > DECIMAL128_MAX_PRECISION
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Product {
    signature: Signature,
}

impl ScalarUDFImpl for Product {
    fn name(&self) -> &str {
        "$product"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = args else { return exec_err!("{} takes two arguments", self.name()) };
        Ok(format!("{} * {}", left.schema_name(), right.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let [DataType::Decimal128(_, left), DataType::Decimal128(_, right)] = arg_types else {
            return plan_err!("{} takes two DECIMALs", self.name());
        };
        let scale = SCALE.max(*left).max(*right).min(left + right);
        Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let wanted = args.return_type().clone();
        let (
            DataType::Decimal128(_, left_scale),
            DataType::Decimal128(_, right_scale),
            DataType::Decimal128(precision, scale),
        ) = (args.args[0].data_type(), args.args[1].data_type(), &wanted)
        else {
            return exec_err!("{} got other types than it was planned with", self.name());
        };
        let (left, right) =
            (args.args[0].to_array(args.number_rows)?, args.args[1].to_array(args.number_rows)?);
        let (left, right) = (left.as_primitive::<Decimal128Type>(), right.as_primitive::<Decimal128Type>());
        // Not negative: the product has no more digits behind the point than both factors together.
        let dropped = i32::from(left_scale) + i32::from(right_scale) - i32::from(*scale);
        match products(left, right, dropped.unsigned_abs()) {
            Some(products) => Ok(ColumnarValue::Array(Arc::new(products.with_data_type(wanted)))),
            None => {
                let whole = i16::from(*precision) - i16::from(*scale);
                let text = format!("the product has more than {whole} digits before the point");
                Err(SqlError::coded(code::DATA_EXCEEDS_CAPACITY, text).into())
            }
        }
    }
}
