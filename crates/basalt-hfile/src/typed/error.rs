// SPDX-License-Identifier: Apache-2.0
//! What can go wrong between rows and cells. Values that do not fit name the row of the batch and the column;
//! stored bytes that are damaged name the column and the row key.

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use basalt_model::escape::Escaped;
use basalt_model::mutation::MutationError;
use basalt_model::rowkey::KeyError;
use basalt_model::{SqlType, TypeError};

/// An error of [`super::RowEncoder`], [`super::RowDecoder`] or [`super::KeyEncoder`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// A value that its column cannot hold.
    #[error("row {row_index}, column {column}: {source}")]
    Value {
        /// Index of the row in the batch.
        row_index: usize,
        /// Column name.
        column: String,
        /// What is wrong.
        source: TypeError,
    },
    /// NULL for a NOT NULL column outside of the key.
    #[error("row {row_index}, column {column}: the column is NOT NULL")]
    Null {
        /// Index of the row in the batch.
        row_index: usize,
        /// Column name.
        column: String,
    },
    /// Values that make no row key.
    #[error("row {row_index}: {source}")]
    Key {
        /// Index of the row in the batch.
        row_index: usize,
        /// What is wrong.
        source: KeyError,
    },
    /// A row that a batch of mutations cannot hold.
    #[error("row {row_index}: {source}")]
    Mutation {
        /// Index of the row in the batch.
        row_index: usize,
        /// What is wrong.
        source: MutationError,
    },
    /// A column that rows cannot do without is not written.
    #[error("column {column} is NOT NULL and has no value")]
    MissingColumn {
        /// Column name.
        column: String,
    },
    /// A column that is named twice.
    #[error("column {column} is written twice")]
    RepeatedColumn {
        /// Column name.
        column: String,
    },
    /// A batch of another shape than announced.
    #[error("a batch of {expected} columns was expected; found {found}")]
    ColumnCount {
        /// Columns announced.
        expected: usize,
        /// Columns of the batch.
        found: usize,
    },
    /// An Arrow array that cannot hold values of the column.
    #[error("column {column} of type {sql_type} cannot be written from Arrow type {found}")]
    ArrowType {
        /// Column name.
        column: String,
        /// Declared type.
        sql_type: SqlType,
        /// Type of the array.
        found: DataType,
    },
    /// A stored value that is damaged.
    #[error("column {column} of row {row}: {source}", row = Escaped(.row))]
    StoredValue {
        /// Column name.
        column: String,
        /// Row key.
        row: Vec<u8>,
        /// What is wrong.
        source: TypeError,
    },
    /// A stored row key that is damaged.
    #[error("row {row}: {source}", row = Escaped(.row))]
    StoredKey {
        /// Row key.
        row: Vec<u8>,
        /// What is wrong.
        source: KeyError,
    },
    /// A stored row without a value for a NOT NULL column.
    #[error("row {row} has no value for column {column}, which is NOT NULL", row = Escaped(.row))]
    StoredNull {
        /// Column name.
        column: String,
        /// Row key.
        row: Vec<u8>,
    },
    /// The file could not be read.
    #[error(transparent)]
    File(#[from] crate::Error),
    /// Arrow refused what was built.
    #[error("the rows make no record batch")]
    Arrow(#[from] ArrowError),
}

impl TypedError {
    /// Index in the batch of the row at fault.
    pub fn row_index(&self) -> Option<usize> {
        match self {
            Self::Value { row_index, .. }
            | Self::Null { row_index, .. }
            | Self::Key { row_index, .. }
            | Self::Mutation { row_index, .. } => Some(*row_index),
            _ => None,
        }
    }

    /// Name of the column at fault.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Value { column, .. }
            | Self::Null { column, .. }
            | Self::MissingColumn { column }
            | Self::RepeatedColumn { column }
            | Self::ArrowType { column, .. }
            | Self::StoredValue { column, .. }
            | Self::StoredNull { column, .. } => Some(column),
            Self::Key { source, .. } | Self::StoredKey { source, .. } => match source {
                KeyError::Null { column }
                | KeyError::Separator { column }
                | KeyError::Value { column, .. } => Some(column),
                _ => None,
            },
            _ => None,
        }
    }

    /// Phoenix's error code, where it has one.
    pub fn phoenix_code(&self) -> Option<u16> {
        match self {
            Self::Value { source, .. } => source.phoenix_code(),
            Self::Null { .. } | Self::MissingColumn { .. } => Some(218),
            Self::Key { source, .. } => source.phoenix_code(),
            Self::RepeatedColumn { .. } => Some(514),
            Self::ArrowType { .. } => Some(203),
            _ => None,
        }
    }

    /// True if stored bytes are at fault, not a value that was given.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::StoredValue { .. } | Self::StoredKey { .. } | Self::StoredNull { .. })
    }
}
