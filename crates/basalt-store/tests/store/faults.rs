// SPDX-License-Identifier: Apache-2.0
//! A fixed workload in which the n-th storage call fails, for every n and every kind of failure.
//!
//! Each time: no panic; what was acknowledged is there, at once and after reopening and after a power loss; no
//! batch is there in part; the error is an error of storage; and the database works again, at once if the
//! log has not failed, after reopening otherwise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use basalt_model::{TableId, WriteBatch};
use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_store::{Database, Durability, Error, OpenOptions, Result};

use crate::support::*;

/// Batches of the workload. Each writes one row in either table with the same value, so that a part is seen.
const BATCHES: usize = 8;

struct Outcome {
    /// Batches acknowledged.
    acknowledged: Vec<usize>,
    errors: Vec<Error>,
}

fn open_small(storage: &SimStorage) -> Result<Database> {
    let options = OpenOptions { wal_segment_bytes: 700, ..options(storage) };
    Database::open(std::path::Path::new(ROOT), options)
}

fn batch(tables: [TableId; 2], number: usize) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for table in tables {
        put(&mut batch, table, &format!("row{number:02}"), &[("f:x", &number.to_string())]);
    }
    batch
}

/// Writes, flushes, compacts, reopens; notes what was acknowledged and goes on after every error.
fn workload(storage: &SimStorage, tables: [TableId; 2]) -> Outcome {
    let mut outcome = Outcome { acknowledged: Vec::new(), errors: Vec::new() };
    let mut db = match open_small(storage) {
        Ok(db) => db,
        Err(error) => {
            outcome.errors.push(error);
            open_small(storage).expect("only one call fails")
        }
    };
    for number in 0..BATCHES {
        match db.write(batch(tables, number), Durability::Sync) {
            Ok(_) => outcome.acknowledged.push(number),
            Err(error) => outcome.errors.push(error),
        }
        let upkeep = match number % 4 {
            1 => db.flush(Some(tables[0])),
            2 => db.flush(None),
            3 => db.compact(None, number == 7),
            _ => Ok(()),
        };
        outcome.errors.extend(upkeep.err());
        check(&db, tables, &outcome, "at once");
        if number == 5 {
            outcome.errors.extend(db.close().err());
            db = match open_small(storage) {
                Ok(db) => db,
                Err(error) => {
                    outcome.errors.push(error);
                    open_small(storage).expect("only one call fails")
                }
            };
        }
    }
    outcome
}

/// Everything acknowledged is there, nothing is there in part.
fn check(db: &Database, tables: [TableId; 2], outcome: &Outcome, when: &str) {
    let snapshot = db.snapshot();
    let read =
        |table| rows(&snapshot, table).or_else(|_| rows(&snapshot, table)).expect("only one call fails");
    let (first, second) = (read(tables[0]), read(tables[1]));
    assert_eq!(first, second, "a batch is there in part {when}: {:?}", outcome.errors);
    for number in &outcome.acknowledged {
        let row = first.get(&format!("row{number:02}"));
        let value = row.and_then(|columns| columns.get("f:x"));
        assert_eq!(value, Some(&number.to_string()), "batch {number} is lost {when}: {:?}", outcome.errors);
    }
}

fn prepared(seed: u64) -> (SimStorage, [TableId; 2]) {
    let storage = SimStorage::new(seed);
    let db = open_small(&storage).unwrap();
    let tables = ["A", "B"].map(|name| db.create_table(descriptor(name, &["f"])).unwrap());
    db.close().unwrap();
    (storage, tables)
}

fn is_storage_error(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::OutOfSpace { .. } | Error::LogFailed { .. })
}

#[test]
fn any_single_call_may_fail_in_any_way() {
    let mut injected = 0;
    let mut reported = 0;
    for fault in [Fault::Full, Fault::Io, Fault::ShortWrite, Fault::LostSync] {
        let mut at = 1;
        loop {
            let (storage, tables) = prepared(at);
            storage.set_faults(Some(FaultPlan { at, calls: 1, fault }));
            let before = storage.injected();
            let outcome = workload(&storage, tables);
            if storage.calls() < at {
                break;
            }
            if storage.injected() == before {
                // A call that this fault does not concern.
                at += 1;
                continue;
            }
            injected += 1;
            reported += usize::from(!outcome.errors.is_empty());
            let wrong = outcome.errors.iter().find(|error| !is_storage_error(error));
            assert!(wrong.is_none(), "{fault:?} at call {at} gave {wrong:?}");
            storage.set_faults(None);
            for (storage, when) in
                [(storage.fork(at), "after a restart"), (storage.fork(at).power_loss(), "after a power loss")]
            {
                let db = open_small(&storage)
                    .unwrap_or_else(|error| panic!("{fault:?} at call {at}, {when}: {error}"));
                check(&db, tables, &outcome, &format!("{when}, {fault:?} at call {at}"));
                db.write(batch(tables, 99), Durability::Sync).unwrap();
                db.flush(None).unwrap();
                check(&db, tables, &Outcome { acknowledged: vec![99], errors: Vec::new() }, when);
            }
            at += 1;
        }
        assert!(at > 100, "the workload makes {at} calls");
    }
    report(format_args!("{injected} faults injected, {reported} of them reported to the caller"));
    assert!(injected > 300 && reported * 2 > injected, "{injected} injected, {reported} reported");
}

#[test]
fn a_full_disk_refuses_writes_and_nothing_else_and_writes_work_again_with_space() {
    let (storage, tables) = prepared(1);
    let db = open_small(&storage).unwrap();
    db.write(batch(tables, 1), Durability::Sync).unwrap();
    storage.set_faults(Some(FaultPlan { at: 1, calls: u64::MAX, fault: Fault::Full }));
    for _ in 0..3 {
        let error = db.write(batch(tables, 2), Durability::Sync).unwrap_err();
        assert!(matches!(error, Error::OutOfSpace { .. }) && error.retryable(), "{error}");
    }
    assert!(db.flush(None).is_err());
    assert!(db.create_table(descriptor("C", &["f"])).is_err());
    storage.set_faults(None);
    assert_eq!(rows(&db.snapshot(), tables[0]).unwrap().len(), 1);
    db.write(batch(tables, 3), Durability::Sync).unwrap();
    db.create_table(descriptor("C", &["f"])).unwrap();
    db.flush(None).unwrap();
    let outcome = Outcome { acknowledged: vec![1, 3], errors: Vec::new() };
    check(&db, tables, &outcome, "with space again");
    drop(db);
    check(&open_small(&storage.power_loss()).unwrap(), tables, &outcome, "after a power loss");
}

#[test]
fn after_a_failed_sync_reads_go_on_and_writes_wait_for_a_reopening() {
    let (storage, tables) = prepared(1);
    let db = open_small(&storage).unwrap();
    db.write(batch(tables, 1), Durability::Sync).unwrap();
    // The next write is one append and one sync.
    storage.set_faults(Some(FaultPlan { at: 2, calls: 1, fault: Fault::LostSync }));
    assert!(matches!(db.write(batch(tables, 2), Durability::Sync), Err(Error::LogFailed { .. })));
    storage.set_faults(None);
    for durability in [Durability::Skip, Durability::Async, Durability::Sync] {
        assert!(matches!(db.write(batch(tables, 3), durability), Err(Error::LogFailed { .. })));
    }
    assert_eq!(show(&rows(&db.snapshot(), tables[0]).unwrap()), ["row01 f:x=1"]);
    drop(db);
    let db = open_small(&storage.power_loss()).unwrap();
    let outcome = Outcome { acknowledged: vec![1], errors: Vec::new() };
    check(&db, tables, &outcome, "after reopening");
    db.write(batch(tables, 4), Durability::Sync).unwrap();
}

#[test]
fn a_panic_while_one_writer_writes_for_all_answers_all() {
    let (mut injected, mut failed) = (0, 0);
    for at in 1..=8 {
        let (storage, tables) = prepared(at);
        let db = &open_small(&storage).unwrap();
        db.write(batch(tables, 1), Durability::Sync).unwrap();
        let before = storage.injected();
        storage.set_faults(Some(FaultPlan { at, calls: 1, fault: Fault::Panic }));
        let answers: Vec<Result<_>> = std::thread::scope(|scope| {
            let write = |number| scope.spawn(move || db.write(batch(tables, number), Durability::Sync));
            let writers: Vec<_> = (2..=9).map(write).collect();
            writers.into_iter().map(|writer| writer.join().expect("an error, not a panic")).collect()
        });
        storage.set_faults(None);
        injected += storage.injected() - before;
        failed += answers.iter().filter(|answer| answer.is_err()).count();
        let mut acknowledged = vec![1];
        acknowledged
            .extend((2..).zip(&answers).filter_map(|(number, answer)| answer.is_ok().then_some(number)));
        for answer in answers.into_iter().filter_map(Result::err) {
            assert!(matches!(answer, Error::LogFailed { .. }), "{answer}");
        }
        let outcome = Outcome { acknowledged, errors: Vec::new() };
        check(db, tables, &outcome, "after the panic");
        check(&open_small(&storage.power_loss()).unwrap(), tables, &outcome, "after reopening");
    }
    assert!(injected > 0 && failed > 0, "{injected} panics, {failed} writes answered with an error");
}

#[test]
fn a_compaction_that_panics_at_any_call_is_an_error_and_changes_no_answer() {
    let (mut injected, mut failed) = (0, 0);
    for at in 1.. {
        let (storage, tables) = prepared(at);
        let db = open_small(&storage).unwrap();
        for number in 1..4 {
            db.write(batch(tables, number), Durability::Sync).unwrap();
            db.flush(None).unwrap();
        }
        let outcome = Outcome { acknowledged: vec![1, 2, 3], errors: Vec::new() };
        let before = storage.injected();
        storage.set_faults(Some(FaultPlan { at, calls: 1, fault: Fault::Panic }));
        // A file that nobody needs any more may be removed by its last reader, behind the compaction.
        let answer = catch_unwind(AssertUnwindSafe(|| db.compact(Some(tables[0]), true))).unwrap_or(Ok(()));
        storage.set_faults(None);
        if storage.injected() == before {
            answer.unwrap();
            break;
        }
        injected += 1;
        if let Err(error) = answer {
            failed += 1;
            assert!(matches!(error, Error::Panicked { .. }), "call {at}: {error}");
        }
        check(&db, tables, &outcome, &format!("after a panic at call {at}"));
        check(&open_small(&storage.fork(at).power_loss()).unwrap(), tables, &outcome, "after reopening");
        db.compact(None, true).unwrap_or_else(|error| panic!("after a panic at call {at}: {error}"));
        check(&db, tables, &outcome, "after another compaction");
        drop(db);
        check(&open_small(&storage).unwrap(), tables, &outcome, "after closing");
    }
    report(format_args!("{injected} panics in a compaction, {failed} of them answered with an error"));
    assert!(failed > 3, "{injected} panics, {failed} compactions answered with an error");
}

#[test]
fn power_may_go_at_any_call() {
    let mut at = 1;
    loop {
        let (storage, tables) = prepared(at);
        // From this call on nothing reaches the disk.
        storage.set_faults(Some(FaultPlan { at, calls: u64::MAX, fault: Fault::Io }));
        let before = storage.injected();
        let outcome = until_dead(&storage, tables);
        if storage.injected() == before {
            break;
        }
        let storage = storage.power_loss();
        let db = open_small(&storage).unwrap_or_else(|error| panic!("power lost at call {at}: {error}"));
        check(&db, tables, &outcome, &format!("power lost at call {at}"));
        db.write(batch(tables, 99), Durability::Sync).unwrap();
        // And once more, during what the recovery did.
        drop(db);
        let db = open_small(&storage.power_loss()).unwrap();
        check(&db, tables, &outcome, &format!("power lost at call {at}, then again"));
        at += 1;
    }
    assert!(at > 100, "the workload makes {at} calls");
    report(format_args!("{} power losses", 2 * (at - 1)));
}

/// The workload without looking at the data, up to the first error.
fn until_dead(storage: &SimStorage, tables: [TableId; 2]) -> Outcome {
    let mut outcome = Outcome { acknowledged: Vec::new(), errors: Vec::new() };
    let mut run = || -> Result<()> {
        let mut db = open_small(storage)?;
        for number in 0..BATCHES {
            db.write(batch(tables, number), Durability::Sync)?;
            outcome.acknowledged.push(number);
            match number % 4 {
                1 => db.flush(Some(tables[0]))?,
                2 => db.flush(None)?,
                3 => db.compact(None, number == 7)?,
                _ => (),
            }
            if number == 5 {
                db.close()?;
                db = open_small(storage)?;
            }
        }
        db.close()
    };
    outcome.errors.extend(run().err());
    outcome
}
