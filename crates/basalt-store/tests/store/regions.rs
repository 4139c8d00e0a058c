// SPDX-License-Identifier: Apache-2.0
//! Splits and merges: nothing is rewritten, nobody waits, no row is lost or shown twice, whenever the power goes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use basalt_model::{Delete, Get, KeyRange, Put, Scan, TableId, TableName, WriteBatch};
use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_store::{Database, Durability, Env, Error, OpenOptions, RegionId, Result, check};

use crate::support::*;

/// A table with rows `row000` to `row099`, in one file.
fn hundred_rows(storage: &SimStorage) -> (Database, TableId) {
    let db = open(storage).unwrap();
    let mut descriptor = descriptor("T", &["f"]);
    descriptor.families[0].block_bytes = 200;
    let table = db.create_table(descriptor).unwrap();
    let mut batch = WriteBatch::new();
    for row in 0..100 {
        put(&mut batch, table, &format!("row{row:03}"), &[("f:x", &row.to_string())]);
    }
    db.write(batch, Durability::Sync).unwrap();
    db.flush(None).unwrap();
    (db, table)
}

fn ids(db: &Database, table: TableId) -> Vec<RegionId> {
    db.regions(table).unwrap().iter().map(|region| region.id).collect()
}

/// Where the regions of a table begin.
fn starts(db: &Database, table: TableId) -> Vec<String> {
    let start = |range: &KeyRange| String::from_utf8(range.start.to_vec()).unwrap();
    db.regions(table).unwrap().iter().map(|region| start(&region.range)).collect()
}

fn store_files(storage: &SimStorage) -> BTreeSet<PathBuf> {
    storage.files().into_iter().filter(|path| path.starts_with("/db/data")).collect()
}

fn sound(storage: &SimStorage) {
    let env = Env::with_storage(std::sync::Arc::new(storage.fork(1)));
    let done = check(Path::new(ROOT), &env, &mut |finding| panic!("{finding}")).unwrap();
    assert_eq!((done.damages, done.notes), (0, 0));
}

#[test]
fn a_truncated_region_is_empty_and_its_neighbours_are_as_they_were() {
    let storage = SimStorage::new(1);
    let (db, table) = hundred_rows(&storage);
    let [left, right] = db.split_region(table, ids(&db, table)[0], Some(b"row050")).unwrap();
    let mut batch = WriteBatch::new();
    put(&mut batch, table, "row070", &[("f:x", "in memory")]);
    db.write(batch, Durability::Sync).unwrap();
    let before = db.snapshot();
    let empty = db.truncate_region(table, right).unwrap();
    assert_eq!(ids(&db, table), [left, empty]);
    assert_eq!(starts(&db, table), ["", "row050"]);
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 50);
    assert_eq!(rows(&before, table).unwrap().len(), 100, "a snapshot does not move");
    let mut batch = WriteBatch::new();
    put(&mut batch, table, "row099", &[("f:x", "later")]);
    db.write(batch, Durability::Sync).unwrap();
    drop((before, db));
    let db = open(&storage).unwrap();
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 51);
    drop(db);
    sound(&storage);
}

#[test]
fn a_split_rewrites_nothing_and_compactions_clean_up_behind_it() {
    let storage = SimStorage::new(1);
    let (db, table) = hundred_rows(&storage);
    let before = rows(&db.snapshot(), table).unwrap();
    let files = store_files(&storage);
    let [parent] = ids(&db, table)[..] else { panic!("one region") };
    let daughters = db.split_region(table, parent, Some(b"row050")).unwrap();
    assert_eq!(ids(&db, table), daughters);
    assert_eq!(store_files(&storage), files);
    assert_eq!(rows(&db.snapshot(), table).unwrap(), before);
    let sizes: Vec<u64> = db.regions(table).unwrap().iter().map(|region| region.size_bytes).collect();
    assert!(sizes[0].abs_diff(sizes[1]) < sizes[0], "{sizes:?}");
    assert_eq!(db.snapshot().row_count(table).unwrap(), None);
    sound(&storage);

    let snapshot = db.snapshot();
    db.compact_region(table, daughters[0], true).unwrap();
    assert!(store_files(&storage).is_superset(&files), "the other daughter still needs the file");
    db.compact(Some(table), false).unwrap();
    assert!(store_files(&storage).is_superset(&files), "a snapshot still needs the file");
    assert_eq!(rows(&snapshot, table).unwrap(), before);
    drop(snapshot);
    assert!(store_files(&storage).is_disjoint(&files));
    assert_eq!(rows(&db.snapshot(), table).unwrap(), before);
    assert_eq!(db.snapshot().row_count(table).unwrap(), Some(100));
    sound(&storage);
    drop(db);
    let db = open(&storage.power_loss()).unwrap();
    assert_eq!(starts(&db, table), ["", "row050"]);
    assert_eq!(rows(&db.snapshot(), table).unwrap(), before);
}

#[test]
fn what_is_in_memory_and_in_the_log_goes_with_its_rows() {
    let storage = SimStorage::new(1);
    let (db, table) = hundred_rows(&storage);
    db.write(one(table, "row010", &[("f:y", "left")]), Durability::Sync).unwrap();
    db.write(one(table, "row090", &[("f:y", "right")]), Durability::Sync).unwrap();
    let [left, right] = db.split_region(table, ids(&db, table)[0], Some(b"row050")).unwrap();
    db.write(one(table, "row011", &[("f:y", "left")]), Durability::Sync).unwrap();
    db.write(one(table, "row091", &[("f:y", "right")]), Durability::Sync).unwrap();
    let expected = rows(&db.snapshot(), table).unwrap();
    db.flush_region(table, left).unwrap();
    let merged = db.merge_regions(table, [right, left]).unwrap();
    db.write(one(table, "row011", &[("f:z", "again")]), Durability::Sync).unwrap();
    assert_eq!(ids(&db, table), [merged]);
    drop(db);
    let db = open(&storage.power_loss()).unwrap();
    let mut found = rows(&db.snapshot(), table).unwrap();
    assert_eq!(found.get_mut("row011").unwrap().remove("f:z").as_deref(), Some("again"));
    assert_eq!(found, expected);
}

#[test]
fn halves_are_cut_by_the_index_and_a_wrong_row_is_refused() {
    let storage = SimStorage::new(1);
    let (db, table) = hundred_rows(&storage);
    let [left, _] = db.split_region(table, ids(&db, table)[0], None).unwrap();
    let middle = starts(&db, table)[1].clone();
    assert!(("row030".to_owned().."row070".to_owned()).contains(&middle), "{middle}");
    let refused = |at: &[u8]| db.split_region(table, left, Some(at)).unwrap_err().to_string();
    assert!(refused(b"row099").contains("cannot be split at row row099"), "{}", refused(b"row099"));
    assert!(refused(middle.as_bytes()).contains("cannot be split"));
    assert!(refused(b"").contains("row"));
    // A block of rows has a middle, too.
    let small = db.create_table(descriptor("SMALL", &["f"])).unwrap();
    (0..9)
        .for_each(|row| drop(db.write(one(small, &format!("row{row}"), &[("f:x", "1")]), Durability::Sync)));
    db.flush(None).unwrap();
    db.split_region(small, ids(&db, small)[0], None).unwrap();
    assert_eq!(starts(&db, small), ["", "row4"]);
    db.split_region(small, ids(&db, small)[1], None).unwrap();
    assert_eq!(starts(&db, small), ["", "row4", "row6"]);
    let empty = db.create_table(descriptor("EMPTY", &["f"])).unwrap();
    let error = db.split_region(empty, ids(&db, empty)[0], None).unwrap_err().to_string();
    assert!(error.contains("has no row at which it could be split"), "{error}");
    let error = db.split_region(empty, left, Some(b"a")).unwrap_err();
    assert!(matches!(error, Error::NoSuchRegion { .. }), "{error}");
}

#[test]
fn parts_of_a_file_become_one_again_unless_something_between_them_was_rewritten() {
    let storage = SimStorage::new(1);
    let (db, table) = hundred_rows(&storage);
    let before = rows(&db.snapshot(), table).unwrap();
    let files = store_files(&storage);
    let [left, right] = db.split_region(table, ids(&db, table)[0], Some(b"row030")).unwrap();
    let whole = db.merge_regions(table, [left, right]).unwrap();
    assert_eq!(store_files(&storage), files);
    assert_eq!(db.snapshot().row_count(table).unwrap(), Some(100), "the file counts wholly again");

    let [left, right] = db.split_region(table, whole, Some(b"row030")).unwrap();
    let [middle, right] = db.split_region(table, right, Some(b"row060")).unwrap();
    db.open_table(&TableName::in_default("T")).unwrap().delete(Delete::new("row045")).unwrap();
    db.flush(None).unwrap();
    db.compact_region(table, middle, true).unwrap();
    let joined = db.merge_regions(table, [middle, right]).unwrap();
    // Now the file has rows on both sides of those that were rewritten.
    db.merge_regions(table, [left, joined]).unwrap();
    let mut expected = before;
    expected.remove("row045");
    assert_eq!(rows(&db.snapshot(), table).unwrap(), expected);
    assert_eq!(db.regions(table).unwrap().len(), 1);
    sound(&storage);
    let error = db.merge_regions(table, [left, joined]).unwrap_err();
    assert!(matches!(error, Error::NoSuchRegion { .. }), "{error}");
}

#[test]
fn only_neighbours_are_merged() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let splits = ["b", "m"].map(|split| split.into());
    let table = db.create_table_split(descriptor("T", &["f"]), &splits).unwrap();
    let [first, _, third] = ids(&db, table)[..] else { panic!("three regions") };
    let error = db.merge_regions(table, [first, third]).unwrap_err().to_string();
    assert!(error.contains("must begin where the other ends"), "{error}");
    assert!(db.merge_regions(table, [first, first]).is_err());
}

/// Gets, scans both ways and partial scans over parts of files, in regions split and merged, beside files of their own.
#[test]
fn every_way_to_read_finds_the_rows_of_a_part_and_no_others() {
    for encoding in ["NONE", "FAST_DIFF", "COLUMNAR"] {
        let storage = SimStorage::new(1);
        let db = open(&storage).unwrap();
        let mut descriptor = descriptor("T", &["f"]);
        (descriptor.families[0].block_bytes, descriptor.families[0].encoding) = (300, encoding.to_owned());
        let table = db.create_table(descriptor).unwrap();
        let t = db.open_table(&TableName::in_default("T")).unwrap();
        for round in 0..3 {
            for row in (round..90).step_by(3) {
                t.put(Put::new(format!("row{row:03}")).add("f", "x", format!("{round}"))).unwrap();
            }
            db.flush(None).unwrap();
        }
        let [left, right] = db.split_region(table, ids(&db, table)[0], Some(b"row030")).unwrap();
        let [middle, right] = db.split_region(table, right, Some(b"row060")).unwrap();
        for row in 30..60 {
            t.put(Put::new(format!("row{row:03}")).add("f", "x", "new")).unwrap();
        }
        db.compact_region(table, middle, true).unwrap();
        let middle = db.merge_regions(table, [middle, right]).unwrap();
        for stage in 0..2 {
            let value =
                |row: usize| if (30..60).contains(&row) { "new".to_owned() } else { (row % 3).to_string() };
            for row in 0..90 {
                let found = t.get(&Get::new(format!("row{row:03}"))).unwrap();
                let found = found.value(b"f", b"x").map(|value| String::from_utf8(value.to_vec()).unwrap());
                assert_eq!(found, Some(value(row)), "{encoding} {stage} {row}");
            }
            for (from, to) in [(0, 90), (10, 31), (29, 61), (58, 90), (61, 62), (30, 60)] {
                let scan = Scan::new().start(format!("row{from:03}")).stop(format!("row{to:03}"));
                let back =
                    Scan::new().start(format!("row{:03}", to - 1)).stop_inclusive(format!("row{from:03}"));
                let keys = |scan: &Scan| -> Vec<String> {
                    let rows = t.scan(scan).unwrap().map(|row| row.unwrap());
                    rows.map(|row| String::from_utf8(row.key().to_vec()).unwrap()).collect()
                };
                let mut expected: Vec<String> = (from..to).map(|row| format!("row{row:03}")).collect();
                assert_eq!(keys(&scan), expected, "{encoding} {stage} {from} to {to}");
                expected.reverse();
                assert_eq!(keys(&back.reversed()), expected, "{encoding} {stage} {to} back to {from}");
            }
            assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 90);
            if stage == 0 {
                db.merge_regions(table, [left, middle]).unwrap();
            }
        }
    }
}

#[test]
fn a_bulk_load_goes_to_all_regions_also_to_those_that_a_split_makes_meanwhile() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let splits = ["row030", "row060"].map(|split| split.into());
    let table = db.create_table_split(descriptor("T", &["f"]), &splits).unwrap();
    let mut load = db.ingest(table).unwrap();
    let mut batch = WriteBatch::new();
    for row in 0..100 {
        put(&mut batch, table, &format!("row{row:03}"), &[("f:x", &row.to_string())]);
    }
    load.add(batch).unwrap();
    db.split_region(table, ids(&db, table)[2], Some(b"row080")).unwrap();
    let done = load.finish().unwrap();
    assert_eq!(done.files, 3, "cut where regions began when the load did");
    let files =
        |db: &Database| db.regions(table).unwrap().iter().map(|region| region.files).collect::<Vec<_>>();
    assert_eq!(files(&db), [1, 1, 1, 1]);
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 100);
    sound(&storage);
    db.close().unwrap();
    let db = open(&storage).unwrap();
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 100);
    db.drop_table(&TableName::in_default("T")).unwrap();
    assert!(store_files(&storage).is_empty());
}

#[test]
fn a_region_that_grows_too_large_is_split() {
    let dir = tempfile::tempdir().unwrap();
    let db =
        Database::open(dir.path(), OpenOptions { memtable_bytes: Some(32 << 10), ..OpenOptions::create() })
            .unwrap();
    let mut large = descriptor("T", &["f"]);
    large.attributes.insert("MAX_FILESIZE".into(), "100000".into());
    large.families = vec![basalt_model::FamilyDescriptor::of_hbase("f")];
    let table = db.create_table(large).unwrap();
    let value = "v".repeat(100);
    for number in 0..5_000_u32 {
        let row = format!("{:08x}", number.wrapping_mul(0x9e37_79b9));
        db.write(one(table, &row, &[("f:x", &value)]), Durability::Async).unwrap();
    }
    let clock = Env::local().clock;
    let deadline = clock.monotonic() + std::time::Duration::from_secs(60);
    while db.regions(table).unwrap().len() < 4 && clock.monotonic() < deadline {
        db.flush(None).unwrap();
        std::thread::yield_now();
    }
    let regions = db.regions(table).unwrap();
    assert!(regions.len() >= 4, "{regions:?}");
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 5_000);
}

/// Writers, scans and gets go on while regions are split and merged without pause.
#[test]
fn no_scan_misses_or_repeats_a_row_while_regions_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let options = OpenOptions { memtable_bytes: Some(64 << 10), ..OpenOptions::create() };
    let db = &Database::open(dir.path(), options).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let batch = |number: u64| {
        let mut batch = WriteBatch::new();
        for row in 0..200 {
            put(&mut batch, table, &format!("{row:03}"), &[("f:x", &number.to_string())]);
        }
        batch
    };
    db.write(batch(0), Durability::Sync).unwrap();
    let done = &AtomicBool::new(false);
    let check_rows = |db: &Database| {
        let found = rows(&db.snapshot(), table).unwrap();
        assert_eq!(found.len(), 200);
        let values: BTreeSet<_> = found.values().map(|columns| &columns["f:x"]).collect();
        assert_eq!(values.len(), 1, "a batch is seen in part");
    };
    let (scans, changes) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                check_rows(db);
                scans.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            for turn in 0.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                let regions = db.regions(table).unwrap();
                let at = turn % regions.len();
                let row = format!("{:03}", turn * 67 % 200);
                let changed = if regions.len() > 5 {
                    db.merge_regions(table, [regions[at].id, regions[(at + 1) % regions.len()].id]).is_ok()
                } else {
                    db.split_region(table, regions[at].id, Some(row.as_bytes())).is_ok()
                };
                changes.fetch_add(usize::from(changed), Ordering::Relaxed);
            }
        });
        let seen = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        for number in 1.. {
            db.write(batch(number), Durability::Async).unwrap();
            if number >= 300 && seen(scans) >= 20 && seen(changes) >= 20 {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    check_rows(db);
    report(format_args!("{scans:?} scans, {changes:?} changes of regions"));
    db.compact(None, true).unwrap();
    check_rows(db);
}

/// Splits, merges, snapshots and a restore between writes, up to the first error.
fn until_dead(storage: &SimStorage, table: TableId) -> (usize, Result<()>) {
    let mut acknowledged = 0;
    let run = (|| {
        let db = open(storage)?;
        let name = TableName::in_default("T");
        let mut write = |db: &Database, table| -> Result<()> {
            let row = format!("new{acknowledged:02}");
            db.write(one(table, &row, &[("f:x", "1")]), Durability::Sync)?;
            acknowledged += 1;
            Ok(())
        };
        write(&db, table)?;
        let [left, right] = db.split_region(table, ids(&db, table)[0], Some(b"row050"))?;
        write(&db, table)?;
        db.create_snapshot("s", &name)?;
        db.compact_region(table, left, true)?;
        write(&db, table)?;
        let whole = db.merge_regions(table, [left, right])?;
        db.compact(None, true)?;
        write(&db, table)?;
        db.split_region(table, whole, Some(b"row020"))?;
        db.clone_snapshot("s", &TableName::in_default("COPY"))?;
        db.drop_snapshot("s")?;
        write(&db, table)?;
        db.drop_table(&TableName::in_default("COPY"))?;
        db.close()
    })();
    (acknowledged, run)
}

#[test]
fn power_may_go_at_any_call_of_a_split_a_merge_or_a_snapshot() {
    let mut at = 1;
    loop {
        let storage = SimStorage::new(at);
        let (db, table) = hundred_rows(&storage);
        db.close().unwrap();
        storage.set_faults(Some(FaultPlan { at, calls: u64::MAX, fault: Fault::Io }));
        let before = storage.injected();
        let (acknowledged, outcome) = until_dead(&storage, table);
        if storage.injected() == before {
            outcome.unwrap();
            break;
        }
        let storage = storage.power_loss();
        let db = open(&storage).unwrap_or_else(|error| panic!("power lost at call {at}: {error}"));
        let found = rows(&db.snapshot(), table).unwrap();
        let new = found.keys().filter(|row| row.starts_with("new")).count();
        assert_eq!(found.len() - new, 100, "power lost at call {at}");
        // The one on its way may have come through.
        assert!(
            new == acknowledged || new == acknowledged + 1,
            "power lost at call {at}: {new} of {acknowledged}"
        );
        for name in ["s"].into_iter().filter(|name| db.snapshots().iter().any(|known| known.name == **name)) {
            let copy = db.clone_snapshot(name, &TableName::in_default("AGAIN")).unwrap();
            assert!(rows(&db.snapshot(), copy).unwrap().len() >= 102, "power lost at call {at}");
        }
        let regions = db.regions(table).unwrap();
        if let [left, right] = &regions[..] {
            db.merge_regions(table, [left.id, right.id]).unwrap();
        } else {
            db.split_region(table, regions[0].id, Some(b"row077")).unwrap();
        }
        assert_eq!(rows(&db.snapshot(), table).unwrap(), found);
        db.close().unwrap();
        sound(&storage);
        at += 1;
    }
    assert!(at > 100, "the operations make {at} calls");
    report(format_args!("{} power losses", at - 1));
}
