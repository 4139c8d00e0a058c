// SPDX-License-Identifier: Apache-2.0
//! Rows whose cells have the timestamp of a key column, in memory, in files, and in compacted ones.

use super::{changed, numbers, open};

const ROW: &str = "date '2020-01-01'";
const LATER: &str = "date '2999-01-01'";

/// What is done to the files between two statements.
#[derive(Debug, Clone, Copy)]
enum Between {
    Nothing,
    Flush,
    Compact,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_write_of_a_row_counts_wherever_it_lies() {
    for between in [Between::Nothing, Between::Flush, Between::Compact] {
        let fixture = open(64 << 20);
        let session = fixture.engine.session();
        let database = fixture.engine.database();
        let settle = || match between {
            Between::Nothing => {}
            Between::Flush => database.flush(None).expect("flushes"),
            Between::Compact => {
                database.flush(None).expect("flushes");
                database.compact(None, true).expect("compacts");
            }
        };
        let table = "create table t (at date not null, k integer not null, v bigint, w bigint
            constraint pk primary key (at row_timestamp, k))";
        changed(&session, table).await.expect("creates");
        for row in [ROW, LATER] {
            for (statement, v) in [
                (format!("upsert into t values ({row}, 1, 1, 10)"), Some(11)),
                (format!("upsert into t values ({row}, 1, 2, 20)"), Some(22)),
                (format!("upsert into t (at, k, w) values ({row}, 1, null)"), Some(2)),
                (format!("upsert into t (at, k, w) values ({row}, 1, 30)"), Some(32)),
                (format!("delete from t where at = {row}"), None),
                (format!("upsert into t (at, k, v) values ({row}, 1, 3)"), Some(3)),
                (format!("delete from t where at = {row}"), None),
            ] {
                changed(&session, &statement).await.expect(&statement);
                for settled in [false, true] {
                    if settled {
                        settle();
                    }
                    for condition in [format!("at = {row} and k = 1"), format!("at >= {row}"), "k > 0".into()]
                    {
                        let query =
                            format!("select coalesce(v, 0) + coalesce(w, 0) from t where {condition}");
                        let found = numbers(&session, &query).await.expect("reads");
                        assert_eq!(found.first().copied(), v, "{statement}; {query}; {between:?}, {settled}");
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_end_by_their_own_time() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    let table = "create table t (at date primary key row_timestamp, v bigint) ttl = 3600";
    changed(&session, table).await.expect("creates");
    let rows = "upsert into t values (now() - 1, 1), (now(), 2), (now() + 1, 3), (now() - 0.01, 4)";
    changed(&session, rows).await.expect("writes");
    for _ in 0..2 {
        assert_eq!(numbers(&session, "select v from t order by v").await.expect("reads"), [2, 3, 4]);
        fixture.engine.database().flush(None).expect("flushes");
        fixture.engine.database().compact(None, true).expect("compacts");
    }
    changed(&session, "delete from t").await.expect("deletes");
    assert_eq!(numbers(&session, "select v from t").await.expect("reads"), [0_i64; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_statements_and_loads_have_it_too() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    super::doubled(&session, 17).await;
    let table = "create table r (at bigint primary key row_timestamp, v bigint)";
    changed(&session, table).await.expect("creates");
    assert_eq!(changed(&session, "upsert into r select k, v from t").await.expect("copies"), 1 << 17);
    let query = "select count(*) from (select at, phoenix_row_timestamp() p from r where at <= 1000) where cast(p as bigint) <> at";
    assert_eq!(numbers(&session, query).await.expect("reads"), [0]);
    assert_eq!(changed(&session, "delete from r where v > 7").await.expect("deletes"), (1 << 17) - 7);
    assert_eq!(numbers(&session, "select count(*) from r").await.expect("counts"), [7]);
}
