// SPDX-License-Identifier: Apache-2.0
//! An index whose building was ended in the middle is built on from there, not from the start.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use basalt_model::{IndexState, TableDescriptor, TableId};
use basalt_sql::{Engine, EngineOptions, Session};
use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_store::{Database, Env, OpenOptions};

use super::indexes::checked;
use super::{changed, count};

const DOUBLINGS: usize = 13;
/// Rows of the table between two notes.
const PART_ROWS: u64 = 1_000;
/// Calls of the storage between two moments at which it fails.
const STEP: u64 = 7;

fn open(storage: &SimStorage) -> (Engine, Session) {
    let env = Env::with_storage(Arc::new(storage.clone()));
    let options = OpenOptions { env: env.clone(), background: false, ..OpenOptions::create() };
    let database = Database::open(Path::new("/db"), options).expect("opens");
    let options = EngineOptions { threads: 2, index_part_rows: PART_ROWS, env, ..EngineOptions::default() };
    let engine = Engine::try_new(database, options).expect("starts");
    let session = engine.session();
    (engine, session)
}

/// The only index.
fn index(database: &Database) -> Option<(TableId, Arc<TableDescriptor>)> {
    database.tables().into_iter().find(|(_, table)| table.index.is_some())
}

fn state(descriptor: &TableDescriptor) -> IndexState {
    descriptor.index.as_ref().expect("an index").state
}

/// Rows of the index in files, and its identity, as the storage has them now.
fn built(storage: &SimStorage) -> Option<(TableId, u64)> {
    let env = Env::with_storage(Arc::new(storage.fork(7)));
    let options = OpenOptions { env, background: false, ..OpenOptions::create() };
    let database = Database::open(Path::new("/db"), options).expect("opens");
    let (id, descriptor) = index(&database)?;
    let rows = database.stats(id).expect("has figures").rows_estimate;
    (state(&descriptor) == IndexState::Building).then_some((id, rows))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_goes_on_behind_its_last_part() {
    let storage = SimStorage::new(11);
    let (engine, session) = open(&storage);
    let mut table = vec![
        "create table t (k bigint primary key, v bigint) data_block_encoding = 'FAST_DIFF', blocksize = 1024",
        "create sequence s",
        "upsert into t values (next value for s, current value for s)",
    ];
    table.extend(["upsert into t select next value for s, current value for s from t"; DOUBLINGS]);
    for sql in table {
        changed(&session, sql).await.expect(sql);
    }
    engine.database().flush(None).expect("flushes");
    drop((session, engine));
    let mut resumed = vec![];
    for at in (1..).map(|step| step * STEP) {
        let storage = storage.fork(at);
        let (engine, session) = open(&storage);
        storage.set_faults(Some(FaultPlan { at, calls: u64::MAX, fault: Fault::Io }));
        let created = changed(&session, "create index i on t (v)").await;
        drop((session, engine));
        if created.is_ok() {
            break;
        }
        let storage = storage.power_loss();
        let before = built(&storage);
        let (engine, session) = open(&storage);
        let Some((id, rows)) = before else { continue };
        // Rows before and behind the part that is there.
        for sql in [
            "delete from t where k in (1, 2, 8000)",
            "upsert into t values (3, -3), (8001, -8001), (100000, 5)",
        ] {
            changed(&session, sql).await.expect(sql);
        }
        let (now, descriptor) = built_in_time(engine.database()).await;
        assert_eq!(state(&descriptor), IndexState::Active);
        // An index that is built from the start is another table.
        assert_eq!(now == id, rows > 0, "call {at}: {rows} rows were there");
        checked(&session, "t", "i", "an index that was built on").await;
        assert_eq!(count(&session, "t").await, (1 << DOUBLINGS) - 2);
        if now == id {
            resumed.push(rows);
        }
    }
    resumed.dedup();
    assert!(resumed.len() > 2, "after one part and after several: {resumed:?}");
}

/// The index once nobody builds it.
async fn built_in_time(database: &Database) -> (TableId, Arc<TableDescriptor>) {
    for _ in 0..60_000 {
        let found = index(database).expect("is there");
        if state(&found.1) != IndexState::Building {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the build does not end")
}
