// SPDX-License-Identifier: Apache-2.0
//! Queries that are asked again and again, whose plans are kept: each answer is that of its moment, and of the definitions of its
//! moment.

use basalt_model::TableName;
use basalt_sql::Value;

use super::*;

/// Rows to be added up by the scan, to be filtered, to be sorted; conditions on the key, on values, on both.
const ASKED: [&str; 10] = [
    "select coalesce(sum(v), -1) from t",
    "select count(*) from t where v < 3000000",
    "select count(v) from t where v % 3 = 1",
    "select coalesce(max(v) - min(v), -1) from t where k between 100 and 900",
    "select coalesce(sum(v * 2 + k), -1) from t where v > 50 or k < 20",
    "select v from t where k > 5 and v < 700 order by v desc",
    "select k from t where k < 300 and v <> 17",
    "select k + v from t where k in (3, 5, 70, 4000000)",
    "select v % 7 as g from t where k < 5000 group by v % 7 order by g",
    "select coalesce(sum(a.v), -1) from (select k, v from t where k > 10) a where a.v < 60000",
];

/// Three times as it is, and once with a hint, so that it is planned anew.
async fn ask(session: &Session, sql: &str, when: &str) {
    let anew = sql.replacen("select", "select /*+ NO_CACHE */", 1);
    let expected = numbers(session, &anew).await.expect(&anew);
    for time in 0..3 {
        assert_eq!(numbers(session, sql).await.expect(sql), expected, "{when}, {time}: {sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_the_moment() {
    let fixture = open(256 << 20);
    let (session, other) = (fixture.engine.session(), fixture.engine.session());
    doubled(&session, 10).await;
    let database = fixture.engine.database();
    let flush = || database.flush(None).expect("flushes");
    for step in [
        "upsert into t values (5000000, 41)",
        "flush",
        "delete from t where k between 200 and 260",
        "upsert into t select k, v + 1000 from t where k < 50",
        "flush",
        "compact",
        // From one partition to several.
        "upsert into t select k * 4096 + a.n, v + a.n from t, (select k as n from t where k < 300) a",
        "flush",
        "alter table t add w bigint",
        "upsert into t (k, w) values (7, 9)",
        "create local index i on t (v)",
        "delete from t where v = 17",
        "drop index i on t",
        "compact",
        "delete from t where k > 1000000",
        "compact",
        "delete from t",
        "flush",
        "compact",
    ] {
        match step {
            "flush" => flush(),
            "compact" => {
                flush();
                database.compact(None, true).expect("compacts");
            }
            sql => {
                changed(&session, sql).await.expect(sql);
            }
        }
        for sql in ASKED {
            ask(&session, sql, step).await;
            ask(&other, sql, step).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_are_those_of_the_moment() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    let asked = "select coalesce(sum(v), -1) from d";
    let of_view = "select coalesce(sum(v), -1) from few";
    for (definition, sums) in [
        (
            &["create table d (k bigint primary key, v bigint)", "upsert into d values (1, 5)"][..],
            [Some(5), None],
        ),
        (
            &["create view few as select * from d where v > 5", "upsert into d values (2, 7)"],
            [Some(12), Some(7)],
        ),
        (&["drop view few", "create view few as select * from d where v > 0"], [Some(12), Some(12)]),
        (&["drop view few"], [Some(12), None]),
        (&["alter table d drop column v", "alter table d add v bigint default 3"], [Some(6), None]),
        (&["drop table d"], [None, None]),
        (
            &["create table d (v bigint primary key, k integer)", "upsert into d values (8, 1)"],
            [Some(8), None],
        ),
        (&["create schema other", "create table other.d (k bigint primary key, v bigint)"], [Some(8), None]),
        (&["use other"], [Some(-1), None]),
        (&["upsert into d values (1, 99)"], [Some(99), None]),
        (&["use default"], [Some(8), None]),
    ] {
        for sql in definition {
            session.execute(sql).await.expect(sql);
        }
        for (sql, expected) in [asked, of_view].into_iter().zip(sums) {
            for _ in 0..3 {
                let found = numbers(&session, sql).await;
                match expected {
                    Some(sum) => assert_eq!(found.expect(sql), [sum], "{definition:?}: {sql}"),
                    None => assert!(found.is_err(), "{definition:?}: {sql}"),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disabled_table_is_not_asked() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 4).await;
    let database = fixture.engine.database();
    database.flush(None).expect("flushes");
    let (id, _) = database.table(&TableName::new("default", "T")).expect("is there");
    for (is_enabled, rows) in [(true, Some(16)), (false, None), (true, Some(16))] {
        database.set_table_enabled(id, is_enabled).expect("is changed");
        for sql in ["select count(*) from t", "select count(*) from t where k > -5", "select max(v) from t"] {
            for _ in 0..3 {
                match (numbers(&session, sql).await, rows) {
                    (Ok(found), Some(rows)) => assert_eq!(found, [rows], "{sql}"),
                    (Err(error), None) => assert!(error.message().contains("disabled"), "{error}"),
                    (found, _) => panic!("enabled: {is_enabled}: {found:?}: {sql}"),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_and_sessions_do_not_meet() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 12).await;
    let prepared = session.prepare("select count(*) from t where v > ? and v <= ?").expect("is prepared");
    for round in 0..4 {
        for (low, high) in [(0, 10), (10, 15), (0, 10), (100, 4000)] {
            let values = [Value::Integer(low), Value::Integer(high)];
            let outcome = session.execute_prepared(&prepared, &values).await.expect("counts");
            let Outcome::Rows(mut rows) = outcome else { panic!("rows") };
            let batch = rows.next().await.expect("a batch").expect("counts");
            assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), high - low, "{round}");
        }
    }
    // One plan, run by several at once.
    let ask = |_| {
        let session = fixture.engine.session();
        async move { numbers(&session, "select sum(v) - count(*) from t where k > 0").await.expect("adds up") }
    };
    let answers = futures::future::join_all((0..40).map(ask)).await;
    assert!(answers.iter().all(|answer| *answer == [(1 << 11) * ((1 << 12) + 1) - (1 << 12)]), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kept_plans_keep_no_files() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 12).await;
    let database = fixture.engine.database();
    let files = || {
        let found = walk(&fixture.directory().join("db").join("data"));
        found.into_iter().filter(|path| path.components().any(|part| part.as_os_str() == "T")).count()
    };
    for round in 0..4 {
        changed(&session, "upsert into t select k, v + 1 from t where k < 100").await.expect("changes");
        database.flush(None).expect("flushes");
        for sql in ASKED {
            ask(&session, sql, "between compactions").await;
        }
        database.compact(None, true).expect("compacts");
        assert_eq!(files(), 1, "files of T in round {round}");
    }
}

fn walk(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries =
        std::fs::read_dir(directory).expect("is a directory").map(|entry| entry.expect("is there").path());
    let (directories, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(directories.iter().flat_map(|directory| walk(directory)));
    files
}
