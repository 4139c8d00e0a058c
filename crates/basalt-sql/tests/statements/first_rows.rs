// SPDX-License-Identifier: Apache-2.0
//! A large sort hands out its first rows before it sorts: the rows and their order are those of the sort.

use super::*;

/// From these on a sort begins with a page.
const DOUBLINGS: u32 = 20;

/// What rows are sorted by: keys of one row and of thousands, which the page ends in.
const ORDERS: [&str; 7] = [
    "many",
    "many desc",
    "few",
    "some nulls first",
    "some desc nulls last, k desc",
    "text desc, many",
    "many % 1000 - k / 100000",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rows_behind_the_page_are_the_others() {
    let fixture = open(512 << 20);
    let session = fixture.engine.session();
    doubled(&session, DOUBLINGS).await;
    for sql in [
        "create table r (k bigint primary key, few bigint, many bigint, some bigint, text varchar)",
        "upsert into r select k, k * 48271 % 2147483647 % 50, k * 48271 % 2147483647 / 8, \
         case when k % 50000 = 0 then null else k * 16807 % 2147483647 % 1000 end, \
         to_char(k * 69621 % 2147483647 % 10000) from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    for order in ORDERS {
        let sql = format!("select k from r order by {order}");
        let shown = plan(&session, &sql).await;
        assert!(shown.contains("FirstRows: rows=100") && shown.contains("RowSort"), "{sql}\n{shown}");
        let mut rows = numbers(&session, &sql).await.expect(&sql);
        // Each row's place among the groups of equal keys, which the order of the rows must follow.
        let ranks = format!("select cast(dense_rank() over (order by {order}) as bigint) from r order by k");
        let ranks = numbers(&session, &ranks).await.expect(&ranks);
        assert!(rows.is_sorted_by_key(|k| ranks[*k as usize - 1]), "{sql}");
        rows.sort_unstable();
        assert!(rows.into_iter().eq(1..=1 << DOUBLINGS), "{sql}: every row once");
    }
    for sql in [
        "select k from (select * from r limit 1048576) x order by many",
        "select k from r order by rand()",
        "select k, rand() z from r order by z",
        "select k from r order by many limit 10",
        "select count(*) from (select k, row_number() over (order by many) n from r) x where n > 5",
    ] {
        let shown = plan(&session, sql).await;
        assert!(!shown.contains("FirstRows"), "{sql}\n{shown}");
    }
}
