// SPDX-License-Identifier: Apache-2.0
//! What the database is like at this moment: SYSTEM.QUERIES, SYSTEM.SLOW_QUERIES, SYSTEM.METRICS and SYSTEM.TABLE_STATS.

use std::sync::Arc;

use basalt_store::Metrics;
use datafusion::arrow::array::{ArrayRef, Int64Array, TimestampMillisecondArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result as PlanResult;

use super::{batch, schema_name, texts};
use crate::error::SqlError;
use crate::plan::Planning;

pub(super) fn numbers(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    let values = values.into_iter().map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    Arc::new(values.collect::<Int64Array>())
}

/// The statements that run, this one among them.
pub(super) fn queries(planning: &Planning) -> PlanResult<RecordBatch> {
    let running = planning.engine.running().list();
    let readings: Vec<_> = running.iter().map(|statement| statement.progress.read()).collect();
    batch(vec![
        ("ID", numbers(running.iter().map(|statement| statement.id))),
        ("STATEMENT", texts(running.iter().map(|statement| Some(statement.text.clone())))),
        ("STARTED", moments(running.iter().map(|statement| statement.started_ms))),
        (
            "PHASE",
            texts(readings.iter().map(|read| Some(read.phase.to_owned()).filter(|phase| !phase.is_empty()))),
        ),
        ("ROWS_READ", numbers(readings.iter().map(|read| read.rows))),
        ("BYTES_READ", numbers(readings.iter().map(|read| read.bytes))),
        ("ROWS_WRITTEN", numbers(readings.iter().map(|read| read.rows_written))),
    ])
}

/// The last statements that took long.
pub(super) fn slow_queries(planning: &Planning) -> PlanResult<RecordBatch> {
    let slow = planning.engine.running().slow();
    let readings: Vec<_> = slow.iter().map(|slow| slow.statement.progress.read()).collect();
    batch(vec![
        ("ID", numbers(slow.iter().map(|slow| slow.statement.id))),
        ("STATEMENT", texts(slow.iter().map(|slow| Some(slow.statement.text.clone())))),
        ("STARTED", moments(slow.iter().map(|slow| slow.statement.started_ms))),
        ("ELAPSED_MS", numbers(slow.iter().map(|slow| slow.elapsed_ms.max(0) as u64))),
        ("ROWS_READ", numbers(readings.iter().map(|read| read.rows))),
        ("BYTES_READ", numbers(readings.iter().map(|read| read.bytes))),
        ("ROWS_WRITTEN", numbers(readings.iter().map(|read| read.rows_written))),
    ])
}

/// Milliseconds since 1970 as dates.
pub(super) fn moments(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(values.into_iter().map(Some).collect::<TimestampMillisecondArray>())
}

/// Counters since the database was opened, and sizes.
pub(super) fn metrics(planning: &Planning) -> PlanResult<RecordBatch> {
    let found = named(&planning.engine.database().metrics());
    batch(vec![
        ("NAME", texts(found.iter().map(|(name, _)| Some((*name).to_owned())))),
        ("VALUE", numbers(found.iter().map(|(_, value)| *value))),
    ])
}

fn named(metrics: &Metrics) -> Vec<(&'static str, u64)> {
    let mut found = vec![
        ("BATCHES_WRITTEN", metrics.batches_written),
        ("ROWS_WRITTEN", metrics.rows_written),
        ("BYTES_WRITTEN", metrics.bytes_written),
        ("FLUSHES", metrics.flushes),
        ("FLUSH_BYTES", metrics.flush_bytes),
        ("COMPACTIONS", metrics.compactions),
        ("COMPACTION_BYTES", metrics.compaction_bytes),
        ("INGESTED_BYTES", metrics.ingested_bytes),
        ("SLOWED_WRITES", metrics.slowed_writes),
        ("STALLED_WRITES", metrics.stalled_writes),
        ("UPKEEP_FAILURES", metrics.upkeep_failures),
        ("UNFLUSHED_BYTES", metrics.unflushed_bytes),
        ("WAL_BYTES", metrics.wal_bytes),
        ("DEPTH", metrics.depth),
        ("CACHE_HITS", metrics.cache.hits),
        ("CACHE_MISSES", metrics.cache.misses),
        ("CACHE_EVICTIONS", metrics.cache.evictions),
        ("CACHE_BLOCKS", metrics.cache.blocks),
        ("CACHE_BYTES", metrics.cache.bytes),
        ("CACHE_FAVOURED_BYTES", metrics.cache.favoured_bytes),
        ("CACHE_CAPACITY_BYTES", metrics.cache.capacity_bytes),
        ("INDEX_BYTES", metrics.cache.index_bytes),
        ("WORKING_BYTES", metrics.cache.working_bytes),
    ];
    if let Some(disk) = &metrics.disk_cache {
        found.extend([
            ("DISK_CACHE_HITS", disk.hits),
            ("DISK_CACHE_MISSES", disk.misses),
            ("DISK_CACHE_EVICTIONS", disk.evictions),
            ("DISK_CACHE_FAILURES", disk.failures),
            ("DISK_CACHE_BYTES", disk.bytes),
            ("DISK_CACHE_CAPACITY_BYTES", disk.capacity_bytes),
        ]);
    }
    found
}

/// Sizes of tables, without reading them.
pub(super) fn table_stats(planning: &Planning) -> PlanResult<RecordBatch> {
    let database = planning.engine.database();
    let mut rows = vec![];
    for (id, table) in database.tables() {
        rows.push((table.name.clone(), database.stats(id).map_err(SqlError::from)?));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    batch(vec![
        ("TABLE_SCHEM", texts(rows.iter().map(|(name, _)| schema_name(&name.namespace)))),
        ("TABLE_NAME", texts(rows.iter().map(|(name, _)| Some(name.name.clone())))),
        ("ROWS_ESTIMATE", numbers(rows.iter().map(|(_, stats)| stats.rows_estimate))),
        ("CELLS", numbers(rows.iter().map(|(_, stats)| stats.cells))),
        ("SIZE_BYTES", numbers(rows.iter().map(|(_, stats)| stats.size_bytes))),
        ("FILES", numbers(rows.iter().map(|(_, stats)| stats.files))),
        ("REGIONS", numbers(rows.iter().map(|(_, stats)| stats.regions))),
        ("MEMTABLE_ROWS", numbers(rows.iter().map(|(_, stats)| stats.memtable_rows))),
        ("MEMTABLE_BYTES", numbers(rows.iter().map(|(_, stats)| stats.memtable_bytes))),
    ])
}
