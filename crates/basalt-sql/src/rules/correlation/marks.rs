// SPDX-License-Identifier: Apache-2.0
//! EXISTS in a list, of rows that other conditions than equalities choose. The analyzer counts the rows of the others, see
//! [`crate::plan::ListedSubqueries`]; of these there are no groups to count, so the list's rows are joined with them for a mark, as the planner does it
//! for EXISTS in a condition:
//!
//! ```text
//! SELECT EXISTS (SELECT 1 FROM b WHERE b.v > o.v) FROM o
//!     ->  SELECT $marked.mark FROM o LEFT MARK JOIN b AS $marked ON $marked.v > o.v
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::alias::AliasGenerator;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result, not_impl_err};
use datafusion::logical_expr::expr::Exists;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, lit, not};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;

/// The list with marks in place of what it asks of subqueries.
pub(super) fn joined(plan: LogicalPlan, aliases: &AliasGenerator) -> Result<Transformed<LogicalPlan>> {
    let asks = |expr: &Expr| expr.exists(|part| Ok(matches!(part, Expr::Exists(_))));
    let LogicalPlan::Projection(list) = &plan else { return Ok(Transformed::no(plan)) };
    if !list.expr.iter().any(|expr| asks(expr).expect("the closure does not fail")) {
        return Ok(Transformed::no(plan));
    }
    let names = NamePreserver::new(&plan);
    let LogicalPlan::Projection(Projection { expr: list, input, .. }) = plan else {
        unreachable!("just looked at")
    };
    let mut rows = Arc::unwrap_or_clone(input);
    let mut marked = |expr: Expr| {
        let Expr::Exists(Exists { subquery, negated }) = &expr else { return Ok(Transformed::no(expr)) };
        let alias = aliases.next("$marked");
        rows = mark_join(&rows, &subquery.subquery, &alias)?;
        let mark = Expr::Column(Column::new(Some(alias), "mark"));
        Ok(Transformed::yes(if *negated { not(mark) } else { mark }))
    };
    let list = list.into_iter().map(|expr| {
        let name = names.save(&expr);
        Ok(name.restore(expr.transform_up(&mut marked).data()?))
    });
    let list = list.collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(list, Arc::new(rows))?)))
}

/// The rows, each with a mark that says whether the subquery has rows for it.
fn mark_join(rows: &LogicalPlan, subquery: &LogicalPlan, alias: &str) -> Result<LogicalPlan> {
    let mut pulled = PullUpCorrelatedExpr::new().with_exists_sub_query(true);
    let subquery = subquery.clone().rewrite(&mut pulled).data()?;
    if !pulled.can_pull_up {
        return not_impl_err!(
            "a condition of a subquery on the outer row, below LIMIT or OFFSET, where it is no equality and the subquery is in a list"
        );
    }
    let inner: BTreeSet<Column> = pulled.correlated_subquery_cols_map.into_values().flatten().collect();
    let of_alias = |expr| {
        Ok(match expr {
            Expr::Column(column) if inner.contains(&column) => {
                Transformed::yes(Expr::Column(Column::new(Some(alias), column.name)))
            }
            other => Transformed::no(other),
        })
    };
    let condition = conjunction(pulled.join_filters).unwrap_or_else(|| lit(true));
    let condition = condition.transform_up(of_alias).data()?;
    let right = LogicalPlanBuilder::from(subquery).alias(alias)?;
    // Columns that no condition names would be carried along.
    let columns = right.schema().columns().into_iter();
    let named = condition.column_refs();
    let needed: Vec<_> = columns.filter(|column| named.contains(column)).map(Expr::Column).collect();
    let right = if needed.is_empty() { right } else { right.project(needed)? };
    let join = LogicalPlanBuilder::from(rows.clone());
    join.join_on(right.build()?, JoinType::LeftMark, Some(condition))?.build()
}
