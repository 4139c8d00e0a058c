// SPDX-License-Identifier: Apache-2.0
//! Closing: what it keeps, and what others may still do meanwhile and afterwards.

#![allow(clippy::disallowed_methods, reason = "the test is of a directory that is in disorder")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_model::{Get, Put, TableId, TableName, WriteBatch};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Durability, Error, OpenOptions};

use crate::support::*;

#[test]
fn what_the_log_does_not_have_is_flushed_by_closing() {
    for split in [false, true] {
        let storage = SimStorage::new(1);
        let db = open(&storage).unwrap();
        let mut attributes = descriptor("SKIPPED", &["f", "g"]);
        attributes.attributes.insert("DURABILITY".into(), "SKIP_WAL".into());
        let skipped = db.create_table(attributes).unwrap();
        let logged = db.create_table(descriptor("LOGGED", &["f"])).unwrap();
        let skipped_table = db.open_table(&TableName::in_default("SKIPPED")).unwrap();
        for row in ["a", "m", "x"] {
            skipped_table.put(Put::new(row).add("f", "q", row)).unwrap();
        }
        db.write(one(logged, "a", &[("f:q", "1")]), Durability::Sync).unwrap();
        db.write(one(logged, "b", &[("f:q", "2")]), Durability::Skip).unwrap();
        if split {
            // The memtable goes to two regions, and comes together again.
            let region = db.regions(skipped).unwrap()[0].id;
            db.split_region(skipped, region, Some(b"m")).unwrap();
            let regions = db.regions(skipped).unwrap();
            db.merge_regions(skipped, [regions[0].id, regions[1].id]).unwrap();
        }
        drop(skipped_table);
        db.close().unwrap();
        let db = open(&storage.power_loss()).unwrap();
        let found = rows(&db.snapshot(), skipped).unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["a", "m", "x"], "split: {split}");
        assert_eq!(rows(&db.snapshot(), logged).unwrap().len(), 2);
    }
}

#[test]
fn a_closed_database_is_closed_to_whoever_still_has_it() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    db.write(one(table, "a", &[("f:q", "1")]), Durability::Sync).unwrap();
    let mut load = db.ingest(table).unwrap();
    load.add(one(table, "b", &[("f:q", "2")])).unwrap();
    let other = db.clone();
    db.close().unwrap();
    let next = open(&storage).unwrap();
    let before = storage.files();
    assert!(matches!(load.finish(), Err(Error::Closed)));
    assert!(matches!(other.flush(None), Err(Error::Closed)));
    assert!(matches!(other.compact(None, true), Err(Error::Closed)));
    assert!(matches!(other.create_table(descriptor("U", &["f"])), Err(Error::Closed)));
    assert!(matches!(other.write(one(table, "c", &[("f:q", "3")]), Durability::Sync), Err(Error::Closed)));
    assert_eq!(storage.files(), before);
    assert_eq!(rows(&next.snapshot(), table).unwrap().len(), 1);
}

/// One thread writes, flushes, compacts and splits without end, another one closes the database beneath it and opens it again.
#[test]
fn who_opens_the_database_next_has_nothing_taken_away_by_those_who_had_it() {
    let storage = SimStorage::new(7);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    db.close().unwrap();
    let (mut acknowledged, refused) = (0, AtomicU64::new(0));
    for round in 0..60u64 {
        let db = open(&storage).unwrap();
        let found = rows(&db.snapshot(), table).unwrap().len() as u64;
        assert!(found >= acknowledged, "round {round}: {found} of {acknowledged} rows");
        let worker = db.clone();
        acknowledged = std::thread::scope(|scope| {
            let refused = &refused;
            let working = scope.spawn(move || {
                let mut written = acknowledged;
                loop {
                    let row = format!("{written:06}");
                    if worker.write(one(table, &row, &[("f:q", "x")]), Durability::Sync).is_err() {
                        return written;
                    }
                    written += 1;
                    let changed = match written % 4 {
                        0 => worker.compact(None, true),
                        1 => worker
                            .create_snapshot("s", &TableName::in_default("T"))
                            .and(worker.drop_snapshot("s")),
                        _ => worker.flush(None),
                    };
                    if changed.is_err() {
                        refused.fetch_add(1, Ordering::Relaxed);
                        return written;
                    }
                }
            });
            for _ in 0..round % 7 * 20 {
                std::thread::yield_now();
            }
            db.close().unwrap();
            // While the other one may still be at work.
            let next = open(&storage).unwrap();
            next.write(one(table, &format!("next {round:03}"), &[("f:q", "x")]), Durability::Sync).unwrap();
            next.flush(None).unwrap();
            next.compact(None, true).unwrap();
            let acknowledged = working.join().unwrap();
            let found = rows(&next.snapshot(), table).unwrap();
            assert!(found.contains_key(&format!("next {round:03}")));
            next.close().unwrap();
            acknowledged
        });
    }
    let db = open(&storage).unwrap();
    let found = rows(&db.snapshot(), table).unwrap();
    assert!((0..60).all(|round| found.contains_key(&format!("next {round:03}"))));
    assert!((0..acknowledged).all(|row| found.contains_key(&format!("{row:06}"))));
    assert!(refused.load(Ordering::Relaxed) > 0, "nobody was at work when the database was closed");
}

/// The directory of a family of a table, which has one region.
fn family_dir(root: &Path, table: &str) -> PathBuf {
    let mut dir = root.join("data").join("default").join(table);
    while let Some(inside) =
        std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir())
    {
        dir = inside;
    }
    dir
}

#[test]
fn a_region_that_cannot_be_flushed_keeps_no_other_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let options = OpenOptions { memory_bytes: 4 << 20, stall_ms_max: 30_000, ..OpenOptions::create() };
    let db = Database::open(dir.path(), options.clone()).unwrap();
    let stuck = db.create_table(descriptor("A", &["f"])).unwrap();
    let free = db.create_table(descriptor("B", &["f"])).unwrap();
    db.write(one(stuck, "a", &[("f:q", "1")]), Durability::Sync).unwrap();
    db.flush(None).unwrap();
    // A file where a directory was: no file can be made in it.
    let family = family_dir(dir.path(), "A");
    let aside = dir.path().join("data").join("aside");
    std::fs::rename(&family, &aside).unwrap();
    std::fs::write(&family, b"").unwrap();
    let value = "v".repeat(1_000);
    db.write(one(stuck, "b", &[("f:q", &value)]), Durability::Sync).unwrap();
    let fill = |table, rows: u64, from: &str| {
        let mut batch = WriteBatch::new();
        for row in 0..rows {
            put(&mut batch, table, &format!("{from}{row:05}"), &[("f:q", &value)]);
        }
        db.write(batch, Durability::Async).map(drop)
    };
    // As much as makes its memtable full, so that its flush is tried.
    fill(stuck, 600, "c").unwrap();
    for round in 0..40 {
        fill(free, 200, &format!("{round:02} ")).unwrap();
    }
    let metrics = db.metrics();
    assert!(metrics.upkeep_failures > 0 && db.stats(free).unwrap().files > 0, "{metrics:?}");
    std::fs::remove_file(&family).unwrap();
    std::fs::rename(&aside, &family).unwrap();
    db.flush(None).unwrap();
    assert_eq!((rows_of(&db, stuck), rows_of(&db, free)), (602, 8_000));
    db.close().unwrap();
    let db = Database::open(dir.path(), options).unwrap();
    assert_eq!((rows_of(&db, stuck), rows_of(&db, free)), (602, 8_000));
    assert_eq!(db.open_table(&TableName::in_default("A")).unwrap().get(&Get::new("b")).unwrap().len(), 1);
}

fn rows_of(db: &Database, table: TableId) -> usize {
    rows(&db.snapshot(), table).unwrap().len()
}
