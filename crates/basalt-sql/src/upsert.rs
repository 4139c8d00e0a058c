// SPDX-License-Identifier: Apache-2.0
//! UPSERT: rows of VALUES, which go past the planner, and rows of a query, which are streamed.
//!
//! A statement is atomic. A query reads the snapshot of the statement, so `UPSERT INTO t SELECT .. FROM t` never
//! sees its own rows.

mod duplicate;
mod values;

use std::sync::Arc;

use basalt_model::schema::ColumnRef;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;
use futures::StreamExt;

use crate::dialect::{ColumnDef, Name, Target, Upsert, UpsertColumn, UpsertSource, place_of};
use crate::error::{Position, SqlError, code};
use crate::ingest::{RowAssembler, RowWriter, fill, find_column};
use crate::plan::Planning;
use crate::returning::{Changed, Returning};
use crate::scan::BasaltTable;
use duplicate::Duplicates;

/// Runs the statement.
pub(crate) async fn upsert(planning: &Planning, statement: Upsert) -> Result<Changed, SqlError> {
    let table = open(planning, &statement.table, statement.columns.as_deref())?;
    table.fixed_columns()?;
    let returning = returning(planning, &statement, &table)?;
    match statement.source {
        UpsertSource::Values(rows) => {
            let width = rows.first().map_or(0, Vec::len);
            let place = place_of_last(rows.first());
            let columns = target(planning, &table, statement.columns.as_deref(), width, place)?;
            let duplicates = Duplicates::of(statement.on_duplicate.as_ref(), returning);
            values::upsert_values(planning, &table, columns, rows, duplicates)
        }
        UpsertSource::Query(query) => {
            let plan = planning.query(*query)?;
            let width = plan.schema().fields().len();
            let columns = target(planning, &table, statement.columns.as_deref(), width, None)?;
            refuse_fixed(&table, &columns)?;
            let constants = fill(planning, &table, &columns)?;
            let descriptor = Arc::clone(&table.descriptor);
            let assembler = RowAssembler::try_new(table.id, descriptor, columns, constants, false)?;
            let writer = RowWriter::of(planning, table.id);
            upsert_query(planning, &plan, assembler, writer, returning).await
        }
    }
}

fn returning(
    planning: &Planning,
    statement: &Upsert,
    table: &Arc<BasaltTable>,
) -> Result<Option<Returning>, SqlError> {
    let dynamic = statement.columns.iter().flatten().find(|column| column.dynamic.is_some());
    match dynamic {
        Some(column) if !statement.returning.is_empty() => Err(SqlError::statement(format!(
            "RETURNING knows the columns that the table declares, and {} is a dynamic one; read it with a SELECT",
            column.name
        ))),
        _ => {
            let target = Target { name: statement.table.clone(), alias: None };
            Returning::try_new(planning, &target, table, statement.returning.clone())
        }
    }
}

/// The table, with the dynamic columns of the statement.
pub(crate) fn open(
    planning: &Planning,
    name: &Name,
    listed: Option<&[UpsertColumn]>,
) -> Result<Arc<BasaltTable>, SqlError> {
    let dynamic = listed.into_iter().flatten().filter_map(|column| {
        let sql_type = column.dynamic?;
        Some(ColumnDef {
            name: column.name.clone(),
            sql_type,
            nullable: None,
            primary_key: None,
            row_timestamp: false,
            default: None,
        })
    });
    planning.extended(&name.table(), &dynamic.collect::<Vec<_>>())
}

/// The plan of an UPSERT SELECT, for EXPLAIN.
pub(crate) fn plan(planning: &Planning, statement: &Upsert) -> Result<Option<LogicalPlan>, SqlError> {
    let table = open(planning, &statement.table, statement.columns.as_deref())?;
    let (width, place, plan) = match &statement.source {
        UpsertSource::Values(rows) => (rows.first().map_or(0, Vec::len), place_of_last(rows.first()), None),
        UpsertSource::Query(query) => {
            let plan = planning.query(query.as_ref().clone())?;
            (plan.schema().fields().len(), None, Some(plan))
        }
    };
    target(planning, &table, statement.columns.as_deref(), width, place)?;
    Ok(plan)
}

/// A query could give any value to a column that a view fixes.
pub(crate) fn refuse_fixed(table: &BasaltTable, columns: &[ColumnRef]) -> Result<(), SqlError> {
    let schema = table.table_schema();
    for (name, value) in table.fixed_columns()? {
        let column = find_column(schema, name.schema.as_deref(), &name.name)?;
        if columns.contains(&column) {
            return Err(fixed(name, value));
        }
    }
    Ok(())
}

/// All columns in declared order but those that a view fixes.
pub(crate) fn free_columns(table: &BasaltTable) -> Result<Vec<ColumnRef>, SqlError> {
    let schema = table.table_schema();
    let mut columns = schema.declared_order().to_vec();
    for (name, _) in table.fixed_columns()? {
        let fixed = find_column(schema, name.schema.as_deref(), &name.name)?;
        columns.retain(|column| *column != fixed);
    }
    Ok(columns)
}

/// The error of another value for a column that a view fixes.
pub(crate) fn fixed(name: &Name, value: &SqlExpr) -> SqlError {
    SqlError::coded(
        code::VIEW_COLUMN,
        format!("column {name} is {value} in all rows of the view; leave it away"),
    )
}

/// Writes the rows of a plan.
pub(crate) async fn upsert_query(
    planning: &Planning,
    plan: &LogicalPlan,
    mut assembler: RowAssembler,
    mut writer: RowWriter,
    returning: Option<Returning>,
) -> Result<Changed, SqlError> {
    let physical = planning.physical(plan).await?;
    let mut stream = planning.start(physical)?;
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(|error| planning.error(error))?;
        writer
            .add(&mut assembler, batch.columns(), batch.num_rows())
            .map_err(|refusal| refusal.into_error(rows, false))?;
        rows += batch.num_rows() as u64;
        if let Some(returning) = &returning {
            returning.waiting(&writer)?;
        }
        // A plan of one partition is always ready; without this a cancelled statement would run to its end.
        tokio::task::yield_now().await;
    }
    Changed::all_of(planning, writer, returning.as_ref()).await
}

/// Where the last value of a row stands.
pub(crate) fn place_of_last(row: Option<&Vec<SqlExpr>>) -> Option<Position> {
    place_of(row?.last()?)
}

/// The columns that are written. Without a list that is the first `width` in declared order, which may be fewer
/// than the columns, as in Phoenix. Another number of values is an error at `place`.
pub(crate) fn target(
    planning: &Planning,
    table: &BasaltTable,
    listed: Option<&[UpsertColumn]>,
    width: usize,
    place: Option<Position>,
) -> Result<Vec<ColumnRef>, SqlError> {
    let schema = table.table_schema();
    let Some(listed) = listed else {
        let declared = schema.declared_order();
        if width > declared.len() {
            return Err(width_error(declared.len(), width).at(place));
        }
        return Ok(declared[..width].to_vec());
    };
    let mut columns = Vec::with_capacity(listed.len());
    for UpsertColumn { name, .. } in listed {
        let position = planning.tokens().find(&name.name);
        let column =
            find_column(schema, name.schema.as_deref(), &name.name).map_err(|error| error.at(position))?;
        if columns.contains(&column) {
            return Err(SqlError::statement(format!("column {name} is listed twice")).at(position));
        }
        columns.push(column);
    }
    if width != columns.len() {
        return Err(width_error(columns.len(), width).at(place));
    }
    Ok(columns)
}

fn width_error(columns: usize, values: usize) -> SqlError {
    SqlError::coded(code::VALUE_COUNT, format!("there are {columns} columns but {values} values"))
}
