// SPDX-License-Identifier: Apache-2.0
//! Random queries over random tables give the rows that SQLite gives, wherever the rows lie: in memory, in store files of any
//! encoding before and after compaction, under keys of either order, with indexes, with joins that hash and with joins that sort. With one
//! megabyte of memory a query may be refused for want of it, and nothing else.
//!
//! Two tests: one asks all that expressions, groups, windows and set operations can be of some tables, the other joins
//! small tables in any way, with queries below joins and below each other.
//!
//! A failure prints the seed of its world; `BASALT_WORLD=seed` runs that world alone, `BASALT_WORLDS=n` more of them, and
//! `BASALT_KNOWN=1` asks what has several answers, too. Worlds know nothing of
//! each other and are tried side by side, one per core.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod answer;
mod chance;
mod place;
mod query;
mod world;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use basalt_sql::ErrorKind;
use tokio::runtime::Runtime;

use chance::Chance;
use place::{Place, Tried};
use query::{Maker, Query};
use world::{Table, Value, World};

/// What a test asks of each of its worlds.
struct Test {
    worlds: u64,
    world: fn(&mut Chance) -> World,
    queries: usize,
    query: fn(&mut Maker<'_>, usize) -> Query,
    /// The places of rows; the second is asked each time, the others in turn.
    places: &'static [Place],
    /// So many queries must have been compared, together with those of the other test 2,000: queries that are refused compare nothing.
    queries_min: usize,
    /// Queries of the first worlds that have several answers, by world and number.
    known: &'static [(u64, usize, &'static str)],
}

/// What Basalt says of queries that it does not take yet (docs/sql.md). It may refuse them; it may not answer them wrongly.
const NOT_YET: [&str; 8] = [
    "not supported yet: Physical plan does not support logical expression",
    "not supported yet: a condition of a subquery on the outer row, below",
    "not supported yet: a subquery that names",
    "an aggregate function stands in GROUP BY",
    "exists in more than one table",
    "the select list gives its name to something else",
    "__correlated_sq_",
    "projections require unique expression names",
];

/// Differences that are printed.
const SHOWN_MAX: usize = 400;

const TABLES: Test = Test {
    worlds: 16,
    world: World::random,
    queries: 72,
    queries_min: 1_150,
    // Set operations, windows and groups of several sets come last.
    query: |maker, number| if number < 42 { maker.query() } else { maker.form() },
    places: &[Place::Memory, Place::Files, Place::Compacted],
    known: &[(38, 68, "two functions number equal rows, each in an order of its own")],
};

const JOINS: Test = Test {
    worlds: 18,
    world: World::small,
    queries: 60,
    queries_min: 850,
    query: |maker, number| if number < 54 { maker.joined() } else { maker.form() },
    places: &[Place::Memory, Place::Files, Place::Compacted],
    known: &[],
};

#[test]
fn random_queries_give_the_rows_of_sqlite() {
    TABLES.run();
}

#[test]
fn random_joins_give_the_rows_of_sqlite() {
    JOINS.run();
}

/// What came of a world, or of all.
#[derive(Default)]
struct Compared {
    /// Answers that were compared.
    answers: usize,
    /// Queries whose answers were compared wherever they were asked.
    queries: usize,
    refused: usize,
    /// Answers that one megabyte was too little for.
    lacking: usize,
    failures: Vec<String>,
}

impl Compared {
    fn add(&mut self, other: Self) {
        self.answers += other.answers;
        self.queries += other.queries;
        self.refused += other.refused;
        self.lacking += other.lacking;
        self.failures.extend(other.failures);
    }
}

impl Test {
    fn run(&self) {
        let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().unwrap());
        let seeds = match number("BASALT_WORLD") {
            Some(seed) => seed..seed + 1,
            None => 1..number("BASALT_WORLDS").unwrap_or(self.worlds) + 1,
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
                        let answer = self.ask_world(seed, &runtime);
                        answers.lock().unwrap().insert(seed, answer);
                    }
                });
            }
        });
        let mut all = Compared::default();
        answers.into_inner().unwrap().into_values().for_each(|world| all.add(world));
        let Compared { answers, queries, refused, lacking, mut failures } = all;
        println!(
            "{answers} answers to {queries} queries compared, {refused} queries refused, {lacking} answers lacked memory"
        );
        // What is short is read first.
        failures.sort_by_key(String::len);
        let shown = failures.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>();
        assert!(failures.is_empty(), "{} answers differ:\n{}", failures.len(), shown.join("\n\n"));
        if ["BASALT_WORLD", "BASALT_WORLDS"].into_iter().all(|name| std::env::var_os(name).is_none()) {
            assert!(queries >= self.queries_min, "only {queries} queries were compared");
        }
    }

    fn ask_world(&self, seed: u64, runtime: &Runtime) -> Compared {
        let mut all = Compared::default();
        let mut chance = Chance::new(seed);
        let world = (self.world)(&mut chance);
        let oracle = oracle(&world);
        let tried = |place: &Place| runtime.block_on(Tried::new(&world, *place, &mut chance));
        let places: Vec<Tried> = self.places.iter().map(tried).collect();
        // Of its own chance: queries are those of the seed, wherever they are asked.
        let mut own_chance = Chance::new(seed);
        let little = runtime.block_on(Tried::new(&world, Place::LittleMemory, &mut own_chance));
        for number in 0..self.queries {
            let query = (self.query)(&mut Maker::new(&world, &mut chance), number);
            let hints = world.hints(&mut chance);
            let is_known = self.known.iter().any(|(world, query, _)| (*world, *query) == (seed, number));
            if is_known && std::env::var_os("BASALT_KNOWN").is_none() {
                continue;
            }
            let expected = match answer::of_sqlite(&oracle, &query) {
                Ok(rows) => rows,
                Err(error) => panic!("SQLite refuses {}: {error}", query.text.theirs),
            };
            let others = (0..places.len()).filter(|at| *at != 1).collect::<Vec<_>>();
            let (refused, failed) = (all.refused, all.failures.len());
            let mut asked = vec![&places[1], &places[others[number % others.len()]]];
            if number % 3 == 1 {
                asked.push(&little);
            }
            for tried in asked {
                let sql = match tried.place == Place::Compacted && number % 3 == 0 {
                    _ if world.is_small => hinted(&query, &hints),
                    true => hinted(&query, "USE_SORT_MERGE_JOIN"),
                    false => query.text.ours.clone(),
                };
                let found = AssertUnwindSafe(|| runtime.block_on(tried.rows_of(&sql, &query)));
                let difference = match catch_unwind(found) {
                    Err(_) => Some("Basalt panics".to_owned()),
                    Ok(found) => match found {
                        Ok(found) => answer::difference(&query, expected.clone(), found),
                        Err(error) if world.is_small && is_not_yet(&error.to_string()) => {
                            all.refused += 1;
                            break;
                        }
                        Err(error)
                            if tried.place == Place::LittleMemory && error.kind() == ErrorKind::Resources =>
                        {
                            all.lacking += 1;
                            continue;
                        }
                        Err(error) => Some(format!("Basalt refuses: {error}")),
                    },
                };
                all.answers += 1;
                if let Some(difference) = difference {
                    all.failures.push(format!(
                        "BASALT_WORLD={seed} query {number}, {:?} {}: {sql}\n    in SQLite: {}\n    {difference}",
                        tried.place, tried.encoding, query.text.theirs
                    ));
                    break;
                }
            }
            all.queries += usize::from((refused, failed) == (all.refused, all.failures.len()));
        }
        if std::env::var("BASALT_WORLD").is_ok() {
            describe(&world);
        }
        all
    }
}

fn is_not_yet(error: &str) -> bool {
    NOT_YET.iter().any(|known| error.contains(known))
}

fn hinted(query: &Query, hints: &str) -> String {
    match hints {
        "" => query.text.ours.clone(),
        hints => query.text.ours.replacen("SELECT ", &format!("SELECT /*+ {hints} */ "), 1),
    }
}

/// Prints the statements that make a world.
fn describe(world: &World) {
    for table in &world.tables {
        println!("{};", table.create("", false));
        if !table.rows.is_empty() {
            println!("UPSERT INTO {} VALUES {};", table.name, Table::values(&table.rows, Value::ours));
        }
    }
    world.views.iter().for_each(|view| println!("{};", view.create(world)));
    world.indexes.iter().for_each(|index| println!("{};", index.create()));
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
    for view in &world.views {
        connection.execute_batch(&view.create_theirs(world)).unwrap();
    }
    connection
}
