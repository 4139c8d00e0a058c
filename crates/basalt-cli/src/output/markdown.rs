// SPDX-License-Identifier: Apache-2.0
//! A Markdown table (GitHub's dialect), row by row: cells are not padded, so nothing has to be kept.

use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use super::Sink;
use basalt_files::{ColumnText, Kind, kind_of};

pub(super) struct MarkdownSink<'a> {
    out: &'a mut dyn Write,
    buffer: String,
}

impl<'a> MarkdownSink<'a> {
    /// Writes the header and the line below it, which aligns numbers right.
    pub(super) fn try_new(schema: SchemaRef, out: &'a mut dyn Write) -> io::Result<Self> {
        let mut buffer = String::from("|");
        for field in schema.fields() {
            buffer.push_str(&format!(" {} |", protected(field.name())));
        }
        buffer.push_str("\n|");
        for field in schema.fields() {
            let is_number = matches!(kind_of(field.data_type()), Kind::Number | Kind::Float);
            buffer.push_str(if is_number { "---:|" } else { "---|" });
        }
        buffer.push('\n');
        out.write_all(buffer.as_bytes())?;
        Ok(Self { out, buffer })
    }
}

impl Sink for MarkdownSink<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let columns: Vec<_> = batch.columns().iter().map(ColumnText::new).collect();
        self.buffer.clear();
        let mut cell = String::new();
        for row in 0..batch.num_rows() {
            self.buffer.push('|');
            for column in &columns {
                cell.clear();
                if !column.is_null(row) {
                    column.write(row, &mut cell);
                }
                self.buffer.push_str(&format!(" {} |", protected(&cell)));
            }
            self.buffer.push('\n');
        }
        self.out.write_all(self.buffer.as_bytes())
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        self.out.flush()
    }
}

fn protected(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('|', "\\|").replace('\n', "<br>")
}
