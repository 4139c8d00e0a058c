// SPDX-License-Identifier: Apache-2.0
//! The database's tables as SQL names them, and the statements that list them.

use std::sync::Arc;

use basalt_model::schema::ColumnRef;
use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_model::{SortOrder, TableDescriptor, TableId, TableName};
use basalt_store::Database;
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::cast::as_string_array;

use crate::error::{SqlError, code, nearest};

/// The table, or an error with the nearest name.
pub(crate) fn find(
    database: &Database,
    name: &TableName,
) -> Result<(TableId, Arc<TableDescriptor>), SqlError> {
    match database.table(name) {
        Ok(found) => Ok(found),
        Err(basalt_store::Error::NoSuchTable { .. }) => Err(not_found(database, name)),
        Err(error) => Err(error.into()),
    }
}

fn not_found(database: &Database, name: &TableName) -> SqlError {
    let known: Vec<_> = database.tables().iter().map(|(_, table)| table.name.to_string()).collect();
    SqlError::coded(code::TABLE_NOT_FOUND, format!("table {name} does not exist"))
        .suggest(nearest(&name.to_string(), known.iter().map(String::as_str)))
}

/// SHOW TABLES: schema and name, sorted, without those of the system unless asked for by schema.
pub(crate) fn show_tables(
    database: &Database,
    schema: Option<&str>,
    like: Option<&str>,
) -> Result<RecordBatch, SqlError> {
    let mut names: Vec<_> = database.tables().into_iter().map(|(_, table)| table.name.clone()).collect();
    names.retain(|name| match schema {
        Some(schema) => name.namespace == schema,
        None => name.namespace != "SYSTEM",
    });
    names.sort();
    let schemas =
        names.iter().map(|name| Some(name.namespace.as_str()).filter(|&schema| schema != DEFAULT_NAMESPACE));
    let schemas: StringArray = schemas.collect();
    let tables: StringArray = names.iter().map(|name| Some(name.name.as_str())).collect();
    let batch = text_batch(&["TABLE_SCHEM", "TABLE_NAME"], vec![schemas, tables])?;
    match like {
        Some(pattern) => keep_like(batch, pattern),
        None => Ok(batch),
    }
}

fn keep_like(batch: RecordBatch, pattern: &str) -> Result<RecordBatch, SqlError> {
    use datafusion::arrow::array::Scalar;
    use datafusion::arrow::compute::{filter_record_batch, kernels::comparison::like};
    let translated = |error: datafusion::arrow::error::ArrowError| {
        SqlError::from(datafusion::error::DataFusionError::from(error))
    };
    let pattern = Scalar::new(StringArray::from(vec![pattern]));
    let matching = like(as_string_array(batch.column(1))?, &pattern).map_err(translated)?;
    filter_record_batch(&batch, &matching).map_err(translated)
}

/// DESCRIBE: one row per column in declared order.
pub(crate) fn describe(table: &TableDescriptor) -> Result<RecordBatch, SqlError> {
    let Some(schema) = &table.schema else {
        return Err(SqlError::statement(format!(
            "table {} was made without SQL and has no columns",
            table.name
        )));
    };
    let mut rows: [Vec<Option<String>>; 5] = Default::default();
    for &column in schema.declared_order() {
        let (family, key) = match column {
            ColumnRef::Key(index) => {
                let order = if schema.key[index].order == SortOrder::Desc { " DESC" } else { "" };
                (None, Some(format!("{}{order}", index + 1)))
            }
            ColumnRef::Column(index) => (Some(schema.columns[index].family.clone()), None),
        };
        let nullable = if schema.nullable(column) { "YES" } else { "NO" };
        let values = [
            Some(schema.name(column).to_owned()),
            Some(schema.sql_type(column).to_string()),
            Some(nullable.to_owned()),
            key,
            family,
        ];
        for (rows, value) in rows.iter_mut().zip(values) {
            rows.push(value);
        }
    }
    let columns = rows.into_iter().map(StringArray::from).collect();
    text_batch(&["COLUMN_NAME", "TYPE", "NULLABLE", "KEY", "FAMILY"], columns)
}

/// A batch of text columns.
pub(crate) fn text_batch(names: &[&str], columns: Vec<StringArray>) -> Result<RecordBatch, SqlError> {
    let columns = names.iter().zip(columns).map(|(name, column)| (*name, Arc::new(column) as ArrayRef, true));
    RecordBatch::try_from_iter_with_nullable(columns)
        .map_err(|error| SqlError::internal(format!("the columns of the answer differ in length: {error}")))
}
