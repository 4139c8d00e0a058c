// SPDX-License-Identifier: Apache-2.0
//! The second tier of the block cache: a database that is opened again reads from it what it had read before.

use std::path::Path;

use basalt_model::{FamilyDescriptor, Get, Put, Scan, TableDescriptor, TableName};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, DiskCacheOptions, Error, OpenOptions};

use crate::support::*;

const ROWS: u32 = 5_000;

fn key(row: u32) -> Vec<u8> {
    row.to_be_bytes().to_vec()
}

/// A thousand bytes that no encoding makes less of.
fn noise(row: u32) -> Vec<u8> {
    let mut state = u64::from(row) + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..1_000).map(|_| next()).collect()
}

/// Hits and misses of reading every row.
fn read_all(db: &Database) -> (u64, u64) {
    let table = db.open_table(&TableName::in_default("T")).unwrap();
    let counters = || db.metrics().disk_cache.map_or((0, 0), |disk| (disk.hits, disk.misses));
    let before = counters();
    for row in 0..ROWS {
        let found = table.get(&Get::new(key(row))).unwrap();
        assert_eq!(found.cells().next().unwrap().value, [row as u8; 1_000]);
    }
    let after = counters();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn what_was_read_before_a_restart_is_near_after_it() {
    let (storage, dir) = (SimStorage::new(1), tempfile::tempdir().unwrap());
    let disk_cache = DiskCacheOptions { dir: dir.path().to_owned(), bytes: 32 << 20 };
    let with_tier = OpenOptions { disk_cache: Some(disk_cache), ..options(&storage) };
    let db = Database::open(Path::new(ROOT), with_tier.clone()).unwrap();
    for encoding in ["NONE", "COLUMNAR"] {
        let name = TableName::in_default("T");
        let family = FamilyDescriptor { encoding: encoding.to_owned(), ..FamilyDescriptor::new("f") };
        db.create_table(TableDescriptor::new(name.clone()).family(family)).unwrap();
        let table = db.open_table(&name).unwrap();
        for row in 0..ROWS {
            table.put(Put::new(key(row)).add("f", "q", vec![row as u8; 1_000])).unwrap();
        }
        table.flush().unwrap();
        let (_, misses) = read_all(&db);
        assert!(misses > 0, "{encoding}");
        if encoding == "NONE" {
            db.drop_table(&name).unwrap();
        }
    }
    drop(db);

    let db = Database::open(Path::new(ROOT), with_tier.clone()).unwrap();
    let (hits, misses) = read_all(&db);
    assert!(hits > 0 && misses == 0, "{hits} hits, {misses} misses after a restart");
    let held = db.metrics().disk_cache.unwrap();
    assert!(held.bytes > 0 && held.bytes <= held.capacity_bytes && held.failures == 0, "{held:?}");
    drop(db);

    let db = Database::open(Path::new(ROOT), options(&storage)).unwrap();
    assert_eq!(db.metrics().disk_cache, None);
    read_all(&db);
}

/// Who says that it comes but once, and what goes on in the background, leaves the tier as it is.
#[test]
fn scans_without_the_cache_and_compactions_leave_the_tier_as_it_is() {
    let (storage, dir) = (SimStorage::new(1), tempfile::tempdir().unwrap());
    let disk_cache = Some(DiskCacheOptions { dir: dir.path().to_owned(), bytes: 32 << 20 });
    for encoding in ["NONE", "COLUMNAR"] {
        let options = OpenOptions { disk_cache: disk_cache.clone(), ..options(&storage) };
        let db = Database::open(Path::new(ROOT), options).unwrap();
        let name = TableName::in_default(encoding);
        let family = FamilyDescriptor { encoding: encoding.to_owned(), ..FamilyDescriptor::new("f") };
        db.create_table(TableDescriptor::new(name.clone()).family(family)).unwrap();
        let table = db.open_table(&name).unwrap();
        for half in [0..ROWS / 2, ROWS / 2..ROWS] {
            for row in half {
                table.put(Put::new(key(row)).add("f", "q", noise(row))).unwrap();
            }
            table.flush().unwrap();
        }
        // What opens the files is kept: their ends.
        table.get(&Get::new(key(0)).cache_blocks(false)).unwrap();
        table.get(&Get::new(key(ROWS - 1)).cache_blocks(false)).unwrap();
        let held = || db.metrics().disk_cache.unwrap().bytes;
        let before = held();
        let count = |cache: bool| table.scan(&Scan::new().cache_blocks(cache)).unwrap().count();
        assert_eq!((count(false), held()), (ROWS as usize, before), "{encoding}: a scan");
        table.get(&Get::new(key(ROWS / 2)).cache_blocks(false)).unwrap();
        assert_eq!(held(), before, "{encoding}: a get");
        table.major_compact().unwrap();
        let ends = held() - before;
        assert!(ends <= 256 << 10, "{encoding}: {ends} bytes of a compaction");
        assert_eq!(count(true), ROWS as usize);
        assert!(held() > before + ends + (1 << 20), "{encoding}: what is read for the cache is kept");
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let (storage, file) = (SimStorage::new(1), tempfile::NamedTempFile::new().unwrap());
    let path = file.path();
    let disk_cache = Some(DiskCacheOptions { dir: path.to_owned(), bytes: 32 << 20 });
    let error = Database::open(Path::new(ROOT), OpenOptions { disk_cache, ..options(&storage) }).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert!(
        error.to_string().starts_with(&format!("cannot open the disk cache in {}", path.display())),
        "{error}"
    );
    open(&storage).unwrap();
}
