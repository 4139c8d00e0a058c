// SPDX-License-Identifier: Apache-2.0
//! One column a line, for rows too wide for any terminal (`\x` in the shell).

use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use unicode_width::UnicodeWidthStr;

use super::Sink;
use basalt_files::ColumnText;

pub(super) struct LineSink<'a> {
    /// Names, padded to the widest.
    labels: Vec<String>,
    rows: u64,
    out: &'a mut dyn Write,
}

impl<'a> LineSink<'a> {
    pub(super) fn new(schema: SchemaRef, out: &'a mut dyn Write) -> Self {
        let widest = schema.fields().iter().map(|field| field.name().width()).max().unwrap_or(0);
        let label = |name: &String| format!("{}{name} = ", " ".repeat(widest - name.width()));
        Self { labels: schema.fields().iter().map(|field| label(field.name())).collect(), rows: 0, out }
    }
}

impl Sink for LineSink<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let columns: Vec<_> = batch.columns().iter().map(ColumnText::new).collect();
        let mut buffer = String::new();
        for row in 0..batch.num_rows() {
            if self.rows > 0 {
                buffer.push('\n');
            }
            self.rows += 1;
            for (column, label) in columns.iter().zip(&self.labels) {
                buffer.push_str(label);
                if !column.is_null(row) {
                    column.write(row, &mut buffer);
                }
                buffer.push('\n');
            }
        }
        self.out.write_all(buffer.as_bytes())
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        self.out.flush()
    }
}
