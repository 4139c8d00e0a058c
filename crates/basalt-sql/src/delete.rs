// SPDX-License-Identifier: Apache-2.0
//! DELETE: the keys of the rows are read in the statement's snapshot, and a marker that hides the whole row is
//! written in every family.

use std::sync::Arc;

use basalt_hfile::typed::{KeyEncoder, row_timestamps};
use basalt_model::schema::ColumnRef;
use basalt_model::{CellType, LATEST_TIMESTAMP, TableName, TableSchema, WriteBatch};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, Ident, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr,
};
use futures::StreamExt;

use crate::dialect::{self, Delete, Name, Statement, Target};
use crate::error::SqlError;
use crate::ingest::{RowWriter, typed};
use crate::plan::Planning;
use crate::returning::{Changed, Returning};
use crate::scan::BasaltTable;

/// Runs the statement.
pub(crate) async fn delete(planning: &Planning, mut statement: Delete) -> Result<Changed, SqlError> {
    let table = planning.table(&statement.table.table())?;
    let returning = std::mem::take(&mut statement.returning);
    let returning = Returning::try_new(planning, &statement.table, &table, returning)?;
    let plan = plan(planning, statement)?;
    let physical = planning.physical(&plan).await?;
    let mut stream = planning.start(physical)?;
    let mut writer = RowWriter::of(planning, table.id);
    let mut marker = Marker::try_new(planning, &table)?;
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(|error| planning.error(error))?;
        marker.mark(&batch, writer.batch())?;
        writer.added(batch.num_rows() as u64)?;
        if let Some(returning) = &returning {
            returning.waiting(&writer)?;
        }
        tokio::task::yield_now().await;
    }
    Changed::all_of(planning, writer, returning.as_ref()).await
}

/// The query that finds the keys: the statement's conditions over the key columns.
pub(crate) fn plan(planning: &Planning, statement: Delete) -> Result<LogicalPlan, SqlError> {
    let table = planning.table(&statement.table.table())?;
    table.fixed_columns()?;
    let Delete { table: target, filter, order_by, limit, .. } = statement;
    planning.query(row_query(table.table_schema(), &target, vec![], &[], filter, order_by, limit)?)
}

/// Deletes the cells of some columns in all rows.
pub(crate) async fn delete_cells(
    planning: &Planning,
    name: &TableName,
    columns: &[(String, Vec<u8>)],
) -> Result<(), SqlError> {
    let table = planning.table(name)?;
    let name = Name { schema: Some(name.namespace.clone()), name: name.name.clone() };
    let target = Target { name, alias: None };
    let query = row_query(table.table_schema(), &target, vec![], &[], None, vec![], None)?;
    let physical = planning.physical(&planning.query(query)?).await?;
    let mut stream = planning.start(physical)?;
    let mut writer = RowWriter::new(planning.engine.clone(), table.id, Arc::clone(&planning.progress));
    let cells = columns.iter().map(|(family, qualifier)| (family.clone(), qualifier.clone()));
    let mut marker = Marker { cells: cells.collect(), ..Marker::try_new(planning, &table)? };
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(|error| planning.error(error))?;
        marker.mark(&batch, writer.batch())?;
        writer.added(batch.num_rows() as u64)?;
    }
    writer.end().await?;
    Ok(())
}

/// A query for the keys of rows, with some values behind them: `values`, and the columns `kept`. Built from a parsed
/// template, so that the dialect decides what a query looks like.
pub(crate) fn row_query(
    schema: &TableSchema,
    target: &Target,
    values: Vec<SqlExpr>,
    kept: &[ColumnRef],
    filter: Option<SqlExpr>,
    order_by: Vec<OrderByExpr>,
    limit: Option<SqlExpr>,
) -> Result<Query, SqlError> {
    let Statement::Query(query) = dialect::parse("SELECT K FROM T")?.statement else {
        return Err(SqlError::internal("a SELECT was not read as a query"));
    };
    let mut query = *query;
    if let SetExpr::Select(select) = query.body.as_mut() {
        let column =
            |name: String| SelectItem::UnnamedExpr(SqlExpr::Identifier(Ident::with_quote('"', name)));
        let keys = schema.key.iter().map(|key| column(key.name.clone()));
        let values = values.into_iter().enumerate().map(|(index, expr)| SelectItem::ExprWithAlias {
            expr,
            alias: Ident::with_quote('"', format!("$value{index}")),
        });
        let kept = kept.iter().map(|&kept| column(schema.display_name(kept)));
        select.projection = keys.chain(values).chain(kept).collect();
        select.selection = filter;
        if let Some(from) = select.from.first_mut() {
            target.put_into(&mut from.relation);
        }
    }
    if !order_by.is_empty() {
        query.order_by = Some(OrderBy { kind: OrderByKind::Expressions(order_by), interpolate: None });
    }
    if limit.is_some() {
        query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: vec![] });
    }
    Ok(query)
}

/// Writes delete markers for the rows of batches of key columns.
pub(crate) struct Marker<'a> {
    table: &'a BasaltTable,
    keys: KeyEncoder,
    families: Vec<String>,
    /// Family and qualifier of the cells that go; the whole rows if there are none.
    cells: Vec<(String, Vec<u8>)>,
    /// The time of the statement, in milliseconds since 1970.
    now_ms: i64,
}

impl<'a> Marker<'a> {
    pub(crate) fn try_new(planning: &Planning, table: &'a BasaltTable) -> Result<Self, SqlError> {
        let schema = table.table_schema();
        let columns: Vec<_> = (0..schema.key.len()).map(ColumnRef::Key).collect();
        let keys = KeyEncoder::try_new(schema, &columns).map_err(|error| typed(error).error)?;
        let families = table.descriptor.families.iter().map(|family| family.name.clone()).collect();
        let now_ms = planning.engine.now_ms();
        Ok(Self { table, keys, families, cells: vec![], now_ms })
    }

    pub(crate) fn mark(&mut self, batch: &RecordBatch, out: &mut WriteBatch) -> Result<(), SqlError> {
        let mut keys = vec![];
        self.keys
            .encode(batch, |_, key| {
                keys.push(key.to_vec());
                Ok::<_, basalt_hfile::typed::TypedError>(())
            })
            .map_err(|error| typed(error).error)?;
        let timestamps = match self.table.table_schema().row_timestamp {
            Some(index) => Some(row_timestamps(batch.column(index)).map_err(|error| typed(error).error)?),
            None => None,
        };
        for (row, key) in keys.iter().enumerate() {
            let timestamp = timestamps.as_ref().map_or(LATEST_TIMESTAMP, |all| self.hiding(all.value(row)));
            self.mark_row(key, timestamp, out).map_err(|error| SqlError::internal(error.to_string()))?;
        }
        Ok(())
    }

    /// A marker hides cells of its own time and before: that of the commit, unless the row is from the future.
    fn hiding(&self, row_timestamp: i64) -> i64 {
        if row_timestamp > self.now_ms { row_timestamp } else { LATEST_TIMESTAMP }
    }

    fn mark_row(
        &self,
        key: &[u8],
        timestamp: i64,
        out: &mut WriteBatch,
    ) -> Result<(), basalt_model::mutation::MutationError> {
        let mut row = out.row(self.table.id, key)?;
        for (family, qualifier) in &self.cells {
            row.delete(family.as_bytes(), qualifier, timestamp, CellType::DeleteColumn)?;
        }
        let families = if self.cells.is_empty() { &self.families[..] } else { &[] };
        for family in families {
            row.delete(family.as_bytes(), b"", timestamp, CellType::DeleteFamily)?;
        }
        row.finish();
        Ok(())
    }
}
