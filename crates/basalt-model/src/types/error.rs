// SPDX-License-Identifier: Apache-2.0
//! Why a value does not fit its type, and why bytes are no value of a type.

use super::SqlType;

/// Most are the caller's mistake (a value that the type cannot hold); `Width` and `Bytes` are
/// stored bytes that no encoder wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypeError {
    /// A number, date or text outside of what the type can hold.
    #[error("value {value} is out of range for {sql_type}")]
    OutOfRange {
        /// The declared type.
        sql_type: SqlType,
        /// The value as text.
        value: String,
    },
    /// A text or binary value longer than declared.
    #[error("value of {found} {unit} is too long for {sql_type}")]
    TooLong {
        /// The declared type.
        sql_type: SqlType,
        /// Length of the value.
        found: usize,
        /// `characters` or `bytes`.
        unit: &'static str,
    },
    /// CHAR holds single-byte characters only.
    #[error("{sql_type} holds single-byte characters only; found {value:?}")]
    NotSingleByte {
        /// The declared type.
        sql_type: SqlType,
        /// The text given.
        value: String,
    },
    /// A text that should be JSON.
    #[error("this is no JSON: {what}")]
    NotJson {
        /// What is wrong with it, and where.
        what: String,
    },
    /// NULL in an array whose elements have a fixed width.
    #[error("an element of {sql_type} may not be NULL")]
    NullElement {
        /// The type of the array.
        sql_type: SqlType,
    },
    /// An element that could not be told from NULL.
    #[error("an element of {sql_type} may not begin with the byte 00")]
    ElementSeparator {
        /// The type of the array.
        sql_type: SqlType,
    },
    /// A ROW_TIMESTAMP that is no timestamp of a cell.
    #[error("the ROW_TIMESTAMP of a row cannot be before 1970; found {value} milliseconds")]
    RowTimestamp {
        /// Milliseconds since 1970.
        value: i64,
    },
    /// A value of one kind for a type of another, e.g. a text for INTEGER.
    #[error("{sql_type} cannot hold a value of kind {kind}")]
    Kind {
        /// The declared type.
        sql_type: SqlType,
        /// What was given.
        kind: &'static str,
    },
    /// Stored bytes of the wrong length.
    #[error("{sql_type} takes {expected} bytes; found {found}")]
    Width {
        /// The declared type.
        sql_type: SqlType,
        /// Width of the type.
        expected: usize,
        /// Length of the bytes.
        found: usize,
    },
    /// Stored bytes that are no value of the type.
    #[error("bytes are no {sql_type}: {what}")]
    Bytes {
        /// The declared type.
        sql_type: SqlType,
        /// What is wrong with them.
        what: &'static str,
    },
}

impl TypeError {
    /// Phoenix's error code for the caller's mistakes; `None` for damaged bytes.
    pub fn phoenix_code(&self) -> Option<u16> {
        match self {
            Self::OutOfRange { sql_type: SqlType::Decimal(_), .. } | Self::TooLong { .. } => Some(206),
            Self::OutOfRange { .. } | Self::Kind { .. } => Some(203),
            Self::NotSingleByte { .. }
            | Self::NotJson { .. }
            | Self::NullElement { .. }
            | Self::ElementSeparator { .. }
            | Self::RowTimestamp { .. } => Some(201),
            Self::Width { .. } | Self::Bytes { .. } => None,
        }
    }

    /// True if stored bytes are at fault, not the value that was given.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Width { .. } | Self::Bytes { .. })
    }
}
