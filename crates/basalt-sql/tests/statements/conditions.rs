// SPDX-License-Identifier: Apache-2.0
//! Conditions that the scan answers from stored numbers and strings mean what the same expressions mean on rows: a
//! random condition in WHERE finds the rows of which CASE says that it is true.

use std::fmt::Write;

use super::*;

/// SplitMix64.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % count
    }

    pub(super) fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

type Make = fn(u64) -> String;

/// Name, type, and a value of it by a number.
const COLUMNS: [(&str, &str, Make); 21] = [
    ("k1", "varchar not null", |n| format!("'{}'", ["a", "ab", "b", "ba"][n as usize % 4])),
    ("k2", "integer not null", |n| format!("{}", n as i64 - 500)),
    ("k3", "char(3) not null", |n| format!("'{}'", ["a", "a\u{1}", "a\u{1}b", "ab", "b"][n as usize % 5])),
    ("k4", "binary(2) not null", |n| format!("x'{}'", ["01", "0100", "0a", "ff00"][n as usize % 4])),
    ("tiny", "tinyint", |n| format!("{}", n % 200 - n % 100)),
    ("big", "bigint", |n| format!("{}", (n as i64 - 300) * 3_000_000_000)),
    ("uns", "unsigned_int", |n| format!("{}", n * 7)),
    ("dec", "decimal(9,2)", |n| format!("{}.{:02}", n % 40, n % 7 * 10)),
    ("free", "decimal", |n| format!("{}.{:03}", n % 40, n % 9)),
    ("wide", "decimal", |n| format!("{}.{}{:018}", n % 4, "3".repeat(18), n % 9)),
    // More different ones than a dictionary has.
    ("long", "decimal(38,3)", |n| format!("{}{:018}.{:03}", n as i64 - 500, n * 7919, n % 9)),
    ("dbl", "double", |n| format!("{}.25e0", n % 50)),
    ("txt", "varchar", |n| format!("'text {}'", n % 60)),
    ("chr", "char(4)", |n| format!("'{}'", ["x", "xy", "xyz", "wxyz"][n as usize % 4])),
    ("bin", "binary(2)", |n| format!("x'{:02x}{:02x}'", n % 5, n % 3)),
    ("bytes", "varbinary", |n| format!("x'{}'", ["00", "0001", "01", "ff"][n as usize % 4])),
    ("seven", "integer default 7", |n| format!("{}", n % 12)),
    ("word", "varchar default 'text 1'", |n| format!("'text {}'", n % 30)),
    ("day", "date", |n| format!("date '2024-{:02}-{:02}'", n % 12 + 1, n % 28 + 1)),
    ("moment", "timestamp", |n| format!("timestamp '2024-01-{:02} 10:00:00.{:03}'", n % 28 + 1, n % 1000)),
    ("flag", "boolean", |n| if n.is_multiple_of(2) { "true".into() } else { "false".into() }),
];

fn condition(chance: &mut Chance, depth: u32) -> String {
    if depth > 0 {
        match chance.below(5) {
            0 => return format!("not ({})", condition(chance, depth - 1)),
            1 | 2 => {
                let operator = chance.one_of(&["and", "or"]);
                return format!(
                    "({} {operator} {})",
                    condition(chance, depth - 1),
                    condition(chance, depth - 1)
                );
            }
            _ => {}
        }
    }
    let (name, _, value) = COLUMNS[chance.below(COLUMNS.len() as u64) as usize];
    let mut value = || value(chance.below(1000));
    let (low, high) = (value(), value());
    let not = ["", "not "][chance.below(2) as usize];
    match chance.below(8) {
        0 => format!("{name} is {not}null"),
        1 => format!("{name} {not}in ({low}, {high})"),
        2 => format!("{name} {not}between {low} and {high}"),
        2..=3 if matches!(name, "txt" | "word") => {
            let pattern = chance.one_of(&["text 1%", "text%", "text 5_", "%7", "text 12", "%", "t%x%"]);
            format!("{name} {not}like '{pattern}'")
        }
        2..=3 if matches!(name, "chr" | "k3") => {
            let pattern = chance.one_of(&["x%", "x %", "xy", "%z", "a%", "a\u{1}%", "_", "x"]);
            format!("{name} {not}like '{pattern}'")
        }
        4 if name == "flag" => format!("{not}flag"),
        5 => format!("{low} {} {name}", chance.one_of(&["<", "<=", ">", ">=", "=", "<>"])),
        _ => format!("{name} {} {low}", chance.one_of(&["<", "<=", ">", ">=", "=", "<>"])),
    }
}

async fn fill(session: &Session, chance: &mut Chance, rows: u64) {
    let mut statement = "upsert into t values ".to_owned();
    for row in 0..rows {
        let values = COLUMNS.iter().map(|(name, sql_type, value)| match sql_type.contains("not null") {
            false if chance.below(6) == 0 => "null".to_owned(),
            _ => value(chance.below(if *name == "long" { 100_000 } else { 1000 })),
        });
        let values: Vec<String> = values.collect();
        write!(statement, "{}({})", if row == 0 { "" } else { ", " }, values.join(", "))
            .expect("to a string");
    }
    changed(session, &statement).await.expect("the rows are valid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_condition_finds_the_rows_of_which_it_is_true() {
    for order in ["", " desc"] {
        let fixture = open(256 << 20);
        let (session, mut chance) = (fixture.engine.session(), Chance(7));
        let columns: Vec<String> =
            COLUMNS.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
        let create = format!(
            "create table t ({}, constraint pk primary key (k1{order}, k2{order}, k3{order}, k4{order}))",
            columns.join(", ")
        );
        changed(&session, &create).await.expect("the table is valid");
        fill(&session, &mut chance, 3000).await;
        fixture.engine.database().flush(None).expect("flushes");
        // All rows in one file; then some in memory, too, which replace others or lie between them.
        let (mut some, mut asked) = (0, 0);
        for round in 0..2 {
            for _ in 0..200 {
                let condition = condition(&mut chance, 3);
                let found = format!("select count(*), coalesce(sum(k2), 0) from t where {condition}");
                let told = format!(
                    "select sum(case when {condition} then 1 else 0 end), sum(case when {condition} then k2 else 0 end) from t"
                );
                let (found, told) = (row(&session, &found).await, row(&session, &told).await);
                assert_eq!(found, told, "round {round}: {condition}");
                some += usize::from(found[0] > 0);
                asked += 1;
            }
            fill(&session, &mut chance, 40).await;
        }
        assert!(some * 2 > asked, "{some} of {asked} conditions found a row");
    }
}

/// The numbers of the only row.
async fn row(session: &Session, sql: &str) -> Vec<i64> {
    let outcome = session.execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Outcome::Rows(mut rows) = outcome else { panic!("{sql} is no query") };
    let batch = rows.next().await.expect("there is a row").unwrap_or_else(|error| panic!("{sql}: {error}"));
    let number = |column: usize| {
        let number = datafusion::arrow::compute::cast(
            batch.column(column),
            &datafusion::arrow::datatypes::DataType::Int64,
        );
        number.expect("they are numbers").as_primitive::<Int64Type>().value(0)
    };
    (0..batch.num_columns()).map(number).collect()
}

/// A condition that the heads of the files answer for all rows is not asked of any, and never one that they do not.
#[tokio::test]
async fn a_condition_that_holds_for_all_rows_is_left_out() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 12).await;
    for sql in [
        "create table r (k bigint primary key, v bigint, d decimal(9,2), s varchar, some bigint)",
        "upsert into r select k, v % 50, v % 50 + 0.25, 'x' || to_char(v % 50), 1 from t where k % 7 > 0",
        "upsert into r (k, v, d, s) select k, v % 50, v % 50 + 0.25, 'x' || to_char(v % 50) from t where k % 7 = 0",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    let of_all =
        ["v < 50", "v >= 0 and d > 0", "d between 0.25 and 49.25", "v is not null", "s >= 'x'", "v <> 50"];
    let of_some = [
        "v < 49",
        "v > 0",
        "d > 0.25",
        "some = 1",
        "some is not null",
        "some is null",
        "s > 'x0'",
        "v % 50 < 50",
    ];
    let counted = async |condition: &str| {
        let sql = format!("select count(*) from r where {condition}");
        let told = format!("select sum(case when {condition} then 1 else 0 end) from r");
        let found = row(&session, &sql).await;
        assert_eq!(found, row(&session, &told).await, "{condition}");
        let scan = plan(&session, &format!("select k from r where {condition}")).await;
        assert_eq!(scan.contains("holds_for_all="), !scan.contains("filter="), "{scan}");
        (found[0], scan.contains("holds_for_all="))
    };
    for condition in of_all.into_iter().chain(of_some) {
        assert!(!counted(condition).await.1, "{condition}: rows in memory may be any");
    }
    fixture.engine.database().flush(None).expect("flushes");
    for condition in of_all {
        assert_eq!(counted(condition).await, (4096, true), "{condition}");
    }
    for condition in of_some {
        assert!(!counted(condition).await.1, "{condition}");
    }
    // One row that differs, then one that is gone, in memory and in a file.
    for (sql, rows) in [("upsert into r (k, v) values (77, 60)", 4095), ("delete from r where k = 78", 4094)]
    {
        changed(&session, sql).await.expect(sql);
        for flushed in [false, true] {
            if flushed {
                fixture.engine.database().flush(None).expect("flushes");
            }
            assert_eq!(counted("v < 50").await, (rows, false), "{sql}, flushed: {flushed}");
        }
    }
    fixture.engine.database().compact(None, true).expect("compacts");
    assert_eq!(counted("v < 50").await, (4094, false));
    assert_eq!(counted("v <= 60").await, (4095, true));
}

/// What a join finds out narrows the scans below it, whose tables may all have columns of the same names.
#[tokio::test]
async fn a_join_narrows_the_column_that_it_means() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 6).await;
    for sql in [
        "create table a (k bigint primary key, v bigint)",
        "create table b (k bigint primary key, v bigint)",
        "create table c (k bigint primary key, v bigint)",
        "create table d (k bigint primary key, v bigint)",
        "upsert into a select k, v from t",
        "upsert into b select k, v + 1000 from t",
        "upsert into c values (1005, 1), (1010, 2)",
        "upsert into d select k, v + 2000 from t where k < 10",
        "create table e (k bigint primary key, w bigint)",
        "upsert into e select k + 3000, v from t",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    fixture.engine.database().flush(None).expect("flushes");
    for hint in ["", "/*+ NO_CHILD_PARENT_JOIN_OPTIMIZATION */"] {
        let sql = format!(
            "select {hint} a.k, a.v, b.v, d.v from a left join b on a.k = b.k left join d on d.k = a.k
            join c on c.k = b.v order by a.k"
        );
        assert_eq!(numbers(&session, &sql).await.expect(&sql), [5, 10], "{sql}");
        let sql = format!(
            "select {hint} count(*) from a left join b on a.k = b.k left join t on t.k = b.k
            where t.v + a.v + b.v > 0 and exists (select 1 from c where c.k = b.v)"
        );
        assert_eq!(numbers(&session, &sql).await.expect(&sql), [2], "{sql}");
        let sql = format!(
            "select {hint} count(*) from c
            join (select * from a where exists (select 1 from e where e.w = a.k and e.k > a.v)) x on x.k + 1000 = c.k or x.k = c.v"
        );
        assert_eq!(numbers(&session, &sql).await.expect(&sql), [4], "{sql}");
        let sql = format!(
            "select {hint} count(*) from c
            join (select * from a where exists (select 1 from e where e.w = a.k and e.k > a.v)) x on x.k = c.v"
        );
        assert_eq!(numbers(&session, &sql).await.expect(&sql), [2], "{sql}");
    }
}
