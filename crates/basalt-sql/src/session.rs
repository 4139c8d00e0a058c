// SPDX-License-Identifier: Apache-2.0
//! One connection: runs one statement after the other.

mod changes;
mod commit;
mod described;
mod explained;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::Query;
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::begun::{Begun, Waiting};
use crate::catalog;
use crate::cursor::{Cursors, Declared};
use crate::deep;
use crate::definition;
use crate::dialect::{
    self, CreateSequence, CursorAction, CursorStatement, Name, Parsed, Statement, TokenMap,
};
use crate::engine::Engine;
use crate::error::{SqlError, code};
use crate::hints::{self, Hints, Uncached};
use crate::index;
use crate::outcome::{Outcome, RowStream, timed_out};
use crate::panics::{caught, caught_async};
use crate::parameter::{Prepared, Value};
use crate::plan::{Planning, Titles};
use crate::point;
use crate::progress::Progress;
use crate::repeated::Question;
use crate::scan::{self, Asking};
use crate::sequence::{self, Currents, SequenceName};
use crate::spill;
use crate::uncommitted::Uncommitted;

pub use described::Described;

/// One connection to an engine. Cheap; make one per user or task.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    progress: Mutex<Arc<Progress>>,
    warnings: Arc<Mutex<Vec<String>>>,
    currents: Currents,
    cursors: Cursors,
    /// What USE said.
    schema: Mutex<Option<String>>,
    timeout: Mutex<Option<Duration>>,
    memory_bytes: Mutex<Option<u64>>,
    json_plans: AtomicBool,
    /// Changes wait for a commit.
    holds_changes: AtomicBool,
    uncommitted: Arc<Uncommitted>,
}

impl Session {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            engine,
            progress: Mutex::default(),
            warnings: Arc::default(),
            currents: Currents::default(),
            cursors: Cursors::default(),
            schema: Mutex::default(),
            timeout: Mutex::default(),
            memory_bytes: Mutex::default(),
            json_plans: AtomicBool::new(false),
            holds_changes: AtomicBool::new(false),
            uncommitted: Arc::default(),
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

    /// Statements from now on that take longer are ended with an error (6000, TIM01) and change nothing; so are queries whose
    /// rows are not all read by then. `None`, which is the default, sets no limit. Needs a runtime with timers.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        *self.timeout.lock() = timeout;
    }

    /// Sorts, groups and joins of each statement from now on may hold so many bytes together, of what all sessions share
    /// ([`EngineOptions::memory_bytes`](crate::EngineOptions)); beyond it they spill to disk, or the statement is refused. `None`, which is the
    /// default, sets no limit of its own.
    pub fn set_memory_limit(&self, bytes: Option<u64>) {
        *self.memory_bytes.lock() = bytes;
    }

    /// EXPLAIN answers JSON from now on, whether or not the statement says FORMAT JSON.
    pub fn set_json_plans(&self, json: bool) {
        self.json_plans.store(json, Ordering::Relaxed);
    }

    /// Runs one statement. A statement that changes something is done when this returns; the rows of a query
    /// are computed as they are read, up to two batches ahead, on threads of the engine. Dropping the future or the rows cancels the statement.
    pub async fn execute(&self, sql: &str) -> Result<Outcome, SqlError> {
        self.end(self.begin(sql)?).await
    }

    /// Reads one statement and answers it at once if it is a query of a few rows by their key or by an index, for callers whose
    /// thread may wait for a few reads of the disk: handing these queries to another thread takes as long as answering them. All
    /// other statements wait for [`Session::go_on`] of the same session. The place of the statement among those that run is taken from here
    /// on.
    pub fn begin(&self, sql: &str) -> Result<Begun, SqlError> {
        caught(|| {
            deep::run(deep::is_long(sql), || {
                let parsed = dialect::parse(sql)?;
                if parsed.parameters > 0 {
                    return Err(dialect::unbound(1));
                }
                self.begin_parsed(parsed)
            })
        })
    }

    /// Runs a statement that was begun and waits, as [`Session::execute`] does.
    pub async fn go_on(&self, waiting: Waiting) -> Result<Outcome, SqlError> {
        let Waiting { statement, tokens, hints, ticket, is_long } = waiting;
        let running = deep::run_async(is_long, self.run(statement, tokens.clone(), &hints));
        let running = self.in_time(running);
        let outcome = caught_async(running).await.map_err(|error| error.near(&tokens))?;
        Ok(match outcome {
            Outcome::Rows(rows) => Outcome::Rows(rows.holding(ticket)),
            done => done,
        })
    }

    /// Parses a statement that will be executed with values for its parameters.
    pub fn prepare(&self, sql: &str) -> Result<Prepared, SqlError> {
        caught(|| Prepared::parse(sql))
    }

    /// Runs a prepared statement with one value per parameter, as [`Session::execute`] does.
    pub async fn execute_prepared(&self, prepared: &Prepared, values: &[Value]) -> Result<Outcome, SqlError> {
        self.end(caught(|| deep::run(prepared.is_long(), || self.begin_parsed(prepared.bind(values)?)))?)
            .await
    }

    async fn end(&self, begun: Begun) -> Result<Outcome, SqlError> {
        match begun {
            Begun::Answered(rows) => Ok(Outcome::Rows(rows)),
            Begun::Waiting(waiting) => self.go_on(*waiting).await,
        }
    }

    fn begin_parsed(&self, parsed: Parsed) -> Result<Begun, SqlError> {
        *self.progress.lock() = Arc::default();
        self.warnings.lock().clear();
        let Parsed { mut statement, hints, tokens, text, .. } = parsed;
        let is_long = deep::is_long(&text);
        let ticket = self.engine.running().enter(&text, self.progress());
        if let Some(schema) = self.schema.lock().as_deref() {
            statement.qualify(schema);
        }
        check_target(&statement)?;
        let hints = self.read_hints(&hints);
        if let Statement::Query(query) = &statement
            && let Some(rows) = self.at_once(query, &hints).map_err(|error| error.near(&tokens))?
        {
            return Ok(Begun::Answered(rows.holding(ticket)));
        }
        Ok(Begun::Waiting(Box::new(Waiting { statement, tokens, hints, ticket, is_long })))
    }

    /// The outcome, or an error when the time is over that a statement may take.
    async fn in_time(
        &self,
        running: impl Future<Output = Result<Outcome, SqlError>>,
    ) -> Result<Outcome, SqlError> {
        let timeout = *self.timeout.lock();
        let Some(limit) = timeout else { return running.await };
        let end = Instant::now() + limit;
        match timeout_at(end, running).await {
            Ok(Ok(Outcome::Rows(rows))) => Ok(Outcome::Rows(rows.until(end, limit))),
            Ok(outcome) => outcome,
            Err(_) => Err(timed_out(limit)),
        }
    }

    async fn run(&self, statement: Statement, tokens: TokenMap, hints: &Hints) -> Result<Outcome, SqlError> {
        let database = self.engine.database();
        match statement {
            Statement::Query(query) => Ok(Outcome::Rows(self.planned(*query, tokens, hints).await?)),
            Statement::Cursor(cursor) => self.cursor(cursor, tokens, hints).await,
            Statement::Explain { form, statement } => self.explain(*statement, tokens, hints, form).await,
            Statement::Use { schema } => {
                if let Some(schema) = &schema {
                    definition::check_schema(database, schema)
                        .map_err(|error| error.at(tokens.find(schema)))?;
                }
                *self.schema.lock() = schema;
                Ok(Outcome::Done { verb: "USE" })
            }
            change if changes::reads_rows(&change) => self.change(change, tokens, hints).await,
            listing @ (Statement::ShowTables { .. }
            | Statement::ShowSchemas { .. }
            | Statement::Describe { .. }
            | Statement::ShowCreate { .. }
            | Statement::UpdateStatistics { .. }) => self.show(&listing, &tokens),
            definition => self.define(definition, tokens).await,
        }
    }

    async fn select(&self, query: Query, tokens: TokenMap, hints: &Hints) -> Result<RowStream, SqlError> {
        match self.at_once(&query, hints)? {
            Some(rows) => Ok(rows),
            None => self.planned(query, tokens, hints).await,
        }
    }

    /// The rows of a query that needs no plan.
    fn at_once(&self, query: &Query, hints: &Hints) -> Result<Option<RowStream>, SqlError> {
        let (schema, progress) = (self.schema.lock().clone(), self.progress());
        point::answer(self.engine.database(), query, schema.as_deref(), &hints.indexes, &progress)
    }

    async fn planned(&self, query: Query, tokens: TokenMap, hints: &Hints) -> Result<RowStream, SqlError> {
        let titles = Titles::of(&query);
        let question = Question { query, schema: self.schema.lock().clone() };
        let is_usual = *hints == Hints::default() && self.memory_bytes.lock().is_none();
        if is_usual && let Some(rows) = self.planned_before(&question, &titles, &tokens).await? {
            return Ok(rows);
        }
        let repeated = self.engine.repeated();
        let again = (is_usual && repeated.is_asked_again(&question)).then(|| question.clone());
        let mut planning = self.planning(tokens, hints);
        let plan = planning.query(question.query)?;
        let physical = planning.physical(&plan).await?;
        if let Some(question) = again
            && self.warnings.lock().is_empty()
        {
            repeated.keep(question, &plan, &physical);
        }
        self.run_plan(&mut planning, (&plan, physical), &titles).await
    }

    /// The rows of a query whose plan is known, unless there is too little memory for it.
    async fn planned_before(
        &self,
        question: &Question,
        titles: &Titles,
        tokens: &TokenMap,
    ) -> Result<Option<RowStream>, SqlError> {
        let repeated = self.engine.repeated();
        let Some(kept) = repeated.kept(question) else { return Ok(None) };
        let (database, state, progress) = (self.engine.database(), self.engine.state(), self.progress());
        let asking = Asking { database, snapshot: &database.snapshot(), state, progress: &progress };
        let Some(plan) = repeated.plan(question, &kept, &asking) else { return Ok(None) };
        self.warnings.lock().extend(scan::whole_reads(&plan));
        let begins_late = spill::begins_late(&plan);
        let of_planner = |error| SqlError::from_planner(error, tokens);
        let mut batches = self.engine.run_plan(plan, state).map_err(of_planner)?;
        let first = match begins_late {
            true => batches.next().await.transpose().map_err(of_planner),
            false => Ok(None),
        };
        match first {
            Err(error) if error.lacks_memory() => Ok(None),
            first => Ok(Some(RowStream::running(first?, batches, titles, tokens.clone()))),
        }
    }

    async fn cursor(
        &self,
        statement: CursorStatement,
        tokens: TokenMap,
        hints: &Hints,
    ) -> Result<Outcome, SqlError> {
        let name = statement.name;
        let verb = match statement.action {
            CursorAction::Declare(query) => {
                let hints = hints.clone();
                self.cursors.declare(name, Declared { query, tokens, hints })?;
                "DECLARE"
            }
            CursorAction::Open => {
                let Declared { query, tokens, hints } = self.cursors.declared(&name)?;
                let rows = self.select(*query, tokens, &hints).await?;
                self.cursors.open(&name, rows)?;
                "OPEN"
            }
            CursorAction::Fetch(count) => return Ok(Outcome::Rows(self.cursors.fetch(&name, count)?)),
            CursorAction::Close => {
                self.cursors.close(&name)?;
                "CLOSE"
            }
        };
        Ok(Outcome::Done { verb })
    }

    /// Statements that say what there is.
    fn show(&self, statement: &Statement, tokens: &TokenMap) -> Result<Outcome, SqlError> {
        let database = self.engine.database();
        let find = |name: &Name| {
            catalog::find(database, &name.table()).map_err(|error| error.at(tokens.find(&name.name)))
        };
        let batch = match statement {
            Statement::ShowTables { schema, like } => {
                catalog::show_tables(database, schema.as_deref(), like.as_deref())?
            }
            Statement::ShowSchemas { like } => catalog::show_schemas(database, like.as_deref())?,
            Statement::Describe { table } => catalog::describe(&find(table)?.descriptor)?,
            Statement::ShowCreate { table } => catalog::show_create(database, &table.table())
                .map_err(|error| error.at(tokens.find(&table.name)))?,
            Statement::UpdateStatistics { table } => {
                find(table)?;
                let warning = "UPDATE STATISTICS has nothing to do: files carry their statistics";
                self.warnings.lock().push(warning.to_owned());
                return Ok(Outcome::Done { verb: "UPDATE STATISTICS" });
            }
            other => return Err(SqlError::internal(format!("{other:?} shows nothing"))),
        };
        Ok(Outcome::Rows(RowStream::ready(batch)))
    }

    /// Statements that create, change and drop.
    async fn define(&self, statement: Statement, tokens: TokenMap) -> Result<Outcome, SqlError> {
        let database = self.engine.database();
        let position = statement.defined().and_then(|name| tokens.find(&name.name));
        let mut warnings = vec![];
        let planning = self.planning(tokens, &Hints::default());
        let done = match &statement {
            Statement::CreateTable(table) => {
                definition::create_table(&planning, table, &mut warnings).map(|_| "CREATE TABLE")
            }
            Statement::DropTable { name, if_exists, cascade } => {
                definition::drop_table(&planning, name, *if_exists, *cascade).map(|_| "DROP TABLE")
            }
            Statement::CreateView(view) => {
                definition::create_view(&planning, view, &mut warnings).map(|_| "CREATE VIEW")
            }
            Statement::DropView { name, if_exists, cascade } => {
                definition::drop_view(&planning, name, *if_exists, *cascade).map(|_| "DROP VIEW")
            }
            Statement::Alter(alter) => {
                let verb = if alter.view { "ALTER VIEW" } else { "ALTER TABLE" };
                definition::alter(&planning, alter, &mut warnings).await.map(|()| verb)
            }
            Statement::Truncate { table, keep_regions } => {
                definition::truncate(&planning, table, *keep_regions).map(|()| "TRUNCATE TABLE")
            }
            Statement::CreateSchema { name, if_not_exists } => {
                definition::create_schema(database, name, *if_not_exists).map(|()| "CREATE SCHEMA")
            }
            Statement::DropSchema { name, if_exists, cascade } => {
                definition::drop_schema(&planning, name, *if_exists, *cascade).map(|()| "DROP SCHEMA")
            }
            Statement::Index(statement) => {
                let outcome = index::run(&planning, statement, &mut warnings).await;
                self.warnings.lock().extend(warnings);
                return outcome.map_err(|error| error.at(position));
            }
            Statement::CreateSequence(sequence) => return self.create_sequence(sequence),
            Statement::DropSequence { name, if_exists } => return self.drop_sequence(name, *if_exists),
            other => Err(SqlError::internal(format!("{other:?} defines nothing"))),
        };
        self.warnings.lock().extend(warnings);
        done.map(|verb| Outcome::Done { verb }).map_err(|error| error.at(position))
    }

    fn planning(&self, tokens: TokenMap, hints: &Hints) -> Planning {
        let mut planning = Planning::new(&self.engine, tokens, self.progress(), Arc::clone(&self.currents));
        if hints.sort_merge_join {
            planning.state_mut().config_mut().options_mut().optimizer.prefer_hash_join = false;
        }
        if hints.serial {
            planning.state_mut().config_mut().options_mut().execution.target_partitions = 1;
        }
        if hints.no_cache {
            planning.state_mut().config_mut().set_extension(Arc::new(Uncached));
        }
        if hints.no_join_hints {
            let options = planning.state_mut().config_mut().options_mut();
            options.optimizer.enable_join_dynamic_filter_pushdown = false;
        }
        if let Some(bytes) = *self.memory_bytes.lock() {
            planning.limit_memory(bytes);
        }
        planning.index_hints = hints.indexes.clone();
        planning.schema = self.schema.lock().clone();
        planning.warnings = Arc::clone(&self.warnings);
        planning.uncommitted = self.holds_changes().then(|| Arc::clone(&self.uncommitted));
        planning
    }

    /// Starts the plan. What keeps rows in memory fails before its first row if they do not fit, as a rule; the query is then planned
    /// again, see [`spill`].
    async fn query(
        &self,
        planning: &mut Planning,
        plan: LogicalPlan,
        titles: &Titles,
    ) -> Result<RowStream, SqlError> {
        let physical = planning.physical(&plan).await?;
        self.run_plan(planning, (&plan, physical), titles).await
    }

    /// Starts the second of two forms of a plan.
    async fn run_plan(
        &self,
        planning: &mut Planning,
        (plan, mut physical): (&LogicalPlan, Arc<dyn ExecutionPlan>),
        titles: &Titles,
    ) -> Result<RowStream, SqlError> {
        let (first, batches) = loop {
            let may_fail_first = spill::keeps_rows(&physical) || spill::begins_late(&physical);
            let mut batches = planning.start(physical)?;
            if !may_fail_first {
                break (None, batches);
            }
            let error = match batches.next().await.transpose().map_err(|error| planning.error(error)) {
                Ok(first) => break (first, batches),
                Err(error) => error,
            };
            let Some(smaller) = planning.smaller_plans(&error) else { return Err(error) };
            drop(batches);
            planning.use_plans(smaller).await;
            physical = planning.physical(plan).await?;
        };
        Ok(RowStream::running(first, batches, titles, planning.tokens().clone()))
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

    /// What hints say; a warning for each that says nothing here.
    fn read_hints(&self, hints: &[String]) -> Hints {
        let mut ignored = vec![];
        let read = Hints::read(hints, &mut ignored);
        self.warnings.lock().extend(ignored.iter().map(|hint| hints::not_followed(hint)));
        read
    }
}

/// Schemas whose tables say what there is; sequences have their values in one of them.
const SYSTEM_SCHEMAS: [&str; 2] = ["SYSTEM", "INFORMATION_SCHEMA"];

/// An error if a statement would change what the system keeps.
fn check_target(statement: &Statement) -> Result<(), SqlError> {
    let schema = match statement {
        Statement::Explain { statement, .. } => return check_target(statement),
        Statement::CreateSequence(_) | Statement::DropSequence { .. } => return Ok(()),
        Statement::CreateSchema { name, .. } | Statement::DropSchema { name, .. } => Some(name),
        statement => statement.changed().or(statement.defined()).and_then(|name| name.schema.as_ref()),
    };
    match schema.filter(|schema| SYSTEM_SCHEMAS.contains(&schema.as_str())) {
        None => Ok(()),
        Some(schema) => {
            let text = format!(
                "schema {schema} belongs to the system: its tables can be read, and changed by nobody"
            );
            Err(SqlError::coded(code::READ_ONLY, text))
        }
    }
}
