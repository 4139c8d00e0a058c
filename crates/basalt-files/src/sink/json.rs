// SPDX-License-Identifier: Apache-2.0
//! JSON: one array, or one object a line. Numbers keep every digit, also those beyond a double's.

use std::io::{self, Write};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;

use super::Sink;
use crate::text::{ColumnText, Kind, kind_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Array,
    Lines,
}

pub(super) struct JsonSink<W> {
    layout: Layout,
    /// `"name":` of each column, escaped once.
    labels: Vec<String>,
    rows_seen: bool,
    out: W,
    buffer: String,
}

impl<W: Write> JsonSink<W> {
    pub(super) fn new(layout: Layout, schema: &SchemaRef, out: W) -> Self {
        let label = |name: &String| {
            let mut label = String::new();
            write_text(name, &mut label);
            label.push(':');
            label
        };
        let labels = schema.fields().iter().map(|field| label(field.name())).collect();
        Self { layout, labels, rows_seen: false, out, buffer: String::new() }
    }
}

impl<W: Write> Sink for JsonSink<W> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let columns: Vec<_> = batch.columns().iter().map(Column::new).collect();
        self.buffer.clear();
        for row in 0..batch.num_rows() {
            match (self.layout, self.rows_seen) {
                (Layout::Lines, _) => {}
                (Layout::Array, false) => self.buffer.push_str("[\n"),
                (Layout::Array, true) => self.buffer.push_str(",\n"),
            }
            self.rows_seen = true;
            self.buffer.push('{');
            for (i, (column, label)) in columns.iter().zip(&self.labels).enumerate() {
                if i > 0 {
                    self.buffer.push(',');
                }
                self.buffer.push_str(label);
                column.write(row, &mut self.buffer);
            }
            self.buffer.push('}');
            if self.layout == Layout::Lines {
                self.buffer.push('\n');
            }
        }
        self.out.write_all(self.buffer.as_bytes())
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        match (self.layout, self.rows_seen) {
            (Layout::Lines, _) => {}
            (Layout::Array, true) => self.out.write_all(b"\n]\n")?,
            (Layout::Array, false) => self.out.write_all(b"[]\n")?,
        }
        self.out.flush()
    }
}

/// One row as a line of JSON.
pub fn json_row(batch: &RecordBatch, row: usize) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    JsonSink::new(Layout::Lines, &batch.schema(), &mut line).batch(&batch.slice(row, 1))?;
    Ok(line)
}

struct Column<'a> {
    array: &'a ArrayRef,
    text: ColumnText<'a>,
    kind: Kind,
}

impl<'a> Column<'a> {
    fn new(array: &'a ArrayRef) -> Self {
        Self { array, text: ColumnText::new(array), kind: kind_of(array.data_type()) }
    }

    fn write(&self, row: usize, out: &mut String) {
        if self.text.is_null(row) {
            return out.push_str("null");
        }
        match self.kind {
            Kind::Number | Kind::Boolean => self.text.write(row, out),
            Kind::Float => self.write_float(row, out),
            Kind::Text => write_text(&self.value(row), out),
            Kind::Other => self.write_nested(row, out),
        }
    }

    fn value(&self, row: usize) -> String {
        let mut text = String::new();
        self.text.write(row, &mut text);
        text
    }

    fn write_float(&self, row: usize, out: &mut String) {
        let text = self.value(row);
        if text.ends_with(['y', 'N']) { write_text(&text, out) } else { out.push_str(&text) }
    }

    fn write_nested(&self, row: usize, out: &mut String) {
        match self.array.data_type() {
            DataType::List(_) => write_list(&self.array.as_list::<i32>().value(row), out),
            DataType::LargeList(_) => write_list(&self.array.as_list::<i64>().value(row), out),
            DataType::FixedSizeList(..) => write_list(&self.array.as_fixed_size_list().value(row), out),
            DataType::Struct(fields) => {
                out.push('{');
                for (i, (field, child)) in fields.iter().zip(self.array.as_struct().columns()).enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_text(field.name(), out);
                    out.push(':');
                    Column::new(child).write(row, out);
                }
                out.push('}');
            }
            _ => write_text(&self.value(row), out),
        }
    }
}

fn write_list(items: &ArrayRef, out: &mut String) {
    out.push('[');
    let column = Column::new(items);
    for i in 0..items.len() {
        if i > 0 {
            out.push(',');
        }
        column.write(i, out);
    }
    out.push(']');
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
