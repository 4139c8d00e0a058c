// SPDX-License-Identifier: Apache-2.0
//! DELETE: the keys of the rows are read in the statement's snapshot, and a marker that hides the whole row is
//! written in every family.

use std::sync::Arc;

use basalt_hfile::typed::KeyEncoder;
use basalt_model::schema::ColumnRef;
use basalt_model::{CellType, LATEST_TIMESTAMP, TableSchema, WriteBatch};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, Ident, LimitClause, ObjectName, OrderBy, OrderByKind, Query, SelectItem, SetExpr,
    TableFactor,
};
use futures::StreamExt;

use crate::dialect::{self, Delete, Statement};
use crate::error::SqlError;
use crate::ingest::{RowWriter, typed};
use crate::plan::Planning;

/// Runs the statement; returns the number of rows.
pub(crate) async fn delete(planning: &Planning, statement: Delete) -> Result<u64, SqlError> {
    let table = planning.table(&statement.table.table())?;
    let plan = plan(planning, statement)?;
    let physical = planning.physical(&plan).await?;
    let mut stream =
        execute_stream(physical, planning.state.task_ctx()).map_err(|error| planning.error(error))?;
    let mut writer =
        RowWriter::new(planning.engine.database().clone(), table.id, Arc::clone(&planning.progress));
    let mut marker = Marker::try_new(&table)?;
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(|error| planning.error(error))?;
        marker.mark(&batch, writer.batch())?;
        writer.added(batch.num_rows() as u64)?;
        tokio::task::yield_now().await;
    }
    writer.finish()
}

/// The query that finds the keys: the statement's conditions over the key columns.
pub(crate) fn plan(planning: &Planning, statement: Delete) -> Result<LogicalPlan, SqlError> {
    let table = planning.table(&statement.table.table())?;
    planning.query(key_query(table.table_schema(), statement)?)
}

/// Built from a parsed template, so that the dialect decides what a query looks like.
fn key_query(schema: &TableSchema, statement: Delete) -> Result<Query, SqlError> {
    let Statement::Query(query) = dialect::parse("SELECT K FROM T")?.statement else {
        return Err(SqlError::internal("a SELECT was not read as a query"));
    };
    let mut query = *query;
    if let SetExpr::Select(select) = query.body.as_mut() {
        let column = |name: &str| SelectItem::UnnamedExpr(SqlExpr::Identifier(Ident::with_quote('"', name)));
        select.projection = schema.key.iter().map(|key| column(&key.name)).collect();
        select.selection = statement.filter;
        let parts = statement.table.schema.iter().chain([&statement.table.name]);
        let name = ObjectName::from(parts.map(|part| Ident::with_quote('"', part)).collect::<Vec<_>>());
        if let Some(from) = select.from.first_mut()
            && let TableFactor::Table { name: table, .. } = &mut from.relation
        {
            *table = name;
        }
    }
    if !statement.order_by.is_empty() {
        query.order_by =
            Some(OrderBy { kind: OrderByKind::Expressions(statement.order_by), interpolate: None });
    }
    if let Some(limit) = statement.limit {
        query.limit_clause =
            Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by: vec![] });
    }
    Ok(query)
}

/// Writes delete markers for the rows of batches of key columns.
struct Marker<'a> {
    table: &'a crate::scan::BasaltTable,
    keys: KeyEncoder,
    families: Vec<String>,
}

impl<'a> Marker<'a> {
    fn try_new(table: &'a crate::scan::BasaltTable) -> Result<Self, SqlError> {
        let schema = table.table_schema();
        let columns: Vec<_> = (0..schema.key.len()).map(ColumnRef::Key).collect();
        let keys = KeyEncoder::try_new(schema, &columns).map_err(|error| typed(error).error)?;
        let families = table.descriptor.families.iter().map(|family| family.name.clone()).collect();
        Ok(Self { table, keys, families })
    }

    fn mark(&mut self, batch: &RecordBatch, out: &mut WriteBatch) -> Result<(), SqlError> {
        let mut keys = vec![];
        self.keys
            .encode(batch, |_, key| {
                keys.push(key.to_vec());
                Ok::<_, basalt_hfile::typed::TypedError>(())
            })
            .map_err(|error| typed(error).error)?;
        for key in keys {
            self.mark_row(&key, out).map_err(|error| SqlError::internal(error.to_string()))?;
        }
        Ok(())
    }

    fn mark_row(
        &self,
        key: &[u8],
        out: &mut WriteBatch,
    ) -> Result<(), basalt_model::mutation::MutationError> {
        let mut row = out.row(self.table.id, key)?;
        for family in &self.families {
            row.delete(family.as_bytes(), b"", LATEST_TIMESTAMP, CellType::DeleteFamily)?;
        }
        row.finish();
        Ok(())
    }
}
