// SPDX-License-Identifier: Apache-2.0
//! Random queries over random tables give the rows that SQLite gives, wherever the rows lie: in memory, in store files of any
//! encoding before and after compaction, under keys of either order, with joins that hash and with joins that sort.
//!
//! A failure prints the seed of its world; `BASALT_WORLD=seed` runs that world alone, `BASALT_WORLDS=n` more of them, and
//! `BASALT_KNOWN=1` asks what has several answers, too. Worlds know nothing of
//! each other and are tried side by side, one per core.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod answer;
mod chance;
mod query;
mod world;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};

use basalt_sql::{Engine, EngineOptions, Outcome, Session, SqlError};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Env, OpenOptions};
use futures::StreamExt;
use tokio::runtime::Runtime;

use answer::Row;
use chance::Chance;
use query::{Maker, Query};
use world::{Table, Value, World};

const WORLDS: u64 = 50;
const QUERIES: usize = 42;
/// Set operations, windows and groups of several sets, after these.
const FORMS: usize = 30;

/// Queries of the first worlds that have several answers, by world and number.
const KNOWN: [(u64, usize, &str); 1] =
    [(38, 68, "two functions number equal rows, each in an order of its own")];

/// Where the rows of a world lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// All in the memtable.
    Memory,
    /// In several files and the memtable, with versions that newer ones hide and rows that were deleted.
    Files,
    /// In one file, of keys in the other order.
    Compacted,
}

struct Tried {
    place: Place,
    encoding: &'static str,
    session: Session,
}

#[test]
fn random_queries_give_the_rows_of_sqlite() {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().unwrap());
    let seeds = match number("BASALT_WORLD") {
        Some(seed) => seed..seed + 1,
        None => 1..number("BASALT_WORLDS").unwrap_or(WORLDS) + 1,
    };
    let seeds = Mutex::new(seeds);
    let answers = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, NonZeroUsize::get) {
            scope.spawn(|| {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                let runtime = builder.worker_threads(2).enable_all().build().unwrap();
                // The lock is let go before the world is tried.
                while let Some(seed) = { seeds.lock().unwrap().next() } {
                    let answer = ask_world(seed, &runtime);
                    answers.lock().unwrap().insert(seed, answer);
                }
            });
        }
    });
    let answers = answers.into_inner().unwrap();
    println!("{} answers compared", answers.values().map(|(asked, _)| asked).sum::<usize>());
    let failures: Vec<String> = answers.into_values().flat_map(|(_, failures)| failures).collect();
    let shown = failures.iter().take(40).cloned().collect::<Vec<_>>();
    assert!(failures.is_empty(), "{} answers differ:\n{}", failures.len(), shown.join("\n\n"));
}

/// The number of answers that were compared, and those that differ.
fn ask_world(seed: u64, runtime: &Runtime) -> (usize, Vec<String>) {
    let (mut asked, mut failures) = (0, vec![]);
    let mut chance = Chance::new(seed);
    let world = World::random(&mut chance);
    let oracle = oracle(&world);
    let places = [Place::Memory, Place::Files, Place::Compacted];
    let places = places.map(|place| runtime.block_on(tried(&world, place, &mut chance)));
    for number in 0..QUERIES + FORMS {
        let mut maker = Maker::new(&world, &mut chance);
        let query = if number < QUERIES { maker.query() } else { maker.form() };
        let is_known = KNOWN.iter().any(|(world, query, _)| (*world, *query) == (seed, number));
        if is_known && std::env::var_os("BASALT_KNOWN").is_none() {
            continue;
        }
        let expected = match answer::of_sqlite(&oracle, &query) {
            Ok(rows) => rows,
            Err(error) => panic!("SQLite refuses {}: {error}", query.text.theirs),
        };
        // All places in turn; files are the most likely to be wrong and are asked each time.
        for tried in [&places[1], &places[number % 2 * 2]] {
            asked += 1;
            let sort = tried.place == Place::Compacted && number % 3 == 0;
            let sql = if sort {
                query.text.ours.replacen("SELECT ", "SELECT /*+ USE_SORT_MERGE_JOIN */ ", 1)
            } else {
                query.text.ours.clone()
            };
            let difference = match runtime.block_on(rows_of(&tried.session, &sql, &query)) {
                Ok(found) => answer::difference(&query, expected.clone(), found),
                Err(error) => Some(format!("Basalt refuses: {error}")),
            };
            if let Some(difference) = difference {
                failures.push(format!(
                    "BASALT_WORLD={seed} query {number}, {:?} {}: {sql}\n    in SQLite: {}\n    {difference}",
                    tried.place, tried.encoding, query.text.theirs
                ));
                break;
            }
        }
    }
    if std::env::var("BASALT_WORLD").is_ok() {
        for table in &world.tables {
            println!("{}", table.create("", false));
            println!("UPSERT INTO {} VALUES {}", table.name, Table::values(&table.rows, Value::ours));
        }
    }
    (asked, failures)
}

fn oracle(world: &World) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch("PRAGMA case_sensitive_like = ON").unwrap();
    for table in &world.tables {
        connection.execute_batch(&table.create_theirs()).unwrap();
        if !table.rows.is_empty() {
            let values = Table::values(&table.rows, Value::theirs);
            connection.execute_batch(&format!("INSERT INTO {} VALUES {values}", table.name)).unwrap();
        }
    }
    connection
}

async fn tried(world: &World, place: Place, chance: &mut Chance) -> Tried {
    const ENCODINGS: [&str; 6] = ["COLUMNAR", "NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"];
    let env = Env::with_storage(Arc::new(SimStorage::new(1)));
    let options =
        OpenOptions { env: env.clone(), background: false, memory_bytes: 8 << 20, ..OpenOptions::create() };
    let database = Database::open(Path::new("/world"), options).unwrap();
    // Statements with little memory are tests of their own: which of them are refused depends on how threads take turns.
    let memory_bytes = 96 << 20;
    let threads = if place == Place::Memory { 1 } else { 3 };
    let batch_rows = if place == Place::Memory { 8_192 } else { *chance.of(&[1, 3, 8_192]) };
    let options = EngineOptions { threads, memory_bytes, batch_rows, env, ..EngineOptions::default() };
    let session = Engine::try_new(database, options).unwrap().session();
    let encoding = if chance.one_in(2) { "COLUMNAR" } else { *chance.of(&ENCODINGS) };
    let options = format!("DATA_BLOCK_ENCODING = '{encoding}', BLOCKSIZE = 1024, SALT_BUCKETS = 3");
    for table in &world.tables {
        run(&session, &table.create(&options, place == Place::Compacted)).await;
        fill(&session, table, place, chance).await;
    }
    Tried { place, encoding, session }
}

async fn fill(session: &Session, table: &Table, place: Place, chance: &mut Chance) {
    let upsert = |rows: &[Vec<Value>]| {
        format!("UPSERT INTO {} VALUES {}", table.name, Table::values(rows, Value::ours))
    };
    if place == Place::Files {
        // Other values first: newer ones hide them, and rows in their own right are deleted again.
        let mut stale = table.rows.clone();
        for row in &mut stale {
            for (at, value) in row.iter_mut().enumerate().skip(table.keys) {
                *value = Value::random(table.columns[at].kind, chance);
            }
        }
        if !stale.is_empty() {
            run(session, &upsert(&stale)).await;
            session.engine().database().flush(None).unwrap();
        }
        if chance.one_in(2) {
            run(session, &format!("DELETE FROM {}", table.name)).await;
        }
    }
    for (at, rows) in table.rows.chunks(table.rows.len().div_ceil(3).max(1)).enumerate() {
        run(session, &upsert(rows)).await;
        if place != Place::Memory && at < 2 {
            session.engine().database().flush(None).unwrap();
        }
    }
    if place == Place::Compacted {
        session.engine().database().flush(None).unwrap();
        session.engine().database().compact(None, true).unwrap();
    }
}

async fn run(session: &Session, sql: &str) {
    if let Err(error) = session.execute(sql).await {
        panic!("{sql}: {error}");
    }
}

async fn rows_of(session: &Session, sql: &str, query: &Query) -> Result<Vec<Row>, SqlError> {
    let Outcome::Rows(mut rows) = session.execute(sql).await? else { panic!("{sql} is no query") };
    let mut answer = vec![];
    while let Some(batch) = rows.next().await {
        answer::add(&batch?, &query.kinds, &mut answer);
    }
    Ok(answer)
}
