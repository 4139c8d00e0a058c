// SPDX-License-Identifier: Apache-2.0
//! CREATE SCHEMA, DROP SCHEMA and USE. A schema is a namespace of the store; a table may be created in one that is not
//! there yet.

use basalt_model::TableName;
use basalt_store::{Database, Error};

use super::drop_table;
use crate::dialect::Name;
use crate::error::{SqlError, code, nearest};
use crate::plan::Planning;

/// Creates the schema.
pub(crate) fn create_schema(database: &Database, name: &str, if_not_exists: bool) -> Result<(), SqlError> {
    match database.create_namespace(name) {
        Ok(()) => Ok(()),
        Err(Error::NamespaceExists { .. }) if if_not_exists => Ok(()),
        Err(Error::NamespaceExists { .. }) => {
            Err(SqlError::coded(code::SCHEMA_EXISTS, format!("schema {name} exists already")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Drops the schema, which may hold no tables unless `cascade`; then they go one by one.
pub(crate) fn drop_schema(
    planning: &Planning,
    name: &str,
    if_exists: bool,
    cascade: bool,
) -> Result<(), SqlError> {
    let database = planning.engine.database();
    let is_inside = |table: &TableName| cascade && table.namespace == name;
    for (_, table) in database.tables().into_iter().filter(|(_, table)| is_inside(&table.name)) {
        if table.index.is_none() {
            let table = Name { schema: Some(name.to_owned()), name: table.name.name.clone() };
            drop_table(planning, &table, true, true)?;
        }
    }
    match database.drop_namespace(name) {
        Ok(()) => Ok(()),
        Err(Error::NoSuchNamespace { .. }) if if_exists => Ok(()),
        Err(Error::NoSuchNamespace { .. }) => Err(not_found(database, name)),
        Err(Error::NamespaceNotEmpty { tables, .. }) => Err(SqlError::coded(
            code::SCHEMA_NOT_EMPTY,
            format!("schema {name} has {tables} tables; drop them first, or say CASCADE"),
        )),
        Err(error) => Err(error.into()),
    }
}

/// An error unless the schema is there.
pub(crate) fn check_schema(database: &Database, name: &str) -> Result<(), SqlError> {
    let known = database.namespaces();
    if known.iter().any(|known| known == name) { Ok(()) } else { Err(not_found(database, name)) }
}

fn not_found(database: &Database, name: &str) -> SqlError {
    let known = database.namespaces();
    SqlError::coded(code::SCHEMA_NOT_FOUND, format!("schema {name} does not exist"))
        .suggest(nearest(name, known.iter().map(String::as_str)))
}
