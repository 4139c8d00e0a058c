// SPDX-License-Identifier: Apache-2.0
//! Of rows with one key the last one counts, column by column, however many they are: few go through the log, many past it.

use super::{changed, doubled, numbers, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_value_of_a_key_counts_also_where_others_are_null() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    changed(&session, "create table few (k bigint primary key, a bigint, b bigint, c bigint)")
        .await
        .expect("creates");
    changed(&session, "create table many (k bigint primary key, a bigint, b bigint, c bigint)")
        .await
        .expect("creates");
    // Each key three times, a third of the columns NULL in each; c has a value the first time only.
    let rows = |most: u64| {
        format!(
            "select k % {most}, case when k / {most} = 1 then null else k end, case when k / {most} = 2 then null else k end, \
             case when k / {most} = 0 then k else null end from (select k - 1 as k from t) as t where k < 3 * {most} order by k"
        )
    };
    for (table, most) in [("few", 1_000), ("many", 80_000)] {
        let written =
            changed(&session, &format!("upsert into {table} {}", rows(most))).await.expect("writes");
        assert_eq!(written, 3 * most);
        for stage in ["written", "flushed", "compacted"] {
            match stage {
                "flushed" => fixture.engine.database().flush(None).expect("flushes"),
                "compacted" => {
                    let name = basalt_model::TableName::in_default(table.to_uppercase());
                    let (id, _) = fixture.engine.database().table(&name).expect("the table is there");
                    fixture.engine.database().compact(Some(id), true).expect("compacts");
                }
                _ => {}
            }
            let sql =
                format!("select count(*) from {table} where a = k + 2 * {most} and b is null and c is null");
            let found = numbers(&session, &sql).await.expect("counts");
            assert_eq!(found, [most as i64], "{table} {stage}");
        }
    }
}

/// Nothing above them asks for the order of the rows that a limit takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_rows_are_the_first_ones_wherever_they_are_used() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 17).await;
    for sql in [
        "create table f (k bigint primary key, v bigint, w bigint)",
        "create index i on f (v) include (w)",
        "upsert into f select k * 2 - 2, k - 1, k - 1 from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    fixture.engine.database().flush(None).expect("flushes");
    changed(&session, "upsert into f select k * 2 - 1, k - 1, 0 from t where k < 3000")
        .await
        .expect("writes");
    for (sql, wanted) in [
        ("select max(k) from (select k from f order by k limit 10) as x", 9),
        ("select max(k) from (select k from f order by k limit 10 offset 5) as x", 14),
        ("select count(*) from f where k in (select k from f order by k limit 10) and k < 10", 10),
        ("select max(k) from (select k from f order by k desc limit 10) as x", 262_142),
        ("select min(k) from (select k from f order by k offset 265) as x", 265),
        ("select max(w) from (select v, w from f where v > 100 order by v limit 4) as x", 102),
        ("select max(v) from (select v from f order by v limit 10) as x", 4),
        ("select min(v) from (select v from f order by v desc limit 10) as x", 131_062),
        ("select (select k from f order by k limit 1 offset 3) from f limit 1", 3),
        (
            "select max(k) from (select f.k from f left join (select 1 as z) as y on y.z = f.w order by f.k limit 10) as x",
            9,
        ),
        (
            "select count(*) from ((select k from f order by k limit 7) union all (select k from f order by k limit 3)) as x where k < 7",
            10,
        ),
    ] {
        let found = numbers(&session, sql).await.expect(sql);
        assert_eq!(found, [wanted], "{sql}");
    }
    let sql = "delete from f where k in (select k from f order by k limit 10)";
    assert_eq!(changed(&session, sql).await.expect(sql), 10);
    assert_eq!(numbers(&session, "select min(k) from f").await.expect("finds"), [10]);
}
