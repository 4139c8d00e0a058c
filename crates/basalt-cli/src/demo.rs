// SPDX-License-Identifier: Apache-2.0
//! `basalt demo`: from nothing to answers. Generates LINEITEM and ORDERS of TPC-H, loads them into a durable database, and times
//! the questions of `tests/queries/main-job.sql`, which the tests and the benchmark ask too.
//!
//! A second run finds files and tables and only asks. A table is loaded in one piece, so one that has rows has all of them.

mod questions;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use basalt_files::{Format, Options};
use serde_json::{Value, json};

use crate::args::{DemoArgs, OnError, Shared, TpchFormat};
use crate::bad_rows::BadRows;
use crate::connection::Connection;
use crate::failure::{Failure, Result};
use crate::load::{create_table, load};
use crate::output::{grouped, render};
use crate::progress::{duration, short};
use crate::statement::{Measured, Until, measure, terminal_width};
use crate::tpch::{self, Table};

use questions::{Question, Run, questions};

/// The tables and their primary keys.
const TABLES: [(Table, &[&str]); 2] =
    [(Table::Lineitem, &["l_orderkey", "l_linenumber"]), (Table::Orders, &["o_orderkey"])];
/// Says which scale factor lies in a directory.
const SCALE_FILE: &str = "scale-factor";

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, shared: &Shared) -> Result<()> {
    let db = generate(&args.dir, args.scale, shared)?;
    let connection = Connection::open(Some(&db), &Shared { quiet: true, ..shared.clone() })?;
    let mut loads = Vec::new();
    for (table, key) in TABLES {
        if let Some(figures) = load_once(&connection, &args.dir, table, key, shared)? {
            loads.push(figures);
        }
    }
    let timings = ask_all(&connection, args.scale, shared)?;
    print_timings(&timings);
    print_next(&db);
    if let Some(path) = &args.json {
        let figures = figures(args, shared, &db, &loads, &timings);
        fs::write(path, format!("{figures:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Makes the files of the tables, unless they are there; where their database is.
fn generate(dir: &Path, scale: f64, shared: &Shared) -> Result<PathBuf> {
    claim(dir, scale)?;
    for (table, _) in TABLES {
        if !tpch::path_of(dir, table, TpchFormat::Parquet).exists() {
            say(shared, &format!("generating {} at scale factor {scale}", table.name()));
            tpch::generate(dir, table, scale, TpchFormat::Parquet, shared.quiet)?;
        }
    }
    Ok(dir.join("db"))
}

/// Makes the database of the demo in a directory, unless it is there; where it is.
pub(crate) fn prepare(dir: &Path, scale: f64, shared: &Shared) -> Result<PathBuf> {
    let db = generate(dir, scale, shared)?;
    let connection = Connection::open(Some(&db), &Shared { quiet: true, ..shared.clone() })?;
    for (table, key) in TABLES {
        load_once(&connection, dir, table, key, shared)?;
    }
    Ok(db)
}

/// The questions of the demo: title, statement, and how far it runs.
pub(crate) fn asked(scale: f64) -> Vec<(String, String, Until)> {
    let until = |run| match run {
        Run::Demo => Some(Until::End),
        Run::FirstRow => Some(Until::FirstRow),
        Run::Reference => None,
    };
    questions(scale)
        .into_iter()
        .filter_map(|question| Some((question.title, question.sql, until(question.run)?)))
        .collect()
}

fn say(shared: &Shared, line: &str) {
    if !shared.quiet {
        eprintln!("{line}");
    }
}

/// Makes the directory, or checks that it holds the same scale factor.
fn claim(dir: &Path, scale: f64) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make directory {}", dir.display()))?;
    let file = dir.join(SCALE_FILE);
    let wanted = scale.to_string();
    match fs::read_to_string(&file) {
        Ok(found) if found.trim() == wanted => Ok(()),
        Ok(found) => Err(Failure::usage(format!(
            "{} holds scale factor {}; give another directory for {wanted}",
            dir.display(),
            found.trim()
        ))),
        Err(_) => fs::write(&file, wanted)
            .with_context(|| format!("cannot write {}", file.display()))
            .map_err(Into::into),
    }
}

/// What loading a table took.
struct LoadFigures {
    table: Table,
    rows: u64,
    file_bytes: u64,
    elapsed: Duration,
}

/// Creates and fills the table unless it has rows.
fn load_once(
    connection: &Connection,
    dir: &Path,
    table: Table,
    key: &[&str],
    shared: &Shared,
) -> Result<Option<LoadFigures>> {
    let file = tpch::path_of(dir, table, TpchFormat::Parquet);
    let options = Options { format: Some(Format::Parquet), threads: shared.threads(), ..Options::default() };
    let exists = crate::load::find_table(connection, table.name()).is_ok();
    if exists && measure(connection, &format!("SELECT * FROM {} LIMIT 1", table.name()), Until::End)?.rows > 0
    {
        say(shared, &format!("{} is loaded", table.name()));
        return Ok(None);
    }
    let started = Instant::now();
    if !exists {
        let key: Vec<String> = key.iter().map(|column| column.to_string()).collect();
        create_table(connection, table.name(), &file, &key, &options)?;
    }
    // The connection is quiet about what it opens, but a load deserves its bar.
    let mut bad = BadRows::try_new(&OnError::Stop, true)?;
    let loaded = load(connection, table.name(), &[file], &options, &mut bad, shared.quiet)?;
    let figures =
        LoadFigures { table, rows: loaded.rows, file_bytes: loaded.bytes, elapsed: started.elapsed() };
    let rate = short(figures.rows as f64 / figures.elapsed.as_secs_f64());
    say(
        shared,
        &format!(
            "{}: {} rows loaded in {} ({rate} rows/s)",
            table.name(),
            grouped(figures.rows),
            duration(figures.elapsed)
        ),
    );
    Ok(Some(figures))
}

/// A question and what answering it took.
struct Timing {
    question: Question,
    measured: Measured,
}

fn ask_all(connection: &Connection, scale: f64, shared: &Shared) -> Result<Vec<Timing>> {
    let mut timings = Vec::new();
    for question in questions(scale) {
        let until = match question.run {
            Run::Demo => Until::End,
            Run::FirstRow => Until::FirstRow,
            Run::Reference => continue,
        };
        let _bar = crate::statement::bar(&connection.session, shared.quiet);
        let measured = measure(connection, &question.sql, until).map_err(|failure| {
            if failure.is_cancelled() { failure } else { failure.context(question.title.clone()) }
        })?;
        timings.push(Timing { question, measured });
    }
    Ok(timings)
}

fn print_timings(timings: &[Timing]) {
    let rows: Vec<Vec<String>> = timings
        .iter()
        .map(|timing| {
            let measured = &timing.measured;
            let answer = match (&measured.value, timing.question.run) {
                (_, Run::FirstRow) => "first row".to_string(),
                (Some(value), _) => value.clone(),
                (None, _) if measured.rows == 1 => "1 row".to_string(),
                (None, _) => format!("{} rows", grouped(measured.rows)),
            };
            vec![timing.question.title.clone(), answer, duration(measured.elapsed)]
        })
        .collect();
    use std::io::IsTerminal;
    let width = std::io::stdout().is_terminal().then(terminal_width);
    print!("{}", render(&["question", "answer", "time"], &rows, 1, width));
}

fn print_next(db: &Path) {
    let db = db.display();
    println!(
        "\nThree things to try next:\n\
         \x20 basalt {db}\n\
         \x20     a shell on this database: .tables, \\d lineitem, Tab completes, Ctrl-C cancels\n\
         \x20 basalt sql {db} -c \"EXPLAIN ANALYZE SELECT * FROM lineitem WHERE l_orderkey BETWEEN 1000 AND 1003\"\n\
         \x20     which keys a query reads, and how many rows\n\
         \x20 basalt load {db} mine FILE.csv --create --primary-key id\n\
         \x20     a file of yours as a table beside them; Parquet, JSON lines and others work too"
    );
}

fn figures(args: &DemoArgs, shared: &Shared, db: &Path, loads: &[LoadFigures], timings: &[Timing]) -> Value {
    json!({
        "scale_factor": args.scale,
        "threads": shared.threads(),
        "loads": loads.iter().map(|load| json!({
            "table": load.table.name(),
            "rows": load.rows,
            "file_bytes": load.file_bytes,
            "seconds": load.elapsed.as_secs_f64(),
            "rows_per_second": load.rows as f64 / load.elapsed.as_secs_f64(),
        })).collect::<Vec<_>>(),
        "database_bytes": directory_bytes(db),
        "peak_memory_bytes": peak_memory_bytes(),
        "questions": timings.iter().map(|timing| json!({
            "name": timing.question.name,
            "title": timing.question.title,
            "rows": timing.measured.rows,
            "value": timing.measured.value,
            "seconds": timing.measured.elapsed.as_secs_f64(),
        })).collect::<Vec<_>>(),
    })
}

fn directory_bytes(path: &Path) -> u64 {
    let mut waiting: Vec<PathBuf> = vec![path.into()];
    let mut bytes = 0;
    while let Some(path) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => waiting.push(entry.path()),
                Ok(meta) => bytes += meta.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

/// The most memory that this process has held, where the system says.
fn peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
