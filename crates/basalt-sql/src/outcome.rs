// SPDX-License-Identifier: Apache-2.0
//! What a statement answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::execution::SendableRecordBatchStream;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};

use crate::dialect::TokenMap;
use crate::error::SqlError;
use crate::plan::{Titles, shown_schema};

/// The answer of one statement.
#[derive(Debug)]
pub enum Outcome {
    /// Rows, to be read from the stream. Dropping it cancels the query.
    Rows(RowStream),
    /// So many rows were changed.
    Count {
        /// `UPSERT` or `DELETE`.
        verb: &'static str,
        /// How many.
        rows: u64,
    },
    /// Done, without a number.
    Done {
        /// The first words of the statement, e.g. `CREATE TABLE`.
        verb: &'static str,
    },
}

/// Rows of a query, batch by batch.
pub struct RowStream {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch, SqlError>>,
}

impl RowStream {
    /// Rows of a running plan; `first` is a batch that was read from it before.
    pub(crate) fn running(
        first: Option<RecordBatch>,
        batches: SendableRecordBatchStream,
        titles: &Titles,
        tokens: TokenMap,
    ) -> Self {
        let schema = titles.put_on(&shown_schema(&batches.schema()));
        let rest = batches.map(move |batch| batch.map_err(|error| SqlError::from_planner(error, &tokens)));
        let batches = stream::iter(first.map(Ok)).chain(rest);
        let shown = SchemaRef::clone(&schema);
        let batches = batches.map(move |batch| relabelled(batch?, &shown));
        Self { schema, batches: batches.boxed() }
    }

    /// Rows that are there already.
    pub(crate) fn ready(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), batches: stream::iter([Ok(batch)]).boxed() }
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// Names alone differ.
fn relabelled(batch: RecordBatch, shown: &SchemaRef) -> Result<RecordBatch, SqlError> {
    let same =
        batch.schema_ref().fields().iter().zip(shown.fields()).all(|(have, want)| have.name() == want.name());
    if same {
        return Ok(batch);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(SchemaRef::clone(shown), batch.columns().to_vec(), &options)
        .map_err(|error| SqlError::internal(error.to_string()))
}

impl Stream for RowStream {
    type Item = Result<RecordBatch, SqlError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.poll_next_unpin(context)
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}
