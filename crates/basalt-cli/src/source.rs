// SPDX-License-Identifier: Apache-2.0
//! Files as rows of a table: what `basalt load` reads.
//!
//! ```text
//! bytes -> records and fields (text)  -> values of the declared types -> Arrow arrays \
//!          lines of JSON              ->                                               > batches for the engine
//! Parquet, Arrow IPC                  -> arrays cast to the declared types            /
//! ```
//! Rule: a row that does not fit is known by file, line, column and reason before the engine sees it, and goes through
//! [`BadRows`]; the rows around it are not lost.

mod bad_rows;
mod columnar;
mod infer;
mod jsonl;
mod records;
mod text;
mod value;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use arrow::record_batch::RecordBatch;
use basalt::{ColumnRef, SqlType, TableSchema};

use crate::args::{Header, InputFormat};

pub(crate) use bad_rows::{BadRow, BadRows};
pub(crate) use infer::{Inferred, has_names, infer};

/// Rows of a batch.
const BATCH_ROWS: usize = 8_192;

/// The columns of a table in declared order, as far as a loader must know them.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) columns: Vec<TargetColumn>,
}

/// A column that values are loaded into.
#[derive(Debug, Clone)]
pub(crate) struct TargetColumn {
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    pub(crate) is_key: bool,
    pub(crate) nullable: bool,
}

impl Target {
    /// The columns of a table.
    pub(crate) fn of_schema(schema: &TableSchema) -> Self {
        let columns = schema.declared.iter().map(|column| match *column {
            ColumnRef::Key(i) => {
                let column = &schema.key[i];
                TargetColumn {
                    name: column.name.clone(),
                    sql_type: column.sql_type,
                    is_key: true,
                    nullable: column.nullable,
                }
            }
            ColumnRef::Column(i) => {
                let column = &schema.columns[i];
                TargetColumn {
                    name: column.name.clone(),
                    sql_type: column.sql_type,
                    is_key: false,
                    nullable: column.nullable,
                }
            }
        });
        Self { columns: columns.collect() }
    }

    /// The column of this name; case matters only where two names differ in nothing else.
    fn position(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.name == name)
            .or_else(|| self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)))
    }

    /// Finds a column for each name of a file.
    fn positions(&self, names: &[String], file: &str) -> anyhow::Result<Vec<usize>> {
        let mut positions = Vec::with_capacity(names.len());
        for name in names {
            let Some(position) = self.position(name) else {
                bail!("{file} has a column {name}, which the table has not{}", self.nearest(name));
            };
            if positions.contains(&position) {
                bail!("{file} has the column {name} twice");
            }
            positions.push(position);
        }
        let missing =
            self.columns.iter().enumerate().find(|(i, column)| !column.nullable && !positions.contains(i));
        if let Some((_, column)) = missing {
            let why = if column.is_key { "is part of the primary key" } else { "is NOT NULL" };
            bail!("{file} has no column {}, which {why}", column.name);
        }
        Ok(positions)
    }

    fn nearest(&self, name: &str) -> String {
        let upper = name.to_uppercase();
        let best = self
            .columns
            .iter()
            .map(|column| &column.name)
            .min_by_key(|known| strsim::damerau_levenshtein(known, &upper));
        match best {
            Some(best) if strsim::damerau_levenshtein(best, &upper) <= upper.len().div_ceil(3) => {
                format!("; did you mean {best}?")
            }
            _ => String::new(),
        }
    }
}

impl TargetColumn {
    /// Why this column cannot be NULL, if it cannot.
    fn refuses_null(&self) -> Option<&'static str> {
        match (self.nullable, self.is_key) {
            (true, _) => None,
            (false, true) => Some("is NULL, but part of the primary key"),
            (false, false) => Some("is NULL, but declared NOT NULL"),
        }
    }
}

/// How a file is to be read.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) format: Option<InputFormat>,
    pub(crate) delimiter: Option<u8>,
    pub(crate) header: Header,
}

impl Options {
    /// The format asked for, else the one that the name of the file ends in.
    fn format_of(&self, path: &Path) -> anyhow::Result<InputFormat> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        Ok(match extension.as_deref() {
            Some("csv") => InputFormat::Csv,
            Some("tsv" | "tab") => InputFormat::Tsv,
            Some("tbl") => InputFormat::Tbl,
            Some("jsonl" | "ndjson" | "json") => InputFormat::Jsonl,
            Some("parquet" | "pq") => InputFormat::Parquet,
            Some("arrow" | "arrows" | "ipc" | "feather") => InputFormat::Arrow,
            _ => bail!(
                "cannot tell the format of {} by its name; say --format csv, tsv, tbl, jsonl, parquet or arrow",
                path.display()
            ),
        })
    }
}

/// Gives the rows of one file, batch by batch.
pub(crate) trait Source: Send {
    /// Columns of the target that the batches have, in the order of the batches.
    fn columns(&self) -> &[usize];

    /// The next batch; its types are the target's. `None` at the end, and after a bad row that stops the load.
    fn next_batch(&mut self, bad: &mut BadRows) -> anyhow::Result<Option<RecordBatch>>;
}

/// Opens a file for reading into `target`; `read` counts the bytes taken from it.
pub(crate) fn open(
    path: &Path,
    options: &Options,
    target: &Target,
    read: Arc<AtomicU64>,
) -> anyhow::Result<Box<dyn Source>> {
    let name = shown(path);
    let format = options.format_of(path)?;
    Ok(match format {
        InputFormat::Csv | InputFormat::Tsv | InputFormat::Tbl => {
            let input = Counted { inner: input(path)?, read };
            Box::new(text::TextSource::try_new(input, name, format, options, target)?)
        }
        InputFormat::Jsonl => {
            let input = Counted { inner: input(path)?, read };
            Box::new(jsonl::JsonSource::new(input, name, target))
        }
        InputFormat::Parquet => Box::new(columnar::parquet(path, name, target, read)?),
        InputFormat::Arrow => Box::new(columnar::arrow(path, name, target, read)?),
    })
}

/// The size of all files together, or 0 if one of them is no regular file.
pub(crate) fn total_bytes(paths: &[PathBuf]) -> u64 {
    let sizes = paths
        .iter()
        .map(|path| std::fs::metadata(path).ok().filter(|meta| meta.is_file()).map(|meta| meta.len()));
    sizes.sum::<Option<u64>>().unwrap_or(0)
}

/// The name of the file in messages.
pub(crate) fn shown(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn input(path: &Path) -> anyhow::Result<Box<dyn Read + Send>> {
    if is_stdin(path) { Ok(Box::new(io::stdin())) } else { Ok(Box::new(file(path)?)) }
}

fn file(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// Counts what is read, for the progress bar.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.inner.read(buffer)?;
        self.read.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
