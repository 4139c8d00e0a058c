// SPDX-License-Identifier: Apache-2.0
//! The database's tables and views as SQL names them, and the statements that list them.

mod create;
pub(crate) mod view;

use std::sync::Arc;

use basalt_model::schema::ColumnRef;
use basalt_model::schema::define::DEFAULT_FAMILY;
use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_model::{SortOrder, TableDescriptor, TableId, TableName};
use basalt_store::Database;
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::cast::as_string_array;

use crate::error::{SqlError, code, nearest};
pub(crate) use create::show_create;
pub(crate) use view::{View, ViewRules};

/// The option that names the family of columns that name none.
pub(crate) const DEFAULT_FAMILY_OPTION: &str = "DEFAULT_COLUMN_FAMILY";

/// What a name stands for: a table or a view.
#[derive(Debug, Clone)]
pub(crate) struct Relation {
    /// The table that has the rows.
    pub(crate) id: TableId,
    /// That table, with the columns of the relation.
    pub(crate) descriptor: Arc<TableDescriptor>,
    /// Name and rules of a view.
    pub(crate) view: Option<(TableName, Arc<ViewRules>)>,
}

/// The table or view, or an error with the nearest name.
pub(crate) fn find(database: &Database, name: &TableName) -> Result<Relation, SqlError> {
    let table = match database.table(name) {
        Ok(found) => Some(found),
        Err(basalt_store::Error::NoSuchTable { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    if let Some((id, descriptor)) = &table {
        // Over cells that were not written in SQL, a view has the name of their table.
        return match View::of(descriptor, name)? {
            Some(view) => view::relation(*id, descriptor, view),
            None => Ok(Relation { id: *id, descriptor: Arc::clone(descriptor), view: None }),
        };
    }
    match view::find(database, name)? {
        Some((id, descriptor, view)) => view::relation(id, &descriptor, view),
        None => Err(not_found(database, name)),
    }
}

/// The table of this name; a view is none.
pub(crate) fn find_table(
    database: &Database,
    name: &TableName,
) -> Result<(TableId, Arc<TableDescriptor>), SqlError> {
    match database.table(name) {
        Ok((_, descriptor)) if descriptor.index.is_some() => Err(SqlError::coded(
            code::TABLE_NOT_FOUND,
            format!("{name} is an index; DROP INDEX and ALTER INDEX change it"),
        )),
        Ok((id, descriptor)) if View::of(&descriptor, name)?.is_none() => Ok((id, descriptor)),
        Ok(_) | Err(basalt_store::Error::NoSuchTable { .. }) if view::find(database, name)?.is_some() => {
            Err(SqlError::coded(
                code::TABLE_NOT_FOUND,
                format!("{name} is a view; DROP VIEW and ALTER VIEW change it, DELETE its rows"),
            ))
        }
        Ok(_) | Err(basalt_store::Error::NoSuchTable { .. }) => Err(not_found(database, name)),
        Err(error) => Err(error.into()),
    }
}

/// The error for a table of the cell API.
pub(crate) fn without_columns(name: &TableName) -> SqlError {
    SqlError::statement(format!(
        "table {name} was made without SQL and has no columns; CREATE VIEW or CREATE TABLE of the same name gives it some"
    ))
}

/// The family of columns that name none.
pub(crate) fn default_family(table: &TableDescriptor) -> &str {
    table.attributes.get(DEFAULT_FAMILY_OPTION).map_or(DEFAULT_FAMILY, String::as_str)
}

/// The error for a name that is no table and no view.
pub(crate) fn not_found(database: &Database, name: &TableName) -> SqlError {
    let known: Vec<_> = names(database).unwrap_or_default().iter().map(TableName::to_string).collect();
    SqlError::coded(code::TABLE_NOT_FOUND, format!("table {name} does not exist"))
        .suggest(nearest(&name.to_string(), known.iter().map(String::as_str)))
}

/// Tables and views, sorted; no indexes.
pub(crate) fn names(database: &Database) -> Result<Vec<TableName>, SqlError> {
    let mut names = vec![];
    for (_, table) in database.tables().into_iter().filter(|(_, table)| table.index.is_none()) {
        names.push(table.name.clone());
        names.extend(View::all(&table)?.into_iter().map(|view| view.name));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// SHOW TABLES: schema and name, sorted, without those of the system unless asked for by schema.
pub(crate) fn show_tables(
    database: &Database,
    schema: Option<&str>,
    like: Option<&str>,
) -> Result<RecordBatch, SqlError> {
    let mut names = names(database)?;
    names.retain(|name| match schema {
        Some(schema) => name.namespace == schema,
        None => name.namespace != "SYSTEM",
    });
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

/// SHOW SCHEMAS: their names, sorted.
pub(crate) fn show_schemas(database: &Database, like: Option<&str>) -> Result<RecordBatch, SqlError> {
    let mut names = database.namespaces();
    names.retain(|name| name != DEFAULT_NAMESPACE);
    names.sort();
    let batch = text_batch(&["TABLE_SCHEM"], vec![StringArray::from(names)])?;
    match like {
        Some(pattern) => keep_like(batch, pattern),
        None => Ok(batch),
    }
}

/// The rows whose last column is like the pattern.
fn keep_like(batch: RecordBatch, pattern: &str) -> Result<RecordBatch, SqlError> {
    use datafusion::arrow::array::Scalar;
    use datafusion::arrow::compute::{filter_record_batch, kernels::comparison::like};
    let translated = |error: datafusion::arrow::error::ArrowError| {
        SqlError::from(datafusion::error::DataFusionError::from(error))
    };
    let pattern = Scalar::new(StringArray::from(vec![pattern]));
    let matching =
        like(as_string_array(batch.column(batch.num_columns() - 1))?, &pattern).map_err(translated)?;
    filter_record_batch(&batch, &matching).map_err(translated)
}

/// DESCRIBE: one row per column in declared order.
pub(crate) fn describe(table: &TableDescriptor) -> Result<RecordBatch, SqlError> {
    let Some(schema) = &table.schema else { return Err(without_columns(&table.name)) };
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
