// SPDX-License-Identifier: Apache-2.0
//! Equalities of something computed of a subquery's row with something of the outer row, below totals.
//!
//! ```text
//! (SELECT COUNT(*) FROM b WHERE CAST(b.d AS DOUBLE) = o.f)
//!     ->  the groups of b by CAST(b.d AS DOUBLE), of which the outer row finds the one whose value is o.f
//! ```
//!
//! Grouped by `b.d` it would find one for each `d` that is cast to this value.

use datafusion::common::DFSchema;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

/// True of what can be asked of a group instead of its rows.
pub(crate) fn is_equality(part: &Expr) -> bool {
    inner_side(part).is_some()
}

/// The side of such an equality that is of the subquery's row, unless a column says as much.
pub(super) fn computed_side<'a>(part: &'a Expr, schema: &DFSchema) -> Option<&'a Expr> {
    inner_side(part).filter(|side| match side {
        Expr::Column(_) => false,
        Expr::Cast(cast) if matches!(*cast.expr, Expr::Column(_)) => {
            let to = cast.field.data_type();
            // Each integer is cast to another number, or is an error.
            !cast.expr.get_type(schema).is_ok_and(|from| {
                from.is_integer() && (to.is_integer() || to.is_decimal())
                    || from.is_string() && to.is_string()
            })
        }
        _ => true,
    })
}

/// True if conditions on the outer row below totals compute something.
pub(super) fn computes(plan: &LogicalPlan) -> bool {
    let mut steps = vec![(plan, false)];
    while let Some((step, has_totals)) = steps.pop() {
        match step {
            LogicalPlan::Subquery(_) => continue,
            LogicalPlan::Filter(filter) if has_totals => {
                let schema = filter.input.schema();
                if split_conjunction(&filter.predicate)
                    .into_iter()
                    .any(|part| part.contains_outer() && computed_side(part, schema).is_some())
                {
                    return true;
                }
            }
            _ => {}
        }
        let has_totals = has_totals || is_totals(step);
        steps.extend(step.inputs().into_iter().map(|input| (input, has_totals)));
    }
    false
}

/// True of groups with totals, or totals alone.
pub(super) fn is_totals(step: &LogicalPlan) -> bool {
    matches!(step, LogicalPlan::Aggregate(aggregate) if !aggregate.aggr_expr.is_empty())
}

/// The side of an equality that is of the subquery's row alone, if the other is of the outer row alone.
fn inner_side(part: &Expr) -> Option<&Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = part else { return None };
    let is_inner = |side: &Expr| side.any_column_refs() && !side.contains_outer() && !side.is_volatile();
    [(left, right), (right, left)]
        .into_iter()
        .find(|(side, other)| is_inner(side) && !other.any_column_refs())
        .map(|(side, _)| side.as_ref())
}
