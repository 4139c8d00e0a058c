// SPDX-License-Identifier: Apache-2.0
//! What can go wrong with a store file, cut by what the caller can do about it.
//!
//! Decoders work on one block's payload and know neither file nor position; they answer with a [`Damage`],
//! which the reader turns into [`Error::Corrupt`] by adding both.

use std::io;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of reading or writing a store file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not what a writer wrote. Nothing of the block was returned as data.
    #[error("store file {file} is damaged at offset {offset}: {what}")]
    Corrupt {
        /// The file.
        file: String,
        /// Offset of the block or of the field concerned.
        offset: u64,
        /// What was expected and what was found.
        what: String,
    },
    /// The storage below failed.
    #[error("cannot access store file {file} at offset {offset}")]
    Io {
        /// The file.
        file: String,
        /// Where the failed read or write began.
        offset: u64,
        /// The error of the storage.
        #[source]
        source: io::Error,
    },
    /// A valid file that uses something this version does not implement.
    #[error("store file {file} uses {what}, which is not supported")]
    Unsupported {
        /// The file.
        file: String,
        /// The feature.
        what: String,
    },
    /// The caller appended a cell that sorts before the previous one.
    #[error("cells must be appended in order: {current} came after {previous}")]
    Order {
        /// The cell appended before.
        previous: String,
        /// The offending cell.
        current: String,
    },
    /// The caller gave a cell that no store file can hold, or an option that no file can have.
    #[error("{what}")]
    Invalid {
        /// Which limit was broken by what.
        what: String,
    },
}

/// Bad bytes inside one payload: where, counted from the payload's start, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the payload.
    pub at: usize,
    /// What was expected and what was found.
    pub what: String,
}

impl Damage {
    /// Damage at a payload offset.
    #[cold]
    pub fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    /// The error for a payload of the block at `offset` of `file`.
    #[cold]
    pub(crate) fn in_block(self, file: &str, offset: u64) -> Error {
        Error::Corrupt {
            file: file.to_owned(),
            offset,
            what: format!("{} (byte {} of the payload)", self.what, self.at),
        }
    }
}

pub(crate) fn corrupt(file: &str, offset: u64, what: impl Into<String>) -> Error {
    Error::Corrupt { file: file.to_owned(), offset, what: what.into() }
}
