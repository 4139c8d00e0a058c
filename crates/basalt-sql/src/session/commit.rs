// SPDX-License-Identifier: Apache-2.0
//! Sessions without autocommit: see [`crate::uncommitted`].

use std::sync::atomic::Ordering;

use super::Session;
use crate::dialect::{Statement, TokenMap, UpsertSource};
use crate::error::SqlError;
use crate::hints::Hints;
use crate::outcome::Outcome;
use crate::panics::caught_async;
use crate::uncommitted::{Change, Postponed};

impl Session {
    /// With `false`, what UPSERT, UPDATE, DELETE and MERGE change from now on is kept in memory (500,000 rows or 100 MiB at most) until
    /// [`Session::commit`] writes all of it together; queries do not see it before. `true`, which is the default, writes it when the
    /// statement ends. What is kept already stays so until it is committed. Definitions, COPY and CREATE TABLE AS take effect at once.
    pub fn set_autocommit(&self, on: bool) {
        self.holds_changes.store(!on, Ordering::Release);
    }

    /// True if changes are written as their statements end.
    pub fn is_autocommit(&self) -> bool {
        !self.holds_changes()
    }

    pub(super) fn holds_changes(&self) -> bool {
        self.holds_changes.load(Ordering::Acquire)
    }

    /// Writes what is kept, and returns the number of rows. What statements have computed is written all or not at all, unless ON
    /// DUPLICATE KEY is among them, which is written by itself between the changes before it and those behind it. After an error nothing
    /// is kept any more.
    pub async fn commit(&self) -> Result<u64, SqlError> {
        let mut rows = 0;
        for change in self.uncommitted.take() {
            rows += match change {
                Change::Rows { batch, durability } => {
                    let rows = batch.len() as u64;
                    self.engine.database().write(batch, durability)?;
                    rows
                }
                Change::Statement(postponed) => {
                    let Postponed { statement, tokens, hints } = *postponed;
                    let mut planning = self.planning(tokens.clone(), &hints);
                    planning.uncommitted = None;
                    let changed = caught_async(self.changed(&mut planning, statement)).await;
                    match changed.map_err(|error| error.near(&tokens))? {
                        Outcome::Count { rows, .. } => rows,
                        _ => 0,
                    }
                }
            };
        }
        Ok(rows)
    }

    /// Throws away what is kept.
    pub fn rollback(&self) {
        drop(self.uncommitted.take());
    }

    /// The answer of a statement that is kept to be run at the commit.
    pub(super) fn postponed(
        &self,
        statement: &Statement,
        tokens: &TokenMap,
        hints: &Hints,
    ) -> Result<Option<Outcome>, SqlError> {
        if !self.holds_changes() {
            return Ok(None);
        }
        let returning = match statement {
            Statement::Upsert(change) => &change.returning,
            Statement::Update(change) => &change.returning,
            Statement::Delete(change) => &change.returning,
            Statement::Merge(change) => &change.returning,
            _ => return Ok(None),
        };
        if !returning.is_empty() {
            return Err(SqlError::unsupported(
                "RETURNING answers of rows that are written, and without autocommit they are not yet; turn it on, or read the rows after the commit",
            ));
        }
        match statement {
            Statement::Upsert(upsert) if upsert.on_duplicate.is_some() => {
                let rows = match &upsert.source {
                    UpsertSource::Values(rows) => rows.len() as u64,
                    UpsertSource::Query(_) => return Ok(None),
                };
                let postponed =
                    Postponed { statement: statement.clone(), tokens: tokens.clone(), hints: hints.clone() };
                self.uncommitted.postpone(postponed, rows);
                Ok(Some(Outcome::Count { verb: "UPSERT", rows }))
            }
            _ => Ok(None),
        }
    }
}
