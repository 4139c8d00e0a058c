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
//! Where that does not suffice either, it begins once more by one thread: what sorts and groups keep of several threads at a time is what each needs at least,
//! and may be more than there is.
//!
//! The option `prefer_hash_join` says which of the two plans is wanted; the hint USE_SORT_MERGE_JOIN asks for the second one. Where the side of a join
//! that is kept is expected to be larger than what the statement may have ([`expects_too_much`]), the first one is not tried.

use std::sync::Arc;

use basalt_sql_operators::rows_kept_by_sort;
use datafusion::arrow::datatypes::Schema;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use crate::scan::{IntegerSemiJoin, row_bytes};

/// Plans of a statement, by the memory that they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plans {
    /// What can be on disk is not kept in memory.
    Spilling,
    /// The same by one thread.
    Serial,
}

/// True if an operator of the plan gives no row before it has seen all: if memory does not suffice, it fails before its first row.
pub(crate) fn begins_late(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.properties().emission_type == EmissionType::Final || plan.children().into_iter().any(begins_late)
}

/// True if the plan has one of these.
pub(crate) fn keeps_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let keeps = plan.is::<HashJoinExec>()
        || plan.is::<IntegerSemiJoin>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.downcast_ref::<AggregateExec>().is_some_and(keeps_values)
        || rows_kept_by_sort(plan.as_ref()).is_some();
    keeps || plan.children().into_iter().any(keeps_rows)
}

/// True if the plan has a hash join that is expected to keep more bytes than `bytes_max`.
pub(crate) fn expects_too_much(plan: &Arc<dyn ExecutionPlan>, bytes_max: usize) -> bool {
    let is_too_large = |join: &HashJoinExec| {
        let known = StatisticsContext::new().compute(join.left().as_ref(), &StatisticsArgs::new());
        let rows = known.ok().and_then(|known| known.num_rows.get_value().copied());
        rows.is_some_and(|rows| rows.saturating_mul(kept_bytes(&join.left().schema())) > bytes_max)
    };
    plan.downcast_ref::<HashJoinExec>().is_some_and(is_too_large)
        || plan.children().into_iter().any(|child| expects_too_much(child, bytes_max))
}

/// Memory of a row in a hash join, about.
fn kept_bytes(schema: &Schema) -> usize {
    row_bytes(schema) + PLACE_BYTES
}

/// Of it, for finding it by its key.
const PLACE_BYTES: usize = 16;

fn keeps_values(totals: &AggregateExec) -> bool {
    totals.group_expr().is_empty() && totals.aggr_expr().iter().any(|total| total.is_distinct())
}
