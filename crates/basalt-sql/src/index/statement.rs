// SPDX-License-Identifier: Apache-2.0
//! The statements about indexes, from names to answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use basalt_model::{IndexState, TableDescriptor, TableId, TableName};

use super::build::{self, Build};
use super::{check, define, keeper};
use crate::catalog;
use crate::definition::index_splits;
use crate::dialect::{CreateIndex, IndexAction, IndexStatement, Name};
use crate::error::{SqlError, code};
use crate::outcome::{Outcome, RowStream};
use crate::panics;
use crate::plan::Planning;
use crate::scan::BasaltTable;

/// Runs the statement. What options have to say goes to `warnings`.
pub(crate) async fn run(
    planning: &Planning,
    statement: &IndexStatement,
    warnings: &mut Vec<String>,
) -> Result<Outcome, SqlError> {
    let table = planning.table(&statement.table.table())?;
    if let Some(index) = &table.descriptor.index {
        let message = format!("{} is an index of {}; an index takes none", statement.table, index.on);
        return Err(SqlError::statement(message));
    }
    // An index lives in the schema of its table.
    let name = TableName::new(table.relation_name().namespace.clone(), statement.index.clone());
    match &statement.action {
        IndexAction::Create(create) => return self::create(planning, &table, name, create, warnings).await,
        IndexAction::Check => {
            let (id, _) = find(planning, &table, &name)?;
            return Ok(Outcome::Rows(RowStream::ready(check::check(planning, id)?)));
        }
        _ => {}
    }
    let (id, descriptor) = match find(planning, &table, &name) {
        Err(error) if statement.action.if_exists() && error.code() == Some(code::INDEX_NOT_FOUND) => {
            return Ok(Outcome::Done { verb: statement.action.verb() });
        }
        found => found?,
    };
    match &statement.action {
        IndexAction::Drop { .. } => drop_index(planning, &descriptor.name)?,
        IndexAction::Use { .. } => planning.engine.database().set_index_state(id, IndexState::Active)?,
        IndexAction::Spare { .. } => planning.engine.database().set_index_state(id, IndexState::Unusable)?,
        IndexAction::Disable { .. } => {
            planning.engine.database().set_index_state(id, IndexState::Disabled)?
        }
        IndexAction::Rebuild { later, .. } => return rebuild(planning, id, *later).await,
        IndexAction::Create(_) | IndexAction::Check => {}
    }
    Ok(Outcome::Done { verb: statement.action.verb() })
}

/// What CREATE INDEX would do, in a sentence; nothing is changed.
pub(crate) fn explained(planning: &Planning, statement: &IndexStatement) -> Result<String, SqlError> {
    let IndexAction::Create(create) = &statement.action else {
        return Err(SqlError::statement(
            "of the statements about indexes EXPLAIN takes only CREATE INDEX; the others read no rows",
        ));
    };
    let table = planning.table(&statement.table.table())?;
    let name = TableName::new(table.relation_name().namespace.clone(), statement.index.clone());
    let descriptor = define::define(planning, &table, name, create, &mut vec![])?;
    let stats = planning.engine.database().stats(table.id)?;
    let index = descriptor.index.as_ref().ok_or_else(|| SqlError::internal("an index is none"))?;
    let sorted: Vec<&str> = index.parts.iter().map(|part| part.column.as_str()).collect();
    let part = if create.condition.is_some() { ", of which some are in it" } else { "" };
    Ok(format!(
        "CREATE INDEX {} ON {}: reads about {} rows{part} ({} bytes in files), sorts them by {} and the key, and writes files, while other statements go on",
        statement.index,
        statement.table,
        stats.rows_estimate,
        stats.size_bytes,
        sorted.join(", ")
    ))
}

impl IndexAction {
    fn if_exists(&self) -> bool {
        match self {
            Self::Drop { if_exists }
            | Self::Use { if_exists }
            | Self::Spare { if_exists }
            | Self::Disable { if_exists }
            | Self::Rebuild { if_exists, .. } => *if_exists,
            Self::Create(_) | Self::Check => false,
        }
    }

    fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) => "CREATE INDEX",
            Self::Drop { .. } => "DROP INDEX",
            Self::Check => "CHECK INDEX",
            _ => "ALTER INDEX",
        }
    }
}

/// The index of this name, if it is one of the table's.
fn find(
    planning: &Planning,
    table: &BasaltTable,
    name: &TableName,
) -> Result<(TableId, Arc<TableDescriptor>), SqlError> {
    let indexes = planning.engine.database().indexes(table.id);
    let known: Vec<String> = indexes.iter().map(|(_, index)| index.name.name.clone()).collect();
    indexes.into_iter().find(|(_, index)| index.name == *name).ok_or_else(|| {
        let message = format!("table {} has no index {}", table.relation_name(), name.name);
        let nearest = crate::error::nearest(&name.name, known.iter().map(String::as_str));
        SqlError::coded(code::INDEX_NOT_FOUND, message)
            .suggest(nearest)
            .at(planning.tokens().find(&name.name))
    })
}

fn drop_index(planning: &Planning, name: &TableName) -> Result<(), SqlError> {
    let database = planning.engine.database();
    let _one_at_a_time = planning.engine.definitions().lock();
    database.drop_table(name)?;
    database.forget_index(name);
    Ok(())
}

async fn create(
    planning: &Planning,
    table: &Arc<BasaltTable>,
    name: TableName,
    statement: &CreateIndex,
    warnings: &mut Vec<String>,
) -> Result<Outcome, SqlError> {
    let database = planning.engine.database();
    if catalog::find(database, &name).is_ok() || database.table(&name).is_ok() {
        if statement.if_not_exists {
            return Ok(Outcome::Done { verb: "CREATE INDEX" });
        }
        let shown = Name { schema: None, name: name.name.clone() };
        return Err(SqlError::coded(
            code::TABLE_EXISTS,
            format!("there is a table or index {shown} already"),
        )
        .at(planning.tokens().find(&name.name)));
    }
    let descriptor = define::define(planning, table, name.clone(), statement, warnings)?;
    let splits = index_splits(planning, &descriptor, &statement.splits)?;
    let index = {
        let _one_at_a_time = planning.engine.definitions().lock();
        if *catalog::find(database, table.relation_name())?.descriptor != *table.descriptor {
            return Err(SqlError::overtaken(format!(
                "table {} was changed by another session meanwhile; try again",
                table.relation_name()
            )));
        }
        let keeper = keeper(planning, &descriptor)?;
        database.keep_index(name.clone(), Arc::new(keeper));
        database.create_index_split(descriptor, &splits)?
    };
    if statement.later {
        let stop = build::stop_flag(&planning.engine);
        let build = Build::try_new(&planning.engine, index, &Arc::default(), &stop)?;
        build::spawn(&planning.engine, build)?;
        return Ok(Outcome::Done { verb: "CREATE INDEX" });
    }
    let stop = Arc::default();
    let build = Build::try_new(&planning.engine, index, &planning.progress, &stop)?;
    // Whoever ends the statement early wants no index.
    let unfinished = Unfinished { planning, name: Some(&name), stop };
    let rows = wait(build).await?;
    unfinished.keep();
    Ok(Outcome::Count { verb: "CREATE INDEX", rows })
}

async fn rebuild(planning: &Planning, index: TableId, later: bool) -> Result<Outcome, SqlError> {
    if later {
        build::later(&planning.engine, index)?;
        return Ok(Outcome::Done { verb: "ALTER INDEX" });
    }
    let stop = Arc::default();
    let build = Build::anew(&planning.engine, index, &planning.progress, &stop)?;
    let unfinished = Unfinished { planning, name: None, stop };
    let rows = wait(build).await?;
    unfinished.keep();
    Ok(Outcome::Count { verb: "ALTER INDEX", rows })
}

/// Runs a build without holding up other statements.
pub(super) async fn wait(build: Build) -> Result<u64, SqlError> {
    let ended = tokio::task::spawn_blocking(move || build.run()).await;
    ended.unwrap_or_else(|error| Err(panics::of_task(error)))
}

/// A build that a statement waits for. If the statement ends first, so does the build, and a new index goes.
struct Unfinished<'a> {
    planning: &'a Planning,
    name: Option<&'a TableName>,
    stop: Arc<AtomicBool>,
}

impl Unfinished<'_> {
    fn keep(mut self) {
        self.name = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(name) = self.name {
            // If it cannot be dropped it stays without being read, and the next opening builds it.
            let _ = drop_index(self.planning, name);
        }
    }
}
