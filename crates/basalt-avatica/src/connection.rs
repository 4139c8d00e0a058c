// SPDX-License-Identifier: Apache-2.0
//! One connection: a session, its properties and its statements.

use std::collections::{BTreeMap, HashMap};

use arrow::datatypes::SchemaRef;
use basalt_sql::{Described, Outcome, Prepared, Session, Value};
use basalt_wire::avatica::{Request, Response, pb};

use crate::columns::{Type, signature};
use crate::failure::Failure;
use crate::metadata::{self, Listing};
use crate::parameters;
use crate::rows::OpenRows;

/// Statements that a connection has at a time.
const STATEMENTS_MAX: usize = 1_000;
/// What JDBC has for "there are rows, not a count".
const NO_COUNT: u64 = u64::MAX;
/// Read committed, of `java.sql.Connection`.
const READ_COMMITTED: u32 = 2;

/// See the module.
pub(crate) struct Connection {
    id: String,
    session: Session,
    auto_commit: bool,
    read_only: bool,
    isolation: u32,
    catalog: String,
    schema: String,
    last_statement: u32,
    statements: BTreeMap<u32, Statement>,
}

/// A statement that a client has a number for.
#[derive(Default)]
struct Statement {
    prepared: Option<Prepared>,
    sql: String,
    rows_max: Option<u64>,
    open: Option<OpenRows>,
}

impl Connection {
    /// Of a client that said so much of itself: `schema` is what USE would say.
    pub(crate) fn new(id: &str, session: Session, info: &HashMap<String, String>) -> Self {
        let auto_commit = info.get("AutoCommit").or_else(|| info.get("autoCommit"));
        Self {
            id: id.to_owned(),
            session,
            auto_commit: auto_commit.is_none_or(|text| !text.eq_ignore_ascii_case("false")),
            read_only: false,
            isolation: READ_COMMITTED,
            catalog: String::new(),
            schema: String::new(),
            last_statement: 0,
            statements: BTreeMap::new(),
        }
    }

    /// The answer to a request of this connection.
    pub(crate) async fn respond(&mut self, request: Request) -> Result<Response, Failure> {
        self.session.set_autocommit(self.auto_commit);
        if self.auto_commit {
            // What a batch has kept whose client went away.
            self.session.rollback();
        }
        match request {
            Request::ConnectionSyncRequest(sync) => self.sync(sync.conn_props.unwrap_or_default()).await,
            Request::CreateStatementRequest(_) => {
                let statement_id = self.add(Statement::default())?;
                Ok(pb::CreateStatementResponse { connection_id: self.id.clone(), statement_id }.into())
            }
            Request::CloseStatementRequest(close) => {
                self.statements.remove(&close.statement_id);
                Ok(pb::CloseStatementResponse {}.into())
            }
            Request::PrepareRequest(request) => self.prepare(request).await,
            Request::PrepareAndExecuteRequest(request) => self.prepare_and_execute(request).await,
            Request::ExecuteRequest(request) => self.execute(request).await,
            Request::ExecuteBatchRequest(request) => self.execute_batch(request).await,
            Request::PrepareAndExecuteBatchRequest(request) => self.execute_texts(request).await,
            Request::FetchRequest(request) => self.fetch(request).await,
            Request::CommitRequest(_) => {
                self.session.commit().await?;
                Ok(pb::CommitResponse {}.into())
            }
            Request::RollbackRequest(_) => {
                self.session.rollback();
                Ok(pb::RollbackResponse {}.into())
            }
            Request::SyncResultsRequest(request) => self.sync_results(request).await,
            Request::DatabasePropertyRequest(_) => Ok(metadata::properties().into()),
            other => match metadata::listing(&other) {
                Some(listing) => self.list(&listing).await,
                None => Err(Failure::protocol(format!("{} is of no connection", other.name()))),
            },
        }
    }

    async fn sync(&mut self, wanted: pb::ConnectionProperties) -> Result<Response, Failure> {
        if wanted.has_auto_commit && wanted.auto_commit != self.auto_commit {
            if wanted.auto_commit {
                // As JDBC has it.
                self.session.commit().await?;
            }
            self.auto_commit = wanted.auto_commit;
        }
        if wanted.has_read_only {
            self.read_only = wanted.read_only;
        }
        if wanted.transaction_isolation != 0 {
            self.isolation = wanted.transaction_isolation;
        }
        if !wanted.catalog.is_empty() {
            self.catalog = wanted.catalog;
        }
        if !wanted.schema.is_empty() && wanted.schema != self.schema {
            let name = wanted.schema.replace('"', "\"\"");
            self.session.execute(&format!("USE \"{name}\"")).await?;
            self.schema = wanted.schema;
        }
        let conn_props = Some(pb::ConnectionProperties {
            is_dirty: false,
            auto_commit: self.auto_commit,
            has_auto_commit: true,
            read_only: self.read_only,
            has_read_only: true,
            transaction_isolation: self.isolation,
            catalog: self.catalog.clone(),
            schema: self.schema.clone(),
        });
        Ok(pb::ConnectionSyncResponse { conn_props }.into())
    }

    fn add(&mut self, statement: Statement) -> Result<u32, Failure> {
        if self.statements.len() >= STATEMENTS_MAX {
            return Err(Failure::limit(format!(
                "the connection has {STATEMENTS_MAX} open statements, which is the most; close some"
            )));
        }
        self.last_statement += 1;
        self.statements.insert(self.last_statement, statement);
        Ok(self.last_statement)
    }

    async fn prepare(&mut self, request: pb::PrepareRequest) -> Result<Response, Failure> {
        let prepared = self.session.prepare(&request.sql)?;
        let Described { columns, parameters, .. } = self.session.describe(&prepared).await?;
        let of_parameter = |(at, sql_type): (usize, Option<String>)| {
            Type::of_sql(sql_type.as_deref().unwrap_or("VARCHAR")).parameter(at)
        };
        let types = parameters.into_iter().map(|of| of.map(|sql_type| sql_type.to_string()));
        let parameters = types.enumerate().map(of_parameter).collect();
        let signature = signature(&request.sql, columns.as_deref(), parameters);
        let rows_max = rows_max(request.max_rows_total, request.max_row_count);
        let statement = Statement { prepared: Some(prepared), sql: request.sql, rows_max, open: None };
        let id = self.add(statement)?;
        let statement =
            Some(pb::StatementHandle { connection_id: self.id.clone(), id, signature: Some(signature) });
        Ok(pb::PrepareResponse { statement }.into())
    }

    async fn prepare_and_execute(
        &mut self,
        request: pb::PrepareAndExecuteRequest,
    ) -> Result<Response, Failure> {
        let id = request.statement_id;
        if !self.statements.contains_key(&id) {
            return Ok(missing_statement());
        }
        let prepared = self.session.prepare(&request.sql)?;
        let rows_max = rows_max(request.max_rows_total, request.max_row_count);
        let statement = Statement { prepared: Some(prepared), sql: request.sql, rows_max, open: None };
        self.statements.insert(id, statement);
        self.run(id, &[], request.first_frame_max_size).await
    }

    async fn execute(&mut self, request: pb::ExecuteRequest) -> Result<Response, Failure> {
        let id = request.statement_handle.as_ref().map_or(0, |handle| handle.id);
        if self.statements.get(&id).is_none_or(|statement| statement.prepared.is_none()) {
            return Ok(missing_statement());
        }
        let sent = if request.has_parameter_values { &request.parameter_values[..] } else { &[] };
        self.run(id, &parameters::values(sent)?, request.first_frame_max_size).await
    }

    /// Runs a statement that was prepared.
    async fn run(&mut self, id: u32, values: &[Value], wanted: i32) -> Result<Response, Failure> {
        let outcome = self.outcome(id, values).await?;
        let mut result = pb::ResultSetResponse {
            connection_id: self.id.clone(),
            statement_id: id,
            own_statement: true,
            ..pb::ResultSetResponse::default()
        };
        let Some(statement) = self.statements.get_mut(&id) else { return Ok(missing_statement()) };
        match outcome {
            Outcome::Rows(rows) => {
                let mut open = OpenRows::new(rows, statement.rows_max);
                let frame = open.frame(wanted).await?;
                result.signature = Some(signature(&statement.sql, Some(&open.schema()), vec![]));
                if !frame.done {
                    statement.open = Some(open);
                }
                result.first_frame = Some(frame);
                result.update_count = NO_COUNT;
            }
            Outcome::Count { rows, .. } => {
                (result.own_statement, result.update_count) = (false, rows);
            }
            Outcome::Done { .. } => result.own_statement = false,
        }
        Ok(pb::ExecuteResponse { results: vec![result], missing_statement: false }.into())
    }

    async fn outcome(&mut self, id: u32, values: &[Value]) -> Result<Outcome, Failure> {
        let Some(statement) = self.statements.get_mut(&id) else {
            return Err(Failure::protocol(format!("statement {id} is not open")));
        };
        // Rows of a run before end with the next one.
        statement.open = None;
        let Some(prepared) = &statement.prepared else {
            return Err(Failure::protocol(format!("statement {id} has no text")));
        };
        if self.read_only && !prepared.is_query() {
            return Err(Failure::coded(
                518,
                "25502",
                "the connection is read-only; the statement changes something",
            ));
        }
        Ok(self.session.execute_prepared(prepared, values).await?)
    }

    async fn execute_batch(&mut self, request: pb::ExecuteBatchRequest) -> Result<Response, Failure> {
        let (connection_id, statement_id) = (self.id.clone(), request.statement_id);
        let mut answer = pb::ExecuteBatchResponse {
            connection_id,
            statement_id,
            update_counts: vec![],
            missing_statement: !self.statements.contains_key(&statement_id),
        };
        if answer.missing_statement {
            return Ok(answer.into());
        }
        let updates = request.updates.iter().map(|update| parameters::values(&update.parameter_values));
        let updates: Vec<_> = updates.collect::<Result<_, _>>()?;
        // Rows that are written over whatever there is are committed together. Other statements see what those before them did.
        let prepared = self.statements.get(&statement_id).and_then(|statement| statement.prepared.as_ref());
        let is_held = self.auto_commit && prepared.is_some_and(Prepared::overwrites);
        if is_held {
            self.session.set_autocommit(false);
        }
        let counts = self.batch(statement_id, &updates).await;
        if is_held && counts.is_ok() {
            self.session.commit().await?;
        }
        // Without autocommit what came before a mistake waits with the rest; with it nothing is left.
        answer.update_counts = counts?;
        Ok(answer.into())
    }

    async fn batch(&mut self, id: u32, updates: &[Vec<Value>]) -> Result<Vec<u64>, Failure> {
        let mut counts = Vec::with_capacity(updates.len());
        for values in updates {
            counts.push(count_of(&self.outcome(id, values).await?)?);
        }
        Ok(counts)
    }

    async fn execute_texts(
        &mut self,
        request: pb::PrepareAndExecuteBatchRequest,
    ) -> Result<Response, Failure> {
        let statement_id = request.statement_id;
        let mut answer = pb::ExecuteBatchResponse {
            connection_id: self.id.clone(),
            statement_id,
            update_counts: vec![],
            missing_statement: !self.statements.contains_key(&statement_id),
        };
        if answer.missing_statement {
            return Ok(answer.into());
        }
        answer.update_counts = self.texts(statement_id, request.sql_commands).await?;
        Ok(answer.into())
    }

    async fn texts(&mut self, id: u32, texts: Vec<String>) -> Result<Vec<u64>, Failure> {
        let mut counts = Vec::with_capacity(texts.len());
        for sql in texts {
            let prepared = Some(self.session.prepare(&sql)?);
            self.statements.insert(id, Statement { prepared, sql, rows_max: None, open: None });
            counts.push(count_of(&self.outcome(id, &[]).await?)?);
        }
        Ok(counts)
    }

    async fn fetch(&mut self, request: pb::FetchRequest) -> Result<Response, Failure> {
        let mut answer = pb::FetchResponse::default();
        let Some(statement) = self.statements.get_mut(&request.statement_id) else {
            answer.missing_statement = true;
            return Ok(answer.into());
        };
        let done = pb::Frame { offset: request.offset, done: true, rows: vec![] };
        let frame = match &mut statement.open {
            Some(open) if open.offset() != request.offset => {
                return Err(Failure::protocol(format!(
                    "rows from {} on were asked for, and {} were sent; they are given once, in their order",
                    request.offset,
                    open.offset()
                )));
            }
            Some(open) => open.frame(request.frame_max_size).await?,
            None => done,
        };
        if frame.done {
            statement.open = None;
        }
        answer.frame = Some(frame);
        Ok(answer.into())
    }

    /// Metadata that clients fetch as rows of a statement; or a query again, from a row on, after a connection was lost.
    async fn sync_results(&mut self, request: pb::SyncResultsRequest) -> Result<Response, Failure> {
        let mut answer = pb::SyncResultsResponse::default();
        if !self.statements.contains_key(&request.statement_id) {
            answer.missing_statement = true;
            return Ok(answer.into());
        }
        let state = request.state.unwrap_or_default();
        let sql = match state.r#type() {
            pb::StateType::Metadata => metadata::operation(&state)?.sql(),
            pb::StateType::Sql => state.sql,
        };
        let prepared = self.session.prepare(&sql)?;
        let Outcome::Rows(rows) = self.session.execute_prepared(&prepared, &[]).await? else {
            return Ok(answer.into());
        };
        let mut open = OpenRows::new(rows, None);
        open.skip(request.offset).await?;
        answer.more_results = open.has_rows().await?;
        let open = answer.more_results.then_some(open);
        let statement = Statement { prepared: Some(prepared), sql, rows_max: None, open };
        self.statements.insert(request.statement_id, statement);
        Ok(answer.into())
    }

    /// Rows that say what there is, as a statement of their own.
    async fn list(&mut self, listing: &Listing) -> Result<Response, Failure> {
        let sql = listing.sql();
        let Outcome::Rows(rows) = self.session.execute(&sql).await? else {
            return Err(Failure::protocol("a listing has no rows"));
        };
        let mut open = OpenRows::new(rows, None);
        let schema: SchemaRef = open.schema();
        let frame = open.frame(-1).await?;
        let open = (!frame.done).then_some(open);
        let signature = signature(&sql, Some(&schema), vec![]);
        let statement_id = self.add(Statement { prepared: None, sql, rows_max: None, open })?;
        Ok(pb::ResultSetResponse {
            connection_id: self.id.clone(),
            statement_id,
            own_statement: true,
            signature: Some(signature),
            first_frame: Some(frame),
            update_count: NO_COUNT,
        }
        .into())
    }
}

fn missing_statement() -> Response {
    pb::ExecuteResponse { results: vec![], missing_statement: true }.into()
}

/// The limit of rows, if there is one: an old field counts only where the new one says nothing.
fn rows_max(total: i64, old: u64) -> Option<u64> {
    match u64::try_from(total) {
        Ok(0) => (old != 0 && i64::try_from(old).is_ok()).then_some(old),
        Ok(total) => Some(total),
        Err(_) => None,
    }
}

/// How many rows a statement of a batch changed.
fn count_of(outcome: &Outcome) -> Result<u64, Failure> {
    match outcome {
        Outcome::Count { rows, .. } => Ok(*rows),
        Outcome::Done { .. } => Ok(0),
        Outcome::Rows(_) => {
            Err(Failure::protocol("a query cannot be a part of a batch; execute it by itself"))
        }
    }
}
