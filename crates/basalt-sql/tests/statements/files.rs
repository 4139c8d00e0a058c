// SPDX-License-Identifier: Apache-2.0
//! COPY and `FROM 'file'` where text in and text out is not enough, and tables as they were.

use std::fs;
use std::path::Path;
use std::time::Duration;

use basalt_sql::{Engine, EngineOptions, Value};
use basalt_store::{Database, OpenOptions};

use super::{changed, count, doubled, numbers, open};

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("directory");
    entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect()
}

fn lines(rows: i64, last: &str) -> String {
    let mut text: String = (0..rows).map(|k| format!("{k},{k}\n")).collect();
    text.push_str(last);
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_more_rows_than_go_through_the_log_is_copied_wholly_or_not_at_all() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    changed(&session, "create table t (k bigint primary key, v bigint)").await.expect("creates");
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("a.csv");
    let copy = format!("copy t from '{}'", path.display());

    fs::write(&path, lines(200_000, "x,1\n")).expect("written");
    let error = changed(&session, &copy).await.expect_err("x is no BIGINT");
    assert!(
        error.message().ends_with("a.csv, line 200001, column K: 'x' is not a BIGINT; nothing was copied"),
        "{error}"
    );
    assert_eq!(count(&session, "t").await, 0);

    fs::write(&path, lines(200_000, "")).expect("written");
    assert_eq!(changed(&session, &copy).await.expect("copies"), 200_000);
    assert_eq!(numbers(&session, "select sum(k) - sum(v) + count(*) from t").await.expect("sums"), [200_000]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_copy_leaves_no_file() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 14).await;
    let directory = tempfile::tempdir().expect("temporary directory");
    for ending in ["csv", "parquet"] {
        let path = directory.path().join(format!("a.{ending}"));
        let sql = format!("copy (select a.k, b.v from t a, t b) to '{}'", path.display());
        let endless = changed(&session, &sql);
        assert!(tokio::time::timeout(Duration::from_millis(200), endless).await.is_err(), "it ended");
        assert_eq!(names(directory.path()), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_belies_the_guessed_type_is_named() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("a.csv");
    fs::write(&path, format!("k,v\n{}", lines(20_000, "20000,x\n"))).expect("written");
    let error =
        numbers(&session, &format!("select v from '{}'", path.display())).await.expect_err("x is no number");
    assert!(error.message().contains("a.csv, line 20002, column v: 'x' is not a BIGINT"), "{error}");
    changed(&session, "create table t (k bigint primary key, v varchar)").await.expect("creates");
    assert_eq!(
        changed(&session, &format!("copy t from '{}'", path.display())).await.expect("copies"),
        20_001
    );
    // What is not asked for is not read.
    let parquet = directory.path().join("a.parquet");
    changed(&session, &format!("copy t to '{}'", parquet.display())).await.expect("copies");
    let sum = numbers(&session, &format!("select sum(k) from '{}' where k < 3", parquet.display())).await;
    assert_eq!(sum.expect("sums"), [3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_stand_in_what_is_copied() {
    let fixture = open(64 << 20);
    let session = fixture.engine.session();
    doubled(&session, 3).await;
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("a.csv");
    let copy = session.prepare(&format!("copy (select k from t where k > ?) to '{}'", path.display()));
    let copy = copy.expect("prepares");
    session.execute_prepared(&copy, &[Value::from(6)]).await.expect("copies");
    assert_eq!(fs::read_to_string(&path).expect("text"), "K\n7\n8\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_may_keep_statements_off_files() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let database = Database::open(&directory.path().join("db"), OpenOptions::create()).expect("opens");
    let options = EngineOptions { user_files: false, ..EngineOptions::default() };
    let session = Engine::try_new(database, options).expect("starts").session();
    changed(&session, "create table t (k bigint primary key)").await.expect("creates");
    let path = directory.path().join("a.csv");
    fs::write(&path, "1\n").expect("written");
    let path = path.display();
    for sql in [
        format!("copy t to '{path}' (overwrite)"),
        format!("copy t from '{path}'"),
        format!("select * from '{path}'"),
        format!("upsert into t select * from '{path}'"),
        format!("delete from t where k in (select * from '{path}')"),
    ] {
        let error = changed(&session, &sql).await.expect_err(&sql);
        assert!(error.message().contains("does not let statements read and write files"), "{error}");
    }
    assert_eq!(fs::read_to_string(directory.path().join("a.csv")).expect("text"), "1\n");
}

/// The moment of now; all that is written later gets a later one.
fn moment(engine: &Engine) -> i64 {
    let now = engine.database().now_ms();
    while engine.database().now_ms() == now {
        std::thread::yield_now();
    }
    now
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_is_read_as_it_was_also_from_compacted_files() {
    let fixture = open(64 << 20);
    let (engine, session) = (&fixture.engine, fixture.engine.session());
    let create = "create table t (k bigint primary key, v bigint) versions = 3, keep_deleted_cells = true";
    changed(&session, create).await.expect("creates");
    let mut moments = vec![moment(engine)];
    let steps = [
        "upsert into t values (1, 10), (2, 20)",
        "upsert into t values (1, 11), (3, 30)",
        "delete from t where k = 2",
        "upsert into t values (2, 22)",
    ];
    for step in steps {
        changed(&session, step).await.expect(step);
        moments.push(moment(engine));
    }
    let states: [&[i64]; 5] = [&[], &[110, 220], &[111, 220, 330], &[111, 330], &[111, 222, 330]];
    for flushed in [false, true] {
        if flushed {
            engine.database().flush(None).expect("flushes");
            engine.database().compact(None, true).expect("compacts");
        }
        for (moment, state) in moments.iter().zip(states) {
            let sql = format!("select k * 100 + v from t for system_time as of {moment} order by k");
            assert_eq!(numbers(&session, &sql).await.expect(&sql), state, "{sql}, flushed: {flushed}");
            let sql = format!("select count(*) from t for system_time as of {moment} where k = 2 and v > 0");
            let there = state.iter().filter(|value| (200..300).contains(*value)).count() as i64;
            assert_eq!(numbers(&session, &sql).await.expect(&sql), [there], "{sql}, flushed: {flushed}");
        }
        assert_eq!(session.take_warnings(), Vec::<String>::new());
    }
    changed(&session, "create table one (k bigint primary key)").await.expect("creates");
    numbers(&session, "select k from one for system_time as of now()").await.expect("reads");
    assert_eq!(
        session.take_warnings(),
        [
            "table ONE keeps one version of a value: what was overwritten since then may be missing; CREATE or ALTER TABLE .. VERSIONS = n keeps more"
        ]
    );
}
