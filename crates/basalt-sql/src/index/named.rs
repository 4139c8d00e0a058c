// SPDX-License-Identifier: Apache-2.0
//! The rows of a table that rows of an index name.

use basalt_hfile::typed::{KeyEncoder, TypedError};
use basalt_model::{ColumnRef, TableSchema};
use bytes::Bytes;
use datafusion::arrow::record_batch::RecordBatch;

use crate::error::SqlError;
use crate::ingest::typed;

/// The sorted row keys of a table, each once, of rows that have the columns of its primary key; `None` if there are more rows than
/// `rows_max`.
pub(crate) fn keys_of_rows(
    base: &TableSchema,
    batches: impl Iterator<Item = Result<RecordBatch, SqlError>>,
    rows_max: usize,
) -> Result<Option<Vec<Bytes>>, SqlError> {
    let columns: Vec<ColumnRef> = (0..base.key.len()).map(ColumnRef::Key).collect();
    let encoder = KeyEncoder::try_new(base, &columns).map_err(|error| typed(error).error)?;
    let mut keys = vec![];
    for batch in batches {
        let batch = batch?;
        if keys.len() + batch.num_rows() > rows_max {
            return Ok(None);
        }
        encoder.encode(&batch, |_, key| {
            keys.push(Bytes::copy_from_slice(key));
            Ok::<_, TypedError>(())
        })?;
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(Some(keys))
}
