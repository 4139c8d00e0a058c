// SPDX-License-Identifier: Apache-2.0
//! One statement from its text to its last printed row: run, show progress, print, time, cancel.
//!
//! The statement runs as a task of its own and hands its batches over through a short queue, so that Ctrl-C is heard however
//! busy the query is. Cancelling drops the task; the engine stops at its next batch.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use basalt::{Begun, ErrorKind, Outcome, ProgressReading, RowStream, Session, SqlError};
use futures::StreamExt;
use tokio::sync::mpsc;

use crate::connection::{Connection, Interrupt, interrupted};
use crate::failure::{Failure, Result, point_at};
use crate::output::{OutputFormat, Sink, TableStyle, grouped, sink};
use crate::progress::{Bar, Reading, short};

/// Batches between the statement and the printer.
const BATCHES_WAITING: usize = 4;
/// How long a cancelled statement may take to let go before the program goes on without it.
const LET_GO: Duration = Duration::from_millis(900);
/// Rows of a table that a terminal shows.
pub(crate) const ROWS_MAX_DEFAULT: usize = 40;

/// How answers are shown.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    pub(crate) format: OutputFormat,
    pub(crate) timing: bool,
    pub(crate) rows_max: Option<usize>,
    /// Say nothing but results and errors.
    pub(crate) quiet: bool,
}

impl Printer {
    /// The looks of a table on standard output.
    fn style(&self) -> TableStyle {
        if !std::io::stdout().is_terminal() {
            return TableStyle::default();
        }
        TableStyle {
            width: Some(terminal_width()),
            rows_max: self.rows_max,
            color: std::env::var_os("NO_COLOR").is_none(),
        }
    }

    /// True if remarks such as `3 rows upserted` are wanted.
    fn remarks(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }
}

/// Columns of the terminal, 80 if it does not say.
pub(crate) fn terminal_width() -> usize {
    match terminal_size::terminal_size() {
        Some((terminal_size::Width(width), _)) if width > 0 => width.into(),
        _ => 80,
    }
}

/// What the running statement hands over.
enum Piece {
    Schema(SchemaRef),
    Batch(RecordBatch),
    Changed { verb: &'static str, rows: u64 },
    Done { verb: &'static str },
}

/// Runs `text` and prints what it answers; `whole` is the text that it was cut from, at byte `offset`, for pointing at errors.
pub(crate) fn run(
    connection: &Connection,
    text: &str,
    whole: &str,
    offset: usize,
    printer: &Printer,
) -> Result<()> {
    let started = Instant::now();
    let ended = connection.front.block_on(run_async(connection, text, printer));
    let elapsed = started.elapsed();
    if !printer.quiet {
        for warning in connection.session.take_warnings() {
            eprintln!("warning: {warning}");
        }
    }
    ended.map_err(|end| match end {
        End::Sql(error) => failure(error, whole, offset),
        End::Other(failure) => failure,
    })?;
    if printer.timing {
        eprintln!("{}", timing_line(elapsed, &connection.session.progress().read()));
    }
    Ok(())
}

/// Why a statement ended early.
enum End {
    Sql(SqlError),
    Other(Failure),
}

impl From<std::io::Error> for End {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.into())
    }
}

async fn run_async(connection: &Connection, text: &str, printer: &Printer) -> std::result::Result<(), End> {
    let (send, mut receive) = mpsc::channel(BATCHES_WAITING);
    let session = &connection.session;
    let mut task = connection.runtime.spawn(work(Arc::clone(session), text.to_string(), send));
    let mut out = std::io::stdout().lock();
    let mut screen = Screen::new(printer, bar(session, printer.quiet), &mut out);
    let interrupt = interrupted();
    tokio::pin!(interrupt);
    loop {
        tokio::select! {
            biased;
            interrupt = &mut interrupt => {
                task.abort();
                drop(receive);
                // A task that does not let go in time is left behind; it ends at its next batch.
                let _ = tokio::time::timeout(LET_GO, &mut task).await;
                screen.end(false)?;
                return Err(End::Other(cancelled(interrupt)));
            }
            piece = receive.recv() => match piece {
                Some(piece) => screen.show(piece)?,
                None => break,
            },
        }
    }
    match task.await {
        Ok(Ok(())) => Ok(screen.end(true)?),
        Ok(Err(error)) => {
            // The rows before the error are part of a stream; a table of them would look whole.
            if printer.format != OutputFormat::Table {
                screen.end(false)?;
            }
            Err(End::Sql(error))
        }
        Err(panic) => {
            Err(End::Other(Failure::input(anyhow::anyhow!("the statement ended unexpectedly: {panic}"))))
        }
    }
}

/// Where the answer of one statement is shown: rows on stdout, remarks and the bar on stderr.
struct Screen<'a> {
    printer: &'a Printer,
    style: TableStyle,
    bar: Option<Bar>,
    /// Taken by the sink as soon as the columns are known.
    out: Option<&'a mut dyn Write>,
    rows: Option<Box<dyn Sink + 'a>>,
}

impl<'a> Screen<'a> {
    fn new(printer: &'a Printer, bar: Bar, out: &'a mut dyn Write) -> Self {
        Self { printer, style: printer.style(), bar: Some(bar), out: Some(out), rows: None }
    }

    fn show(&mut self, piece: Piece) -> std::io::Result<()> {
        match piece {
            Piece::Schema(schema) => {
                // Rows of a table on a terminal are kept until the end, so the bar may stay; those of other formats are
                // printed at once and would share the screen with it.
                if std::io::stdout().is_terminal() && self.printer.format != OutputFormat::Table {
                    self.bar = None;
                }
                if let Some(out) = self.out.take() {
                    self.rows = Some(sink(self.printer.format, schema, &self.style, out)?);
                }
            }
            Piece::Batch(batch) => {
                if let Some(rows) = &mut self.rows {
                    rows.batch(&batch)?;
                }
            }
            Piece::Changed { verb, rows } => self.remark(&changed_line(verb, rows)),
            Piece::Done { verb } => self.remark(verb),
        }
        Ok(())
    }

    fn remark(&mut self, line: &str) {
        self.bar = None;
        if self.printer.remarks() {
            eprintln!("{line}");
        }
    }

    fn end(mut self, complete: bool) -> std::io::Result<()> {
        self.bar = None;
        self.rows.map_or(Ok(()), |mut rows| rows.end(complete))
    }
}

async fn work(
    session: Arc<Session>,
    text: String,
    send: mpsc::Sender<Piece>,
) -> std::result::Result<(), SqlError> {
    let piece = match session.execute(&text).await? {
        Outcome::Count { verb, rows } => Piece::Changed { verb, rows },
        Outcome::Done { verb } => Piece::Done { verb },
        Outcome::Rows(mut rows) => {
            let mut piece = Piece::Schema(rows.schema());
            loop {
                // A printer that went away needs no more rows.
                if send.send(piece).await.is_err() {
                    return Ok(());
                }
                match rows.next().await {
                    Some(batch) => piece = Piece::Batch(batch?),
                    None => return Ok(()),
                }
            }
        }
    };
    let _ = send.send(piece).await;
    Ok(())
}

/// How far a measured statement runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    FirstRow,
    End,
}

/// What a measured statement answered, and how fast.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) rows: u64,
    /// The value, if the answer is one.
    pub(crate) value: Option<String>,
    pub(crate) elapsed: Duration,
}

/// Runs a statement without printing it. Cancels it behind its first rows if nobody wants more. A query that needs no plan is answered by this
/// thread, as it is for programs that call the library.
pub(crate) fn measure(connection: &Connection, text: &str, until: Until) -> Result<Measured> {
    let started = Instant::now();
    let session = Arc::clone(&connection.session);
    let ended = match session.begin(text) {
        Ok(Begun::Answered(rows)) => Ok(connection.front.block_on(count(rows, started, until))),
        Ok(Begun::Waiting(waiting)) => connection.interruptible(async move {
            match session.go_on(*waiting).await? {
                Outcome::Rows(rows) => count(rows, started, until).await,
                _ => Ok(Measured { rows: 0, value: None, elapsed: started.elapsed() }),
            }
        }),
        Err(error) => Ok(Err(error)),
    };
    match ended {
        Ok(ended) => ended.map_err(|error: SqlError| failure(error, text, 0)),
        Err(interrupt) => Err(cancelled(interrupt)),
    }
}

/// Reads the rows of a statement that was begun at `started`.
async fn count(
    mut batches: RowStream,
    started: Instant,
    until: Until,
) -> std::result::Result<Measured, SqlError> {
    let mut measured = Measured { rows: 0, value: None, elapsed: Duration::ZERO };
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        measured.rows += batch.num_rows() as u64;
        measured.value = if measured.rows == 1 { single_value(&batch) } else { None };
        if until == Until::FirstRow && measured.rows > 0 {
            break;
        }
    }
    measured.elapsed = started.elapsed();
    Ok(measured)
}

/// The value of a batch of one row and one column.
fn single_value(batch: &RecordBatch) -> Option<String> {
    if (batch.num_rows(), batch.num_columns()) != (1, 1) {
        return None;
    }
    crate::output::cell_text(batch.column(0), 0)
}

/// A bar over the engine's counters.
pub(crate) fn bar(session: &Arc<Session>, quiet: bool) -> Bar {
    let session = Arc::clone(session);
    Bar::start(quiet, move || reading(&session.progress().read()))
}

/// The engine's counters as the bar wants them.
pub(crate) fn reading(progress: &ProgressReading) -> Reading {
    let part = |done: u64, total: Option<u64>| total.map(|total| (done as f64 / total as f64).min(1.0));
    Reading {
        label: if progress.phase.is_empty() { "running".into() } else { progress.phase.into() },
        rows: progress.rows.max(progress.rows_written),
        bytes: progress.bytes,
        fraction: part(progress.bytes, progress.bytes_total)
            .or_else(|| part(progress.rows, progress.rows_total)),
    }
}

fn cancelled(interrupt: Interrupt) -> Failure {
    Failure::cancelled(interrupt.exit_code())
}

fn changed_line(verb: &str, rows: u64) -> String {
    let done = match verb {
        "UPSERT" => "upserted",
        "DELETE" => "deleted",
        "COPY" => "copied",
        "CREATE INDEX" | "ALTER INDEX" => "indexed",
        _ => "changed",
    };
    format!("{} row{} {done}", grouped(rows), if rows == 1 { "" } else { "s" })
}

/// `Time: 1.234 s`, then what was read; scripts may rely on the first words.
fn timing_line(elapsed: Duration, progress: &ProgressReading) -> String {
    let seconds = elapsed.as_secs_f64();
    let mut line = match seconds {
        s if s < 0.001 => format!("Time: {:.0} µs", s * 1e6),
        s if s < 1.0 => format!("Time: {:.2} ms", s * 1e3),
        s => format!("Time: {s:.3} s"),
    };
    if progress.rows > 0 {
        let rate = short(progress.rows as f64 / seconds.max(1e-9));
        line.push_str(&format!("  ({} rows read, {rate} rows/s)", grouped(progress.rows)));
    }
    line
}

/// A statement's error with its exit code and the place it points at.
pub(crate) fn failure(error: SqlError, whole: &str, offset: usize) -> Failure {
    let statement = &whole[offset.min(whole.len())..];
    let place = error
        .position()
        .map(|position| point_at(whole, offset + byte_of(statement, position.line, position.column)));
    let mut message = error.message().to_string();
    if let Some(name) = error.suggestion() {
        message.push_str(&format!("; did you mean {name}?"));
    }
    match error.code() {
        Some(code) => message.push_str(&format!(" [{}, {}]", code.number, code.sqlstate)),
        None => message.push_str(&format!(" [{}]", error.sqlstate())),
    }
    let kind = error.kind();
    let source = std::error::Error::source(&error).map(|source| source.to_string());
    let error = match source {
        Some(source) if !message.contains(&source) => anyhow::anyhow!("{source}").context(message),
        _ => anyhow::anyhow!("{message}"),
    };
    let failure = match kind {
        ErrorKind::Damaged | ErrorKind::Storage => Failure::database(error),
        _ => Failure::input(error),
    };
    failure.with_place(place)
}

/// The byte at a line and a column, both counted from 1, columns in characters.
fn byte_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let within =
        text[start..].char_indices().nth(column.saturating_sub(1)).map_or(text.len() - start, |(at, _)| at);
    start + within
}

#[cfg(test)]
mod tests;
