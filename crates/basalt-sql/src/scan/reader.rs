// SPDX-License-Identifier: Apache-2.0
//! One partition of a scan at work: rows of its ranges, or of single keys, with their counters.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

use basalt_hfile::typed::{RowDecoder, Totals, Wanted};
use basalt_store::read::{CellColumns, ReadCounters, RowBatch, RowBatches, RowRequest};
use bytes::Bytes;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput,
};

use super::deal::Deal;
use super::exec::{Spec, table_schema};
use super::filter;
use super::partition::Partition;
use crate::error::SqlError;
use crate::keys::Access;

/// Returns to the executor once: a scan that finds nothing must not keep a query from being cancelled.
pub(super) async fn let_others_run() {
    let mut yielded = false;
    futures::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What EXPLAIN ANALYZE prints of a scan.
pub(super) struct Counters {
    baseline: BaselineMetrics,
    bytes: Count,
    blocks: Count,
    /// Those of them that were in the cache.
    blocks_cached: Count,
    blocks_skipped: Count,
    rows_skipped: Count,
}

impl Counters {
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            bytes: MetricBuilder::new(metrics).counter("bytes_read", partition),
            blocks: MetricBuilder::new(metrics).counter("blocks_read", partition),
            blocks_cached: MetricBuilder::new(metrics).counter("blocks_cached", partition),
            blocks_skipped: MetricBuilder::new(metrics).counter("blocks_skipped", partition),
            rows_skipped: MetricBuilder::new(metrics).counter("rows_skipped", partition),
        }
    }
}

/// How rows are wanted.
pub(super) enum Rows {
    /// As the schema has them.
    Plain,
    /// See [`basalt_sql_operators::ShortSource`].
    Short,
    /// Added up, this much of each column; only those that cannot be come as they are. Not of single keys.
    Total(Vec<Wanted>),
}

/// Reads one partition.
pub(super) struct Reader {
    spec: Arc<Spec>,
    source: Source,
    rows_left: usize,
    counters: Counters,
}

/// What is read of a scan.
pub(super) struct Part {
    pub(super) of: Partition,
    /// It is read as it is dealt out to the partition of this number.
    pub(super) deal: Option<(Arc<Deal>, usize)>,
    /// Its rows may come in any order.
    pub(super) any_order: bool,
}

enum Source {
    Ranges { scan: RowBatches, before: Read },
    Points { next: usize },
}

/// What a scan has counted.
#[derive(Default)]
struct Read {
    rows: u64,
    bytes: u64,
    blocks: u64,
    blocks_cached: u64,
    blocks_skipped: u64,
    rows_skipped: u64,
}

impl Read {
    fn of(counters: &ReadCounters) -> Self {
        Self {
            rows: counters.rows.load(Relaxed),
            bytes: counters.bytes_read.load(Relaxed),
            blocks: counters.blocks_read.load(Relaxed) + counters.blocks_cached.load(Relaxed),
            blocks_cached: counters.blocks_cached.load(Relaxed),
            blocks_skipped: counters.blocks_skipped.load(Relaxed),
            rows_skipped: counters.rows_skipped.load(Relaxed),
        }
    }
}

impl Reader {
    pub(super) fn open(
        spec: &Arc<Spec>,
        hints: Vec<Arc<dyn PhysicalExpr>>,
        part: Part,
        rows: Rows,
        counters: Counters,
    ) -> std::result::Result<Self, SqlError> {
        spec.progress.enter("reading");
        let rows_left = spec.limit.unwrap_or(usize::MAX);
        let source = match &spec.access.access {
            Access::Points(_) => Source::Points { next: 0 },
            _ => {
                let expected =
                    if matches!(spec.access.access, Access::Full) { spec.rows_estimate } else { 0 };
                spec.progress.expect(expected / spec.partitions_max.max(1) as u64, part.of.bytes);
                let schema = Arc::new(table_schema(&spec.descriptor).clone());
                let request = RowRequest {
                    columns: spec.columns.clone(),
                    condition: filter::condition(spec.filter.as_ref(), hints, &spec.columns, &schema),
                    skip: spec.skip as u64,
                    as_of_ms: spec.as_of_ms,
                    short: matches!(rows, Rows::Short),
                    totals: match rows {
                        Rows::Total(wanted) => Some(wanted),
                        Rows::Plain | Rows::Short => None,
                    },
                    any_order: part.any_order,
                    batch_rows: spec.batch_rows.min(rows_left.max(1)),
                    cached: spec.cached,
                };
                let (snapshot, own) = (&spec.snapshot, part.of.ranges);
                let scan = match part.deal {
                    None => snapshot.rows(spec.id, &schema, request, own)?,
                    Some((deal, partition)) => {
                        let next = move || deal.take(partition);
                        snapshot.rows_in_parts(spec.id, &schema, request, &own, next)?
                    }
                };
                Source::Ranges { scan, before: Read::default() }
            }
        };
        Ok(Self { spec: Arc::clone(spec), source, rows_left, counters })
    }

    /// The next rows; perhaps none, of a scan with a condition.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.rows_left == 0 {
            return Ok(None);
        }
        let timer = self.counters.baseline.elapsed_compute().clone();
        let _running = timer.timer();
        let read = match &mut self.source {
            Source::Ranges { scan, .. } => scan.next().transpose().map_err(SqlError::from)?,
            Source::Points { next } => {
                let Access::Points(keys) = &self.spec.access.access else { return Ok(None) };
                let from = *next;
                *next = keys.len().min(from + self.spec.batch_rows);
                if from == keys.len() { None } else { Some(look_up(&self.spec, &keys[from..*next])?) }
            }
        };
        let Some(RowBatch { batch, passed }) = read else { return Ok(None) };
        let batch = match &self.spec.filter {
            Some(filter) if !passed => filter.apply(&batch)?,
            _ => batch,
        };
        let batch = if batch.num_rows() > self.rows_left { batch.slice(0, self.rows_left) } else { batch };
        self.rows_left -= batch.num_rows();
        self.count(batch.num_rows());
        Ok(Some(batch.record_output(&self.counters.baseline)))
    }

    /// What was added up.
    pub(super) fn totals(&self) -> Option<&Totals> {
        match &self.source {
            Source::Ranges { scan, .. } => scan.totals(),
            Source::Points { .. } => None,
        }
    }

    fn count(&mut self, rows: usize) {
        let Source::Ranges { scan, before } = &mut self.source else {
            return self.spec.progress.add_read(rows as u64, 0);
        };
        let now = Read::of(scan.counters());
        let bytes = now.bytes - before.bytes;
        let rows_skipped = now.rows_skipped - before.rows_skipped;
        self.counters.bytes.add(bytes as usize);
        self.counters.blocks.add((now.blocks - before.blocks) as usize);
        self.counters.blocks_cached.add((now.blocks_cached - before.blocks_cached) as usize);
        self.counters.blocks_skipped.add((now.blocks_skipped - before.blocks_skipped) as usize);
        self.counters.rows_skipped.add(rows_skipped as usize);
        self.spec.progress.add_read(now.rows - before.rows + rows_skipped, bytes);
        *before = now;
    }
}

/// Reads rows one by one through bloom filters and index, without a scan.
pub(super) fn look_up(spec: &Spec, keys: &[Bytes]) -> std::result::Result<RowBatch, SqlError> {
    let more = spec.filter.as_ref().map(|filter| filter.more.as_slice()).unwrap_or_default();
    let columns = [&spec.columns, more].concat();
    let schema = table_schema(&spec.descriptor);
    let mut decoder = RowDecoder::of_columns(schema, &columns);
    let columns = CellColumns::new(schema, columns);
    for key in keys {
        for run in spec.snapshot.get_row_of(spec.id, key, &columns)? {
            decoder.push(&run)?;
        }
    }
    decoder.end()?;
    Ok(RowBatch { batch: decoder.finish_batch()?, passed: spec.filter.is_none() })
}
