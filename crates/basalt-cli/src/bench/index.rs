// SPDX-License-Identifier: Apache-2.0
//! `basalt bench index`: what indexes of LINEITEM cost and give. Statements in this process, one at a time: CREATE LOCAL INDEX, one
//! price counted with the index and with NO_INDEX, DROP INDEX; then UPSERTs of random rows into a table without indexes and
//! into one with two.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::chance::Chance;
use super::place::Place;
use super::sheet::{Sheet, median, write_json};
use crate::args::{BenchIndexArgs, Shared};
use crate::connection::Connection;
use crate::demo;
use crate::failure::Result;
use crate::output::grouped;
use crate::progress::duration;
use crate::statement::{Until, measure};

/// Rows of one UPSERT.
const UPSERT_ROWS: u64 = 1_000;

/// Runs the command.
pub(crate) fn run(args: &BenchIndexArgs, shared: &Shared) -> Result<()> {
    let place = Place::of(args.dir.as_deref())?;
    let figures =
        measured(place.path(), &Size { scale: args.scale, runs: args.runs, upserts: args.upserts }, shared)?;
    let mut sheet = Sheet::new(&["what", "figure"], 1);
    figures.iter().for_each(|figure| sheet.row(vec![figure.what.to_owned(), figure.shown()]));
    sheet.print();
    println!("scale factor {}, median of {} runs behind one that is not counted", args.scale, args.runs);
    let figures: Vec<_> = figures.iter().map(Figure::json).collect();
    write_json(args.json.as_deref(), &json!({ "scale_factor": args.scale, "figures": figures }))
}

/// How much is measured.
pub(super) struct Size {
    /// TPC-H scale factor.
    pub(super) scale: f64,
    /// Times that each query is repeated.
    pub(super) runs: usize,
    /// UPSERTs into each of two tables.
    pub(super) upserts: u64,
}

/// One figure.
pub(super) struct Figure {
    pub(super) what: &'static str,
    figure: f64,
    unit: &'static str,
}

impl Figure {
    /// For people.
    pub(super) fn shown(&self) -> String {
        match self.unit {
            "s" => duration(std::time::Duration::from_secs_f64(self.figure)),
            "rows/s" => format!("{} rows/s", grouped(self.figure as u64)),
            _ => format!("{:.2}", self.figure),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({ "what": self.what, "figure": self.figure, "unit": self.unit })
    }
}

/// Measures in a directory, where a second run finds the data.
pub(super) fn measured(dir: &Path, size: &Size, shared: &Shared) -> Result<Vec<Figure>> {
    let db = demo::prepare(dir, size.scale, shared)?;
    let connection = Connection::open(Some(&db), &Shared { quiet: true, ..shared.clone() })?;
    let mut bench = Bench { connection, runs: size.runs, figures: vec![] };
    bench.reads()?;
    bench.writes(size.upserts)?;
    let figure = |(what, figure, unit)| Figure { what, figure, unit };
    Ok(bench.figures.into_iter().map(figure).collect())
}

struct Bench {
    connection: Connection,
    runs: usize,
    /// What, how much, and of which unit.
    figures: Vec<(&'static str, f64, &'static str)>,
}

impl Bench {
    /// Seconds that a statement takes.
    fn once(&self, sql: &str) -> Result<f64> {
        Ok(measure(&self.connection, sql, Until::End)?.elapsed.as_secs_f64())
    }

    /// The middle one of several runs, behind one that is not counted.
    fn often(&self, sql: &str) -> Result<f64> {
        self.once(sql)?;
        Ok(median((0..self.runs).map(|_| self.once(sql)).collect::<Result<_>>()?))
    }

    fn reads(&mut self) -> Result<()> {
        self.once("DROP INDEX IF EXISTS bench_price ON lineitem")?;
        let price = "SELECT MIN(l_extendedprice) FROM lineitem WHERE l_orderkey <= 7";
        let price = measure(&self.connection, price, Until::End)?.value.unwrap_or_default();
        let created = self.once("CREATE LOCAL INDEX bench_price ON lineitem (l_extendedprice)")?;
        let ask = |what: &str, hint: &str| {
            format!("SELECT {hint} {what} FROM lineitem WHERE l_extendedprice = {price}")
        };
        let with = self.often(&ask("COUNT(*)", ""))?;
        let without = self.often(&ask("COUNT(*)", "/*+ NO_INDEX */"))?;
        let looked_up = self.often(&ask("SUM(l_quantity)", ""))?;
        let joined = |hint: &str| {
            format!(
                "SELECT {hint} SUM(a.l_quantity) FROM lineitem a JOIN lineitem b ON a.l_extendedprice = b.l_extendedprice \
                 WHERE b.l_orderkey <= 3"
            )
        };
        let joined = [self.often(&joined(""))?, self.often(&joined("/*+ NO_INDEX */"))?];
        let by_key = |key: &str| {
            format!(
                "SELECT SUM(l_quantity) FROM orders JOIN lineitem ON {key} = o_orderkey WHERE o_custkey <= 2"
            )
        };
        // Of an expression no scan is told anything.
        let by_key = [self.often(&by_key("l_orderkey"))?, self.often(&by_key("l_orderkey + 0"))?];
        let dropped = self.once("DROP INDEX bench_price ON lineitem")?;
        self.figures.extend([
            ("CREATE LOCAL INDEX on l_extendedprice", created, "s"),
            ("COUNT(*) of one price, by the index", with, "s"),
            ("the same, by a scan", without, "s"),
            ("times faster", without / with, ""),
            ("SUM(l_quantity) of one price, rows looked up", looked_up, "s"),
            ("a join of a dozen prices, rows looked up by the index", joined[0], "s"),
            ("the same, by a scan", joined[1], "s"),
            ("a join of a dozen orders, rows looked up by the key", by_key[0], "s"),
            ("the same, by a scan that is told nothing", by_key[1], "s"),
            ("DROP INDEX", dropped, "s"),
        ]);
        Ok(())
    }

    fn writes(&mut self, upserts: u64) -> Result<()> {
        let mut rates = vec![];
        for (table, indexed) in [("bench_plain", false), ("bench_indexed", true)] {
            self.once(&format!("DROP TABLE IF EXISTS {table}"))?;
            self.once(&format!(
                "CREATE TABLE {table} (k BIGINT PRIMARY KEY, a INTEGER, b VARCHAR, c DOUBLE)"
            ))?;
            if indexed {
                self.once(&format!("CREATE LOCAL INDEX bench_a ON {table} (a)"))?;
                self.once(&format!("CREATE LOCAL INDEX bench_b ON {table} (b) INCLUDE (c)"))?;
            }
            let mut chance = Chance::new(1);
            let started = Instant::now();
            for _ in 0..upserts {
                self.once(&upsert(table, upserts * UPSERT_ROWS, &mut chance))?;
            }
            rates.push((upserts * UPSERT_ROWS) as f64 / started.elapsed().as_secs_f64());
            self.once(&format!("DROP TABLE {table}"))?;
        }
        self.figures.extend([
            ("UPSERT of 1,000 random rows each, without indexes", rates[0], "rows/s"),
            ("the same, with two local indexes", rates[1], "rows/s"),
            ("share of the rate that is left", rates[1] / rates[0], ""),
        ]);
        Ok(())
    }
}

/// An UPSERT of random keys, of which about one in three is there already at the end.
fn upsert(table: &str, keys: u64, chance: &mut Chance) -> String {
    let mut sql = format!("UPSERT INTO {table} VALUES ");
    for row in 0..UPSERT_ROWS {
        let bits = chance.bits();
        let (key, value) = ((bits >> 33) % keys, bits >> 44);
        let comma = if row == 0 { "" } else { ", " };
        let _ = write!(sql, "{comma}({key}, {}, 'value {}', {}.5)", value % 10_000, value % 977, value % 100);
    }
    sql
}
