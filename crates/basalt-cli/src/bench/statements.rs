// SPDX-License-Identifier: Apache-2.0
//! `basalt bench statements`: statements of one row, called in this process as a program that embeds Basalt calls them: a SELECT by the
//! whole key, as text and prepared, and a prepared UPSERT, whose row is on disk when the call returns or a moment later. With `--out` a page
//! of these and of what [`super::index`] measures.

use std::time::Instant;

use basalt::{Outcome, Prepared, Session, Value};
use futures::TryStreamExt;
use serde_json::json;

use super::chance::Chance;
use super::index::{self, Figure, Size};
use super::machine;
use super::page::write_page;
use super::place::Place;
use super::sheet::{Sheet, percentile, write_json};
use crate::args::{BenchStatementsArgs, Shared};
use crate::connection::Connection;
use crate::failure::Result;
use crate::output::grouped;
use crate::statement::{Until, measure};

/// Rows of one UPSERT that fills the table.
const FILL_ROWS: u64 = 1_000;

/// Runs the command.
pub(crate) fn run(args: &BenchStatementsArgs, shared: &Shared) -> Result<()> {
    let place = Place::of(args.dir.as_deref())?;
    let quiet = Shared { quiet: true, ..shared.clone() };
    let connection = Connection::open(Some(&place.path().join("statements")), &quiet)?;
    fill(&connection, args.rows)?;
    let calls =
        Calls { session: &connection.session, keys: Chance::new(1), rows: args.rows, count: args.calls };
    let measured = connection.runtime.block_on(calls.measure())?;
    let mut sheet = Sheet::new(&["call", "p50 µs", "p99 µs"], 1);
    let mut figures = vec![];
    for (what, mut micros) in measured {
        micros.sort_by(f64::total_cmp);
        let (p50, p99) = (percentile(&micros, 0.5), percentile(&micros, 0.99));
        sheet.row(vec![what.to_owned(), format!("{p50:.1}"), format!("{p99:.1}")]);
        figures.push(json!({ "call": what, "p50_us": p50, "p99_us": p99 }));
    }
    sheet.print();
    let remark =
        format!("{} rows, {} calls each, one at a time", grouped(args.rows), grouped(args.calls as u64));
    println!("{remark}");
    let mut all = json!({ "rows": args.rows, "calls": args.calls, "figures": figures });
    if let Some(path) = &args.out {
        drop(connection);
        let size = Size { scale: args.scale, runs: args.runs, upserts: args.upserts };
        let of_indexes = index::measured(place.path(), &size, shared)?;
        all["index"] = of_indexes.iter().map(Figure::json).collect();
        write_page(path, page(args, &sheet, &remark, &of_indexes), &[])?;
    }
    write_json(args.json.as_deref(), &all)
}

/// The page with all of it.
fn page(args: &BenchStatementsArgs, calls: &Sheet<'_>, remark: &str, of_indexes: &[Figure]) -> String {
    let mut indexes = Sheet::new(&["what", "figure"], 1);
    of_indexes.iter().for_each(|figure| indexes.row(vec![figure.what.to_owned(), figure.shown()]));
    format!(
        "# Statements\n\nWritten by `basalt bench statements --out FILE`; {}. Statements are called in the process, one at a time.\n\n{}\n{remark}.\n\nIndexes of LINEITEM, TPC-H scale factor {}; queries: median of {} runs behind one that is not counted.\n\n{}",
        machine::processors(),
        calls.markdown(),
        args.scale,
        args.runs,
        indexes.markdown()
    )
}

/// Calls of a kind, one after the other.
struct Calls<'a> {
    session: &'a Session,
    keys: Chance,
    rows: u64,
    count: usize,
}

/// What was called, and how many microseconds each call took.
type Measured = Vec<(&'static str, Vec<f64>)>;

impl Calls<'_> {
    async fn measure(mut self) -> anyhow::Result<Measured> {
        let select = self.session.prepare("SELECT a, b, c FROM bench_rows WHERE k = ?")?;
        let durable = self.session.prepare("UPSERT INTO bench_rows VALUES (?, ?, ?, ?)")?;
        let asynchronous = self.session.prepare("UPSERT INTO bench_async VALUES (?, ?, ?, ?)")?;
        Ok(vec![
            ("SELECT of one row by its key, as text", self.selects().await?),
            ("the same, prepared", self.prepared_selects(&select).await?),
            ("UPSERT of one row, prepared", self.upserts(&durable).await?),
            ("the same, with DURABILITY='ASYNC_WAL'", self.upserts(&asynchronous).await?),
        ])
    }

    async fn selects(&mut self) -> anyhow::Result<Vec<f64>> {
        let mut micros = vec![];
        for _ in 0..self.count {
            let key = self.keys.below(self.rows) as i64;
            let started = Instant::now();
            let sql = format!("SELECT a, b, c FROM bench_rows WHERE k = {key}");
            read_one(self.session.execute(&sql).await?).await?;
            micros.push(started.elapsed().as_secs_f64() * 1e6);
        }
        Ok(micros)
    }

    async fn prepared_selects(&mut self, select: &Prepared) -> anyhow::Result<Vec<f64>> {
        let mut micros = vec![];
        for _ in 0..self.count {
            let key = self.keys.below(self.rows) as i64;
            let started = Instant::now();
            read_one(self.session.execute_prepared(select, &[key.into()]).await?).await?;
            micros.push(started.elapsed().as_secs_f64() * 1e6);
        }
        Ok(micros)
    }

    async fn upserts(&mut self, upsert: &Prepared) -> anyhow::Result<Vec<f64>> {
        let mut micros = vec![];
        for call in 0..self.count {
            let key = self.keys.below(self.rows) as i64;
            let values: [Value; 4] =
                [key.into(), (call as i32).into(), format!("value {call}").into(), (call as f64).into()];
            let started = Instant::now();
            self.session.execute_prepared(upsert, &values).await?;
            micros.push(started.elapsed().as_secs_f64() * 1e6);
        }
        Ok(micros)
    }
}

fn fill(connection: &Connection, rows: u64) -> Result<()> {
    for (table, options) in [("bench_rows", ""), ("bench_async", "DURABILITY='ASYNC_WAL'")] {
        measure(connection, &format!("DROP TABLE IF EXISTS {table}"), Until::End)?;
        let columns = "k BIGINT PRIMARY KEY, a INTEGER, b VARCHAR, c DOUBLE";
        measure(connection, &format!("CREATE TABLE {table} ({columns}) {options}"), Until::End)?;
    }
    for first in (0..rows).step_by(FILL_ROWS as usize) {
        let keys = first..rows.min(first + FILL_ROWS);
        let values: Vec<String> =
            keys.map(|key| format!("({key}, {}, 'value {key}', {key}.5)", key % 1_000)).collect();
        let sql = format!("UPSERT INTO bench_rows VALUES {}", values.join(", "));
        measure(connection, &sql, Until::End)?;
    }
    Ok(())
}

/// Reads the one row of an answer.
async fn read_one(outcome: Outcome) -> anyhow::Result<()> {
    let Outcome::Rows(rows) = outcome else { anyhow::bail!("a SELECT without rows") };
    let batches: Vec<_> = rows.try_collect().await?;
    let rows: usize = batches.iter().map(arrow::record_batch::RecordBatch::num_rows).sum();
    anyhow::ensure!(rows == 1, "{rows} rows have one key");
    Ok(())
}
