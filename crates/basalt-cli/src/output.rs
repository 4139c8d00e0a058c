// SPDX-License-Identifier: Apache-2.0
//! Results of queries as bytes for people and programs: the formats for people are here, the others, and what a value looks like,
//! in `basalt-files`; who asks and where the bytes go is the caller's.
//!
//! Rule: no format holds the whole result. A table holds the rows that it shows, or, into a pipe, the first
//! thousand, which decide the widths.

mod line;
mod markdown;
mod table;

use std::io::{self, Write};

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use basalt::PLAN_FORMAT;
use basalt_files::{ColumnText, CsvStyle, arrow_sink, csv_sink, json_array_sink, jsonl_sink, tsv_sink};
use clap::ValueEnum;

pub(crate) use basalt_files::Sink;
pub(crate) use table::{TableStyle, render};

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

/// The sink for `format`. `style` matters to tables alone.
pub(crate) fn sink<'a>(
    format: OutputFormat,
    schema: SchemaRef,
    style: &TableStyle,
    out: &'a mut dyn Write,
) -> io::Result<Box<dyn Sink + 'a>> {
    Ok(match format {
        OutputFormat::Json | OutputFormat::Jsonl if is_json_plan(&schema) => Box::new(PlainText(out)),
        OutputFormat::Table => Box::new(table::TableSink::new(schema, style.clone(), out)),
        OutputFormat::Csv => Box::new(csv_sink(CsvStyle::default(), schema, out)?),
        OutputFormat::Tsv => Box::new(tsv_sink(schema, out)?),
        OutputFormat::Json => Box::new(json_array_sink(schema, out)),
        OutputFormat::Jsonl => Box::new(jsonl_sink(schema, out)),
        OutputFormat::Markdown => Box::new(markdown::MarkdownSink::try_new(schema, out)?),
        OutputFormat::Arrow => Box::new(arrow_sink(schema, out)?),
        OutputFormat::Line => Box::new(line::LineSink::new(schema, out)),
        OutputFormat::Trash => Box::new(Trash),
    })
}

/// True of the answer of EXPLAIN that is JSON itself.
fn is_json_plan(schema: &SchemaRef) -> bool {
    schema.fields().len() == 1 && schema.field(0).metadata().contains_key(PLAN_FORMAT)
}

/// Texts as they are, a line each.
struct PlainText<'a>(&'a mut dyn Write);

impl Sink for PlainText<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        (0..batch.num_rows())
            .filter_map(|row| cell_text(batch.column(0), row))
            .try_for_each(|text| writeln!(self.0, "{text}"))
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        self.0.flush()
    }
}

/// The text of one value; `None` for NULL.
pub(crate) fn cell_text(array: &ArrayRef, row: usize) -> Option<String> {
    let column = ColumnText::new(array);
    let mut out = String::new();
    (!column.is_null(row)).then(|| {
        column.write(row, &mut out);
        out
    })
}

/// An integer with commas between the thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
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
