// SPDX-License-Identifier: Apache-2.0
//! `EXISTS (SELECT list ..)` and `x IN (SELECT y ..)` of the outer row.
//!
//! EXISTS asks for rows, whatever the list is. The planner would have to tell the list's names from those of the columns that
//! conditions on the outer row compare, and refuses queries in which both have one name; so the list becomes a number under a name that no column has. For
//! the same reason the column that IN looks into gets such a name.
//!
//! Totals without GROUP BY are one row, also of nothing: EXISTS is true of them. The planner would ask for one group per outer row that has a partner. With
//! HAVING the row may go, which the planner cannot tell either: that is refused where the totals are of the outer row.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery, lit};
use datafusion::optimizer::AnalyzerRule;

/// The name of the number.
const ROW: &str = "$row";

/// The name of the column of an IN.
const MEMBER: &str = "$member";

/// The rule.
#[derive(Debug)]
pub(crate) struct SubqueryLists;

impl AnalyzerRule for SubqueryLists {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| named_member(expr)?.transform_data(without_list))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "subquery_lists"
    }
}

/// True for an aggregation without groups.
fn is_total(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty())
}

fn named_member(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::InSubquery(InSubquery { expr, subquery, negated }) = expr else {
        return Ok(Transformed::no(expr));
    };
    if subquery.outer_ref_columns.is_empty() {
        return Ok(Transformed::no(Expr::InSubquery(InSubquery { expr, subquery, negated })));
    }
    let rows = Arc::new(with_member(Arc::unwrap_or_clone(subquery.subquery))?);
    let subquery = Subquery { subquery: rows, ..subquery };
    Ok(Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated })))
}

/// The rows of a subquery of one column, under a name that no column has.
pub(super) fn with_member(rows: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(list) = &rows else { return Ok(rows) };
    let member = list.expr.iter().map(|member| member.clone().unalias().alias(MEMBER)).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(member, Arc::clone(&list.input))?))
}

fn without_list(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::Exists(Exists { subquery, negated }) = expr else { return Ok(Transformed::no(expr)) };
    let LogicalPlan::Projection(list) = subquery.subquery.as_ref() else {
        return Ok(Transformed::no(Expr::Exists(Exists { subquery, negated })));
    };
    match list.input.as_ref() {
        total if is_total(total) => return Ok(Transformed::yes(lit(!negated))),
        LogicalPlan::Filter(having) if is_total(&having.input) && !subquery.outer_ref_columns.is_empty() => {
            return not_impl_err!(
                "EXISTS of totals with HAVING, which name the outer row: compare the totals in a condition, `(SELECT COUNT(*) ..) > 1`"
            );
        }
        _ => {}
    }
    let rows = Projection::try_new(vec![lit(1_i64).alias(ROW)], Arc::clone(&list.input))?;
    let rows = Arc::new(LogicalPlan::Projection(rows));
    let outer_ref_columns = rows.all_out_ref_exprs();
    let subquery = Subquery { subquery: rows, outer_ref_columns, spans: subquery.spans };
    Ok(Transformed::yes(Expr::Exists(Exists { subquery, negated })))
}
