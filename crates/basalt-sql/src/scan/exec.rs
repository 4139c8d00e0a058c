// SPDX-License-Identifier: Apache-2.0
//! The leaf of every plan: reads one partition of a table batch by batch.
//!
//! The store is synchronous. A poll of the stream reads one batch and returns, so a dropped stream stops at the
//! next batch, and the cooperative wrapper lets other tasks run in between.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::typed::RowDecoder;
use basalt_model::schema::ColumnRef;
use basalt_model::{KeyRange, SortOrder, SqlType, TableDescriptor, TableId, TableSchema};
use basalt_store::Snapshot;
use basalt_store::read::RowScan;
use bytes::Bytes;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::stream;

use super::BATCH_ROWS;
use super::partition::{self, Partition};
use crate::error::SqlError;
use crate::keys::{Access, KeyAccess};
use crate::progress::Progress;

/// What a scan is made of.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) id: TableId,
    pub(super) descriptor: Arc<TableDescriptor>,
    pub(super) snapshot: Snapshot,
    pub(super) columns: Vec<ColumnRef>,
    pub(super) schema: SchemaRef,
    pub(super) access: KeyAccess,
    pub(super) limit: Option<usize>,
    pub(super) partitions_max: usize,
    pub(super) rows_estimate: u64,
    pub(super) progress: Arc<Progress>,
}

/// A scan of a table, cut into partitions.
#[derive(Debug)]
pub(crate) struct BasaltScan {
    spec: Arc<Spec>,
    partitions: Vec<Partition>,
    segments: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl BasaltScan {
    pub(super) fn try_new(spec: Spec) -> std::result::Result<Self, basalt_store::Error> {
        let (partitions, segments) = cut(&spec)?;
        let ordering = key_ordering(table_schema(&spec.descriptor), &spec.columns);
        let equivalences = EquivalenceProperties::new_with_orderings(Arc::clone(&spec.schema), ordering);
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(Self {
            spec: Arc::new(spec),
            partitions,
            segments,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Rows that the plan may count on, estimated.
    fn rows_estimate(&self) -> usize {
        let rows = match &self.spec.access.access {
            Access::Nothing => 0,
            Access::Points(keys) => keys.len(),
            Access::Full => self.spec.rows_estimate as usize,
            // What share of the table the ranges are is not known without reading; a quarter keeps joins from
            // treating a range as the whole table.
            Access::Ranges(_) => self.spec.rows_estimate as usize / 4,
        };
        self.spec.limit.map_or(rows, |limit| rows.min(limit))
    }
}

fn table_schema(descriptor: &TableDescriptor) -> &TableSchema {
    descriptor.schema.as_ref().expect("BasaltTable::new refuses tables without schema")
}

fn cut(spec: &Spec) -> std::result::Result<(Vec<Partition>, usize), basalt_store::Error> {
    let all = [KeyRange::all()];
    let ranges: &[KeyRange] = match &spec.access.access {
        Access::Nothing | Access::Points(_) => return Ok((vec![Partition::default()], 0)),
        Access::Ranges(ranges) => ranges,
        Access::Full => &all,
    };
    let segments = spec.snapshot.segments(spec.id, ranges, spec.partitions_max)?;
    let bytes = segments.iter().map(|segment| segment.bytes_estimate).sum();
    let count = segments.len();
    let mut partitions = partition::group(segments, partition::wanted(bytes, spec.partitions_max));
    if partitions.is_empty() {
        partitions.push(Partition::default());
    }
    Ok((partitions, count))
}

/// The order of the rows of a partition: the leading key columns, as far as they are read.
fn key_ordering(schema: &TableSchema, columns: &[ColumnRef]) -> Option<Vec<PhysicalSortExpr>> {
    let mut ordering = vec![];
    for (index, key) in schema.key.iter().enumerate() {
        let Some(at) = columns.iter().position(|column| *column == ColumnRef::Key(index)) else { break };
        if matches!(key.sql_type, SqlType::Array(_)) {
            break;
        }
        let expr: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&key.name, at));
        // NULL sorts first in a row key, whichever the order of the column.
        let options = SortOptions { descending: key.order == SortOrder::Desc, nulls_first: true };
        ordering.push(PhysicalSortExpr::new(expr, options));
    }
    (!ordering.is_empty()).then_some(ordering)
}

impl DisplayAs for BasaltScan {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let spec = &self.spec;
        let bounds = &spec.access.bounds;
        let access = match &spec.access.access {
            Access::Nothing => "nothing, the conditions contradict each other".to_owned(),
            Access::Points(keys) => format!("point lookup on {} {bounds}", count(keys.len(), "key")),
            Access::Ranges(ranges) => format!("range scan on {} {bounds}", count(ranges.len(), "range")),
            Access::Full => "full scan".to_owned(),
        };
        let columns: Vec<_> = spec.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let columns = columns.join(", ");
        if t == DisplayFormatType::TreeRender {
            return write!(f, "table={}\naccess={access}\ncolumns={columns}", spec.descriptor.name);
        }
        write!(f, "BasaltScan: table={}, access={access}, columns=[{columns}]", spec.descriptor.name)?;
        if !matches!(spec.access.access, Access::Nothing | Access::Points(_)) {
            write!(f, ", segments={}", self.segments)?;
        }
        match spec.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

impl ExecutionPlan for BasaltScan {
    fn name(&self) -> &str {
        "BasaltScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partition_spec = self.partitions[partition].clone();
        let counters = Counters::new(&self.metrics, partition);
        let reader = Reader::open(&self.spec, partition_spec, counters)?;
        let batches = stream::unfold(Some(reader), |reader| async {
            let mut reader = reader?;
            match reader.next() {
                Ok(Some(batch)) => Some((Ok(batch), Some(reader))),
                Ok(None) => None,
                Err(error) => Some((Err(DataFusionError::from(error)), None)),
            }
        });
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&self.spec.schema), Box::pin(batches));
        Ok(Box::pin(cooperative(rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let share = if args.partition().is_some() { self.partitions.len().max(1) } else { 1 };
        let bytes: u64 = self.partitions.iter().map(|partition| partition.bytes).sum();
        Ok(Arc::new(Statistics {
            num_rows: Precision::Inexact(self.rows_estimate() / share),
            total_byte_size: Precision::Inexact(bytes as usize / share),
            column_statistics: vec![ColumnStatistics::new_unknown(); self.spec.schema.fields().len()],
        }))
    }
}

/// What EXPLAIN ANALYZE prints of a scan.
struct Counters {
    baseline: BaselineMetrics,
    bytes: Count,
    blocks: Count,
}

impl Counters {
    fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            bytes: MetricBuilder::new(metrics).counter("bytes_read", partition),
            blocks: MetricBuilder::new(metrics).counter("blocks_read", partition),
        }
    }
}

/// Reads one partition.
struct Reader {
    spec: Arc<Spec>,
    source: Source,
    rows_left: usize,
    counters: Counters,
}

enum Source {
    Ranges { scan: Box<RowScan>, bytes_before: u64, blocks_before: u64 },
    Points { next: usize },
}

impl Reader {
    fn open(
        spec: &Arc<Spec>,
        partition: Partition,
        counters: Counters,
    ) -> std::result::Result<Self, SqlError> {
        spec.progress.enter("reading");
        let rows_left = spec.limit.unwrap_or(usize::MAX);
        let source = match &spec.access.access {
            Access::Points(_) => Source::Points { next: 0 },
            _ => {
                let rows = if matches!(spec.access.access, Access::Full) { spec.rows_estimate } else { 0 };
                spec.progress.expect(rows / spec.partitions_max.max(1) as u64, partition.bytes);
                let schema = table_schema(&spec.descriptor);
                let batch_rows = BATCH_ROWS.min(rows_left.max(1));
                let scan =
                    spec.snapshot.rows(spec.id, schema, &spec.columns, partition.ranges, batch_rows)?;
                Source::Ranges { scan: Box::new(scan), bytes_before: 0, blocks_before: 0 }
            }
        };
        Ok(Self { spec: Arc::clone(spec), source, rows_left, counters })
    }

    fn next(&mut self) -> std::result::Result<Option<RecordBatch>, SqlError> {
        if self.rows_left == 0 {
            return Ok(None);
        }
        let timer = self.counters.baseline.elapsed_compute().clone();
        let _running = timer.timer();
        let batch = match &mut self.source {
            Source::Ranges { scan, .. } => scan.next().transpose()?,
            Source::Points { next } => {
                let Access::Points(keys) = &self.spec.access.access else { return Ok(None) };
                let from = *next;
                *next = keys.len().min(from + BATCH_ROWS);
                if from == keys.len() { None } else { Some(look_up(&self.spec, &keys[from..*next])?) }
            }
        };
        let Some(batch) = batch else { return Ok(None) };
        let batch = if batch.num_rows() > self.rows_left { batch.slice(0, self.rows_left) } else { batch };
        self.rows_left -= batch.num_rows();
        self.count(batch.num_rows());
        Ok(Some(batch.record_output(&self.counters.baseline)))
    }

    fn count(&mut self, rows: usize) {
        let mut bytes = 0;
        if let Source::Ranges { scan, bytes_before, blocks_before } = &mut self.source {
            let read = scan.counters();
            let bytes_now = read.bytes_read.load(Relaxed);
            let blocks_now = read.blocks_read.load(Relaxed) + read.blocks_cached.load(Relaxed);
            bytes = bytes_now - *bytes_before;
            self.counters.bytes.add(bytes as usize);
            self.counters.blocks.add((blocks_now - *blocks_before) as usize);
            (*bytes_before, *blocks_before) = (bytes_now, blocks_now);
        }
        self.spec.progress.add_read(rows as u64, bytes);
    }
}

/// Reads rows one by one through bloom filters and index, without a scan.
fn look_up(spec: &Spec, keys: &[Bytes]) -> std::result::Result<RecordBatch, SqlError> {
    let mut decoder =
        RowDecoder::new(table_schema(&spec.descriptor), &spec.columns, Arc::clone(&spec.schema));
    for key in keys {
        for run in spec.snapshot.get_row(spec.id, key)? {
            decoder.push(&run)?;
        }
    }
    decoder.end()?;
    Ok(decoder.finish_batch()?)
}
