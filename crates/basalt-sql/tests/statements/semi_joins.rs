// SPDX-License-Identifier: Apache-2.0
//! Joins that keep keys alone: the answer is that of a join that keeps rows, and without partners nothing is read.

use super::*;

const SEMI_JOIN: &str = "IntegerSemiJoin";

/// Tables of `types` for the keys: LARGE with a key that repeats and is NULL here and there, SMALL by its key and with a number that repeats.
async fn filled(session: &Session, key: &str, step: i64, modulus: i64) {
    for sql in [
        format!("create table large (k bigint primary key, n {key}, w bigint)"),
        format!("create table small (k {key} primary key, n {key}, x bigint)"),
        format!(
            "upsert into large select k, case when k % 7 = 0 then null else k % {modulus} * {step} - 100 end, k % 1000 from t"
        ),
        format!(
            "upsert into small select k * 3 * {step} - 100, case when k % 5 = 0 then null else k % 20 * {step} - 100 end, k \
             from t where k * 3 < {modulus} and k < 20000"
        ),
    ] {
        changed(session, &sql).await.expect(&sql);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_a_join_that_keeps_rows() {
    // Keys that lie close together, of every width, and some that do not.
    for (key, step, modulus) in
        [("tinyint", 1, 120), ("smallint", 1, 30_000), ("integer", 7, 90_000), ("bigint", 1 << 40, 60_000)]
    {
        let fixture = open(256 << 20);
        let session = fixture.engine.session();
        doubled(&session, 16).await;
        filled(&session, key, step, modulus).await;
        for flushed in [true, false] {
            if flushed {
                fixture.engine.database().flush(None).expect("flushes");
            } else {
                changed(&session, "delete from large where k between 10000 and 11000")
                    .await
                    .expect("deletes");
                changed(&session, "upsert into large select k, n, w + 5 from large where k < 900")
                    .await
                    .expect("changes");
            }
            // With a sum of the other side, which is zero, its rows have to be kept.
            for (sql, kept, is_semi) in [
                ("select SUM from large l join small s on l.n = s.k", "sum(s.x) * 0", true),
                ("select SUM from small s join large l on l.n = s.k where s.x < 300", "sum(s.x) * 0", true),
                (
                    "select SUM from small s join large l on l.n = s.k where s.x = 3 or s.x = 9",
                    "sum(s.x) * 0",
                    true,
                ),
                // No row of the first side at all, which statistics do not say.
                ("select SUM from small s join large l on l.n = s.k where s.x % 7 = 8", "sum(s.x) * 0", true),
                // A key that is not unique: a row has several partners.
                ("select SUM from large l join small s on l.n = s.n", "sum(s.x) * 0", false),
            ] {
                let [plain, keeping] = ["0", kept].map(|more| {
                    sql.replace("SUM", &format!("coalesce(count(*) + sum(l.w) + sum(l.k) + {more}, -1)"))
                });
                let shown = plan(&session, &plain).await;
                assert_eq!(shown.contains(SEMI_JOIN), is_semi, "{key}: {plain}\n{shown}");
                let shown = plan(&session, &keeping).await;
                assert!(!shown.contains(SEMI_JOIN), "{key}: {keeping}\n{shown}");
                let expected = numbers(&session, &keeping).await.expect(&keeping);
                assert_eq!(numbers(&session, &plain).await.expect(&plain), expected, "{key}: {plain}");
            }
            // A query that is asked for membership, NULLs among its values, beside the same by DISTINCT.
            for within in ["n in (select n from small)", "exists (select 1 from small s where s.n = large.n)"]
            {
                let asked =
                    format!("select coalesce(count(*) + sum(w) + sum(k), -1) from large where {within}");
                let shown = plan(&session, &asked).await;
                assert!(shown.contains(SEMI_JOIN), "{key}: {shown}");
                let joined = "select coalesce(count(*) + sum(l.w) + sum(l.k) + sum(s.one) * 0, -1) \
                              from large l join (select n, max(1) as one from small group by n) s on l.n = s.n";
                let expected = numbers(&session, joined).await.expect(joined);
                assert_eq!(numbers(&session, &asked).await.expect(&asked), expected, "{key}: {asked}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_without_a_partner_are_not_read() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    changed(&session, "create table small (k bigint primary key, x bigint)").await.expect("creates");
    changed(&session, "upsert into small select k * 7, k from t where k <= 10000").await.expect("fills");
    fixture.engine.database().flush(None).expect("flushes");
    for (condition, partners, hint, read) in [
        ("s.x > 0", 10_000, "among 10000 keys", "output_rows=10.00 K"),
        // Few are told as a list.
        ("s.x between 1000 and 1099", 100, "IN (SET)", "output_rows=100,"),
        // The other side is not even opened.
        ("s.x % 4 = 7", 0, "false", "metrics=[]"),
    ] {
        let joined = format!("select count(t.v) from t join small s on t.k = s.k where {condition}");
        let analyzed = plan(&session, &format!("analyze {joined}")).await;
        assert!(analyzed.contains(SEMI_JOIN) && analyzed.contains(hint), "{condition}\n{analyzed}");
        let scan = analyzed.lines().find(|line| line.contains("table=T,")).expect("a scan of T");
        assert!(scan.contains(read), "{condition}\n{analyzed}");
        assert_eq!(numbers(&session, &joined).await.expect("joins"), [partners], "{condition}");
    }
}

/// Keys of one join that are those of the next: a row of ORDERS has one customer, and a line one order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_joins_keeps_keys_alone() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 16).await;
    for sql in [
        "create table customer (c bigint primary key, nation integer)",
        "create table orders (o bigint primary key, c bigint)",
        "create table line (l bigint primary key, o bigint, price bigint)",
        "upsert into customer select k, k % 25 from t where k <= 1000",
        "upsert into orders select k, k % 1000 + 1 from t where k <= 10000",
        "upsert into line select k, k % 10000 + 1, k from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    fixture.engine.database().flush(None).expect("flushes");
    let sql = "select sum(price) from line join orders on line.o = orders.o join customer on customer.c = orders.c \
               where nation = 7";
    let shown = plan(&session, sql).await;
    assert_eq!(shown.matches(SEMI_JOIN).count(), 2, "{shown}");
    let by_hand: i64 = (1..=1_i64 << 16).filter(|k| (k % 10_000 + 1) % 1000 % 25 == 6).sum();
    assert_eq!(numbers(&session, sql).await.expect("joins"), [by_hand]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_beyond_memory_are_sorted_instead() {
    let fixture = open(4 << 20);
    let session = fixture.engine.session();
    doubled(&session, 18).await;
    changed(&session, "create table far (k bigint primary key, x bigint)").await.expect("creates");
    changed(&session, "upsert into far select k * 1000003, k from t").await.expect("fills");
    let joined = "select count(*) from far join t on t.k * 1000003 = far.k";
    assert_eq!(numbers(&session, joined).await.expect("joins"), [1 << 18]);
    let within = "select count(*) from t where v in (select x * 2 from far)";
    assert_eq!(numbers(&session, within).await.expect("joins"), [1 << 17]);
}
