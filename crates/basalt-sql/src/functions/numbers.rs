// SPDX-License-Identifier: Apache-2.0
//! Numbers as Phoenix takes them, before types are coerced.
//!
//! Literals like `0.5` beside FLOAT and DOUBLE are DECIMAL by themselves, and the planner would turn the *column*
//! into a DECIMAL of few digits to compare the two, which is slow and fails for a value like 1e18. Here the literal
//! becomes a floating-point number of the column's type instead, and so does a column of DECIMALs that is compared with it. A CAST of a DECIMAL to an integer rounds, halves
//! away from zero, where the planner's cuts off; one of a floating-point number to a DECIMAL keeps the digits that the
//! number is shown with ([`super::exact`]). The negative of a whole number is a BIGINT, and checked.

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type,
    DecimalType, TimeUnit,
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

/// The rule before types are coerced.
#[derive(Debug, Default)]
pub(crate) struct PhoenixNumbers;

/// The rule for what coercion brings: casts between floating-point numbers and DECIMALs of 256 bits, of whose 38 digits behind the point Arrow's casts
/// make others, and of such DECIMALs to texts, to which Arrow's casts write all 38.
#[derive(Debug, Default)]
pub(crate) struct WideCasts;

impl AnalyzerRule for PhoenixNumbers {
    fn name(&self) -> &str {
        "phoenix_numbers"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| rewrite_plan(plan, rewrite)).map(|rewritten| rewritten.data)
    }
}

impl AnalyzerRule for WideCasts {
    fn name(&self) -> &str {
        "wide_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| rewrite_plan(plan, exact_cast))
            .map(|rewritten| rewritten.data)
    }
}

pub(super) fn rewrite_plan(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
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
            let compares = op.negate().is_some();
            let beside = |expr: Expr, float: &Expr, data_type: &DataType| {
                if compares && !matches!(float, Expr::Literal(..)) {
                    compared(expr, data_type, schema)
                } else {
                    as_float(expr, data_type)
                }
            };
            let (left, right) = match (float(&left), float(&right)) {
                (Some(data_type), None) => {
                    let right = beside(*right, &left, &data_type);
                    (left, Box::new(right))
                }
                (None, Some(data_type)) => (Box::new(beside(*left, &right, &data_type)), right),
                _ => return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
            };
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right })))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let Some(data_type) = float(&expr) else {
                return Ok(Transformed::no(Expr::Between(Between { expr, negated, low, high })));
            };
            let (low, high) = (compared(*low, &data_type, schema), compared(*high, &data_type, schema));
            let (low, high) = (Box::new(low), Box::new(high));
            Ok(Transformed::yes(Expr::Between(Between { expr, negated, low, high })))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let Some(data_type) = float(&expr) else {
                return Ok(Transformed::no(Expr::InList(InList { expr, list, negated })));
            };
            let list = list.into_iter().map(|item| compared(item, &data_type, schema)).collect();
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
        Expr::Cast(cast)
            if matches!(cast.field.data_type(), DataType::Decimal128(..) | DataType::Decimal256(..)) =>
        {
            match cast.expr.get_type(schema)? {
                DataType::Float32 | DataType::Float64 => Ok(Transformed::yes(exact::cast(cast))),
                _ => Ok(Transformed::no(Expr::Cast(cast))),
            }
        }
        Expr::Cast(cast) if cast.field.data_type().is_integer() => to_whole(cast, schema),
        expr => Ok(Transformed::no(expr)),
    }
}

/// A CAST to an integer: DECIMALs are rounded first, dates are milliseconds.
fn to_whole(cast: Cast, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let first = match cast.expr.get_type(schema)? {
        DataType::Decimal128(_, 1..) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0),
        DataType::Decimal256(_, 1..) => DataType::Decimal256(DECIMAL256_MAX_PRECISION, 0),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone),
        _ => return Ok(Transformed::no(Expr::Cast(cast))),
    };
    let first = Expr::Cast(Cast::new(cast.expr, first));
    Ok(Transformed::yes(Expr::Cast(Cast { expr: Box::new(first), field: cast.field })))
}

/// A cast that [`exact`] does better; anything else as it is.
fn exact_cast(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::Cast(cast) = expr else { return Ok(Transformed::no(expr)) };
    let (from, to) = (cast.expr.get_type(schema)?, cast.field.data_type());
    Ok(match (from.is_floating(), to.is_floating()) {
        (true, false) if matches!(to, DataType::Decimal256(..)) => Transformed::yes(exact::cast(cast)),
        (false, true) if matches!(from, DataType::Decimal256(..)) => Transformed::yes(exact::cast(cast)),
        _ if matches!(from, DataType::Decimal256(..)) && to.is_string() => {
            Transformed::yes(exact::cast(cast))
        }
        _ => Transformed::no(Expr::Cast(cast)),
    })
}

/// A DECIMAL, whether a literal or not, as the nearest number of the type; anything else as it is.
pub(super) fn compared(expr: Expr, data_type: &DataType, schema: &DFSchema) -> Expr {
    let expr = as_float(expr, data_type);
    match expr.get_type(schema) {
        Ok(DataType::Decimal128(..) | DataType::Decimal256(..)) => {
            exact::cast(Cast::new(Box::new(expr), data_type.clone()))
        }
        _ => expr,
    }
}

/// A DECIMAL literal as the nearest number of the type; anything else as it is.
fn as_float(expr: Expr, data_type: &DataType) -> Expr {
    let text = match &expr {
        Expr::Literal(ScalarValue::Decimal128(Some(value), precision, scale), _) => {
            Decimal128Type::format_decimal(*value, *precision, *scale)
        }
        Expr::Literal(ScalarValue::Decimal256(Some(value), precision, scale), _) => {
            Decimal256Type::format_decimal(*value, *precision, *scale)
        }
        Expr::Negative(inner) if is_decimal(inner) => {
            return Expr::Negative(Box::new(as_float(inner.as_ref().clone(), data_type)));
        }
        _ => return expr,
    };
    match data_type {
        DataType::Float32 => text.parse::<f32>().map(lit).unwrap_or(expr),
        _ => text.parse::<f64>().map(lit).unwrap_or(expr),
    }
}

fn is_decimal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Decimal128(..) | ScalarValue::Decimal256(..), _))
}
