// SPDX-License-Identifier: Apache-2.0
//! What makes a table the index of another one.
//!
//! An index is a table of its own. Its row key is the indexed columns followed by the primary key of the base table;
//! its other columns are copies of columns of the base table:
//!
//! ```text
//! base   T  key (K), columns A VARCHAR, B INTEGER, C VARCHAR
//! index  I  ON T (A, B DESC) INCLUDE (C)
//!        key (0:A, 0:B?, 0:B DESC, :K), column 0:C
//!        row T ('k', 'one', 42, 'inc')  ->  6f6e65 00  01  7fffffd5  6b,  0:C = 696e63
//! ```
//!
//! A column of fixed width that can be NULL takes two columns of the index's key: whether it has a value (0 or 1), then the
//! value, or zeros. So every type keeps its own encoding and order, and NULL sorts first.

use serde::{Deserialize, Serialize};

use crate::schema::SortOrder;
use crate::table::{TableId, TableName};

/// How far an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// Follows every write since it was registered, and lacks rows of before. Not read.
    Building,
    /// Lacks rows that a bulk load brought, and follows every write. Not read, and to be built from the start.
    Outdated,
    /// Equal to its table.
    Active,
    /// Equal to its table, and not read because somebody said so.
    Unusable,
    /// Neither followed nor read; it takes a rebuild to use it again.
    Disabled,
}

impl IndexState {
    /// True if writes of the base table change the index.
    pub fn is_kept(self) -> bool {
        self != Self::Disabled
    }

    /// The word for listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Building => "BUILDING",
            Self::Outdated => "OUTDATED",
            Self::Active => "ACTIVE",
            Self::Unusable => "UNUSABLE",
            Self::Disabled => "DISABLED",
        }
    }
}

/// Where an indexed value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexSource {
    /// A column of the base table: its family (none for key columns) and name.
    Column(Option<String>, String),
    /// The text of an expression over columns of the base table.
    Expression(String),
}

/// One indexed value, in the order of CREATE INDEX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPart {
    /// What is indexed.
    pub source: IndexSource,
    /// Key column of the index that holds the value.
    pub column: String,
    /// Key column that says whether there is a value; `None` where the value's own bytes say it.
    pub presence: Option<String>,
    /// ASC or DESC.
    pub order: SortOrder,
}

/// A column of the base table that the index holds as it is: of the primary key, or included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexCopy {
    /// Family of the column; `None` for a key column.
    pub family: Option<String>,
    /// Its name.
    pub name: String,
    /// Column of the index.
    pub column: String,
}

/// An index: what it indexes, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDescriptor {
    /// The table whose rows it finds.
    pub base: TableId,
    /// The table or view that CREATE INDEX named.
    pub on: TableName,
    /// How far it is.
    pub state: IndexState,
    /// LOCAL was written. It is stored like any other index.
    pub local: bool,
    /// No two rows have the same indexed values, unless one is NULL.
    pub unique: bool,
    /// Indexed values.
    pub parts: Vec<IndexPart>,
    /// Columns of the primary key that are not among the parts, in key order, then those included.
    pub copies: Vec<IndexCopy>,
    /// Text of the condition that rows of a partial index satisfy.
    pub condition: Option<String>,
}
