// SPDX-License-Identifier: Apache-2.0
//! What needs more than text in and text out: large statements, little memory, several sessions, cancelling.

mod aggregates;
mod autocommit;
mod caching;
mod cancelled;
mod conditions;
mod cursors;
mod ended_values;
mod explained;
mod files;
mod first_rows;
mod from_the_end;
mod index_orders;
mod indexes;
mod join_keys;
mod late_columns;
mod long;
mod looked_up;
mod memory;
mod never_returns;
mod panics;
mod parameters;
mod points;
mod repeated;
mod repeated_rows;
mod row_timestamp;
mod semi_joins;
mod shared;
mod system;
mod unfinished_index;
mod warnings;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use basalt_sql::{Begun, Engine, EngineOptions, ErrorKind, Outcome, Session, SqlError};
use basalt_store::{Database, OpenOptions};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use futures::StreamExt;
use tempfile::TempDir;

struct Fixture {
    engine: Engine,
    directory: TempDir,
}

impl Fixture {
    /// A directory for files, the database's among them.
    fn directory(&self) -> &Path {
        self.directory.path()
    }
}

fn open(memory_bytes: u64) -> Fixture {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    let options = EngineOptions { threads: 2, memory_bytes, ..EngineOptions::default() };
    Fixture { engine: Engine::try_new(database, options).expect("starts"), directory }
}

async fn changed(session: &Session, sql: &str) -> Result<u64, SqlError> {
    match session.execute(sql).await? {
        Outcome::Count { rows, .. } => Ok(rows),
        _ => Ok(0),
    }
}

/// The first column of all rows.
async fn numbers(session: &Session, sql: &str) -> Result<Vec<i64>, SqlError> {
    let Outcome::Rows(mut rows) = session.execute(sql).await? else { panic!("{sql} is no query") };
    let mut numbers = vec![];
    while let Some(batch) = rows.next().await {
        numbers.extend(batch?.column(0).as_primitive::<Int64Type>().values());
    }
    Ok(numbers)
}

/// What EXPLAIN says of a query.
async fn plan(session: &Session, sql: &str) -> String {
    let Outcome::Rows(mut rows) = session.execute(&format!("explain {sql}")).await.expect("explains") else {
        panic!("rows")
    };
    let mut lines = vec![];
    while let Some(batch) = rows.next().await {
        let batch = batch.expect("rows");
        lines.extend(batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    lines.join("\n")
}

async fn count(session: &Session, table: &str) -> i64 {
    numbers(session, &format!("select count(*) from {table}")).await.expect("counts")[0]
}

/// A table T (K BIGINT, V BIGINT) of `1 << doublings` rows with K = V = 1, 2, ….
async fn doubled(session: &Session, doublings: u32) {
    for sql in [
        "create table t (k bigint primary key, v bigint)",
        "create sequence s",
        "upsert into t values (next value for s, current value for s)",
    ] {
        changed(session, sql).await.expect(sql);
    }
    for _ in 0..doublings {
        changed(session, "upsert into t select next value for s, current value for s from t")
            .await
            .expect("doubles");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_beyond_the_log_is_atomic_too() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 17).await;
    assert_eq!(count(&session, "t").await, 1 << 17);
    let sums =
        numbers(&session, "select sum(k) - sum(v) + count(distinct k) - max(k) from t").await.expect("sums");
    assert_eq!(sums, [0]);

    changed(&session, "create table small (k smallint primary key, v bigint)").await.expect("creates");
    let error =
        changed(&session, "upsert into small select k - 40000, v from t").await.expect_err("beyond SMALLINT");
    assert!(error.message().contains("is out of range for SMALLINT"), "{error}");
    // Rows that come before the one that does not fit, more than go through the log.
    let error = changed(&session, "upsert into t select k + 1000000, 90000 / (k - 120000) from t").await;
    assert!(error.expect_err("divides by zero").message().contains("division by zero"));
    assert_eq!(count(&session, "small").await, 0);
    assert_eq!(count(&session, "t").await, 1 << 17);

    assert_eq!(changed(&session, "delete from t where k > 10").await.expect("deletes"), (1 << 17) - 10);
    assert_eq!(count(&session, "t").await, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sorts_and_joins_spill() {
    let fixture = open(8 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    let sorted = numbers(&session, "select v from t order by v desc").await.expect("sorts");
    assert!(sorted.len() == 1 << 18 && sorted.is_sorted_by(|a, b| a > b));
    // The build side of a hash join does not fit: the query is planned again with joins that sort.
    let joined = numbers(&session, "select count(*) from t a join t b on a.v = b.v where b.k > 0")
        .await
        .expect("joins");
    assert_eq!(joined, [1 << 18]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_is_an_error_and_not_the_end() {
    let fixture = open(1 << 20);
    let session = fixture.engine.session();
    doubled(&session, 16).await;
    let error = numbers(&session, "select count(distinct k) from t").await.err();
    assert!(error.is_none_or(|error| error.kind() == ErrorKind::Resources));
    assert_eq!(count(&session, "t").await, 1 << 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_stream_stops_reading() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    let Outcome::Rows(mut rows) = session.execute("select k from t").await.expect("starts") else {
        panic!("rows")
    };
    rows.next().await.expect("a batch").expect("rows");
    let progress = session.progress();
    drop(rows);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let stopped = progress.read().rows;
    assert!(stopped < 1 << 18, "read to the end");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(progress.read().rows, stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_statement_changes_nothing() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    let endless = changed(&session, "upsert into t select a.k + 1000000 + b.k * 1000000, 1 from t a, t b");
    assert!(tokio::time::timeout(Duration::from_millis(300), endless).await.is_err(), "it ended");
    assert_eq!(count(&session, "t").await, 1 << 18);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_never_get_the_same_value() {
    let fixture = open(64 << 20);
    let first = fixture.engine.session();
    changed(&first, "create sequence s cache 3").await.expect("creates");
    let engine = Arc::new(fixture.engine.clone());
    let tasks = (0..4).map(|_| {
        let session = engine.session();
        tokio::spawn(async move {
            let mut values = vec![];
            for _ in 0..25 {
                values.extend(numbers(&session, "select next value for s").await.expect("takes"));
            }
            values
        })
    });
    let mut all = HashSet::new();
    for task in tasks.collect::<Vec<_>>() {
        for value in task.await.expect("ends") {
            assert!(all.insert(value), "{value} twice");
        }
    }
    assert_eq!(all.len(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_without_effect_are_named() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    let sql = "create table t (k integer primary key) compression = 'LZO', salt_buckets = 4, versions = 2";
    changed(&session, sql).await.expect("creates");
    let warnings = session.take_warnings();
    assert_eq!(
        warnings,
        [
            "COMPRESSION LZO is not supported yet; ZSTD is used",
            "option SALT_BUCKETS is kept but has no effect: rows are not salted; writes do not depend on it",
        ]
    );
    let view = "create view v as select * from t where k > 1 update_cache_frequency = 900000, immutable_rows = true, mine = 1";
    changed(&session, view).await.expect("creates");
    assert_eq!(
        session.take_warnings(),
        [
            "option UPDATE_CACHE_FREQUENCY of a view has no effect: every statement sees the newest schema",
            "option IMMUTABLE_ROWS of a view has no effect: rows can be changed",
            "option MINE of a view has no effect",
        ]
    );
    changed(&session, "alter view v set update_cache_frequency = 60000").await.expect("changes nothing");
    assert_eq!(session.take_warnings().len(), 1);
    for sql in ["create view w as select * from t ttl = 60", "alter view v set ttl = 60"] {
        let error = changed(&session, sql).await.expect_err("it is the table's");
        let expected = "a view has no TTL of its own; set it on its table: ALTER TABLE .. SET TTL = 60";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    changed(&session, "select /*+ RANGE_SCAN */ 1").await.expect("runs");
    assert_eq!(session.take_warnings(), ["hint RANGE_SCAN is not followed; the planner decides"]);
}
