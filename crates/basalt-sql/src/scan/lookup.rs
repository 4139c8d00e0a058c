// SPDX-License-Identifier: Apache-2.0
//! The rows of a table that an index names: keys from the index, then the rows by key, batch by batch. Every row is looked at
//! again under the whole condition of the query. Where the order of the index is wanted, that of the rows is the same; else they are read in the order of
//! their keys.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use basalt_hfile::typed::KeyEncoder;
use basalt_model::ColumnRef;
use bytes::Bytes;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::stream::BoxStream;
use futures::{StreamExt, stream};

use super::choose::{Wish, lost};
use super::exec::Spec;
use super::index_only::{Wanted, orderings};
use super::order::{IndexEnd, WantedOrder};
use super::reader::{Counters, look_up};
use super::shared;
use crate::error::SqlError;
use crate::index::Usable;
use crate::ingest::typed;
use crate::keys::{Access, KeyAccess};

/// Rows that are looked up at a time.
const LOOK_UP_ROWS: usize = 1_024;

/// See the module.
#[derive(Debug)]
pub(super) struct IndexLookup {
    /// Gives the columns of the primary key, in key order.
    input: Arc<dyn ExecutionPlan>,
    /// Columns and condition of the rows.
    spec: Arc<Spec>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Rows that are looked up first, where the order of the index is kept.
    ordered: Option<usize>,
    /// What EXPLAIN says.
    title: String,
}

impl IndexLookup {
    /// Plans the way over `index`, of whose rows `filters` are true. It has `order` from an end, if that is wanted.
    pub(super) fn plan(
        wish: &Wish<'_>,
        index: &Usable,
        filters: &[Expr],
        state: &dyn Session,
        note: String,
        order: Option<(&WantedOrder, IndexEnd)>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = wish.table;
        let schema = table.table_schema();
        let mut wanted = Wanted::default();
        for key in &schema.key {
            let place = index.place(&key.name).ok_or_else(|| lost(&key.name))?;
            wanted.column(&index.table, &place.column)?;
        }
        let input = index.table.plain_scan(state, Some(wanted.positions()), filters, None, None)?;
        let access = KeyAccess { access: Access::Points(vec![]), bounds: String::new() };
        let spec = table.spec(state, wish.projection, wish.filters, wish.limit, access, None)?;
        let title = format!("table={}, index={}{note}", table.relation_name(), index.name());
        let wanted_first = order.as_ref().map(|(order, _)| order.fetch.unwrap_or(LOOK_UP_ROWS));
        let (input, orderings) = match order {
            Some((_, end)) => {
                let (input, end) = end.of_scan(input);
                (input, orderings(table, index, filters, &table.columns(wish.projection), &end))
            }
            None => (input, vec![]),
        };
        let order = EquivalenceProperties::new_with_orderings(Arc::clone(&spec.schema), orderings);
        let ordered = wanted_first.map(|rows| rows.clamp(1, LOOK_UP_ROWS));
        Ok(Arc::new(Self::new(input, Arc::new(spec), order, ordered, title)))
    }

    fn new(
        input: Arc<dyn ExecutionPlan>,
        spec: Arc<Spec>,
        order: EquivalenceProperties,
        ordered: Option<usize>,
        title: String,
    ) -> Self {
        let properties = PlanProperties::new(
            order,
            Partitioning::UnknownPartitioning(input.properties().output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        let metrics = ExecutionPlanMetricsSet::new();
        Self { input, spec, properties: Arc::new(properties), metrics, ordered, title }
    }
}

impl DisplayAs for IndexLookup {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "IndexLookup: {}", self.title)?;
        let columns: Vec<_> = self.spec.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, ", columns=[{}]", columns.join(", "))?;
        if let Some(filter) = &self.spec.filter {
            write!(f, ", filter={filter}")?;
        }
        match self.spec.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for IndexLookup {
    fn name(&self) -> &str {
        "IndexLookup"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        match &self.spec.filter {
            Some(filter) => f(&filter.condition),
            None => Ok(TreeNodeRecursion::Continue),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().ok_or_else(|| lost("at all"))?;
        let order = match shared::has_lost_its_order(&self.input, &input) {
            false => self.properties.equivalence_properties().clone(),
            true => EquivalenceProperties::new(Arc::clone(&self.spec.schema)),
        };
        Ok(Arc::new(Self::new(input, Arc::clone(&self.spec), order, self.ordered, self.title.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = &self.spec.descriptor.schema;
        let schema = schema.as_ref().ok_or_else(|| lost("at all"))?;
        let columns: Vec<_> = (0..schema.key.len()).map(ColumnRef::Key).collect();
        let keys = KeyEncoder::try_new(schema, &columns).map_err(|error| typed(error).error)?;
        let reader = Reader {
            names: self.input.execute(partition, context)?,
            keys,
            found: VecDeque::new(),
            ordered: self.ordered,
            spec: Arc::clone(&self.spec),
            rows_left: self.spec.limit.unwrap_or(usize::MAX),
            counters: Counters::new(&self.metrics, partition),
        };
        let batches: BoxStream<'static, Result<RecordBatch>> =
            stream::try_unfold(reader, |mut reader| async move {
                let batch = reader.next().await?;
                Ok(batch.map(|batch| (batch, reader)))
            })
            .boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(SchemaRef::clone(&self.spec.schema), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let named = inputs[0].num_rows.to_inexact();
        let limit = self.spec.limit.map(Precision::Inexact);
        Ok(Arc::new(self.spec.statistics(limit.map_or(named, |limit| named.min(&limit)))))
    }
}

/// Looks the rows of one partition up.
struct Reader {
    names: SendableRecordBatchStream,
    keys: KeyEncoder,
    /// Keys that wait.
    found: VecDeque<Bytes>,
    /// Keys that are looked up next, if they are in the order of the index.
    ordered: Option<usize>,
    spec: Arc<Spec>,
    rows_left: usize,
    counters: Counters,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left > 0 {
            if self.found.is_empty() {
                let Some(batch) = self.names.next().await.transpose()? else { return Ok(None) };
                self.take_keys(&batch)?;
                continue;
            }
            let rows = self.look_up()?;
            if rows.num_rows() > 0 {
                return Ok(Some(rows));
            }
            tokio::task::yield_now().await;
        }
        Ok(None)
    }

    /// The rows of some of the keys that wait.
    fn look_up(&mut self) -> Result<RecordBatch> {
        let timer = self.counters.baseline.elapsed_compute().clone();
        let _running = timer.timer();
        let count = self.ordered.unwrap_or(LOOK_UP_ROWS).min(self.found.len());
        let mut keys: Vec<Bytes> = self.found.drain(..count).collect();
        match &mut self.ordered {
            // Who wants more than the first ones may want many.
            Some(count) => *count = (*count * 2).min(LOOK_UP_ROWS),
            None => keys.sort_unstable(),
        }
        let rows = look_up(&self.spec, &keys, &self.counters)?.batch;
        let rows = match &self.spec.filter {
            Some(filter) => filter.apply(&rows)?,
            None => rows,
        };
        let rows = if rows.num_rows() > self.rows_left { rows.slice(0, self.rows_left) } else { rows };
        self.rows_left -= rows.num_rows();
        self.spec.progress.add_read(keys.len() as u64, 0);
        Ok(rows.record_output(&self.counters.baseline))
    }

    fn take_keys(&mut self, batch: &RecordBatch) -> Result<()> {
        let found = &mut self.found;
        self.keys
            .encode(batch, |_, key| {
                found.push_back(Bytes::copy_from_slice(key));
                Ok::<_, basalt_hfile::typed::TypedError>(())
            })
            .map_err(|error| SqlError::from(error).into())
    }
}
