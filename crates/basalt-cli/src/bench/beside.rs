// SPDX-License-Identifier: Apache-2.0
//! `basalt bench beside`: short statements alone, and beside a long one that would have all threads. Then the long one is cancelled, and it is measured
//! how long its tasks go on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt::{Begun, Outcome, RowStream, Session, SqlError};
use futures::StreamExt;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::machine;
use super::page::write_page;
use super::place::Place;
use super::sheet::{Sheet, median, percentile, write_json};
use crate::args::{BenchBesideArgs, Shared};
use crate::connection::Connection;
use crate::demo;
use crate::failure::{Failure, Result};
use crate::progress::duration;

/// Title and statement.
type Named = (&'static str, &'static str);

const SHORT: [Named; 5] = [
    ("a row by its key", "SELECT * FROM lineitem WHERE l_orderkey = 3000001 AND l_linenumber = 1"),
    ("COUNT(*) WHERE l_quantity < 24", "SELECT COUNT(*) FROM lineitem WHERE l_quantity < 24"),
    (
        "TPC-H Q6",
        "SELECT SUM(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' \
         AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    ),
    ("ORDER BY l_extendedprice LIMIT 10", "SELECT * FROM lineitem ORDER BY l_extendedprice LIMIT 10"),
    ("SUM by l_shipmode", "SELECT l_shipmode, SUM(l_quantity) FROM lineitem GROUP BY l_shipmode"),
];

const LONG: [Named; 4] = [
    ("a sort", "SELECT l_orderkey, l_linenumber, l_comment FROM lineitem ORDER BY l_comment DESC"),
    ("a DISTINCT", "SELECT COUNT(DISTINCT l_comment) FROM lineitem"),
    (
        "a join of many pairs",
        "SELECT COUNT(*) FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey AND a.l_extendedprice < b.l_tax",
    ),
    (
        "nested loops",
        "SELECT COUNT(*) FROM orders a JOIN orders b ON a.o_totalprice < b.o_shippriority + 0.5",
    ),
];

/// How long the long statement runs before others begin, and before it is cancelled at the soonest.
const HEAD_START: Duration = Duration::from_millis(300);
/// Times that it is cancelled.
const CANCELS: usize = 5;
/// Pauses between two looks whether its tasks have ended.
const LOOK: Duration = Duration::from_micros(200);

/// Runs the command.
pub(crate) fn run(args: &BenchBesideArgs, shared: &Shared) -> Result<()> {
    let place = Place::of(args.dir.as_deref())?;
    let db = demo::prepare(place.path(), args.scale, shared)?;
    let connection = Connection::open(Some(&db), &Shared { quiet: true, ..shared.clone() })?;
    let alone = shorts(&connection, args.runs)?;
    let mut beside = vec![];
    for (title, sql) in LONG {
        beside.push((title, measure_beside(&connection, sql, args.runs)?));
    }
    let titles: Vec<String> = beside.iter().map(|(title, _)| format!("beside {title}")).collect();
    let headings: Vec<&str> =
        ["statement", "alone"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let mut sheet = Sheet::new(&headings, 1);
    for (at, (title, _)) in SHORT.iter().enumerate() {
        let times = beside
            .iter()
            .map(|(_, long)| format!("{} ({:.1}x)", shown(long.shorts[at]), long.shorts[at] / alone[at]));
        sheet.row([(*title).to_owned(), shown(alone[at])].into_iter().chain(times).collect());
    }
    let cancelled = beside.iter().map(|(_, long)| shown(long.cancelled));
    sheet.row(
        ["its tasks end, once it is cancelled, within".to_owned(), String::new()]
            .into_iter()
            .chain(cancelled)
            .collect(),
    );
    sheet.print();
    let remark = format!(
        "scale factor {}, {} threads, median of {} runs behind one that is not counted; the last line: the longest of {CANCELS}",
        args.scale,
        shared.threads(),
        args.runs
    );
    println!("{remark}");
    if let Some(path) = &args.out {
        let page = format!(
            "# Short statements beside a long one\n\nWritten by `basalt bench beside --out FILE`; {}. {remark}.\n\n{}",
            machine::processors(),
            sheet.markdown()
        );
        write_page(path, page, &[])?;
    }
    let beside = beside.iter().map(
        |(title, long)| json!({ "long": title, "seconds": long.shorts, "cancelled_seconds": long.cancelled }),
    );
    let figures = json!({
        "scale_factor": args.scale,
        "statements": SHORT.map(|(title, _)| title),
        "alone_seconds": alone,
        "beside": beside.collect::<Vec<_>>(),
    });
    write_json(args.json.as_deref(), &figures)
}

fn shown(seconds: f64) -> String {
    duration(Duration::from_secs_f64(seconds))
}

/// What was found beside a long statement, in seconds.
struct Beside {
    shorts: Vec<f64>,
    cancelled: f64,
}

fn measure_beside(connection: &Connection, sql: &'static str, runs: usize) -> Result<Beside> {
    let session = Arc::new(connection.engine().session());
    let again_and_again = {
        let session = Arc::clone(&session);
        connection.runtime.spawn(async move {
            loop {
                to_end(&session, sql).await?;
            }
        })
    };
    // A timer is of the runtime in which it is made.
    connection.front.block_on(async { sleep(HEAD_START).await });
    let shorts = shorts(connection, runs)?;
    again_and_again.abort();
    let ended: std::result::Result<Result<()>, _> = connection.front.block_on(again_and_again);
    if let Ok(Err(failure)) = ended {
        return Err(failure);
    }
    let mut ends = vec![];
    for cancel in 0..CANCELS {
        let after = HEAD_START * (cancel as u32 + 1);
        ends.push(connection.front.block_on(cancelled(connection, Arc::clone(&session), sql, after)));
    }
    ends.sort_by(f64::total_cmp);
    Ok(Beside { shorts, cancelled: percentile(&ends, 1.0) })
}

/// Begins a statement and ends it after a while; the seconds that its tasks go on.
async fn cancelled(
    connection: &Connection,
    session: Arc<Session>,
    sql: &'static str,
    after: Duration,
) -> f64 {
    let handle: &Handle = connection.runtime.handle();
    let alive = || handle.metrics().num_alive_tasks() + connection.engine().running_tasks();
    let before = alive();
    let task = handle.spawn(async move { to_end(&session, sql).await });
    sleep(after).await;
    let start = Instant::now();
    task.abort();
    // A statement that came to its end before is not what is measured, and takes no time here.
    let _ = task.await;
    while alive() > before {
        sleep(LOOK).await;
    }
    start.elapsed().as_secs_f64()
}

/// Seconds of each short statement, asked by another session: as programs ask, and the shell, which let a query that needs no plan be answered by
/// their own thread.
fn shorts(connection: &Connection, runs: usize) -> Result<Vec<f64>> {
    let session = Arc::new(connection.engine().session());
    let mut all = vec![];
    for (_, sql) in SHORT {
        let mut seconds = vec![];
        for _ in 0..=runs {
            let start = Instant::now();
            match session.begin(sql).map_err(failed)? {
                Begun::Answered(rows) => connection.front.block_on(rows_to_end(rows))?,
                Begun::Waiting(waiting) => {
                    let session = Arc::clone(&session);
                    let asked = connection.runtime.spawn(async move {
                        match session.go_on(*waiting).await.map_err(failed)? {
                            Outcome::Rows(rows) => rows_to_end(rows).await,
                            _ => Ok(()),
                        }
                    });
                    let ended = connection.front.block_on(asked);
                    ended.map_err(|error| Failure::database(anyhow::Error::from(error)))??;
                }
            }
            seconds.push(start.elapsed().as_secs_f64());
        }
        all.push(median(seconds.split_off(1)));
    }
    Ok(all)
}

fn failed(error: SqlError) -> Failure {
    Failure::database(anyhow::Error::from(error))
}

async fn to_end(session: &Session, sql: &str) -> Result<()> {
    let Outcome::Rows(rows) = session.execute(sql).await.map_err(failed)? else { return Ok(()) };
    rows_to_end(rows).await
}

async fn rows_to_end(mut rows: RowStream) -> Result<()> {
    while let Some(batch) = rows.next().await {
        batch.map_err(failed)?;
    }
    Ok(())
}
