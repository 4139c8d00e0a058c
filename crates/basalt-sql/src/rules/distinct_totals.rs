// SPDX-License-Identifier: Apache-2.0
//! Totals of different values beside others, `SELECT COUNT(DISTINCT a), COUNT(DISTINCT b), COUNT(*) FROM t`. The planner keeps all values of `a` and `b` in
//! memory, where one such total alone is grouped by its values, which spills. In the plan that is made when memory has
//! not sufficed each of them is alone:
//!
//! ```text
//! SELECT x.n, y.n, z.n FROM (SELECT COUNT(DISTINCT a) AS n FROM t) x, (SELECT COUNT(DISTINCT b) AS n FROM t) y, (SELECT COUNT(*) AS n FROM t) z
//! ```
//!
//! The rows are read once for each, so they must be the same ones each time: no LIMIT, nothing random, no sequence below.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan, LogicalPlanBuilder, ident};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule, for before the one that groups a single total of different values.
#[derive(Debug)]
pub(super) struct DistinctTotals;

impl OptimizerRule for DistinctTotals {
    fn name(&self) -> &str {
        "distinct_totals"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if config.options().optimizer.prefer_hash_join {
            return Ok(Transformed::no(plan));
        }
        match &plan {
            LogicalPlan::Aggregate(totals) if totals.group_expr.is_empty() => match apart(totals)? {
                Some(apart) => Ok(Transformed::yes(apart)),
                None => Ok(Transformed::no(plan)),
            },
            _ => Ok(Transformed::no(plan)),
        }
    }
}

/// Totals that are taken of the same different values, or of all rows.
struct Part {
    /// The value and the condition for it; `None` for totals of all rows.
    of: Option<(Expr, Option<Expr>)>,
    /// Totals, and their places.
    totals: Vec<(usize, Expr)>,
}

/// The totals, each part alone; `None` if they are better together.
fn apart(totals: &Aggregate) -> Result<Option<LogicalPlan>> {
    let mut parts: Vec<Part> = vec![];
    for (at, total) in totals.aggr_expr.iter().enumerate() {
        let (of, total) = part_of(total);
        match parts.iter_mut().find(|part| part.of == of) {
            Some(part) => part.totals.push((at, total)),
            None => parts.push(Part { of, totals: vec![(at, total)] }),
        }
    }
    let filtered = parts.iter().any(|part| matches!(part.of, Some((_, Some(_)))));
    let distinct = parts.iter().any(|part| part.of.is_some());
    if !(distinct && (parts.len() > 1 || filtered)) || !is_steady(&totals.input) {
        return Ok(None);
    }
    let mut all: Option<LogicalPlanBuilder> = None;
    for part in parts {
        let mut rows = LogicalPlanBuilder::from(Arc::clone(&totals.input));
        if let Some((_, Some(condition))) = part.of {
            rows = rows.filter(condition)?;
        }
        let (places, exprs): (Vec<_>, Vec<_>) = part.totals.into_iter().unzip();
        let rows = rows.aggregate(Vec::<Expr>::new(), exprs)?;
        let names = rows.schema().columns();
        let renamed = names.into_iter().zip(&places).map(|(name, at)| Expr::Column(name).alias(place(*at)));
        let rows = rows.project(renamed.collect::<Vec<_>>())?;
        all = Some(match all {
            Some(all) => all.cross_join(rows.build()?)?,
            None => rows,
        });
    }
    let Some(all) = all else { return Ok(None) };
    let names = totals.schema.fields().iter().enumerate();
    let shown = names.map(|(at, field)| ident(place(at)).alias(field.name()));
    all.project(shown.collect::<Vec<_>>())?.build().map(Some)
}

fn place(at: usize) -> String {
    format!("$total{at}")
}

/// Of which values a total is, and the total as it is taken of the rows that satisfy the condition for them.
fn part_of(total: &Expr) -> (Option<(Expr, Option<Expr>)>, Expr) {
    let Expr::AggregateFunction(AggregateFunction { func, params }) = total else {
        return (None, total.clone());
    };
    match (params.distinct, params.args.as_slice(), params.order_by.as_slice()) {
        (true, [value], []) => {
            let of = (value.clone(), params.filter.as_deref().cloned());
            let params = AggregateFunctionParams { filter: None, ..params.clone() };
            let total = AggregateFunction { func: Arc::clone(func), params };
            (Some(of), Expr::AggregateFunction(total))
        }
        _ => (None, total.clone()),
    }
}

/// True if the plan has the same rows whenever it is run.
fn is_steady(plan: &LogicalPlan) -> bool {
    let of_rows = match plan {
        LogicalPlan::TableScan(scan) => scan.fetch.is_none(),
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Union(_)
        | LogicalPlan::Values(_)
        | LogicalPlan::EmptyRelation(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => true,
        _ => false,
    };
    let changes = |expr: &Expr| expr.is_volatile() || has_subquery(expr);
    of_rows && !plan.expressions().iter().any(changes) && plan.inputs().into_iter().all(is_steady)
}

/// True if there is a subquery in an expression, of which nobody knows here whether it gives the same rows twice.
fn has_subquery(expr: &Expr) -> bool {
    let is_one = |expr: &Expr| {
        let is_one = matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)
        );
        Ok(is_one)
    };
    expr.exists(is_one).unwrap_or(true)
}
