// SPDX-License-Identifier: Apache-2.0
//! `ORDER BY` the key in the opposite order sorts nothing, and gives the rows that a sort would.

use super::{changed, doubled, numbers, open, plan};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_come_as_from_a_sort() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 17).await;
    for sql in [
        "create table large (k bigint not null, d integer not null, w bigint, constraint pk primary key (k, d desc))",
        "upsert into large select k / 4, k % 4 - 2, k % 1000 from t",
        "create table texts (a varchar, b bigint not null, w bigint, constraint pk primary key (a, b))",
        "upsert into texts select case when k % 5 = 0 then null else 'x' || cast(k % 50 as varchar) end, k, k from t where k < 2000",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    for stage in 0..3 {
        match stage {
            0 => {}
            1 => fixture.engine.database().flush(None).expect("flushes"),
            _ => {
                for sql in [
                    "upsert into large select k, d, w + 1 from large where k % 300 < 3",
                    "delete from large where k between 5000 and 9000",
                ] {
                    changed(&session, sql).await.expect(sql);
                }
            }
        }
        for (sql, sorted) in [
            ("select k * 10 + d from large order by k desc, d", "order by k + 0 desc, d + 0"),
            ("select k from large order by k desc", "order by k + 0 desc"),
            (
                "select w from large where k < 700 and w > 300 order by k desc, d",
                "order by k + 0 desc, d + 0",
            ),
            ("select w from large where k = 77 order by d", "order by d + 0"),
            (
                "select k + w from (select k, d, w from large where w = 7) order by k desc, d",
                "order by k + 0 desc, d + 0",
            ),
            (
                "select b from texts order by a desc nulls last, b desc",
                "order by concat(a, '') desc nulls last, b + 0 desc",
            ),
            (
                "select b from texts order by a desc, b desc",
                "order by concat(a, '') desc nulls first, b + 0 desc",
            ),
            (
                "select b from texts where b between 100 and 900 order by a desc nulls first, b desc",
                "order by concat(a, '') desc nulls first, b + 0 desc",
            ),
            ("select cast(row_number() over (order by k desc, d) * 1000 + w as bigint) from large", ""),
        ] {
            let shown = plan(&session, sql).await;
            assert!(shown.contains(", reversed") && !shown.contains("SortExec"), "{sql}\n{shown}");
            let found = numbers(&session, sql).await.expect(sql);
            let hidden = match sql.split_once("order by").filter(|_| !sorted.is_empty()) {
                Some((before, _)) => format!("{before}{sorted}"),
                None => sql.replace("order by k desc, d", "order by k + 0 desc, d + 0"),
            };
            assert!(!plan(&session, &hidden).await.contains("reversed"), "{hidden}");
            let mut expected = numbers(&session, &hidden).await.expect(&hidden);
            let mut found = found;
            if sorted.is_empty() {
                // Windows say nothing of the order of rows.
                found.sort_unstable();
                expected.sort_unstable();
            }
            assert!(!found.is_empty() && found == expected, "stage {stage}: {sql}");
        }
        // Orders that the key has not.
        for sql in [
            "select b from texts order by a nulls last, b",
            "select k from large order by k desc, d desc",
            "select k from large order by d",
            "select k from large order by k, d desc",
        ] {
            assert!(!plan(&session, sql).await.contains("reversed"), "{sql}");
        }
    }
}

/// The first rows of many come before the others are read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_begins_at_once() {
    let fixture = open(4 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    fixture.engine.database().flush(None).expect("flushes");
    let all = numbers(&session, "select v from t order by k desc").await.expect("reads");
    assert!(all.len() == 1 << 18 && all.is_sorted_by(|a, b| a > b));
}
