// SPDX-License-Identifier: Apache-2.0
//! The build side of a hash join, without its order.
//!
//! DataFusion 55 says that a join's rows are ordered by the probe side's order and, among equal rows of that, by the build
//! side's. They are not where the probe side has equal rows: each of them begins with the first build row again. Groups and
//! orders that are read off such a claim are wrong. A build side that claims no order gives none to the join.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, Statistics};

/// The rule, for after the sides of joins are chosen and before orders are made use of.
#[derive(Debug)]
pub struct UnorderedBuildSides;

impl PhysicalOptimizerRule for UnorderedBuildSides {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of_plan = |plan: Arc<dyn ExecutionPlan>| {
            let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return Ok(Transformed::no(plan)) };
            if join.left().properties().output_ordering().is_none() {
                return Ok(Transformed::no(plan));
            }
            let left: Arc<dyn ExecutionPlan> = Arc::new(Unordered::new(join.left()));
            let children = vec![left, Arc::clone(join.right())];
            let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            Ok(Transformed::yes(plan.replace_children(children, recompute)?))
        };
        plan.transform_up(of_plan).data()
    }

    fn name(&self) -> &str {
        "unordered_build_sides"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The rows of its input, as they come.
#[derive(Debug)]
struct Unordered {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl Unordered {
    fn new(input: &Arc<dyn ExecutionPlan>) -> Self {
        let mut properties = PlanProperties::clone(input.properties());
        properties.eq_properties.clear_orderings();
        Self { input: Arc::clone(input), properties: Arc::new(properties) }
    }
}

impl DisplayAs for Unordered {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Unordered")
    }
}

impl ExecutionPlan for Unordered {
    fn name(&self) -> &str {
        "Unordered"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(parent_filters, &self.children())
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(&children[0])))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }
}
