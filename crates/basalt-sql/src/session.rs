// SPDX-License-Identifier: Apache-2.0
//! One connection: runs one statement after the other.

use std::sync::Arc;

use datafusion::arrow::array::StringArray;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use parking_lot::Mutex;

use crate::catalog;
use crate::definition;
use crate::delete;
use crate::dialect::{self, CreateSequence, Name, Parsed, Statement, TokenMap};
use crate::engine::Engine;
use crate::error::{SqlError, code};
use crate::outcome::{Outcome, RowStream};
use crate::plan::{Planning, Titles};
use crate::progress::Progress;
use crate::sequence::{self, Currents, SequenceName};
use crate::update;
use crate::upsert;

/// One connection to an engine. Cheap; make one per user or task.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    progress: Mutex<Arc<Progress>>,
    warnings: Mutex<Vec<String>>,
    currents: Currents,
    /// What USE said.
    schema: Mutex<Option<String>>,
}

impl Session {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            progress: Mutex::default(),
            warnings: Mutex::default(),
            currents: Currents::default(),
            schema: Mutex::default(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How far the statement is that runs now, or how far the last one came. Ask again for each statement.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress.lock())
    }

    /// What the last statement has to say besides its answer: options without effect, hints not followed.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock())
    }

    /// Runs one statement. A statement that changes something is done when this returns; the rows of a query
    /// are computed as they are read. Dropping the future or the rows cancels the statement.
    pub async fn execute(&self, sql: &str) -> Result<Outcome, SqlError> {
        *self.progress.lock() = Arc::default();
        self.warnings.lock().clear();
        let Parsed { mut statement, hints, tokens } = dialect::parse(sql)?;
        if let Some(schema) = self.schema.lock().as_deref() {
            statement.qualify(schema);
        }
        self.warn_of_hints(&hints);
        let hash_joins = !hints.iter().any(|hint| hint == "USE_SORT_MERGE_JOIN");
        self.run(statement, tokens, hash_joins).await
    }

    async fn run(
        &self,
        statement: Statement,
        tokens: TokenMap,
        hash_joins: bool,
    ) -> Result<Outcome, SqlError> {
        let database = self.engine.database();
        match statement {
            Statement::Query(query) => {
                let planning = self.planning(tokens, hash_joins);
                let titles = Titles::of(&query);
                let plan = planning.query(*query)?;
                self.query(planning, plan, &titles).await
            }
            Statement::Upsert(upsert) => {
                let rows = upsert::upsert(&self.planning(tokens, hash_joins), upsert).await?;
                Ok(Outcome::Count { verb: "UPSERT", rows })
            }
            Statement::Update(update) => {
                let rows = update::update(&self.planning(tokens, hash_joins), *update).await?;
                Ok(Outcome::Count { verb: "UPDATE", rows })
            }
            Statement::Delete(delete) => {
                let rows = delete::delete(&self.planning(tokens, hash_joins), *delete).await?;
                Ok(Outcome::Count { verb: "DELETE", rows })
            }
            Statement::Explain { analyze, verbose, statement } => {
                self.explain(*statement, tokens, hash_joins, analyze, verbose).await
            }
            Statement::ShowTables { schema, like } => {
                let batch = catalog::show_tables(database, schema.as_deref(), like.as_deref())?;
                Ok(Outcome::Rows(RowStream::ready(batch)))
            }
            Statement::Describe { table } => {
                let relation = catalog::find(database, &table.table())
                    .map_err(|error| error.at(tokens.find(&table.name)))?;
                Ok(Outcome::Rows(RowStream::ready(catalog::describe(&relation.descriptor)?)))
            }
            Statement::Use { schema } => {
                if let Some(schema) = &schema {
                    definition::check_schema(database, schema)
                        .map_err(|error| error.at(tokens.find(schema)))?;
                }
                *self.schema.lock() = schema;
                Ok(Outcome::Done { verb: "USE" })
            }
            definition => self.define(definition, tokens).await,
        }
    }

    /// Statements that create, change and drop.
    async fn define(&self, statement: Statement, tokens: TokenMap) -> Result<Outcome, SqlError> {
        let database = self.engine.database();
        let position = statement.defined().and_then(|name| tokens.find(&name.name));
        let mut warnings = vec![];
        let planning = self.planning(tokens, true);
        let done = match &statement {
            Statement::CreateTable(table) => {
                definition::create_table(&planning, table, &mut warnings).map(|_| "CREATE TABLE")
            }
            Statement::DropTable { name, if_exists, cascade } => {
                definition::drop_table(&planning, name, *if_exists, *cascade).map(|_| "DROP TABLE")
            }
            Statement::CreateView(view) => definition::create_view(&planning, view).map(|_| "CREATE VIEW"),
            Statement::DropView { name, if_exists, cascade } => {
                definition::drop_view(&planning, name, *if_exists, *cascade).map(|_| "DROP VIEW")
            }
            Statement::Alter(alter) => {
                let verb = if alter.view { "ALTER VIEW" } else { "ALTER TABLE" };
                definition::alter(&planning, alter, &mut warnings).await.map(|()| verb)
            }
            Statement::Truncate { table } => {
                definition::truncate(&planning, table).map(|()| "TRUNCATE TABLE")
            }
            Statement::CreateSchema { name, if_not_exists } => {
                definition::create_schema(database, name, *if_not_exists).map(|()| "CREATE SCHEMA")
            }
            Statement::DropSchema { name, if_exists } => {
                definition::drop_schema(database, name, *if_exists).map(|()| "DROP SCHEMA")
            }
            Statement::CreateSequence(sequence) => return self.create_sequence(sequence),
            Statement::DropSequence { name, if_exists } => return self.drop_sequence(name, *if_exists),
            other => Err(SqlError::internal(format!("{other:?} defines nothing"))),
        };
        self.warnings.lock().extend(warnings);
        done.map(|verb| Outcome::Done { verb }).map_err(|error| error.at(position))
    }

    fn planning(&self, tokens: TokenMap, hash_joins: bool) -> Planning {
        let mut planning = Planning::new(&self.engine, tokens, self.progress(), Arc::clone(&self.currents));
        planning.state.config_mut().options_mut().optimizer.prefer_hash_join = hash_joins;
        planning.schema = self.schema.lock().clone();
        planning
    }

    /// Starts the plan. A hash join that does not fit in memory fails before its first row; the query is then
    /// planned again with joins that sort, which spill.
    async fn query(
        &self,
        mut planning: Planning,
        plan: LogicalPlan,
        titles: &Titles,
    ) -> Result<Outcome, SqlError> {
        let physical = planning.physical(&plan).await?;
        let joins_by_hash = contains_hash_join(&physical);
        let mut batches =
            execute_stream(physical, planning.state.task_ctx()).map_err(|error| planning.error(error))?;
        if !joins_by_hash {
            return Ok(Outcome::Rows(RowStream::running(None, batches, titles, planning.tokens().clone())));
        }
        let first = match batches.next().await.transpose() {
            Ok(first) => first,
            Err(error) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => {
                drop(batches);
                planning.state.config_mut().options_mut().optimizer.prefer_hash_join = false;
                let physical = planning.physical(&plan).await?;
                batches = execute_stream(physical, planning.state.task_ctx())
                    .map_err(|error| planning.error(error))?;
                None
            }
            Err(error) => return Err(planning.error(error)),
        };
        Ok(Outcome::Rows(RowStream::running(first, batches, titles, planning.tokens().clone())))
    }

    fn create_sequence(&self, statement: &CreateSequence) -> Result<Outcome, SqlError> {
        let name = SequenceName::from(&statement.name);
        let record = sequence::define(statement)?;
        match sequence::create(self.engine.database(), &name, &record) {
            Err(error) if statement.if_not_exists && error.code() == Some(code::SEQUENCE_EXISTS) => {}
            other => other?,
        }
        Ok(Outcome::Done { verb: "CREATE SEQUENCE" })
    }

    fn drop_sequence(&self, name: &Name, if_exists: bool) -> Result<Outcome, SqlError> {
        let name = SequenceName::from(name);
        self.engine.dealer().forget(&name);
        self.currents.lock().remove(&name);
        match sequence::drop(self.engine.database(), &name) {
            Err(error) if if_exists && error.code() == Some(code::SEQUENCE_NOT_FOUND) => {}
            other => other?,
        }
        Ok(Outcome::Done { verb: "DROP SEQUENCE" })
    }

    async fn explain(
        &self,
        statement: Statement,
        tokens: TokenMap,
        hash_joins: bool,
        analyze: bool,
        verbose: bool,
    ) -> Result<Outcome, SqlError> {
        let planning = self.planning(tokens, hash_joins);
        let (title, plan) = match statement {
            Statement::Query(query) => (None, Some(planning.query(*query)?)),
            _ if analyze => {
                return Err(SqlError::statement("EXPLAIN ANALYZE runs the statement and takes only queries"));
            }
            Statement::Upsert(upsert) => {
                let plan = upsert::plan(&planning, &upsert)?;
                let source = if plan.is_some() { "UPSERT SELECT" } else { "UPSERT VALUES, one atomic batch" };
                (Some(format!("{source} INTO {}", upsert.table)), plan)
            }
            Statement::Delete(delete) => {
                let title = format!("DELETE FROM {}", delete.table);
                (Some(title), Some(delete::plan(&planning, *delete)?))
            }
            Statement::Update(update) => {
                let title = format!("UPDATE {}", update.table);
                (Some(title), Some(update::plan(&planning, *update)?.0))
            }
            _ => return Err(SqlError::statement("EXPLAIN takes SELECT, UPSERT, UPDATE and DELETE")),
        };
        let mut lines: Vec<String> = title.into_iter().collect();
        if let Some(plan) = plan {
            let indent = if lines.is_empty() { "" } else { "  " };
            let physical = planning.physical(&plan).await?;
            if analyze {
                run_to_end(&planning, &physical).await?;
            }
            let display = if analyze {
                DisplayableExecutionPlan::with_metrics(physical.as_ref())
            } else {
                DisplayableExecutionPlan::new(physical.as_ref())
            };
            let text = display.indent(verbose).to_string();
            lines.extend(text.lines().map(|line| format!("{indent}{line}")));
        }
        Ok(Outcome::Rows(RowStream::ready(plan_batch(lines)?)))
    }

    fn warn_of_hints(&self, hints: &[String]) {
        const FOLLOWED: [&str; 1] = ["USE_SORT_MERGE_JOIN"];
        let mut warnings = self.warnings.lock();
        for hint in hints.iter().filter(|hint| !FOLLOWED.contains(&hint.as_str())) {
            warnings.push(format!("hint {hint} is not followed; the planner decides"));
        }
    }
}

fn contains_hash_join(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<HashJoinExec>().is_some() || plan.children().into_iter().any(contains_hash_join)
}

async fn run_to_end(planning: &Planning, physical: &Arc<dyn ExecutionPlan>) -> Result<(), SqlError> {
    let stream = execute_stream(Arc::clone(physical), planning.state.task_ctx());
    let mut stream = stream.map_err(|error| planning.error(error))?;
    while let Some(batch) = stream.next().await {
        batch.map_err(|error| planning.error(error))?;
    }
    Ok(())
}

fn plan_batch(lines: Vec<String>) -> Result<RecordBatch, SqlError> {
    catalog::text_batch(&["PLAN"], vec![StringArray::from(lines)])
}
