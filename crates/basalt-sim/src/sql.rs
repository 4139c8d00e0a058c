// SPDX-License-Identifier: Apache-2.0
//! Replays recorded statements and compares the answers with those of real Phoenix 5.2.
//!
//! A file holds one JSON object per line, gzipped or not: the statement (`sql`), its `kind` (`query`, `update`,
//! `error`, `hbase`) and what Phoenix answered: `rows` as lists of texts, `update_count`, or `error` with code and
//! SQLSTATE. Every file starts from an empty database.
//!
//! A difference that is meant, or not yet mended, stands with its reason in a list of [`known`] differences. A
//! statement of that list that agrees after all is a failure too, so the list cannot outlive its reasons.

mod answer;
mod cells;
pub mod known;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use basalt_sql::{Engine, EngineOptions, Outcome, Session, SqlError};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Env, OpenOptions};
use futures::StreamExt;
use serde_json::Value;

use crate::replay::lines;
use answer::Answer;
use known::Known;

/// A statement that takes longer is counted as one that never ends.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
const MEMORY_BYTES: u64 = 128 << 20;

/// How statements ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// The answer is Phoenix's.
    pub passed: u64,
    /// It is not, and nothing says why.
    pub failed: u64,
    /// It is not, and the list of known differences says why.
    pub known: u64,
}

/// Replays one file; `say` gets each difference. Statements are counted from 1.
pub fn file(path: &Path, known: &Known, score: &mut Score, say: &mut dyn FnMut(&str)) -> Result<()> {
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().unwrap_or_default();
    let session = fresh_session()?;
    for (index, line) in lines(path)?.enumerate() {
        let number = index + 1;
        let place = || format!("{}, line {number}", path.display());
        let line: Value = serde_json::from_str(&line.with_context(place)?).with_context(place)?;
        let sql = line["sql"].as_str().context("sql is missing").with_context(place)?;
        let expected = Answer::recorded(&line).with_context(place)?;
        let reason = known.reason(name, number);
        if reason.is_some_and(|reason| reason.starts_with(known::NOT_RUN)) {
            score.known += 1;
            continue;
        }
        let found = if sql.starts_with(cells::PREFIX) {
            let cells = cells::run(session.engine().database(), sql).with_context(place)?;
            Answer::Cells(cells.unwrap_or_default())
        } else {
            threads.block_on(answer_of(&session, sql))
        };
        match (expected.difference(&found), reason) {
            (None, None) => score.passed += 1,
            (Some(_), Some(_)) => score.known += 1,
            (Some(difference), None) => {
                score.failed += 1;
                say(&format!("{name}:{number}: {sql}\n    {difference}"));
            }
            (None, Some(reason)) => {
                score.failed += 1;
                say(&format!("{name}:{number}: {sql}\n    agrees, but is listed as different: {reason}"));
            }
        }
    }
    Ok(())
}

fn fresh_session() -> Result<Session> {
    let env = Env::with_storage(Arc::new(SimStorage::new(1)));
    let options = OpenOptions { env: env.clone(), memory_bytes: MEMORY_BYTES, ..OpenOptions::create() };
    let database = Database::open(Path::new("/replay"), options)?;
    let options = EngineOptions { threads: 2, memory_bytes: MEMORY_BYTES, env, ..EngineOptions::default() };
    let engine = Engine::try_new(database, options).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(engine.session())
}

async fn answer_of(session: &Session, sql: &str) -> Answer {
    match tokio::time::timeout(STATEMENT_TIMEOUT, run(session, sql)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Answer::refused(&error),
        Err(_) => Answer::Endless,
    }
}

async fn run(session: &Session, sql: &str) -> Result<Answer, SqlError> {
    match session.execute(sql).await? {
        Outcome::Count { rows, .. } => Ok(Answer::Changed(Some(rows))),
        Outcome::Done { .. } => Ok(Answer::Changed(None)),
        Outcome::Rows(mut rows) => {
            let titles = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
            let mut answer = answer::Rows { titles, ordered: false, rows: vec![] };
            while let Some(batch) = rows.next().await {
                answer.add(&batch?);
            }
            Ok(Answer::Rows(answer))
        }
    }
}
