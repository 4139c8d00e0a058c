// SPDX-License-Identifier: Apache-2.0
//! Several compactions at once, on a real file system: of families that are altered, split and dropped meanwhile, and beside one that cannot be compacted.

#![allow(clippy::disallowed_methods, reason = "a file is damaged behind the back of the database")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use basalt_model::{FamilyDescriptor, TableId, TableName, WriteBatch};
use basalt_store::{Database, Durability, Env, Error, OpenOptions};

use crate::support::*;

/// So much that several compactions run at once.
const MEMORY_BYTES: u64 = 256 << 20;
const LONG_ENOUGH: Duration = Duration::from_secs(60);

fn options() -> OpenOptions {
    OpenOptions {
        memory_bytes: MEMORY_BYTES,
        memtable_bytes: Some(64 << 10),
        wal_segment_bytes: 64 << 10,
        ..OpenOptions::create()
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let clock = Env::local().clock;
    let deadline = clock.monotonic() + LONG_ENOUGH;
    while !is_so() {
        assert!(clock.monotonic() < deadline, "{what}");
        clock.sleep(Duration::from_millis(5));
    }
}

/// Files that overlap: each has all rows.
fn overlapping(db: &Database, table: TableId, files: usize) {
    for file in 0..files {
        let mut batch = WriteBatch::new();
        (0..50)
            .for_each(|row| put(&mut batch, table, &format!("row{row:02}"), &[("f:x", &file.to_string())]));
        db.write(batch, Durability::Sync).unwrap();
        db.flush(Some(table)).unwrap();
    }
}

#[test]
fn a_family_that_cannot_be_compacted_keeps_no_other_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    db.set_upkeep_compactions(false);
    let tables = ["A", "B", "C"].map(|name| {
        let mut descriptor = descriptor(name, &["f"]);
        descriptor.families = vec![FamilyDescriptor::of_hbase("f")];
        let table = db.create_table(descriptor).unwrap();
        overlapping(&db, table, 16);
        table
    });
    // A and B each have a file that rots while nobody looks.
    for name in ["A", "B"] {
        let path = file_of(&dir.path().join("data"), &format!("/{name}/")).expect("the table has files");
        let mut bytes = fs::read(&path).unwrap();
        bytes[100] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    db.set_upkeep_compactions(true);
    until("C is compacted", || db.stats(tables[2]).unwrap().files < 8);
    until("both failures are counted", || db.metrics().upkeep_failures >= 2);
    // They are left alone for a while, and slow nobody down who writes to C.
    assert!(db.metrics().upkeep_failures <= 4, "{:?}", db.metrics());
    assert_eq!([tables[0], tables[1]].map(|table| db.stats(table).unwrap().files), [16, 16]);
    until("their depth does not count", || db.metrics().depth < 8);
    // Who asks hears of it, after all others were compacted.
    overlapping(&db, tables[2], 2);
    assert!(matches!(db.compact(None, true), Err(Error::Corrupt(_))));
    assert_eq!(db.stats(tables[2]).unwrap().files, 1);
    assert_eq!(rows(&db.snapshot(), tables[2]).unwrap().len(), 50);
    report(format_args!("2 files damaged, {} compactions failed", db.metrics().upkeep_failures));
}

#[test]
fn a_region_that_cannot_be_split_keeps_no_ttl_and_no_other_split_from_taking_place() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let [damaged, other] = ["A", "B"].map(|name| {
        let mut descriptor = descriptor(name, &["f"]);
        descriptor.families =
            vec![FamilyDescriptor { block_bytes: 1_024, ..FamilyDescriptor::of_hbase("f") }];
        descriptor.attributes.insert("SPLIT_ENABLED".to_owned(), "false".to_owned());
        descriptor.attributes.insert("MAX_FILESIZE".to_owned(), "20000".to_owned());
        let table = db.create_table(descriptor).unwrap();
        let mut batch = WriteBatch::new();
        (0..2_000).for_each(|row| put(&mut batch, table, &format!("row{row:04}"), &[("f:x", "some bytes")]));
        db.write(batch, Durability::Sync).unwrap();
        db.flush(Some(table)).unwrap();
        table
    });
    let path = file_of(&dir.path().join("data"), "/A/").expect("the table has a file");
    let mut bytes = fs::read(&path).unwrap();
    let data = bytes.len() / 2;
    bytes[..data].iter_mut().skip(100).step_by(500).for_each(|byte| *byte ^= 1);
    fs::write(&path, bytes).unwrap();
    let mut brief = descriptor("C", &["f"]);
    brief.families[0].ttl_secs = Some(1);
    let brief = db.create_table(brief).unwrap();
    for table in [damaged, other] {
        let mut descriptor = (*db.table_by_id(table).unwrap()).clone();
        descriptor.attributes.insert("SPLIT_ENABLED".to_owned(), "true".to_owned());
        db.alter_table(table, descriptor).unwrap();
    }
    let mut batch = WriteBatch::new();
    put(&mut batch, brief, "row", &[("f:x", "1")]);
    db.write(batch, Durability::Sync).unwrap();
    db.flush(Some(brief)).unwrap();
    until("what is past its TTL is gone", || db.stats(brief).unwrap().cells == 0);
    until("B is split", || db.regions(other).unwrap().len() > 1);
    assert!((1..=3).contains(&db.metrics().upkeep_failures), "{:?}", db.metrics());
    assert_eq!(db.regions(damaged).unwrap().len(), 1);
}

/// A store file below a directory whose path has `part`.
fn file_of(directory: &Path, part: &str) -> Option<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).find_map(|path| match path.is_dir() {
        true => file_of(&path, part),
        false => path.to_str().unwrap().contains(part).then_some(path),
    })
}

const TABLES: usize = 3;
const ROUNDS: u64 = 60;

/// Row `n` of a table has its number of writes in both of its columns, or is not there.
fn write_round(db: &Database, tables: &[TableId], round: u64) {
    let mut batch = WriteBatch::new();
    for &table in tables {
        for row in 0..40 {
            let value = format!("{round} {:060}", row);
            put(&mut batch, table, &format!("row{row:02}"), &[("f:x", &value), ("g:x", &value)]);
        }
    }
    db.write(batch, Durability::Async).unwrap();
}

fn check_rounds(db: &Database, tables: &[TableId]) {
    let snapshot = db.snapshot();
    let mut seen = Vec::new();
    for &table in tables {
        let rows = rows(&snapshot, table).unwrap();
        assert_eq!(rows.len(), 40);
        for columns in rows.values() {
            assert_eq!(columns["f:x"], columns["g:x"]);
            seen.push(columns["f:x"].split(' ').next().unwrap().to_owned());
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "all rows of all tables are of one round");
}

#[test]
fn compactions_of_all_kinds_at_once_disturb_neither_readers_nor_changes_of_tables() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let tables: Vec<TableId> = (0..TABLES)
        .map(|number| db.create_table(descriptor(&format!("T{number}"), &["f", "g"])).unwrap())
        .collect();
    write_round(&db, &tables, 0);
    let (done, most, asked) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (db, tables, done) = (&db, &tables, &done);
        let mut others = Vec::new();
        others.push(scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let running = db.running().iter().filter(|running| running.family.is_some()).count();
                most.fetch_max(running as u64, Ordering::Relaxed);
                check_rounds(db, tables);
            }
        }));
        for &table in tables {
            let asked = &asked;
            others.push(scope.spawn(move || {
                let mut major = false;
                while !done.load(Ordering::Acquire) {
                    db.compact(Some(table), major).unwrap();
                    asked.fetch_add(1, Ordering::Relaxed);
                    major = !major;
                }
            }));
        }
        // Regions of one table come and go, and so do a family of another one and a whole table.
        others.push(scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                match &db.regions(tables[0]).unwrap()[..] {
                    [only] => drop(db.split_region(tables[0], only.id, Some(b"row20")).unwrap()),
                    [first, second, ..] => drop(db.merge_regions(tables[0], [first.id, second.id]).unwrap()),
                    [] => unreachable!("a table has a region"),
                }
            }
        }));
        others.push(scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let before = db.table_by_id(tables[1]).unwrap();
                let with = (*before).clone().family(FamilyDescriptor::new("h"));
                db.alter_table(tables[1], with).unwrap();
                db.write(one(tables[1], "row00", &[("h:y", "short-lived")]), Durability::Async).unwrap();
                db.flush(Some(tables[1])).unwrap();
                db.alter_table(tables[1], (*before).clone()).unwrap();
                let passing = db.create_table(descriptor("PASSING", &["f"])).unwrap();
                overlapping(db, passing, 3);
                db.drop_table(&TableName::in_default("PASSING")).unwrap();
            }
        }));
        for round in 1..=ROUNDS {
            write_round(db, tables, round);
            if round % 4 == 0 {
                db.flush(None).unwrap();
            }
        }
        done.store(true, Ordering::Release);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    check_rounds(&db, &tables);
    let metrics = db.metrics();
    assert_eq!(metrics.upkeep_failures, 0, "{metrics:?}");
    assert!(most.load(Ordering::Relaxed) >= 2, "never two at once: {metrics:?}");
    assert!(asked.load(Ordering::Relaxed) > 10, "{asked:?} asked for");
    // Some are under way, and somebody waits, when the database closes.
    std::thread::scope(|scope| {
        let asking: Vec<_> = tables
            .iter()
            .map(|&table| {
                let db = db.clone();
                scope.spawn(move || {
                    loop {
                        match db.compact(Some(table), true) {
                            Ok(()) => {}
                            Err(Error::Closed) => return,
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        db.close().unwrap();
        asking.into_iter().for_each(|asking| asking.join().unwrap());
    });
    let db = Database::open(dir.path(), options()).unwrap();
    check_rounds(&db, &tables);
}
