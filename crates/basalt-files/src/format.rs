// SPDX-License-Identifier: Apache-2.0
//! Formats of files, and how one is to be read.

use std::path::Path;

use crate::error::{Error, Result};

/// Formats of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values, RFC 4180.
    Csv,
    /// Tab-separated values, with backslash escapes.
    Tsv,
    /// TPC-H's own: fields that end in `|`, without names of columns. Only read.
    Tbl,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC; a stream or a file when read, a stream when written.
    Arrow,
}

impl Format {
    /// The format that the name of a file ends in.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        Some(match extension.as_str() {
            "tab" => Self::Tsv,
            "ndjson" | "json" => Self::Jsonl,
            "pq" => Self::Parquet,
            "arrows" | "ipc" | "feather" => Self::Arrow,
            name => return Self::of_name(name),
        })
    }

    /// The format of this name, in lower case.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "tbl" => Self::Tbl,
            "jsonl" | "json" | "ndjson" => Self::Jsonl,
            "parquet" => Self::Parquet,
            "arrow" => Self::Arrow,
            _ => return None,
        })
    }
}

/// Whether a text file begins with the names of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// Look at the first lines.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It does not: fields go to the columns in declared order.
    No,
}

/// How a file is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; by the end of the name if `None`.
    pub format: Option<Format>,
    /// The character between the fields of a CSV file; a comma if `None`.
    pub delimiter: Option<u8>,
    /// Whether the first line of a CSV or TSV file names the columns.
    pub header: Header,
    /// Columns of a Parquet or Arrow file that the target does not have are passed over, and are no error.
    pub some_columns: bool,
    /// Threads that decode a Parquet file; one if 0.
    pub threads: usize,
}

impl Options {
    /// The format asked for, else the one that the name of the file ends in.
    pub fn format_of(&self, path: &Path) -> Result<Format> {
        self.format.or_else(|| Format::of_path(path)).ok_or_else(|| {
            Error::Unfit(format!(
                "cannot tell the format of {} by its name; say which it is: csv, tsv, tbl, jsonl, parquet or arrow",
                path.display()
            ))
        })
    }
}
