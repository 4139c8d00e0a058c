// SPDX-License-Identifier: Apache-2.0
//! CSV (RFC 4180) and TSV. `basalt load` reads both back.
//!
//! CSV: a field is quoted when it holds a comma, a quote, a line break, or is the empty text (a bare nothing is NULL).
//! Lines end in a bare newline: most readers take it, and pipes of Unix tools expect it.
//! TSV: tab, newline, carriage return and backslash are written `\t`, `\n`, `\r`, `\\`; NULL is empty.

use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use super::Sink;
use super::text::ColumnText;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Csv,
    Tsv,
}

impl Dialect {
    fn delimiter(self) -> char {
        match self {
            Self::Csv => ',',
            Self::Tsv => '\t',
        }
    }

    /// Makes the field that begins at `start` of the buffer safe to read back.
    fn protect(self, out: &mut String, start: usize) {
        match self {
            Self::Csv => quote(out, start),
            Self::Tsv => escape(out, start),
        }
    }
}

pub(super) struct DelimitedSink<'a> {
    dialect: Dialect,
    out: &'a mut dyn Write,
    buffer: String,
}

impl<'a> DelimitedSink<'a> {
    /// Writes the header.
    pub(super) fn try_new(dialect: Dialect, schema: SchemaRef, out: &'a mut dyn Write) -> io::Result<Self> {
        let mut buffer = String::new();
        for (i, field) in schema.fields().iter().enumerate() {
            if i > 0 {
                buffer.push(dialect.delimiter());
            }
            let start = buffer.len();
            buffer.push_str(field.name());
            dialect.protect(&mut buffer, start);
        }
        buffer.push('\n');
        out.write_all(buffer.as_bytes())?;
        Ok(Self { dialect, out, buffer })
    }
}

impl Sink for DelimitedSink<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let columns: Vec<_> = batch.columns().iter().map(ColumnText::new).collect();
        self.buffer.clear();
        for row in 0..batch.num_rows() {
            for (i, column) in columns.iter().enumerate() {
                if i > 0 {
                    self.buffer.push(self.dialect.delimiter());
                }
                if !column.is_null(row) {
                    let start = self.buffer.len();
                    column.write(row, &mut self.buffer);
                    self.dialect.protect(&mut self.buffer, start);
                }
            }
            self.buffer.push('\n');
        }
        self.out.write_all(self.buffer.as_bytes())
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        self.out.flush()
    }
}

fn quote(out: &mut String, start: usize) {
    let field = &out[start..];
    if field.is_empty() {
        out.push_str("\"\"");
    } else if field.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        let quoted = format!("\"{}\"", field.replace('"', "\"\""));
        out.truncate(start);
        out.push_str(&quoted);
    }
}

fn escape(out: &mut String, start: usize) {
    let field = &out[start..];
    if field.bytes().any(|byte| matches!(byte, b'\t' | b'\\' | b'\n' | b'\r')) {
        let escaped =
            field.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
        out.truncate(start);
        out.push_str(&escaped);
    }
}
