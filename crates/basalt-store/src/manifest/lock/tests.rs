// SPDX-License-Identifier: Apache-2.0
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use basalt_model::{FamilyDescriptor, Get, Put, TableDescriptor, TableName};

use super::ManifestGuard;
use crate::env::sim::SimStorage;
use crate::{Database, Durability, Env, Error, OpenOptions, Table};

fn open(storage: &SimStorage) -> Database {
    let env = Env::with_storage(Arc::new(storage.clone()));
    Database::open(Path::new("/db"), OpenOptions { env, background: false, ..OpenOptions::create() }).unwrap()
}

fn name() -> TableName {
    TableName::in_default("t")
}

fn created(db: &Database) -> Table {
    db.create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f"))).unwrap();
    db.open_table(&name()).unwrap()
}

fn put(table: &Table, row: &str) -> crate::Result<()> {
    table.with_durability(Durability::Sync).put(Put::new(row.to_owned()).add("f", "q", "v"))
}

fn has(table: &Table, row: &str) -> bool {
    table.exists(&Get::new(row.to_owned())).unwrap()
}

/// Does some work with the manifest, and panics before it lets go of it.
fn panics(db: &Database, work: impl FnOnce(&mut ManifestGuard<'_>)) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        work(&mut db.shared().manifest.lock());
        panic!("in the middle of it");
    }));
    outcome.unwrap_err();
}

#[test]
fn a_panic_between_a_change_and_memory_ends_changes_until_it_is_opened_again() {
    let storage = SimStorage::new(1);
    let db = open(&storage);
    let table = created(&db);
    put(&table, "flushed").unwrap();
    table.flush().unwrap();
    put(&table, "logged").unwrap();
    let regions = db.stats(table.id()).unwrap().regions;
    panics(&db, |manifest| manifest.change(|manifest| manifest.tables[0].disabled = true).unwrap());
    let behind =
        |result: crate::Result<()>| assert!(matches!(result, Err(Error::MemoryBehind)), "{result:?}");
    behind(put(&table, "refused"));
    behind(table.flush());
    behind(table.major_compact());
    behind(db.drop_table(&name()));
    behind(db.create_namespace("n"));
    assert!(has(&table, "flushed") && has(&table, "logged") && !has(&table, "refused"));
    drop(table);
    behind(db.close());

    let db = open(&storage);
    let table = db.open_table(&name()).unwrap();
    assert_eq!(db.stats(table.id()).unwrap().regions, regions);
    assert!(matches!(put(&table, "x"), Err(Error::TableDisabled { .. })), "what the manifest says counts");
    db.set_table_enabled(table.id(), true).unwrap();
    put(&table, "taken").unwrap();
    assert!(["flushed", "logged", "taken"].iter().all(|row| has(&table, row)) && !has(&table, "refused"));
}

#[test]
fn a_panic_before_a_change_or_behind_both_ends_nothing() {
    let storage = SimStorage::new(2);
    let db = open(&storage);
    let table = created(&db);
    panics(&db, |_| ());
    panics(&db, |manifest| manifest.change_alone(|manifest| manifest.next_region += 1).unwrap());
    panics(&db, |manifest| {
        manifest.change(|_| ()).unwrap();
        manifest.is_in_memory();
    });
    put(&table, "taken").unwrap();
    table.flush().unwrap();
    drop(table);
    db.close().unwrap();
    assert!(has(&open(&storage).open_table(&name()).unwrap(), "taken"));
}
