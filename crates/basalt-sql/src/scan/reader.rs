// SPDX-License-Identifier: Apache-2.0
//! One partition of a scan at work: rows of its ranges, or of single keys, with their counters.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

use basalt_hfile::typed::{RowDecoder, Totals, Wanted};
use basalt_model::KeyRange;
use basalt_store::CellRun;
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
use super::narrowed::Narrowed;
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
    pub(super) baseline: BaselineMetrics,
    bytes: Count,
    blocks: Count,
    /// Those of them that were in the cache.
    blocks_cached: Count,
    blocks_skipped: Count,
    rows_skipped: Count,
    /// Keys or ranges that hints left.
    narrowed: Count,
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
            narrowed: MetricBuilder::new(metrics).counter("looked_up", partition),
        }
    }
}

impl Counters {
    /// Adds what was read since `before`, which becomes now; the rows and bytes that a progress bar hears of.
    fn add(&self, reads: &ReadCounters, before: &mut Read) -> (u64, u64) {
        let now = Read::of(reads);
        // What was counted as read may turn out to be in the cache.
        let bytes = now.bytes.saturating_sub(before.bytes);
        let rows_skipped = now.rows_skipped - before.rows_skipped;
        self.bytes.add(bytes as usize);
        self.blocks.add(now.blocks.saturating_sub(before.blocks) as usize);
        self.blocks_cached.add(now.blocks_cached.saturating_sub(before.blocks_cached) as usize);
        self.blocks_skipped.add((now.blocks_skipped - before.blocks_skipped) as usize);
        self.rows_skipped.add(rows_skipped as usize);
        let rows = now.rows - before.rows + rows_skipped;
        *before = now;
        (rows, bytes)
    }
}

/// How rows are wanted.
#[derive(Clone)]
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
    counters: Arc<Counters>,
}

/// What is read of a scan.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) of: Partition,
    /// It is read as it is dealt out to the partition of this number.
    pub(super) deal: Option<(Arc<Deal>, usize)>,
    /// Its rows may come in any order.
    pub(super) any_order: bool,
    /// What hints leave of the whole scan.
    pub(super) narrowed: Option<Arc<Narrowed>>,
}

enum Source {
    Ranges { scan: RowBatches, before: Read },
    Points(Points),
}

/// Rows that are looked up by their keys.
struct Points {
    /// Sorted, each once.
    keys: Vec<Bytes>,
    next: usize,
    /// Keys that come when these are done.
    more: Option<Box<dyn FnMut() -> Option<Vec<Bytes>> + Send>>,
}

impl Points {
    fn new(keys: Vec<Bytes>) -> Self {
        Self { keys, next: 0, more: None }
    }

    /// The next keys, at most so many.
    fn take(&mut self, count: usize) -> Option<&[Bytes]> {
        while self.next == self.keys.len() {
            self.keys = self.more.as_mut()?()?;
            self.next = 0;
        }
        let from = self.next;
        self.next = self.keys.len().min(from + count);
        Some(&self.keys[from..self.next])
    }
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
        counters: Arc<Counters>,
    ) -> std::result::Result<Self, SqlError> {
        spec.progress.enter("reading");
        let rows_left = spec.limit.unwrap_or(usize::MAX);
        let source = match &spec.access.access {
            Access::Points(keys) => Source::Points(Points::new(keys.clone())),
            _ => {
                let narrowed = part.narrowed.clone();
                counters
                    .narrowed
                    .add(narrowed.map_or(0, |narrowed| narrowed.within(&part.of.ranges).count()));
                match points(&part) {
                    Some(points) => Source::Points(points),
                    None => {
                        let scan = Self::scan(spec, hints, part, rows)?;
                        Source::Ranges { scan, before: Read::default() }
                    }
                }
            }
        };
        Ok(Self { spec: Arc::clone(spec), source, rows_left, counters })
    }

    /// Begins to scan the part's ranges.
    fn scan(
        spec: &Spec,
        hints: Vec<Arc<dyn PhysicalExpr>>,
        part: Part,
        rows: Rows,
    ) -> std::result::Result<RowBatches, SqlError> {
        let expected = if matches!(spec.access.access, Access::Full) { spec.rows_estimate } else { 0 };
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
            batch_rows: spec.batch_rows.min(spec.limit.unwrap_or(usize::MAX).max(1)),
            cached: spec.cached,
        };
        let left =
            move |ranges: Vec<KeyRange>| match part.narrowed.as_deref().map(|left| left.within(&ranges)) {
                Some(Narrowed::Ranges(ranges)) => ranges,
                _ => ranges,
            };
        let (snapshot, own) = (&spec.snapshot, part.of.ranges);
        Ok(match part.deal {
            None => snapshot.rows(spec.id, &schema, request, left(own))?,
            Some((deal, partition)) => {
                let next = move || deal.take(partition).map(&left);
                snapshot.rows_in_parts(spec.id, &schema, request, &own, next)?
            }
        })
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
            Source::Points(points) => match points.take(self.spec.batch_rows) {
                Some(keys) => Some(look_up(&self.spec, keys, &self.counters)?),
                None => None,
            },
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
            Source::Points(_) => None,
        }
    }

    fn count(&mut self, rows: usize) {
        let (rows, bytes) = match &mut self.source {
            Source::Ranges { scan, before } => self.counters.add(scan.counters(), before),
            Source::Points(_) => (rows as u64, 0),
        };
        self.spec.progress.add_read(rows, bytes);
    }
}

/// The keys of a part that is narrowed to keys.
fn points(part: &Part) -> Option<Points> {
    let narrowed = part.narrowed.as_ref()?;
    let keys = |narrowed: &Narrowed, ranges: &[KeyRange]| match narrowed.within(ranges) {
        Narrowed::Keys(keys) => Some(keys),
        Narrowed::Ranges(_) => None,
    };
    let Some((deal, partition)) = part.deal.clone() else {
        return keys(narrowed, &part.of.ranges).map(Points::new);
    };
    keys(narrowed, &[])?;
    let narrowed = Arc::clone(narrowed);
    let more = move || deal.take(partition).and_then(|ranges| keys(&narrowed, &ranges));
    Some(Points { more: Some(Box::new(more)), ..Points::new(vec![]) })
}

/// Reads rows one by one through bloom filters and index, without a scan.
pub(super) fn look_up(
    spec: &Spec,
    keys: &[Bytes],
    counters: &Counters,
) -> std::result::Result<RowBatch, SqlError> {
    let reads = Arc::default();
    let more = spec.filter.as_ref().map(|filter| filter.more.as_slice()).unwrap_or_default();
    let columns = [&spec.columns, more].concat();
    let schema = table_schema(&spec.descriptor);
    let mut decoder = RowDecoder::of_columns(schema, &columns);
    let columns = CellColumns::new(schema, columns);
    let mut push = |cells: Vec<CellRun>| cells.iter().try_for_each(|run| decoder.push(run));
    if keys.is_sorted_by(|a, b| a < b) {
        spec.snapshot.get_rows_of(spec.id, keys, &columns, &reads)?.into_iter().try_for_each(push)?;
    } else {
        for key in keys {
            push(spec.snapshot.get_row_of(spec.id, key, &columns, &reads)?)?;
        }
    }
    counters.add(&reads, &mut Read::default());
    decoder.end()?;
    Ok(RowBatch { batch: decoder.finish_batch()?, passed: spec.filter.is_none() })
}
