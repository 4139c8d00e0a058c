// SPDX-License-Identifier: Apache-2.0
//! `basalt tpch`: the tables of the TPC-H benchmark as files.
//!
//! Rows are made on one thread and written on another, with a few batches in between, so memory stays bounded at any scale factor.
//! A file has its final name only when it is whole.

mod tables;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use anyhow::Context;
use arrow::record_batch::RecordBatch;
use clap::ValueEnum;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::args::{Shared, TpchArgs, TpchFormat};
use crate::failure::Result;
use crate::output::grouped;
use crate::progress::{Bar, Counters, duration, short, size};

pub(crate) use tables::Table;

/// Rows of a batch, also of a batch of lines.
const BATCH_ROWS: usize = 8_192;
/// Batches between the thread that makes rows and the one that writes them.
const BATCHES_WAITING: usize = 8;
/// Rows of a Parquet row group; a group is kept in memory until it is written.
const GROUP_ROWS: usize = 128 * 1_024;

/// Runs the command.
pub(crate) fn run(args: &TpchArgs, shared: &Shared) -> Result<()> {
    let tables = if args.tables.is_empty() { Table::value_variants() } else { &args.tables };
    for &table in tables {
        let started = Instant::now();
        let written = generate(&args.dir, table, args.scale, args.format, shared.quiet)?;
        if !shared.quiet {
            let elapsed = started.elapsed();
            eprintln!(
                "{}: {} rows, {} in {} ({} rows/s)",
                written.path.display(),
                grouped(written.rows),
                size(written.bytes),
                duration(elapsed),
                short(written.rows as f64 / elapsed.as_secs_f64())
            );
        }
    }
    Ok(())
}

/// A file that was made.
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// The file of a table in `dir`.
pub(crate) fn path_of(dir: &Path, table: Table, format: TpchFormat) -> PathBuf {
    let extension = match format {
        TpchFormat::Parquet => "parquet",
        TpchFormat::Csv => "csv",
        TpchFormat::Tbl => "tbl",
    };
    dir.join(format!("{}.{extension}", table.name()))
}

/// Makes the file of one table.
pub(crate) fn generate(
    dir: &Path,
    table: Table,
    scale: f64,
    format: TpchFormat,
    quiet: bool,
) -> Result<Written> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make directory {}", dir.display()))?;
    let path = path_of(dir, table, format);
    let unfinished = path.with_extension("unfinished");
    let counters = Arc::new(Counters::default());
    // The bar counts rows, because bytes are known only after they are compressed.
    let total = table.rows_estimate(scale);
    let bar = {
        let (counters, name) = (counters.clone(), table.name());
        Bar::start(quiet, move || {
            let mut reading = counters.read(name.into());
            reading.fraction = Some((reading.rows as f64 / total as f64).min(1.0));
            reading
        })
    };
    let file =
        File::create(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
    let done = match format {
        TpchFormat::Parquet => write_parquet(file, table, scale, &counters),
        TpchFormat::Csv | TpchFormat::Tbl => write_lines(file, table, scale, format, &counters),
    };
    done.and_then(|()| fs::rename(&unfinished, &path).map_err(Into::into))
        .with_context(|| format!("cannot write {}", path.display()))?;
    drop(bar);
    let bytes = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
    Ok(Written { path, rows: counters.rows.load(Ordering::Relaxed), bytes })
}

fn write_parquet(file: File, table: Table, scale: f64, counters: &Counters) -> anyhow::Result<()> {
    let batches = table.batches(scale, BATCH_ROWS);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let mut writer = ArrowWriter::try_new(BufWriter::new(file), batches.schema(), Some(properties))?;
    let (send, receive) = sync_channel(BATCHES_WAITING);
    std::thread::scope(|threads| {
        threads.spawn(move || {
            for batch in batches {
                if send.send(batch).is_err() {
                    return;
                }
            }
        });
        // The receiver ends with the writer: if that fails, the other thread stops at its next batch.
        for batch in counted(receive, counters, |batch| batch.as_ref().map_or(0, RecordBatch::num_rows)) {
            writer.write(&batch?)?;
            counters.bytes.store(writer.bytes_written() as u64, Ordering::Relaxed);
        }
        writer.into_inner()?.flush()?;
        Ok(())
    })
}

fn write_lines(
    file: File,
    table: Table,
    scale: f64,
    format: TpchFormat,
    counters: &Counters,
) -> anyhow::Result<()> {
    let mut file = BufWriter::new(file);
    if format == TpchFormat::Csv {
        writeln!(file, "{}", table.csv_header())?;
    }
    let (send, receive) = sync_channel(BATCHES_WAITING);
    std::thread::scope(|threads| {
        threads.spawn(move || {
            table.lines(scale, format, BATCH_ROWS, &mut |lines, rows| send.send((lines, rows)).is_ok())
        });
        for (lines, _) in counted(receive, counters, |(_, rows): &(String, usize)| *rows) {
            file.write_all(lines.as_bytes())?;
            counters.bytes.fetch_add(lines.len() as u64, Ordering::Relaxed);
        }
        file.flush()?;
        Ok(())
    })
}

fn counted<T>(
    items: Receiver<T>,
    counters: &Counters,
    rows: impl Fn(&T) -> usize,
) -> impl Iterator<Item = T> {
    items.into_iter().inspect(move |item| {
        counters.rows.fetch_add(rows(item) as u64, Ordering::Relaxed);
    })
}

#[cfg(test)]
mod tests;
