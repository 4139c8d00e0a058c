// SPDX-License-Identifier: Apache-2.0
//! What Phoenix does not bring to an end: joins of more keys than its servers take, DISTINCT over millions of values, OFFSET by
//! millions of rows, and sorts of many times the memory.
//!
//! `make torture` asks it of 2^24 rows with 256 MiB (`BASALT_ROWS=16777216`); `make test` of 2^20 rows with half of the memory.

use tokio::time::Instant;

use super::*;

const ROWS: u64 = 1 << 20;
const ROWS_FULL: u64 = 1 << 24;
const MEMORY_FULL: u64 = 256 << 20;
/// The largest join of Phoenix that is known to work has fewer keys.
const KEYS_OF_PHOENIX: u64 = 1 << 18;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_phoenix_does_not_bring_to_an_end() {
    let rows =
        std::env::var("BASALT_ROWS").map_or(ROWS, |text| text.parse().expect("BASALT_ROWS is a number"));
    let rows = rows.next_power_of_two();
    let fixture = open(if rows < ROWS_FULL { MEMORY_FULL / 2 } else { MEMORY_FULL });
    let session = fixture.engine.session();
    fill(&session, rows).await;
    let n = rows as i64;
    for (sql, expected) in [
        // All keys meet, in another order.
        ("select count(*) + sum(a.k - b.w) from t a join u b on a.v = b.w".to_owned(), n),
        (
            format!("select count(*) from t a join u b on a.v = b.w where b.k <= {KEYS_OF_PHOENIX}"),
            n.min(1 << 18),
        ),
        ("select count(*) from u a left join u b on a.w = b.w + 1".to_owned(), n),
        (
            format!("select count(*) from t where k <= {n} and not exists (select 1 from u where w + 2 = v)"),
            2,
        ),
        ("select count(*) from (select distinct w from u) x".to_owned(), n),
        ("select count(distinct w) from u".to_owned(), n),
        ("select count(*) from (select w, count(*) from u group by w having count(*) = 1) x".to_owned(), n),
        (format!("select k from t order by k limit 1 offset {}", 3 * n), 3 * n + 1),
    ] {
        let began = Instant::now();
        assert_eq!(
            numbers(&session, &sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")),
            [expected],
            "{sql}"
        );
        println!("{:6.1} s  {sql}", began.elapsed().as_secs_f64());
    }
    sorted(&session, n).await;
}

/// T (K, V) of four times the rows, K = V = 1, 2, ..; U (K, W, F) of the rows, W the same numbers in another order, F texts of 240 letters.
async fn fill(session: &Session, rows: u64) {
    doubled(session, rows.ilog2() + 2).await;
    changed(session, "create table u (k bigint primary key, w bigint, f varchar)").await.expect("creates");
    // An odd factor deals the numbers below a power of two out anew, each once.
    let fill = format!(
        "upsert into u select k, w, lpad(to_char(w), 240, 'x') from (select k, (k * 48271) % {rows} + 1 as w from t where k <= {rows}) x"
    );
    assert_eq!(changed(session, &fill).await.expect("fills"), rows);
}

/// 16 times the memory, sorted; by default twice.
async fn sorted(session: &Session, rows: i64) {
    let began = Instant::now();
    let Outcome::Rows(mut sorted) = session.execute("select w, f from u order by w").await.expect("sorts")
    else {
        panic!("rows")
    };
    let mut next = 1;
    while let Some(batch) = sorted.next().await {
        let batch = batch.expect("rows");
        for (at, w) in batch.column(0).as_primitive::<Int64Type>().values().iter().enumerate() {
            assert_eq!(*w, next + at as i64);
        }
        next += batch.num_rows() as i64;
    }
    assert_eq!(next, rows + 1);
    println!("{:6.1} s  select w, f from u order by w", began.elapsed().as_secs_f64());
}
