// SPDX-License-Identifier: Apache-2.0
//! Where the rows of a world lie.

use std::path::Path;
use std::sync::Arc;

use basalt_sql::{Engine, EngineOptions, Outcome, Session, SqlError};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Env, OpenOptions};
use futures::StreamExt;

use crate::answer::{self, Row};
use crate::chance::Chance;
use crate::query::Query;
use crate::world::{Index, Table, Value, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// All in the memtable.
    Memory,
    /// In several files and the memtable, with versions that newer ones hide and rows that were deleted.
    Files,
    /// In one file, of keys in the other order.
    Compacted,
    /// In the memtable, and statements have one megabyte.
    LittleMemory,
}

/// A world in one place.
pub(crate) struct Tried {
    pub(crate) place: Place,
    pub(crate) encoding: &'static str,
    session: Session,
}

impl Tried {
    pub(crate) async fn new(world: &World, place: Place, chance: &mut Chance) -> Self {
        const ENCODINGS: [&str; 6] = ["COLUMNAR", "NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"];
        let env = Env::with_storage(Arc::new(SimStorage::new(1)));
        let options = OpenOptions {
            env: env.clone(),
            background: false,
            memory_bytes: 8 << 20,
            ..OpenOptions::create()
        };
        let database = Database::open(Path::new("/world"), options).unwrap();
        let memory_bytes = if place == Place::LittleMemory { 1 << 20 } else { 96 << 20 };
        // With several of them it depends on how they take turns which statements find too little memory.
        let threads = if place == Place::Files || place == Place::Compacted { 3 } else { 1 };
        let batch_rows = match place {
            Place::Memory => 8_192,
            Place::Files | Place::Compacted => *chance.of(&[1, 3, 8_192]),
            Place::LittleMemory => *chance.of(&[1, 8_192]),
        };
        let options = EngineOptions { threads, memory_bytes, batch_rows, env, ..EngineOptions::default() };
        let session = Engine::try_new(database, options).unwrap().session();
        let encoding = if chance.one_in(2) { "COLUMNAR" } else { *chance.of(&ENCODINGS) };
        let options = format!("DATA_BLOCK_ENCODING = '{encoding}', BLOCKSIZE = 1024, SALT_BUCKETS = 3");
        let tried = Self { place, encoding, session };
        // Some indexes are built of rows of files, others follow every write, and others do both.
        let mut made = vec![];
        for table in &world.tables {
            tried.run(&table.create(&options, place == Place::Compacted)).await;
            let early = world.indexes.iter().filter(|index| index.table == table.name);
            let early: Vec<_> = early.filter(|_| place == Place::Files && chance.one_in(2)).collect();
            tried.fill(table, &early, chance).await;
            made.extend(early.into_iter().map(|index| index.name.as_str()));
        }
        for view in &world.views {
            tried.run(&view.create(world)).await;
        }
        for index in &world.indexes {
            if place != Place::Memory && !made.contains(&index.name.as_str()) && chance.one_in(2) {
                tried.run(&index.create()).await;
            }
        }
        tried
    }

    /// Writes the rows of a table, and makes some indexes once it has a third of them.
    async fn fill(&self, table: &Table, early: &[&Index], chance: &mut Chance) {
        let database = self.session.engine().database();
        let upsert = |rows: &[Vec<Value>]| {
            format!("UPSERT INTO {} VALUES {}", table.name, Table::values(rows, Value::ours))
        };
        if self.place == Place::Files {
            // Other values first: newer ones hide them, and rows in their own right are deleted again.
            let mut stale = table.rows.clone();
            for row in &mut stale {
                for (at, value) in row.iter_mut().enumerate().skip(table.keys) {
                    *value = Value::random(table.columns[at].kind, chance);
                }
            }
            if !stale.is_empty() {
                self.run(&upsert(&stale)).await;
                database.flush(None).unwrap();
            }
            if chance.one_in(2) {
                self.run(&format!("DELETE FROM {}", table.name)).await;
            }
        }
        for (at, rows) in table.rows.chunks(table.rows.len().div_ceil(3).max(1)).enumerate() {
            self.run(&upsert(rows)).await;
            for index in early.iter().filter(|_| at == 0) {
                self.run(&index.create()).await;
            }
            if matches!(self.place, Place::Files | Place::Compacted) && at < 2 {
                database.flush(None).unwrap();
            }
        }
        if self.place == Place::Compacted {
            database.flush(None).unwrap();
            database.compact(None, true).unwrap();
        }
    }

    async fn run(&self, sql: &str) {
        if let Err(error) = self.session.execute(sql).await {
            panic!("{sql}: {error}");
        }
    }

    /// The rows of a query, in the order in which they come. Rows in memory are asked for three times: the plan of a query that is
    /// asked again is kept, and the third answer is had from what was kept.
    pub(crate) async fn rows_of(&self, sql: &str, query: &Query) -> Result<Vec<Row>, SqlError> {
        let times = if self.place == Place::Memory { 3 } else { 1 };
        let mut answer = self.ask(sql, query).await;
        for _ in 1..times {
            answer = self.ask(sql, query).await;
        }
        answer
    }

    async fn ask(&self, sql: &str, query: &Query) -> Result<Vec<Row>, SqlError> {
        let Outcome::Rows(mut rows) = self.session.execute(sql).await? else { panic!("{sql} is no query") };
        let mut answer = vec![];
        while let Some(batch) = rows.next().await {
            answer::add(&batch?, &query.kinds, &mut answer);
        }
        Ok(answer)
    }
}
