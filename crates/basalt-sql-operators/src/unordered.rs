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
//!
//! **The optional sides of outer joins.** What is the same value in all rows of such a side is said to be so in the rows of the join, too. It is NULL in those
//! that the side has no row for: they are not in any order that leaves such a column out, nor one group of it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
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
            let plan = with_less_said(plan)?;
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

/// The plan, with inputs that say no more than is true of its rows.
fn with_less_said(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let is_ordered = misleads_by_order(plan.as_ref());
    let optional = optional_sides(plan.as_ref());
    let mut is_changed = false;
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = vec![];
    for (at, input) in plan.children().into_iter().enumerate() {
        let claims = match (at == 0 && is_ordered, optional[at.min(1)] && has_constants(input)) {
            (true, true) => Claims::All,
            (true, false) => Claims::Order,
            (false, true) => Claims::Constants,
            (false, false) => {
                inputs.push(Arc::clone(input));
                continue;
            }
        };
        is_changed = true;
        inputs.push(Unordered::new(input, claims));
    }
    if !is_changed {
        return Ok(Transformed::no(plan));
    }
    let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.replace_children(inputs, recompute).map(Transformed::yes)
}

/// Which sides of a join have no row for some of its rows.
fn optional_sides(plan: &dyn ExecutionPlan) -> [bool; 2] {
    let hash = plan.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let loops = || plan.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let sorted = || plan.downcast_ref::<SortMergeJoinExec>().map(|join| join.join_type());
    match hash.or_else(loops).or_else(sorted) {
        Some(JoinType::Left) => [false, true],
        Some(JoinType::Right) => [true, false],
        Some(JoinType::Full) => [true, true],
        _ => [false, false],
    }
}

/// True if a column is said to be the same in all rows, or to be what is computed of others.
fn has_constants(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let equivalences = plan.properties().equivalence_properties();
    let is_column = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Column>().is_some();
    !equivalences.constants().is_empty()
        || equivalences.eq_group().iter().any(|class| !class.iter().all(is_column))
}

/// True for groups of several sets that are said to be the same, or the same as others.
fn is_misleading(plan: &dyn ExecutionPlan) -> bool {
    let aggregation = plan.downcast_ref::<AggregateExec>();
    aggregation.is_some_and(|aggregation| aggregation.group_expr().groups().len() > 1)
        && !plan.properties().equivalence_properties().eq_group().is_empty()
}

/// True if the first input is ordered and must not say so.
fn misleads_by_order(plan: &dyn ExecutionPlan) -> bool {
    let input = match (plan.downcast_ref::<HashJoinExec>(), plan.downcast_ref::<AggregateExec>()) {
        (Some(join), _) => join.left(),
        (None, Some(aggregation)) if aggregation.group_expr().groups().len() > 1 => aggregation.input(),
        _ => return false,
    };
    input.properties().output_ordering().is_some()
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
    /// Which columns are constant, or equal to others.
    Constants,
    /// Either.
    All,
}

impl Unordered {
    fn new(input: &Arc<dyn ExecutionPlan>, withheld: Claims) -> Arc<Self> {
        let mut properties = PlanProperties::clone(input.properties());
        match withheld {
            Claims::Order => properties.eq_properties.clear_orderings(),
            Claims::Constants => {
                let orderings = input.properties().equivalence_properties().oeq_class().clone();
                properties.eq_properties =
                    EquivalenceProperties::new_with_orderings(input.schema(), orderings);
            }
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

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }
}
