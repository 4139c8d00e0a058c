// SPDX-License-Identifier: Apache-2.0
//! `+`, `-`, `*` and `/` where a side is a DECIMAL without precision, which is a number of 256 bits here: 38 digits in all, rounded, halves away from zero, as in
//! Phoenix; what lies behind the 38th digit behind the point is cut off. The planner's own product would have 76 digits behind the point, and none before it.

use std::sync::Arc;

use basalt_hfile::typed::{DECIMAL_DEFAULT, narrowed, wide_power_of_ten, widened};
use basalt_model::types::Decimal;
use datafusion::arrow::array::{AsArray, Decimal256Array};
use datafusion::arrow::datatypes::{DataType, Decimal256Type, i256};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DFSchema, Result, exec_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::arithmetic::is_whole;
use crate::error::{SqlError, code};

const DECIMAL: DataType = DataType::Decimal256(DECIMAL_DEFAULT.0, DECIMAL_DEFAULT.1);
/// Digits that 256 bits hold of any number.
const DIGITS: u32 = DECIMAL_DEFAULT.0 as u32;

/// Plans such products and quotients.
#[derive(Debug)]
pub(crate) struct WideArithmetic {
    functions: [Arc<ScalarUDF>; 4],
}

impl WideArithmetic {
    pub(crate) fn new() -> Self {
        let function = |operation| {
            let signature = Signature::uniform(2, vec![DECIMAL], Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(Wide { operation, signature }))
        };
        use Operation::{Add, Divide, Multiply, Subtract};
        Self { functions: [Add, Subtract, Multiply, Divide].map(function) }
    }
}

impl ExprPlanner for WideArithmetic {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let function = match expr.op {
            BinaryOperator::Plus => &self.functions[0],
            BinaryOperator::Minus => &self.functions[1],
            BinaryOperator::Multiply => &self.functions[2],
            BinaryOperator::Divide => &self.functions[3],
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let is_wide = |data_type: &DataType| matches!(data_type, DataType::Decimal256(..));
        let is_exact = |data_type: &DataType| data_type.is_decimal() || is_whole(data_type);
        if !(is_wide(&left) && is_exact(&right) || is_exact(&left) && is_wide(&right)) {
            return Ok(PlannerResult::Original(expr));
        }
        let wide = |expr: Expr| expr.cast_to(&DECIMAL, schema);
        Ok(PlannerResult::Planned(function.call(vec![wide(expr.left)?, wide(expr.right)?])))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Wide {
    operation: Operation,
    signature: Signature,
}

impl ScalarUDFImpl for Wide {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => "$wide_sum",
            Operation::Subtract => "$wide_difference",
            Operation::Multiply => "$wide_product",
            Operation::Divide => "$wide_quotient",
        }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = args else { return exec_err!("{} takes two arguments", self.name()) };
        let sign = match self.operation {
            Operation::Add => "+",
            Operation::Subtract => "-",
            Operation::Multiply => "*",
            Operation::Divide => "/",
        };
        Ok(format!("{} {sign} {}", left.schema_name(), right.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DECIMAL)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (left, right) =
            (args.args[0].to_array(args.number_rows)?, args.args[1].to_array(args.number_rows)?);
        let pairs = left.as_primitive::<Decimal256Type>().iter().zip(right.as_primitive::<Decimal256Type>());
        let numbers = pairs.map(|(left, right)| {
            let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
            if self.operation == Operation::Divide && right == i256::ZERO {
                return Err(ArrowError::DivideByZero.into());
            }
            let found = match self.operation {
                Operation::Add => left.checked_add(right).and_then(number),
                Operation::Subtract => left.checked_sub(right).and_then(number),
                Operation::Multiply => both(left, right).and_then(|(left, right)| product(left, right)),
                Operation::Divide => both(left, right).and_then(|(left, right)| quotient(left, right)),
            };
            found.and_then(widened).map(Some).ok_or_else(|| self.too_large())
        });
        let numbers: Decimal256Array = numbers.collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(numbers.with_data_type(DECIMAL))))
    }
}

impl Wide {
    fn too_large(&self) -> datafusion::common::DataFusionError {
        let what = match self.operation {
            Operation::Add => "sum",
            Operation::Subtract => "difference",
            Operation::Multiply => "product",
            Operation::Divide => "quotient",
        };
        let text = format!("the {what} has more than 38 digits before the point");
        SqlError::coded(code::DATA_EXCEEDS_CAPACITY, text).into()
    }
}

pub(super) fn number(digits: i256) -> Option<Decimal> {
    narrowed(digits, DECIMAL_DEFAULT.1.into())
}

fn both(left: i256, right: i256) -> Option<(Decimal, Decimal)> {
    Some((number(left)?, number(right)?))
}

/// Factors of 38 digits have a product of 76 at most.
fn product(left: Decimal, right: Decimal) -> Option<Decimal> {
    let digits = i256::from_i128(left.unscaled).checked_mul(i256::from_i128(right.unscaled))?;
    narrowed(digits, left.scale + right.scale)
}

/// The divisor is not zero.
fn quotient(left: Decimal, right: Decimal) -> Option<Decimal> {
    let Some(longest) = left.unscaled.unsigned_abs().checked_ilog10() else {
        return Some(Decimal::new(0, 0));
    };
    // With as many zeros as there is room for: the quotient has at least 38 digits then.
    let zeros = DIGITS - 1 - longest;
    let dividend = i256::from_i128(left.unscaled).checked_mul(wide_power_of_ten(zeros)?)?;
    let divisor = i256::from_i128(right.unscaled);
    let (whole, rest) = (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?);
    // What is behind its last digit counts only where that is the last of those that are kept.
    let short = narrowed(whole, 0).is_some_and(|kept| kept.scale == 0);
    let up = short && rest.wrapping_abs() >= divisor.wrapping_abs().wrapping_sub(rest.wrapping_abs());
    let sign = if (left.unscaled < 0) == (right.unscaled < 0) { i256::ONE } else { i256::MINUS_ONE };
    let rounded = if up { whole.checked_add(sign)? } else { whole };
    narrowed(rounded, left.scale + zeros.cast_signed() - right.scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(unscaled: i128, scale: i32) -> Decimal {
        Decimal::new(unscaled, scale)
    }

    #[test]
    fn products_have_38_digits() {
        let largest = 10_i128.pow(38) - 1;
        assert_eq!(product(decimal(15, 1), decimal(-25, 2)), Some(decimal(-375, 3)));
        assert_eq!(product(decimal(largest, 0), decimal(1, 0)), Some(decimal(largest, 0)));
        assert_eq!(product(decimal(largest, 38), decimal(largest, 38)), Some(decimal(largest - 1, 38)));
        assert_eq!(product(decimal(1, 30), decimal(1, 30)), Some(decimal(1, 60)));
        assert_eq!(widened(decimal(1, 60)), Some(i256::ZERO), "behind the 38th digit behind the point");
    }

    #[test]
    fn quotients_have_38_digits() {
        let of = |left, right| quotient(left, right).expect("the divisor is not zero");
        let threes = 33_333_333_333_333_333_333_333_333_333_333_333_333_i128;
        assert_eq!(of(decimal(1, 0), decimal(3, 0)), decimal(threes, 38));
        assert_eq!(of(decimal(-2, 0), decimal(3, 0)), decimal(-2 * threes - 1, 38));
        assert_eq!(of(decimal(125, 2), decimal(5, 1)), decimal(25, 1));
        assert_eq!(of(decimal(0, 5), decimal(7, 0)), decimal(0, 0));
        assert_eq!(of(decimal(-9, 0), decimal(3, 0)), decimal(-3, 0));
        let long = 10_i128.pow(38) - 1;
        assert_eq!(of(decimal(long, 0), decimal(long, 38)), decimal(1, -38));
        assert_eq!(of(decimal(1, 0), decimal(long, 0)), decimal(10_i128.pow(37), 75));
        // 2 / 10^38-1 = 2.00…002·10^-38, cut to 38 digits: a half would have been rounded up.
        assert_eq!(of(decimal(long, 0), decimal(2, 0)), decimal(10_i128.pow(37) * 5, 0));
    }
}
