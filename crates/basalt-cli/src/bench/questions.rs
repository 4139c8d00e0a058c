// SPDX-License-Identifier: Apache-2.0
//! `basalt bench sql`: the questions of the demo at any scale, on 1 to all threads, and a join with ever more keys.

use serde_json::json;

use super::place::Place;
use super::sheet::{Sheet, median, write_json};
use crate::args::{BenchSqlArgs, Shared};
use crate::connection::Connection;
use crate::demo;
use crate::failure::Result;
use crate::progress::duration;
use crate::statement::{Until, measure};

/// Orders of a customer, on average, among customers that have any number.
const ORDERS_PER_CUSTOMER: u64 = 10;

/// Runs the command.
pub(crate) fn run(args: &BenchSqlArgs, shared: &Shared) -> Result<()> {
    let place = Place::of(args.dir.as_deref())?;
    let db = demo::prepare(place.path(), args.scale, shared)?;
    let threads: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|count| *count < shared.threads()).collect();
    let threads = [threads, vec![shared.threads()]].concat();
    let questions = all_questions(args);
    let mut seconds = vec![vec![f64::NAN; threads.len()]; questions.len()];
    for (column, &count) in threads.iter().enumerate() {
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        let own = Shared { threads: Some(count), quiet: true, ..shared.clone() };
        let connection = Connection::open(Some(&db), &own)?;
        for ((_, sql, until), row) in questions.iter().zip(&mut seconds) {
            measure(&connection, sql, *until)?;
            let runs = (0..args.runs).map(|_| Ok(measure(&connection, sql, *until)?.elapsed.as_secs_f64()));
            row[column] = median(runs.collect::<Result<_>>()?);
        }
    }
    let heads: Vec<String> = threads
        .iter()
        .map(|count| if *count == 1 { "1 thread".to_owned() } else { format!("{count} threads") })
        .collect();
    let headings: Vec<&str> = std::iter::once("question").chain(heads.iter().map(String::as_str)).collect();
    let mut sheet = Sheet::new(&headings, 1);
    for ((title, ..), row) in questions.iter().zip(&seconds) {
        let times = row.iter().map(|seconds| duration(std::time::Duration::from_secs_f64(*seconds)));
        sheet.row(std::iter::once(title.clone()).chain(times).collect());
    }
    sheet.print();
    println!("scale factor {}, median of {} runs behind one that is not counted", args.scale, args.runs);
    let figures =
        questions.iter().zip(&seconds).map(|((title, ..), row)| json!({ "question": title, "seconds": row }));
    let figures =
        json!({ "scale_factor": args.scale, "threads": threads, "questions": figures.collect::<Vec<_>>() });
    write_json(args.json.as_deref(), &figures)
}

/// Title, statement, and how far it runs.
fn all_questions(args: &BenchSqlArgs) -> Vec<(String, String, Until)> {
    let mut all = demo::asked(args.scale);
    for power in args.keys_from..=args.keys_to {
        let customers = (1u64 << power) / ORDERS_PER_CUSTOMER;
        let sql = format!(
            "SELECT COUNT(*) AS n, SUM(l_extendedprice) AS price FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
             WHERE o_custkey <= {customers}"
        );
        all.push((format!("join with about 2^{power} keys"), sql, Until::End));
    }
    all
}
