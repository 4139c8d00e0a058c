// SPDX-License-Identifier: Apache-2.0
//! Indexes answer as their table does: random tables, random statements that change them, with flushes, compactions and
//! openings in between; every query with each index and without, and CHECK INDEX.

use std::fmt::Write as _;
use std::path::Path;

use basalt_sql::{Engine, EngineOptions, Outcome, Session, SqlError};
use basalt_store::{Database, OpenOptions};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;

use super::{changed, open, plan};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % sides
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len() as u64) as usize]
    }
}

/// All rows of a query, sorted, as text.
pub(super) async fn rows(session: &Session, sql: &str) -> Vec<String> {
    answer(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

async fn answer(session: &Session, sql: &str) -> Result<Vec<String>, SqlError> {
    let Outcome::Rows(mut stream) = session.execute(sql).await? else { panic!("{sql} is no query") };
    let mut found = vec![];
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        let options = FormatOptions::default().with_null("NULL");
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).expect("formats"))
            .collect();
        for row in 0..batch.num_rows() {
            let mut line = String::new();
            for column in &columns {
                write!(line, "{}|", column.value(row)).expect("writes");
            }
            found.push(line);
        }
    }
    found.sort();
    Ok(found)
}

pub(super) async fn checked(session: &Session, table: &str, index: &str, what: &str) {
    let found = rows(session, &format!("check index {index} on {table}")).await;
    assert!(found[0].ends_with("|0|0|NULL|"), "{what}: {found:?}");
}

/// The columns of the tables, besides the key (K INTEGER, R VARCHAR), and literals of theirs.
const COLUMNS: [(&str, &str, &[&str]); 8] = [
    ("i", "integer", &["null", "0", "1", "2", "-3", "2147483647"]),
    ("v", "varchar", &["null", "'a'", "'ab'", "'B'", "'b'", "'zebra'"]),
    ("d", "decimal(10, 2)", &["null", "0", "1.5", "-1.5", "10", "99.99"]),
    ("f", "double", &["null", "0", "1.25", "-7", "1e100"]),
    ("c", "char(3)", &["null", "'a'", "'ab'", "'abc'"]),
    ("t", "timestamp", &["null", "timestamp '2024-01-01 00:00:00'", "timestamp '1969-12-31 23:59:59'"]),
    ("b", "boolean", &["null", "true", "false"]),
    ("x.u", "unsigned_int", &["null", "0", "1", "7"]),
];

const PARTS: [&str; 12] = ["i", "v", "d", "f", "c", "t", "b", "x.u", "upper(v)", "i + 1", "r", "abs(d)"];

fn create_index(dice: &mut Dice, number: u64) -> String {
    let mut parts: Vec<&str> = vec![];
    for _ in 0..=dice.roll(2) {
        let part = dice.pick(&PARTS);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    // A column that is indexed is not included as well: Phoenix refuses that, and so does Basalt.
    let included = COLUMNS.iter().map(|column| column.0).filter(|column| !parts.contains(column));
    let included: Vec<&str> = included.filter(|_| dice.roll(3) == 0).collect();
    let parts: Vec<String> =
        parts.iter().map(|part| format!("{part}{}", dice.pick(&["", " asc", " desc"]))).collect();
    let kind = dice.pick(&["", "local "]);
    let mut sql = format!("create {kind}index n{number} on p ({})", parts.join(", "));
    if !included.is_empty() {
        write!(sql, " include ({})", included.join(", ")).expect("writes");
    }
    if dice.roll(5) == 0 {
        sql += " where i > 0";
    }
    sql
}

fn literal(dice: &mut Dice, column: usize) -> &'static str {
    COLUMNS[column].2[dice.roll(COLUMNS[column].2.len() as u64) as usize]
}

fn key(dice: &mut Dice) -> String {
    format!("{}, '{}'", dice.roll(12), dice.pick(&["x", "y", "zz"]))
}

fn change(dice: &mut Dice) -> String {
    let column = dice.roll(COLUMNS.len() as u64) as usize;
    match dice.roll(10) {
        0..4 => {
            let rows: Vec<String> = (0..=dice.roll(5))
                .map(|_| {
                    let values: Vec<&str> = (0..COLUMNS.len()).map(|column| literal(dice, column)).collect();
                    format!("({}, {})", key(dice), values.join(", "))
                })
                .collect();
            format!("upsert into p values {}", rows.join(", "))
        }
        4 => format!(
            "upsert into p (k, r, {}) values ({}, {})",
            COLUMNS[column].0,
            key(dice),
            literal(dice, column)
        ),
        5 => format!(
            "upsert into p (k, r, i) values ({}, 1) on duplicate key {}",
            key(dice),
            dice.pick(&["ignore", "update i = i + 1", "update v = 'dup'"])
        ),
        6 => format!(
            "update p set {} = {} where {}",
            COLUMNS[column].0,
            literal(dice, column),
            condition(dice)
        ),
        7 => format!("delete from p where {}", condition(dice)),
        8 => format!("delete from p where k = {}", dice.roll(12)),
        _ => format!("upsert into p (k, r, v) select k + 1, r, v from p where {}", condition(dice)),
    }
}

fn condition(dice: &mut Dice) -> String {
    let column = dice.roll(COLUMNS.len() as u64) as usize;
    let (name, value, other) = (COLUMNS[column].0, literal(dice, column), literal(dice, column));
    let simple = match dice.roll(12) {
        0 => format!("{name} is null"),
        1 => format!("{name} is not null"),
        2 | 3 => format!("{name} in ({value}, {other})"),
        4 if COLUMNS[column].0 != "b" => format!("{name} > {value}"),
        5 if COLUMNS[column].0 != "b" => format!("{name} <= {value}"),
        6 => "upper(v) = 'B'".to_owned(),
        7 => "i + 1 = 2".to_owned(),
        8 => "v like 'a%'".to_owned(),
        9 => "abs(d) > 1 and i > 0".to_owned(),
        10 => format!("not ({name} = {value})"),
        _ => format!("{name} = {value}"),
    };
    match dice.roll(4) {
        0 => format!("{simple} and {}", condition(dice)),
        1 => format!("({simple} or r = 'x')"),
        _ => simple,
    }
}

fn query(dice: &mut Dice, hint: &str, condition: &str, shape: u64) -> String {
    match shape {
        0 => format!("select {hint} * from p where {condition}"),
        1 => format!("select {hint} count(*) from p where {condition}"),
        2 => format!("select {hint} i, k, r from p where {condition}"),
        3 => format!("select {hint} v, r, k from p where {condition} order by v, k, r"),
        _ => {
            let _ = dice;
            format!("select {hint} i, count(*), min(v) from p where {condition} group by i")
        }
    }
}

fn reopened(path: &Path, engine: Engine) -> Engine {
    drop(engine);
    open_at(path)
}

fn open_at(path: &Path) -> Engine {
    let database = Database::open(path, OpenOptions::create()).expect("opens");
    let options = EngineOptions { threads: 2, memory_bytes: 64 << 20, ..EngineOptions::default() };
    Engine::try_new(database, options).expect("starts")
}

async fn compare(session: &Session, dice: &mut Dice, indexes: &[String], what: &str) {
    let (condition, shape) = (condition(dice), dice.roll(5));
    let plain = query(dice, "/*+ NO_INDEX */", &condition, shape);
    // Some conditions make no sense, as 1 > 'a'; they are refused either way.
    let Ok(expected) = answer(session, &plain).await else { return };
    let chosen = query(dice, "", &condition, shape);
    assert_eq!(rows(session, &chosen).await, expected, "{what}: {chosen}");
    for index in indexes {
        let hinted = query(dice, &format!("/*+ INDEX(p {index}) */"), &condition, shape);
        assert_eq!(rows(session, &hinted).await, expected, "{what}: {hinted}");
    }
}

async fn run(seed: u64) {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("db");
    let mut dice = Dice(seed | 1);
    let mut engine = open_at(&path);
    let columns: Vec<String> =
        COLUMNS.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
    let order = dice.pick(&["", " desc"]);
    let create = format!(
        "create table p (k integer not null, r varchar not null, {}, constraint pk primary key (k{order}, r))",
        columns.join(", ")
    );
    changed(&engine.session(), &create).await.expect(&create);
    let mut indexes: Vec<String> = vec![];
    let mut created = 0;
    for step in 0..60 {
        let session = engine.session();
        let what = format!("seed {seed}, step {step}");
        match dice.roll(16) {
            0 => engine.database().flush(None).expect("flushes"),
            1 => engine.database().compact(None, true).expect("compacts"),
            2 => {
                drop(session);
                engine = reopened(&path, engine);
            }
            3 | 4 if indexes.len() < 5 => {
                created += 1;
                let sql = create_index(&mut dice, created);
                changed(&session, &sql).await.unwrap_or_else(|error| panic!("{what}: {sql}: {error}"));
                indexes.push(format!("n{created}"));
            }
            5 if !indexes.is_empty() => {
                let index = indexes.swap_remove(dice.roll(indexes.len() as u64) as usize);
                changed(&session, &format!("drop index {index} on p")).await.expect("drops");
            }
            6..11 => {
                let sql = change(&mut dice);
                // Values may not fit, as in i + 1 of the largest integer: then nothing changes.
                let _ = changed(&session, &sql).await;
            }
            _ => compare(&session, &mut dice, &indexes, &what).await,
        }
    }
    let session = engine.session();
    for index in &indexes {
        checked(&session, "p", index, &format!("seed {seed}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_answers_the_same_with_and_without_indexes() {
    for seed in 1..13 {
        run(seed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_larger_than_a_batch_builds_the_indexes_again() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    super::doubled(&session, 10).await;
    changed(&session, "create index t_v on t (v)").await.expect("creates");
    let sql = "upsert into t select a.k + 1024 * b.k, b.v from t a, t b where b.k <= 100";
    assert_eq!(changed(&session, sql).await.expect(sql), 102_400);
    checked(&session, "t", "t_v", "after a load").await;
    let found = rows(&session, "select count(*) from t where v = 7").await;
    assert_eq!(found, ["1025|"]);
    let plan = rows(&session, "explain select count(*) from t where v = 7").await.concat();
    assert!(plan.contains("index=T_V"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_of_the_same_rows_leave_no_difference() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    for sql in [
        "create table w (k integer primary key, a integer, b varchar)",
        "create index w_a on w (a) include (b)",
        "create local index w_b on w (upper(b) desc)",
    ] {
        changed(&session, sql).await.expect(sql);
    }
    let writers = (0..4u64).map(|seed| {
        let session = fixture.engine.session();
        tokio::spawn(async move {
            let mut dice = Dice(seed + 1);
            for _ in 0..100 {
                let (k, a) = (dice.roll(10), dice.roll(5));
                let sql = match dice.roll(4) {
                    0 => format!("delete from w where k = {k}"),
                    1 => format!("update w set a = {a} where k = {k}"),
                    _ => format!("upsert into w values ({k}, {a}, 'b{a}')"),
                };
                changed(&session, &sql).await.expect(&sql);
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("writes");
    }
    checked(&session, "w", "w_a", "after all writers").await;
    checked(&session, "w", "w_b", "after all writers").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_thirty_indexes_work() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    changed(&session, "create table m (k integer primary key, a integer)").await.expect("creates");
    for number in 0..40 {
        changed(&session, &format!("create index m{number} on m (a + {number})")).await.expect("creates");
    }
    changed(&session, "upsert into m values (1, 1), (2, 2)").await.expect("writes");
    changed(&session, "delete from m where a = 1").await.expect("deletes");
    for number in 0..40 {
        checked(&session, "m", &format!("m{number}"), "forty indexes").await;
    }
}

/// Waits until a build that goes on by itself is over; the state of the index and why its build failed.
async fn ended(session: &Session, index: &str) -> String {
    let sql = format!("select state, failure from information_schema.indexes where index_name = '{index}'");
    for _ in 0..60_000 {
        let found = rows(session, &sql).await.concat();
        if !found.starts_with("BUILDING|") {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("the build does not end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_whose_build_failed_says_why() {
    let fixture = open(64 << 20);
    let session = &fixture.engine.session();
    // So many that it takes a while to compare them: the index must not be active meanwhile.
    let others: Vec<String> = (4..20_000).map(|k| format!("({k}, 'other {k}', {k})")).collect();
    for sql in [
        "create table t (k integer primary key, v varchar, n integer)",
        "upsert into t values (1, 'a', 1), (2, 'b', 2), (3, 'a', 3)",
        &format!("upsert into t values {}", others.join(", ")),
        "create unique index u on t (v, n % 2) async",
    ] {
        changed(session, sql).await.expect(sql);
    }
    let why = "two rows of the table have the same values ('a', 1)";
    let found = ended(session, "U").await;
    assert!(found.starts_with("DISABLED|") && found.contains(why), "{found}");
    let plan = plan(session, "select k from t where v = 'b'").await;
    assert!(plan.contains("U: its build failed: unique index U") && plan.contains(why), "{plan}");
    let refused = answer(session, "check index u on t").await.expect_err("there is nothing to compare");
    assert!(refused.to_string().contains("index U is DISABLED, and its last build failed"), "{refused}");
    let refused = changed(session, "alter index u on t rebuild").await.expect_err("the rows are there");
    assert!(refused.to_string().contains(why), "{refused}");
    changed(session, "upsert into t values (3, 'c', 3)").await.expect("writes");
    changed(session, "alter index u on t rebuild async").await.expect("begins");
    let found = ended(session, "U").await;
    assert_eq!(found, "ACTIVE|NULL|");
    checked(session, "t", "u", "built at last").await;
}
