// SPDX-License-Identifier: Apache-2.0
//! Puts [`RowSort`] in the place of the planner's sort of all rows, where the answer is one sequence.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use super::exec::RowSort;

/// The rule, for after all others.
#[derive(Debug)]
pub struct SortRows;

impl PhysicalOptimizerRule for SortRows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = |plan: Arc<dyn ExecutionPlan>| {
            let sort = match plan.downcast_ref::<SortPreservingMergeExec>() {
                Some(merge) if merge.fetch().is_none() => merge
                    .input()
                    .downcast_ref::<SortExec>()
                    .filter(|sort| sort.preserve_partitioning() && sort.expr() == merge.expr()),
                Some(_) => None,
                None => plan.downcast_ref::<SortExec>().filter(|sort| {
                    !sort.preserve_partitioning() && sort.properties().partitioning.partition_count() == 1
                }),
            };
            Ok(match sort.filter(|sort| sort.fetch().is_none()) {
                Some(sort) => {
                    let sorted: Arc<dyn ExecutionPlan> = Arc::new(RowSort::new(sort, plan.properties()));
                    Transformed::new(sorted, true, TreeNodeRecursion::Continue)
                }
                None => Transformed::no(plan),
            })
        };
        plan.transform_down(replaced).data()
    }

    fn name(&self) -> &str {
        "sort_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
