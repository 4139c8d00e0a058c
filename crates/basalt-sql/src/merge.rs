// SPDX-License-Identifier: Apache-2.0
//! MERGE: each clause is a query over the statement's snapshot, and all that they change is one atomic batch.
//!
//! ```text
//! WHEN MATCHED      SELECT keys, values FROM t JOIN source ON .. WHERE condition AND no clause before applies
//! WHEN NOT MATCHED  SELECT values FROM source LEFT ANTI JOIN t ON .. WHERE condition AND no clause before applies
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use basalt_hfile::typed::KeyEncoder;
use basalt_model::schema::ColumnRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr as SqlExpr, Ident, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr,
};
use futures::StreamExt;

use crate::delete::Marker;
use crate::dialect::{self, Merge, MergeAction, MergeClause, Name, Statement};
use crate::error::SqlError;
use crate::ingest::{RowAssembler, RowWriter, fill, typed};
use crate::plan::Planning;
use crate::returning::{Changed, Returning};
use crate::scan::BasaltTable;
use crate::update;
use crate::upsert;

/// Runs the statement; its rows are those that were changed, deleted and inserted.
pub(crate) async fn merge(planning: &Planning, mut statement: Merge) -> Result<Changed, SqlError> {
    let returning = std::mem::take(&mut statement.returning);
    let mut merging = Merging::try_new(planning, &statement)?;
    let target = &statement.table;
    merging.returning = Returning::try_new(planning, target, &merging.table, returning)?;
    for (at, clause) in statement.clauses.iter().enumerate() {
        let filter = filter(&statement.clauses[..at], clause)?;
        match &clause.action {
            MergeAction::Update(assignments) => merging.update(&statement, assignments, filter).await?,
            MergeAction::Delete => merging.delete(&statement, filter).await?,
            MergeAction::Insert { columns, values } => {
                let (columns, place) = (columns.as_deref(), upsert::place_of_last(Some(values)));
                let columns = upsert::target(planning, &merging.table, columns, values.len(), place)?;
                let query = unmatched(&statement, values, filter)?;
                merging.write(query, columns, false).await?;
            }
        }
    }
    Changed::all_of(planning, merging.writer, merging.returning.as_ref()).await
}

/// The plans of the clauses, each with what it is for.
pub(crate) fn plans(
    planning: &Planning,
    statement: &Merge,
) -> Result<Vec<(&'static str, LogicalPlan)>, SqlError> {
    let merging = Merging::try_new(planning, statement)?;
    let mut plans = vec![];
    for (at, clause) in statement.clauses.iter().enumerate() {
        let filter = filter(&statement.clauses[..at], clause)?;
        let (what, query) = match &clause.action {
            MergeAction::Update(assignments) => {
                ("WHEN MATCHED THEN UPDATE", merging.updated(statement, assignments, filter)?.0)
            }
            MergeAction::Delete => ("WHEN MATCHED THEN DELETE", merging.matched(statement, vec![], filter)?),
            MergeAction::Insert { columns, values } => {
                let place = upsert::place_of_last(Some(values));
                upsert::target(planning, &merging.table, columns.as_deref(), values.len(), place)?;
                ("WHEN NOT MATCHED THEN INSERT", unmatched(statement, values, filter)?)
            }
        };
        plans.push((what, planning.query(query)?));
    }
    Ok(plans)
}

/// The condition of a clause, for rows to which none of the same kind before it applies.
fn filter(before: &[MergeClause], clause: &MergeClause) -> Result<Option<SqlExpr>, SqlError> {
    let mut all = clause.condition.clone().map(nested);
    for earlier in before.iter().filter(|earlier| earlier.matched() == clause.matched()) {
        let Some(condition) = &earlier.condition else {
            let kind = if clause.matched() { "MATCHED" } else { "NOT MATCHED" };
            return Err(SqlError::statement(format!(
                "a WHEN {kind} behind one without a condition never applies; put the one without a condition last"
            )));
        };
        all = and(all, SqlExpr::IsNotTrue(Box::new(nested(condition.clone()))));
    }
    Ok(all)
}

fn nested(expr: SqlExpr) -> SqlExpr {
    SqlExpr::Nested(Box::new(expr))
}

fn and(left: Option<SqlExpr>, right: SqlExpr) -> Option<SqlExpr> {
    Some(match left {
        Some(left) => {
            SqlExpr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) }
        }
        None => right,
    })
}

/// A statement on its way.
struct Merging<'a> {
    planning: &'a Planning,
    table: Arc<BasaltTable>,
    writer: RowWriter,
    /// Keys of rows that were changed or deleted.
    matched: HashSet<Vec<u8>>,
    returning: Option<Returning>,
}

impl<'a> Merging<'a> {
    fn try_new(planning: &'a Planning, statement: &Merge) -> Result<Self, SqlError> {
        let table = planning.table(&statement.table.table())?;
        if table.rules().is_some() {
            let message =
                format!("MERGE changes tables, and {} is a view; name its table", statement.table.name);
            return Err(SqlError::statement(message));
        }
        let writer = RowWriter::of(planning, table.id);
        Ok(Self { planning, table, writer, matched: HashSet::new(), returning: None })
    }

    async fn update(
        &mut self,
        statement: &Merge,
        assignments: &[(Name, SqlExpr)],
        filter: Option<SqlExpr>,
    ) -> Result<(), SqlError> {
        let (query, columns) = self.updated(statement, assignments, filter)?;
        self.write(query, columns, true).await
    }

    /// The new values of matched rows behind their keys, and the columns that get them.
    fn updated(
        &self,
        statement: &Merge,
        assignments: &[(Name, SqlExpr)],
        filter: Option<SqlExpr>,
    ) -> Result<(Query, Vec<ColumnRef>), SqlError> {
        let changed = update::targets(self.planning, &self.table, &statement.table, assignments.to_vec())?;
        let schema = self.table.table_schema();
        let kept = changed.kept.iter().map(|&column| column_of(statement, schema.display_name(column)));
        let values = changed.values.iter().cloned().chain(kept).collect();
        let query = self.matched(statement, values, filter)?;
        Ok((query, [changed.columns, changed.kept].concat()))
    }

    /// Writes the rows of a query; `matched` ones begin with their key, and none may come twice.
    async fn write(&mut self, query: Query, columns: Vec<ColumnRef>, matched: bool) -> Result<(), SqlError> {
        let constants = if matched { vec![] } else { fill(self.planning, &self.table, &columns)? };
        let descriptor = Arc::clone(&self.table.descriptor);
        let mut assembler = RowAssembler::try_new(self.table.id, descriptor, columns, constants, false)?;
        let mut rows = 0;
        let plan = self.planning.query(query)?;
        let physical = self.planning.physical(&plan).await?;
        let mut stream = self.planning.start(physical)?;
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(|error| self.planning.error(error))?;
            if matched {
                self.note(&batch)?;
            }
            let added = self.writer.add(&mut assembler, batch.columns(), batch.num_rows());
            added.map_err(|refusal| refusal.into_error(rows, false))?;
            rows += batch.num_rows() as u64;
            self.check_returned()?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn delete(&mut self, statement: &Merge, filter: Option<SqlExpr>) -> Result<(), SqlError> {
        let plan = self.planning.query(self.matched(statement, vec![], filter)?)?;
        let physical = self.planning.physical(&plan).await?;
        let mut stream = self.planning.start(physical)?;
        let table = Arc::clone(&self.table);
        let mut marker = Marker::try_new(self.planning, &table)?;
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(|error| self.planning.error(error))?;
            self.note(&batch)?;
            marker.mark(&batch, self.writer.batch())?;
            self.writer.added(batch.num_rows() as u64)?;
            self.check_returned()?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// An error once RETURNING would answer too many rows.
    fn check_returned(&self) -> Result<(), SqlError> {
        match &self.returning {
            Some(returning) => returning.waiting(&self.writer).map(drop),
            None => Ok(()),
        }
    }

    /// An error if a row of the table belongs to more than one of the source: which of them would win is anyone's guess.
    fn note(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        let schema = self.table.table_schema();
        let columns: Vec<_> = (0..schema.key.len()).map(ColumnRef::Key).collect();
        let keys = batch.project(&(0..columns.len()).collect::<Vec<_>>());
        let keys = keys.map_err(|error| SqlError::internal(error.to_string()))?;
        let encoder = KeyEncoder::try_new(schema, &columns).map_err(|error| typed(error).error)?;
        let mut twice = false;
        let noted = encoder.encode(&keys, |_, key| {
            twice |= !self.matched.insert(key.to_vec());
            Ok::<_, basalt_hfile::typed::TypedError>(())
        });
        noted.map_err(|error| typed(error).error)?;
        match twice {
            true => Err(SqlError::statement(format!(
                "a row of {} is matched by more than one row of the source; make the condition or the source narrower",
                self.table.descriptor.name
            ))),
            false => Ok(()),
        }
    }

    /// The keys of matched rows, with values behind them.
    fn matched(
        &self,
        statement: &Merge,
        values: Vec<SqlExpr>,
        filter: Option<SqlExpr>,
    ) -> Result<Query, SqlError> {
        let keys = self.table.table_schema().key.iter().map(|key| column_of(statement, key.name.clone()));
        let items = keys.chain(values).collect();
        with_select("SELECT K FROM T INNER JOIN S ON TRUE", |select| {
            select.projection = named(items);
            select.selection = filter;
            if let Some(from) = select.from.first_mut() {
                statement.table.put_into(&mut from.relation);
                if let Some(join) = from.joins.first_mut() {
                    join.relation = statement.source.clone();
                    join.join_operator = JoinOperator::Inner(JoinConstraint::On(statement.on.clone()));
                }
            }
        })
    }
}

/// Values for the rows of the source that match nothing.
fn unmatched(statement: &Merge, values: &[SqlExpr], filter: Option<SqlExpr>) -> Result<Query, SqlError> {
    with_select("SELECT K FROM S LEFT ANTI JOIN T ON TRUE", |select| {
        select.projection = named(values.to_vec());
        select.selection = filter;
        if let Some(from) = select.from.first_mut() {
            from.relation = statement.source.clone();
            if let Some(join) = from.joins.first_mut() {
                statement.table.put_into(&mut join.relation);
                join.join_operator = JoinOperator::LeftAnti(JoinConstraint::On(statement.on.clone()));
            }
        }
    })
}

fn named(values: Vec<SqlExpr>) -> Vec<SelectItem> {
    let item =
        |(at, expr)| SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', format!("$value{at}")) };
    values.into_iter().enumerate().map(item).collect()
}

fn column_of(statement: &Merge, name: String) -> SqlExpr {
    let table = Ident::with_quote('"', statement.table.called());
    SqlExpr::CompoundIdentifier(vec![table, Ident::with_quote('"', name)])
}

/// A query made of a template, so that the dialect decides what a query looks like.
fn with_select(template: &str, change: impl FnOnce(&mut Select)) -> Result<Query, SqlError> {
    let Statement::Query(mut query) = dialect::parse(template)?.statement else {
        return Err(SqlError::internal("a SELECT was not read as a query"));
    };
    if let SetExpr::Select(select) = query.body.as_mut() {
        change(select);
    }
    Ok(*query)
}
