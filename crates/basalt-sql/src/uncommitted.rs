// SPDX-License-Identifier: Apache-2.0
//! Changes of a session without autocommit: they are kept in memory until the session commits, and then written together, all or
//! none of them. Queries do not see them before, as in Phoenix.
//!
//! What a statement changes is computed when it runs, from the rows that there are then. ON DUPLICATE KEY is not: its row is read and
//! written in one step, at the commit, before and behind which the other changes are written.

use basalt_model::WriteBatch;
use basalt_store::{Database, Durability};
use parking_lot::Mutex;

use crate::dialect::{Statement, TokenMap};
use crate::error::{SqlError, code};
use crate::hints::Hints;

/// Rows that a session keeps at most, as Phoenix does by default (`phoenix.mutate.maxSize`).
const ROWS_MAX: u64 = 500_000;
/// Bytes that a session keeps at most, or half of what a batch may have.
const BYTES_MAX: u64 = 100 << 20;

/// The changes, in the order of their statements.
#[derive(Debug, Default)]
pub(crate) struct Uncommitted(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    changes: Vec<Change>,
    rows: u64,
    bytes: u64,
}

/// What is to be done at the commit.
#[derive(Debug)]
pub(crate) enum Change {
    /// Rows of any tables.
    Rows { batch: WriteBatch, durability: Durability },
    /// A statement that reads and writes in one step.
    Statement(Box<Postponed>),
}

/// A statement that runs at the commit.
#[derive(Debug)]
pub(crate) struct Postponed {
    pub(crate) statement: Statement,
    pub(crate) tokens: TokenMap,
    pub(crate) hints: Hints,
}

impl Uncommitted {
    /// An error if so many rows and bytes more would be too many.
    pub(crate) fn check(&self, database: &Database, batch: &WriteBatch) -> Result<(), SqlError> {
        let (kept, bytes_max) = (self.0.lock(), BYTES_MAX.min(database.batch_bytes_max() / 2));
        let (rows, bytes) = (kept.rows + batch.len() as u64, kept.bytes + batch.size_bytes() as u64);
        let (what, code) = match (rows > ROWS_MAX, bytes > bytes_max) {
            (true, _) => (format!("{ROWS_MAX} rows"), code::TOO_MANY_UNCOMMITTED),
            (_, true) => (format!("{bytes_max} bytes"), code::TOO_MUCH_UNCOMMITTED),
            _ => return Ok(()),
        };
        let message = format!(
            "changes that wait for the commit would be more than {what}; commit more often, or turn autocommit on"
        );
        Err(SqlError::limited(code, message))
    }

    /// Keeps rows.
    pub(crate) fn add(
        &self,
        database: &Database,
        batch: &WriteBatch,
        durability: Durability,
    ) -> Result<(), SqlError> {
        self.check(database, batch)?;
        let mut kept = self.0.lock();
        kept.rows += batch.len() as u64;
        kept.bytes += batch.size_bytes() as u64;
        match kept.changes.last_mut() {
            Some(Change::Rows { batch: all, durability: strongest }) => {
                batch.iter().for_each(|(table, row)| all.push(table, row));
                *strongest = durability.max(*strongest);
            }
            _ => {
                let mut own = WriteBatch::new();
                batch.iter().for_each(|(table, row)| own.push(table, row));
                kept.changes.push(Change::Rows { batch: own, durability });
            }
        }
        Ok(())
    }

    /// Keeps a statement that changes so many rows.
    pub(crate) fn postpone(&self, statement: Postponed, rows: u64) {
        let mut kept = self.0.lock();
        kept.rows += rows;
        kept.changes.push(Change::Statement(Box::new(statement)));
    }

    /// All of it; nothing is left.
    pub(crate) fn take(&self) -> Vec<Change> {
        std::mem::take(&mut *self.0.lock()).changes
    }
}
