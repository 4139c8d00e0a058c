// SPDX-License-Identifier: Apache-2.0
//! A join of which nobody wants anything from the first side but whether a row of the other one has a partner there: `IN (SELECT …)`, `EXISTS`, and
//! a join with a table by its key, whose columns are not asked for.
//!
//! DataFusion's hash join keeps the rows of the first side, its hash table gives a number of such a row for each partner, and both sides' rows are put
//! together by these numbers. Where the key is one integer, [`IntegerSemiJoin`] keeps the keys alone: a bit for each number between the
//! least and the greatest if they lie close enough together, else a hash set of them; a row is looked up in them and passes, or does not.
//! The scan of the other side is told the same keys, at the place where the hash join would have told its own, and leaves most rows without a partner out
//! before they get here.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use basalt_hfile::predicate::NumberSet;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::compute::{BatchCoalescer, concat};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, HashSet, JoinType, NullEquality, Result, Statistics};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, lit,
};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion::scalar::ScalarValue;
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt, stream};

use super::super::BasaltScan;
use super::among::AmongKeys;
use super::integers::{self, IntegerPair};
use super::{ROWS_MIN, SHARE};

/// Bytes of a number in a hash set, about.
const HASHED_BYTES: usize = 18;
/// Rows without a partner that are looked at between two turns of others, in batches.
const BATCHES_OF_A_TURN: usize = 8;

/// The join that keeps keys alone, if this one needs no more. `few`: so many keys a scan is told as a list.
pub(super) fn instead_of(
    plan: &Arc<dyn ExecutionPlan>,
    few: usize,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return Ok(None) };
    let is_plain = join.filter().is_none()
        && join.on().len() == 1
        && join.null_equality() == NullEquality::NullEqualsNothing
        && *join.partition_mode() == PartitionMode::CollectLeft
        && join.fetch().is_none();
    let Some(pair) = IntegerPair::of(join).filter(|_| is_plain) else { return Ok(None) };
    let left_columns = match join.join_type() {
        JoinType::RightSemi => 0,
        JoinType::Inner if is_unique(join.left(), pair.left) => join.left().schema().fields().len(),
        _ => return Ok(None),
    };
    let right_columns = join.right().schema().fields().len();
    let all: Vec<usize> = (0..left_columns + right_columns).collect();
    let wanted = join.projection.as_deref().unwrap_or(&all);
    let wanted: Option<Vec<usize>> = wanted.iter().map(|column| column.checked_sub(left_columns)).collect();
    let Some(wanted) = wanted else { return Ok(None) };
    let semi_join: Arc<dyn ExecutionPlan> = Arc::new(IntegerSemiJoin {
        left: Arc::clone(join.left()),
        right: Arc::clone(join.right()),
        on: pair.left,
        key: pair.right,
        hint: join.dynamic_expressions_produced().pop(),
        few,
        known: Arc::default(),
        metrics: ExecutionPlanMetricsSet::new(),
    });
    if wanted.iter().copied().eq(0..right_columns) {
        return Ok(Some(semi_join));
    }
    let schema = semi_join.schema();
    let columns = wanted.into_iter().map(|column| ProjectionExpr {
        expr: Arc::new(Column::new(schema.field(column).name(), column)),
        alias: schema.field(column).name().clone(),
    });
    Ok(Some(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), semi_join)?)))
}

/// True if no two rows of a plan have the same value of a column that is not NULL, as far as its steps say: it is the whole key of a table, or what rows were
/// grouped by.
fn is_unique(plan: &Arc<dyn ExecutionPlan>, column: usize) -> bool {
    if let Some(scan) = plan.downcast_ref::<BasaltScan>() {
        return scan.is_key(column);
    }
    if let Some(semi_join) = plan.downcast_ref::<IntegerSemiJoin>() {
        return is_unique(&semi_join.right, column);
    }
    if let Some(groups) = plan.downcast_ref::<AggregateExec>() {
        use AggregateMode::{Final, FinalPartitioned, Single, SinglePartitioned};
        let is_last = matches!(groups.mode(), Final | FinalPartitioned | Single | SinglePartitioned);
        let keys = groups.group_expr();
        return is_last && column == 0 && keys.is_single() && keys.expr().len() == 1;
    }
    let [input] = plan.children()[..] else { return false };
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let from = projection.expr()[column].expr.downcast_ref::<Column>().map(Column::index);
        return from.is_some_and(|from| is_unique(input, from));
    }
    // These hand rows on, each once, or leave some out.
    let hands_on = matches!(
        plan.name(),
        "CoalescePartitionsExec"
            | "CooperativeExec"
            | "FilterExec"
            | "JoinKeys"
            | "RepartitionExec"
            | "SharedWork"
            | "Unordered"
    );
    hands_on && plan.schema() == input.schema() && is_unique(input, column)
}

/// The rows of the right side whose key is among those of the left one.
pub(crate) struct IntegerSemiJoin {
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    /// The keys' place in the left rows.
    on: usize,
    key: Column,
    /// The condition that scans of the right side have from the join.
    hint: Option<Arc<dyn PhysicalExpr>>,
    few: usize,
    known: Arc<Mutex<Option<SharedKeys>>>,
    metrics: ExecutionPlanMetricsSet,
}

/// Read by whichever partition asks first, for all of them.
type SharedKeys = Shared<BoxFuture<'static, Result<Arc<Keys>, Arc<DataFusionError>>>>;

/// The keys of the left side.
#[derive(Debug)]
struct Keys {
    set: Set,
    /// Their memory.
    _reservation: MemoryReservation,
}

#[derive(Debug)]
enum Set {
    Nothing,
    Close(Arc<NumberSet>),
    Scattered(HashSet<i64>),
}

impl Keys {
    /// Which of some keys are among these.
    fn passing(&self, keys: &ArrayRef) -> BooleanArray {
        match &self.set {
            Set::Nothing => BooleanArray::from(vec![false; keys.len()]),
            Set::Close(set) => integers::passing(keys, |key| set.has(key)),
            Set::Scattered(set) => integers::passing(keys, |key| set.contains(&key)),
        }
    }
}

/// What reads the left side, and tells what it finds.
struct Gatherer {
    on: usize,
    key: Arc<dyn PhysicalExpr>,
    hint: Option<Arc<dyn PhysicalExpr>>,
    few: usize,
    /// Whether a scan of many rows wants to know, and how many values it has, about.
    wanted: Wanted,
    right_schema: SchemaRef,
    /// Rows of the left side.
    rows: Count,
}

#[derive(Debug, Default, Clone, Copy)]
struct Wanted {
    by_many_rows: bool,
    values: Option<usize>,
}

impl Gatherer {
    async fn gather(
        self,
        mut left: SendableRecordBatchStream,
        reservation: MemoryReservation,
    ) -> Result<Keys> {
        let mut keys: Vec<ArrayRef> = Vec::new();
        while let Some(batch) = left.next().await {
            let batch = batch?;
            self.rows.add(batch.num_rows());
            let more = Arc::clone(batch.column(self.on));
            reservation.try_grow(more.to_data().get_slice_memory_size()?)?;
            keys.push(more);
        }
        let of_arrays = reservation.size();
        let set = Self::set_of(&keys, &reservation)?;
        self.tell(&keys, &set)?;
        drop(keys);
        reservation.shrink(of_arrays);
        Ok(Keys { set, _reservation: reservation })
    }

    fn set_of(keys: &[ArrayRef], reservation: &MemoryReservation) -> Result<Set> {
        let Some((least, greatest)) = integers::bounds(keys) else { return Ok(Set::Nothing) };
        let count = integers::count(keys);
        if integers::are_close(count, least, greatest) {
            reservation.try_grow((greatest.abs_diff(least) / 8) as usize)?;
            let mut set = NumberSet::between(least, greatest);
            keys.iter().for_each(|keys| integers::insert(keys, &mut set));
            return Ok(Set::Close(Arc::new(set)));
        }
        reservation.try_grow(count * HASHED_BYTES)?;
        let mut set = HashSet::with_capacity(count);
        for keys in keys {
            integers::each(keys, |key| {
                set.insert(key);
            });
        }
        Ok(Set::Scattered(set))
    }

    /// Tells the scans of the right side what they may leave out.
    fn tell(&self, keys: &[ArrayRef], set: &Set) -> Result<()> {
        let hint = self.hint.as_ref().and_then(|hint| hint.downcast_ref::<DynamicFilterPhysicalExpr>());
        let Some(hint) = hint else { return Ok(()) };
        let Some((least, greatest)) = integers::bounds(keys) else {
            hint.update(lit(false))?;
            hint.mark_complete();
            return Ok(());
        };
        let mut condition = self.between(least, greatest)?;
        let is_selective =
            |set: &NumberSet| self.wanted.values.is_none_or(|values| set.count() <= values / SHARE);
        let among: Option<Arc<dyn PhysicalExpr>> = match set {
            _ if integers::count(keys) <= self.few => {
                let arrays: Vec<&dyn Array> = keys.iter().map(AsRef::as_ref).collect();
                let list = concat(&arrays)?;
                let key = Arc::clone(&self.key);
                Some(Arc::new(InListExpr::try_new_from_array(key, list, false, &self.right_schema)?))
            }
            Set::Close(set) if self.wanted.by_many_rows && is_selective(set) => {
                Some(Arc::new(AmongKeys::new(Arc::clone(&self.key), Arc::clone(set))))
            }
            _ => None,
        };
        if let Some(among) = among {
            condition = Arc::new(BinaryExpr::new(condition, Operator::And, among));
        }
        hint.update(condition)?;
        hint.mark_complete();
        Ok(())
    }

    fn between(&self, least: i64, greatest: i64) -> Result<Arc<dyn PhysicalExpr>> {
        let data_type = self.key.data_type(&self.right_schema)?;
        let bound = |operator, number| -> Result<Arc<dyn PhysicalExpr>> {
            let number = lit(ScalarValue::Int64(Some(number)).cast_to(&data_type)?);
            Ok(Arc::new(BinaryExpr::new(Arc::clone(&self.key), operator, number)))
        };
        let (from, to) = (bound(Operator::GtEq, least)?, bound(Operator::LtEq, greatest)?);
        Ok(Arc::new(BinaryExpr::new(from, Operator::And, to)))
    }
}

impl IntegerSemiJoin {
    /// What is known of the scan that has the hint.
    fn wanted(&self) -> Wanted {
        fn look(plan: &Arc<dyn ExecutionPlan>, hint: u64, wanted: &mut Wanted) {
            if let Some(scan) = plan.downcast_ref::<BasaltScan>() {
                let known = scan.hints().iter().find(|known| known.expression_id() == Some(hint));
                let column = known.and_then(|known| known.children().first()?.downcast_ref::<Column>());
                wanted.by_many_rows |= known.is_some() && scan.rows_estimate() >= ROWS_MIN;
                wanted.values = wanted.values.max(column.and_then(|key| scan.distinct_values(key.index())));
            }
            plan.children().into_iter().for_each(|child| look(child, hint, wanted));
        }
        let mut wanted = Wanted::default();
        if let Some(hint) = self.hint.as_ref().and_then(|hint| hint.expression_id()) {
            look(&self.right, hint, &mut wanted);
        }
        wanted
    }

    /// The keys, which are being read once the first partition waits for them.
    fn keys(&self, context: &Arc<TaskContext>) -> Result<SharedKeys> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = &*known {
            return Ok(keys.clone());
        }
        let left = self.left.execute(0, Arc::clone(context))?;
        let gatherer = Gatherer {
            on: self.on,
            key: Arc::new(self.key.clone()),
            hint: self.hint.clone(),
            few: self.few,
            wanted: self.wanted(),
            right_schema: self.right.schema(),
            rows: MetricBuilder::new(&self.metrics).counter("build_input_rows", 0),
        };
        let reservation = MemoryConsumer::new("IntegerSemiJoin").register(context.memory_pool());
        // In a task of its own: a partition that read them would wake the others on its own thread, and keep them waiting there until it is done.
        let gathered = async move {
            let keys = SpawnedTask::spawn(gatherer.gather(left, reservation)).join_unwind().await;
            let keys = keys.map_err(|error| DataFusionError::External(Box::new(error)));
            keys.flatten().map(Arc::new).map_err(Arc::new)
        };
        Ok(known.insert(gathered.boxed().shared()).clone())
    }
}

impl fmt::Debug for IntegerSemiJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntegerSemiJoin")
            .field("left", &self.left)
            .field("right", &self.right)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for IntegerSemiJoin {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let left = self.left.schema();
        write!(f, "IntegerSemiJoin: {}@{} = {}", left.field(self.on).name(), self.on, self.key)
    }
}

impl ExecutionPlan for IntegerSemiJoin {
    fn name(&self) -> &str {
        "IntegerSemiJoin"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.right.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false, true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let key: Arc<dyn PhysicalExpr> = Arc::new(self.key.clone());
        f(&key)
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.hint.iter().cloned().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (right, left) = (children.pop(), children.pop());
        let (Some(left), Some(right)) = (left, right) else {
            return datafusion::common::internal_err!("a join of fewer than two inputs");
        };
        Ok(Arc::new(Self {
            left,
            right,
            on: self.on,
            key: self.key.clone(),
            hint: self.hint.clone(),
            few: self.few,
            known: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let passing = Passing {
            keys: self.keys(&context)?,
            key: self.key.index(),
            right: Arc::clone(&self.right),
            partition,
            rows: None,
            metrics: BaselineMetrics::new(&self.metrics, partition),
            context,
        };
        let rows = stream::unfold(passing, |mut passing| async move {
            let batch = passing.next().await.transpose()?;
            Some((batch, passing))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::Skip, ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::clone(&inputs[1]).to_inexact()))
    }
}

/// A partition of the right side on its way through the keys.
struct Passing {
    keys: SharedKeys,
    key: usize,
    right: Arc<dyn ExecutionPlan>,
    partition: usize,
    context: Arc<TaskContext>,
    /// Begun once the keys are known, and with them what its scans may leave out.
    rows: Option<Begun>,
    metrics: BaselineMetrics,
}

struct Begun {
    keys: Arc<Keys>,
    input: Option<SendableRecordBatchStream>,
    /// Batches of which few rows are left become fewer.
    passed: BatchCoalescer,
}

impl Passing {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let mut looked_at = 0;
        loop {
            let begun = match &mut self.rows {
                Some(begun) => begun,
                None => {
                    let keys = self.keys.clone().await.map_err(DataFusionError::Shared)?;
                    self.rows.insert(Begun::new(keys, &self.right, self.partition, &self.context)?)
                }
            };
            if let Some(batch) = begun.passed.next_completed_batch() {
                return Ok(Some(batch.record_output(&self.metrics)));
            }
            let Some(input) = &mut begun.input else { return Ok(None) };
            match input.next().await {
                Some(batch) => {
                    let _timer = self.metrics.elapsed_compute().timer();
                    let batch = batch?;
                    let passing = begun.keys.passing(batch.column(self.key));
                    if passing.true_count() == batch.num_rows() {
                        begun.passed.push_batch(batch)?;
                    } else {
                        begun.passed.push_batch_with_filter(batch, &passing)?;
                    }
                }
                None => {
                    begun.input = None;
                    begun.passed.finish_buffered_batch()?;
                }
            }
            looked_at += 1;
            if looked_at % BATCHES_OF_A_TURN == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}

impl Begun {
    fn new(
        keys: Arc<Keys>,
        right: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: &Arc<TaskContext>,
    ) -> Result<Self> {
        let batch_rows = context.session_config().batch_size();
        let passed = BatchCoalescer::new(right.schema(), batch_rows);
        let passed = passed.with_biggest_coalesce_batch_size(Some(batch_rows / 4));
        // Nobody has a partner: nothing is read.
        let input = match keys.set {
            Set::Nothing => None,
            _ => Some(right.execute(partition, Arc::clone(context))?),
        };
        Ok(Self { keys, input, passed })
    }
}
