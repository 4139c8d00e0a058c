// SPDX-License-Identifier: Apache-2.0
//! `basalt load`: files into a table, past the write-ahead log.
//!
//! ```text
//! decoding threads:  file -> batches of the table's types --(a few at a time)--> this thread: cells -> store files
//! ```
//! The rows of a load become visible together at its end; a load that is killed or cancelled has loaded nothing. A bad
//! row under `--on-error stop` ends the load behind the rows before it: those are loaded, and their number is said.

mod create;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use anyhow::{Context, anyhow};
use arrow::record_batch::RecordBatch;
use basalt::{BulkLoad, Progress, RowRefusal, TableDescriptor, TableName};
use basalt_files::{Options, Target, json_row, open, total_bytes};

use crate::args::{LoadArgs, Shared};
use crate::bad_rows::BadRows;
use crate::connection::{Connection, interrupted};
use crate::failure::{Failure, Result};
use crate::output::grouped;
use crate::progress::{Bar, Reading, duration, short, size};
use crate::statement;

pub(crate) use create::create_table;

/// Batches between the two threads.
const BATCHES_WAITING: usize = 8;
/// Memory of a load if the user says nothing: what is loaded goes straight to files, so more would not help.
const MEMORY_BYTES: u64 = 1 << 30;

/// Runs the command.
pub(crate) fn run(args: &LoadArgs, shared: &Shared) -> Result<()> {
    if args.create && args.primary_key.is_empty() {
        return Err(create::primary_key_missing(args));
    }
    if !args.create && !args.primary_key.is_empty() {
        return Err(Failure::usage("--primary-key goes with --create"));
    }
    let shared =
        Shared { memory: shared.memory.or(Some(crate::args::ByteSize(MEMORY_BYTES))), ..shared.clone() };
    let connection = Connection::open(Some(&args.db), &shared)?;
    let options = Options { threads: shared.threads(), ..args.options() };
    if args.create {
        create_table(&connection, &args.table, &args.files[0], &args.primary_key, &options)?;
    }
    let mut bad = BadRows::try_new(&args.on_error, shared.quiet)?;
    let started = Instant::now();
    let loaded = load(&connection, &args.table, &args.files, &options, &mut bad, shared.quiet)?;
    let left_out = bad.finish()?;
    if let Some(row) = bad.stopped_by() {
        let kept = match loaded.rows {
            0 => "no row before it".to_string(),
            1 => "the row before it was loaded".to_string(),
            rows => format!("the {} rows before it were loaded", grouped(rows)),
        };
        return Err(Failure::input(anyhow!("{row}; {kept}")));
    }
    if !shared.quiet {
        let elapsed = started.elapsed();
        let rate = short(loaded.rows as f64 / elapsed.as_secs_f64());
        let mut line = format!(
            "{}: {} rows in {} ({rate} rows/s)",
            loaded.table,
            grouped(loaded.rows),
            duration(elapsed)
        );
        if loaded.bytes > 0 {
            line.push_str(&format!(", {} read", size(loaded.bytes)));
        }
        if left_out > 0 {
            line.push_str(&format!("; {} left out", grouped(left_out)));
        }
        eprintln!("{line}");
    }
    Ok(())
}

/// What a load did.
pub(crate) struct Loaded {
    pub(crate) table: TableName,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// What the decoding thread sends.
enum Piece {
    /// The columns of the batches that follow.
    Columns(Vec<String>),
    Batch(RecordBatch),
}

/// Loads the files into an existing table.
pub(crate) fn load(
    connection: &Connection,
    table: &str,
    files: &[PathBuf],
    options: &Options,
    bad: &mut BadRows,
    quiet: bool,
) -> Result<Loaded> {
    let descriptor = find_table(connection, table)?;
    let name = descriptor.name.clone();
    let schema = descriptor.schema.as_ref().ok_or_else(|| {
        Failure::input(anyhow!("table {name} was made without SQL, so it has no columns to load into"))
    })?;
    let target = Target::of_schema(schema);
    let read = Arc::new(AtomicU64::new(0));
    let progress = Arc::new(Progress::default());
    let _bar = bar(quiet, name.to_string(), files, &read, &progress);
    let stop = Arc::new(AtomicU64::new(0));
    let watcher = connection.runtime.spawn(watch(Arc::clone(&stop)));
    let (send, receive) = sync_channel(BATCHES_WAITING);
    let ended = std::thread::scope(|threads| {
        let decoder = {
            let (read, bad) = (Arc::clone(&read), &mut *bad);
            threads.spawn(move || decode(files, options, &target, read, bad, &send))
        };
        let rows = write(connection, &name, &receive, &stop, &progress);
        // The decoder ends at its next batch if the writer is gone.
        drop(receive);
        match (decoder.join(), rows) {
            (Err(_), _) => Err(Failure::input(anyhow!("the reader of the files ended unexpectedly"))),
            (_, Err(failure)) => Err(failure),
            (Ok(Err(error)), Ok(_)) => Err(error.into()),
            (Ok(Ok(())), Ok(rows)) => Ok(rows),
        }
    });
    watcher.abort();
    Ok(Loaded { table: name, rows: ended?, bytes: read.load(Ordering::Relaxed) })
}

async fn watch(stop: Arc<AtomicU64>) {
    let interrupt = interrupted().await;
    stop.store(interrupt.exit_code().into(), Ordering::Relaxed);
}

fn bar(
    quiet: bool,
    label: String,
    files: &[PathBuf],
    read: &Arc<AtomicU64>,
    progress: &Arc<Progress>,
) -> Bar {
    let (read, progress, total) = (Arc::clone(read), Arc::clone(progress), total_bytes(files));
    Bar::start(quiet, move || {
        let now = progress.read();
        let bytes = read.load(Ordering::Relaxed);
        let is_done = total > 0 && bytes >= total;
        let label =
            if is_done && !now.phase.is_empty() { format!("{label}, {}", now.phase) } else { label.clone() };
        let fraction = (total > 0).then(|| (bytes as f64 / total as f64).min(1.0));
        Reading { label, rows: now.rows_written, bytes, fraction }
    })
}

/// The table of this name: as written, in upper case, or with a suggestion.
pub(crate) fn find_table(connection: &Connection, written: &str) -> Result<Arc<TableDescriptor>> {
    let tables = connection.engine().database().tables();
    let find = |name: &str| {
        tables.iter().find(|(_, table)| table.name.to_string() == name).map(|(_, table)| Arc::clone(table))
    };
    let upper = written.to_uppercase();
    if let Some(table) = find(written.trim_matches('"')).or_else(|| find(&upper)) {
        return Ok(table);
    }
    let distance = |name: &str| strsim::damerau_levenshtein(name, &upper);
    let nearest = tables.iter().map(|(_, table)| table.name.to_string()).min_by_key(|name| distance(name));
    let hint = match nearest {
        Some(name) if distance(&name) <= upper.len().div_ceil(3) => format!("; did you mean {name}?"),
        _ => "; --create makes it".to_string(),
    };
    Err(Failure::input(anyhow!("there is no table {written}{hint}")))
}

/// Runs on a thread of its own: turns the files into batches.
fn decode(
    files: &[PathBuf],
    options: &Options,
    target: &Target,
    read: Arc<AtomicU64>,
    bad: &mut BadRows,
    send: &SyncSender<Piece>,
) -> anyhow::Result<()> {
    for path in files {
        let mut source = open(path, options, target, Arc::clone(&read))?;
        let columns = source.columns().iter().map(|&i| target.columns[i].name.clone()).collect();
        if send.send(Piece::Columns(columns)).is_err() {
            return Ok(());
        }
        while let Some(batch) = source.next_batch(bad)? {
            if send.send(Piece::Batch(batch)).is_err() {
                return Ok(());
            }
        }
        if bad.stopped_by().is_some() {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes the batches; files with other columns than those before go into a load of their own.
fn write(
    connection: &Connection,
    table: &TableName,
    pieces: &Receiver<Piece>,
    stop: &AtomicU64,
    progress: &Arc<Progress>,
) -> Result<u64> {
    let mut rows = 0;
    let mut open: Option<(Vec<String>, BulkLoad)> = None;
    for piece in pieces {
        match stop.load(Ordering::Relaxed) {
            0 => {}
            code => return Err(Failure::cancelled(code as u8)),
        }
        match piece {
            Piece::Columns(columns) if open.as_ref().is_some_and(|(known, _)| *known == columns) => {}
            Piece::Columns(columns) => {
                if let Some((_, load)) = open.take() {
                    rows += finish(load)?;
                }
                let load = connection.engine().bulk_load(table, Some(&columns), Arc::clone(progress));
                open = Some((columns, load.map_err(engine_failure)?));
            }
            Piece::Batch(batch) => {
                let (_, load) = open.as_mut().context("a batch came before its columns")?;
                load.add(&batch).map_err(|refusal| refused(refusal, &batch))?;
            }
        }
    }
    if let Some((_, load)) = open {
        rows += finish(load)?;
    }
    Ok(rows)
}

fn finish(load: BulkLoad) -> Result<u64> {
    load.finish().map_err(engine_failure)
}

fn engine_failure(error: basalt::SqlError) -> Failure {
    statement::failure(error, "", 0)
}

/// A row that the engine refuses although the reader took it: nothing is loaded, and the row is shown.
fn refused(refusal: RowRefusal, batch: &RecordBatch) -> Failure {
    let row = refusal.row.and_then(|row| json_row(batch, row).ok());
    let mut place = String::from("nothing was loaded");
    if let Some(column) = refusal.column {
        place.push_str(&format!(": column {column}"));
    }
    if let Some(row) = row {
        place.push_str(&format!(" of row {}", String::from_utf8_lossy(&row).trim_end()));
    }
    engine_failure(refusal.error).context(place)
}
