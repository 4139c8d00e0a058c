// SPDX-License-Identifier: Apache-2.0
//! `x IN (1) AND x IN (2)`, where x is NULL: unknown. The planner computes the list that both have in common, and from an empty one that the
//! whole is false; in the same way `x NOT IN (1) OR x NOT IN (2)` becomes true. Where a condition's own parts are concerned that is the same, elsewhere (in a
//! select list, under NOT) it is not. There the second list gets a part that says so, and that vanishes where x cannot be NULL:
//!
//! ```text
//! x IN (1) AND x IN (2)   ->   x IN (1) AND (x IN (2) OR x IS NULL AND NULL)
//! ```

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

/// The rule, for after types were made equal.
#[derive(Debug)]
pub(crate) struct UnknownInLists;

impl AnalyzerRule for UnknownInLists {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(of_plan).data()
    }

    fn name(&self) -> &str {
        "unknown_in_lists"
    }
}

fn of_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = &plan else {
        let names = NamePreserver::new(&plan);
        let named = |expr: Expr| {
            let name = names.save(&expr);
            Ok(of_expr(expr)?.update_data(|expr| name.restore(expr)))
        };
        return plan.map_expressions(named)?.map_data(LogicalPlan::recompute_schema);
    };
    // The parts themselves may come out false.
    let parts = split_conjunction_owned(predicate.clone()).into_iter().map(of_expr);
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let changed = parts.iter().any(|part| part.transformed);
    match conjunction(parts.into_iter().map(|part| part.data)) {
        Some(predicate) if changed => {
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, Arc::clone(input))?)))
        }
        _ => Ok(Transformed::no(plan)),
    }
}

fn of_expr(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right })
                if is_of_one_value(&left, &right) =>
            {
                let right = Box::new(or_unknown(*right));
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            other => Transformed::no(other),
        })
    })
}

/// True for two lists of the same value.
fn is_of_one_value(left: &Expr, right: &Expr) -> bool {
    matches!((left, right), (Expr::InList(left), Expr::InList(right)) if left.expr == right.expr)
}

/// The same, and unknown in any case where its value is NULL.
fn or_unknown(list: Expr) -> Expr {
    let Expr::InList(InList { expr, .. }) = &list else { return list };
    let unknown = expr.clone().is_null().and(lit(ScalarValue::Boolean(None)));
    list.or(unknown)
}
