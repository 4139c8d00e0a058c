// SPDX-License-Identifier: Apache-2.0
//! Comparisons of what cannot be compared: a text with a number, a date with a truth value. And conditions of CASE that are none.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result as PlanResult};
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, Join, Operator};

use super::{Kind, Unlike, differ, place};
use crate::error::{SqlError, code, readable_type};
use crate::plan::Planning;

/// The refusal of an expression that is such a comparison.
pub(super) fn of(expr: &Expr, schema: &DFSchema, planning: &Planning) -> PlanResult<Option<SqlError>> {
    let check = |left: &Expr, right: &Expr| of_pair(left, right, schema, planning);
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => check(left, right),
        Expr::Between(Between { expr, low, high, .. }) => check(expr, low).or_else(|| check(expr, high)),
        Expr::InList(list) => list.list.iter().find_map(|item| check(&list.expr, item)),
        Expr::Case(Case { expr: Some(expr), when_then_expr, .. }) => {
            when_then_expr.iter().find_map(|(when, _)| check(expr, when))
        }
        Expr::Case(Case { expr: None, when_then_expr, .. }) => {
            let typed = |when: &Expr| when.get_type(schema).ok().filter(|own| Kind::of(own).is_some());
            when_then_expr.iter().find_map(|(when, _)| {
                let own = typed(when).filter(|own| *own != DataType::Boolean)?;
                let message = format!(
                    "a condition of CASE is TRUE or FALSE, not a value of type {}",
                    readable_type(&own)
                );
                Some(SqlError::coded(code::TYPE_MISMATCH, message).at(place(when, planning)))
            })
        }
        Expr::InSubquery(within) => {
            let column = within.subquery.subquery.schema().columns().into_iter().next();
            let inner = within.subquery.subquery.schema();
            let types = column.map(|column| Expr::Column(column).get_type(inner)).transpose()?;
            match (within.expr.get_type(schema), types) {
                (Ok(own), Some(other)) if differ(&own, &other) => {
                    Some(refused(Unlike { value: &within.expr, own, other, text: None }, planning))
                }
                _ => None,
            }
        }
        _ => None,
    })
}

/// The refusal of a join by such comparisons.
pub(super) fn of_join(join: &Join, schema: &DFSchema, planning: &Planning) -> Option<SqlError> {
    join.on.iter().find_map(|(left, right)| of_pair(left, right, schema, planning))
}

/// The refusal of a comparison of these two.
pub(super) fn of_pair(left: &Expr, right: &Expr, schema: &DFSchema, planning: &Planning) -> Option<SqlError> {
    Unlike::of(left, right, schema).map(|unlike| refused(unlike, planning))
}

fn compares(operator: Operator) -> bool {
    use Operator::*;
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn refused(unlike: Unlike<'_>, planning: &Planning) -> SqlError {
    unlike.refused(planning, |name, own, other| {
        format!("{name} of type {own} cannot be compared with {other}; a CAST makes one of the other")
    })
}
