// SPDX-License-Identifier: Apache-2.0
//! Cursors of a session: a query whose rows are fetched a few at a time, by further statements.
//!
//! ```text
//! DECLARE c CURSOR FOR SELECT ..   the query is remembered
//! OPEN c                           it is planned and begun, at the snapshot of this moment
//! FETCH NEXT n ROWS FROM c         the next n rows, fewer at the end
//! CLOSE c                          query and snapshot are let go
//! ```
//!
//! An open cursor holds its snapshot, whose files stay, and what its plan has in memory; so their number is bounded. Rows that a FETCH
//! was cancelled before reading are given by the next one.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::sql::sqlparser::ast::Query;
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use crate::dialect::TokenMap;
use crate::error::SqlError;
use crate::hints::Hints;
use crate::outcome::RowStream;

/// Cursors that a session may have at a time.
const CURSORS_MAX: usize = 32;

/// The cursors of a session, by name.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    named: Mutex<BTreeMap<String, Cursor>>,
}

#[derive(Debug)]
enum Cursor {
    Declared(Declared),
    Open(Arc<AsyncMutex<OpenCursor>>),
}

/// The query of a cursor, as it was declared.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) query: Box<Query>,
    pub(crate) tokens: TokenMap,
    pub(crate) hints: Hints,
}

impl Cursors {
    /// DECLARE.
    pub(crate) fn declare(&self, name: String, query: Declared) -> Result<(), SqlError> {
        let mut named = self.named.lock();
        if named.contains_key(&name) {
            return Err(SqlError::statement(format!("cursor {name} is declared already; CLOSE it first")));
        }
        if named.len() == CURSORS_MAX {
            return Err(SqlError::statement(format!(
                "the session has {CURSORS_MAX} cursors, which is all that it may have; CLOSE one first"
            )));
        }
        named.insert(name, Cursor::Declared(query));
        Ok(())
    }

    /// The query to begin for OPEN.
    pub(crate) fn declared(&self, name: &str) -> Result<Declared, SqlError> {
        match self.named.lock().get(name) {
            Some(Cursor::Declared(declared)) => Ok(declared.clone()),
            Some(Cursor::Open(_)) => Err(SqlError::statement(format!("cursor {name} is open already"))),
            None => Err(not_declared(name)),
        }
    }

    /// OPEN, with the rows of the query.
    pub(crate) fn open(&self, name: &str, rows: RowStream) -> Result<(), SqlError> {
        let cursor = Cursor::Open(Arc::new(AsyncMutex::new(OpenCursor { rows, rest: None })));
        *self.named.lock().get_mut(name).ok_or_else(|| not_declared(name))? = cursor;
        Ok(())
    }

    /// FETCH NEXT: the next `count` rows.
    pub(crate) fn fetch(&self, name: &str, count: usize) -> Result<RowStream, SqlError> {
        let cursor = match self.named.lock().get(name) {
            Some(Cursor::Open(cursor)) => Arc::clone(cursor),
            Some(Cursor::Declared(_)) => {
                return Err(SqlError::statement(format!("cursor {name} is not open; OPEN it first")));
            }
            None => return Err(not_declared(name)),
        };
        let cursor = cursor.try_lock_owned().map_err(|_| {
            SqlError::statement(format!("the rows of the last FETCH from {name} are still being read"))
        })?;
        let schema = cursor.rows.schema();
        let batches = stream::unfold((cursor, count), |(mut cursor, left)| async move {
            let batch = cursor.next(left).await?;
            // Nothing follows an error.
            let left = batch.as_ref().map_or(0, |batch| left - batch.num_rows());
            Some((batch, (cursor, left)))
        });
        Ok(RowStream::new(schema, batches.boxed()))
    }

    /// CLOSE.
    pub(crate) fn close(&self, name: &str) -> Result<(), SqlError> {
        self.named.lock().remove(name).map(drop).ok_or_else(|| not_declared(name))
    }
}

fn not_declared(name: &str) -> SqlError {
    SqlError::statement(format!("cursor {name} is not declared; DECLARE {name} CURSOR FOR SELECT .. does it"))
}

/// A query that was begun.
#[derive(Debug)]
struct OpenCursor {
    rows: RowStream,
    /// What the last FETCH left of a batch.
    rest: Option<RecordBatch>,
}

impl OpenCursor {
    /// Some of the next rows, at most `limit`; `None` if there are no more or the limit is 0.
    async fn next(&mut self, limit: usize) -> Option<Result<RecordBatch, SqlError>> {
        if limit == 0 {
            return None;
        }
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.rows.next().await? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            },
        };
        if batch.num_rows() > limit {
            self.rest = Some(batch.slice(limit, batch.num_rows() - limit));
        }
        Some(Ok(batch.slice(0, limit.min(batch.num_rows()))))
    }
}
