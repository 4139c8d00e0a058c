// SPDX-License-Identifier: Apache-2.0
//! Joins of few rows with large tables: the rows are looked up by the keys of the join, and the answer is that of a join that tells
//! the scan nothing.

use basalt_sql::Session;

use super::{Fixture, changed, doubled, numbers, open, plan};

/// LARGE and NARROW, which has few of its values and some that it has not. Row groups are scanned so fast that lookups are worth it in large tables only.
async fn filled(session: &Session, doublings: u32, options: &str) {
    doubled(session, doublings).await;
    for sql in [
        &format!(
            "create table large (k bigint not null, d integer not null, n integer, t varchar, w bigint, \
             constraint pk primary key (k, d desc)) {options}"
        ),
        "create index by_n on large (n)",
        "create index by_t on large (t) include (w)",
        "upsert into large select k / 4, k % 4 - 2, case when k % 7 = 0 then null else (k * 48271) % 400000 - 200000 end, \
         'x' || cast(k % 300000 as varchar), k % 1000 from t",
        "create table narrow (x bigint primary key, k bigint, d integer, n bigint, t varchar)",
        "upsert into narrow select k, k * 761 % 40000, k % 5 - 2, case when k % 5 = 0 then null else k * 7919 % 50000 - 25000 end, \
         case when k % 6 = 0 then null else 'x' || cast(k * 97 as varchar) end from t where k <= 6",
        "upsert into narrow values (100, 3, 1, 9999999999, 'x5'), (101, -7, -2, -9999999999, ''), (102, 3, 1, 5, 'x5')",
    ] {
        changed(session, sql).await.expect(sql);
    }
}

/// What joins tell of a column, and of the same column behind an expression: nothing.
const HIDDEN: [(&str, &str); 4] = [
    ("b.k", "abs(b.k) * sign(b.k)"),
    ("b.d", "abs(b.d) * sign(b.d)"),
    ("b.n", "abs(b.n) * sign(b.n)"),
    ("b.t", "concat(b.t, '')"),
];

/// Joins, and by what the larger table's rows are found.
const JOINS: [(&str, &str); 12] = [
    ("select count(*) + sum(b.w) + sum(s.x) from narrow s join large b on @b.k = s.k", "few_by=key"),
    ("select count(*) + sum(b.w) from narrow s join large b on @b.k = s.k and b.w > 300", "few_by=key"),
    ("select count(*) + sum(b.w) from narrow s join large b on @b.k = s.k and @b.d = s.d", "few_by=key"),
    ("select count(*) + sum(b.w) from narrow s left join large b on @b.k = s.k", "few_by=key"),
    (
        "select count(*) + sum(b.w) from large b where @b.k in (select k from narrow where x > 3)",
        "few_by=key",
    ),
    ("select count(*) + sum(b.w) + sum(s.x) from narrow s join large b on @b.n = s.n", "few_by=BY_N"),
    ("select count(*) + sum(b.w) from large b where @b.n in (select n from narrow)", "few_by=BY_N"),
    ("select count(*) + sum(b.w) from narrow s join large b on @b.n = s.n and b.k < 20000", "few_by=BY_N"),
    ("select count(*) + sum(b.w) + sum(s.x) from narrow s join large b on @b.t = s.t", "few_by=BY_T"),
    ("select count(*) + sum(b.w) from narrow s join large b on @b.t = s.t and @b.n = s.n", "few_by=BY_"),
    (
        "select count(*) + sum(b.w) from narrow s join large b on @b.k = s.k join large c on c.k = b.k and c.d = b.d",
        "few_by=key",
    ),
    // A key that no row has.
    ("select count(*) + count(b.w) from narrow s join large b on @b.k = s.k where s.x = 101", "few_by=key"),
];

fn told(sql: &str) -> String {
    sql.replace('@', "")
}

fn untold(sql: &str) -> String {
    HIDDEN.iter().fold(sql.to_owned(), |sql, (column, hidden)| sql.replace(&format!("@{column}"), hidden))
}

/// How many keys and ranges were looked up, by the metrics of an analyzed plan.
fn looked_up(analyzed: &str) -> u64 {
    let numbers = analyzed.split("looked_up=").skip(1).map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a number")
    });
    numbers.sum()
}

async fn answers_are_the_same(fixture: &Fixture) {
    let session = fixture.engine.session();
    for stage in 0..3 {
        match stage {
            0 => {}
            1 => fixture.engine.database().flush(None).expect("flushes"),
            _ => {
                for sql in [
                    "upsert into large select k, d, n + 1, t, w + 5 from large where k between 1000 and 1500",
                    "upsert into large (k, d, n, t) values (3, 1, 5, 'x5'), (-7, -2, 77, 'x97')",
                    "delete from large where k between 3000 and 3500 or n = 5 and k > 3",
                ] {
                    changed(&session, sql).await.expect(sql);
                }
            }
        }
        for (sql, way) in JOINS {
            let (told, untold) = (told(sql), untold(sql));
            let analyzed = plan(&session, &format!("analyze {told}")).await;
            assert!(analyzed.contains(way), "{told}\n{analyzed}");
            let expected = numbers(&session, &untold).await.expect(&untold);
            assert_eq!(
                numbers(&session, &told).await.expect(&told),
                expected,
                "stage {stage}: {told}\n{analyzed}"
            );
            let nothing_is_there = expected == [0];
            assert!(nothing_is_there || looked_up(&analyzed) > 0, "{told}\n{analyzed}");
            if !untold.contains("large c") {
                let shown = plan(&session, &format!("analyze {untold}")).await;
                assert_eq!(looked_up(&shown), 0, "{untold}\n{shown}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_a_scan() {
    let fixture = open(256 << 20);
    filled(&fixture.engine.session(), 19, "").await;
    answers_are_the_same(&fixture).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_a_scan_of_cells() {
    let fixture = open(256 << 20);
    filled(&fixture.engine.session(), 17, "data_block_encoding = 'FAST_DIFF', salt_buckets = 3").await;
    answers_are_the_same(&fixture).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_come_in_the_order_of_the_key() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    filled(&session, 17, "").await;
    fixture.engine.database().flush(None).expect("flushes");
    for on in ["b.k = s.k", "b.n = s.n"] {
        let sql = format!("select b.k * 10 + b.d from narrow s join large b on {on} order by b.k, b.d desc");
        let sorted = numbers(&session, &sql).await.expect("joins");
        let hidden = format!(
            "select b.k * 10 + b.d from narrow s join large b on {on} order by b.k + 0, b.d + 0 desc"
        );
        assert!(!sorted.is_empty());
        assert_eq!(sorted, numbers(&session, &hidden).await.expect("joins"), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_keys_are_not_looked_up() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    filled(&session, 17, "").await;
    fixture.engine.database().flush(None).expect("flushes");
    changed(&session, "create table half (k bigint primary key)").await.expect("creates");
    changed(&session, "upsert into half select k from t where k % 2 = 0").await.expect("fills");
    let analyzed = plan(&session, "analyze select count(*) from half s join large b on b.k = s.k").await;
    // The range between the least and the greatest key, of each partition.
    assert!(analyzed.contains("few_by=key") && looked_up(&analyzed) <= 2, "{analyzed}");
    let hinted = "select /*+ NO_INDEX */ count(*) from narrow s join large b on b.n = s.n";
    let analyzed = plan(&session, &format!("analyze {hinted}")).await;
    assert!(!analyzed.contains("few_by") && looked_up(&analyzed) == 0, "{analyzed}");
}

/// The past has no index and no lookups of single rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_past_is_read_in_ranges() {
    let fixture = open(256 << 20);
    let session = fixture.engine.session();
    filled(&session, 17, "versions = 5").await;
    fixture.engine.database().flush(None).expect("flushes");
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_millis();
    let moment = format!("for system_time as of {now}");
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let question = |moment: &str, column: &str| {
        format!(
            "select count(*) + sum(b.w) from narrow s join large {moment} b on {column} = s.k and b.d = s.d"
        )
    };
    let before = numbers(&session, &question("", "b.k")).await.expect("joins");
    changed(&session, "upsert into large select k, d, n, t, w + 1 from large").await.expect("changes");
    let after = numbers(&session, &question("", "b.k")).await.expect("joins");
    assert!(before != after);
    for column in ["b.k", "b.k + 0"] {
        assert_eq!(numbers(&session, &question(&moment, column)).await.expect("joins"), before, "{column}");
    }
}
