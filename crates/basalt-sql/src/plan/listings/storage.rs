// SPDX-License-Identifier: Apache-2.0
//! What lies on the disk, what has been done to it, and what is being done: SYSTEM.FILES, SYSTEM.COMPACTIONS and SYSTEM.UPKEEP.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_model::escape::Escaped;
use basalt_model::{TableId, TableName};
use datafusion::arrow::array::Int64Array;
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

/// The flushes and compactions that are under way.
pub(super) fn upkeep(planning: &Planning) -> PlanResult<RecordBatch> {
    let names = names(planning);
    let running = planning.engine.database().running();
    let named = |id| names.get(id);
    batch(vec![
        (
            "TABLE_SCHEM",
            texts(running.iter().map(|it| named(&it.table).and_then(|name| schema_name(&name.namespace)))),
        ),
        ("TABLE_NAME", texts(running.iter().map(|it| named(&it.table).map(|name| name.name.clone())))),
        ("REGION", numbers(running.iter().map(|it| it.region.0))),
        ("COLUMN_FAMILY", texts(running.iter().map(|it| it.family.clone()))),
        ("WHAT", texts(running.iter().map(|it| Some(it.what.to_uppercase())))),
        ("BYTES_TOTAL", numbers(running.iter().map(|it| it.bytes_total))),
        (
            "BYTES_DONE",
            Arc::new(
                running.iter().map(|it| it.bytes_done.map(|bytes| bytes as i64)).collect::<Int64Array>(),
            ),
        ),
        ("STARTED", moments(running.iter().map(|it| it.started_ms))),
    ])
}
