// SPDX-License-Identifier: Apache-2.0
//! `CREATE TABLE t (PRIMARY KEY (a, b)) AS SELECT ..`: columns are those of the query. The rows become visible together; after
//! an error, or if the statement is cancelled, there is no table. (A crash in between may leave an empty one.)

use std::sync::Arc;

use basalt_hfile::typed::{TYPE_METADATA, arrow_type};
use basalt_model::{SqlType, TableName};
use basalt_store::Database;
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::Query;

use super::{create_table, exists};
use crate::catalog;
use crate::dialect::{self, ColumnDef, CreateTable, Name};
use crate::error::{SqlError, code, readable_type};
use crate::ingest::{RowAssembler, RowWriter};
use crate::plan::{Planning, Titles, shown_schema};
use crate::upsert::upsert_query;

/// Creates the table and fills it; returns the number of rows.
pub(crate) async fn create_from_query(
    planning: &Planning,
    mut statement: CreateTable,
    query: Query,
    warnings: &mut Vec<String>,
) -> Result<u64, SqlError> {
    let database = planning.engine.database();
    let name = statement.name.table();
    if catalog::find(database, &name).is_ok() || database.table(&name).is_ok() {
        return if statement.if_not_exists { Ok(0) } else { Err(exists(&statement.name)) };
    }
    if !statement.columns.is_empty() {
        return Err(SqlError::statement(
            "the columns of CREATE TABLE .. AS are those of the query; only PRIMARY KEY (..) stands in the parentheses",
        ));
    }
    let Some(key) = &statement.primary_key else {
        let message = "a table needs a primary key: CREATE TABLE t (PRIMARY KEY (a, b)) AS SELECT ..";
        return Err(SqlError::coded(code::PRIMARY_KEY_MISSING, message));
    };
    let titles = Titles::of(&query);
    let plan = planning.query(query)?;
    let schema = titles.put_on(&shown_schema(plan.schema().inner()));
    let in_key = |name: &str| key.iter().any(|(part, _)| part == name);
    let columns = schema.fields().iter().enumerate();
    statement.columns =
        columns.map(|(at, field)| column(at, field, in_key(field.name()))).collect::<Result<_, _>>()?;
    create_table(planning, &statement, warnings)?;
    let mut unfinished = Unfinished { database, table: Some(&name) };
    let rows = fill(planning, &plan, &name).await?;
    unfinished.table = None;
    Ok(rows)
}

/// Drops the table unless it was filled.
struct Unfinished<'a> {
    database: &'a Database,
    table: Option<&'a TableName>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(table) = self.table {
            // The error that led here is the one to tell.
            let _ = self.database.drop_table(table);
        }
    }
}

async fn fill(planning: &Planning, plan: &LogicalPlan, name: &TableName) -> Result<u64, SqlError> {
    let table = planning.table(name)?;
    let columns = table.table_schema().declared_order().to_vec();
    let assembler = RowAssembler::try_new(table.id, Arc::clone(&table.descriptor), columns, vec![], false)?;
    let writer = RowWriter::new(planning.engine.clone(), table.id, Arc::clone(&planning.progress));
    Ok(upsert_query(planning, plan, assembler, writer, None).await?.rows)
}

fn column(at: usize, field: &Field, in_key: bool) -> Result<ColumnDef, SqlError> {
    let name = field.name();
    if !name.chars().all(|letter| letter.is_alphanumeric() || letter == '_') || name.is_empty() {
        let message = format!("column {} of the query, {name}, needs a name: write {name} AS x", at + 1);
        return Err(SqlError::statement(message));
    }
    let Some(sql_type) = sql_type(field) else {
        let found = readable_type(field.data_type());
        return Err(SqlError::coded(
            code::TYPE_MISMATCH,
            format!("column {name} of the query is of type {found}, which no table has; CAST it to another"),
        ));
    };
    let name = Name { schema: None, name: name.clone() };
    let fixed = !matches!(sql_type, SqlType::Varchar(_) | SqlType::Decimal(_));
    let nullable = (in_key && fixed).then_some(false);
    Ok(ColumnDef { name, sql_type, nullable, primary_key: None, row_timestamp: false, default: None })
}

/// The type that a column was declared with, as long as the query has not made another of it; else the one that holds its values.
pub(crate) fn sql_type(field: &Field) -> Option<SqlType> {
    let declared = field.metadata().get(TYPE_METADATA).and_then(|text| dialect::sql_type(text));
    declared
        .filter(|declared| arrow_type(*declared) == *field.data_type())
        .or_else(|| of_arrow(field.data_type()))
}

fn of_arrow(data_type: &DataType) -> Option<SqlType> {
    Some(match data_type {
        DataType::Boolean => SqlType::Boolean,
        DataType::Int8 => SqlType::TinyInt,
        DataType::Int16 | DataType::UInt8 => SqlType::SmallInt,
        DataType::Int32 | DataType::UInt16 => SqlType::Integer,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => SqlType::BigInt,
        DataType::Float32 => SqlType::Float,
        DataType::Float64 => SqlType::Double,
        DataType::Decimal256(..) => SqlType::Decimal(None),
        DataType::Decimal128(precision, scale) if *scale >= 0 => SqlType::Decimal(Some((*precision, *scale))),
        DataType::Timestamp(TimeUnit::Millisecond | TimeUnit::Second, _) | DataType::Date32 => SqlType::Date,
        DataType::Timestamp(..) => SqlType::Timestamp,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => SqlType::Varchar(None),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => SqlType::Varbinary(None),
        DataType::List(element) => SqlType::Array(of_arrow(element.data_type())?.as_element()?),
        _ => return None,
    })
}
