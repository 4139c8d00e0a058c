// SPDX-License-Identifier: Apache-2.0
//! Scans whose partitions help each other: see [`super::deal`].
//!
//! A partition that takes over what another had to do has neither rows in key order nor rows of its own key range alone. So this is for scans of which
//! nobody above makes use of either, up to the node that throws the partitions together ([`SharedWork`] is put above that one). What each node needs, and
//! what it hands on, is what it tells the planner: the rule comes before those that put operators into the plan that tell less.
//!
//! Where nobody makes use of the order of a scan of one partition its rows come in any order, which is faster where files overlap.
//!
//! A plan may be run more than once (a join that lacks memory runs an input again). Each time that the node is run its scans are dealt anew: it
//! gives its inputs a context of their own with the [`Deals`] of that run.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use super::BasaltScan;
use super::deal::{Deal, Work};
use super::index_only::IndexOnlyScan;
use super::lookup::IndexLookup;

/// Lets the partitions of scans share their work where nobody can tell.
#[derive(Debug)]
pub(crate) struct ScansShareWork;

impl PhysicalOptimizerRule for ScansShareWork {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !has_much_to_share(plan.as_ref()) {
            return Ok(plan);
        }
        let mut scans = vec![];
        Ok(shared(&plan, Needs { order: true, partitions: true }, &mut scans)?.unwrap_or(plan))
    }

    fn name(&self) -> &str {
        "scans_share_work"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// True if a scan below has partitions that could help each other, or rows that would come faster in any order.
fn has_much_to_share(plan: &dyn ExecutionPlan) -> bool {
    match plan.downcast_ref::<BasaltScan>() {
        Some(scan) => scan.partition_count() > 1 || scan.in_any_order().is_some(),
        None => plan.children().into_iter().any(|child| has_much_to_share(child.as_ref())),
    }
}

/// What somebody above a node makes use of.
#[derive(Debug, Clone, Copy)]
struct Needs {
    /// The order of the rows of a partition.
    order: bool,
    /// Which rows are in which partition.
    partitions: bool,
}

impl Needs {
    /// What is made use of in an input of a node of whose own rows this is.
    fn of_input(self, plan: &dyn ExecutionPlan, input: usize) -> Self {
        let requires_order = plan.required_input_ordering()[input].is_some();
        let requirements = plan.input_distribution_requirements();
        let requires_partitions = !matches!(
            requirements.child_distribution(input),
            Some(Distribution::UnspecifiedDistribution | Distribution::SinglePartition)
        );
        let is_seen = self.order || takes_first_rows(plan);
        Self {
            order: requires_order
                || stops_early(plan)
                || is_seen && (plan.maintains_input_order()[input] || keeps_order(plan)),
            partitions: requires_partitions || self.partitions && !throws_together(plan),
        }
    }
}

/// True of a node that hands on the first rows of its input and leaves out the others: whoever sees them sees the order, though nothing above asks
/// for one. (A sort finds the first rows by itself, and where partitions are thrown together without an order any rows do.)
fn takes_first_rows(plan: &dyn ExecutionPlan) -> bool {
    let by_itself = plan.is::<SortExec>() || plan.is::<CoalescePartitionsExec>();
    plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>() || plan.fetch().is_some() && !by_itself
}

/// True of a sort that wants the first rows and ends, without telling the planner, where the order of its input says that they have been there.
fn stops_early(plan: &dyn ExecutionPlan) -> bool {
    plan.downcast_ref::<SortExec>().is_some_and(|sort| {
        let known = sort.input().properties().equivalence_properties();
        let shared = known.extract_common_sort_prefix(sort.expr().clone());
        sort.fetch().is_some() && shared.is_ok_and(|(prefix, _)| !prefix.is_empty())
    })
}

/// True if the rows of an input came in an order, and those of the one that takes its place may come in any.
pub(super) fn has_lost_its_order(before: &Arc<dyn ExecutionPlan>, now: &Arc<dyn ExecutionPlan>) -> bool {
    let is_ordered = |plan: &Arc<dyn ExecutionPlan>| plan.properties().output_ordering().is_some();
    is_ordered(before) && !is_ordered(now)
}

/// True of a node whose rows come in the order of its input's, though it must not tell the planner.
fn keeps_order(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<IndexOnlyScan>() || plan.is::<IndexLookup>()
}

/// True of a node behind which nobody can tell which partition a row came from.
fn throws_together(plan: &dyn ExecutionPlan) -> bool {
    let all_rows = plan.is::<CoalescePartitionsExec>() && plan.fetch().is_none();
    all_rows || plan.is::<RepartitionExec>() || plan.is::<SortPreservingMergeExec>()
}

/// The plan with scans that share their work, if there are any. Those for a node further up to deal out are added to `scans`.
fn shared(
    plan: &Arc<dyn ExecutionPlan>,
    needs: Needs,
    scans: &mut Vec<Work>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<BasaltScan>() {
        if !needs.order
            && let Some(scan) = scan.in_any_order()
        {
            return Ok(Some(Arc::new(scan)));
        }
        if needs.order || needs.partitions {
            return Ok(None);
        }
        let dealt = scan.dealt(scans.len());
        scans.extend(dealt.iter().map(BasaltScan::work));
        return Ok(dealt.map(|scan| Arc::new(scan) as _));
    }
    let mut own = vec![];
    let below = if throws_together(plan.as_ref()) { &mut own } else { scans };
    let mut inputs: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let mut changed = false;
    for (at, input) in inputs.iter_mut().enumerate() {
        if let Some(other) = shared(input, needs.of_input(plan.as_ref(), at), below)? {
            (*input, changed) = (other, true);
        }
    }
    if !changed {
        return Ok(None);
    }
    let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    let plan = Arc::clone(plan).replace_children(inputs, recompute)?;
    if own.is_empty() {
        return Ok(Some(plan));
    }
    Ok(Some(Arc::new(SharedWork { input: plan, scans: own.into() })))
}

/// What is left to do of the scans below a [`SharedWork`], by their numbers.
#[derive(Debug)]
pub(super) struct Deals(Vec<Arc<Deal>>);

impl Deals {
    /// The deal of a scan, if it is run for somebody who deals.
    pub(super) fn of(context: &TaskContext, number: usize) -> Option<Arc<Deal>> {
        let deals = context.session_config().get_extension::<Self>()?;
        deals.0.get(number).cloned()
    }
}

/// Runs its input, which throws partitions together, with the scans below dealt out anew.
#[derive(Debug)]
pub(super) struct SharedWork {
    input: Arc<dyn ExecutionPlan>,
    scans: Arc<[Work]>,
}

impl SharedWork {
    /// Above the one of `inputs`, with these scans to deal out.
    pub(super) fn of(mut inputs: Vec<Arc<dyn ExecutionPlan>>, scans: Vec<Work>) -> Self {
        Self { input: inputs.remove(0), scans: scans.into() }
    }
}

impl DisplayAs for SharedWork {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::TreeRender => write!(f, "scans={}", self.scans.len()),
            _ => write!(f, "SharedWork: scans={}", self.scans.len()),
        }
    }
}

impl ExecutionPlan for SharedWork {
    fn name(&self) -> &str {
        "SharedWork"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { input: children.remove(0), scans: Arc::clone(&self.scans) }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let deals = self.scans.iter().map(|work| Arc::new(Deal::new(work))).collect();
        let config = context.session_config().clone().with_extension(Arc::new(Deals(deals)));
        // Functions are looked up by name where plans are made, not where they run.
        let dealing = TaskContext::new(
            context.task_id(),
            context.session_id(),
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            context.runtime_env(),
        );
        self.input.execute(partition, Arc::new(dealing))
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
