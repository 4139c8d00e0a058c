// SPDX-License-Identifier: Apache-2.0
//! Columns as declared, with the value of their DEFAULT.

use basalt_model::TableDescriptor;
use basalt_model::schema::{ColumnDefinition, SchemaError};

use crate::catalog::{self, Relation};
use crate::constant;
use crate::dialect::{self, ColumnDef};
use crate::error::{SqlError, code};
use crate::plan::Planning;

/// A declared column, its DEFAULT computed.
pub(super) fn column(planning: &Planning, column: &ColumnDef) -> Result<ColumnDefinition, SqlError> {
    let mut definition = plain(column);
    if let Some(default) = &column.default {
        let within = |error: SqlError| error.within(format!("DEFAULT of column {}", column.name));
        let value = constant::evaluate(planning, default.clone()).map_err(within)?;
        let bytes = constant::encode(&value, column.sql_type).map_err(within)?;
        // NULL is what a missing cell stands for anyway.
        if !bytes.is_empty() {
            definition.default_sql = Some(dialect::printable(default).to_string());
            definition.default_value = Some(bytes);
        }
    }
    Ok(definition)
}

fn plain(column: &ColumnDef) -> ColumnDefinition {
    ColumnDefinition {
        family: column.name.schema.clone(),
        not_null: column.nullable == Some(false),
        ..ColumnDefinition::new(column.name.name.clone(), column.sql_type)
    }
}

/// A relation with dynamic columns, whose cells lie under their names in families that are there.
pub(crate) fn with_dynamic(mut relation: Relation, columns: &[ColumnDef]) -> Result<Relation, SqlError> {
    if columns.is_empty() {
        return Ok(relation);
    }
    let mut descriptor = TableDescriptor::clone(&relation.descriptor);
    let own = catalog::default_family(&descriptor).to_owned();
    let Some(schema) = &mut descriptor.schema else { return Err(catalog::without_columns(&descriptor.name)) };
    let has = |family: &str| descriptor.families.iter().any(|known| known.name == family);
    let default_family = if has(&own) { own } else { schema.empty_family.clone() };
    for column in columns {
        if let Some(family) = &column.name.schema
            && !has(family)
        {
            let message = format!("{family} is no column family of table {}", relation.descriptor.name);
            return Err(SqlError::coded(code::FAMILY_NOT_FOUND, message));
        }
        schema.push_dynamic(plain(column), &default_family).map_err(|error| schema_error(&error))?;
    }
    relation.descriptor = descriptor.into();
    Ok(relation)
}

/// An impossible schema with Phoenix's code.
pub(super) fn schema_error(error: &SchemaError) -> SqlError {
    match error.phoenix_code().and_then(code::by_number) {
        Some(code) => SqlError::coded(code, error.to_string()),
        None => SqlError::statement(error.to_string()),
    }
}
