// SPDX-License-Identifier: Apache-2.0
//! Turns for others. A join makes many rows of few: it may go on for minutes without asking its inputs, which is where plans return to the
//! executor. So it does that of its own accord, every so many batches: statements beside it run, and it can be cancelled.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};

/// The rule, for where the planner does the same to what it knows of, before filters find their way through a plan.
#[derive(Debug)]
pub(crate) struct JoinsTakeTurns;

impl PhysicalOptimizerRule for JoinsTakeTurns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let turns = |plan: Arc<dyn ExecutionPlan>| {
            let is_join = plan.is::<HashJoinExec>()
                || plan.is::<NestedLoopJoinExec>()
                || plan.is::<CrossJoinExec>()
                || plan.is::<SortMergeJoinExec>();
            Ok(match is_join {
                true => Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>),
                false => Transformed::no(plan),
            })
        };
        plan.transform_up(turns).data()
    }

    fn name(&self) -> &str {
        "joins_take_turns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
