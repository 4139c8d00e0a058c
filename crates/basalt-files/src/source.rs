// SPDX-License-Identifier: Apache-2.0
//! Files as rows: of a table whose columns are given ([`open`]), or of columns that are found in the file ([`infer`]).
//!
//! ```text
//! bytes -> records and fields (text)  -> values of the declared types -> Arrow arrays \
//!          lines of JSON              ->                                               > batches for the engine
//! Parquet, Arrow IPC                  -> arrays cast to the declared types            /
//! ```
//! Rule: a row that does not fit is known by file, line, column and reason before the engine sees it, and goes to
//! [`Refusals`]; the rows around it are not lost.

mod bad_row;
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

use arrow::record_batch::RecordBatch;
use basalt_hfile::typed::arrow_type;
use basalt_model::schema::ColumnRef;
use basalt_model::{SqlType, TableSchema};

use crate::error::{Context, Error, Result};
use crate::format::{Format, Options};

pub use bad_row::{BadRow, FirstBadRow, Refusals};
pub use infer::{Inferred, has_names, infer, of_schema};

/// Rows of a batch.
const BATCH_ROWS: usize = 8_192;

/// The columns of a table in declared order, as far as a loader must know them.
#[derive(Debug, Clone)]
pub struct Target {
    /// The columns.
    pub columns: Vec<TargetColumn>,
}

/// A column that values are loaded into.
#[derive(Debug, Clone)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// The type that values must have.
    pub sql_type: SqlType,
    /// It is part of the primary key.
    pub is_key: bool,
    /// It takes NULL.
    pub nullable: bool,
}

impl Target {
    /// The columns of a table.
    pub fn of_schema(schema: &TableSchema) -> Self {
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
    fn positions(&self, names: &[String], file: &str) -> Result<Vec<usize>> {
        let mut positions = Vec::with_capacity(names.len());
        for name in names {
            let Some(position) = self.position(name) else {
                let nearest = self.nearest(name);
                return unfit(format!("{file} has a column {name}, which the table has not{nearest}"));
            };
            if positions.contains(&position) {
                return unfit(format!("{file} has the column {name} twice"));
            }
            positions.push(position);
        }
        let missing =
            self.columns.iter().enumerate().find(|(i, column)| !column.nullable && !positions.contains(i));
        if let Some((_, column)) = missing {
            let why = if column.is_key { "is part of the primary key" } else { "is NOT NULL" };
            return unfit(format!("{file} has no column {}, which {why}", column.name));
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

fn unfit<T>(message: String) -> Result<T> {
    Err(Error::Unfit(message))
}

/// Gives the rows of one file, batch by batch.
pub trait Source: Send {
    /// Columns of the target that the batches have, in the order of the batches.
    fn columns(&self) -> &[usize];

    /// The next batch; its types are the target's. `None` at the end, and after a bad row that stops the load.
    fn next_batch(&mut self, bad: &mut dyn Refusals) -> Result<Option<RecordBatch>>;
}

/// Opens a file for reading into `target`; `read` counts the bytes taken from it.
pub fn open(
    path: &Path,
    options: &Options,
    target: &Target,
    read: Arc<AtomicU64>,
) -> Result<Box<dyn Source>> {
    let name = shown(path);
    let format = options.format_of(path)?;
    Ok(match format {
        Format::Csv | Format::Tsv | Format::Tbl => {
            let input = Counted { inner: input(path)?, read };
            Box::new(text::TextSource::try_new(input, name, format, options, target)?)
        }
        Format::Jsonl => {
            let input = Counted { inner: input(path)?, read };
            Box::new(jsonl::JsonSource::new(input, name, target))
        }
        Format::Parquet => Box::new(columnar::parquet(path, name, options, target, read)?),
        Format::Arrow => Box::new(columnar::arrow(path, name, options, target, read)?),
    })
}

/// The size of all files together, or 0 if one of them is no regular file.
pub fn total_bytes(paths: &[PathBuf]) -> u64 {
    let sizes = paths
        .iter()
        .map(|path| std::fs::metadata(path).ok().filter(|meta| meta.is_file()).map(|meta| meta.len()));
    sizes.sum::<Option<u64>>().unwrap_or(0)
}

/// The name of the file in messages.
pub fn shown(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn input(path: &Path) -> Result<Box<dyn Read + Send>> {
    if is_stdin(path) { Ok(Box::new(io::stdin())) } else { Ok(Box::new(file(path)?)) }
}

fn file(path: &Path) -> Result<File> {
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
