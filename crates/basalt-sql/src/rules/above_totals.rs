// SPDX-License-Identifier: Apache-2.0
//! Conditions above totals. An aggregation without groups has one row whatever it is of, also of nothing, and so has the empty one of several sets of groups.
//! DataFusion 55 moves a condition that names no column, or whose columns the planner has replaced by their values, below the
//! aggregation, where it leaves fewer rows and no fewer totals. No condition can be moved there, so its rule is not asked.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule that moves conditions towards tables, without these.
#[derive(Debug)]
pub(super) struct AboveTotals(pub(super) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for AboveTotals {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match is_filtered_total(&plan) {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

/// True for conditions, one or several, right above such an aggregation.
fn is_filtered_total(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else { return false };
    match filter.input.as_ref() {
        LogicalPlan::Aggregate(aggregate) => match aggregate.group_expr.as_slice() {
            [] => true,
            groups => groups.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))),
        },
        below => is_filtered_total(below),
    }
}
