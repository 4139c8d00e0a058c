// SPDX-License-Identifier: Apache-2.0
//! CREATE TABLE and DROP TABLE.

mod options;

use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition, SchemaError};
use basalt_model::{FamilyDescriptor, SortOrder, TableDescriptor, TableSchema};
use basalt_store::Database;

use crate::catalog;
use crate::dialect::{ColumnDef, CreateTable, Name};
use crate::error::{SqlError, code};
use options::TableOptions;

/// Creates the table; `false` if it was there and IF NOT EXISTS was written. Options that are kept without
/// effect are named in `warnings`.
pub(crate) fn create_table(
    database: &Database,
    statement: &CreateTable,
    warnings: &mut Vec<String>,
) -> Result<bool, SqlError> {
    let name = statement.name.table();
    if database.table(&name).is_ok() {
        return if statement.if_not_exists { Ok(false) } else { Err(exists(&statement.name)) };
    }
    let descriptor = describe(statement, warnings)?;
    match database.create_table(descriptor) {
        Ok(_) => Ok(true),
        Err(basalt_store::Error::TableExists { .. }) if statement.if_not_exists => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Drops the table; `false` if it was not there and IF EXISTS was written.
pub(crate) fn drop_table(database: &Database, name: &Name, if_exists: bool) -> Result<bool, SqlError> {
    match catalog::find(database, &name.table()) {
        Ok(_) => {}
        Err(error) if if_exists && error.code() == Some(code::TABLE_NOT_FOUND) => return Ok(false),
        Err(error) => return Err(error),
    }
    database.drop_table(&name.table())?;
    Ok(true)
}

fn exists(name: &Name) -> SqlError {
    SqlError::coded(code::TABLE_EXISTS, format!("table {name} exists already"))
}

fn describe(statement: &CreateTable, warnings: &mut Vec<String>) -> Result<TableDescriptor, SqlError> {
    let mut options = TableOptions::read(&statement.options, warnings)?;
    if statement.split {
        warnings.push("SPLIT ON has no effect; tables are split as they grow".to_owned());
    }
    if statement.immutable {
        options.attributes.insert("IMMUTABLE_ROWS".to_owned(), "true".to_owned());
        warnings.push(
            "IMMUTABLE has no effect; rows can be changed and are stored one cell per column".to_owned(),
        );
    }
    let schema = schema(statement, &options)?;
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
    })
}

fn schema(statement: &CreateTable, options: &TableOptions) -> Result<TableSchema, SqlError> {
    let columns = statement.columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let definition = SchemaDefinition {
        default_family: options.default_family.clone(),
        qualifier_bytes: options.qualifier_bytes,
        ..SchemaDefinition::new(columns, key(statement)?)
    };
    TableSchema::try_new(definition).map_err(|error| schema_error(&error))
}

fn schema_error(error: &SchemaError) -> SqlError {
    match error.phoenix_code().and_then(code::by_number) {
        Some(code) => SqlError::coded(code, error.to_string()),
        None => SqlError::statement(error.to_string()),
    }
}

fn column(column: &ColumnDef) -> Result<ColumnDefinition, SqlError> {
    if column.default.is_some() {
        return Err(SqlError::statement(format!("column {}: DEFAULT is not supported yet", column.name)));
    }
    let not_null = column.nullable == Some(false);
    Ok(ColumnDefinition {
        family: column.name.schema.clone(),
        not_null,
        ..ColumnDefinition::new(column.name.name.clone(), column.sql_type)
    })
}

fn key(statement: &CreateTable) -> Result<Vec<KeyPart>, SqlError> {
    let inline: Vec<_> = statement
        .columns
        .iter()
        .filter_map(|column| Some((&column.name.name, column.primary_key?)))
        .collect();
    let part = |name: &String, order: SortOrder| KeyPart { name: name.clone(), order };
    match (&statement.primary_key, inline.as_slice()) {
        (Some(key), []) => Ok(key.iter().map(|(name, order)| part(name, *order)).collect()),
        (None, [(name, order)]) => Ok(vec![part(name, *order)]),
        (None, []) => Err(SqlError::coded(code::PRIMARY_KEY_MISSING, "a table needs a primary key")),
        _ => Err(SqlError::statement(
            "the table has more than one PRIMARY KEY; use one CONSTRAINT with all key columns",
        )),
    }
}
