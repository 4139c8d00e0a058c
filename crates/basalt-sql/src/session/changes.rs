// SPDX-License-Identifier: Apache-2.0
//! Statements that read rows and write others, into tables and files.
//!
//! A plan that keeps rows in memory may find that they do not fit. Nothing of a statement is visible before its end, so it simply begins
//! again, with plans that spill. (A query that was asked for cannot, once it has given rows away: see [`Session::query`].)

use super::Session;
use crate::copy;
use crate::definition;
use crate::delete;
use crate::dialect::{Copy, CreateTable, Statement, TokenMap, UpsertSource};
use crate::error::SqlError;
use crate::hints::Hints;
use crate::merge;
use crate::outcome::Outcome;
use crate::plan::{Planning, Titles};
use crate::update;
use crate::upsert;

/// True for these statements.
pub(super) fn reads_rows(statement: &Statement) -> bool {
    match statement {
        Statement::Upsert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Copy(_) => true,
        Statement::CreateTable(table) => table.query.is_some(),
        _ => false,
    }
}

impl Session {
    /// Runs one of them.
    pub(super) async fn change(
        &self,
        statement: Statement,
        tokens: TokenMap,
        hints: &Hints,
    ) -> Result<Outcome, SqlError> {
        if let Some(outcome) = self.postponed(&statement, &tokens, hints)? {
            return Ok(outcome);
        }
        // Rows of VALUES may be many, and are not joined.
        if matches!(&statement, Statement::Upsert(upsert) if matches!(upsert.source, UpsertSource::Values(_)))
        {
            return self.changed(&mut self.planning(tokens, hints), statement).await;
        }
        let mut planning = self.planning(tokens.clone(), hints);
        let said = self.warnings.lock().len();
        loop {
            let error = match self.changed(&mut planning, statement.clone()).await {
                Err(error) => error,
                done => return done,
            };
            let Some(smaller) = planning.smaller_plans(&error) else { return Err(error) };
            self.warnings.lock().truncate(said);
            planning = self.planning(tokens.clone(), hints);
            planning.use_plans(smaller).await;
        }
    }

    pub(super) async fn changed(
        &self,
        planning: &mut Planning,
        statement: Statement,
    ) -> Result<Outcome, SqlError> {
        Ok(match statement {
            Statement::Upsert(change) => Outcome::changed("UPSERT", upsert::upsert(planning, change).await?),
            Statement::Update(change) => Outcome::changed("UPDATE", update::update(planning, *change).await?),
            Statement::Delete(change) => Outcome::changed("DELETE", delete::delete(planning, *change).await?),
            Statement::Merge(change) => Outcome::changed("MERGE", merge::merge(planning, *change).await?),
            Statement::Copy(copy) => self.copy(planning, *copy).await?,
            Statement::CreateTable(table) => self.create_from_query(planning, *table).await?,
            other => return Err(SqlError::internal(format!("{other:?} reads no rows"))),
        })
    }

    async fn copy(&self, planning: &mut Planning, copy: Copy) -> Result<Outcome, SqlError> {
        self.engine.check_user_files()?;
        let rows = match copy {
            Copy::From(copy) => copy::from_file(planning, &copy).await?,
            Copy::To(copy) => {
                let writing = copy::writing(&copy.options)?;
                let position = planning.tokens().find_file(&copy.file);
                let titles = Titles::of(&copy.query);
                let plan = planning.query(*copy.query)?;
                let rows = self.query(planning, plan, &titles).await?;
                let written = copy::to_file(rows, &copy.file, &writing, &self.progress()).await;
                written.map_err(|error| error.at(position))?
            }
        };
        Ok(Outcome::Count { verb: "COPY", rows })
    }

    async fn create_from_query(
        &self,
        planning: &Planning,
        mut table: CreateTable,
    ) -> Result<Outcome, SqlError> {
        let Some(query) = table.query.take() else {
            return Err(SqlError::internal("CREATE TABLE .. AS without a query"));
        };
        let mut warnings = vec![];
        let created = definition::create_from_query(planning, table, *query, &mut warnings).await;
        self.warnings.lock().extend(warnings);
        Ok(Outcome::Count { verb: "CREATE TABLE", rows: created? })
    }
}
