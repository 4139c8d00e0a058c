// SPDX-License-Identifier: Apache-2.0
//! Rows that do not fit, and who decides what becomes of them.

use std::fmt;

use crate::error::Result;

/// A row that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// The file, as messages show it.
    pub file: String,
    /// `line 17` of a text, `row 17` of anything else; both count from 1.
    pub place: String,
    /// The column that is wrong, if one is.
    pub column: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// The row as it stands in the file.
    pub raw: Vec<u8>,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.file, self.place)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Takes the rows that do not fit.
pub trait Refusals: Send {
    /// Takes one; false if the reader has to stop here.
    fn report(&mut self, row: BadRow) -> Result<bool>;
}

/// Stops at the first one and keeps it.
#[derive(Debug, Default)]
pub struct FirstBadRow(pub Option<BadRow>);

impl Refusals for FirstBadRow {
    fn report(&mut self, row: BadRow) -> Result<bool> {
        self.0.get_or_insert(row);
        Ok(false)
    }
}
