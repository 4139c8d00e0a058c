// SPDX-License-Identifier: Apache-2.0
//! Values of a table with a TTL end one by one, before their rows: what indexes make of that, by a clock that the test moves.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use basalt_sql::{Engine, EngineOptions, Session};
use basalt_store::env::Clock;
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Env, OpenOptions};

use super::changed;
use super::indexes::{checked, rows};

/// Seconds since 1970.
#[derive(Debug)]
struct Moved(AtomicI64);

impl Clock for Moved {
    fn now_ms(&self) -> i64 {
        self.0.load(Relaxed) * 1000
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Relaxed) as u64)
    }

    /// Nobody waits: there is no upkeep, and only the test moves time.
    fn sleep(&self, _: Duration) {}
}

fn open() -> (Session, Arc<Moved>) {
    let clock = Arc::new(Moved(AtomicI64::new(1_000_000)));
    let mut env = Env::with_storage(Arc::new(SimStorage::new(1)));
    env.clock = Arc::<Moved>::clone(&clock);
    let options = OpenOptions { env: env.clone(), background: false, ..OpenOptions::create() };
    let database = Database::open(Path::new("/ended"), options).expect("opens");
    let options = EngineOptions { threads: 1, env, ..EngineOptions::default() };
    (Engine::try_new(database, options).expect("starts").session(), clock)
}

#[tokio::test]
async fn a_unique_index_takes_a_value_again_that_has_ended_while_its_row_is_still_there() {
    let (session, clock) = open();
    let write = async |sql: &str| changed(&session, sql).await;
    write("create table t (n varchar not null, k integer not null, a varchar, b integer, constraint pk primary key (n, k desc)) ttl = 100")
        .await
        .expect("creates");
    write("create unique index i on t (a)").await.expect("creates");
    write("upsert into t values ('r', 1, 'x', 1)").await.expect("it is the first");
    clock.0.fetch_add(60, Relaxed);
    write("upsert into t (n, k, b) values ('r', 1, 2)").await.expect("it is there");
    let refused = write("upsert into t values ('r', 2, 'x', 1)").await.expect_err("x is there");
    assert!(refused.to_string().contains("another row has the same values"), "{refused}");
    clock.0.fetch_add(60, Relaxed);
    assert_eq!(rows(&session, "select k, a, b from t").await, ["1|NULL|2|"]);
    write("upsert into t values ('r', 2, 'x', 1)").await.expect("x has ended");
    let refused = write("upsert into t values ('r', 3, 'x', 1)").await.expect_err("x is there again");
    assert!(refused.to_string().contains("another row has the same values"), "{refused}");
    assert_eq!(rows(&session, "select /*+ INDEX(t i) */ k from t where a = 'x'").await, ["2|"]);
    checked(&session, "t", "i", "after x has ended").await;
    // The row whose value has ended takes it once the other one is gone.
    write("delete from t where k = 2").await.expect("it is there");
    write("upsert into t (n, k, a) values ('r', 1, 'x')").await.expect("nobody has it");
    assert_eq!(rows(&session, "select k, a, b from t").await, ["1|x|2|"]);
}
