// SPDX-License-Identifier: Apache-2.0
//! Partitions of a scan help each other where nobody needs the order of its rows, and every row is still read once.

use super::*;

/// Questions that need no order of the table's rows, or make their own.
const SHARED: [&str; 7] = [
    "select count(v) + sum(v) - min(v) from r where v > 1000000000",
    "select count(*) from r where v % 3 = 1",
    "select sum(v) from r",
    "select v % 1000 g, count(*) from r group by v % 1000 order by g",
    "select k from r order by v desc, k limit 1000",
    "select k from r order by v, k",
    "select count(*) from r a join r b on a.v = b.k where b.v > 0",
];

/// Questions that do.
const IN_ORDER: [&str; 4] = [
    "select k from r order by k",
    "select k from r order by k limit 10",
    "select count(*) from (select k, max(v) m from r group by k) x where m > 5",
    "select sum(p) from (select lag(v) over (order by k) p from r) x",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_help_each_other_read_every_row_once() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    changed(&session, "create table r (k bigint primary key, v bigint)").await.expect("creates");
    changed(&session, "upsert into r select k, k * k * 48271 % 2147483647 from t").await.expect("fills");
    // Some rows lie in memory, above those of the files.
    changed(&session, "upsert into r select k, v + 1 from r where k % 1000 = 7").await.expect("changes");
    for sql in IN_ORDER {
        let plan = plan(&session, sql).await;
        assert!(!plan.contains("SharedWork"), "{sql}\n{plan}");
    }
    for sql in SHARED {
        let plan = plan(&session, sql).await;
        assert!(plan.contains("SharedWork"), "{sql}\n{plan}");
    }
    for sql in SHARED.into_iter().chain(IN_ORDER) {
        let alone = numbers(&session, &sql.replacen("select", "select /*+ SERIAL */", 1)).await.expect(sql);
        assert!(!alone.is_empty(), "{sql}");
        for _ in 0..5 {
            assert_eq!(numbers(&session, sql).await.expect(sql), alone, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_that_is_run_again_is_read_again() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    changed(&session, "create table r (k bigint primary key, v bigint)").await.expect("creates");
    changed(&session, "upsert into r select k, k * k * 48271 % 2147483647 from t").await.expect("fills");
    // The recursive part is run three times, each time over all rows.
    let sql = "with recursive c (n, total) as (select 0, cast(0 as bigint) union all \
               select n + 1, total + (select count(*) from r where v % 2 = 0) from c where n < 3) \
               select total from c order by n";
    let even = numbers(&session, "select count(*) from r where v % 2 = 0").await.expect("counts")[0];
    assert_eq!(numbers(&session, sql).await.expect("counts"), [0, even, 2 * even, 3 * even]);
    let sql = "with recursive c (n, m) as (select cast(0 as bigint), cast(0 as bigint) union all \
               select n + 1, x.m from c, (select count(*) m from r where v % 2 = 0) x where n < 3) \
               select m from c order by n";
    assert_eq!(numbers(&session, sql).await.expect("counts"), [0, even, even, even]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_rows_of_the_key_are_read_first() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    for sql in [
        "create table r (a bigint not null, k bigint not null, v bigint, constraint pk primary key (a, k))",
        "upsert into r select 1, k, k * k * 48271 % 2147483647 from t where k <= 10",
        "upsert into r select 2, k, k * k * 48271 % 2147483647 from t",
        "upsert into r select 3, k, k * k * 48271 % 2147483647 from t where k <= 10",
        "create table d (k bigint primary key desc, v bigint)",
        "upsert into d select k, v from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    fixture.engine.database().flush(None).expect("flushes");
    // Some rows lie in memory, above those of the files.
    changed(&session, "upsert into r select 2, k, 7 from t where k % 1000 = 1").await.expect("changes");
    let n = 1 << 18;
    for (sql, expected) in [
        ("select k from r where a = 2 order by k desc limit 3", vec![n, n - 1, n - 2]),
        (
            "select k from r where a = 2 and v = 7 order by k desc limit 2",
            vec![n / 1000 * 1000 + 1, (n / 1000 - 1) * 1000 + 1],
        ),
        (
            "select a * 100 + k from r order by a desc, k desc limit 11",
            (1..=10).rev().map(|k| 300 + k).chain([200 + n]).collect(),
        ),
        ("select k from d order by k limit 2", vec![1, 2]),
        ("select k from (select k, v + 1 w from d) x order by k limit 1", vec![1]),
    ] {
        let shown = plan(&session, sql).await;
        assert!(shown.contains(", backwards"), "{sql}\n{shown}");
        assert_eq!(numbers(&session, sql).await.expect(sql), expected, "{sql}");
        let ran = plan(&session, &format!("analyze {sql}")).await;
        assert!(scanned(&ran) < n as f64 / 2.0, "{sql}\n{ran}");
    }
    for sql in [
        "select k from r where a = 2 order by k limit 3",
        "select k from d order by k desc limit 3",
        "select k from r order by k desc limit 3",
        "select k from r where a = 2 order by v desc limit 3",
    ] {
        let shown = plan(&session, sql).await;
        assert!(!shown.contains("backwards"), "{sql}\n{shown}");
    }
    // The rows of one value of the first column are in the order of the second.
    let shown = plan(&session, "select k from r where a = 2 order by k").await;
    assert!(!shown.contains("Sort") || shown.contains("SortPreservingMerge"), "{shown}");
    let rows = numbers(&session, "select k from r where a = 2 order by k").await.expect("rows");
    assert!(rows.into_iter().eq(1..=n));
}

/// Rows that the scan handed on, by EXPLAIN ANALYZE.
fn scanned(shown: &str) -> f64 {
    let scan = shown.split("BasaltScan").nth(1).expect("a scan");
    let rows =
        scan.split("output_rows=").nth(1).and_then(|rest| rest.split(',').next()).expect("it counts rows");
    let (number, unit) = rows.split_once(' ').unwrap_or((rows, ""));
    number.parse::<f64>().expect("a number") * if unit == "K" { 1e3 } else { 1.0 }
}
