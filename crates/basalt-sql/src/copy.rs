// SPDX-License-Identifier: Apache-2.0
//! COPY: the rows of a query into a file, and the rows of a file into a table.
//!
//! A file has its name when it is whole. The rows of a file become visible together, as those of UPSERT: a row that does not
//! fit is named with its place, and nothing is copied.

use std::path::Path;
use std::sync::Arc;

use basalt_files::{
    Compression, FirstBadRow, Format, Header, Options, Target, TargetColumn, TargetFile, Writing,
};
use basalt_model::TableSchema;
use basalt_model::schema::ColumnRef;
use futures::StreamExt;

use crate::dialect::{CopyFrom, OptionDef};
use crate::error::{SqlError, nearest};
use crate::file_table::refused;
use crate::ingest::{RowAssembler, RowWriter, fill};
use crate::outcome::RowStream;
use crate::plan::Planning;
use crate::progress::Progress;
use crate::upsert;

/// Options of COPY .. TO.
const OF_TO: [&str; 5] = ["FORMAT", "HEADER", "DELIMITER", "COMPRESSION", "OVERWRITE"];
/// Options of COPY .. FROM.
const OF_FROM: [&str; 3] = ["FORMAT", "HEADER", "DELIMITER"];

/// Writes rows into a file; returns how many they are.
pub(crate) async fn to_file(
    mut rows: RowStream,
    file: &str,
    writing: &Writing,
    progress: &Progress,
) -> Result<u64, SqlError> {
    let failed = |error: basalt_files::Error| refused(&error);
    let mut target = TargetFile::create(Path::new(file), rows.schema(), writing).map_err(failed)?;
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        target.add(&batch).map_err(failed)?;
        progress.add_written(batch.num_rows() as u64);
        tokio::task::yield_now().await;
    }
    target.finish().map_err(failed)
}

/// Writes the rows of a file into a table; returns how many they are.
pub(crate) async fn from_file(planning: &Planning, statement: &CopyFrom) -> Result<u64, SqlError> {
    let options = reading(&statement.options)?;
    let table = upsert::open(planning, &statement.table, statement.columns.as_deref())?;
    let schema = table.table_schema();
    let listed = match &statement.columns {
        Some(listed) => upsert::target(planning, &table, Some(listed), listed.len(), None)?,
        None => upsert::free_columns(&table)?,
    };
    upsert::refuse_fixed(&table, &listed)?;
    let position = planning.tokens().find_file(&statement.file);
    let failed = |error: basalt_files::Error| refused(&error).at(position);
    let target = Target { columns: listed.iter().map(|&column| target_column(schema, column)).collect() };
    let mut source =
        basalt_files::open(Path::new(&statement.file), &options, &target, Arc::default()).map_err(failed)?;
    let columns: Vec<ColumnRef> = source.columns().iter().map(|&at| listed[at]).collect();
    let constants = fill(planning, &table, &columns)?;
    let mut assembler =
        RowAssembler::try_new(table.id, Arc::clone(&table.descriptor), columns, constants, false)?;
    let mut writer = RowWriter::new(planning.engine.clone(), table.id, Arc::clone(&planning.progress));
    let (mut rows, mut bad) = (0, FirstBadRow::default());
    while let Some(batch) = source.next_batch(&mut bad).map_err(failed)? {
        if bad.0.is_some() {
            break;
        }
        assembler
            .add(batch.columns(), batch.num_rows(), writer.batch())
            .map_err(|refusal| refusal.into_error(rows, false).within(&statement.file))?;
        rows += batch.num_rows() as u64;
        writer.added(batch.num_rows() as u64)?;
        tokio::task::yield_now().await;
    }
    if let Some(row) = bad.0 {
        return Err(SqlError::statement(format!("{row}; nothing was copied")).at(position));
    }
    writer.end().await
}

fn target_column(schema: &TableSchema, column: ColumnRef) -> TargetColumn {
    let name = schema.name(column);
    let (is_key, nullable) = match column {
        ColumnRef::Key(at) => {
            let is_filled = schema.key_defaults.contains_key(name) || schema.row_timestamp == Some(at);
            (true, schema.key[at].nullable || is_filled)
        }
        ColumnRef::Column(at) => (false, schema.columns[at].nullable),
    };
    TargetColumn { name: name.to_owned(), sql_type: schema.sql_type(column), is_key, nullable }
}

/// How COPY .. FROM reads.
fn reading(options: &[OptionDef]) -> Result<Options, SqlError> {
    let mut reading = Options::default();
    for option in options {
        match option.name.as_str() {
            "FORMAT" => reading.format = Some(format(option)?),
            "DELIMITER" => reading.delimiter = Some(delimiter(option)?),
            "HEADER" if option.value.eq_ignore_ascii_case("auto") => reading.header = Header::Auto,
            "HEADER" => reading.header = if is_true(option)? { Header::Yes } else { Header::No },
            _ => return Err(unknown(option, &OF_FROM)),
        }
    }
    Ok(reading)
}

/// How COPY .. TO writes.
pub(crate) fn writing(options: &[OptionDef]) -> Result<Writing, SqlError> {
    let mut writing = Writing::default();
    for option in options {
        match option.name.as_str() {
            "FORMAT" => writing.format = Some(format(option)?),
            "DELIMITER" => writing.csv.delimiter = delimiter(option)?,
            "HEADER" => writing.csv.header = is_true(option)?,
            "COMPRESSION" => writing.compression = compression(option)?,
            "OVERWRITE" => writing.overwrite = is_true(option)?,
            _ => return Err(unknown(option, &OF_TO)),
        }
    }
    Ok(writing)
}

fn unknown(option: &OptionDef, known: &[&str]) -> SqlError {
    SqlError::statement(format!("COPY has no option {} here; it takes {}", option.name, known.join(", ")))
        .suggest(nearest(&option.name, known.iter().copied()))
}

fn invalid(option: &OptionDef, expected: &str) -> SqlError {
    SqlError::statement(format!("option {} must be {expected}; found {}", option.name, option.value))
}

fn format(option: &OptionDef) -> Result<Format, SqlError> {
    Format::of_name(&option.value.to_lowercase())
        .ok_or_else(|| invalid(option, "CSV, TSV, TBL, JSONL, PARQUET or ARROW"))
}

fn delimiter(option: &OptionDef) -> Result<u8, SqlError> {
    match option.value.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ if option.value == "\\t" => Ok(b'\t'),
        _ => Err(invalid(option, "one character of ASCII, and no quote")),
    }
}

fn is_true(option: &OptionDef) -> Result<bool, SqlError> {
    match option.value.to_uppercase().as_str() {
        "TRUE" | "YES" | "ON" => Ok(true),
        "FALSE" | "NO" | "OFF" => Ok(false),
        _ => Err(invalid(option, "TRUE or FALSE")),
    }
}

fn compression(option: &OptionDef) -> Result<Compression, SqlError> {
    Ok(match option.value.to_uppercase().as_str() {
        "ZSTD" => Compression::Zstd,
        "SNAPPY" => Compression::Snappy,
        "GZIP" | "GZ" => Compression::Gzip,
        "LZ4" => Compression::Lz4,
        "NONE" => Compression::None,
        _ => return Err(invalid(option, "ZSTD, SNAPPY, GZIP, LZ4 or NONE")),
    })
}
