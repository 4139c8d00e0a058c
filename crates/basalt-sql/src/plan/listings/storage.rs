// SPDX-License-Identifier: Apache-2.0
//! What lies on the disk, what has been done to it, and what is being done: SYSTEM.FILES, SYSTEM.COMPACTIONS and SYSTEM.UPKEEP.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_model::escape::Escaped;
use basalt_model::{TableId, TableName};
use datafusion::arrow::array::{ArrayRef, Int64Array, TimestampMillisecondArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result as PlanResult;

use super::state::{moments, numbers};
use super::{batch, schema_name, texts};
use crate::plan::Planning;

fn names(planning: &Planning) -> HashMap<TableId, TableName> {
    let tables = planning.engine.database().tables();
    tables.into_iter().map(|(id, table)| (id, table.name.clone())).collect()
}

/// The store files of all regions.
pub(super) fn files(planning: &Planning) -> PlanResult<RecordBatch> {
    let names = names(planning);
    let files = planning.engine.database().files();
    let named = |id| names.get(id);
    batch(vec![
        (
            "TABLE_SCHEM",
            texts(files.iter().map(|file| named(&file.table).and_then(|name| schema_name(&name.namespace)))),
        ),
        ("TABLE_NAME", texts(files.iter().map(|file| named(&file.table).map(|name| name.name.clone())))),
        ("REGION", numbers(files.iter().map(|file| file.region.0))),
        ("COLUMN_FAMILY", texts(files.iter().map(|file| Some(file.family.clone())))),
        ("FILE", numbers(files.iter().map(|file| file.meta.id.0))),
        ("SIZE_BYTES", numbers(files.iter().map(|file| file.meta.size_bytes))),
        ("RAW_BYTES", numbers(files.iter().map(|file| file.meta.raw_bytes))),
        ("ROWS", numbers(files.iter().map(|file| file.meta.rows))),
        ("CELLS", numbers(files.iter().map(|file| file.meta.cells))),
        ("DELETES", numbers(files.iter().map(|file| file.meta.deletes))),
        ("FIRST_ROW", texts(files.iter().map(|file| Some(Escaped(&file.meta.first_row).to_string())))),
        ("LAST_ROW", texts(files.iter().map(|file| Some(Escaped(&file.meta.last_row).to_string())))),
        ("OLDEST", moments(files.iter().map(|file| file.meta.timestamp_min))),
        ("NEWEST", moments(files.iter().map(|file| file.meta.timestamp_max))),
        ("CREATED", moments(files.iter().map(|file| file.meta.created_ms))),
    ])
}

/// The last compactions.
pub(super) fn compactions(planning: &Planning) -> PlanResult<RecordBatch> {
    let names = names(planning);
    let ended = planning.engine.database().compactions();
    let named = |id| names.get(id);
    batch(vec![
        (
            "TABLE_SCHEM",
            texts(ended.iter().map(|done| named(&done.table).and_then(|name| schema_name(&name.namespace)))),
        ),
        ("TABLE_NAME", texts(ended.iter().map(|done| named(&done.table).map(|name| name.name.clone())))),
        ("REGION", numbers(ended.iter().map(|done| done.region.0))),
        ("COLUMN_FAMILY", texts(ended.iter().map(|done| Some(done.family.clone())))),
        ("REASON", texts(ended.iter().map(|done| Some(done.reason.to_uppercase())))),
        ("FILES_READ", numbers(ended.iter().map(|done| done.files_read))),
        ("BYTES_READ", numbers(ended.iter().map(|done| done.bytes_read))),
        ("FILES_WRITTEN", numbers(ended.iter().map(|done| done.files_written))),
        ("BYTES_WRITTEN", numbers(ended.iter().map(|done| done.bytes_written))),
        ("STARTED", moments(ended.iter().map(|done| done.started_ms))),
        ("ENDED", moments(ended.iter().map(|done| done.ended_ms))),
    ])
}

/// Work that goes on by itself.
struct UnderWay {
    /// Of what: a table, or an index.
    of: TableId,
    region: Option<u64>,
    family: Option<String>,
    what: String,
    bytes: (Option<u64>, Option<u64>),
    rows: (Option<u64>, Option<u64>),
    started_ms: Option<i64>,
}

/// The flushes, the compactions and the builds of indexes that are under way.
pub(super) fn upkeep(planning: &Planning) -> PlanResult<RecordBatch> {
    let names = names(planning);
    let named = |id| names.get(id);
    let of_store = planning.engine.database().running().into_iter().map(|running| UnderWay {
        of: running.table,
        region: Some(running.region.0),
        family: running.family,
        what: running.what.to_uppercase(),
        bytes: (Some(running.bytes_total), running.bytes_done),
        rows: (None, None),
        started_ms: Some(running.started_ms),
    });
    let builds = planning.engine.builders().building().into_iter().map(|(of, progress)| UnderWay {
        of,
        region: None,
        family: None,
        what: "INDEX".to_owned(),
        bytes: (None, None),
        rows: (progress.rows_total, Some(progress.rows)),
        started_ms: None,
    });
    let all: Vec<UnderWay> = of_store.chain(builds).collect();
    let numbers = |of: fn(&UnderWay) -> Option<u64>| -> ArrayRef {
        Arc::new(all.iter().map(|it| of(it).map(|number| number as i64)).collect::<Int64Array>())
    };
    let schemas = all.iter().map(|it| named(&it.of).and_then(|name| schema_name(&name.namespace)));
    let started: TimestampMillisecondArray = all.iter().map(|it| it.started_ms).collect();
    batch(vec![
        ("TABLE_SCHEM", texts(schemas)),
        ("TABLE_NAME", texts(all.iter().map(|it| named(&it.of).map(|name| name.name.clone())))),
        ("REGION", numbers(|it| it.region)),
        ("COLUMN_FAMILY", texts(all.iter().map(|it| it.family.clone()))),
        ("WHAT", texts(all.iter().map(|it| Some(it.what.clone())))),
        ("BYTES_TOTAL", numbers(|it| it.bytes.0)),
        ("BYTES_DONE", numbers(|it| it.bytes.1)),
        ("ROWS_TOTAL", numbers(|it| it.rows.0)),
        ("ROWS_DONE", numbers(|it| it.rows.1)),
        ("STARTED", Arc::new(started)),
    ])
}
