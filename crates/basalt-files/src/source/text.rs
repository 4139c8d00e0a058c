// SPDX-License-Identifier: Apache-2.0
//! CSV, TSV and `.tbl` files as batches.
//!
//! With a header, columns go by name; without, fields go to the columns in declared order. Whether the first line is a header
//! is decided by what it holds, unless the user says so: it is one if all of its fields could be names and half of them are names of columns.

use std::io::Read;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;

use super::records::{Dialect, Record, Records};
use super::value::{Collector, Value, parse};
use super::{BATCH_ROWS, BadRow, Refusals, Source, Target, TargetColumn, arrow_type, unfit};
use crate::error::{Context, Error, Result};
use crate::format::{Format, Header, Options};

/// The dialect of a text format.
pub(super) fn dialect(format: Format, delimiter: Option<u8>) -> Dialect {
    match format {
        Format::Tsv => Dialect::Tsv,
        Format::Tbl => Dialect::Tbl,
        _ => Dialect::Csv { delimiter: delimiter.unwrap_or(b',') },
    }
}

pub(super) struct TextSource<R> {
    records: Records<R>,
    file: String,
    /// Columns of the target that the fields go to.
    positions: Vec<usize>,
    columns: Vec<TargetColumn>,
    collectors: Vec<Collector>,
    schema: SchemaRef,
    first: Option<FirstRow>,
    ended: bool,
}

/// A first record that turned out to be no header; its bytes are cut again because the reader has moved on.
struct FirstRow {
    line: u64,
    raw: Vec<u8>,
}

impl<R: Read> TextSource<R> {
    /// Reads the header, if there is one.
    pub(super) fn try_new(
        input: R,
        file: String,
        format: Format,
        options: &Options,
        target: &Target,
    ) -> Result<Self> {
        let mut records = Records::new(input, dialect(format, options.delimiter));
        let first = records.next_record().with_context(|| file.clone())?;
        let mut first_row = None;
        let positions = match first {
            None => (0..target.columns.len()).collect(),
            Some(record) => {
                let names = names(&record);
                if format != Format::Tbl && is_header(options.header, &names, target) {
                    target.positions(&names, &file).map_err(|error| guessed(error, options.header))?
                } else {
                    first_row = Some(FirstRow { line: record.line, raw: record.raw.to_vec() });
                    (0..target.columns.len()).collect()
                }
            }
        };
        let columns: Vec<_> = positions.iter().map(|&i| target.columns[i].clone()).collect();
        let collectors = columns.iter().map(|column| Collector::new(column.sql_type)).collect();
        let schema = schema_of(&columns);
        Ok(Self { records, file, positions, columns, collectors, schema, first: first_row, ended: false })
    }
}

/// The Arrow schema of these columns. All are nullable: what must not be NULL is checked value by value.
pub(super) fn schema_of(columns: &[TargetColumn]) -> SchemaRef {
    let field = |column: &TargetColumn| Field::new(&column.name, arrow_type(column.sql_type), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn names(record: &Record<'_>) -> Vec<String> {
    let name = |i| record.field(i).ok().flatten().map(|name| name.trim().to_string()).unwrap_or_default();
    (0..record.len()).map(name).collect()
}

/// Says how to overrule the guess that a first line is a header.
fn guessed(error: Error, asked: Header) -> Error {
    match asked {
        Header::Auto => {
            Error::Unfit(format!("{error} (if its first line is data, say that it has no header)"))
        }
        _ => error,
    }
}

fn is_header(asked: Header, names: &[String], target: &Target) -> bool {
    match asked {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => {
            let is_name = |name: &String| name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            let known = names.iter().filter(|name| target.position(name).is_some()).count();
            known > 0 && known * 2 >= names.len() && names.iter().all(is_name)
        }
    }
}

impl<R: Read + Send> Source for TextSource<R> {
    fn columns(&self) -> &[usize] {
        &self.positions
    }

    fn next_batch(&mut self, bad: &mut dyn Refusals) -> Result<Option<RecordBatch>> {
        let mut rows = 0;
        if let Some(first) = self.first.take() {
            let mut again = Records::new(&first.raw[..], self.records.dialect());
            if let Some(mut record) = again.next_record().with_context(|| self.file.clone())? {
                record.line = first.line;
                match take(&record, &self.columns, &mut self.collectors) {
                    Ok(()) => rows += 1,
                    Err(wrong) => self.ended = !bad.report(wrong.of(&record, &self.file))?,
                }
            }
        }
        while rows < BATCH_ROWS && !self.ended {
            match self.records.next_record().with_context(|| self.file.clone())? {
                None => self.ended = true,
                Some(record) => match take(&record, &self.columns, &mut self.collectors) {
                    Ok(()) => rows += 1,
                    Err(wrong) => self.ended = !bad.report(wrong.of(&record, &self.file))?,
                },
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrays = self.collectors.iter_mut().map(Collector::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays);
        batch.map(Some).with_context(|| self.file.clone())
    }
}

/// What is wrong with a record.
struct Wrong {
    column: Option<String>,
    reason: String,
}

impl Wrong {
    fn of(self, record: &Record<'_>, file: &str) -> BadRow {
        BadRow {
            file: file.into(),
            place: format!("line {}", record.line),
            column: self.column,
            reason: self.reason,
            raw: record.raw.to_vec(),
        }
    }
}

/// Parses the whole record, then appends it.
fn take(record: &Record<'_>, columns: &[TargetColumn], collectors: &mut [Collector]) -> Result<(), Wrong> {
    let whole = |reason: String| Wrong { column: None, reason };
    if let Some(defect) = record.defect {
        return Err(whole(defect.into()));
    }
    if record.len() != columns.len() {
        return Err(whole(format!("has {} fields, expected {}", record.len(), columns.len())));
    }
    let mut fields = Vec::with_capacity(columns.len());
    for (i, column) in columns.iter().enumerate() {
        let field = record
            .field(i)
            .map_err(|_| Wrong { column: Some(column.name.clone()), reason: "is not valid UTF-8".into() })?;
        fields.push(field);
    }
    let mut values = Vec::with_capacity(columns.len());
    for (field, column) in fields.iter().zip(columns) {
        let wrong = |reason: String| Wrong { column: Some(column.name.clone()), reason };
        let value = match field {
            None => Value::Null,
            Some(text) => parse(column.sql_type, text).map_err(wrong)?,
        };
        if let (Value::Null, Some(why)) = (&value, column.refuses_null()) {
            return Err(wrong(why.into()));
        }
        values.push(value);
    }
    for (collector, value) in collectors.iter_mut().zip(&values) {
        collector.append(value);
    }
    Ok(())
}

/// The first `rows` records of a text, for guessing: names of a first line that may be a header, and fields.
pub(super) fn sample<R: Read>(records: &mut Records<R>, rows: usize) -> Result<Vec<Vec<Option<String>>>> {
    let mut sample = Vec::new();
    while sample.len() < rows {
        let Some(record) = records.next_record().with_context(|| "cannot read".into())? else { break };
        if record.defect.is_some() {
            continue;
        }
        let fields = (0..record.len()).map(|i| Ok(record.field(i)?.map(|text| text.into_owned())));
        match fields.collect::<Result<Vec<_>, std::str::Utf8Error>>() {
            Ok(fields) => sample.push(fields),
            Err(_) if !sample.is_empty() => continue,
            Err(_) => return unfit("the first line is not valid UTF-8".into()),
        }
    }
    Ok(sample)
}
