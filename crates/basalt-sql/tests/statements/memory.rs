// SPDX-License-Identifier: Apache-2.0
//! Statements over a quarter of a million rows with four megabytes: they spill and finish, or say what they lacked.

use basalt_sql::{ErrorKind, Session};

use super::{changed, count, doubled, numbers, open, plan};

const ROWS: i64 = 1 << 18;

/// The answer, or the sentence of a limit.
async fn asked(session: &Session, sql: &str) -> Result<Vec<i64>, String> {
    numbers(session, sql).await.map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::Resources, "{sql}: {error}");
        error.message().to_owned()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_spill_finishes_with_little_memory() {
    let fixture = open(4 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    let sorted = asked(&session, "select v from t order by v desc").await.expect("sorts");
    assert!(sorted.len() == ROWS as usize && sorted.is_sorted_by(|a, b| a > b));
    let mut lacking = vec![];
    for (sql, expected) in [
        ("select count(*) from (select distinct v from t) x", ROWS),
        ("select count(distinct v) from t", ROWS),
        ("select count(*) from (select v, count(*) as n from t group by v having count(*) = 1) x", ROWS),
        ("select count(*) from (select v from t union select k from t) x", ROWS),
        ("select count(*) from (select v from t intersect select k from t) x", ROWS),
        ("select count(*) from (select v from t except select k from t where k > 5) x", 5),
        ("select count(*) from t a join t b on a.v = b.v", ROWS),
        ("select count(*) from t a left join t b on a.v = b.v + 1", ROWS),
        ("select count(*) from t a full join t b on a.v = b.v + 1", ROWS + 1),
        ("select count(*) from t where v in (select v + 2 from t)", ROWS - 2),
        ("select count(*) from t a where not exists (select 1 from t b where b.v = a.v + 3)", 3),
        (
            "select cast(max(r) - min(r) as bigint) from (select row_number() over (order by v desc) as r from t) x",
            ROWS - 1,
        ),
    ] {
        match asked(&session, sql).await {
            Ok(found) => assert_eq!(found, [expected], "{sql}"),
            Err(message) => lacking.push(format!("{sql}: {message}")),
        }
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    assert_eq!(count(&session, "t").await, ROWS);
}

/// What one session may have, another one beside it does not lack.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_may_have_less_memory_than_others() {
    let fixture = open(256 << 20);
    let (limited, other) = (fixture.engine.session(), fixture.engine.session());
    doubled(&limited, 18).await;
    limited.set_memory_limit(Some(1 << 20));
    let median = "select cast(median(k) as bigint) from t";
    let refused = asked(&limited, median).await.expect_err("all values are kept");
    assert!(refused.contains("that one query of this session may have"), "{refused}");
    assert_eq!(asked(&other, median).await, Ok(vec![ROWS / 2]));
    // What can spill does.
    let sorted = asked(&limited, "select v from t order by v desc").await.expect("sorts");
    assert!(sorted.len() == ROWS as usize && sorted.is_sorted_by(|a, b| a > b));
    let joined = "select count(*) from t a join t b on a.v = b.v";
    limited.set_memory_limit(Some(4 << 20));
    assert_eq!(asked(&limited, joined).await, Ok(vec![ROWS]));
    assert!(plan(&other, joined).await.contains("HashJoin"), "the engine's own memory is as before");
    limited.set_memory_limit(None);
    assert_eq!(asked(&limited, median).await, Ok(vec![ROWS / 2]));
}

/// A statement begins again with joins that spill, whatever it does with the rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_write_join_with_little_memory_too() {
    let fixture = open(4 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    changed(&session, "create table u (k bigint primary key, v bigint)").await.expect("creates");
    let file = fixture.directory().join("joined.csv");
    let copy = format!("copy (select a.k, b.v from t a join t b on a.v = b.v) to '{}'", file.display());
    for sql in [
        "upsert into u select a.k, b.v from t a join t b on a.v = b.v",
        "create table c (primary key (k)) as select a.k as k, b.v as w from t a join t b on a.v = b.v",
        "update u set v = v + 1 where exists (select 1 from t where t.v = u.v)",
        "merge into u using t on t.v = u.k when matched then update set v = t.k when not matched then insert (k, v) values (t.k, t.v)",
        &copy,
        "delete from u where v in (select v from t)",
    ] {
        let rows = changed(&session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(rows, ROWS as u64, "{sql}");
    }
    assert_eq!(count(&session, "c").await, ROWS);
    assert_eq!(count(&session, "u").await, 0);
    let shown = plan(&session, "analyze select count(*) from t a join t b on a.v = b.v").await;
    assert!(shown.contains("SortMergeJoin") && shown.contains("output_rows=262"), "{shown}");
}

/// Left rows without a partner, and those of EXISTS, come once, though their partners may be in any part of the right rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn left_rows_of_a_join_on_disk_come_once() {
    let rows = 1_i64 << 17;
    let fixture = open(1 << 20);
    let session = fixture.engine.session();
    doubled(&session, 17).await;
    // All rows, of which the planner thinks that they are few, so that they are kept.
    let left = "(select k, v from t where k % 7 >= 0 and k % 5 >= 0 and k % 3 >= 0 and k % 11 >= 0 and k % 13 >= 0) a";
    // 64 partners in the first of two partitions, none in the second.
    let right = "(select v from t where v % 2048 = 0 union all select -v as v from t where v % 2048 = 0) b";
    let on = "b.v > a.k - 1 and b.v < a.k + 1";
    for (kind, sql, expected) in [
        (
            "Left",
            format!(
                "select sum(a.k - a.v) + count(*) * 1000 + count(b.v) from {left} left join {right} on {on}"
            ),
            rows * 1000 + 64,
        ),
        (
            "LeftSemi",
            format!(
                "select sum(k - v) + count(*) from {left} where exists (select 1 from {right} where {on})"
            ),
            64,
        ),
        (
            "LeftAnti",
            format!(
                "select sum(k - v) + count(*) from {left} where not exists (select 1 from {right} where {on})"
            ),
            rows - 64,
        ),
        (
            "LeftMark",
            format!(
                "select sum(k - v) + count(*) from {left} where v = 1 or exists (select 1 from {right} where {on})"
            ),
            65,
        ),
    ] {
        let shown = plan(&session, &sql).await;
        assert!(shown.contains(&format!("NestedLoopJoinExec: join_type={kind},")), "{sql}: {shown}");
        let found = numbers(&session, &sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(found, [expected], "{sql}");
        let ran = plan(&session, &format!("analyze {sql}")).await;
        assert!(!ran.contains("spill_count=0, spilled_bytes=0.0 B, spilled_rows=0, build"), "{sql}: {ran}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_of_different_values_and_rows_far_behind_spill() {
    let fixture = open(4 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    let within = "the same rows in memory";
    let (little, much) = (&session, open(256 << 20));
    let beside = much.engine.session();
    doubled(&beside, 18).await;
    for (sql, expected) in [
        ("select count(distinct k) + count(distinct v) + count(*) from t", 3 * ROWS),
        (
            "select count(distinct v + 1) filter (where v > 10) + count(distinct v) + min(k) from t",
            2 * ROWS - 9,
        ),
        (
            "select count(distinct k) + sum(distinct v) + count(distinct v % 5) from t where k <= 200000",
            200_000 + 100_000 * 200_001 + 5,
        ),
        ("select v from t order by v desc limit 1 offset 200000", ROWS - 200_000),
        ("select count(*) from (select v from t order by v desc limit 1000 offset 200000) x", 1000),
    ] {
        assert_eq!(numbers(&beside, sql).await.expect(within), [expected], "{sql}");
        assert_eq!(
            asked(little, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")),
            [expected],
            "{sql}"
        );
    }
    let shown = plan(&session, "analyze select v from t order by v desc").await;
    let sort = shown.lines().find(|line| line.contains("RowSort")).unwrap_or_else(|| panic!("{shown}"));
    assert!(sort.contains("spill_count=") && !sort.contains("spill_count=0"), "{sort}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn windows_ask_for_their_memory() {
    let fixture = open(4 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    let sql = |rows: i64| {
        format!(
            "select max(s) from (select sum(v) over (partition by k % 2) as s from t where k <= {rows}) x"
        )
    };
    assert_eq!(numbers(&session, &sql(1000)).await.expect("few rows"), [250_500]);
    let refused = asked(&session, &sql(ROWS)).await.expect_err("too many rows");
    assert!(refused.contains("WindowAggExec"), "{refused}");
}

/// Where neither side is expected to fit, nothing is begun that has to be given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_that_cannot_fit_are_planned_by_sorting() {
    let sql = "select sum(a.k + b.k) from t a join t b on a.v = b.v + 0";
    for (memory_bytes, sorts) in [(7 << 20, true), (256 << 20, false)] {
        let fixture = open(memory_bytes);
        let session = fixture.engine.session();
        doubled(&session, 18).await;
        fixture.engine.database().flush(None).expect("flushes");
        let shown = plan(&session, sql).await;
        assert_eq!(shown.contains("SortMergeJoinExec"), sorts, "{shown}");
        assert_eq!(shown.contains("HashJoinExec"), !sorts, "{shown}");
        let rows: i64 = 1 << 18;
        assert_eq!(numbers(&session, sql).await.expect("joins"), [rows * (rows + 1)]);
    }
}
