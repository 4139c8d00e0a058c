// SPDX-License-Identifier: Apache-2.0
//! What plans keep in memory that another plan would write to disk.
//!
//! The first plan of a statement is the fast one. Where memory does not suffice for it, the statement begins again with a plan
//! in which every such operator has another in its place:
//!
//! ```text
//! keeps rows in memory                               spills
//! a hash join, one side of it, or the keys alone     a join by sorting
//! a nested-loop join of several partitions           the same, of one partition
//! totals of different values, COUNT(DISTINCT a)      grouped by these values, each with a scan of its own
//! the first rows of a sort, LIMIT m OFFSET n         the whole sort
//! ```
//!
//! The option `prefer_hash_join` says which of the two plans is wanted; the hint USE_SORT_MERGE_JOIN asks for the second one.

use std::sync::Arc;

use basalt_sql_operators::rows_kept_by_sort;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};

use crate::scan::IntegerSemiJoin;

/// True if the plan has one of these.
pub(crate) fn keeps_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let keeps = plan.is::<HashJoinExec>()
        || plan.is::<IntegerSemiJoin>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.downcast_ref::<AggregateExec>().is_some_and(keeps_values)
        || rows_kept_by_sort(plan.as_ref()).is_some();
    keeps || plan.children().into_iter().any(keeps_rows)
}

fn keeps_values(totals: &AggregateExec) -> bool {
    totals.group_expr().is_empty() && totals.aggr_expr().iter().any(|total| total.is_distinct())
}
