// SPDX-License-Identifier: Apache-2.0
//! Numbers as Phoenix takes them, before types are coerced.
//!
//! Literals like `0.5` beside FLOAT and DOUBLE are DECIMAL by themselves, and the planner would turn the *column*
//! into a DECIMAL of few digits to compare the two, which is slow and fails for a value like 1e18. Here the literal
//! becomes a floating-point number of the column's type instead. A CAST of a DECIMAL to an integer rounds, halves
//! away from zero, where the planner's cuts off; one of a floating-point number to a DECIMAL keeps the digits that the
//! number is shown with ([`super::exact`]). The negative of a whole number is a BIGINT, and checked.

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, DecimalType, TimeUnit,
};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Cast, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, lit};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use super::arithmetic::{is_whole, negated};
use super::exact;

/// The rule.
#[derive(Debug, Default)]
pub(crate) struct PhoenixNumbers;

impl AnalyzerRule for PhoenixNumbers {
    fn name(&self) -> &str {
        "phoenix_numbers"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(rewrite_plan).map(|rewritten| rewritten.data)
    }
}

fn rewrite_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if matches!(plan, LogicalPlan::TableScan(_) | LogicalPlan::Extension(_) | LogicalPlan::Values(_)) {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    let preserver = NamePreserver::new(&plan);
    let rewritten = plan.map_expressions(|expr| {
        let name = preserver.save(&expr);
        let rewritten = expr.transform_up(|expr| rewrite(expr, &schema))?;
        Ok(rewritten.update_data(|expr| name.restore(expr)))
    })?;
    if rewritten.transformed { rewritten.map_data(LogicalPlan::recompute_schema) } else { Ok(rewritten) }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let float = |expr: &Expr| {
        expr.get_type(schema).ok().filter(|found| matches!(found, DataType::Float32 | DataType::Float64))
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = match (float(&left), float(&right)) {
                (Some(data_type), None) => (left, Box::new(as_float(*right, &data_type))),
                (None, Some(data_type)) => (Box::new(as_float(*left, &data_type)), right),
                _ => return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
            };
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right })))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let Some(data_type) = float(&expr) else {
                return Ok(Transformed::no(Expr::Between(Between { expr, negated, low, high })));
            };
            let (low, high) = (Box::new(as_float(*low, &data_type)), Box::new(as_float(*high, &data_type)));
            Ok(Transformed::yes(Expr::Between(Between { expr, negated, low, high })))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let Some(data_type) = float(&expr) else {
                return Ok(Transformed::no(Expr::InList(InList { expr, list, negated })));
            };
            let list = list.into_iter().map(|item| as_float(item, &data_type)).collect();
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        Expr::Negative(inner) if inner.get_type(schema).is_ok_and(|found| is_whole(&found)) => {
            Ok(Transformed::yes(negated(*inner)))
        }
        // The planner reads a whole number as seconds; here it is milliseconds, as in a DATE.
        Expr::Cast(cast) if matches!(cast.field.data_type(), DataType::Timestamp(TimeUnit::Second, _)) => {
            let millis = DataType::Timestamp(TimeUnit::Millisecond, None);
            Ok(Transformed::yes(Expr::Cast(Cast::new(cast.expr, millis))))
        }
        Expr::Cast(cast) if matches!(cast.field.data_type(), DataType::Decimal128(..)) => {
            match cast.expr.get_type(schema)? {
                DataType::Float32 | DataType::Float64 => Ok(Transformed::yes(exact::decimal(cast))),
                _ => Ok(Transformed::no(Expr::Cast(cast))),
            }
        }
        Expr::Cast(cast) if cast.field.data_type().is_integer() => {
            let DataType::Decimal128(_, 1..) = cast.expr.get_type(schema)? else {
                return Ok(Transformed::no(Expr::Cast(cast)));
            };
            let whole = Expr::Cast(Cast::new(cast.expr, DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0)));
            Ok(Transformed::yes(Expr::Cast(Cast { expr: Box::new(whole), field: cast.field })))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

/// A DECIMAL literal as the nearest number of the type; anything else as it is.
fn as_float(expr: Expr, data_type: &DataType) -> Expr {
    match &expr {
        Expr::Literal(ScalarValue::Decimal128(Some(value), precision, scale), _) => {
            let text = Decimal128Type::format_decimal(*value, *precision, *scale);
            match data_type {
                DataType::Float32 => text.parse::<f32>().map(lit).unwrap_or(expr),
                _ => text.parse::<f64>().map(lit).unwrap_or(expr),
            }
        }
        Expr::Negative(inner) if matches!(inner.as_ref(), Expr::Literal(ScalarValue::Decimal128(..), _)) => {
            Expr::Negative(Box::new(as_float(inner.as_ref().clone(), data_type)))
        }
        _ => expr,
    }
}
