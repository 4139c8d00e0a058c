// SPDX-License-Identifier: Apache-2.0
//! Which plans are kept, and when they are used.

use basalt_store::{Database, OpenOptions};
use futures::StreamExt;

use super::*;
use crate::dialect::{self, Statement};
use crate::{Engine, EngineOptions, Outcome, Session};

async fn asked(session: &Session, sql: &str) {
    let Outcome::Rows(mut rows) = session.execute(sql).await.expect(sql) else { return };
    while let Some(batch) = rows.next().await {
        batch.expect(sql);
    }
}

/// The plan that is kept for a query, if it can be used now.
fn kept(engine: &Engine, sql: &str) -> Option<Arc<dyn ExecutionPlan>> {
    let Statement::Query(query) = dialect::parse(sql).expect("parses").statement else { panic!("{sql}") };
    let (database, progress) = (engine.database(), Arc::default());
    let asking =
        Asking { database, snapshot: &database.snapshot(), state: engine.state(), progress: &progress };
    let question = Question { query: *query, schema: None };
    engine.repeated().plan(&question, &engine.repeated().kept(&question)?, &asking)
}

#[tokio::test]
async fn plans_that_are_the_same_whenever_they_are_made_are_kept() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    let engine = Engine::try_new(database, EngineOptions::default()).expect("starts");
    let session = engine.session();
    for sql in [
        "create table t (k bigint primary key, v bigint, d date, n varchar)",
        "create view w as select * from t where v > 3",
        "create sequence s",
        "upsert into t values (1, 2, date '2026-01-01', 'a')",
    ] {
        asked(&session, sql).await;
    }
    let mut count = 0;
    for (sql, is_kept) in [
        ("select sum(v) from t", true),
        ("select sum(v) from w", true),
        ("select count(*) from t", true),
        ("select k from t where v = 2 and n like 'a%'", true),
        ("select k from t where d < to_date('2027-01-01')", true),
        // Of the moment, or of chance.
        ("select count(v) from t where d < current_date()", false),
        ("select v + rand() from t", false),
        ("select next value for s, v from t", false),
        // Sorted, which takes longer than planning, or with a limit, which tells the scan something; of several tables; of what is no table.
        ("select v, k from t order by v", false),
        ("select v from t order by v limit 3", false),
        ("select sum(a.v) from t a, t b where a.k = b.v", false),
        ("select sum(v) from t where k in (select v from t)", false),
        ("select count(table_name) from information_schema.tables where table_name = 'T'", false),
        // By key, which needs no plan.
        ("select v from t where k = 1", false),
    ] {
        for _ in 0..3 {
            asked(&session, sql).await;
        }
        count += usize::from(is_kept);
        assert_eq!(engine.repeated().len(), count, "{sql}");
        assert_eq!(kept(&engine, sql).is_some(), is_kept, "{sql}");
    }
    // Once is not again; and with a hint or a limit of its own a session has plans of its own.
    asked(&session, "select max(v) from t").await;
    for _ in 0..3 {
        asked(&session, "select /*+ SERIAL */ sum(v) from t").await;
    }
    let limited = engine.session();
    limited.set_memory_limit(Some(1 << 20));
    for _ in 0..3 {
        asked(&limited, "select min(v) from t").await;
    }
    assert_eq!(engine.repeated().len(), count);

    // Rows change no plan, definitions do.
    asked(&session, "upsert into t values (2, 5, null, null)").await;
    assert!(kept(&engine, "select sum(v) from t").is_some());
    asked(&session, "alter table t add more bigint").await;
    assert!(kept(&engine, "select sum(v) from t").is_none());
    assert_eq!(engine.repeated().len(), count - 1, "what does not hold is forgotten");
}

#[tokio::test]
async fn a_table_of_many_more_rows_is_planned_anew() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    let engine = Engine::try_new(database, EngineOptions::default()).expect("starts");
    let session = engine.session();
    asked(&session, "create table t (k bigint primary key, v bigint)").await;
    let values = |from: u32, to: u32| (from..to).map(|k| format!("({k}, {})", k % 50)).collect::<Vec<_>>();
    asked(&session, &format!("insert into t values {}", values(0, 70).join(", "))).await;
    let sum = "select sum(k) from t where v > 7";
    for _ in 0..2 {
        asked(&session, sum).await;
    }
    // Twice as many of a few are still few.
    asked(&session, &format!("insert into t values {}", values(70, 200).join(", "))).await;
    assert!(kept(&engine, sum).is_some());
    asked(&session, "upsert into t select a.k * 1000 + b.k, a.v from t a, t b where a.k < 70 and b.k < 70")
        .await;
    assert!(kept(&engine, sum).is_none(), "planned for 200 rows, and there are 5,000");
    assert_eq!(engine.repeated().len(), 0, "what does not hold is forgotten");
    for _ in 0..2 {
        asked(&session, sum).await;
    }
    assert!(kept(&engine, sum).is_some());
}

#[tokio::test]
async fn no_more_than_so_many_plans_are_kept() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    let engine = Engine::try_new(database, EngineOptions::default()).expect("starts");
    let session = engine.session();
    asked(&session, "create table t (k bigint primary key, v bigint)").await;
    for number in 0..PLANS_MAX + 50 {
        for _ in 0..2 {
            asked(&session, &format!("select sum(v) from t where v < {number}")).await;
        }
    }
    let kept = engine.repeated().len();
    assert!((PLANS_MAX / 2..=PLANS_MAX).contains(&kept), "{kept} plans are kept");
    let long = format!("select sum(v) from t where n < '{}'", "x".repeat(TEXT_MAX));
    let long = long.replace("n < ", "'a' || v < ");
    for _ in 0..3 {
        asked(&session, &long).await;
    }
    assert!(self::kept(&engine, &long).is_none());
}
