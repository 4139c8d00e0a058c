// SPDX-License-Identifier: Apache-2.0
//! What a statement answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::execution::SendableRecordBatchStream;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use crate::dialect::TokenMap;
use crate::error::{SqlError, code};
use crate::panics;
use crate::plan::{Titles, shown_schema};
use crate::returning::Changed;
use crate::running::Ticket;

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

impl Outcome {
    /// Of a statement that changes rows: what RETURNING says, or how many they are.
    pub(crate) fn changed(verb: &'static str, changed: Changed) -> Self {
        match changed.returned {
            Some(rows) => Self::Rows(rows),
            None => Self::Count { verb, rows: changed.rows },
        }
    }
}

/// Rows of a query, batch by batch.
pub struct RowStream {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch, SqlError>>,
    /// The place on the list of running statements.
    ticket: Option<Ticket>,
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
        Self { schema, batches: batches.boxed(), ticket: None }
    }

    /// Rows of a query that are there already.
    pub(crate) fn titled(batch: RecordBatch, titles: &Titles) -> Result<Self, SqlError> {
        let schema = titles.put_on(batch.schema_ref());
        relabelled(batch, &schema).map(Self::ready)
    }

    /// Rows as they come.
    pub(crate) fn new(schema: SchemaRef, batches: BoxStream<'static, Result<RecordBatch, SqlError>>) -> Self {
        Self { schema, batches, ticket: None }
    }

    /// Rows that are there already.
    pub(crate) fn ready(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), batches: stream::iter([Ok(batch)]).boxed(), ticket: None }
    }

    /// The same rows, with an error in place of those that are not there when the time is over.
    pub(crate) fn until(self, end: Instant, limit: Duration) -> Self {
        let batches = stream::unfold(Some(self.batches), move |batches| async move {
            let mut batches = batches?;
            match timeout_at(end, batches.next()).await {
                Ok(batch) => Some((batch?, Some(batches))),
                Err(_) => Some((Err(timed_out(limit)), None)),
            }
        });
        Self { schema: self.schema, batches: batches.boxed(), ticket: self.ticket }
    }

    /// The statement runs as long as its rows are there.
    pub(crate) fn holding(self, ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), ..self }
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// The error of a statement that takes too long.
pub(crate) fn timed_out(limit: Duration) -> SqlError {
    SqlError::limited(code::TIMED_OUT, format!("the statement took longer than {limit:?} and was ended"))
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
        match catch_unwind(AssertUnwindSafe(|| self.batches.poll_next_unpin(context))) {
            Ok(batch) => batch,
            Err(panic) => {
                self.batches = stream::empty().boxed();
                Poll::Ready(Some(Err(panics::error(panic.as_ref()))))
            }
        }
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}
