// SPDX-License-Identifier: Apache-2.0
//! Bytes that change behind the database's back: noticed and named, or harmless; never returned as data.

use std::path::{Path, PathBuf};

use basalt_model::{FamilyDescriptor, TableId, WriteBatch};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Durability, Error, Finding, OpenOptions, Recovery, Severity, check};

use crate::support::*;

/// A database with a store file, a log and two manifests; the file has the rows cell by cell, with values as they were written among its bytes.
fn sample() -> (SimStorage, TableId, Rows) {
    sample_of(FamilyDescriptor { block_bytes: 100, ..FamilyDescriptor::of_hbase("f") })
}

fn sample_of(family: FamilyDescriptor) -> (SimStorage, TableId, Rows) {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let mut descriptor = descriptor("T", &["f"]);
    descriptor.families = vec![family];
    let table = db.create_table(descriptor).unwrap();
    let mut batch = WriteBatch::new();
    (0..8).for_each(|i| put(&mut batch, table, &format!("row{i}"), &[("f:x", &format!("value {i}"))]));
    db.write(batch, Durability::Sync).unwrap();
    db.flush(None).unwrap();
    db.write(one(table, "row3", &[("f:x", "newer")]), Durability::Sync).unwrap();
    db.write(one(table, "row9", &[("f:x", "new")]), Durability::Sync).unwrap();
    let rows = rows(&db.snapshot(), table).unwrap();
    db.close().unwrap();
    (storage, table, rows)
}

fn findings(storage: &SimStorage) -> Vec<Finding> {
    let mut found = Vec::new();
    let report = check(Path::new(ROOT), &options(storage).env, &mut |finding| found.push(finding)).unwrap();
    let damages = found.iter().filter(|finding| finding.severity == Severity::Damage).count();
    assert_eq!(report.damages, damages as u64);
    found
}

fn file_in(storage: &SimStorage, part: &str) -> PathBuf {
    storage.files().into_iter().rfind(|path| path.to_str().unwrap().contains(part)).unwrap()
}

/// What the database shows, or the error that it gives instead.
fn shown(storage: &SimStorage, table: TableId) -> Result<Rows, Error> {
    let db = Database::open(Path::new(ROOT), OpenOptions { read_only: true, ..options(storage) })?;
    rows(&db.snapshot(), table)
}

#[test]
fn a_sound_database_has_no_findings() {
    let (storage, _, _) = sample();
    let before = storage.files();
    let mut found = Vec::new();
    let report = check(Path::new(ROOT), &options(&storage).env, &mut |finding| found.push(finding)).unwrap();
    assert_eq!(found, []);
    assert_eq!((report.files, report.cells, report.tables, report.wal_segments), (1, 8, 1, 1));
    assert_eq!(report.wal_frames, 3, "two writes and the mark of the orderly end");
    assert_eq!(storage.files(), before);
}

#[test]
fn no_flipped_bit_is_returned_as_data_and_check_finds_each() {
    flip_bits_of(&sample());
}

#[test]
fn no_flipped_bit_of_columns_is_returned_as_data_and_check_finds_each() {
    flip_bits_of(&sample_of(FamilyDescriptor::new("f")));
}

fn flip_bits_of((storage, table, rows): &(SimStorage, TableId, Rows)) {
    let (mut flips, mut harmless) = (0, 0);
    for part in ["/data/", "/wal/", "MANIFEST"] {
        let path = file_in(storage, part);
        let bytes = storage.read(&path).unwrap();
        // Every third bit, in turn each of a byte, of the parts that hold something; the trailer of a store file is mostly empty space.
        for bit in (0..bytes.len() * 8).step_by(3) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let empty = bytes[bit / 8] == 0 && bit > 8 * 1_000 && bit % 8 != 5;
            if empty {
                continue;
            }
            flips += 1;
            storage.overwrite(&path, flipped).unwrap();
            let found = findings_or_newer(storage);
            match shown(storage, *table) {
                Ok(shown) => assert_eq!(shown, *rows, "bit {bit} of {} changed data", path.display()),
                Err(error) => {
                    let named = matches!(&error, Error::Corrupt(_) | Error::NewerFormat { .. });
                    assert!(named, "bit {bit} of {}: {error}", path.display());
                    assert!(!found.is_empty(), "check missed bit {bit} of {}: {error}", path.display());
                }
            }
            if found.is_empty() {
                harmless += 1;
            }
        }
        storage.overwrite(&path, bytes).unwrap();
    }
    report(format_args!("{flips} bits flipped, {harmless} of them without any effect"));
    assert!(flips > 3_000, "{flips} bits flipped");
}

/// Findings; a flip that makes a file look newer is an error of its own.
fn findings_or_newer(storage: &SimStorage) -> Vec<String> {
    let mut found = Vec::new();
    match check(Path::new(ROOT), &options(storage).env, &mut |finding| found.push(finding.to_string())) {
        Ok(_) => found,
        Err(error @ Error::NewerFormat { .. }) => vec![error.to_string()],
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_damaged_block_is_named_with_table_and_rows_and_the_rest_stays_readable() {
    let (storage, table, expected) = sample();
    let path = file_in(&storage, "/data/");
    let mut bytes = storage.read(&path).unwrap();
    let at = bytes.windows(7).position(|window| window == b"value 5").unwrap();
    bytes[at] ^= 1;
    storage.overwrite(&path, bytes).unwrap();
    let found = findings(&storage);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].table.as_deref(), Some("T"));
    let range = found[0].range.clone().unwrap();
    assert!(range.contains(b"row5") && !range.contains(b"row0"), "{}", found[0]);
    let db = open(&storage).unwrap();
    let snapshot = db.snapshot();
    let Err(Error::Corrupt(corruption)) = rows(&snapshot, table) else { panic!("not noticed") };
    assert_eq!((corruption.table.as_deref(), corruption.range.as_ref()), (Some("T"), Some(&range)));
    let rest = basalt_model::KeyRange { start: bytes::Bytes::new(), end: Some(range.start.clone()) };
    let rest = rows_in(&snapshot, table, vec![rest]).unwrap();
    assert!(!rest.is_empty() && rest.iter().all(|(row, columns)| expected[row] == *columns));
}

#[test]
fn a_damaged_log_is_refused_and_can_be_skipped() {
    let (storage, table, mut rows) = sample();
    let path = file_in(&storage, "/wal/");
    let mut bytes = storage.read(&path).unwrap();
    let at = bytes.windows(5).position(|window| window == b"newer").unwrap();
    bytes[at] ^= 1;
    storage.overwrite(&path, bytes).unwrap();
    let error = open(&storage).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(".log is damaged at offset 32 (table T, rows from row3 to before row3\\x00)"),
        "{text}"
    );
    let skip = OpenOptions { recovery: Recovery::SkipDamagedWal, ..options(&storage) };
    let db = Database::open(Path::new(ROOT), skip).unwrap();
    assert_eq!(db.recovery_damage().len(), 1);
    rows.get_mut("row3").unwrap().insert("f:x".into(), "value 3".into());
    assert_eq!(crate::support::rows(&db.snapshot(), table).unwrap(), rows);
}

#[test]
fn missing_files_are_found() {
    let (storage, _, _) = sample();
    let path = file_in(&storage, "/data/");
    options(&storage).env.storage.remove(&path).unwrap();
    let found = findings(&storage);
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().contains("(table T): cannot open"), "{}", found[0]);
}

#[test]
fn leftovers_are_notes_and_the_next_opening_removes_them() {
    let (storage, _, _) = sample();
    let path = file_in(&storage, "/data/");
    let orphan = path.with_file_name("00000000000000000099");
    storage.create_if_missing(&orphan);
    let found = findings(&storage);
    assert_eq!(found.iter().map(|finding| finding.severity).collect::<Vec<_>>(), [Severity::Note]);
    drop(open(&storage).unwrap());
    assert!(!storage.files().contains(&orphan) && storage.files().contains(&path));
}

#[test]
fn a_database_in_use_is_not_checked() {
    let storage = SimStorage::new(1);
    let _db = open(&storage).unwrap();
    let checked = check(Path::new(ROOT), &options(&storage).env, &mut |_| ());
    assert!(matches!(checked, Err(Error::Locked { .. })));
}
