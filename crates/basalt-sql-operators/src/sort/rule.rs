// SPDX-License-Identifier: Apache-2.0
//! Puts [`RowSort`] in the place of the planner's sort of all rows, where the answer is one sequence.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::replace_children_if_necessary;

use super::exec::RowSort;
use super::whole::WholeSort;

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
            let Some(WholeSort { sort, projection, .. }) = WholeSort::ending_with(&plan) else {
                return Ok(Transformed::no(plan));
            };
            let sorted: Arc<dyn ExecutionPlan> = match projection {
                Some(projection) => {
                    let sorted = Arc::new(RowSort::new(sort));
                    replace_children_if_necessary(Arc::clone(projection), vec![sorted])?
                }
                None => Arc::new(RowSort::new(sort)),
            };
            Ok(Transformed::yes(sorted))
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
