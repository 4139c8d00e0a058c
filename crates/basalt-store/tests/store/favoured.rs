// SPDX-License-Identifier: Apache-2.0
//! Families with IN_MEMORY: their blocks stay in the cache while others read many times what it holds.

use std::path::Path;

use basalt_model::{FamilyDescriptor, Get, Put, TableDescriptor, TableName};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, OpenOptions, Table};

use crate::support::*;

fn table(db: &Database, name: &str, rows: u32) -> Table {
    let name = TableName::in_default(name);
    // Of a row group the cache holds as much as there is room for, and more is asked of it.
    db.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::of_hbase("f"))).unwrap();
    let table = db.open_table(&name).unwrap();
    for row in 0..rows {
        table.put(Put::new(row.to_be_bytes().to_vec()).add("f", "q", vec![row as u8; 1_000])).unwrap();
    }
    table.flush().unwrap();
    table
}

fn set_in_memory(db: &Database, table: &Table, in_memory: bool) {
    let mut descriptor = TableDescriptor::clone(&table.descriptor().unwrap());
    descriptor.families[0].in_memory = in_memory;
    db.alter_table(table.id(), descriptor).unwrap();
}

/// Reads the first `rows` rows and says how many blocks were not in the cache.
fn missed(db: &Database, table: &Table, rows: u32) -> u64 {
    let before = db.metrics().cache.misses;
    for row in 0..rows {
        assert!(!table.get(&Get::new(row.to_be_bytes().to_vec())).unwrap().is_empty());
    }
    db.metrics().cache.misses - before
}

#[test]
fn blocks_of_a_family_in_memory_stay_while_others_read_more_than_the_cache_holds() {
    let storage = SimStorage::new(1);
    let options = OpenOptions { memory_bytes: 16 << 20, ..options(&storage) };
    let db = Database::open(Path::new(ROOT), options.clone()).unwrap();
    let (kept, others) = (table(&db, "KEPT", 2_000), table(&db, "OTHERS", 40_000));
    let missed_after_others = |db: &Database, kept: &Table, others: &Table| {
        missed(db, kept, 2_000);
        missed(db, others, 40_000);
        missed(db, others, 40_000);
        missed(db, kept, 2_000)
    };
    assert!(missed_after_others(&db, &kept, &others) > 0, "the others push it out");

    set_in_memory(&db, &kept, true);
    // Blocks that are in the cache already leave it like any other.
    missed_after_others(&db, &kept, &others);
    assert_eq!(missed_after_others(&db, &kept, &others), 0);
    assert!(db.metrics().cache.favoured_bytes > 2_000_000, "{:?}", db.metrics().cache);

    drop((kept, others, db));
    let db = Database::open(Path::new(ROOT), options).unwrap();
    let [kept, others] = ["KEPT", "OTHERS"].map(|name| db.open_table(&TableName::in_default(name)).unwrap());
    assert_eq!(missed_after_others(&db, &kept, &others), 0, "after opening");
    kept.put(Put::new(0_u32.to_be_bytes().to_vec()).add("f", "q", "new")).unwrap();
    kept.major_compact().unwrap();
    assert_eq!(missed_after_others(&db, &kept, &others), 0, "after a compaction");

    set_in_memory(&db, &kept, false);
    kept.put(Put::new(0_u32.to_be_bytes().to_vec()).add("f", "q", "newer")).unwrap();
    kept.major_compact().unwrap();
    assert!(missed_after_others(&db, &kept, &others) > 0, "no longer");
}
