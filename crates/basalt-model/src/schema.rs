// SPDX-License-Identifier: Apache-2.0
//! How SQL sees a table: columns, their types, the primary key, and where each column's cells lie.
//!
//! The layout of cells is Phoenix's (5.2): a row key is the concatenation of the primary-key columns; every
//! other column is one cell; each row has one *empty cell* in the first family so that a row whose columns
//! are all NULL exists. Qualifiers are numbers counted from 11 per table and written in
//! COLUMN_ENCODED_BYTES bytes (default 2, so the first column is `80 0b`), or the column's name when 0.

use serde::{Deserialize, Serialize};

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
    /// Source text of the DEFAULT expression; evaluated when the cell is missing.
    #[serde(default)]
    pub default_sql: Option<String>,
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
    /// Qualifier of the empty cell: `00 00 00 00` for numbered qualifiers, `_0` for named ones.
    pub empty_qualifier: Vec<u8>,
    /// Number of the next column to be added (numbers are never used again), counted from 11.
    pub qualifier_next: u32,
    /// COLUMN_ENCODED_BYTES: 0 (names), 1, 2, 3 or 4.
    pub qualifier_bytes: u8,
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
