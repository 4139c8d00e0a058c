// SPDX-License-Identifier: Apache-2.0
//! A bug that panics below a statement ends the statement, and nothing else.

use std::path::Path;

use basalt_store::Env;
use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_is_the_error_of_its_statement_alone() {
    let storage = SimStorage::new(1);
    let env = Env::with_storage(Arc::new(storage.clone()));
    let options = OpenOptions { env: env.clone(), background: false, ..OpenOptions::create() };
    let database = Database::open(Path::new("/db"), options).expect("opens");
    let options = EngineOptions { threads: 2, memory_bytes: 64 << 20, env, ..EngineOptions::default() };
    let engine = Engine::try_new(database, options).expect("starts");
    let session = engine.session();
    changed(&session, "create table t (k bigint primary key, v bigint)").await.expect("creates");
    changed(&session, "upsert into t values (1, 10), (2, 20)").await.expect("writes");
    engine.database().flush(None).expect("flushes");
    let statements = [
        // Read by a plan, at once, and to be written again.
        "select sum(v) from t",
        "select v from t where k = 1",
        "upsert into t select k + 2, v from t",
    ];
    for sql in statements {
        storage.set_faults(Some(FaultPlan { at: 1, calls: u64::MAX, fault: Fault::Panic }));
        let error = to_end(&session, sql).await.expect_err(sql);
        storage.set_faults(None);
        assert_eq!(error.kind(), ErrorKind::Internal, "{sql}: {error}");
        assert!(error.message().contains("please report it with the statement: "), "{sql}: {error}");
    }
    assert_eq!(numbers(&session, "select sum(v) from t").await.expect("goes on"), [30]);
}

/// Runs a statement and reads its rows, if it has some.
async fn to_end(session: &Session, sql: &str) -> Result<(), SqlError> {
    if let Outcome::Rows(mut rows) = session.execute(sql).await? {
        while let Some(batch) = rows.next().await {
            batch?;
        }
    }
    Ok(())
}
