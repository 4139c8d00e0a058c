// SPDX-License-Identifier: Apache-2.0
//! `basalt bench changes`: the questions of the demo to LINEITEM as it was loaded, in four files whose rows lie among each other, and after ever more of
//! its rows were written again. What is written is what is there, so that all answers must be the same; they are compared.

use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;

use super::machine;
use super::page::write_page;
use super::place::Place;
use super::sheet::{Sheet, median, write_json};
use crate::args::{BenchChangesArgs, Shared};
use crate::connection::Connection;
use crate::demo;
use crate::failure::Result;
use crate::progress::duration;
use crate::statement::{Measured, Until, measure};

/// Parts of a table, of 10,000 about equal ones, that are written again before it is asked: up to these.
const CHANGED: [u32; 4] = [1, 10, 100, 1000];
/// Files of the table whose rows lie among each other.
const FILES: u32 = 4;

/// Runs the command.
pub(crate) fn run(args: &BenchChangesArgs, shared: &Shared) -> Result<()> {
    let place = Place::of(args.dir.as_deref())?;
    let db = demo::prepare(place.path(), args.scale, shared)?;
    let connection = Connection::open(Some(&db), &Shared { quiet: true, ..shared.clone() })?;
    let questions: Vec<(String, String)> = demo::asked(args.scale)
        .into_iter()
        .filter(|(title, _, until)| *until == Until::End && !title.ends_with("to the end"))
        .map(|(title, sql, _)| (title, sql))
        .collect();
    let mut bench = Bench { connection, runs: args.runs, questions, columns: vec![] };
    bench.measure()?;
    let headings: Vec<&str> =
        std::iter::once("question").chain(bench.columns.iter().map(|column| column.title.as_str())).collect();
    let mut sheet = Sheet::new(&headings, 1);
    for (at, (title, _)) in bench.questions.iter().enumerate() {
        let times = bench.columns.iter().map(|column| duration(Duration::from_secs_f64(column.seconds[at])));
        sheet.row(std::iter::once(title.clone()).chain(times).collect());
    }
    sheet.print();
    let remark = format!(
        "scale factor {}, {} threads, median of {} runs behind one that is not counted",
        args.scale,
        shared.threads(),
        args.runs
    );
    println!("{remark}");
    if let Some(path) = &args.out {
        let page = format!(
            "# Questions to a table that was changed\n\nWritten by `basalt bench changes --out FILE`; {}. {remark}.\n\n{}",
            machine::processors(),
            sheet.markdown()
        );
        write_page(path, page, &[])?;
    }
    let columns =
        bench.columns.iter().map(|column| json!({ "table": column.title, "seconds": column.seconds }));
    let titles = bench.questions.iter().map(|(title, _)| title);
    let figures = json!({
        "scale_factor": args.scale,
        "questions": titles.collect::<Vec<_>>(),
        "tables": columns.collect::<Vec<_>>(),
    });
    write_json(args.json.as_deref(), &figures)
}

struct Bench {
    connection: Connection,
    runs: usize,
    /// Title and statement.
    questions: Vec<(String, String)>,
    columns: Vec<Column>,
}

/// What a table took to answer.
struct Column {
    title: String,
    seconds: Vec<f64>,
    answers: Vec<(u64, Option<String>)>,
}

impl Bench {
    fn once(&self, sql: &str) -> Result<Measured> {
        measure(&self.connection, sql, Until::End)
    }

    fn measure(&mut self) -> Result<()> {
        self.ask("as loaded".into(), "lineitem")?;
        // One thread reads rows in order, and its rows are one file.
        let part =
            |part: u32| format!("SELECT /*+ SERIAL */ * FROM lineitem WHERE l_orderkey % {FILES} = {part}");
        self.create("bench_scattered", &part(0))?;
        for number in 1..FILES {
            self.once(&format!("UPSERT INTO bench_scattered {}", part(number)))?;
        }
        self.ask(format!("in {FILES} files"), "bench_scattered")?;
        self.once("DROP TABLE bench_scattered")?;
        self.create("bench_changed", "SELECT /*+ SERIAL */ * FROM lineitem")?;
        let mut from = 0;
        for until in CHANGED {
            self.once(&format!(
                "UPSERT INTO bench_changed (l_orderkey, l_linenumber, l_quantity) \
                 SELECT /*+ SERIAL */ l_orderkey, l_linenumber, l_quantity FROM bench_changed \
                 WHERE (l_orderkey * 7919 + l_linenumber * 104729) % 10000 BETWEEN {from} AND {}",
                until - 1
            ))?;
            from = until;
            self.ask(format!("{} % changed", f64::from(until) / 100.0), "bench_changed")?;
        }
        self.once("DROP TABLE bench_changed")?;
        Ok(())
    }

    fn create(&self, table: &str, query: &str) -> Result<()> {
        self.once(&format!("DROP TABLE IF EXISTS {table}"))?;
        self.once(&format!("CREATE TABLE {table} (PRIMARY KEY (l_orderkey, l_linenumber)) AS {query}"))?;
        Ok(())
    }

    /// Asks all questions of a table in the place of LINEITEM.
    fn ask(&mut self, title: String, table: &str) -> Result<()> {
        let (mut seconds, mut answers) = (vec![], vec![]);
        for (at, (question, sql)) in self.questions.iter().enumerate() {
            let sql = sql.replace("lineitem", table);
            let Measured { rows, value, .. } = self.once(&sql)?;
            if let Some(known) = self.columns.first().map(|column| &column.answers[at])
                && *known != (rows, value.clone())
            {
                let found = value.unwrap_or_else(|| format!("{rows} rows"));
                let what = format!("{question}: {found} of a table {title}, where LINEITEM has {known:?}");
                return Err(anyhow!(what).into());
            }
            answers.push((rows, value));
            let runs = (0..self.runs).map(|_| Ok(self.once(&sql)?.elapsed.as_secs_f64()));
            seconds.push(median(runs.collect::<Result<_>>()?));
        }
        self.columns.push(Column { title, seconds, answers });
        Ok(())
    }
}
