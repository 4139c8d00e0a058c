// SPDX-License-Identifier: Apache-2.0
//! Threads of upkeep beside threads of writers and readers, on a real file system, with little memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use basalt_model::{FamilyDescriptor, Put, TableDescriptor, TableId, TableName, WriteBatch};
use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_store::{Database, Durability, Env, OpenOptions, RunningStats};

use crate::support::*;

const WRITERS: u64 = 4;
const BATCHES: u64 = 120;
const BATCH_ROWS: u64 = 50;

fn options(memory_bytes: u64) -> OpenOptions {
    OpenOptions {
        memory_bytes,
        memtable_bytes: Some(memory_bytes / 32),
        wal_segment_bytes: 64 << 10,
        async_sync_ms: 5,
        ..OpenOptions::create()
    }
}

/// Rows `w-bbb-rr` with the batch number as value; a row per writer counts its batches.
fn batch(table: TableId, writer: u64, number: u64) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let value = format!("{number} and some bytes to fill memory with {:0100}", number);
    for row in 0..BATCH_ROWS {
        put(&mut batch, table, &format!("{writer}-{number:03}-{row:02}"), &[("f:x", &value)]);
    }
    put(&mut batch, table, &format!("count-{writer}"), &[("f:x", &(number + 1).to_string())]);
    batch
}

/// Every writer's batches are there from the first up to its count, each wholly.
fn check_whole(rows: &Rows) -> u64 {
    let mut total = 0;
    for writer in 0..WRITERS {
        let count = rows.get(&format!("count-{writer}")).map_or(0, |columns| columns["f:x"].parse().unwrap());
        let found = rows.keys().filter(|row| row.starts_with(&format!("{writer}-"))).count() as u64;
        assert_eq!(found, count * BATCH_ROWS, "writer {writer} counts {count} batches");
        total += count;
    }
    total
}

#[test]
fn writers_readers_flushes_and_compactions_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let memory_bytes = 4 << 20;
    let db = Database::open(dir.path(), options(memory_bytes)).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let (done, unflushed_max) = (AtomicBool::new(false), AtomicU64::new(0));
    let scans = Mutex::new(0);
    std::thread::scope(|scope| {
        let (db, done) = (&db, &done);
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Acquire) {
                let total = check_whole(&rows(&db.snapshot(), table).unwrap());
                assert!(total >= seen, "a later snapshot shows less");
                seen = total;
                *scans.lock().unwrap() += 1;
                unflushed_max.fetch_max(db.metrics().unflushed_bytes, Ordering::Relaxed);
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let durability = if writer == 0 { Durability::Async } else { Durability::Sync };
                    for number in 0..BATCHES {
                        db.write(batch(table, writer, number), durability).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Release);
        reader.join().unwrap();
    });
    let metrics = db.metrics();
    assert!(metrics.flushes > 5 && metrics.compactions > 0, "{metrics:?}");
    assert_eq!(metrics.upkeep_failures, 0, "{metrics:?}");
    // The limit is a quarter of the memory; each writer may be one batch above it.
    let limit = memory_bytes / 4 + WRITERS * 20_000;
    assert!(unflushed_max.load(Ordering::Relaxed) <= limit, "{unflushed_max:?} of {limit} bytes");
    assert!(*scans.lock().unwrap() > 0);
    assert_eq!(check_whole(&rows(&db.snapshot(), table).unwrap()), WRITERS * BATCHES);
    db.close().unwrap();
    let db = Database::open(dir.path(), options(memory_bytes)).unwrap();
    assert_eq!(check_whole(&rows(&db.snapshot(), table).unwrap()), WRITERS * BATCHES);
    db.flush(None).unwrap();
    db.compact(None, true).unwrap();
    assert_eq!(check_whole(&rows(&db.snapshot(), table).unwrap()), WRITERS * BATCHES);
    assert_eq!((db.stats(table).unwrap().files, db.metrics().wal_bytes), (1, 0));
}

#[test]
fn closing_with_work_under_way_loses_nothing_and_frees_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let db = Database::open(dir.path(), options(1 << 20)).unwrap();
        let table = match db.tables().first() {
            Some((id, _)) => *id,
            None => db.create_table(descriptor("T", &["f"])).unwrap(),
        };
        let snapshot = db.snapshot();
        for number in 0..10 {
            db.write(batch(table, 0, round * 10 + number), Durability::Async).unwrap();
        }
        assert_eq!(check_whole(&rows(&snapshot, table).unwrap()), round * 10);
        drop(db);
        assert_eq!(
            check_whole(&rows(&snapshot, table).unwrap()),
            round * 10,
            "a snapshot outlives the handle"
        );
    }
}

#[test]
fn a_few_rows_that_are_written_all_the_time_stay_a_few_kilobytes() {
    let dir = tempfile::tempdir().unwrap();
    let options = OpenOptions { flush_interval_ms: 100, wal_segment_bytes: 64 << 10, ..options(64 << 20) };
    let db = Database::open(dir.path(), options).unwrap();
    let mut descriptor = descriptor("T", &["f"]);
    descriptor.families[0].major_compaction_ms = Some(500);
    let table = db.create_table(descriptor).unwrap();
    let clock = Env::local().clock;
    let deadline = clock.monotonic() + Duration::from_secs(60);
    let mut written = 0;
    while db.metrics().flushes < 8 || db.metrics().compactions < 3 {
        assert!(clock.monotonic() < deadline, "{:?}", db.metrics());
        for row in 0..10 {
            let value = written.to_string();
            db.write(one(table, &format!("row{row}"), &[("f:x", &value)]), Durability::Async).unwrap();
            written += 1;
        }
        clock.sleep(Duration::from_millis(1));
    }
    while db.stats(table).unwrap().files > 1 || db.metrics().unflushed_bytes > 0 {
        assert!(clock.monotonic() < deadline, "{:?}, {:?}", db.stats(table), db.metrics());
        clock.sleep(Duration::from_millis(10));
    }
    let (stats, metrics) = (db.stats(table).unwrap(), db.metrics());
    assert!(written > 1_000 && stats.cells == 10, "{written} cells written, {} kept", stats.cells);
    assert!(stats.size_bytes < 8_000 && metrics.wal_bytes < 8_000, "{stats:?}, {metrics:?}");
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 10);
}

#[test]
fn cells_past_a_ttl_of_their_own_leave_a_lone_file_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options(64 << 20)).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let by_name = db.open_table(&TableName::in_default("T")).unwrap();
    for row in 0..20 {
        let put = Put::new(format!("row{row}")).add("f", "x", "v");
        by_name.put(if row < 10 { put.ttl_ms(300) } else { put }).unwrap();
    }
    db.flush(None).unwrap();
    let clock = Env::local().clock;
    let deadline = clock.monotonic() + Duration::from_secs(60);
    while db.stats(table).unwrap().cells != 10 {
        assert!(clock.monotonic() < deadline, "{:?}, {:?}", db.stats(table), db.metrics());
        clock.sleep(Duration::from_millis(10));
    }
    assert_eq!(db.metrics().compactions, 1);
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 10);
}

#[test]
fn a_flush_that_panics_is_tried_again() {
    let storage = SimStorage::new(1);
    let env = Env { storage: Arc::new(storage.clone()), ..Env::local() };
    let options = OpenOptions { env, flush_interval_ms: 1, ..options(4 << 20) };
    let db = Database::open(std::path::Path::new("/db"), options).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let clock = Env::local().clock;
    let deadline = clock.monotonic() + Duration::from_secs(60);
    let before = storage.injected();
    storage.set_faults(Some(FaultPlan { at: 8, calls: 1, fault: Fault::Panic }));
    db.write(one(table, "row", &[("f:x", "1")]), Durability::Skip).unwrap();
    while db.metrics().flushes == 0 || db.metrics().unflushed_bytes > 0 {
        assert!(clock.monotonic() < deadline, "{:?}", db.metrics());
        clock.sleep(Duration::from_millis(10));
    }
    assert!(storage.injected() > before && db.metrics().upkeep_failures > 0, "{:?}", db.metrics());
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 1);
}

#[test]
fn nothing_is_compacted_unasked_while_the_switch_is_off() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options(4 << 20)).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    assert!(db.set_upkeep_compactions(false));
    assert!(!db.set_upkeep_compactions(false));
    for number in 0..16 {
        db.write(batch(table, 0, number), Durability::Sync).unwrap();
        db.flush(None).unwrap();
    }
    assert_eq!((db.stats(table).unwrap().files, db.metrics().compactions), (16, 0));
    assert!(!db.set_upkeep_compactions(true));
    let clock = Env::local().clock;
    let until = clock.monotonic() + Duration::from_secs(60);
    while db.stats(table).unwrap().files == 16 && clock.monotonic() < until {
        clock.sleep(Duration::from_millis(5));
    }
    assert!(db.stats(table).unwrap().files < 16);
}

#[test]
fn what_an_earlier_process_left_is_compacted_in_steps_without_a_write() {
    const FILES: u64 = 150;
    let dir = tempfile::tempdir().unwrap();
    let first = OpenOptions { background: false, ..options(64 << 20) };
    let db = Database::open(dir.path(), first).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    for number in 0..FILES {
        db.write(batch(table, 0, number), Durability::Sync).unwrap();
        db.flush(None).unwrap();
    }
    let before = rows(&db.snapshot(), table).unwrap();
    assert_eq!(db.stats(table).unwrap().files, FILES);
    db.close().unwrap();

    let db = Database::open(dir.path(), options(64 << 20)).unwrap();
    let clock = Env::local().clock;
    let deadline = clock.monotonic() + Duration::from_secs(60);
    while db.stats(table).unwrap().files > 4 {
        assert!(clock.monotonic() < deadline, "{:?}, {:?}", db.stats(table), db.metrics());
        clock.sleep(Duration::from_millis(10));
    }
    let ended = db.compactions();
    assert!(ended.len() > 2 && ended.iter().all(|done| done.files_read <= 64), "{ended:?}");
    assert_eq!(rows(&db.snapshot(), table).unwrap(), before);
}

/// What is under way until something has ended, each state of it once.
fn seen_until(db: &Database, ended: impl Fn() -> bool) -> Vec<RunningStats> {
    let mut seen = vec![];
    while !ended() {
        seen.extend(db.running());
        seen.dedup();
    }
    seen
}

/// While somebody compacts, others see that, and how far it is.
#[test]
fn what_is_under_way_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), OpenOptions { background: false, ..options(64 << 20) }).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    for number in 0..200 {
        for writer in 0..WRITERS {
            db.write(batch(table, writer, number), Durability::Skip).unwrap();
        }
    }
    let flush = std::thread::scope(|scope| {
        let flusher = scope.spawn(|| db.flush(None).unwrap());
        seen_until(&db, || flusher.is_finished())
    });
    let is_flush = |seen: &RunningStats| (seen.table, seen.what, seen.bytes_done) == (table, "flush", None);
    assert!(flush.iter().all(|seen| is_flush(seen) && seen.bytes_total > 0), "{flush:?}");
    assert!(!flush.is_empty() && db.running().is_empty());
    let seen = std::thread::scope(|scope| {
        let compactor = scope.spawn(|| db.compact(None, true).unwrap());
        seen_until(&db, || compactor.is_finished())
    });
    assert_eq!(db.running(), []);
    let done = |at: usize| seen[at].bytes_done.unwrap();
    assert!(
        seen.iter()
            .all(|seen| (seen.table, seen.what, seen.family.as_deref()) == (table, "major", Some("f")))
    );
    assert!(
        done(0) < done(seen.len() - 1) && (1..seen.len()).all(|at| done(at - 1) <= done(at)),
        "it goes on"
    );
    assert!(seen.iter().all(|seen| seen.bytes_done.unwrap() <= seen.bytes_total && seen.started_ms > 0));
}

/// Cells leave while others of their file have time left: three seconds, of which a busy machine may miss all.
#[test]
fn what_has_expired_leaves_before_all_of_its_file_has() {
    const ROWS: i64 = 30;
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options(64 << 20)).unwrap();
    let compacted = |attempt: u32| {
        let name = TableName::in_default(format!("T{attempt}"));
        let family = FamilyDescriptor { ttl_secs: Some(60), ..FamilyDescriptor::new("f") };
        let id = db.create_table(TableDescriptor::new(name.clone()).family(family)).unwrap();
        let (table, now_ms) = (db.open_table(&name).unwrap(), Env::local().now_ms());
        for row in 0..ROWS {
            // The oldest have a second to live, the newest six.
            let timestamp = now_ms - 59_000 + row * 5_000 / ROWS;
            table.put(Put::new(format!("{row:02}")).add_at("f", "q", timestamp, "v")).unwrap();
        }
        table.flush().unwrap();
        // At the latest when all has expired.
        for _ in 0..1_200 {
            match db.compactions().into_iter().find(|done| done.table == id) {
                Some(done) => return done,
                None => Env::local().clock.sleep(Duration::from_millis(50)),
            }
        }
        panic!("nothing is compacted within a minute")
    };
    let aged = (0..3).map(compacted).find(|done| done.reason == "aged").expect("an aged file is rewritten");
    assert!(aged.files_written == 1 && aged.bytes_written < aged.bytes_read, "{aged:?}");
}
