// SPDX-License-Identifier: Apache-2.0
//! Sessions without autocommit, and what prepared statements say of themselves before they run.

use basalt_model::SqlType;
use basalt_sql::{Session, Value};

use super::{changed, count, numbers, open};

async fn sum(session: &Session) -> i64 {
    numbers(session, "select coalesce(sum(v), 0) from t").await.expect("sums")[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_wait_for_the_commit() {
    let fixture = open(64 << 20);
    let (session, other) = (fixture.engine.session(), fixture.engine.session());
    changed(&session, "create table t (k bigint primary key, v bigint)").await.expect("creates");
    changed(&session, "create index i on t (v)").await.expect("creates");
    changed(&session, "upsert into t values (1, 10), (2, 20)").await.expect("writes");
    session.set_autocommit(false);
    for (sql, rows) in [
        ("upsert into t values (3, 30), (4, 40)", 2),
        ("update t set v = v + 1 where k <= 2", 2),
        ("delete from t where k = 2", 1),
        ("upsert into t select k + 10, v from t", 2),
        ("upsert into t values (1, 7) on duplicate key update v = v + 100", 1),
        ("upsert into t values (5, 50)", 1),
    ] {
        let found = changed(&session, sql).await.expect(sql);
        assert_eq!(found, rows, "{sql}");
        // Neither this session nor another one sees it.
        assert_eq!((sum(&session).await, count(&other, "t").await), (30, 2), "{sql}");
    }
    assert!(!session.is_autocommit());
    assert_eq!(session.commit().await.expect("commits"), 9);
    // 1 is 11 and 100 more, 2 is gone; 11 and 12 were computed before any of it; 3, 4, 5.
    assert_eq!((sum(&other).await, count(&other, "t").await), (111 + 10 + 20 + 30 + 40 + 50, 6));
    assert_eq!(numbers(&other, "select k from t where v = 111").await.expect("by the index"), [1]);
    assert_eq!(session.commit().await.expect("nothing is left"), 0);

    changed(&session, "delete from t").await.expect("deletes");
    session.rollback();
    assert_eq!(session.commit().await.expect("nothing is left"), 0);
    assert_eq!(count(&other, "t").await, 6);

    let refused = session.execute("delete from t returning k").await.expect_err("not yet there");
    assert!(refused.to_string().contains("without autocommit"), "{refused}");
    session.set_autocommit(true);
    changed(&session, "delete from t where k = 1").await.expect("deletes");
    assert_eq!(count(&other, "t").await, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_leaves_nothing() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for sql in [
        "create table t (k bigint primary key, v bigint)",
        "create unique index u on t (v)",
        "upsert into t values (1, 10)",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    session.set_autocommit(false);
    changed(&session, "upsert into t values (2, 20)").await.expect("is kept");
    changed(&session, "upsert into t values (3, 10)").await.expect("is kept");
    let refused = session.commit().await.expect_err("10 is there");
    assert!(refused.to_string().contains("unique index U"), "{refused}");
    assert_eq!((count(&session, "t").await, session.commit().await.expect("nothing is left")), (1, 0));
    let large: Vec<String> = (0..60_000).map(|k| format!("({k})")).collect();
    let large = format!("upsert into t (k) values {}", large.join(","));
    for _ in 0..8 {
        changed(&session, &large).await.expect("is kept");
    }
    let refused = changed(&session, &large).await.expect_err("more than 500,000 rows");
    assert_eq!(refused.code().map(|code| code.number), Some(729), "{refused}");
    session.rollback();
    assert_eq!(count(&session, "t").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_have_the_types_of_what_they_stand_beside() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    changed(&session, "create table s.t (k bigint primary key, v varchar(9), d date, n decimal(9, 2))")
        .await
        .expect("creates");
    changed(&session, "use s").await.expect("uses");
    let (big, text, date) = (Some(SqlType::BigInt), Some(SqlType::Varchar(None)), Some(SqlType::Date));
    let own = Some(SqlType::Varchar(Some(9)));
    let decimal = Some(SqlType::Decimal(Some((9, 2))));
    for (sql, parameters, columns) in [
        (
            "select v, n + ? as m from t where k = ? and d between ? and ?",
            vec![decimal, big, date, date],
            Some(vec!["V", "M"]),
        ),
        (
            "select * from t where (k, d) > (?, ?) and v like ? limit ? offset ?",
            vec![big, date, text, big, big],
            Some(vec!["K", "V", "D", "N"]),
        ),
        ("select count(*) from t where k in (?, ?, 3) or ? = v", vec![big, big, own], Some(vec!["COUNT(1)"])),
        ("select ? from t", vec![None], None),
        ("upsert into t (d, k) values (?, ?), (?, 7)", vec![date, big, date], None),
        (
            "upsert into t values (?, ?, ?, ?) on duplicate key update n = ?",
            vec![big, own, date, decimal, decimal],
            None,
        ),
        ("update t set v = ?, n = n * ? where k <> ?", vec![own, decimal, big], None),
        ("delete from t where d < ?", vec![date], None),
        ("explain select k from t", vec![], Some(vec!["PLAN"])),
        ("create table u (k bigint primary key)", vec![], None),
    ] {
        let prepared = session.prepare(sql).expect(sql);
        let described = session.describe(&prepared).await.expect(sql);
        assert_eq!(described.parameters, parameters, "{sql}");
        let found = described
            .columns
            .map(|schema| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>());
        if let Some(columns) = columns {
            assert!(described.is_query, "{sql}");
            assert_eq!(found.expect(sql), columns, "{sql}");
        }
    }
    let wrong = session.prepare("select nothing from t").expect("parses");
    assert!(session.describe(&wrong).await.is_err());
    let array = session.prepare("select cast(array_length(?) as bigint) from t").expect("parses");
    changed(&session, "upsert into t (k) values (1)").await.expect("writes");
    let value = Value::Array(vec![Value::Integer(4), Value::Integer(5)]);
    session.execute_prepared(&array, &[value]).await.expect("an array");
}
