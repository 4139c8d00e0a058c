// SPDX-License-Identifier: Apache-2.0
//! Why a file cannot be read or written.

use std::error::Error as StdError;
use std::io;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file cannot be read or written, by what one can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something else was asked of the file than it has or can hold.
    #[error("{0}")]
    Unfit(String),
    /// The system refused.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The bytes are none of the format, or the rows cannot be written in it.
    #[error("{what}")]
    Contents {
        /// What was tried.
        what: String,
        /// What is wrong.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl Error {
    /// The causes on one line; each that only repeats the one before is left out.
    pub fn sentence(&self) -> String {
        let mut line = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            cause = error.source();
        }
        line.replace('\n', " ")
    }
}

/// What was tried, put before what went wrong.
pub(crate) trait Context<T> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for std::result::Result<T, io::Error> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Io { what: what(), source })
    }
}

impl<T> Context<T> for std::result::Result<T, ArrowError> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| match source {
            ArrowError::IoError(_, source) => Error::Io { what: what(), source },
            source => Error::Contents { what: what(), source: source.into() },
        })
    }
}

impl<T> Context<T> for std::result::Result<T, ParquetError> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Contents { what: what(), source: source.into() })
    }
}
