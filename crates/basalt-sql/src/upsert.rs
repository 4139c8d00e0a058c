// SPDX-License-Identifier: Apache-2.0
//! UPSERT: rows of VALUES, which go past the planner, and rows of a query, which are streamed.
//!
//! A statement is atomic. A query reads the snapshot of the statement, so `UPSERT INTO t SELECT .. FROM t` never
//! sees its own rows.

mod values;

use basalt_model::TableSchema;
use basalt_model::schema::ColumnRef;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;

use crate::dialect::{Name, Upsert, UpsertSource};
use crate::error::{SqlError, code};
use crate::ingest::{RowAssembler, RowWriter, find_column};
use crate::plan::Planning;
use std::sync::Arc;

/// Runs the statement; returns the number of rows.
pub(crate) async fn upsert(planning: &Planning, statement: Upsert) -> Result<u64, SqlError> {
    let table = planning.table(&statement.table.table())?;
    let schema = table.table_schema();
    match statement.source {
        UpsertSource::Values(rows) => {
            let width = rows.first().map_or(0, Vec::len);
            let columns = target(planning, schema, statement.columns.as_deref(), width, true)?;
            values::upsert_values(planning, &table, columns, rows)
        }
        UpsertSource::Query(query) => {
            let plan = planning.query(*query)?;
            let columns =
                target(planning, schema, statement.columns.as_deref(), plan.schema().fields().len(), false)?;
            let assembler = RowAssembler::try_new(table.id, Arc::clone(&table.descriptor), columns, false)?;
            let writer =
                RowWriter::new(planning.engine.database().clone(), table.id, Arc::clone(&planning.progress));
            upsert_query(planning, &plan, assembler, writer).await
        }
    }
}

/// The plan of an UPSERT SELECT, for EXPLAIN.
pub(crate) fn plan(planning: &Planning, statement: &Upsert) -> Result<Option<LogicalPlan>, SqlError> {
    let table = planning.table(&statement.table.table())?;
    match &statement.source {
        UpsertSource::Values(rows) => {
            let width = rows.first().map_or(0, Vec::len);
            target(planning, table.table_schema(), statement.columns.as_deref(), width, true)?;
            Ok(None)
        }
        UpsertSource::Query(query) => {
            let plan = planning.query(query.as_ref().clone())?;
            target(
                planning,
                table.table_schema(),
                statement.columns.as_deref(),
                plan.schema().fields().len(),
                false,
            )?;
            Ok(Some(plan))
        }
    }
}

async fn upsert_query(
    planning: &Planning,
    plan: &LogicalPlan,
    mut assembler: RowAssembler,
    mut writer: RowWriter,
) -> Result<u64, SqlError> {
    let physical = planning.physical(plan).await?;
    let mut stream =
        execute_stream(physical, planning.state.task_ctx()).map_err(|error| planning.error(error))?;
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(|error| planning.error(error))?;
        assembler
            .add(batch.columns(), batch.num_rows(), writer.batch())
            .map_err(|refusal| refusal.into_error(rows, false))?;
        rows += batch.num_rows() as u64;
        writer.added(batch.num_rows() as u64)?;
        // A plan of one partition is always ready; without this a cancelled statement would run to its end.
        tokio::task::yield_now().await;
    }
    writer.finish()
}

/// The columns that are written. Without a list that is the first `width` in declared order: VALUES may be fewer
/// than the columns, as in Phoenix.
fn target(
    planning: &Planning,
    schema: &TableSchema,
    listed: Option<&[Name]>,
    width: usize,
    fewer: bool,
) -> Result<Vec<ColumnRef>, SqlError> {
    let Some(listed) = listed else {
        let declared = schema.declared_order();
        if width > declared.len() || (width < declared.len() && !fewer) {
            return Err(width_error(declared.len(), width));
        }
        return Ok(declared[..width].to_vec());
    };
    let mut columns = Vec::with_capacity(listed.len());
    for name in listed {
        let position = planning.tokens().find(&name.name);
        let column =
            find_column(schema, name.schema.as_deref(), &name.name).map_err(|error| error.at(position))?;
        if columns.contains(&column) {
            return Err(SqlError::statement(format!("column {name} is listed twice")).at(position));
        }
        columns.push(column);
    }
    if width != columns.len() {
        return Err(width_error(columns.len(), width));
    }
    Ok(columns)
}

fn width_error(columns: usize, values: usize) -> SqlError {
    SqlError::coded(code::VALUE_COUNT, format!("there are {columns} columns but {values} values"))
}
