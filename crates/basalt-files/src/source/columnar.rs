// SPDX-License-Identifier: Apache-2.0
//! Parquet and Arrow IPC files as batches: columns by name, cast to the declared types.
//!
//! A value that a cast would change beyond recognition (an integer that overflows, a text that is no date) makes its row bad.
//! What cannot work for any row (DECIMALs with more digits behind the point than the table keeps, a list for a number) is
//! refused before the first row is read.

mod side_by_side;

use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, can_cast_types, cast_with_options, filter_record_batch};
use arrow::datatypes::{DataType, Int8Type, Int16Type, Int32Type, Int64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use basalt_hfile::typed::DECIMAL_DEFAULT;
use basalt_model::SqlType;
use basalt_model::types::value::check_json;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};

use super::text::schema_of;
use super::value::integer_range;
use super::{BadRow, Refusals, Source, Target, TargetColumn, arrow_type, file, input, is_stdin, unfit};
use crate::error::{Context, Result};
use crate::format::Options;
use crate::sink::json_row;
use side_by_side::SideBySide;

/// Batches of a columnar file with the share of the file that each of them stands for.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

pub(super) struct ColumnarSource {
    batches: Batches,
    file: String,
    positions: Vec<usize>,
    columns: Vec<TargetColumn>,
    schema: SchemaRef,
    rows_read: u64,
    /// Bytes of the file per row, to tell how far the reader is.
    bytes_per_row: f64,
    read: Arc<AtomicU64>,
    ended: bool,
}

/// Opens a Parquet file.
pub(super) fn parquet(
    path: &Path,
    name: String,
    options: &Options,
    target: &Target,
    read: Arc<AtomicU64>,
) -> Result<ColumnarSource> {
    let metadata = parquet_metadata(path)?;
    let whole = metadata.metadata().file_metadata().num_rows().max(1);
    let fields = metadata.schema().fields().len();
    let columns = if options.some_columns { exact(metadata.schema(), target) } else { (0..fields).collect() };
    let bytes_per_row = std::fs::metadata(path).map_or(0, |meta| meta.len()) as f64 / whole as f64;
    let batches = SideBySide::start(path, &metadata, &columns, options.threads.max(1))?;
    let schema = Arc::clone(batches.schema());
    ColumnarSource::try_new(Box::new(batches), &schema, name, target, bytes_per_row, read)
}

/// Opens an Arrow IPC file or stream; which of the two is told by its first bytes.
pub(super) fn arrow(
    path: &Path,
    name: String,
    options: &Options,
    target: &Target,
    read: Arc<AtomicU64>,
) -> Result<ColumnarSource> {
    let (mut batches, mut schema) = arrow_batches(path)?;
    if options.some_columns {
        let wanted = exact(&schema, target);
        schema = Arc::new(schema.project(&wanted).with_context(|| format!("cannot read {name}"))?);
        batches = Box::new(batches.map(move |batch| batch?.project(&wanted)));
    }
    ColumnarSource::try_new(batches, &schema, name, target, 0.0, read)
}

/// The columns of the file whose names the target has, letter by letter.
fn exact(schema: &Schema, target: &Target) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    let known = |name: &String| target.columns.iter().any(|column| column.name == *name);
    fields.filter(|(_, field)| known(field.name())).map(|(at, _)| at).collect()
}

/// The Arrow schema of a Parquet file.
pub(super) fn parquet_schema(path: &Path) -> Result<SchemaRef> {
    Ok(parquet_metadata(path)?.schema().clone())
}

/// The schema of an Arrow IPC file or stream.
pub(super) fn arrow_schema(path: &Path) -> Result<SchemaRef> {
    Ok(arrow_batches(path)?.1)
}

fn parquet_metadata(path: &Path) -> Result<ArrowReaderMetadata> {
    if is_stdin(path) {
        return unfit(
            "Parquet has its directory at the end, so it cannot be read from the standard input; give a file"
                .into(),
        );
    }
    ArrowReaderMetadata::load(&file(path)?, ArrowReaderOptions::default())
        .with_context(|| format!("cannot read {} as Parquet", path.display()))
}

fn arrow_batches(path: &Path) -> Result<(Batches, SchemaRef)> {
    let wrong = || format!("cannot read {} as Arrow IPC", path.display());
    if !is_stdin(path) {
        let mut head = [0; 6];
        let mut file = file(path)?;
        let is_file = file.read_exact(&mut head).is_ok() && head == *b"ARROW1";
        if is_file {
            file.rewind().with_context(wrong)?;
            let reader = FileReader::try_new(BufReader::new(file), None).with_context(wrong)?;
            let schema = reader.schema();
            return Ok((Box::new(reader), schema));
        }
    }
    let reader = StreamReader::try_new(BufReader::new(input(path)?), None).with_context(wrong)?;
    let schema = reader.schema();
    Ok((Box::new(reader), schema))
}

impl ColumnarSource {
    fn try_new(
        batches: Batches,
        file_schema: &Schema,
        file: String,
        target: &Target,
        bytes_per_row: f64,
        read: Arc<AtomicU64>,
    ) -> Result<Self> {
        let names: Vec<String> = file_schema.fields().iter().map(|field| field.name().clone()).collect();
        let positions = target.positions(&names, &file)?;
        let columns: Vec<_> = positions.iter().map(|&i| target.columns[i].clone()).collect();
        for (field, column) in file_schema.fields().iter().zip(&columns) {
            if let Some(why) = refusal(field.data_type(), column.sql_type) {
                return unfit(format!("{file}, column {}: {why}", column.name));
            }
        }
        let schema = schema_of(&columns);
        Ok(Self {
            batches,
            file,
            positions,
            columns,
            schema,
            rows_read: 0,
            bytes_per_row,
            read,
            ended: false,
        })
    }

    /// Casts every column; answers the batch of the good rows, and stops behind the last of them if a bad row stops the load.
    fn conform(&mut self, batch: &RecordBatch, bad: &mut dyn Refusals) -> Result<RecordBatch> {
        let first = self.rows_read;
        let mut wrong: Vec<(usize, usize, String)> = Vec::new();
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (i, column) in self.columns.iter().enumerate() {
            let array = cast(batch.column(i), column, &mut |row, reason| wrong.push((row, i, reason)))?;
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let good = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .with_context(|| self.file.clone())?;
        if wrong.is_empty() {
            return Ok(good);
        }
        wrong.sort_by_key(|(row, ..)| *row);
        wrong.dedup_by_key(|(row, ..)| *row);
        let mut keep = vec![true; good.num_rows()];
        for (row, column, reason) in wrong {
            let place = format!("row {}", first + row as u64 + 1);
            let name = Some(self.columns[column].name.clone());
            let raw = json_row(batch, row).with_context(|| self.file.clone())?;
            keep[row] = false;
            if !bad.report(BadRow { file: self.file.clone(), place, column: name, reason, raw })? {
                keep[row..].fill(false);
                self.ended = true;
                break;
            }
        }
        filter_record_batch(&good, &BooleanArray::from(keep)).with_context(|| self.file.clone())
    }
}

impl Source for ColumnarSource {
    fn columns(&self) -> &[usize] {
        &self.positions
    }

    fn next_batch(&mut self, bad: &mut dyn Refusals) -> Result<Option<RecordBatch>> {
        while !self.ended {
            let Some(batch) = self.batches.next() else { break };
            let batch =
                batch.with_context(|| format!("cannot read {} behind row {}", self.file, self.rows_read))?;
            let good = self.conform(&batch, bad)?;
            self.rows_read += batch.num_rows() as u64;
            self.read.fetch_add((batch.num_rows() as f64 * self.bytes_per_row) as u64, Ordering::Relaxed);
            if good.num_rows() > 0 {
                return Ok(Some(good));
            }
        }
        self.ended = true;
        Ok(None)
    }
}

/// Why no value of the type `from` should go into a column of the type `to`.
fn refusal(from: &DataType, to: SqlType) -> Option<String> {
    if let (DataType::Decimal128(_, found) | DataType::Decimal256(_, found), SqlType::Decimal(size)) =
        (from, to)
    {
        let (_, kept) = size.unwrap_or(DECIMAL_DEFAULT);
        if *found > kept {
            return Some(format!("the file has {found} digits behind the point, {to} keeps {kept}"));
        }
    }
    let to_arrow = arrow_type(to);
    let is_text =
        |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let is_bytes = |data_type: &DataType| {
        matches!(
            data_type,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
        )
    };
    // Arrow would reinterpret the bytes of one as the other, and hex is what people mean.
    let mixes = is_text(from) && is_bytes(&to_arrow) || is_bytes(from) && is_text(&to_arrow);
    (mixes || !can_cast_types(from, &to_arrow))
        .then(|| format!("the file has {from}, which {to} cannot hold"))
}

/// Casts a column and reports every row whose value does not fit.
fn cast(array: &ArrayRef, column: &TargetColumn, wrong: &mut dyn FnMut(usize, String)) -> Result<ArrayRef> {
    let to = arrow_type(column.sql_type);
    let cast = if *array.data_type() == to {
        array.clone()
    } else {
        let safe = CastOptions { safe: true, format_options: FormatOptions::default() };
        let cast = cast_with_options(array, &to, &safe).with_context(|| format!("column {}", column.name))?;
        if cast.null_count() > array.logical_null_count() {
            for row in (0..array.len()).filter(|&row| cast.is_null(row) && !array.is_null(row)) {
                wrong(row, format!("{} does not fit {}", value_text(array, row), column.sql_type));
            }
        }
        cast
    };
    if let (true, Some(why)) = (cast.logical_null_count() > 0, column.refuses_null()) {
        (0..cast.len())
            .filter(|&row| cast.is_null(row) && array.is_null(row))
            .for_each(|row| wrong(row, why.into()));
    }
    check_range(&cast, column, wrong);
    check_length(&cast, column, wrong);
    Ok(cast)
}

fn value_text(array: &ArrayRef, row: usize) -> String {
    match ArrayFormatter::try_new(array, &FormatOptions::default()) {
        Ok(formatter) => format!("'{}'", formatter.value(row)),
        Err(_) => "the value".into(),
    }
}

/// Unsigned types share their arrays with the signed ones.
fn check_range(array: &ArrayRef, column: &TargetColumn, wrong: &mut dyn FnMut(usize, String)) {
    use SqlType::*;
    let sql_type = column.sql_type;
    let negative: Vec<usize> = match (sql_type, array.data_type()) {
        (UnsignedTinyInt | UnsignedSmallInt | UnsignedInt | UnsignedLong, data_type) => {
            debug_assert!(
                integer_range(sql_type).is_some_and(|(min, _)| min == 0),
                "unsigned types begin at 0"
            );
            let below = |row: &usize| match data_type {
                DataType::Int8 => array.as_primitive::<Int8Type>().value(*row) < 0,
                DataType::Int16 => array.as_primitive::<Int16Type>().value(*row) < 0,
                DataType::Int32 => array.as_primitive::<Int32Type>().value(*row) < 0,
                _ => array.as_primitive::<Int64Type>().value(*row) < 0,
            };
            (0..array.len()).filter(|row| array.is_valid(*row)).filter(below).collect()
        }
        (UnsignedFloat | UnsignedDouble | UnsignedDate | UnsignedTime | UnsignedTimestamp, _) => (0..array
            .len())
            .filter(|&row| array.is_valid(row) && value_text(array, row).starts_with("'-"))
            .collect(),
        _ => return,
    };
    for row in negative {
        wrong(row, format!("{} does not fit {sql_type}", value_text(array, row)));
    }
}

fn check_length(array: &ArrayRef, column: &TargetColumn, wrong: &mut dyn FnMut(usize, String)) {
    let sql_type = column.sql_type;
    let valid = (0..array.len()).filter(|&row| array.is_valid(row));
    match sql_type {
        SqlType::Varchar(Some(length)) => {
            let texts = array.as_string_view();
            for row in valid.filter(|&row| texts.value(row).len() > length as usize) {
                let found = texts.value(row).chars().count();
                if found > length as usize {
                    wrong(row, format!("has {found} characters, {sql_type} takes {length}"));
                }
            }
        }
        SqlType::Json => {
            let texts = array.as_string_view();
            for row in valid {
                if let Err(error) = check_json(texts.value(row)) {
                    wrong(row, error.to_string());
                }
            }
        }
        SqlType::Char(length) => {
            let texts = array.as_string_view();
            for row in valid {
                let text = texts.value(row).trim_end_matches(' ');
                if text.len() > length as usize || !text.is_ascii() {
                    wrong(row, format!("'{text}' does not fit {sql_type}"));
                }
            }
        }
        SqlType::Binary(length) | SqlType::Varbinary(Some(length)) => {
            let values = array.as_binary::<i32>();
            for row in valid.filter(|&row| values.value(row).len() > length as usize) {
                wrong(row, format!("has {} bytes, {sql_type} takes {length}", values.value(row).len()));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
