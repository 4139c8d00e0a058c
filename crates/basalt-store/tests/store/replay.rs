// SPDX-License-Identifier: Apache-2.0
//! A log that was written with more memory than it is replayed with.

use std::path::Path;

use basalt_model::{Durability, TableId, WriteBatch};
use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_store::{Database, OpenOptions, Result};

use crate::support::{ROOT, descriptor, options, put, rows};

const ROWS: usize = 2_000;

/// Two tables that get a row each with every batch, none of them flushed; the segments of the log are short.
fn written(storage: &SimStorage) -> [TableId; 2] {
    let db = Database::open(Path::new(ROOT), with_memory(storage, 1 << 30)).unwrap();
    let tables = ["A", "B"].map(|name| db.create_table(descriptor(name, &["f"])).unwrap());
    for row in 0..ROWS {
        // Backwards, so that order in the log is not order in the memtable.
        let key = format!("row{:05}", ROWS - row);
        let mut batch = WriteBatch::new();
        tables.iter().for_each(|&table| put(&mut batch, table, &key, &[("f:x", "some value")]));
        db.write(batch, Durability::Sync).unwrap();
    }
    assert_eq!(db.metrics().flushes, 0, "all of it is in the log");
    db.close().unwrap();
    tables
}

fn with_memory(storage: &SimStorage, memory_bytes: u64) -> OpenOptions {
    OpenOptions { memory_bytes, wal_segment_bytes: 32 << 10, ..options(storage) }
}

/// With memory for a tenth of the rows.
fn open_tight(storage: &SimStorage) -> Result<Database> {
    Database::open(Path::new(ROOT), with_memory(storage, 256 << 10))
}

fn assert_all_there(db: &Database, tables: [TableId; 2], place: &str) {
    for table in tables {
        assert_eq!(rows(&db.snapshot(), table).unwrap().len(), ROWS, "{place}");
    }
}

#[test]
fn a_log_larger_than_memory_is_flushed_while_it_is_replayed() {
    let storage = SimStorage::new(1);
    let tables = written(&storage);
    let db = open_tight(&storage).unwrap();
    let metrics = db.metrics();
    assert!(metrics.flushes > 2, "{} flushes", metrics.flushes);
    // What one segment adds may come on top.
    assert!(metrics.unflushed_bytes < 256 << 10, "{} bytes in memory", metrics.unflushed_bytes);
    assert_all_there(&db, tables, "after the replay");
    drop(db);
    let db = open_tight(&storage.power_loss()).unwrap();
    assert_all_there(&db, tables, "after a power loss behind the replay");
}

#[test]
fn a_full_disk_does_not_keep_such_a_log_from_being_replayed() {
    let storage = SimStorage::new(1);
    let tables = written(&storage);
    storage.set_faults(Some(FaultPlan { at: 1, calls: u64::MAX, fault: Fault::Full }));
    let db = open_tight(&storage).unwrap();
    assert!(storage.injected() > 0, "nothing was tried");
    assert_all_there(&db, tables, "on a full disk");
}

#[test]
fn power_may_go_at_any_call_of_such_a_replay() {
    let storage = SimStorage::new(1);
    let tables = written(&storage);
    for at in 1.. {
        let fork = storage.fork(at);
        fork.set_faults(Some(FaultPlan { at, calls: u64::MAX, fault: Fault::Io }));
        let opened = open_tight(&fork);
        if fork.injected() == 0 {
            assert!(at > 50, "the replay makes {at} calls");
            return;
        }
        let after = fork.power_loss();
        drop(opened);
        let db = Database::open(Path::new(ROOT), with_memory(&after, 1 << 30)).unwrap();
        assert_all_there(&db, tables, &format!("power lost at call {at} of the replay"));
    }
}
