// SPDX-License-Identifier: Apache-2.0
//! What a hash join knows of its keys once it has read its first side, told to the scan of the other: rows without a partner
//! are left out as they are decoded, before their other columns are.
//!
//! DataFusion tells scans the least and the greatest key of a join, and all of them where they are few
//! (`hash_join_inlist_pushdown_max_distinct_values`). Of more it hands over its hash table, which only rows that have been made can
//! be looked up in. So where the keys are integers that lie close enough together, [`JoinKeys`] keeps a bit for each number between them
//! ([`NumberSet`]), and the scan asks those. The join looks its rows up all the same: the bits may come late, or never.
//! A join of which the first side's rows are not wanted needs nothing but these keys, and is a [`semi_join`].

mod among;
mod integers;
mod semi_join;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use basalt_hfile::predicate::NumberSet;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result, Statistics};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, stream};

use super::BasaltScan;
pub(super) use among::AmongKeys;
use integers::IntegerPair;
pub(crate) use semi_join::IntegerSemiJoin;

/// Rows of a scan that are worth the bits.
const ROWS_MIN: usize = 1 << 17;
/// If the keys are more than this share of what the other side has, most of its rows have a partner: 1 / 2.
const SHARE: usize = 2;

/// The rule, for behind all that move filters and look for joins.
#[derive(Debug)]
pub(crate) struct JoinKeysInScan;

impl PhysicalOptimizerRule for JoinKeysInScan {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Each round of a recursion has other keys.
        if plan.exists(|plan| Ok(plan.is::<RecursiveQueryExec>()))? {
            return Ok(plan);
        }
        let few = config.optimizer.hash_join_inlist_pushdown_max_distinct_values;
        let of_plan = |plan: Arc<dyn ExecutionPlan>| {
            let instead = semi_join::instead_of(&plan, few).transpose();
            match instead.or_else(|| told(&plan, few).transpose()).transpose()? {
                Some(join) => Ok(Transformed::yes(join)),
                None => Ok(Transformed::no(plan)),
            }
        };
        plan.transform_up(of_plan).data()
    }

    fn name(&self) -> &str {
        "join_keys_in_scan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The join that tells a scan its keys, if there is one to tell.
fn told(plan: &Arc<dyn ExecutionPlan>, few: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    use JoinType::{Inner, Left, LeftSemi, RightSemi};
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return Ok(None) };
    // Rows of the right side without a partner are in no answer of these.
    let drops = matches!(join.join_type(), Inner | Left | LeftSemi | RightSemi);
    if !drops || join.null_equality() != NullEquality::NullEqualsNothing {
        return Ok(None);
    }
    // Where DataFusion's own hint went, this one belongs, too.
    let hint = join.dynamic_expressions_produced().first().and_then(|hint| hint.expression_id());
    let Some((hint, pair)) = hint.zip(IntegerPair::of(join)) else { return Ok(None) };
    let key: Arc<dyn PhysicalExpr> = Arc::new(pair.right);
    let filter = DynamicFilterPhysicalExpr::new(vec![Arc::clone(&key)], lit(true));
    let filter = Arc::new(filter);
    let mut other_values = None;
    let scanned = Arc::clone(join.right()).transform_up(|plan| {
        let Some(scan) = plan.downcast_ref::<BasaltScan>() else { return Ok(Transformed::no(plan)) };
        let known = scan.hints().iter().find(|known| known.expression_id() == Some(hint));
        let column = known.and_then(|known| known.children().get(pair.at).copied().cloned());
        let Some(column) = column.filter(|_| scan.rows_estimate() >= ROWS_MIN) else {
            return Ok(Transformed::no(plan));
        };
        let place = column.downcast_ref::<Column>().map(Column::index);
        other_values = other_values.max(place.and_then(|place| scan.distinct_values(place)));
        let more = Arc::clone(&filter).with_new_children(vec![column])?;
        let hints = scan.hints().iter().cloned().chain([more]).collect();
        Ok(Transformed::yes(Arc::new(scan.with_hints(hints)) as Arc<dyn ExecutionPlan>))
    })?;
    if !scanned.transformed {
        return Ok(None);
    }
    let partitions = join.left().output_partitioning().partition_count();
    let known = Known {
        column: pair.left,
        key,
        filter,
        few,
        other_values,
        gathered: Mutex::new(Gathered::new(partitions)),
    };
    let keys = JoinKeys { input: Arc::clone(join.left()), known: Arc::new(known) };
    let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(vec![Arc::new(keys), scanned.data], recompute).map(Some)
}

/// The rows of its input, the side of a join that is read first, whose keys it notes.
#[derive(Debug)]
struct JoinKeys {
    input: Arc<dyn ExecutionPlan>,
    known: Arc<Known>,
}

/// What is found out of the keys.
#[derive(Debug)]
struct Known {
    /// The keys' place in the rows.
    column: usize,
    /// The same of the other side, and what is told to its scan.
    key: Arc<dyn PhysicalExpr>,
    filter: Arc<DynamicFilterPhysicalExpr>,
    /// So many keys the scan is told by somebody else.
    few: usize,
    /// How many values the other side has, about.
    other_values: Option<usize>,
    gathered: Mutex<Gathered>,
}

/// The keys of the partitions that have been read to the end.
#[derive(Debug)]
struct Gathered {
    partitions: Vec<Option<Vec<ArrayRef>>>,
    is_told: bool,
    /// For the bits.
    reservation: Option<MemoryReservation>,
}

impl Gathered {
    fn new(partitions: usize) -> Self {
        Self { partitions: vec![None; partitions], is_told: false, reservation: None }
    }
}

impl Known {
    /// All keys of a partition are known; `None`: there are too many.
    fn take(&self, partition: usize, keys: Option<Vec<ArrayRef>>, context: &TaskContext) -> Result<()> {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        match keys {
            Some(keys) if !gathered.is_told => gathered.partitions[partition] = Some(keys),
            // A plan may run again, and then it knows all already.
            _ => gathered.is_told = true,
        }
        if gathered.is_told || !gathered.partitions.iter().all(Option::is_some) {
            return Ok(());
        }
        gathered.is_told = true;
        let keys: Vec<ArrayRef> =
            std::mem::take(&mut gathered.partitions).into_iter().flatten().flatten().collect();
        let Some((least, greatest)) = self.worth_telling(&keys) else { return Ok(()) };
        let reservation = MemoryConsumer::new("JoinKeys").register(context.memory_pool());
        if reservation.try_grow((greatest.abs_diff(least) / 8) as usize).is_err() {
            return Ok(());
        }
        gathered.reservation = Some(reservation);
        let mut set = NumberSet::between(least, greatest);
        keys.iter().for_each(|keys| integers::insert(keys, &mut set));
        if self.other_values.is_some_and(|values| set.count() > values / SHARE) {
            return Ok(());
        }
        self.filter.update(Arc::new(AmongKeys::new(Arc::clone(&self.key), Arc::new(set))))
    }

    /// The least and the greatest key, if they are to be told.
    fn worth_telling(&self, keys: &[ArrayRef]) -> Option<(i64, i64)> {
        let count = integers::count(keys);
        let (least, greatest) = integers::bounds(keys)?;
        (count > self.few && integers::are_close(count, least, greatest)).then_some((least, greatest))
    }
}

impl DisplayAs for JoinKeys {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "JoinKeys: {}", self.input.schema().field(self.known.column).name())
    }
}

impl ExecutionPlan for JoinKeys {
    fn name(&self) -> &str {
        "JoinKeys"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
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

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { input: Arc::clone(&children[0]), known: Arc::clone(&self.known) }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let noting = Noting {
            input,
            partition,
            context,
            known: Arc::clone(&self.known),
            keys: Some(vec![]),
            count: 0,
        };
        let rows = stream::unfold(noting, |mut noting| async move { Some((noting.next().await?, noting)) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
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

/// A partition on its way to the join.
struct Noting {
    input: SendableRecordBatchStream,
    partition: usize,
    context: Arc<TaskContext>,
    known: Arc<Known>,
    /// The keys so far, unless they are too many. The join has them in its batches, too.
    keys: Option<Vec<ArrayRef>>,
    count: usize,
}

impl Noting {
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        match self.input.next().await {
            Some(Ok(batch)) => {
                self.count += batch.num_rows();
                match &mut self.keys {
                    Some(keys) if self.count <= integers::KEYS_MAX => {
                        keys.push(Arc::clone(batch.column(self.known.column)))
                    }
                    keys => *keys = None,
                }
                Some(Ok(batch))
            }
            Some(Err(error)) => Some(Err(error)),
            None => self.known.take(self.partition, self.keys.take(), &self.context).err().map(Err),
        }
    }
}
