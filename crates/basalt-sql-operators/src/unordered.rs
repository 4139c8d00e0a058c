// SPDX-License-Identifier: Apache-2.0
//! Inputs without their order, and results without what is said of their columns, where DataFusion 55 says more than is true.
//!
//! **The build side of a hash join.** DataFusion says that a join's rows are ordered by the probe side's order and, among equal rows of that, by the build
//! side's. They are not where the probe side has equal rows: each of them begins with the first build row again. Groups and
//! orders that are read off such a claim are wrong. A build side that claims no order gives none to the join.
//!
//! **Several grouping sets.** An aggregation over sorted rows says that its groups come sorted by what is in all sets. They do not: each
//! batch is grouped by one set after the other, and begins with the first group again for each. It also says that a group which is the same value in all
//! rows, or the same as another one, is so in its result, too: it is NULL where a set does not have it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, Statistics};

/// The rule, for after the sides of joins are chosen and before orders are made use of.
#[derive(Debug)]
pub struct UnorderedInputs;

impl PhysicalOptimizerRule for UnorderedInputs {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of_plan = |plan: Arc<dyn ExecutionPlan>| {
            let plan = match misleading_input(plan.as_ref()) {
                Some(input) => Transformed::yes(with_first(&plan, Unordered::new(input, Claims::Order))?),
                None => Transformed::no(plan),
            };
            Ok(match is_misleading(plan.data.as_ref()) {
                true => Transformed::yes(Unordered::new(&plan.data, Claims::All) as Arc<dyn ExecutionPlan>),
                false => plan,
            })
        };
        plan.transform_up(of_plan).data()
    }

    fn name(&self) -> &str {
        "unordered_inputs"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with another first input.
fn with_first(plan: &Arc<dyn ExecutionPlan>, first: Arc<Unordered>) -> Result<Arc<dyn ExecutionPlan>> {
    let others = plan.children().into_iter().skip(1).cloned();
    let children = std::iter::once(first as Arc<dyn ExecutionPlan>).chain(others).collect();
    let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(children, recompute)
}

/// True for groups of several sets that are said to be the same, or the same as others.
fn is_misleading(plan: &dyn ExecutionPlan) -> bool {
    let aggregation = plan.downcast_ref::<AggregateExec>();
    aggregation.is_some_and(|aggregation| aggregation.group_expr().groups().len() > 1)
        && !plan.properties().equivalence_properties().eq_group().is_empty()
}

/// The first input, if it is ordered and must not say so.
fn misleading_input(plan: &dyn ExecutionPlan) -> Option<&Arc<dyn ExecutionPlan>> {
    let input = match plan.downcast_ref::<HashJoinExec>() {
        Some(join) => join.left(),
        None => {
            let aggregation = plan.downcast_ref::<AggregateExec>()?;
            Some(aggregation.input()).filter(|_| aggregation.group_expr().groups().len() > 1)?
        }
    };
    input.properties().output_ordering().is_some().then_some(input)
}

/// The rows of its input, as they come.
#[derive(Debug)]
struct Unordered {
    input: Arc<dyn ExecutionPlan>,
    withheld: Claims,
    properties: Arc<PlanProperties>,
}

/// What is not said.
#[derive(Debug, Clone, Copy)]
enum Claims {
    Order,
    /// Nor which columns are constant, or equal to others.
    All,
}

impl Unordered {
    fn new(input: &Arc<dyn ExecutionPlan>, withheld: Claims) -> Arc<Self> {
        let mut properties = PlanProperties::clone(input.properties());
        match withheld {
            Claims::Order => properties.eq_properties.clear_orderings(),
            Claims::All => properties.eq_properties = EquivalenceProperties::new(input.schema()),
        }
        Arc::new(Self { input: Arc::clone(input), withheld, properties: Arc::new(properties) })
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
        Ok(Self::new(&children[0], self.withheld))
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
