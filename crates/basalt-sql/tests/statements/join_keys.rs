// SPDX-License-Identifier: Apache-2.0
//! Scans are told the keys of a join: the answer is that of a join of which they are told nothing.

use super::*;

/// A column of the larger table, and the same behind an expression, of which no scan is told anything.
const TOLD: [&str; 2] = ["b.n", "abs(b.n) * sign(b.n)"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_a_join_that_tells_nothing() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    for sql in [
        "create table large (k bigint not null, d integer not null, n integer, w bigint, constraint pk primary key (k, d desc))",
        "create table small (k bigint primary key, n integer, x bigint)",
        "upsert into large select k, k % 100000 - 50000, case when k % 7 = 0 then null else (k * 48271) % 200000 - 100000 end, \
         k % 1000 from t",
        // Keys that are there twice, NULLs, and numbers that no row of the other table has.
        "upsert into small select k, case when k % 11 = 0 then null else k % 9000 * 20 - 95000 end, k from t where k < 20000",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    for flushed in [true, false] {
        if flushed {
            fixture.engine.database().flush(None).expect("flushes");
        } else {
            for sql in [
                "upsert into large select k, d, n + 20, w from large where k between 5000 and 60000",
                "delete from large where k between 100000 and 110000",
            ] {
                changed(&session, sql).await.expect(sql);
            }
        }
        for (sql, is_told) in [
            ("select count(*) + sum(b.w) + sum(s.x) from large b join small s on KEY = s.n", true),
            ("select count(*) + sum(b.w) from small s join large b on KEY = s.n where s.x < 18000", true),
            ("select count(*) + sum(s.x) + count(b.k) from small s left join large b on KEY = s.n", true),
            ("select count(*) + sum(b.w) from large b where KEY in (select n from small)", true),
            (
                "select count(*) + sum(b.w) from large b where exists (select 1 from small s where s.n = KEY and s.x > 100)",
                true,
            ),
            ("select count(*) + sum(b.w) from large b join small s on KEY = s.n and b.w = s.x", true),
            (
                "select count(*) + sum(b.w) from large b join small s on KEY = s.n join t on t.k = b.k where t.k < 200000",
                true,
            ),
            (
                "select count(*) + sum(b.w) from large b where not exists (select 1 from small s where s.n = KEY)",
                false,
            ),
            ("select count(*) + sum(b.w) from large b left join small s on KEY = s.n", false),
        ] {
            let [told, untold] = TOLD.map(|key| sql.replace("KEY", key));
            let shown = plan(&session, &told).await;
            let tells = shown.contains("JoinKeys") || shown.contains("IntegerSemiJoin");
            assert_eq!(tells, is_told, "{told}\n{shown}");
            let expected = numbers(&session, &untold).await.expect(&untold);
            assert_eq!(numbers(&session, &told).await.expect(&told), expected, "{told}");
        }
        // A descending part of the key.
        let by_key = |key| format!("select count(*) + sum(b.w) from large b join small s on {key} = s.n");
        assert!(plan(&session, &by_key("b.d")).await.contains("JoinKeys"));
        assert_eq!(
            numbers(&session, &by_key("b.d")).await.expect("joins"),
            numbers(&session, &by_key("abs(b.d) * sign(b.d)")).await.expect("joins")
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_without_a_partner_are_not_read() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    for sql in [
        "create table small (k bigint primary key, x bigint)",
        "upsert into small select k * 7, k from t where k <= 10000",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    fixture.engine.database().flush(None).expect("flushes");
    let joined = "select count(*) + sum(s.x) * 0 from t join small s on t.k = s.k";
    let analyzed = plan(&session, &format!("analyze {joined}")).await;
    // Every seventh row up to 70,000 has a partner.
    assert!(analyzed.contains("among 10000 keys"), "{analyzed}");
    let skipped = (1 << 18) - 10_000;
    assert!(analyzed.contains("input_rows=10.00 K"), "{skipped} of {} rows are skipped\n{analyzed}", 1 << 18);
    assert_eq!(numbers(&session, joined).await.expect("joins"), [10_000]);
}
