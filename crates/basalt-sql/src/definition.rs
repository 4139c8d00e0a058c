// SPDX-License-Identifier: Apache-2.0
//! Statements that define: tables, views, schemas.

mod alter;
mod columns;
mod existing;
mod from_query;
mod options;
mod schema;
mod splits;
mod view;

use basalt_model::schema::define::QUALIFIER_BYTES_DEFAULT;
use basalt_model::schema::{KeyPart, SchemaDefinition};
use basalt_model::{FamilyDescriptor, SortOrder, TableDescriptor, TableSchema};

use crate::catalog::{self, View};
use crate::dialect::{ColumnDef, CreateTable, Name};
use crate::error::{SqlError, code};
use crate::plan::Planning;
pub(crate) use alter::alter;
pub(crate) use columns::with_dynamic;
use columns::{column, schema_error};
pub(crate) use from_query::{create_from_query, sql_type as type_of_field};
pub(crate) use options::TableOptions;
pub(crate) use schema::{check_schema, create_schema, drop_schema};
pub(crate) use splits::index_rows as index_splits;
pub(crate) use view::{create_view, drop_view};

/// Creates the table; `false` if it was there and IF NOT EXISTS was written. Options that are kept without
/// effect are named in `warnings`.
pub(crate) fn create_table(
    planning: &Planning,
    statement: &CreateTable,
    warnings: &mut Vec<String>,
) -> Result<bool, SqlError> {
    let database = planning.engine.database();
    let name = statement.name.table();
    match database.table(&name) {
        Ok((id, table)) if table.schema.is_none() && View::of(&table, &name)?.is_none() => {
            existing::adopt(planning, id, &table, statement, warnings)?;
            return Ok(true);
        }
        _ => {}
    }
    if catalog::find(database, &name).is_ok() || database.table(&name).is_ok() {
        return if statement.if_not_exists { Ok(false) } else { Err(exists(&statement.name)) };
    }
    let descriptor = describe(planning, statement, warnings)?;
    let splits = match &descriptor.schema {
        Some(schema) => splits::rows(planning, schema, &statement.splits)?,
        None => vec![],
    };
    match database.create_table_split(descriptor, &splits) {
        Ok(_) => Ok(true),
        Err(basalt_store::Error::TableExists { .. }) if statement.if_not_exists => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Drops the table, with its views if `cascade`; `false` if it was not there and IF EXISTS was written.
pub(crate) fn drop_table(
    planning: &Planning,
    name: &Name,
    if_exists: bool,
    cascade: bool,
) -> Result<bool, SqlError> {
    let database = planning.engine.database();
    let indexes = match catalog::find_table(database, &name.table()) {
        Ok((id, table)) => {
            refuse_views(&View::all(&table)?, name, cascade)?;
            database.indexes(id)
        }
        Err(error) if if_exists && error.code() == Some(code::TABLE_NOT_FOUND) => return Ok(false),
        Err(error) => return Err(error),
    };
    database.drop_table(&name.table())?;
    indexes.iter().for_each(|(_, index)| database.forget_index(&index.name));
    Ok(true)
}

/// Removes all rows of a table.
pub(crate) fn truncate(planning: &Planning, name: &Name, keep_regions: bool) -> Result<(), SqlError> {
    let database = planning.engine.database();
    catalog::find_table(database, &name.table())?;
    database.truncate_table(&name.table(), keep_regions)?;
    Ok(())
}

fn refuse_views(views: &[View], name: &Name, cascade: bool) -> Result<(), SqlError> {
    match views.first() {
        Some(view) if !cascade => Err(SqlError::coded(
            code::HAS_VIEWS,
            format!("{name} has views, {} among them; CASCADE drops them too", view.name),
        )),
        _ => Ok(()),
    }
}

fn exists(name: &Name) -> SqlError {
    SqlError::coded(code::TABLE_EXISTS, format!("table {name} exists already"))
}

fn describe(
    planning: &Planning,
    statement: &CreateTable,
    warnings: &mut Vec<String>,
) -> Result<TableDescriptor, SqlError> {
    let mut options = TableOptions::read(&statement.options, warnings)?;
    if statement.immutable {
        options.attributes.insert("IMMUTABLE_ROWS".to_owned(), "true".to_owned());
        warnings.push(
            "IMMUTABLE has no effect; rows can be changed and are stored one cell per column".to_owned(),
        );
    }
    let encoding = options.qualifier_bytes.unwrap_or(QUALIFIER_BYTES_DEFAULT);
    let schema = table_schema(planning, &statement.columns, &statement.primary_key, &options, encoding)?;
    let families: Vec<FamilyDescriptor> =
        schema.families().into_iter().map(|family| options.family(family)).collect();
    if let Some(family) = options.unknown_family(&schema.families()) {
        return Err(SqlError::statement(format!(
            "an option is given for column family {family}, which has no column"
        )));
    }
    Ok(TableDescriptor {
        name: statement.name.table(),
        families,
        schema: Some(schema),
        attributes: options.attributes,
        index: None,
    })
}

fn table_schema(
    planning: &Planning,
    columns: &[ColumnDef],
    primary_key: &Option<Vec<(String, SortOrder)>>,
    options: &TableOptions,
    qualifier_bytes: u8,
) -> Result<TableSchema, SqlError> {
    let definitions = columns.iter().map(|definition| column(planning, definition));
    let definition = SchemaDefinition {
        default_family: options.default_family.clone(),
        qualifier_bytes,
        row_timestamp: row_timestamps(columns).map(|column| column.name.name.clone()).collect(),
        ..SchemaDefinition::new(definitions.collect::<Result<Vec<_>, _>>()?, key(columns, primary_key)?)
    };
    TableSchema::try_new(definition).map_err(|error| schema_error(&error))
}

/// The columns declared ROW_TIMESTAMP.
fn row_timestamps(columns: &[ColumnDef]) -> impl Iterator<Item = &ColumnDef> {
    columns.iter().filter(|column| column.row_timestamp)
}

fn key(
    columns: &[ColumnDef],
    primary_key: &Option<Vec<(String, SortOrder)>>,
) -> Result<Vec<KeyPart>, SqlError> {
    let inline: Vec<_> =
        columns.iter().filter_map(|column| Some((&column.name.name, column.primary_key?))).collect();
    let part = |name: &String, order: SortOrder| KeyPart { name: name.clone(), order };
    match (primary_key, inline.as_slice()) {
        (Some(key), []) => Ok(key.iter().map(|(name, order)| part(name, *order)).collect()),
        (None, [(name, order)]) => Ok(vec![part(name, *order)]),
        (None, []) => Err(SqlError::coded(code::PRIMARY_KEY_MISSING, "a table needs a primary key")),
        _ => Err(SqlError::coded(
            code::PRIMARY_KEY_TWICE,
            "the table has more than one PRIMARY KEY; use one CONSTRAINT with all key columns",
        )),
    }
}
