// SPDX-License-Identifier: Apache-2.0
use std::path::Path;

use basalt_model::{Get, KeyRange, Put, ROW_LEN_MAX, Scan, TableId, TableName, WriteBatch};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Durability, Error, OpenOptions, Table};

use crate::support::*;

fn all(db: &Database, table: TableId) -> Vec<String> {
    show(&rows(&db.snapshot(), table).unwrap())
}

#[test]
fn what_was_written_is_read_before_and_after_flush_and_reopening() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f", "g"])).unwrap();
    db.write(one(table, "b", &[("f:x", "1"), ("g:y", "2")]), Durability::Sync).unwrap();
    db.write(one(table, "a", &[("f:x", "3")]), Durability::Sync).unwrap();
    let expected = ["a f:x=3", "b f:x=1 g:y=2"];
    assert_eq!(all(&db, table), expected);
    db.flush(None).unwrap();
    assert_eq!(all(&db, table), expected);
    assert_eq!(db.stats(table).unwrap().files, 2);
    db.write(one(table, "b", &[("g:y", "4")]), Durability::Sync).unwrap();
    let expected = ["a f:x=3", "b f:x=1 g:y=4"];
    assert_eq!(all(&db, table), expected);
    db.close().unwrap();
    let db = open(&storage).unwrap();
    assert_eq!(db.table(&TableName::in_default("T")).unwrap().0, table);
    assert_eq!(all(&db, table), expected);
}

#[test]
fn a_snapshot_does_not_change_whatever_happens() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    db.write(one(table, "a", &[("f:x", "1")]), Durability::Sync).unwrap();
    let snapshot = db.snapshot();
    db.write(one(table, "a", &[("f:x", "2")]), Durability::Sync).unwrap();
    db.flush(None).unwrap();
    db.write(one(table, "b", &[("f:x", "3")]), Durability::Sync).unwrap();
    assert_eq!(show(&rows(&snapshot, table).unwrap()), ["a f:x=1"]);
    db.drop_table(&TableName::in_default("T")).unwrap();
    assert_eq!(show(&rows(&snapshot, table).unwrap()), ["a f:x=1"]);
    assert!(matches!(db.snapshot().get_row(table, b"a"), Err(Error::NoSuchTable { .. })));
}

#[test]
fn files_of_a_dropped_table_go_with_the_last_snapshot() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    db.write(one(table, "a", &[("f:x", "1")]), Durability::Sync).unwrap();
    db.flush(None).unwrap();
    let data_files = || storage.files().iter().filter(|path| path.starts_with("/db/data")).count();
    let snapshot = db.snapshot();
    db.drop_table(&TableName::in_default("T")).unwrap();
    assert_eq!(data_files(), 1);
    drop(snapshot);
    assert_eq!(data_files(), 0);
}

#[test]
fn a_batch_is_applied_in_its_own_order() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let mut batch = WriteBatch::new();
    for value in ["1", "2", "3"] {
        put(&mut batch, table, "a", &[("f:x", value)]);
    }
    db.write(batch, Durability::Sync).unwrap();
    assert_eq!(all(&db, table), ["a f:x=3"]);
    drop(db);
    let db = open(&storage).unwrap();
    assert_eq!(all(&db, table), ["a f:x=3"]);
    db.flush(None).unwrap();
    assert_eq!(all(&db, table), ["a f:x=3"]);
}

#[test]
fn the_log_goes_once_everything_is_flushed() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let other = db.create_table(descriptor("U", &["f"])).unwrap();
    db.write(one(table, "a", &[("f:x", "1")]), Durability::Sync).unwrap();
    db.write(one(other, "a", &[("f:x", "1")]), Durability::Sync).unwrap();
    let segments = || storage.files().iter().filter(|path| path.starts_with("/db/wal")).count();
    db.flush(Some(table)).unwrap();
    assert_eq!(segments(), 1, "the other table still needs it");
    db.flush(None).unwrap();
    assert_eq!(segments(), 0);
    drop(db);
    let db = open(&storage).unwrap();
    assert_eq!(all(&db, table), ["a f:x=1"]);
    db.write(one(table, "b", &[("f:x", "2")]), Durability::Sync).unwrap();
    drop(db);
    assert_eq!(all(&open(&storage).unwrap(), table), ["a f:x=1", "b f:x=2"]);
}

#[test]
fn update_sees_the_row_and_nothing_comes_between() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let count_up = || {
        let change = |cells: &[basalt_hfile::CellRun]| {
            let value = cells.first().map_or(0, |run| {
                let cell = run.block.cell(run.cells.start);
                std::str::from_utf8(cell.value).unwrap().parse::<u64>().unwrap()
            });
            Ok(Some(one(table, "n", &[("f:x", &(value + 1).to_string())])))
        };
        db.update(table, b"n", Durability::Sync, change).unwrap();
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| count_up()));
        }
    });
    assert_eq!(all(&db, table), ["n f:x=200"]);
    let none = db.update(table, b"n", Durability::Sync, |_| Ok(None)).unwrap();
    assert_eq!(none, None);
}

#[test]
fn concurrent_writers_share_syncs_and_lose_nothing() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let db = &db;
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                for i in 0..100 {
                    let row = format!("{writer}-{i:03}");
                    db.write(one(table, &row, &[("f:x", "v")]), Durability::Sync).unwrap();
                    let found = db.snapshot().get_row(table, row.as_bytes()).unwrap();
                    assert!(!found.is_empty(), "an acknowledged write is visible to its writer");
                }
            });
        }
    });
    let db = open(&storage.power_loss()).unwrap();
    assert_eq!(all(&db, table).len(), 800);
}

#[test]
fn mistakes_are_named_and_change_nothing() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let seq = db.snapshot().seq();
    let mut batch = one(table, "a", &[("f:x", "1")]);
    put(&mut batch, table, "b", &[("z:x", "1")]);
    let error = db.write(batch, Durability::Sync).unwrap_err();
    assert_eq!(error.to_string(), "table T has no column family \"z\"");
    let error = db.write(one(TableId(99), "a", &[("f:x", "1")]), Durability::Sync).unwrap_err();
    assert!(matches!(error, Error::NoSuchTable { .. }), "{error}");
    let error = db.create_table(descriptor("T", &["f"])).unwrap_err();
    assert_eq!(error.to_string(), "table T exists already");
    let error = db.create_table(descriptor("U", &["g", "f"])).unwrap_err();
    assert!(error.to_string().contains("sorted"), "{error}");
    let mut wrong = descriptor("U", &["f"]);
    wrong.families[0].compression = "RAR".into();
    let error = db.create_table(wrong).unwrap_err();
    assert!(error.to_string().contains("RAR"), "{error}");
    assert_eq!((db.snapshot().seq(), all(&db, table)), (seq, vec![]));
}

#[test]
fn a_directory_that_is_no_database_is_left_alone() {
    let storage = SimStorage::new(1);
    let no_create = OpenOptions { create: false, ..options(&storage) };
    let error = Database::open(Path::new(ROOT), no_create).unwrap_err();
    assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
    storage.create_if_missing(Path::new("/letter.txt"));
    let error = Database::open(Path::new("/"), options(&storage)).unwrap_err();
    assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
    assert_eq!(storage.files(), [Path::new("/letter.txt")]);
}

#[test]
fn a_second_opening_names_the_holder() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let error = open(&storage).unwrap_err();
    assert_eq!(error.to_string(), "database /db is in use by another simulated process");
    db.close().unwrap();
    open(&storage).unwrap();
}

#[test]
fn a_reader_changes_nothing_and_may_not_write() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    db.write(one(table, "a", &[("f:x", "1")]), Durability::Sync).unwrap();
    drop(db);
    let before = storage.files();
    let reader = || Database::open(Path::new(ROOT), OpenOptions { read_only: true, ..options(&storage) });
    let (first, second) = (reader().unwrap(), reader().unwrap());
    assert_eq!(all(&first, table), all(&second, table));
    let error = first.write(one(table, "b", &[("f:x", "1")]), Durability::Sync).unwrap_err();
    assert!(matches!(error, Error::ReadOnly), "{error}");
    drop((first, second));
    assert_eq!(storage.files(), before);
}

#[test]
fn families_can_be_added_and_dropped() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f", "g"])).unwrap();
    db.write(one(table, "a", &[("f:x", "1"), ("g:x", "2")]), Durability::Sync).unwrap();
    db.flush(None).unwrap();
    db.write(one(table, "b", &[("f:x", "1"), ("g:x", "2")]), Durability::Sync).unwrap();
    db.alter_table(table, descriptor("T2", &["f", "h"])).unwrap();
    db.write(one(table, "c", &[("h:x", "3")]), Durability::Sync).unwrap();
    let expected = ["a f:x=1", "b f:x=1", "c h:x=3"];
    assert_eq!(all(&db, table), expected);
    db.flush(None).unwrap();
    assert_eq!(all(&db, table), expected);
    drop(db);
    let db = open(&storage).unwrap();
    assert_eq!(all(&db, db.table(&TableName::in_default("T2")).unwrap().0), expected);
    assert!(db.table(&TableName::in_default("T")).is_err());
}

#[test]
fn segments_cover_the_ranges_without_overlap() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    for part in 0..3 {
        let mut batch = WriteBatch::new();
        for i in 0..2000 {
            put(&mut batch, table, &format!("{:05}", i * 3 + part), &[("f:x", "some value that takes room")]);
        }
        db.write(batch, Durability::Sync).unwrap();
        if part < 2 {
            db.flush(None).unwrap();
        }
    }
    let snapshot = db.snapshot();
    let segments = snapshot.segments(table, &[KeyRange::all()], 4).unwrap();
    assert!((3..=8).contains(&segments.len()), "{}", segments.len());
    let mut found = Rows::new();
    for segment in &segments {
        let part = rows_in(&snapshot, table, vec![segment.range.clone()]).unwrap();
        assert!(part.len() > 300, "segments are of about equal size: {}", part.len());
        for (row, columns) in part {
            assert!(found.insert(row, columns).is_none(), "no row is in two segments");
        }
    }
    assert_eq!(found.len(), 6000);
}

#[test]
fn a_bulk_load_is_visible_at_once_and_wholly() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    db.write(one(table, "b", &[("f:x", "before")]), Durability::Sync).unwrap();
    let mut load = db.ingest(table).unwrap();
    for rows in [["a", "b"], ["d", "c"], ["a", "e"]] {
        let mut batch = WriteBatch::new();
        rows.iter().for_each(|row| put(&mut batch, table, row, &[("f:x", "loaded")]));
        load.add(batch).unwrap();
    }
    let before = db.snapshot();
    assert_eq!(all(&db, table), ["b f:x=before"]);
    let summary = load.finish().unwrap();
    assert_eq!((summary.rows, summary.seq), (6, db.snapshot().seq()));
    let expected = ["a f:x=loaded", "b f:x=loaded", "c f:x=loaded", "d f:x=loaded", "e f:x=loaded"];
    assert_eq!(all(&db, table), expected);
    assert_eq!(show(&rows(&before, table).unwrap()), ["b f:x=before"]);
    db.write(one(table, "c", &[("f:x", "after")]), Durability::Sync).unwrap();
    let expected = ["a f:x=loaded", "b f:x=loaded", "c f:x=after", "d f:x=loaded", "e f:x=loaded"];
    assert_eq!(all(&db, table), expected);
    db.compact(None, true).unwrap();
    assert_eq!(all(&db, table), expected);
    drop((db, before));
    let db = open(&storage.power_loss()).unwrap();
    assert_eq!(all(&db, table), expected);
    db.flush(None).unwrap();
    db.compact(None, true).unwrap();
    assert_eq!(all(&db, table), expected);
    assert_eq!(db.stats(table).unwrap().files, 1);
}

#[test]
fn a_bulk_load_that_is_dropped_leaves_nothing() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let mut load = db.ingest(table).unwrap();
    load.add(one(table, "a", &[("f:x", "1")])).unwrap();
    drop(load);
    assert!(!storage.files().iter().any(|path| path.starts_with("/db/data")));
    assert_eq!(all(&db, table), Vec::<String>::new());
}

#[test]
fn a_directory_that_lost_its_manifest_is_not_taken_for_an_empty_one() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    db.write(one(table, "a", &[("f:x", "1")]), Durability::Sync).unwrap();
    db.flush(None).unwrap();
    db.close().unwrap();
    let env = options(&storage).env;
    for path in storage.files().iter().filter(|path| path.to_str().unwrap().contains("MANIFEST")) {
        env.storage.remove(path).unwrap();
    }
    let before = storage.files();
    assert!(matches!(open(&storage), Err(Error::NotADatabase { .. })));
    assert_eq!(storage.files(), before);
}

/// Row keys of any bytes, and as many as there can be.
#[test]
fn the_longest_rows_are_rows_like_others() {
    for encoding in ["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1", "COLUMNAR"] {
        let storage = SimStorage::new(1);
        let db = open(&storage).unwrap();
        let mut descriptor = descriptor("T", &["f"]);
        descriptor.families[0].encoding = encoding.to_owned();
        let id = db.create_table(descriptor).unwrap();
        let ends = [[0, 0], [0, 1], [0x7f, 0xff], [0xff, 0], [0xff, 0xff]];
        let row = |front: u8, end: [u8; 2]| [&vec![front; ROW_LEN_MAX - 2][..], &end[..]].concat();
        let mut rows: Vec<Vec<u8>> =
            [0, 0xff].into_iter().flat_map(|front| ends.map(|end| row(front, end))).collect();
        rows.extend([vec![0], vec![0xff], vec![0xff; ROW_LEN_MAX - 1]]);
        rows.sort();
        rows.dedup();
        let table = db.open_table(&TableName::in_default("T")).unwrap();
        for row in &rows {
            table.put(Put::new(row.clone()).add("f", "q", row[row.len() - 1..].to_vec())).unwrap();
        }
        let too_long = table.put(Put::new(vec![1; ROW_LEN_MAX + 1]).add("f", "q", "v")).unwrap_err();
        let too_long = too_long.to_string();
        assert!(too_long.contains("32768") && too_long.contains("32767"), "{too_long}");
        let found = |table: &Table| {
            let scanned: Vec<Vec<u8>> =
                table.scan(&Scan::new()).unwrap().map(|row| row.unwrap().key().to_vec()).collect();
            assert!(scanned == rows, "{encoding}");
            for row in &rows {
                let found = table.get(&Get::new(row.clone())).unwrap();
                assert_eq!(found.cells().next().unwrap().value, &row[row.len() - 1..], "{encoding}");
            }
        };
        found(&table);
        table.flush().unwrap();
        found(&table);
        let middle = row(0xff, [0x7f, 0xff]);
        db.split_region(id, db.regions(id).unwrap()[0].id, Some(&middle)).unwrap();
        found(&table);
        table.major_compact().unwrap();
        found(&table);
        drop((table, db));
        let db = open(&storage).unwrap();
        found(&db.open_table(&TableName::in_default("T")).unwrap());
        assert_eq!(db.regions(id).unwrap()[1].range.start, middle);
    }
}
