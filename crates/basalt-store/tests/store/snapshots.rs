// SPDX-License-Identifier: Apache-2.0
//! Snapshots of tables: what they keep, for how long, and how they travel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_model::{Get, Put, TableId, TableName};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Durability, Env, Error, check};

use crate::support::*;

fn name(name: &str) -> TableName {
    TableName::in_default(name)
}

fn data_files(storage: &SimStorage) -> usize {
    storage.files().iter().filter(|path| path.starts_with("/db/data")).count()
}

fn write(db: &Database, table: TableId, rows: std::ops::Range<u32>, value: &str) {
    for row in rows {
        db.write(one(table, &format!("row{row:02}"), &[("f:x", value)]), Durability::Async).unwrap();
    }
}

fn table_with_rows(storage: &SimStorage) -> (Database, TableId) {
    let db = open(storage).unwrap();
    let table = db.create_table_split(descriptor("T", &["f"]), &["row05".into()]).unwrap();
    write(&db, table, 0..10, "old");
    (db, table)
}

#[test]
fn a_snapshot_keeps_a_table_as_it_was_and_can_be_cloned_and_restored() {
    let storage = SimStorage::new(1);
    let (db, table) = table_with_rows(&storage);
    let before = rows(&db.snapshot(), table).unwrap();
    db.create_snapshot("monday", &name("T")).unwrap();
    write(&db, table, 5..20, "new");
    db.compact(None, true).unwrap();

    let copy = db.clone_snapshot("monday", &name("COPY")).unwrap();
    assert_eq!(rows(&db.snapshot(), copy).unwrap(), before);
    assert_eq!(db.regions(copy).unwrap().len(), 2);
    write(&db, copy, 0..1, "of the copy");
    assert_ne!(rows(&db.snapshot(), copy).unwrap(), before);

    let changed = rows(&db.snapshot(), table).unwrap();
    assert_eq!(changed.len(), 20);
    let seen = db.snapshot();
    let restored = db.restore_snapshot("monday").unwrap();
    assert_ne!(restored, table);
    assert_eq!(rows(&db.snapshot(), restored).unwrap(), before);
    assert_eq!(rows(&seen, table).unwrap(), changed, "a reader keeps what it sees");
    assert!(matches!(db.table_by_id(table), Err(Error::NoSuchTable { .. })));
    let listed = &db.snapshots()[0];
    assert_eq!((&listed.name[..], &listed.table, listed.regions, listed.files), ("monday", &name("T"), 2, 2));
    drop((seen, db));

    let db = open(&storage.power_loss()).unwrap();
    assert_eq!(rows(&db.snapshot(), restored).unwrap(), before);
    assert_eq!(rows(&db.snapshot(), copy).unwrap()["row00"]["f:x"], "of the copy");
    db.drop_table(&name("T")).unwrap();
    let again = db.restore_snapshot("monday").unwrap();
    assert_eq!(rows(&db.snapshot(), again).unwrap(), before, "a table that was dropped is there again");
}

#[test]
fn files_go_when_the_last_one_who_needs_them_lets_go() {
    let storage = SimStorage::new(1);
    let (db, table) = table_with_rows(&storage);
    db.create_snapshot("s", &name("T")).unwrap();
    assert_eq!(data_files(&storage), 2);
    let copy = db.clone_snapshot("s", &name("COPY")).unwrap();
    assert_eq!(data_files(&storage), 2, "nothing is copied");
    db.drop_table(&name("T")).unwrap();
    assert_eq!(data_files(&storage), 2);
    db.drop_snapshot("s").unwrap();
    assert_eq!(data_files(&storage), 2, "the copy needs them");
    let seen = db.snapshot();
    db.drop_table(&name("COPY")).unwrap();
    assert_eq!(data_files(&storage), 2, "a reader needs them");
    assert_eq!(rows(&seen, copy).unwrap().len(), 10);
    drop(seen);
    assert_eq!(data_files(&storage), 0);

    let table = db.create_table(descriptor("T", &["f"])).unwrap_or(table);
    write(&db, table, 0..10, "x");
    db.create_snapshot("s", &name("T")).unwrap();
    db.drop_table(&name("T")).unwrap();
    db.close().unwrap();
    let db = open(&storage).unwrap();
    assert_eq!(data_files(&storage), 1, "an opening keeps what only a snapshot names");
    db.drop_snapshot("s").unwrap();
    assert_eq!(data_files(&storage), 0);
}

#[test]
fn a_clone_of_a_split_table_shares_its_parts() {
    let storage = SimStorage::new(1);
    let (db, table) = table_with_rows(&storage);
    db.flush(None).unwrap();
    let left = db.regions(table).unwrap()[0].id;
    db.split_region(table, left, Some(b"row03")).unwrap();
    let before = rows(&db.snapshot(), table).unwrap();
    db.create_snapshot("s", &name("T")).unwrap();
    let copy = db.clone_snapshot("s", &name("COPY")).unwrap();
    db.compact(Some(table), true).unwrap();
    db.drop_snapshot("s").unwrap();
    assert_eq!(rows(&db.snapshot(), copy).unwrap(), before);
    db.compact(Some(copy), true).unwrap();
    assert_eq!(rows(&db.snapshot(), copy).unwrap(), before);
    assert_eq!(data_files(&storage), 6);
}

#[test]
fn mistakes_are_refused_by_name() {
    let storage = SimStorage::new(1);
    let (db, _) = table_with_rows(&storage);
    db.create_snapshot("s", &name("T")).unwrap();
    assert!(matches!(db.create_snapshot("s", &name("T")), Err(Error::SnapshotExists { .. })));
    assert!(matches!(db.create_snapshot("u", &name("NONE")), Err(Error::NoSuchTable { .. })));
    for wrong in ["", "a/b", "-a", ".a", "ä", &"x".repeat(201)] {
        assert!(matches!(db.create_snapshot(wrong, &name("T")), Err(Error::Invalid(_))), "{wrong:?}");
    }
    assert!(matches!(db.clone_snapshot("s", &name("T")), Err(Error::TableExists { .. })));
    assert!(matches!(db.clone_snapshot("u", &name("U")), Err(Error::NoSuchSnapshot { .. })));
    assert!(matches!(db.restore_snapshot("u"), Err(Error::NoSuchSnapshot { .. })));
    assert!(matches!(db.drop_snapshot("u"), Err(Error::NoSuchSnapshot { .. })));
    assert!(matches!(db.export_snapshot("u", Path::new("/out")), Err(Error::NoSuchSnapshot { .. })));
    assert_eq!(db.snapshots().len(), 1);
}

#[test]
fn a_snapshot_travels_to_another_database() {
    let storage = SimStorage::new(1);
    let (db, table) = table_with_rows(&storage);
    // Many commits, so that the numbers of the files are above those of the other database.
    (0..50).for_each(|_| write(&db, table, 0..1, "old"));
    db.flush(None).unwrap();
    let [left, _] = db.split_region(table, db.regions(table).unwrap()[0].id, Some(b"row02")).unwrap();
    db.compact_region(table, left, true).unwrap();
    write(&db, table, 9..10, "newest");
    db.create_snapshot("s", &name("T")).unwrap();
    let before = rows(&db.snapshot(), table).unwrap();
    let out = PathBuf::from("/out");
    db.export_snapshot("s", &out).unwrap();
    assert!(matches!(db.export_snapshot("s", &out), Err(Error::Invalid(_))), "not into a directory in use");

    let options = basalt_store::OpenOptions { background: false, ..options(&storage) };
    let other = Database::open(Path::new("/other"), options).unwrap();
    assert_eq!(other.import_snapshot(&out, None).unwrap(), "s");
    assert!(matches!(other.import_snapshot(&out, None), Err(Error::SnapshotExists { .. })));
    other.import_snapshot(&out, Some("t")).unwrap();
    let copy = other.clone_snapshot("s", &name("C")).unwrap();
    assert_eq!(rows(&other.snapshot(), copy).unwrap(), before);
    write(&other, copy, 0..1, "over it");
    let t = other.open_table(&name("C")).unwrap();
    assert_eq!(t.get(&Get::new("row00")).unwrap().value(b"f", b"x"), Some(&b"over it"[..]));
    t.put(Put::new("row09").add_at("f", "x", 1, "older")).unwrap();
    assert_eq!(t.get(&Get::new("row09")).unwrap().value(b"f", b"x"), Some(&b"newest"[..]));
    other.drop_snapshot("s").unwrap();
    other.close().unwrap();
    let env = Env::with_storage(Arc::new(storage.clone()));
    let done = check(Path::new("/other"), &env, &mut |finding| panic!("{finding}")).unwrap();
    assert_eq!((done.snapshots, done.tables), (1, 1));
}

#[test]
fn a_damaged_export_is_not_taken_in() {
    let storage = SimStorage::new(1);
    let (db, _) = table_with_rows(&storage);
    db.create_snapshot("s", &name("T")).unwrap();
    db.export_snapshot("s", Path::new("/out")).unwrap();
    let files: Vec<PathBuf> = storage.files().into_iter().filter(|path| path.starts_with("/out")).collect();
    assert_eq!(files.len(), 3);
    let (before, table) = (storage.files(), db.table(&name("T")).unwrap().0);
    let expected = rows(&db.snapshot(), table).unwrap();
    let (mut flipped, mut refused) = (0, 0);
    for path in files {
        let bytes = storage.read(&path).unwrap();
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            storage.overwrite(&path, damaged).unwrap();
            flipped += 1;
            // A change of what says the same, such as the case of a digit, does no harm.
            if db.import_snapshot(Path::new("/out"), Some("again")).is_ok() {
                let copy = db.clone_snapshot("again", &name("COPY")).unwrap();
                assert_eq!(rows(&db.snapshot(), copy).unwrap(), expected, "{} at {at}", path.display());
                db.drop_table(&name("COPY")).unwrap();
                db.drop_snapshot("again").unwrap();
            } else {
                refused += 1;
            }
        }
        storage.overwrite(&path, bytes).unwrap();
    }
    report(format_args!("{flipped} bits of an export flipped, {refused} imports refused"));
    assert!(refused > flipped / 2, "{refused} of {flipped} refused");
    let left: Vec<_> = storage.files().into_iter().filter(|path| path.starts_with("/db/data")).collect();
    let known: Vec<_> = before.into_iter().filter(|path| path.starts_with("/db/data")).collect();
    assert_eq!(left, known, "nothing of a refused import stays");
}
