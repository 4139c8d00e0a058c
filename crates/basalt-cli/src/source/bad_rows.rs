// SPDX-License-Identifier: Apache-2.0
//! What happens to rows that do not fit: the load stops, or they are left out and counted, or kept in a file of their own.
//!
//! A reject file holds each bad line as it was, below a line that begins with `# ` and says why. Without the lines that begin
//! with `# ` it can be mended and loaded again. Rows of Parquet and Arrow files are written as JSON.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::Context;

use crate::args::OnError;

/// Bad rows that are named on stderr before only their number is.
const NAMED_MAX: u64 = 5;

/// A row that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadRow {
    pub(crate) file: String,
    /// `line 17` of a text, `row 17` of anything else; both count from 1.
    pub(crate) place: String,
    /// The column that is wrong, if one is.
    pub(crate) column: Option<String>,
    pub(crate) reason: String,
    /// The row as it stands in the file.
    pub(crate) raw: Vec<u8>,
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

/// Takes bad rows and knows whether the load goes on.
pub(crate) struct BadRows {
    keeps_on: bool,
    reject: Option<BufWriter<File>>,
    quiet: bool,
    count: u64,
    stopped_by: Option<BadRow>,
}

impl BadRows {
    /// Creates the reject file, if there is to be one.
    pub(crate) fn try_new(policy: &OnError, quiet: bool) -> anyhow::Result<Self> {
        let reject = match policy {
            OnError::Reject(path) => {
                let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
                Some(BufWriter::new(file))
            }
            _ => None,
        };
        Ok(Self { keeps_on: *policy != OnError::Stop, reject, quiet, count: 0, stopped_by: None })
    }

    /// Takes a bad row; false if the load has to stop here.
    pub(crate) fn report(&mut self, row: BadRow) -> anyhow::Result<bool> {
        self.count += 1;
        if !self.keeps_on {
            self.stopped_by = Some(row);
            return Ok(false);
        }
        if !self.quiet && self.count <= NAMED_MAX {
            eprintln!("warning: left out {row}");
        }
        if let Some(file) = &mut self.reject {
            writeln!(file, "# {}", row.to_string().replace('\n', " "))
                .and_then(|()| file.write_all(&row.raw))
                .and_then(|()| if row.raw.ends_with(b"\n") { Ok(()) } else { file.write_all(b"\n") })
                .context("cannot write the rejected rows")?;
        }
        Ok(true)
    }

    /// Writes what is left of the reject file; answers how many rows were bad.
    pub(crate) fn finish(&mut self) -> anyhow::Result<u64> {
        if let Some(file) = &mut self.reject {
            file.flush().context("cannot write the rejected rows")?;
        }
        Ok(self.count)
    }

    /// The row that stopped the load.
    pub(crate) fn stopped_by(&self) -> Option<&BadRow> {
        self.stopped_by.as_ref()
    }
}
