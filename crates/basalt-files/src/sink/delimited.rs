// SPDX-License-Identifier: Apache-2.0
//! CSV (RFC 4180) and TSV. `basalt load` reads both back.
//!
//! CSV: a field is quoted when it holds the delimiter, a quote, a line break, or is the empty text (a bare nothing is NULL).
//! Lines end in a bare newline: most readers take it, and pipes of Unix tools expect it.
//! TSV: tab, newline, carriage return and backslash are written `\t`, `\n`, `\r`, `\\`; NULL is empty.

use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use super::Sink;
use crate::text::ColumnText;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Csv { delimiter: u8 },
    Tsv,
}

impl Dialect {
    fn delimiter(self) -> char {
        match self {
            Self::Csv { delimiter } => delimiter.into(),
            Self::Tsv => '\t',
        }
    }

    /// Makes the field that begins at `start` of the buffer safe to read back.
    fn protect(self, out: &mut String, start: usize) {
        match self {
            Self::Csv { delimiter } => quote(out, start, delimiter),
            Self::Tsv => escape(out, start),
        }
    }
}

pub(super) struct DelimitedSink<W> {
    dialect: Dialect,
    out: W,
    buffer: String,
}

impl<W: Write> DelimitedSink<W> {
    /// Writes the header, if there is to be one.
    pub(super) fn try_new(
        dialect: Dialect,
        header: bool,
        schema: &SchemaRef,
        mut out: W,
    ) -> io::Result<Self> {
        let mut buffer = String::new();
        if !header {
            return Ok(Self { dialect, out, buffer });
        }
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

impl<W: Write> Sink for DelimitedSink<W> {
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

fn quote(out: &mut String, start: usize, delimiter: u8) {
    let field = &out[start..];
    if field.is_empty() {
        out.push_str("\"\"");
    } else if field.bytes().any(|byte| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r')) {
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
