// SPDX-License-Identifier: Apache-2.0
//! A file that is written: it gets its name when it is whole.
//!
//! 1. A file beside the wanted one, of another name, takes the rows.
//! 2. Its bytes go to the disk.
//! 3. It gets the wanted name, in one step: whoever looks finds the old file, or none, or all rows.
//!
//! Dropped before the last step, it is removed. Killed before it, the process leaves a file that ends in `.unfinished`.

use std::fs::{File, Permissions};
use std::io::{BufWriter, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Codec, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tempfile::NamedTempFile;

use crate::error::{Context, Error, Result};
use crate::format::Format;
use crate::sink::{CsvStyle, Sink, arrow_sink, csv_sink, jsonl_sink, tsv_sink};

/// What is written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Compression inside of Parquet files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// ZSTD, level 1.
    #[default]
    Zstd,
    /// Snappy, which the oldest readers know.
    Snappy,
    /// GZIP.
    Gzip,
    /// LZ4 without frames.
    Lz4,
    /// None.
    None,
}

/// How a file is to be written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Writing {
    /// The format; by the end of the name if `None`.
    pub format: Option<Format>,
    /// Delimiter and header of CSV.
    pub csv: CsvStyle,
    /// Compression of Parquet.
    pub compression: Compression,
    /// A file of this name may be replaced.
    pub overwrite: bool,
}

/// A file that takes rows.
pub struct TargetFile {
    path: PathBuf,
    unfinished: NamedTempFile,
    writer: Writer,
    overwrite: bool,
    rows: u64,
}

enum Writer {
    Lines(Box<dyn Sink + Send>),
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
}

impl TargetFile {
    /// Begins a file of rows with these columns.
    pub fn create(path: &Path, schema: SchemaRef, writing: &Writing) -> Result<Self> {
        let format = match writing.format.or_else(|| Format::of_path(path)) {
            Some(Format::Tbl) => return Err(Error::Unfit("tbl files are only read; write csv".into())),
            Some(format) => format,
            None => {
                return Err(Error::Unfit(format!(
                    "cannot tell the format of {} by its name; say which it is: csv, tsv, jsonl, parquet or arrow",
                    path.display()
                )));
            }
        };
        if !writing.overwrite && path.symlink_metadata().is_ok() {
            return Err(taken(path));
        }
        let cannot = || format!("cannot write {}", path.display());
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let unfinished = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".unfinished")
            // As other files; the user's mask is applied to it.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory.unwrap_or(Path::new(".")))
            .with_context(cannot)?;
        let file = unfinished.as_file().try_clone().with_context(cannot)?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, file);
        let writer = writer(format, schema, writing, out, path)?;
        Ok(Self { path: path.to_path_buf(), unfinished, writer, overwrite: writing.overwrite, rows: 0 })
    }

    /// Writes these rows.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let cannot = || format!("cannot write {}", self.path.display());
        match &mut self.writer {
            Writer::Lines(sink) => sink.batch(batch).with_context(cannot)?,
            Writer::Parquet(writer) => writer.write(batch).with_context(cannot)?,
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Gives the file its name; returns the number of its rows.
    pub fn finish(self) -> Result<u64> {
        let Self { path, unfinished, writer, overwrite, rows } = self;
        let cannot = || format!("cannot write {}", path.display());
        match writer {
            Writer::Lines(mut sink) => sink.end(true).with_context(cannot)?,
            Writer::Parquet(writer) => {
                let out = writer.into_inner().with_context(cannot)?;
                out.into_inner().map_err(|error| error.into_error()).with_context(cannot)?;
            }
        }
        unfinished.as_file().sync_all().with_context(cannot)?;
        let named = if overwrite { unfinished.persist(&path) } else { unfinished.persist_noclobber(&path) };
        match named {
            Ok(_) => Ok(rows),
            Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => Err(taken(&path)),
            Err(failed) => Err(failed.error).with_context(cannot),
        }
    }
}

fn taken(path: &Path) -> Error {
    Error::Unfit(format!("{} exists; choose another name, or say OVERWRITE to replace it", path.display()))
}

fn writer(
    format: Format,
    schema: SchemaRef,
    writing: &Writing,
    out: BufWriter<File>,
    path: &Path,
) -> Result<Writer> {
    let cannot = || format!("cannot write {}", path.display());
    Ok(match format {
        Format::Parquet => {
            let properties = WriterProperties::builder().set_compression(codec(writing.compression)).build();
            let writer = ArrowWriter::try_new(out, schema, Some(properties)).with_context(cannot)?;
            Writer::Parquet(Box::new(writer))
        }
        Format::Csv => Writer::Lines(Box::new(csv_sink(writing.csv, schema, out).with_context(cannot)?)),
        Format::Tsv => Writer::Lines(Box::new(tsv_sink(schema, out).with_context(cannot)?)),
        Format::Arrow => Writer::Lines(Box::new(arrow_sink(schema, out).with_context(cannot)?)),
        Format::Jsonl | Format::Tbl => Writer::Lines(Box::new(jsonl_sink(schema, out))),
    })
}

fn codec(compression: Compression) -> Codec {
    match compression {
        Compression::Zstd => Codec::ZSTD(ZstdLevel::default()),
        Compression::Snappy => Codec::SNAPPY,
        Compression::Gzip => Codec::GZIP(GzipLevel::default()),
        Compression::Lz4 => Codec::LZ4_RAW,
        Compression::None => Codec::UNCOMPRESSED,
    }
}

#[cfg(test)]
mod tests;
