// SPDX-License-Identifier: Apache-2.0
//! Statements that are dropped on their way, wherever they are.

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::*;

/// Long enough for any machine; what is seen is printed.
const LETS_GO: Duration = Duration::from_secs(20);

/// Reads an answer to its end.
async fn to_end(session: Arc<Session>, sql: String) {
    if let Outcome::Rows(mut rows) = session.execute(&sql).await.expect("runs") {
        while let Some(batch) = rows.next().await {
            batch.expect("rows");
        }
    }
}

/// Tasks of statements, on whatever threads.
fn alive(engine: &Engine) -> usize {
    Handle::current().metrics().num_alive_tasks() + engine.running_tasks()
}

/// Ends the statement after a while; returns how long its tasks go on.
async fn cancelled(session: &Arc<Session>, sql: &str, after: Duration) -> Duration {
    let alive = || alive(session.engine());
    let before = alive();
    let task = tokio::spawn(to_end(Arc::clone(session), sql.to_owned()));
    sleep(after).await;
    let asked = Instant::now();
    task.abort();
    let _ = task.await;
    while alive() > before {
        assert!(asked.elapsed() < LETS_GO, "cancelled after {after:?}, tasks go on: {sql}");
        sleep(Duration::from_millis(1)).await;
    }
    asked.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_statement_ends_wherever_it_is() {
    let fixture = open(32 << 20);
    let session = Arc::new(fixture.engine.session());
    doubled(&session, 18).await;
    changed(&session, "create table u (k bigint primary key, v bigint)").await.expect("creates");
    for sql in [
        "select k, v from t order by v desc, k",
        "select count(*) from t a join t b on a.v = b.v + 1",
        "select /*+ USE_SORT_MERGE_JOIN */ count(*) from t a join t b on a.v = b.v + 1",
        "select v, count(*) from t group by v",
        "select count(distinct v) from t",
        "select max(r) from (select row_number() over (order by v desc) as r from t) x",
        "upsert into u select k, v from t",
        "create index i on t (v desc)",
    ] {
        let began = Instant::now();
        to_end(Arc::clone(&session), sql.to_owned()).await;
        let alone = began.elapsed();
        let mut longest = Duration::ZERO;
        for tenths in [2, 5, 8] {
            for undo in ["drop index if exists i on t", "truncate table u"] {
                changed(&session, undo).await.expect(undo);
            }
            longest = longest.max(cancelled(&session, sql, alone * tenths / 10).await);
            let written = count(&session, "u").await;
            assert!(written == 0 || written == 1 << 18, "{written} rows of a statement that was dropped");
        }
        println!("{alone:?} alone, ends {longest:?} after it is cancelled: {sql}");
    }
    // Nothing of them is left.
    changed(&session, "drop index if exists i on t").await.expect("drops");
    let indexes = numbers(&session, "select count(*) from information_schema.indexes").await.expect("lists");
    assert_eq!(indexes, [0]);
    assert_eq!(numbers(&session, "select count(*) from system.queries").await.expect("lists"), [1]);
}

/// Each would go on for minutes, at least. The second one finds no pair of rows, the third few.
const ENDLESS: [&str; 4] = [
    "select count(*) from t a, t b, t c",
    "select count(*) from t a, t b where a.v + b.v < 0",
    "select count(*) from t a left join t b on a.k * b.k = -a.v - 1",
    "select count(*) from t a join t b on a.v % 2 = b.v % 2 where a.k + b.k >= 0",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_of_everything_with_everything_let_others_run_and_can_be_dropped() {
    let fixture = open(64 << 20);
    let session = Arc::new(fixture.engine.session());
    doubled(&session, 18).await;
    let short = async |what: &str| {
        let began = Instant::now();
        let rows = tokio::time::timeout(LETS_GO, count(&session, "t where k < 10")).await;
        assert_eq!(rows.expect(what), 9, "{what}");
        began.elapsed()
    };
    let alone = short("alone").await;
    for endless in ENDLESS {
        let long: Vec<_> = (0..2)
            .map(|_| tokio::spawn(to_end(Arc::new(fixture.engine.session()), endless.to_owned())))
            .collect();
        sleep(Duration::from_millis(300)).await;
        let beside = short(endless).await;
        assert!(long.iter().all(|task| !task.is_finished()), "{endless} is done and tests nothing");
        println!("{beside:?}, alone {alone:?}, for a short statement beside two of {endless}");
        for task in long {
            task.abort();
            let _ = task.await;
        }
        let after = Duration::from_millis(300);
        println!("ends {:?} after it is cancelled: {endless}", cancelled(&session, endless, after).await);
    }
}

/// A join that looks at billions of pairs, and finds none, leaves threads to others and ends when it is told to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_that_find_nothing_let_others_in() {
    let fixture = open(256 << 20);
    let (session, other) = (Arc::new(fixture.engine.session()), fixture.engine.session());
    doubled(&session, 18).await;
    for sql in [
        "select count(*) from t a join t b on a.k % 8 = b.k % 8 and a.v + b.v < 0",
        "select /*+ USE_SORT_MERGE_JOIN */ count(*) from t a join t b on a.k % 8 = b.k % 8 and a.v + b.v < 0",
        "select count(*) from t a join t b on a.v + b.v < 0",
    ] {
        let alive = || alive(session.engine());
        let before = alive();
        let task = tokio::spawn(to_end(Arc::clone(&session), sql.to_owned()));
        sleep(Duration::from_millis(300)).await;
        for _ in 0..20 {
            let asked = numbers(&other, "select count(*) from t where v % 3 = 0");
            let answer = tokio::time::timeout(LETS_GO, asked).await;
            answer.unwrap_or_else(|_| panic!("nothing runs beside {sql}")).expect("counts");
        }
        assert!(!task.is_finished(), "{sql} is too short for this");
        let asked = Instant::now();
        task.abort();
        let _ = task.await;
        while alive() > before {
            assert!(asked.elapsed() < LETS_GO, "its tasks go on: {sql}");
            sleep(Duration::from_millis(1)).await;
        }
        println!("ends {:?} after it is cancelled: {sql}", asked.elapsed());
    }
}
