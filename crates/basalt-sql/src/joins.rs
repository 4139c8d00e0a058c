// SPDX-License-Identifier: Apache-2.0
//! What the joins of a plan mean for running it, and in which order they are made.

mod estimate;
mod graph;
mod order;

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::common::stats::Precision;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

pub(crate) use self::order::JoinOrder;
use crate::scan::BasaltScan;

/// A warning for each join without a condition, where both sides may have more than one row.
pub(crate) fn products(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let mut warnings: Vec<String> = plan.children().into_iter().flat_map(products).collect();
    let crossed = plan.downcast_ref::<CrossJoinExec>().map(|join| (join.left(), join.right()));
    // EXISTS of rows that are the same for all outer ones is no product.
    let is_product = |join: &&NestedLoopJoinExec| join.filter().is_none() && !is_semi(*join.join_type());
    let looped = plan.downcast_ref::<NestedLoopJoinExec>().filter(is_product);
    if let Some((left, right)) = crossed.or(looped.map(|join| (join.left(), join.right())))
        && !is_one_row(left)
        && !is_one_row(right)
    {
        warnings.push(format!(
            "{} and {} are joined without a condition: every row of one meets every row of the other",
            tables(left),
            tables(right)
        ));
    }
    warnings
}

fn is_semi(kind: JoinType) -> bool {
    !matches!(kind, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full)
}

fn is_one_row(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let found = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    found.is_ok_and(|found| matches!(found.num_rows, Precision::Exact(0 | 1)))
}

/// The names of the tables that a plan reads.
fn tables(plan: &Arc<dyn ExecutionPlan>) -> String {
    fn collect(plan: &Arc<dyn ExecutionPlan>, names: &mut Vec<String>) {
        names.extend(plan.downcast_ref::<BasaltScan>().map(|scan| scan.table_name().to_string()));
        plan.children().into_iter().for_each(|child| collect(child, names));
    }
    let mut names = vec![];
    collect(plan, &mut names);
    if names.is_empty() { "rows without a table".to_owned() } else { names.join(" and ") }
}
