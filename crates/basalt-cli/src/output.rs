// SPDX-License-Identifier: Apache-2.0
//! Results of queries as bytes for people and programs. Owns the formats; who asks and where the bytes go is
//! the caller's.
//!
//! | value | table, csv, tsv, markdown | json, jsonl |
//! |---|---|---|
//! | NULL | `NULL` in a table, else empty (`""` is the empty text) | `null` |
//! | BOOLEAN | `true`, `false` | the same |
//! | integers | digits | number |
//! | DECIMAL | exact, with the zeros of its scale; DECIMAL without a scale without trailing zeros | number, exact |
//! | FLOAT, DOUBLE | shortest text that reads back as the same number; `NaN`, `Infinity` | number; text if not finite |
//! | DATE, TIME | `2026-01-31 00:00:00.000`, as Phoenix's shell prints both | text |
//! | TIMESTAMP | the same with 3, 6 or 9 digits of a second | text |
//! | BINARY, VARBINARY | hex | text, hex |
//!
//! Rule: no format holds the whole result. A table holds the rows that it shows, or, into a pipe, the first
//! thousand, which decide the widths.

mod arrow_ipc;
mod delimited;
mod json;
mod line;
mod markdown;
mod table;
mod text;

use std::io::{self, Write};

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use clap::ValueEnum;

pub(crate) use json::json_row;
pub(crate) use table::{TableStyle, render};
pub(crate) use text::grouped;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// A box for people.
    Table,
    /// Comma-separated values with a header, RFC 4180.
    Csv,
    /// Tab-separated values with a header; tab, newline and backslash are escaped.
    Tsv,
    /// One array of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// A Markdown table.
    Markdown,
    /// An Arrow IPC stream.
    Arrow,
    /// One column a line.
    Line,
    /// Nothing; for timing.
    Trash,
}

/// Takes one result, batch by batch.
pub(crate) trait Sink {
    /// Prints or keeps these rows.
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()>;

    /// Prints what is left. `complete` is false when the statement was cancelled before its last row.
    fn end(&mut self, complete: bool) -> io::Result<()>;
}

/// The sink for `format`. `style` matters to tables alone.
pub(crate) fn sink<'a>(
    format: OutputFormat,
    schema: SchemaRef,
    style: &TableStyle,
    out: &'a mut dyn Write,
) -> io::Result<Box<dyn Sink + 'a>> {
    Ok(match format {
        OutputFormat::Table => Box::new(table::TableSink::new(schema, style.clone(), out)),
        OutputFormat::Csv => {
            Box::new(delimited::DelimitedSink::try_new(delimited::Dialect::Csv, schema, out)?)
        }
        OutputFormat::Tsv => {
            Box::new(delimited::DelimitedSink::try_new(delimited::Dialect::Tsv, schema, out)?)
        }
        OutputFormat::Json => Box::new(json::JsonSink::new(json::Layout::Array, schema, out)),
        OutputFormat::Jsonl => Box::new(json::JsonSink::new(json::Layout::Lines, schema, out)),
        OutputFormat::Markdown => Box::new(markdown::MarkdownSink::try_new(schema, out)?),
        OutputFormat::Arrow => Box::new(arrow_ipc::ArrowSink::try_new(schema, out)?),
        OutputFormat::Line => Box::new(line::LineSink::new(schema, out)),
        OutputFormat::Trash => Box::new(Trash),
    })
}

/// The text of one value; `None` for NULL.
pub(crate) fn cell_text(array: &ArrayRef, row: usize) -> Option<String> {
    let column = text::ColumnText::new(array);
    let mut out = String::new();
    (!column.is_null(row)).then(|| {
        column.write(row, &mut out);
        out
    })
}

struct Trash;

impl Sink for Trash {
    fn batch(&mut self, _: &RecordBatch) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
