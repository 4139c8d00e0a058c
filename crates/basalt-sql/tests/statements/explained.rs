// SPDX-License-Identifier: Apache-2.0
//! EXPLAIN of statements that are no queries, and where errors point.

use basalt_sql::Session;

use super::{changed, count, doubled, numbers, open, plan};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_change_something_are_explained_and_do_not_run() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 2).await;
    let file = fixture.directory().join("t.csv");
    let merge = "merge into t using (select 1 as k, 9 as v) s on t.k = s.k when matched and s.v > 3 then delete \
                 when matched then update set v = s.v when not matched then insert (k, v) values (s.k, s.v)";
    for (sql, parts) in [
        (
            merge.to_owned(),
            [
                "MERGE INTO T, one atomic batch",
                "\n  WHEN MATCHED THEN DELETE\n    ",
                "\n  WHEN MATCHED THEN UPDATE\n    ",
                "\n  WHEN NOT MATCHED THEN INSERT\n    ",
            ],
        ),
        (
            format!("copy (select k from t where v > 2) to '{}'", file.display()),
            ["COPY TO '", "t.csv'\n  ", "BasaltScan: table=T", "filter="],
        ),
        (
            format!("copy t from '{}'", file.display()),
            ["COPY INTO T FROM '", "t.csv'", ", one atomic batch", ""],
        ),
        (
            "create index i on t (v desc)".to_owned(),
            [
                "CREATE INDEX I ON T: reads about 4 rows",
                "sorts them by 0:V",
                "while other statements go on",
                "",
            ],
        ),
        (
            "create table c (primary key (k)) as select k from t".to_owned(),
            ["CREATE TABLE C AS\n  ", "BasaltScan: table=T", "", ""],
        ),
    ] {
        let shown = plan(&session, &sql).await;
        assert!(parts.iter().all(|part| shown.contains(part)), "{sql}:\n{shown}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&plan(&session, &format!("format json {merge}")).await).expect("JSON");
    assert_eq!(json["plans"].as_array().map(Vec::len), Some(3), "{json}");
    assert!(!file.exists() && count(&session, "t").await == 4);
    for refused in ["drop index i on t", "drop table t", "explain copy nothing from 'x.csv'"] {
        session.execute(&format!("explain {refused}")).await.expect_err(refused);
    }
}

/// Line and column of an error, and the name that was meant.
async fn pointed(session: &Session, sql: &str) -> (usize, Option<String>) {
    let error = session.execute(sql).await.expect_err(sql);
    let position = error.position().unwrap_or_else(|| panic!("{sql}: {error}"));
    assert_eq!(position.line, 1, "{sql}");
    (position.column, error.suggestion().map(str::to_owned))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_point_at_the_part_that_is_wrong() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for sql in ["create table a (k integer primary key, w integer)", "create table b (k integer primary key)"]
    {
        changed(&session, sql).await.expect(sql);
    }
    for (sql, wrong, meant) in [
        ("select a.nope from a", "nope", None),
        ("select a.w, b.w from a, b", "w from", None),
        ("select a.k, b.kk from a, b", "kk", Some("K")),
        ("select c.k from a, b", "c.k", None),
        ("select a.k, k from a, b", "k from", None),
        ("create table x (k intger primary key)", "intger", Some("INTEGER")),
        ("select cast(k as varchr) from a", "varchr", Some("VARCHAR")),
        ("select lenght('a') from a", "lenght", Some("LENGTH")),
    ] {
        let (column, suggested) = pointed(&session, sql).await;
        assert_eq!(column, sql.find(wrong).expect("is in it") + 1, "{sql}");
        if meant.is_some() {
            assert_eq!(suggested.as_deref(), meant, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_and_hints_have_nearest_names() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    changed(&session, "create table t (k integer primary key) compresion = 'NONE', mine = 3")
        .await
        .expect("creates");
    assert_eq!(
        session.take_warnings(),
        [
            "option COMPRESION is kept but has no effect; did you mean COMPRESSION?",
            "option MINE is kept but has no effect",
        ]
    );
    changed(&session, "select /*+ NO_INDX SERIAL */ k from t").await.expect("runs");
    assert_eq!(session.take_warnings(), ["there is no hint NO_INDX; did you mean NO_INDEX?"]);
}

/// Rows in the order of the key are not sorted for a merge join, and an OFFSET over most of a table is not read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_the_key_spares_work() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 15).await;
    fixture.engine.database().flush(None).expect("flushes");
    let joined =
        "select /*+ USE_SORT_MERGE_JOIN */ a.k from t a join t b on a.k = b.k where a.v >= 0 and b.v >= 0";
    let shown = plan(&session, joined).await;
    assert!(shown.contains("SortMergeJoin") && !shown.contains("SortExec"), "{shown}");
    let mut found = numbers(&session, joined).await.expect("joins");
    found.sort_unstable();
    assert!(found.into_iter().eq(1..=1 << 15));
    let shown = plan(&session, &joined.replace("a.k = b.k", "a.v = b.v")).await;
    assert!(shown.contains("SortMergeJoin") && shown.contains("SortExec"), "{shown}");

    for (sql, skips) in [
        ("select k from t order by k offset 20000", true),
        ("select k from t order by k limit 30000 offset 20000", false),
        ("select k from t order by k limit 100 offset 20000", true),
        ("select k from t order by k offset 12000", false),
    ] {
        let shown = plan(&session, sql).await;
        let scan = shown.lines().find(|line| line.contains("BasaltScan")).expect("it scans");
        assert_eq!(scan.contains("skip="), skips, "{sql}\n{shown}");
        let offset: i64 =
            sql.rsplit(' ').next().and_then(|offset| offset.parse().ok()).expect("ends with it");
        let end = if sql.contains("limit 100 ") { offset + 100 } else { 1 << 15 };
        assert!(numbers(&session, sql).await.expect(sql).into_iter().eq(offset + 1..=end), "{sql}");
    }
}

/// A counter of the lines that name an operator.
fn counted(analyzed: &str, operator: &str, counter: &str) -> u64 {
    let lines = analyzed.lines().filter(|line| line.trim_start().starts_with(operator));
    let number = |line: &str| {
        let (_, rest) = line.split_once(&format!("{counter}="))?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    lines.filter_map(number).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_looked_up_count_their_blocks() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    changed(&session, "create table t (k bigint primary key, v bigint, w varchar)").await.expect("creates");
    for row in 0..50 {
        let upsert = format!("upsert into t values ({row}, {}, 'w')", row % 10);
        changed(&session, &upsert).await.expect("writes");
    }
    changed(&session, "create index i on t (v)").await.expect("creates");
    fixture.engine.database().flush(None).expect("flushes");
    let by_index = plan(&session, "analyze select w from t where v = 5").await;
    assert!(counted(&by_index, "IndexLookup", "blocks_read") > 0, "{by_index}");
    let by_keys = plan(&session, "analyze select w from t where k in (3, 40)").await;
    assert!(counted(&by_keys, "BasaltScan", "blocks_read") > 0, "{by_keys}");
}
