// SPDX-License-Identifier: Apache-2.0
//! Orders that an operator was promised and that its input does not have. DataFusion 55 moves a sort down to where its rows are in order already, and forgets it
//! there. But what is known of a column below is not always known above: that it is the same value in all rows, of the right input of a join; that
//! it equals another column, in a query of a UNION. Who merges or numbers the rows above would then read an order off its input that the input does not
//! claim, which the planner's last check refuses. There the rows are sorted again: they mostly are of few values.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary};

/// The rule, for before the check of plans.
#[derive(Debug)]
pub struct KeptOrders;

impl PhysicalOptimizerRule for KeptOrders {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(with_ordered_inputs).data()
    }

    fn name(&self) -> &str {
        "kept_orders"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The operator, above a sort of each input that is not in the order which it needs.
fn with_ordered_inputs(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let (mut inputs, mut is_changed) = (vec![], false);
    for (input, needed) in plan.children().into_iter().zip(plan.required_input_ordering()) {
        let mut input = Arc::clone(input);
        if let Some(needed) = needed.map(|needed| needed.into_single())
            && !input.equivalence_properties().ordering_satisfy_requirement(needed.clone())?
        {
            // Of rows that are merged, no more are wanted of any partition than of all.
            let fetch = plan.downcast_ref::<SortPreservingMergeExec>().and_then(|merge| merge.fetch());
            let sort = SortExec::new(LexOrdering::from(needed), input).with_preserve_partitioning(true);
            input = Arc::new(sort.with_fetch(fetch));
            is_changed = true;
        }
        inputs.push(input);
    }
    match is_changed {
        true => replace_children_if_necessary(plan, inputs).map(Transformed::yes),
        false => Ok(Transformed::no(plan)),
    }
}
