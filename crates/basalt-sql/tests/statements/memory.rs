// SPDX-License-Identifier: Apache-2.0
//! Statements over a quarter of a million rows with four megabytes: they spill and finish, or say what they lacked.

use basalt_sql::{ErrorKind, Session};

use super::{count, doubled, numbers, open};

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
