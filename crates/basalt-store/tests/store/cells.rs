// SPDX-License-Identifier: Apache-2.0
//! Operations on cells: what they do where the recorded sequences do not look, and what they refuse.

use basalt_model::filter::{CompareOp, Filter};
use basalt_model::operation::DeletePart;
use basalt_model::{
    Append, CheckAndMutate, Delete, Durability, FamilyDescriptor, Get, Increment, Mutation, Put, Scan,
    TableDescriptor, TableName,
};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Error, NamespaceProperties, OpenOptions, Row, Table};

use crate::support::*;

fn table(storage: &SimStorage, families: &[FamilyDescriptor]) -> Table {
    let db = open(storage).unwrap();
    let name = TableName::in_default("T");
    let descriptor =
        families.iter().cloned().fold(TableDescriptor::new(name.clone()), TableDescriptor::family);
    db.create_table(descriptor).unwrap();
    db.open_table(&name).unwrap()
}

fn plain() -> Table {
    table(&SimStorage::new(1), &[FamilyDescriptor::new("f"), FamilyDescriptor::new("g")])
}

#[test]
fn writes_that_ask_for_no_durability_get_that_of_their_table() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    for (name, attribute) in [("LOGGED", None), ("SKIPPED", Some("SKIP_WAL"))] {
        let mut descriptor = descriptor(name, &["f"]);
        descriptor.attributes.extend(attribute.map(|value| ("DURABILITY".to_owned(), value.to_owned())));
        db.create_table(descriptor).unwrap();
    }
    let open_table = |db: &Database, name: &str| db.open_table(&TableName::in_default(name)).unwrap();
    let (logged, skipped) = (open_table(&db, "LOGGED"), open_table(&db, "SKIPPED"));
    assert_eq!((logged.durability(), skipped.durability()), (Durability::Sync, Durability::Skip));
    skipped.put(Put::new("a").add("f", "q", "lost")).unwrap();
    logged.put(Put::new("a").add("f", "q", "kept")).unwrap();
    skipped.with_durability(Durability::Sync).put(Put::new("b").add("f", "q", "kept")).unwrap();
    let lost = storage.power_loss();
    drop((logged, skipped, db));
    let db = open(&lost).unwrap();
    let found =
        |name: &str, row: &'static str| !open_table(&db, name).get(&Get::new(row)).unwrap().is_empty();
    assert!(found("LOGGED", "a") && !found("SKIPPED", "a") && found("SKIPPED", "b"));
}

#[test]
fn a_filter_of_prefixes_of_rows_needs_their_length_and_hides_no_row() {
    let db = open(&SimStorage::new(1)).unwrap();
    let name = TableName::in_default("T");
    let mut family = FamilyDescriptor::new("f");
    family.set("BLOOMFILTER", "ROWPREFIX_FIXED_LENGTH").unwrap();
    for (length, found) in
        [(None, "none"), (Some("0"), "0"), (Some("many"), "many"), (Some("32768"), "32768")]
    {
        let mut family = family.clone();
        family
            .attributes
            .extend(length.map(|len| ("RowPrefixBloomFilter.prefix_length".to_owned(), len.to_owned())));
        let error =
            db.create_table(TableDescriptor::new(name.clone()).family(family)).unwrap_err().to_string();
        let expected =
            format!("RowPrefixBloomFilter.prefix_length, a number of bytes from 1 to 32767; found {found}");
        assert!(error.ends_with(&expected), "{error}");
    }
    family.set("RowPrefixBloomFilter.prefix_length", "3").unwrap();
    db.create_table(TableDescriptor::new(name.clone()).family(family)).unwrap();
    let table = db.open_table(&name).unwrap();
    // Two files, so that the filters are asked before anything else.
    for rows in [["a", "abc", "abcd 1"], ["ab", "abcd 2", "xyz"]] {
        for row in rows {
            table.put(Put::new(row).add("f", "q", row)).unwrap();
        }
        table.flush().unwrap();
    }
    for row in ["a", "ab", "abc", "abcd 1", "abcd 2", "xyz"] {
        assert_eq!(table.get(&Get::new(row)).unwrap().key(), row.as_bytes());
    }
    for row in ["abcd 3", "b", "xy", "xyzz"] {
        assert!(table.get(&Get::new(row)).unwrap().is_empty(), "{row}");
    }
}

/// `row f:q@timestamp=value …`, one text per result.
fn text(row: &Row) -> String {
    let mut line = String::from_utf8(row.key().to_vec()).unwrap();
    for cell in row.cells() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (family, qualifier, value) = (text(cell.family), text(cell.qualifier), text(cell.value));
        line += &format!(" {family}:{qualifier}@{}={value}", cell.timestamp);
    }
    line
}

fn scan(table: &Table, scan: &Scan) -> Vec<String> {
    table.scan(scan).unwrap().map(|row| text(&row.unwrap())).collect()
}

/// Everything, markers included.
fn all(table: &Table) -> Vec<String> {
    scan(table, &Scan::new().raw().versions(u32::MAX))
}

#[test]
fn a_scan_cuts_rows_by_cells_and_by_bytes_and_says_so() {
    let table = plain();
    let mut put = Put::new("r");
    for i in 0..5 {
        put = put.add_at("f", format!("q{i}"), 1, "v");
    }
    table.put(put).unwrap();
    table.put(Put::new("s").add_at("f", "q", 1, "v")).unwrap();
    for limited in [Scan::new().batch(2), Scan::new().result_bytes_max(50)] {
        let rows: Vec<Row> = table.scan(&limited).unwrap().map(Result::unwrap).collect();
        let shape: Vec<_> = rows.iter().map(|row| (row.key()[0], row.len(), row.is_partial())).collect();
        assert_eq!(shape, [(b'r', 2, true), (b'r', 2, true), (b'r', 1, false), (b's', 1, false)]);
    }
}

#[test]
fn a_limit_counts_rows_not_results() {
    let table = plain();
    for row in ["a", "b", "c"] {
        table
            .put(Put::new(row).add_at("f", "x", 1, "1").add_at("f", "y", 1, "2").add_at("g", "z", 1, "3"))
            .unwrap();
    }
    assert_eq!(table.scan(&Scan::new().limit(2)).unwrap().count(), 2);
    assert_eq!(table.scan(&Scan::new().limit(2).batch(2)).unwrap().count(), 4);
    assert_eq!(table.scan(&Scan::new().limit(0)).unwrap().count(), 0);
}

#[test]
fn a_cell_expires_by_its_own_ttl_but_not_after_that_of_its_family() {
    let storage = SimStorage::new(1);
    let family = FamilyDescriptor { ttl_secs: Some(3_600), ..FamilyDescriptor::new("f") };
    let table = table(&storage, &[family]);
    table.put(Put::new("own").add_at("f", "q", 1_000, "v").ttl_ms(1)).unwrap();
    table.put(Put::new("family").add_at("f", "q", 1_000, "v").ttl_ms(u64::MAX)).unwrap();
    table.put(Put::new("live").add("f", "q", "v").ttl_ms(3_600_000)).unwrap();
    let keys = |table: &Table| -> Vec<Vec<u8>> {
        table.scan(&Scan::new()).unwrap().map(|row| row.unwrap().key().to_vec()).collect()
    };
    assert_eq!(keys(&table), [b"live".to_vec()]);
    table.flush().unwrap();
    assert_eq!(keys(&table), [b"live".to_vec()]);
    assert_eq!(all(&table).len(), 1, "expired cells are not written to files");
}

#[test]
fn a_marker_leaves_with_a_major_compaction_unless_an_older_scan_is_open() {
    let table = plain();
    table.put(Put::new("r").add_at("f", "q", 5, "old")).unwrap();
    let open = table.scan(&Scan::new()).unwrap();
    table
        .delete(Delete::new("r").part(DeletePart::Column {
            family: "f".into(),
            qualifier: "q".into(),
            timestamp: Some(9),
        }))
        .unwrap();
    table.flush().unwrap();
    table.major_compact().unwrap();
    table.put(Put::new("r").add_at("f", "q", 6, "new")).unwrap();
    assert_eq!(scan(&table, &Scan::new()), [""; 0], "the marker hides what is put later");
    assert_eq!(open.map(|row| text(&row.unwrap())).collect::<Vec<_>>(), ["r f:q@5=old"]);
    table.flush().unwrap();
    table.major_compact().unwrap();
    assert_eq!(all(&table), [""; 0], "both were there when the marker went");
    table.put(Put::new("r").add_at("f", "q", 6, "newer")).unwrap();
    assert_eq!(scan(&table, &Scan::new()), ["r f:q@6=newer"]);
}

#[test]
fn files_of_a_table_without_compactions_stay() {
    let db = open(&SimStorage::new(1)).unwrap();
    let mut off = descriptor("T", &["f"]);
    off.attributes.insert("COMPACTION_ENABLED".to_owned(), "false".to_owned());
    let id = db.create_table(off.clone()).unwrap();
    let table = db.open_table(&off.name).unwrap();
    for row in ["a", "b"] {
        table.put(Put::new(row).add("f", "q", "v")).unwrap();
        table.flush().unwrap();
    }
    table.major_compact().unwrap();
    assert_eq!(db.stats(id).unwrap().files, 2);
    off.attributes.clear();
    db.alter_table(id, off).unwrap();
    table.major_compact().unwrap();
    assert_eq!(db.stats(id).unwrap().files, 1);
}

#[test]
fn under_new_version_behavior_a_later_put_is_never_hidden() {
    let mut family = FamilyDescriptor::new("f");
    family.set("NEW_VERSION_BEHAVIOR", "true").unwrap();
    let table = table(&SimStorage::new(1), &[family]);
    table.put(Put::new("r").add_at("f", "q", 5, "old")).unwrap();
    table.delete(Delete::new("r").family("f")).unwrap();
    table.put(Put::new("r").add_at("f", "q", 6, "new")).unwrap();
    let wanted = ["r f:q@6=new"];
    assert_eq!(scan(&table, &Scan::new()), wanted);
    assert_eq!(scan(&table, &Scan::new().filter(Filter::prefix("r"))), wanted);
    table.flush().unwrap();
    table.major_compact().unwrap();
    assert_eq!(scan(&table, &Scan::new()), wanted);
}

#[test]
fn a_whole_family_replaces_what_a_delete_named_of_it_before() {
    let table = plain();
    table.put(Put::new("r").add_at("f", "q", 7, "v").add_at("g", "q", 7, "w")).unwrap();
    let family = DeletePart::Family { family: "f".into(), timestamp: Some(3) };
    table.delete(Delete::new("r").version("f", "q", 7).version("g", "q", 7).part(family)).unwrap();
    assert_eq!(scan(&table, &Scan::new()), ["r f:q@7=v"]);
}

#[test]
fn changes_of_several_tables_are_made_together_or_not_at_all() {
    let storage = SimStorage::new(1);
    let first = table(&storage, &[FamilyDescriptor::new("f")]);
    let db: Database = first.database().clone();
    let other = db.create_table(descriptor("U", &["f"])).unwrap();
    let changes = |family: &'static str| {
        vec![
            (first.id(), Put::new("a").add_at("f", "q", 1, "1").into()),
            (first.id(), Increment::new("n").add("f", "q", 7).at(1).into()),
            (other, Put::new("b").add_at(family, "q", 1, "2").into()),
        ]
    };
    assert!(matches!(db.mutate(&changes("nope"), Durability::Sync), Err(Error::NoSuchFamily { .. })));
    assert_eq!(all(&first), [""; 0]);
    db.mutate(&changes("f"), Durability::Sync).unwrap();
    assert_eq!(all(&first).len(), 2);
    assert_eq!(db.snapshot().query(other, &Scan::new()).unwrap().count(), 1);
}

#[test]
fn a_condition_reads_given_against_stored() {
    let table = plain();
    table.put(Put::new("r").add_at("f", "q", 1, "m")).unwrap();
    let holds = |op, value: &'static str| {
        let check = CheckAndMutate::if_value("r", "f", "q", op, value);
        table.check_and_mutate(&check.then(Put::new("r").add_at("g", "x", 1, "y"))).unwrap().applied
    };
    assert!(holds(CompareOp::Less, "a") && !holds(CompareOp::Less, "z"));
    assert!(holds(CompareOp::Equal, "m") && !holds(CompareOp::NotEqual, "m"));
    assert!(holds(CompareOp::NotEqual, "") && !holds(CompareOp::Equal, ""));
}

/// What is refused, in its own words; nothing may have changed.
#[test]
fn bad_input_names_the_limit_and_the_value_and_changes_nothing() {
    let table = plain();
    table.put(Put::new("r").add_at("f", "q", 1, "text")).unwrap();
    let before = all(&table);
    let put = |put: Put| table.put(put).unwrap_err().to_string();
    assert_eq!(put(Put::new("").add("f", "q", "v")), "row key is 0 bytes long; expected 1 to 32767");
    assert_eq!(
        put(Put::new(vec![b'x'; 32_768]).add("f", "q", "v")),
        "row key is 32768 bytes long; expected 1 to 32767"
    );
    assert_eq!(put(Put::new("r").add("nope", "q", "v")), "table T has no column family \"nope\"");
    assert_eq!(put(Put::new("r").add("", "q", "v")), "family name is 0 bytes long; expected 1 to 127");
    assert_eq!(put(Put::new("r").add_at("f", "q", -1, "v")), "timestamp -1 is negative; expected 0 or more");
    assert_eq!(put(Put::new("r")), "the change of row r names no cell");
    let delete = table.delete(Delete::up_to("r", -7)).unwrap_err();
    assert_eq!(delete.to_string(), "timestamp -7 is negative; expected 0 or more");
    let increment = table.increment(Increment::new("r").add("f", "q", 1)).unwrap_err();
    assert_eq!(increment.to_string(), "cannot increment f:q of row r: its value has 4 bytes; expected 8");
    assert_eq!(table.append(Append::new("r")).unwrap_err().to_string(), "the change of row r names no value");
    let mixed = table.mutate_row([Put::new("r").add("f", "q", "v"), Put::new("s").add("f", "q", "v")]);
    assert_eq!(mixed.unwrap_err().to_string(), "a change of row s among those of row r; expected one row");
    let check = CheckAndMutate::if_not_exists("other", "f", "q").then(Put::new("r").add("f", "q", "v"));
    let check = table.check_and_mutate(&check).unwrap_err();
    assert_eq!(check.to_string(), "a change of row r among those of row other; expected one row");
    assert_eq!(all(&table), before);
}

#[test]
fn cells_over_the_limit_are_refused_whoever_makes_them() {
    let storage = SimStorage::new(1);
    drop(table(&storage, &[FamilyDescriptor::new("f")]));
    let options = OpenOptions { cell_bytes_max: 20, ..options(&storage) };
    let db = Database::open(std::path::Path::new(ROOT), options).unwrap();
    let table = db.open_table(&TableName::in_default("T")).unwrap();
    table.put(Put::new("r").add_at("f", "q", 1, vec![b'x'; 17])).unwrap();
    let before = all(&table);
    let put = table.put(Put::new("r").add("f", "q", "small").add("f", "qq", vec![b'x'; 17])).unwrap_err();
    assert_eq!(put.to_string(), "bytes of a cell: 21; expected 0 to 20");
    let append = table.append(Append::new("r").add("f", "q", "more")).unwrap_err();
    assert_eq!(append.to_string(), "bytes of a cell: 24; expected 0 to 20");
    assert_eq!(all(&table), before);
}

#[test]
fn a_table_may_have_a_limit_of_its_own_for_cells() {
    let storage = SimStorage::new(1);
    let options = OpenOptions { cell_bytes_max: 20, ..options(&storage) };
    let db = Database::open(std::path::Path::new(ROOT), options).unwrap();
    let limited = |name: &str, limit: &str| {
        let mut descriptor =
            TableDescriptor::new(TableName::in_default(name)).family(FamilyDescriptor::new("f"));
        descriptor.attributes.insert("hbase.server.keyvalue.maxsize".to_owned(), limit.to_owned());
        db.create_table(descriptor).unwrap();
        db.open_table(&TableName::in_default(name)).unwrap()
    };
    let put = |bytes: usize| Put::new("r").add_at("f", "q", 1, vec![b'x'; bytes]);
    let (small, endless) = (limited("small", "10"), limited("endless", "0"));
    small.put(put(7)).unwrap();
    assert_eq!(small.put(put(8)).unwrap_err().to_string(), "bytes of a cell: 11; expected 0 to 10");
    endless.put(put(100)).unwrap();
}

#[test]
fn scans_and_gets_that_cannot_be_are_refused() {
    let table = plain();
    let refused = |scan: Scan| table.scan(&scan).map(drop).unwrap_err().to_string();
    assert_eq!(
        refused(Scan::new().start("b").stop("a")),
        "scan from row b to row a; expected the first to be the smaller one"
    );
    assert_eq!(
        refused(Scan::new().start("a").stop("b").reversed()),
        "reversed scan from row a to row b; expected the second to be the smaller one"
    );
    assert_eq!(refused(Scan::new().family("nope")), "table T has no column family \"nope\"");
    assert_eq!(refused(Scan::new().versions(0)), "versions wanted: 0; expected 1 to 4294967295");
    assert_eq!(refused(Scan::new().batch(0)), "cells per result: 0; expected 1 to 18446744073709551615");
    assert_eq!(
        refused(Scan::new().time_range(5, 3)),
        "time range from 5 to 3; expected 0 <= minimum <= maximum"
    );
    assert_eq!(
        refused(Scan::new().raw().column("f", "q")),
        "a raw scan of table T names columns; expected whole families"
    );
    assert_eq!(
        refused(Scan::new().batch(3).filter(Filter::Page { rows: 1 })),
        "the scan cuts rows into results of 3 cells, but its filter decides about whole rows; \
         leave the limit or the filter out"
    );
    let pattern = basalt_model::Comparator::Regex("(".into());
    let error = refused(Scan::new().filter(Filter::Value { op: CompareOp::Equal, comparator: pattern }));
    assert!(error.starts_with("pattern \"(\" is not understood: "), "{error}");
    let get = table.get(&Get::new("")).unwrap_err();
    assert_eq!(get.to_string(), "row key is 0 bytes long; expected 1 to 32767");
    assert_eq!(scan(&table, &Scan::new().start("a").stop("a")), [""; 0], "an empty range is no mistake");
}

#[test]
fn names_that_nobody_could_write_down_are_refused() {
    let db = open(&SimStorage::new(1)).unwrap();
    let refused = |namespace: &str, name: &str, family: &str| {
        let table =
            TableDescriptor::new(TableName::new(namespace, name)).family(FamilyDescriptor::new(family));
        db.create_table(table).unwrap_err().to_string()
    };
    let limits = "must have 1 to 255 bytes, none of them ':' or a control character";
    assert_eq!(refused("", "t", "f"), format!("table .t: namespace \"\" {limits}"));
    assert_eq!(refused("a:b", "t", "f"), format!("table a:b.t: namespace \"a:b\" {limits}"));
    assert_eq!(refused("default", "t\n", "f"), format!("table t\n: table name \"t\\n\" {limits}"));
    let long = "x".repeat(256);
    assert_eq!(refused("default", &long, "f"), format!("table {long}: table name \"{long}\" {limits}"));
    let limits =
        "must have 1 to 127 bytes, none of them ':', '/' or a control character, and no dot at the front";
    for family in ["", "a:b", "a/b", ".f", "f\0"] {
        assert_eq!(refused("default", "t", family), format!("table t: family name {family:?} {limits}"));
    }
    assert!(db.tables().is_empty());
}

#[test]
fn namespaces_are_created_once_and_dropped_empty() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    db.create_namespace("shop").unwrap();
    let text = |result: Result<(), Error>| result.unwrap_err().to_string();
    assert_eq!(text(db.create_namespace("shop")), "namespace \"shop\" exists already");
    assert_eq!(
        text(db.create_namespace("a b")),
        "namespace \"a b\" must have 1 to 255 letters, digits and underscores"
    );
    assert_eq!(text(db.drop_namespace("nope")), "there is no namespace \"nope\"");
    let table = TableDescriptor::new(TableName::new("shop", "t")).family(FamilyDescriptor::new("f"));
    db.create_table(table).unwrap();
    assert_eq!(
        text(db.drop_namespace("shop")),
        "namespace \"shop\" cannot be dropped: it holds 1 tables or is the default one"
    );
    db.drop_table(&TableName::new("shop", "t")).unwrap();
    drop(db);
    let db = open(&storage).unwrap();
    assert_eq!(db.namespaces(), ["default", "shop"]);
    db.drop_namespace("shop").unwrap();
    assert_eq!(db.namespaces(), ["default"]);
}

#[test]
fn a_namespace_keeps_its_properties_until_it_is_dropped() {
    let storage = SimStorage::new(1);
    let db = open(&storage).unwrap();
    let properties = |pairs: &[(&str, &str)]| -> NamespaceProperties {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let first = properties(&[("owner", "eve"), ("why", "")]);
    db.create_namespace_with("shop", first.clone()).unwrap();
    assert_eq!(db.namespace_properties("shop"), first);
    drop(db);
    let db = open(&storage).unwrap();
    assert_eq!(db.namespace_properties("shop"), first);
    let second = properties(&[("owner", "ann")]);
    db.set_namespace_properties("shop", second.clone()).unwrap();
    assert_eq!(db.namespace_properties("shop"), second);
    assert!(matches!(db.set_namespace_properties("nope", second), Err(Error::NoSuchNamespace { .. })));
    db.drop_namespace("shop").unwrap();
    db.create_namespace("shop").unwrap();
    assert_eq!(db.namespace_properties("shop"), properties(&[]));
}

#[test]
fn changes_in_turn_see_those_before_them_and_changes_together_do_not() {
    let table = plain();
    let db = table.database();
    let counter = |amount: i64| Increment::new("r").add("f", "n", amount);
    let value = |row: &Row| row.cells().next().map(|cell| i64::from_be_bytes(cell.value.try_into().unwrap()));
    let get = |column: &'static str| table.get(&Get::new("r").column("f", column)).unwrap();
    let in_turn = |changes: Vec<Mutation>| {
        let changes: Vec<_> = changes.into_iter().map(|change| (table.id(), change)).collect();
        db.mutate(&changes, Durability::Sync).unwrap()
    };
    in_turn(vec![counter(1).into(), counter(2).into(), counter(4).into()]);
    assert_eq!(value(&get("n")), Some(7));
    table.flush().unwrap();
    in_turn(vec![counter(10).into(), Increment::new("s").add("f", "n", 1).into(), counter(20).into()]);
    assert_eq!(value(&get("n")), Some(37));
    let put = |value: &'static str| Put::new("r").add("f", "t", value);
    let append = |value: &'static str| Append::new("r").add("f", "t", value);
    in_turn(vec![put("a").into(), append("b").into(), put("c").into(), append("d").into()]);
    assert_eq!(get("t").cells().next().unwrap().value, b"cd");
    in_turn(vec![append("e").into(), Delete::new("r").into()]);
    assert!(get("t").is_empty());
    // As HBase's clients make them.
    let other = |amount| Increment::new("t").add("f", "n", amount);
    let row = table.mutate_row([other(1), other(2)]).unwrap();
    let stored = table.get(&Get::new("t")).unwrap();
    // Each has its answer.
    assert_eq!((row.len(), value(&row), value(&stored)), (2, Some(1), Some(2)));
    // The newest version, and then the one that is the newest.
    let versions = FamilyDescriptor { versions_max: 5, ..FamilyDescriptor::new("f") };
    let table = crate::cells::table(&SimStorage::new(2), &[versions]);
    for (timestamp, value) in [(10, "1"), (20, "2"), (30, "3")] {
        table.put(Put::new("r").add_at("f", "q", timestamp, value)).unwrap();
    }
    let newest = || {
        let part = DeletePart::Version { family: "f".into(), qualifier: "q".into(), timestamp: None };
        (table.id(), Delete::new("r").part(part).into())
    };
    table.database().mutate(&[newest(), newest()], Durability::Sync).unwrap();
    let left = table.get(&Get::new("r").versions(9)).unwrap();
    assert_eq!(left.cells().map(|cell| cell.timestamp).collect::<Vec<_>>(), [10]);
}

#[test]
fn a_counter_at_the_end_of_time_counts_on() {
    let table = plain();
    table.put(Put::new("r").add_at("f", "n", i64::MAX - 1, 5_i64.to_be_bytes().to_vec())).unwrap();
    for expected in [6, 7] {
        table.increment(Increment::new("r").add("f", "n", 1)).unwrap();
        let row = table.get(&Get::new("r")).unwrap();
        assert_eq!(row.cells().next().unwrap().value, i64::to_be_bytes(expected));
    }
}

#[test]
fn a_filter_of_columns_leaves_out_files_without_them_and_hides_nothing() {
    let storage = SimStorage::new(1);
    let mut family = FamilyDescriptor::new("f");
    family.set("BLOOMFILTER", "ROWCOL").unwrap();
    let table = table(&storage, &[family]);
    // Three files with the same rows, each with a column of its own, and a fourth that deletes a row and a column.
    for column in ["a", "b", "c"] {
        for row in 0..200 {
            table.put(Put::new(format!("{row:03}")).add("f", column, column)).unwrap();
        }
        table.flush().unwrap();
    }
    table.delete(Delete::new("017")).unwrap();
    table
        .delete(Delete::new("018").part(DeletePart::Column {
            family: "f".into(),
            qualifier: "b".into(),
            timestamp: None,
        }))
        .unwrap();
    table.flush().unwrap();
    assert_eq!(table.database().stats(table.id()).unwrap().files, 4);
    let found = |row: &str, columns: &[&'static str]| {
        let get = columns.iter().fold(Get::new(row.to_owned()), |get, column| get.column("f", *column));
        let row = table.get(&get).unwrap();
        row.cells().map(|cell| String::from_utf8(cell.value.to_vec()).unwrap()).collect::<String>()
    };
    for row in ["000", "100", "199"] {
        assert_eq!(
            (found(row, &["b"]), found(row, &["a", "c"]), found(row, &[])),
            ("b".into(), "ac".into(), "abc".into())
        );
        assert_eq!(found(row, &["x"]), "");
    }
    assert_eq!((found("017", &["a"]), found("017", &[])), (String::new(), String::new()));
    assert_eq!((found("018", &["b"]), found("018", &["b", "c"])), (String::new(), "c".into()));
    // Of a column that one file has, one block is read; without the filter it would be one of each file that has the row.
    let read = || table.database().metrics().cache.misses;
    let before = read();
    assert_eq!(found("050", &["c"]), "c");
    assert_eq!(read() - before, 1);
}

#[test]
fn a_load_refuses_what_a_write_refuses() {
    let storage = SimStorage::new(1);
    let db = Database::open(
        std::path::Path::new(ROOT),
        OpenOptions { cell_bytes_max: 1_000, ..options(&storage) },
    )
    .unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let batch = |family: &[u8], timestamp: i64, bytes: usize| {
        let mut batch = basalt_model::WriteBatch::new();
        let mut row = batch.row(table, b"r").unwrap();
        row.put(family, b"q", timestamp, &vec![b'x'; bytes]).unwrap();
        row.finish();
        batch
    };
    let load = |batch| {
        let mut load = db.ingest(table).unwrap();
        load.add(batch).and_then(|()| load.finish().map(drop))
    };
    assert!(matches!(load(batch(b"f", -1, 1)), Err(Error::NegativeTimestamp { found: -1 })));
    assert!(matches!(
        load(batch(b"f", 1, 1_000)),
        Err(Error::OutOfRange { what: "bytes of a cell", max: 1_000, .. })
    ));
    assert!(matches!(load(batch(b"g", 1, 1)), Err(Error::NoSuchFamily { .. })));
    let mut late = db.ingest(table).unwrap();
    late.add(batch(b"f", 1, 1)).unwrap();
    db.set_table_enabled(table, false).unwrap();
    assert!(matches!(late.finish(), Err(Error::TableDisabled { .. })));
    db.set_table_enabled(table, true).unwrap();
    assert!(rows(&db.snapshot(), table).unwrap().is_empty());
    load(batch(b"f", 1, 1)).unwrap();
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 1);
}

#[test]
fn a_batch_larger_than_the_memory_for_it_is_refused() {
    let storage = SimStorage::new(1);
    let db = Database::open(
        std::path::Path::new(ROOT),
        OpenOptions { memory_bytes: 4 << 20, ..options(&storage) },
    )
    .unwrap();
    let table = db.create_table(descriptor("T", &["f"])).unwrap();
    let batch = |rows: usize| {
        let mut batch = basalt_model::WriteBatch::new();
        (0..rows)
            .for_each(|row| put(&mut batch, table, &format!("{row:06}"), &[("f:q", &"v".repeat(1_000))]));
        batch
    };
    let error = db.write(batch(1_100), Durability::Sync).unwrap_err().to_string();
    assert!(error.contains("bytes in one batch (a quarter of --memory, at most 1 GiB)"), "{error}");
    db.write(batch(900), Durability::Sync).unwrap();
    assert_eq!(rows(&db.snapshot(), table).unwrap().len(), 900);
}
