// SPDX-License-Identifier: Apache-2.0
//! The operator: reads all partitions of its input, then hands on their rows in one sequence.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput, Time,
};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use super::gather::gather;
use super::keys::{Entry, KeyMaker, Ties};
use super::runs::{self, Merge, RUN_ROWS};

/// Sorts all rows of all partitions into one sequence.
#[derive(Debug)]
pub(super) struct RowSort {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    spilling: Spilling,
}

/// The planner's sort, once it has taken over.
type Spilling = Arc<OnceLock<Arc<SortExec>>>;

impl RowSort {
    /// In place of `sort`, and of a merge of its partitions.
    pub(super) fn new(sort: &SortExec) -> Self {
        let properties = PlanProperties::clone(sort.properties());
        let properties = Arc::new(properties.with_partitioning(Partitioning::UnknownPartitioning(1)));
        Self {
            input: Arc::clone(sort.input()),
            order: sort.expr().clone(),
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
            spilling: Spilling::default(),
        }
    }
}

impl DisplayAs for RowSort {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::TreeRender => write!(f, "{}", self.order),
            _ => write!(f, "RowSort: expr=[{}]", self.order),
        }
    }
}

impl ExecutionPlan for RowSort {
    fn name(&self) -> &str {
        "RowSort"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for sort in self.order.iter() {
            if f(&sort.expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self {
            input: children.remove(0),
            order: self.order.clone(),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
            spilling: Spilling::default(),
        }))
    }

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, 0);
        let count = self.input.properties().partitioning.partition_count();
        let inputs: Vec<SendableRecordBatchStream> = (0..count)
            .map(|partition| self.input.execute(partition, Arc::clone(&context)))
            .collect::<Result<_>>()?;
        let (order, schema) = (self.order.clone(), self.schema());
        let spilling = Arc::clone(&self.spilling);
        let time = metrics.elapsed_compute().clone();
        let sorted = sorted(inputs, order, SchemaRef::clone(&schema), context, (spilling, time));
        let rows = stream::once(sorted).try_flatten();
        let rows = rows.map(move |batch| batch.map(|batch| batch.record_output(&metrics)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.metrics.clone_inner();
        let of_sort = self.spilling.get().and_then(|sort| sort.metrics());
        for metric in of_sort.iter().flat_map(|metrics| metrics.iter()) {
            let name = metric.value().name();
            if name.contains("spill") || name == "elapsed_compute" {
                metrics.push(Arc::clone(metric));
            }
        }
        Some(metrics)
    }
}

/// The rows of all inputs in order.
async fn sorted(
    inputs: Vec<SendableRecordBatchStream>,
    order: LexOrdering,
    schema: SchemaRef,
    context: Arc<TaskContext>,
    (sort, time): (Spilling, Time),
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let consumer = MemoryConsumer::new("RowSort").with_can_spill(true);
    let memory = Arc::new(Mutex::new(consumer.register(context.memory_pool())));
    let full = Arc::new(AtomicBool::new(false));
    let tasks: Vec<SpawnedTask<Result<Part>>> = inputs
        .into_iter()
        .map(|input| {
            let part = Part::try_new(&order, &schema, time.clone());
            let (memory, full) = (Arc::clone(&memory), Arc::clone(&full));
            SpawnedTask::spawn(async move { part?.read(input, &memory, &full).await })
        })
        .collect();
    let mut parts = vec![];
    for task in tasks {
        parts.push(task.await.map_err(|ended| DataFusionError::ExecutionJoin(Box::new(ended)))??);
    }
    if full.load(Relaxed) {
        memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner).free();
        return spilling(parts, order, schema, context, &sort);
    }
    Ok(merged(parts, schema, &context, memory, time))
}

/// One partition of the input, as far as it was read.
struct Part {
    order: LexOrdering,
    maker: KeyMaker,
    batches: Vec<RecordBatch>,
    ties: Vec<Ties>,
    runs: Vec<Vec<Entry>>,
    nulls: Vec<Entry>,
    /// What was not read any more.
    rest: Option<SendableRecordBatchStream>,
    time: Time,
}

impl Part {
    fn try_new(order: &LexOrdering, schema: &SchemaRef, time: Time) -> Result<Self> {
        let columns = order.iter().map(|sort| Ok((sort.expr.data_type(schema)?, sort.options)));
        let maker = KeyMaker::try_new(&columns.collect::<Result<Vec<_>>>()?)?;
        let order = order.clone();
        let (batches, ties, runs, nulls) = (vec![], vec![], vec![], vec![]);
        Ok(Self { order, maker, batches, ties, runs, nulls, rest: None, time })
    }

    /// Reads the input to its end, or until there is no memory, for this part or another.
    async fn read(
        mut self,
        mut input: SendableRecordBatchStream,
        memory: &Mutex<MemoryReservation>,
        full: &AtomicBool,
    ) -> Result<Self> {
        let mut run: Vec<Entry> = vec![];
        let time = self.time.clone();
        while let Some(batch) = input.next().await.transpose()? {
            if batch.num_rows() == 0 {
                continue;
            }
            let _timer = time.timer();
            let columns =
                self.order.iter().map(|sort| sort.expr.evaluate(&batch)?.into_array(batch.num_rows()));
            let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
            let ties = self.maker.entries(&columns, self.batches.len() as u32, &mut run, &mut self.nulls)?;
            let size = batch.get_array_memory_size()
                + batch.num_rows() * size_of::<Entry>()
                + if let Ties::Rows(rows) = &ties { rows.size() } else { 0 };
            self.batches.push(batch);
            self.ties.push(ties);
            let grown = memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner).try_grow(size);
            if grown.is_err() {
                full.store(true, Relaxed);
            }
            if full.load(Relaxed) {
                self.rest = Some(input);
                return Ok(self);
            }
            if run.len() >= RUN_ROWS {
                runs::sort(&mut run, &self.ties);
                self.runs.push(std::mem::take(&mut run));
            }
        }
        let _timer = time.timer();
        runs::sort(&mut run, &self.ties);
        self.runs.push(run);
        Ok(self)
    }
}

/// Gathers the rows of parts that are in memory, by all threads.
fn merged(
    parts: Vec<Part>,
    schema: SchemaRef,
    context: &TaskContext,
    memory: Arc<Mutex<MemoryReservation>>,
    time: Time,
) -> BoxStream<'static, Result<RecordBatch>> {
    let (mut batches, mut ties, mut runs, mut nulls) = (vec![], vec![], vec![], vec![]);
    let mut nulls_first = false;
    for part in parts {
        // Batches are numbered anew, one part behind the other.
        let moved = batches.len() as u32;
        let move_entries = |mut entries: Vec<Entry>| {
            entries.iter_mut().for_each(|entry| entry.batch += moved);
            entries
        };
        runs.extend(part.runs.into_iter().map(move_entries));
        nulls.extend(move_entries(part.nulls));
        nulls_first = part.maker.nulls_first();
        batches.extend(part.batches);
        ties.extend(part.ties);
    }
    let merge = Merge::new(runs, ties, nulls, nulls_first);
    let batches = Arc::new(batches);
    let (rows, threads) =
        (context.session_config().batch_size(), context.session_config().target_partitions());
    // The reservation lives as long as the rows do.
    let of_merge = time.clone();
    let places = stream::unfold((merge, memory, of_merge), move |(mut merge, memory, time)| async move {
        let timer = time.timer();
        let places = merge.next_places(rows);
        timer.done();
        (!places.is_empty()).then_some((places, (merge, memory, time)))
    });
    let gathered = places.map(move |places| {
        let (batches, schema, time) = (Arc::clone(&batches), SchemaRef::clone(&schema), time.clone());
        SpawnedTask::spawn(async move {
            let _timer = time.timer();
            gather(&batches, &places, schema)
        })
    });
    gathered
        .buffered(threads.max(1))
        .map(|done| done.map_err(|ended| DataFusionError::ExecutionJoin(Box::new(ended)))?)
        .boxed()
}

/// Hands parts that are too large over to the planner's sort, which spills.
fn spilling(
    parts: Vec<Part>,
    order: LexOrdering,
    schema: SchemaRef,
    context: Arc<TaskContext>,
    of_plan: &Spilling,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let streams = parts.into_iter().map(|part| {
        let Part { batches, rest, .. } = part;
        let read = stream::iter(batches.into_iter().map(Ok));
        let all = match rest {
            Some(rest) => read.chain(rest).boxed(),
            None => read.boxed(),
        };
        let once = Once { schema: SchemaRef::clone(&schema), rows: Mutex::new(Some(all)) };
        Arc::new(once) as Arc<dyn PartitionStream>
    });
    let streams: Vec<_> = streams.collect();
    let input = StreamingTableExec::try_new(SchemaRef::clone(&schema), streams, None, [], false, None)?;
    let sort = SortExec::new(order.clone(), Arc::new(input)).with_preserve_partitioning(true);
    let sort = Arc::new(sort);
    // A plan that runs twice shows the first time.
    let _ = of_plan.set(Arc::clone(&sort));
    Ok(SortPreservingMergeExec::new(order, sort).execute(0, context)?.boxed())
}

/// Rows that are read once.
struct Once {
    schema: SchemaRef,
    rows: Mutex<Option<BoxStream<'static, Result<RecordBatch>>>>,
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once")
    }
}

impl PartitionStream for Once {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let rows = rows.unwrap_or_else(|| stream::empty().boxed());
        Box::pin(RecordBatchStreamAdapter::new(SchemaRef::clone(&self.schema), rows))
    }
}
