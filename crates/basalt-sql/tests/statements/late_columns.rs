// SPDX-License-Identifier: Apache-2.0
//! Columns that a sort with a limit does not look at are read by key: the rows are those of the sort without a limit.

use datafusion::arrow::util::pretty::pretty_format_batches;

use super::*;

/// The rows of a query as text, one a line.
async fn lines(session: &Session, sql: &str) -> Vec<String> {
    let Outcome::Rows(mut rows) = session.execute(sql).await.expect(sql) else { panic!("{sql} is no query") };
    let mut batches = vec![];
    while let Some(batch) = rows.next().await {
        batches.push(batch.expect(sql));
    }
    let shown = pretty_format_batches(&batches).expect("prints").to_string();
    // The width of columns depends on the rows.
    let cells = |line: &str| line.split('|').map(str::trim).collect::<Vec<_>>().join("|");
    shown.lines().filter(|line| line.starts_with('|')).skip(1).map(cells).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_those_of_the_sort_without_a_limit() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 15).await;
    let key = "constraint pk primary key (host, at desc)";
    for sql in [
        &format!(
            "create table r (host varchar, at bigint not null, v bigint, w decimal(9,2), b.x varchar, c.x varchar, {key})"
        ),
        "upsert into r select 'host ' || to_char(k % 7), k, k * 48271 % 2147483647, k % 100, \
         case when k % 3 = 0 then null else 'x' || to_char(k) end, to_char(k % 5) from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    for flushed in [false, true] {
        if flushed {
            fixture.engine.database().flush(None).expect("flushes");
            for sql in [
                "upsert into r select host, at, 5000 - at, w, b.x, 'newer' from r where at between 1000 and 1400",
                "delete from r where at between 2000 and 2500",
                "upsert into r (host, at) values ('', 0)",
            ] {
                changed(&session, sql).await.expect(sql);
            }
        }
        for sql in [
            "select * from r order by v, at limit 10",
            "select * from r order by v desc, at limit 100",
            "select * from r order by w desc, v limit 7",
            "select * from r order by b.x, at limit 20",
            "select c.x, b.x from r order by at limit 10",
            "select * from r where c.x = '3' and w > 50 order by v, at limit 10",
            "select * from r where v = 1 order by w, at limit 10",
            "select * from r where v > 1000 order by w, v limit 10",
            "select at, c.x from r where b.x is not null order by v, at limit 10",
            "select b.x || c.x, at from r where host > 'host 4' order by v, at limit 10",
            "select * from r order by v % 1000, at limit 30",
            "select * from (select at, v + w s, b.x y from r) z order by s, at limit 10",
            "select * from r where at > 30000 or host = 'host 1' order by at, host limit 50",
            "select * from r where host = 'host 2' order by v, at limit 10",
        ] {
            let shown = plan(&session, sql).await;
            // Of few rows, estimated, all columns are read at once.
            assert!(shown.contains("LateColumns: table=R") || sql.contains(" = "), "{sql}\n{shown}");
            let (all, limit) = sql.split_once(" limit ").expect("there is one");
            let mut expected = lines(&session, all).await;
            expected.truncate(limit.parse().expect("a number"));
            assert_eq!(lines(&session, sql).await, expected, "{sql}");
        }
        let (paged, all) =
            ("select * from r order by v, at", lines(&session, "select * from r order by v, at").await);
        assert_eq!(lines(&session, &format!("{paged} limit 10 offset 20")).await, all[20..30]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_not_for_every_table() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    doubled(&session, 13).await;
    for sql in [
        "create table numbers (k bigint primary key, v bigint, w integer, x integer)",
        "create table texts (k bigint primary key, v bigint, w varchar)",
        "create table passing (k bigint primary key, v bigint, w varchar) ttl = 86400",
        "create table prices (k decimal(18,2) primary key, v bigint, w varchar)",
        "create table pairs (k varchar not null, l varchar, v bigint, w varchar, constraint pk primary key (k, l))",
        "upsert into numbers select k, v, 1, 2 from t",
        "upsert into texts select k, v, 'w' from t",
        "upsert into passing select k, v, 'w' from t",
        "upsert into prices select k, v, 'w' from t",
        "upsert into pairs select to_char(k), 'l', v, 'w' from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    for (sql, late) in [
        ("select * from texts order by v limit 10", true),
        ("select k from texts order by v limit 10", false),
        ("select * from texts order by v limit 10000", false),
        ("select * from texts order by v", false),
        ("select * from numbers order by v limit 10", false),
        ("select * from passing order by v limit 10", false),
        ("select * from prices order by v limit 10", false),
        ("select * from pairs order by v limit 10", false),
    ] {
        let shown = plan(&session, sql).await;
        assert_eq!(shown.contains("LateColumns"), late, "{sql}\n{shown}");
        let limit = sql.split_once("limit ").map_or(8192, |(_, limit)| limit.parse().expect("a number"));
        assert_eq!(lines(&session, sql).await.len(), limit.min(8192), "{sql}");
    }
}
