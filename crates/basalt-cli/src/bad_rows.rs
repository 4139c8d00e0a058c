// SPDX-License-Identifier: Apache-2.0
//! What happens to rows that do not fit: the load stops, or they are left out and counted, or kept in a file of their own.
//!
//! A reject file holds each bad line as it was, below a line that begins with `# ` and says why. Without the lines that begin
//! with `# ` it can be mended and loaded again. Rows of Parquet and Arrow files are written as JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use basalt_files::{BadRow, Error, Refusals};

use crate::args::OnError;

/// Bad rows that are named on stderr before only their number is.
const NAMED_MAX: u64 = 5;

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

impl Refusals for BadRows {
    fn report(&mut self, row: BadRow) -> basalt_files::Result<bool> {
        self.count += 1;
        if !self.keeps_on {
            self.stopped_by = Some(row);
            return Ok(false);
        }
        if !self.quiet && self.count <= NAMED_MAX {
            eprintln!("warning: left out {row}");
        }
        if let Some(file) = &mut self.reject {
            write_row(file, &row)
                .map_err(|source| Error::Io { what: "cannot write the rejected rows".into(), source })?;
        }
        Ok(true)
    }
}

fn write_row(file: &mut impl Write, row: &BadRow) -> io::Result<()> {
    writeln!(file, "# {}", row.to_string().replace('\n', " "))?;
    file.write_all(&row.raw)?;
    if row.raw.ends_with(b"\n") { Ok(()) } else { file.write_all(b"\n") }
}
