// SPDX-License-Identifier: Apache-2.0
//! JSON lines: one object a line, keys are column names, what is missing is NULL.
//!
//! Numbers are kept as text until the declared type is known, so a DECIMAL loses no digit to a double. An array or object
//! goes into a text column as it stands.

mod scan;

use std::io::{BufRead, BufReader, Read};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use super::text::schema_of;
use super::value::{Collector, Value, parse};
use super::{BATCH_ROWS, BadRow, Refusals, Source, Target, unfit};
use crate::error::{Context, Result};
use scan::{Scanned, object};

/// Longest line.
const LINE_BYTES_MAX: u64 = 64 << 20;

pub(super) struct JsonSource<R> {
    input: BufReader<R>,
    file: String,
    target: Target,
    positions: Vec<usize>,
    collectors: Vec<Collector>,
    schema: SchemaRef,
    line: u64,
    ended: bool,
}

impl<R: Read> JsonSource<R> {
    pub(super) fn new(input: R, file: String, target: &Target) -> Self {
        Self {
            input: BufReader::with_capacity(1 << 20, input),
            file,
            target: target.clone(),
            positions: (0..target.columns.len()).collect(),
            collectors: target.columns.iter().map(|column| Collector::new(column.sql_type)).collect(),
            schema: schema_of(&target.columns),
            line: 0,
            ended: false,
        }
    }

    /// Reads the next line with its end; false at the end of the input.
    fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        let taken = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', line);
        let taken = taken.with_context(|| format!("cannot read {}", self.file))?;
        self.line += 1;
        if taken as u64 == LINE_BYTES_MAX {
            let most = LINE_BYTES_MAX >> 20;
            return unfit(format!("{}, line {}: longer than {most} MiB", self.file, self.line));
        }
        Ok(taken > 0)
    }

    fn take(&mut self, line: &[u8]) -> Result<(), (Option<String>, String)> {
        let text = std::str::from_utf8(line).map_err(|_| (None, "is not valid UTF-8".to_string()))?;
        let pairs = object(text).map_err(|wrong| (None, wrong))?;
        let mut fields: Vec<Option<&Scanned<'_>>> = vec![None; self.target.columns.len()];
        for (i, (key, value)) in pairs.iter().enumerate() {
            let expected = self.target.columns.get(i).is_some_and(|column| column.name == *key).then_some(i);
            let Some(position) = expected.or_else(|| self.target.position(key)) else {
                let nearest = self.target.nearest(key);
                return Err((None, format!("has a key {key}, which the table has not{nearest}")));
            };
            if fields[position].replace(value).is_some() {
                return Err((Some(self.target.columns[position].name.clone()), "is there twice".into()));
            }
        }
        let mut values = Vec::with_capacity(fields.len());
        for (field, column) in fields.iter().zip(&self.target.columns) {
            let wrong = |reason: String| (Some(column.name.clone()), reason);
            let value = match field {
                None | Some(Scanned::Null) => Value::Null,
                Some(Scanned::Plain(text)) => parse(column.sql_type, text).map_err(wrong)?,
                Some(Scanned::Text(text)) => parse(column.sql_type, text).map_err(wrong)?,
            };
            if let (Value::Null, Some(why)) = (&value, column.refuses_null()) {
                return Err(wrong(why.into()));
            }
            values.push(value);
        }
        for (collector, value) in self.collectors.iter_mut().zip(&values) {
            collector.append(value);
        }
        Ok(())
    }
}

impl<R: Read + Send> Source for JsonSource<R> {
    fn columns(&self) -> &[usize] {
        &self.positions
    }

    fn next_batch(&mut self, bad: &mut dyn Refusals) -> Result<Option<RecordBatch>> {
        let mut rows = 0;
        let mut line = Vec::new();
        while rows < BATCH_ROWS && !self.ended {
            if !self.read_line(&mut line)? {
                self.ended = true;
            } else if !line.trim_ascii().is_empty() {
                match self.take(&line) {
                    Ok(()) => rows += 1,
                    Err((column, reason)) => {
                        let place = format!("line {}", self.line);
                        let row =
                            BadRow { file: self.file.clone(), place, column, reason, raw: line.clone() };
                        self.ended = !bad.report(row)?;
                    }
                }
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

/// A key, its value unless that is null, and whether the value is a text.
pub(super) type Pair = (String, Option<String>, bool);

/// Keys and values of the first `rows` objects, for guessing.
pub(super) fn sample(input: impl Read, rows: usize) -> Result<Vec<Vec<Pair>>> {
    let mut sample = Vec::new();
    for line in BufReader::new(input).lines() {
        let line = line.with_context(|| "cannot read".into())?;
        if sample.len() == rows {
            break;
        }
        let Ok(pairs) = object(&line) else { continue };
        let pairs = pairs.into_iter().map(|(key, value)| match value {
            Scanned::Null => (key.into_owned(), None, false),
            Scanned::Plain(text) => (key.into_owned(), Some(text.to_string()), false),
            Scanned::Text(text) => (key.into_owned(), Some(text.into_owned()), true),
        });
        sample.push(pairs.collect());
    }
    Ok(sample)
}

#[cfg(test)]
mod tests;
