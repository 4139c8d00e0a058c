// SPDX-License-Identifier: Apache-2.0
//! How SQL sees a table: columns, their types, the primary key, and where each column's cells lie.
//!
//! The layout of cells is Phoenix's (5.2): a row key is the concatenation of the primary-key columns; every
//! other column is one cell; each row has one *empty cell* in the first family so that a row whose columns
//! are all NULL exists. Qualifiers are numbers counted from 11 per table and written in
//! COLUMN_ENCODED_BYTES bytes (default 2, so the first column is `80 0b`), or the column's name when 0.
//!
//! [`define`] makes a schema of column definitions and refuses the impossible ones.

pub mod define;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use define::{ColumnDefinition, KeyPart, SchemaDefinition, SchemaError};

use crate::types::SqlType;

/// Ascending or descending, as declared for a primary-key column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// Bytes as encoded.
    #[default]
    Asc,
    /// Every byte inverted.
    Desc,
}

/// One primary-key column, in key order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyColumn {
    /// Column name, upper case unless it was quoted.
    pub name: String,
    /// Declared type.
    pub sql_type: SqlType,
    /// ASC or DESC.
    #[serde(default)]
    pub order: SortOrder,
    /// False for NOT NULL; fixed-width columns are never nullable in a key.
    pub nullable: bool,
}

/// One column outside the key: one cell per row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnSchema {
    /// Column name, upper case unless it was quoted.
    pub name: String,
    /// Family in which its cells lie.
    pub family: String,
    /// Qualifier bytes of its cells.
    pub qualifier: Vec<u8>,
    /// Declared type.
    pub sql_type: SqlType,
    /// False for NOT NULL.
    pub nullable: bool,
    /// Source text of the DEFAULT expression.
    #[serde(default)]
    pub default_sql: Option<String>,
    /// What a missing cell of a column with a DEFAULT stands for: the bytes of its value.
    #[serde(default)]
    pub default_value: Option<Vec<u8>>,
}

/// The SQL schema of a table. Column order for `SELECT *` is [`TableSchema::declared_order`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSchema {
    /// Primary-key columns in key order; at least one.
    pub key: Vec<KeyColumn>,
    /// The other columns in declaration order.
    pub columns: Vec<ColumnSchema>,
    /// Positions of all columns in declaration order: `Key(i)` or `Column(i)`.
    pub declared: Vec<ColumnRef>,
    /// Family of the empty cell.
    pub empty_family: String,
    /// Qualifier of the empty cell: `00 00 00 00` for numbered qualifiers, `_0` for named ones; none for cells that
    /// were not written in SQL, where a row is there if it has any cell.
    pub empty_qualifier: Vec<u8>,
    /// Number of the next column to be added (numbers are never used again), counted from 11.
    pub qualifier_next: u32,
    /// COLUMN_ENCODED_BYTES: 0 (names), 1, 2, 3 or 4.
    pub qualifier_bytes: u8,
    /// Source texts of the DEFAULTs of key columns, by column name; filled in when a row is written.
    #[serde(default)]
    pub key_defaults: BTreeMap<String, String>,
    /// Index into `key` of the column declared ROW_TIMESTAMP: its value, in milliseconds since 1970, is the timestamp of all
    /// cells of its row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_timestamp: Option<usize>,
}

/// Value of the empty cell, as Phoenix writes it.
pub const EMPTY_CELL_VALUE: &[u8] = b"x";

/// Which column of a schema: of the key or outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnRef {
    /// Index into [`TableSchema::key`].
    Key(usize),
    /// Index into [`TableSchema::columns`].
    Column(usize),
}

/// A name that stands for no column, or for several.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No column has this name.
    #[error("column {name} does not exist")]
    NotFound {
        /// The name as given, with its family.
        name: String,
    },
    /// Columns of several families have this name.
    #[error("column {name} is ambiguous; write it with its family")]
    Ambiguous {
        /// The name as given.
        name: String,
    },
}

impl LookupError {
    /// Phoenix's error code.
    pub fn phoenix_code(&self) -> u16 {
        match self {
            Self::NotFound { .. } => 504,
            Self::Ambiguous { .. } => 502,
        }
    }
}

impl TableSchema {
    /// All columns in the order in which they were declared; the order of `SELECT *`.
    pub fn declared_order(&self) -> &[ColumnRef] {
        &self.declared
    }

    /// The column of this name; with a family, only that family's.
    pub fn find(&self, family: Option<&str>, name: &str) -> Result<ColumnRef, LookupError> {
        let key = self.key.iter().position(|column| family.is_none() && column.name == name);
        let matches = |column: &&ColumnSchema| {
            column.name == name && family.is_none_or(|family| column.family == family)
        };
        let mut found = self.columns.iter().enumerate().filter(|(_, column)| matches(column));
        let first = found.next().map(|(index, _)| ColumnRef::Column(index));
        let written = || family.map_or_else(|| name.to_owned(), |family| format!("{family}.{name}"));
        match (key.map(ColumnRef::Key), first, found.next()) {
            (Some(_), Some(_), _) | (None, Some(_), Some(_)) => {
                Err(LookupError::Ambiguous { name: written() })
            }
            (Some(column), None, _) | (None, Some(column), None) => Ok(column),
            (None, None, _) => Err(LookupError::NotFound { name: written() }),
        }
    }

    /// Name of a column, without its family.
    pub fn name(&self, column: ColumnRef) -> &str {
        match column {
            ColumnRef::Key(index) => &self.key[index].name,
            ColumnRef::Column(index) => &self.columns[index].name,
        }
    }

    /// Name of a column as a result shows it: with its family if another column has the same name.
    pub fn display_name(&self, column: ColumnRef) -> String {
        let name = self.name(column);
        match column {
            ColumnRef::Column(index) if self.find(None, name).is_err() => {
                format!("{}.{name}", self.columns[index].family)
            }
            _ => name.to_owned(),
        }
    }

    /// Declared type of a column.
    pub fn sql_type(&self, column: ColumnRef) -> SqlType {
        match column {
            ColumnRef::Key(index) => self.key[index].sql_type,
            ColumnRef::Column(index) => self.columns[index].sql_type,
        }
    }

    /// True if the column may be NULL.
    pub fn nullable(&self, column: ColumnRef) -> bool {
        match column {
            ColumnRef::Key(index) => self.key[index].nullable,
            ColumnRef::Column(index) => self.columns[index].nullable,
        }
    }

    /// Source text of a column's DEFAULT, if it has one. A missing cell of such a column stands for the
    /// default; NULL is a cell of no bytes.
    pub fn default_sql(&self, column: ColumnRef) -> Option<&str> {
        match column {
            ColumnRef::Key(index) => self.key_defaults.get(&self.key[index].name).map(String::as_str),
            ColumnRef::Column(index) => self.columns[index].default_sql.as_deref(),
        }
    }

    /// True if every row has the empty cell.
    pub fn has_empty_cell(&self) -> bool {
        !self.empty_qualifier.is_empty()
    }

    /// What the cells of a family are, for writers of store files.
    pub fn family_layout(&self, family: &str) -> FamilyLayout {
        let columns = self.columns.iter().filter(|column| column.family == family);
        let mut columns: Vec<_> = columns.map(|column| (column.qualifier.clone(), column.sql_type)).collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        FamilyLayout { key: self.key.clone(), columns }
    }

    /// All families, sorted by name: those of the columns and that of the empty cell.
    pub fn families(&self) -> Vec<&str> {
        let mut families: Vec<&str> = self.columns.iter().map(|column| column.family.as_str()).collect();
        families.push(&self.empty_family);
        families.sort_unstable();
        families.dedup();
        families
    }
}

/// What the bytes of a family's cells mean: the parts of the row key and the types of values. A hint for encodings;
/// cells that do not fit it are as good as any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FamilyLayout {
    /// Primary-key columns in key order; none if row keys are plain bytes.
    pub key: Vec<KeyColumn>,
    /// Qualifier and type of each column, sorted by qualifier.
    pub columns: Vec<(Vec<u8>, SqlType)>,
}

impl FamilyLayout {
    /// Type of the values of a qualifier.
    pub fn sql_type(&self, qualifier: &[u8]) -> Option<SqlType> {
        let at = self.columns.binary_search_by(|column| column.0.as_slice().cmp(qualifier));
        at.ok().map(|at| self.columns[at].1)
    }
}

#[cfg(test)]
mod tests;
