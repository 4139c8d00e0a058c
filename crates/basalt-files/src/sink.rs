// SPDX-License-Identifier: Apache-2.0
//! Rows as bytes, batch by batch; no format holds the whole result. What the values look like in each is said at
//! [`ColumnText`](crate::ColumnText).

mod arrow_ipc;
mod delimited;
mod json;

use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use arrow_ipc::ArrowSink;
use delimited::{DelimitedSink, Dialect};
pub use json::json_row;
use json::{JsonSink, Layout};

/// Takes one result, batch by batch.
pub trait Sink {
    /// Writes or keeps these rows.
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()>;

    /// Writes what is left. `complete` is false when the statement was cancelled before its last row.
    fn end(&mut self, complete: bool) -> io::Result<()>;
}

/// How CSV is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvStyle {
    /// The character between fields, which is ASCII.
    pub delimiter: u8,
    /// Whether the names of the columns come first.
    pub header: bool,
}

impl Default for CsvStyle {
    fn default() -> Self {
        Self { delimiter: b',', header: true }
    }
}

/// Comma-separated values, RFC 4180.
pub fn csv_sink(style: CsvStyle, schema: SchemaRef, out: impl Write) -> io::Result<impl Sink> {
    DelimitedSink::try_new(Dialect::Csv { delimiter: style.delimiter }, style.header, &schema, out)
}

/// Tab-separated values with a header; tab, newline and backslash are escaped.
pub fn tsv_sink(schema: SchemaRef, out: impl Write) -> io::Result<impl Sink> {
    DelimitedSink::try_new(Dialect::Tsv, true, &schema, out)
}

/// One array of objects.
pub fn json_array_sink(schema: SchemaRef, out: impl Write) -> impl Sink {
    JsonSink::new(Layout::Array, &schema, out)
}

/// One object a line.
pub fn jsonl_sink(schema: SchemaRef, out: impl Write) -> impl Sink {
    JsonSink::new(Layout::Lines, &schema, out)
}

/// An Arrow IPC stream.
pub fn arrow_sink(schema: SchemaRef, out: impl Write) -> io::Result<impl Sink> {
    ArrowSink::try_new(&schema, out)
}
