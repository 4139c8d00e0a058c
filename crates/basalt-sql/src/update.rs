// SPDX-License-Identifier: Apache-2.0
//! UPDATE: an UPSERT of the rows that its condition selects, with their keys and the new values. The rows are read in
//! the statement's snapshot and written as one atomic batch.

use std::sync::Arc;

use basalt_model::TableSchema;
use basalt_model::schema::ColumnRef;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;

use crate::delete;
use crate::dialect::{self, Name, Target, Update};
use crate::error::{SqlError, code};
use crate::ingest::{RowAssembler, RowWriter, find_column};
use crate::plan::Planning;
use crate::returning::{Changed, Returning};
use crate::scan::BasaltTable;
use crate::upsert;

/// Runs the statement.
pub(crate) async fn update(planning: &Planning, mut statement: Update) -> Result<Changed, SqlError> {
    let table = planning.table(&statement.table.table())?;
    let returning = std::mem::take(&mut statement.returning);
    let returning = Returning::try_new(planning, &statement.table, &table, returning)?;
    let (plan, columns) = plan(planning, statement)?;
    let assembler = RowAssembler::try_new(table.id, Arc::clone(&table.descriptor), columns, vec![], false)?;
    let writer = RowWriter::of(planning, table.id);
    upsert::upsert_query(planning, &plan, assembler, writer, returning).await
}

/// The query that finds the rows and computes their values, and the columns that it gives.
pub(crate) fn plan(
    planning: &Planning,
    statement: Update,
) -> Result<(LogicalPlan, Vec<ColumnRef>), SqlError> {
    let table = planning.table(&statement.table.table())?;
    let Targets { columns, values, kept } =
        targets(planning, &table, &statement.table, statement.assignments)?;
    let schema = table.table_schema();
    let query = delete::row_query(schema, &statement.table, values, &kept, statement.filter, vec![], None)?;
    Ok((planning.query(query)?, [columns, kept].concat()))
}

/// True for the word DEFAULT.
fn is_default(expr: &SqlExpr) -> bool {
    matches!(expr, SqlExpr::Identifier(word) if word.quote_style.is_none() && word.value == "DEFAULT")
}

/// What a column gets that nobody gives a value.
fn default_of(schema: &TableSchema, column: ColumnRef) -> Result<SqlExpr, SqlError> {
    dialect::parse_condition(schema.default_sql(column).unwrap_or("NULL"))
}

/// What assignments change.
pub(crate) struct Targets {
    /// The key, then the columns that get new values.
    pub(crate) columns: Vec<ColumnRef>,
    /// The new values.
    pub(crate) values: Vec<SqlExpr>,
    /// Columns that every write must name; they keep their values.
    pub(crate) kept: Vec<ColumnRef>,
}

/// Looks the columns of assignments up.
pub(crate) fn targets(
    planning: &Planning,
    table: &BasaltTable,
    target: &Target,
    assignments: Vec<(Name, SqlExpr)>,
) -> Result<Targets, SqlError> {
    let fixed = table.fixed_columns()?;
    let schema = table.table_schema();
    let mut columns: Vec<ColumnRef> = (0..schema.key.len()).map(ColumnRef::Key).collect();
    let mut values = vec![];
    for (name, expr) in assignments {
        let position = planning.tokens().find(&name.name);
        // What stands before the dot is a family, or the table.
        let families = &table.descriptor.families;
        let is_family =
            |part: &&str| *part != target.called() || families.iter().any(|family| family.name == *part);
        let family = name.schema.as_deref().filter(is_family);
        let column = find_column(schema, family, &name.name).map_err(|error| error.at(position))?;
        if matches!(column, ColumnRef::Key(_)) {
            let message = format!(
                "column {name} is in the primary key; write the row with UPSERT and delete the old one"
            );
            return Err(SqlError::coded(code::KEY_UPDATED, message).at(position));
        }
        if columns.contains(&column) {
            return Err(SqlError::statement(format!("column {name} is set twice")).at(position));
        }
        if let Some((name, value)) = fixed.iter().find(|(fixed, _)| fixed.name == name.name) {
            return Err(upsert::fixed(name, value).at(position));
        }
        columns.push(column);
        values.push(if is_default(&expr) { default_of(schema, column)? } else { expr });
    }
    let kept = schema.declared_order().iter().filter(|&&column| !schema.nullable(column));
    let kept = kept.copied().filter(|column| !columns.contains(column)).collect();
    Ok(Targets { columns, values, kept })
}
