// SPDX-License-Identifier: Apache-2.0
//! `basalt bench join`: a table joined with itself on ever more keys, in this process: the time of a join, and the most memory that the
//! process had while it ran. Each row meets one other row; the keys are spread over forty bits and are no primary keys. The rows and
//! the question are those of `tests/reference/join.py`, which asks DuckDB, too.

use std::sync::Arc;

use anyhow::Context;
use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::record_batch::RecordBatch;
use basalt::TableName;
use serde_json::json;

use super::machine::{self, Memory};
use super::place::Place;
use super::sheet::{Sheet, median, write_json};
use crate::args::{BenchJoinArgs, Shared};
use crate::connection::Connection;
use crate::failure::Result;
use crate::output::grouped;
use crate::progress::duration;
use crate::statement::{self, Until, measure};

const TABLE: &str = "BENCH_JOIN";
/// Rows of one batch that is loaded.
const BATCH_ROWS: i64 = 1 << 16;
/// A prime above two to the power of forty, and a factor that spreads numbers below it.
const SPREAD: (i64, i64) = (1_099_511_627_689, 1_000_003);

/// Runs the command.
pub(crate) fn run(args: &BenchJoinArgs, shared: &Shared) -> Result<()> {
    let place = Place::of(args.dir.as_deref())?;
    let quiet = Shared { quiet: true, ..shared.clone() };
    let connection = Connection::open(Some(&place.path().join("join")), &quiet)?;
    fill(&connection, 1 << args.keys_to)?;
    let mut sheet = Sheet::new(&["keys", "time", "memory"], 1);
    let mut figures = vec![];
    for power in (args.keys_from..=args.keys_to).step_by(2) {
        let sql = question(1 << power);
        measure(&connection, &sql, Until::End)?;
        machine::forget_peak();
        let seconds =
            (0..args.runs).map(|_| Ok(measure(&connection, &sql, Until::End)?.elapsed.as_secs_f64()));
        let seconds = median(seconds.collect::<Result<_>>()?);
        let peak = machine::memory_of(std::process::id()).map(|Memory { peak, .. }| peak);
        let shown = peak.map_or("unknown".to_owned(), |bytes| format!("{} MB", grouped(bytes / 1_000_000)));
        let time = duration(std::time::Duration::from_secs_f64(seconds));
        sheet.row(vec![format!("2^{power}"), time, shown]);
        figures.push(json!({ "keys": 1_u64 << power, "seconds": seconds, "peak_bytes": peak }));
    }
    sheet.print();
    println!(
        "{} threads, median of {} runs behind one that is not counted; memory of the whole process",
        shared.threads(),
        args.runs
    );
    write_json(args.json.as_deref(), &json!({ "threads": shared.threads(), "joins": figures }))
}

fn question(keys: u64) -> String {
    format!(
        "SELECT COUNT(*) AS met FROM {TABLE} a JOIN {TABLE} b ON a.own = b.other \
         WHERE a.k < {keys} AND b.k < {keys} AND a.v + b.v >= 0"
    )
}

/// The table with `rows` rows, unless it is there with as many.
fn fill(connection: &Connection, rows: i64) -> Result<()> {
    let create = format!(
        "CREATE TABLE IF NOT EXISTS {TABLE} (k BIGINT PRIMARY KEY, own BIGINT, other BIGINT, v INTEGER)"
    );
    measure(connection, &create, Until::End)?;
    let found = measure(connection, &format!("SELECT COUNT(*) FROM {TABLE}"), Until::End)?.value;
    if found.is_some_and(|found| found == rows.to_string()) {
        return Ok(());
    }
    measure(connection, &format!("TRUNCATE TABLE {TABLE}"), Until::End)?;
    let failure = |error| statement::failure(error, "", 0);
    let table = TableName::in_default(TABLE);
    let load = connection.session.engine().bulk_load(&table, None, connection.session.progress());
    let mut load = load.map_err(failure)?;
    for first in (0..rows).step_by(BATCH_ROWS as usize) {
        let batch = batch(first, rows.min(first + BATCH_ROWS)).context("cannot make the rows")?;
        load.add(&batch).map_err(|refusal| failure(refusal.error))?;
    }
    load.finish().map_err(failure)?;
    Ok(())
}

/// Rows `first` to before `end`. Of 1,024 rows, each of the first half meets one of the second.
fn batch(first: i64, end: i64) -> std::result::Result<RecordBatch, arrow::error::ArrowError> {
    let (prime, factor) = SPREAD;
    let spread = |k: i64| k * factor % prime;
    let long =
        |value: &dyn Fn(i64) -> i64| Arc::new((first..end).map(value).collect::<Int64Array>()) as ArrayRef;
    let other = |k: i64| spread(if k % 1024 < 512 { k + 512 } else { k - 512 });
    let v: Int32Array = (first..end).map(|k| (k % 1000) as i32).collect();
    RecordBatch::try_from_iter([
        ("K", long(&|k| k)),
        ("OWN", long(&spread)),
        ("OTHER", long(&other)),
        ("V", Arc::new(v) as ArrayRef),
    ])
}
