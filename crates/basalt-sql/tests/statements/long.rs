// SPDX-License-Identifier: Apache-2.0
//! Long statements are answered, or refused; none takes the process with it.

use super::*;

/// The part, so many times.
fn row(part: impl Fn(usize) -> String, joint: &str, times: usize) -> String {
    (0..times).map(part).collect::<Vec<_>>().join(joint)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_statements_are_answered_as_far_as_they_may_be_long() {
    let fixture = open(256 << 20);
    let session = &fixture.engine.session();
    changed(session, "create table t (k bigint primary key, n bigint, v varchar)").await.expect("creates");
    changed(session, "upsert into t values (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')").await.expect("writes");
    let count = |condition: String| format!("select count(*) from t where {condition}");
    let equal = |i: usize| format!("n = {i}");
    let cases = [
        (count(row(equal, " or ", 10_000)), 3),
        (count(row(|i| format!("k = {i}"), " or ", 10_000)), 3),
        (count(row(|i| format!("n <> {}", i + 11), " and ", 2_000)), 1),
        (count(row(|i| format!("v like '%{i}%'"), " or ", 2_000)), 0),
        (count(row(|i| format!("k = {i} and n = {}", i * 10), " or ", 5_000)), 3),
        (count(format!("(k, n) in ({})", row(|i| format!("({i}, {})", i * 10), ", ", 2_000))), 3),
        (count(format!("(n, k) not in ({})", row(|i| format!("({}, {i})", i * 10), ", ", 1_000))), 0),
        (
            format!(
                "select sum(x) from ({})",
                row(|i| format!("select cast({i} as bigint) as x"), " union all ", 400)
            ),
            79_800,
        ),
        (
            format!(
                "with a0 as (select cast(1 as bigint) as x), {} select x from a400",
                row(|i| format!("a{} as (select x from a{i})", i + 1), ", ", 400)
            ),
            1,
        ),
        (format!("select cast({} as bigint)", row(|_| "1".into(), " + ", 200)), 200),
        (format!("select cast(length({}) as bigint)", row(|_| "'a'".into(), " || ", 200)), 200),
    ];
    for (sql, wanted) in cases {
        let beginning = sql[..60].to_owned();
        assert_eq!(numbers(session, &sql).await.expect(&beginning), [wanted], "{beginning}");
        assert!(!plan(session, &sql).await.is_empty(), "{beginning}");
    }
    let view = format!("create view w as select * from t where {}", row(equal, " or ", 2_000));
    changed(session, &view).await.expect("creates");
    assert_eq!(numbers(session, "select count(*) from w").await.expect("reads"), [3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn longer_statements_are_refused_at_once() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    session.set_timeout(Some(Duration::from_secs(60)));
    let refused = [
        (format!("select {}", row(|i| format!("{i} = 1"), " or ", 100_000)), "more than 10000 conditions"),
        (format!("select {}", row(|i| format!("{i} = 1"), " and ", 100_000)), "more than 2000 conditions"),
        (format!("select {}", row(|_| "1".into(), "+", 100_000)), "more than 200 operators"),
        (row(|_| "select 1".into(), " union ", 10_000), "more than 500 queries"),
        (
            format!("create view w as select {}", row(|i| format!("{i} = 1"), " and ", 500)),
            "more than 400 conditions",
        ),
        (format!("select {}1{}", "array[".repeat(300), "]".repeat(300)), "nested too deeply"),
        (format!("select {}", "array[".repeat(300)), "nested too deeply"),
        (format!("select {}{}1", "array[".repeat(18), "(".repeat(195)), "nested too deeply"),
        (
            format!("select (1, 2) in ({})", row(|i| format!("({i}, 1)"), ", ", 5_001)),
            "more than 5000 row values",
        ),
        (format!("select {}1", "(".repeat(100_000)), "nested too deeply"),
        (format!("select {} true", "not ".repeat(100_000)), "nested too deeply"),
    ];
    for (sql, wanted) in refused {
        let error = session.execute(&sql).await.expect_err(wanted);
        assert!(error.message().contains(wanted), "{error}");
    }
}
