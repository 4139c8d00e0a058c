// SPDX-License-Identifier: Apache-2.0
//! SYSTEM views of what needs time, flushes or compactions.

use std::time::{Duration, Instant};

use basalt_sql::{Engine, EngineOptions};
use basalt_store::{Database, OpenOptions};

use super::{changed, numbers, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_compactions_are_listed() {
    let fixture = open(64 << 20);
    let (database, session) = (fixture.engine.database(), fixture.engine.session());
    changed(&session, "create table t (k bigint primary key, v bigint) split on (5)").await.expect("creates");
    for first in [0, 10] {
        for k in [first + 1, first + 2, first + 7] {
            changed(&session, &format!("upsert into t values ({k}, 1)")).await.expect("writes");
        }
        database.flush(None).expect("flushes");
    }
    let rows = "select rows from system.files where table_name = 'T' order by region, rows";
    // The store may flush by itself in between, which makes more files of the same rows.
    let flushed = numbers(&session, rows).await.expect("lists");
    assert!(flushed.len() >= 3 && flushed.iter().sum::<i64>() == 6, "{flushed:?}");
    database.compact(None, true).expect("compacts");
    assert_eq!(numbers(&session, rows).await.expect("lists"), [2, 4]);
    let both = "select files_read * 100 + files_written from system.compactions
        where table_name = 'T' and reason = 'MAJOR' and bytes_read > bytes_written and ended >= started order by 1";
    // The first region may have one file, which a major compaction rewrites, too.
    let compacted = numbers(&session, both).await.expect("lists");
    assert!(compacted.iter().any(|&both| both >= 201 && both % 100 == 1), "{compacted:?}");
    changed(&session, "drop table t").await.expect("drops");
    assert_eq!(numbers(&session, rows).await.expect("lists"), Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_built_by_itself_is_seen() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    changed(&session, "create table t (k bigint primary key, v bigint)").await.expect("creates");
    changed(&session, "upsert into t values (0, 0)").await.expect("writes");
    for rows in (0..17).map(|doubling| 1 << doubling) {
        let doubled = format!("upsert into t select k + {rows}, v * 7919 % 1000003 + {rows} from t");
        changed(&session, &doubled).await.expect("writes");
    }
    changed(&session, "create index i on t (v) async").await.expect("begins");
    let building = "select rows_done from system.upkeep where what = 'INDEX' and table_name = 'I'";
    let active =
        "select count(*) from information_schema.indexes where index_name = 'I' and state = 'ACTIVE'";
    let mut seen = vec![];
    let give_up = Instant::now() + Duration::from_secs(60);
    while numbers(&session, active).await.expect("lists") != [1] {
        seen.extend(numbers(&session, building).await.expect("lists"));
        assert!(Instant::now() < give_up, "the index is not built: {seen:?}");
    }
    assert!(!seen.is_empty() && seen.is_sorted() && seen.iter().all(|rows| *rows <= 1 << 17), "{seen:?}");
    // The thread ends a moment after the index is active.
    while !numbers(&session, building).await.expect("lists").is_empty() {
        assert!(Instant::now() < give_up, "the build does not end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_statements_are_listed_when_they_have_ended() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    // All are slow.
    let options = EngineOptions { slow_query: Duration::ZERO, ..EngineOptions::default() };
    let session = Engine::try_new(database, options).expect("starts").session();
    changed(&session, "create table t (k bigint primary key)").await.expect("creates");
    changed(&session, "upsert into t values (1), (2)").await.expect("writes");
    numbers(&session, "select k from t where k > 0 + 0").await.expect("reads");
    let written = "select rows_written from system.slow_queries where statement like 'upsert into t%'";
    assert_eq!(numbers(&session, written).await.expect("lists"), [2]);
    let read = "select rows_read from system.slow_queries where statement like 'select k from t%' and elapsed_ms >= 0";
    assert_eq!(numbers(&session, read).await.expect("lists"), [2]);
    let own = "select count(*) from system.slow_queries where statement like '%slow_queries%'";
    assert_eq!(numbers(&session, own).await.expect("lists"), [2]);
    // The oldest are forgotten.
    for _ in 0..300 {
        changed(&session, "upsert into t values (3)").await.expect("writes");
    }
    assert_eq!(numbers(&session, "select count(*) from system.slow_queries").await.expect("lists"), [256]);
}
