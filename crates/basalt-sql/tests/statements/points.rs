// SPDX-License-Identifier: Apache-2.0
//! Queries of one row by its key are answered without a plan, and as a plan answers them.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;

use super::*;

async fn rows(session: &Session, sql: &str) -> Result<(SchemaRef, RecordBatch), SqlError> {
    let Outcome::Rows(mut rows) = session.execute(sql).await? else { panic!("{sql} is no query") };
    let schema = rows.schema();
    let mut batches = vec![];
    while let Some(batch) = rows.next().await {
        batches.push(batch?);
    }
    let all = concat_batches(&schema, &batches).expect("batches of one schema");
    Ok((schema, all))
}

const TABLES: &[&str] = &[
    "create table t (k bigint not null, c char(3) not null, s varchar(5) not null, d decimal(9,2) default 7, f.x double, g.x double, \
     \"low\" integer, constraint pk primary key (k, c desc, s))",
    "upsert into t (k, c, s, d, f.x) values (1, 'abc', 'x', 1.5, 2), (-1, 'abc', 'x', 2.5, 3), (1, 'ab', 'x', 3.5, 4)",
    "upsert into t (k, c, s) values (1, 'abc', 'y')",
    "create table salted (k tinyint primary key, v varchar) salt_buckets = 4",
    "upsert into salted values (127, 'most'), (-128, 'least')",
    "create table u (k unsigned_int primary key, f.t integer, t.j integer)",
    "upsert into u (k, f.t, t.j) values (5, 6, 7)",
    "create schema s",
    "create table s.t (t varchar primary key, \"T\u{e4}\" integer)",
    "upsert into s.t values ('it''s', 1), ('b', 2)",
    "create view w as select * from salted where v = 'most'",
];

/// What is asked of tables: lists of columns and conditions.
const QUESTIONS: &[(&str, &[&str], &[&str])] = &[
    (
        "t",
        &["*", "d", "s, k, s", "t.d as one, \"low\", c", "f.x", "*, d"],
        &[
            "k = 1 and c = 'abc' and s = 'x'",
            "('y' = s and c = 'abc') and (k = 1)",
            "k = -1 and t.c = 'abc' and s = 'x'",
            "k = 1 and c = 'ab' and s = 'x'",
            "k = 1 and c = 'ab ' and s = 'x'",
            "k = 1 and c = 'abc' and s = ''",
            "k = 1 and c = 'abc' and s = 'too long'",
            "k = 1 and c = 'abc' and s = 'none'",
            "k = 1 and k = 2 and c = 'abc' and s = 'x'",
            "k = 1.0 and c = 'abc' and s = 'x'",
            "k = 9223372036854775808 and c = 'abc' and s = 'x'",
        ],
    ),
    ("t as o", &["*", "o.d, c"], &["o.k = 1 and c = 'abc' and o.s = 'y'"]),
    ("salted", &["*", "v"], &["k = 127", "k = -128", "k = 128", "k = 0", "k = null"]),
    ("w", &["*"], &["k = 127", "k = -128"]),
    ("u", &["*", "u.k", "t.j", "f.t"], &["k = 5", "k = -5", "u.k = 5"]),
    ("s.t", &["*", "t"], &["t = 'it''s'", "t = 'B'", "t.t = 'b'"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_by_its_key_is_what_a_plan_finds() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for sql in TABLES {
        changed(&session, sql).await.expect(sql);
    }
    let mut found = 0;
    for (table, lists, conditions) in QUESTIONS {
        for (list, condition) in lists.iter().flat_map(|list| conditions.iter().map(move |c| (list, c))) {
            let sql = format!("select {list} from {table} where {condition}");
            let answer = rows(&session, &sql).await.expect(&sql);
            let planned = rows(&session, &format!("{sql} and 1 = 1")).await.expect(&sql);
            assert_eq!(answer, planned, "{sql}");
            found += answer.1.num_rows();
        }
    }
    assert_eq!(found, 55);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_query_by_key_is_said_as_of_any_other() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    changed(&session, "create table t (k bigint primary key, v bigint)").await.expect("creates");
    for (sql, problem) in [
        ("select v from tt where k = 1", "table TT does not exist"),
        ("select vv from t where k = 1", "VV"),
        ("select v from t where kk = 1", "KK"),
        ("select x.v from t where k = 1", "X"),
    ] {
        let error = rows(&session, sql).await.expect_err(sql);
        assert!(error.to_string().contains(problem), "{sql}: {error}");
    }
}

/// A column without a family, in a session with a schema of its own, before and after the row is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_by_its_key_follows_the_session_and_its_writes() {
    let fixture = open(64 << 20);
    let (session, other) = (fixture.engine.session(), fixture.engine.session());
    for sql in ["create schema s", "create table s.t (k bigint primary key, v bigint)", "use s"] {
        changed(&session, sql).await.expect(sql);
    }
    for value in [1, 2] {
        changed(&other, &format!("upsert into s.t values (1, {value})")).await.expect("writes");
        assert_eq!(numbers(&session, "select v from t where k = 1").await.expect("finds"), [value]);
    }
    assert!(numbers(&other, "select v from t where k = 1").await.is_err());
    changed(&other, "delete from s.t where k = 1").await.expect("deletes");
    assert_eq!(numbers(&session, "select v from t where k = 1").await.expect("finds"), [0i64; 0]);
}

/// Indexes of one column and of two, of either order, over values that may be NULL, that come once and often.
const INDEXED: &[&str] = &[
    "create table t (k varchar not null, l integer not null, a integer, s varchar(5), d decimal(9,2), c char(3), e integer, \
     constraint pk primary key (k, l desc))",
    "create sequence q",
    "upsert into t (k, l) values ('x', 0)",
    "upsert into t select k, next value for q from t",
    "upsert into t select k, next value for q from t",
    "upsert into t select k, next value for q from t",
    "upsert into t select k, next value for q from t",
    "upsert into t select k, next value for q from t",
    "upsert into t select k, next value for q from t",
    "upsert into t select k, l, case when l < 60 then l % 4 end, case when l < 50 then 's' || (l % 25) end, \
     case when l < 40 then l / 2 + 0.5 end, 'c' || (l % 9), l % 16 from t",
    "create index of_a on t (a)",
    "create index of_s on t (s desc, c) include (d)",
    "create index of_d on t (d)",
    "create index of_some on t (e) where a = 1",
    "create index of_upper on t (upper(c))",
    "create view v as select * from t where e = 3",
    "create index of_v on v (l)",
    "upsert into t (k, l, a, s) values ('y', 1, 1, 's1'), ('y', 2, 77, 's2')",
    "delete from t where l = 9",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_rows_by_indexed_values_are_what_a_plan_finds() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for sql in INDEXED {
        changed(&session, sql).await.expect(sql);
    }
    let lists = ["*", "count(*)", "count(1) as n", "s, k, d", "l as a, a as l", "COUNT(*), a", "count(a)"];
    let conditions = [
        "a = 1",
        "a = 77",
        "a = -1",
        "a = 9999999999",
        "a = 1 and a = 2",
        "a = 3 and l = 3",
        "a = 3 and k = 'x'",
        "s = 's3'",
        "s = 's3' and c = 'c3'",
        "c = 'c03' and s = 's3'",
        "c = 'c3'",
        "s = ''",
        "s = 's3' and c = 'c3' and l = 3",
        "s = 's3' and l = 3",
        "d = 3.5",
        "d = 3.50",
        "d = 3.501",
        "d = 4",
        "d = -4",
        "e = 3",
        "e = 3 and a = 1",
        "upper(c) = 'C3'",
        "l = 3",
        "l = 3 and e = 3",
        "a = null",
    ];
    let mut found = 0;
    for alter in
        ["alter index of_a on t usable", "alter index of_a on t unusable", "delete from t where l % 3 = 0"]
    {
        changed(&session, alter).await.expect(alter);
        for (list, condition) in lists.iter().flat_map(|list| conditions.iter().map(move |c| (list, c))) {
            let sql = format!("select {list} from t where {condition}");
            let planned = rows(&session, &sql.replacen("select", "select /*+ NO_INDEX */", 1)).await;
            let Ok(planned) = planned else { continue };
            let answer = rows(&session, &sql).await.expect(&sql);
            assert_eq!((sorted(&answer.1), answer.0), (sorted(&planned.1), planned.0), "{sql}");
            found += answer.1.num_rows();
        }
    }
    assert!(found > 500, "{found}");
}

fn sorted(rows: &RecordBatch) -> Vec<String> {
    let text = datafusion::arrow::util::pretty::pretty_format_batches(std::slice::from_ref(rows));
    let mut lines: Vec<String> = text.expect("formats").to_string().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// More rows than are looked up, or counted, without a plan.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_rows_by_an_indexed_value_are_all_found() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 15).await;
    changed(&session, "create table u (k bigint primary key, a integer)").await.expect("creates");
    changed(&session, "create index i on u (a)").await.expect("creates");
    changed(
        &session,
        "upsert into u select k, case when k <= 20000 then 1 when k <= 20033 then 2 else 3 end from t",
    )
    .await
    .expect("writes");
    for (value, count) in [(1, 20_000), (2, 33), (3, (1 << 15) - 20_033)] {
        let counted = numbers(&session, &format!("select count(*) from u where a = {value}")).await;
        assert_eq!(counted.expect("counts"), [count]);
        let found = numbers(&session, &format!("select k from u where a = {value}")).await.expect("finds");
        assert_eq!(found.len() as i64, count);
    }
}

/// The store decodes what is looked up again and again, and finds it there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_is_asked_for_again_and_again_is_found_as_the_first_time() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 15).await;
    changed(&session, "create table u (k bigint primary key, a integer)").await.expect("creates");
    changed(&session, "upsert into u select k, k % 4096 from t").await.expect("writes");
    changed(&session, "create index i on u (a)").await.expect("creates");
    for change in
        ["delete from t where k < 0", "upsert into u values (-1, 7)", "delete from u where k = 4103"]
    {
        changed(&session, change).await.expect(change);
        for value in [7, 8, 4095, 5000] {
            let planned = format!("select /*+ NO_INDEX */ k from u where a = {value}");
            let mut planned = numbers(&session, &planned).await.expect("finds");
            planned.sort_unstable();
            for _ in 0..8 {
                let sql = format!("select k from u where a = {value}");
                assert_eq!(numbers(&session, &sql).await.expect("finds"), planned, "{change}, {value}");
                let counted = numbers(&session, &format!("select count(*) from u where a = {value}")).await;
                assert_eq!(counted.expect("counts"), [planned.len() as i64], "{change}, {value}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_queries_without_a_plan_are_answered_where_they_begin() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for sql in ["create table t (k integer primary key, a integer)", "create index i on t (a)"] {
        changed(&session, sql).await.expect(sql);
    }
    for (sql, at_once) in [
        ("upsert into t values (1, 5)", false),
        ("select a from t where k = 1", true),
        ("select count(*) from t where a = 5", true),
        ("select sum(a) from t where a = 5", false),
        ("select a from t", false),
    ] {
        let begun = session.begin(sql).expect(sql);
        assert_eq!(matches!(begun, Begun::Answered(_)), at_once, "{sql}");
        match begun {
            Begun::Answered(rows) => assert_eq!(rows.count().await, 1, "{sql}"),
            Begun::Waiting(waiting) => drop(session.go_on(*waiting).await.expect(sql)),
        }
    }
    let Begun::Waiting(dropped) = session.begin("upsert into t values (2, 5)").expect("is read") else {
        panic!("a statement that writes was run")
    };
    drop(dropped);
    assert_eq!(count(&session, "t").await, 1);
}
