// SPDX-License-Identifier: Apache-2.0
//! Databases that earlier releases wrote through the cell API are read whole: families of every kind, all markers, regions that share files, snapshots,
//! exported ones, and what only the log has. (What SQL leaves behind is read by the program's own test.)
//!
//! ```text
//! testdata/golden/<release>/db          as a kill left it: cells in files and in the log
//!                           export      a snapshot as that release exported it
//!                           answers.txt what that release showed
//! ```
//!
//! `BASALT_GOLDEN=<release> cargo test --release --workspace --test store golden` writes the folder of a release: once, when it is released. What is there is
//! never written again.
#![expect(clippy::disallowed_methods, reason = "the databases lie on a disk, as users have them")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use basalt_model::table::{DeleteRule, KeepDeletedCells};
use basalt_model::{Append, Delete, FamilyDescriptor, Get, Increment, Put, Scan, TableDescriptor, TableName};
use basalt_store::{Database, Env, NamespaceProperties, OpenOptions, Row, Severity, check};

const FOLDER: &str = "testdata/golden";
/// Block encoding, compression and Bloom filter of the families.
const FAMILIES: [(&str, &str, &str); 6] = [
    ("NONE", "NONE", "ROWCOL"),
    ("PREFIX", "GZ", "ROW"),
    ("DIFF", "SNAPPY", "NONE"),
    ("FAST_DIFF", "LZ4", "ROWPREFIX_FIXED_LENGTH"),
    ("ROW_INDEX_V1", "ZSTD", "ROW"),
    ("COLUMNAR", "ZSTD", "ROW"),
];
/// Attributes of families that are shown: later releases may have more.
const ATTRIBUTES: [&str; 13] = [
    "VERSIONS",
    "MIN_VERSIONS",
    "TTL",
    "KEEP_DELETED_CELLS",
    "BLOCKSIZE",
    "DATA_BLOCK_ENCODING",
    "COMPRESSION",
    "BLOOMFILTER",
    "NEW_VERSION_BEHAVIOR",
    "IN_MEMORY",
    "BLOCKCACHE",
    "RowPrefixBloomFilter.prefix_length",
    "of",
];
/// A hundred years in milliseconds: longer than anybody keeps the folder.
const LONG_MS: u64 = 100 * 365 * 86_400_000;

#[test]
fn golden_databases_of_every_release_show_what_they_did() {
    if let Ok(release) = std::env::var("BASALT_GOLDEN") {
        write(&Path::new(FOLDER).join(release));
    }
    let releases = fs::read_dir(FOLDER).unwrap().flatten().map(|entry| entry.path());
    let mut seen = 0;
    for release in releases.filter(|path| path.is_dir()) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("db");
        copy(&release.join("db"), &path);
        // Before anything opens it for writing.
        assert_sound(&path);
        let db = Database::open(&path, options()).unwrap();
        let expected = fs::read_to_string(release.join("answers.txt")).unwrap();
        assert_eq!(everything(&db), expected, "{} is read otherwise than it was", release.display());
        carry(&db, &release.join("export"));
        goes_on(&db);
        db.close().unwrap();
        assert_sound(&path);
        seen += 1;
    }
    assert!(seen > 0, "no release has left a database in {FOLDER}");
}

/// The exported snapshot is the one that the database has.
fn carry(db: &Database, export: &Path) {
    db.import_snapshot(export, Some("carried")).unwrap();
    let copies = ["kept", "carried"].map(|snapshot| {
        let name = TableName::new("copies", snapshot);
        db.clone_snapshot(snapshot, &name).unwrap();
        cells(db, &name)
    });
    assert!(copies[0].lines().count() > 100);
    assert_eq!(copies[0], copies[1], "the exported snapshot is read otherwise");
}

/// Written to, compacted, merged, restored.
fn goes_on(db: &Database) {
    let name = TableName::new("space", "wide");
    let wide = db.open_table(&name).unwrap();
    let shown = || wide.scan(&Scan::new()).unwrap().map(|row| text(&row.unwrap())).collect::<Vec<_>>();
    let before = shown();
    wide.flush().unwrap();
    wide.major_compact().unwrap();
    assert_eq!(shown(), before, "after a major compaction");
    let regions = db.regions(wide.id()).unwrap();
    db.merge_regions(wide.id(), [regions[0].id, regions[1].id]).unwrap();
    assert_eq!(shown(), before, "after a merge");
    wide.put(Put::new("zzz").add("f0", "q", "new")).unwrap();
    assert_eq!(wide.get(&Get::new("zzz")).unwrap().len(), 1);
    db.restore_snapshot("kept").unwrap();
    assert_eq!(cells(db, &name), cells(db, &TableName::new("copies", "kept")));
}

fn options() -> OpenOptions {
    OpenOptions { background: false, ..OpenOptions::create() }
}

fn assert_sound(path: &Path) {
    let mut errors = Vec::new();
    let report = check(path, &Env::local(), &mut |found| {
        if found.severity == Severity::Damage {
            errors.push(found);
        }
    });
    assert!(report.unwrap().files > 0 && errors.is_empty(), "{errors:?}");
}

/// What a database shows of itself.
fn everything(db: &Database) -> String {
    let mut out = String::new();
    for namespace in db.namespaces() {
        writeln!(out, "namespace {namespace} {:?}", db.namespace_properties(&namespace)).unwrap();
    }
    for snapshot in db.snapshots() {
        writeln!(out, "snapshot {} of {}", snapshot.name, snapshot.table).unwrap();
    }
    let mut tables = db.tables();
    tables.sort_by_key(|(_, table)| table.name.clone());
    for (id, table) in tables {
        let enabled = db.is_table_enabled(id).unwrap();
        writeln!(out, "table {} enabled={enabled} {:?}", table.name, table.attributes).unwrap();
        for family in &table.families {
            let texts = family.texts();
            let known = ATTRIBUTES.iter().filter_map(|name| Some((name, texts.get(*name)?)));
            writeln!(out, "family {} {:?}", family.name, known.collect::<Vec<_>>()).unwrap();
        }
        for region in db.regions(id).unwrap() {
            writeln!(out, "region {:?}", region.range).unwrap();
        }
        if enabled {
            out += &cells(db, &table.name);
        }
    }
    out
}

/// All cells with their markers, and the rows as they are read.
fn cells(db: &Database, name: &TableName) -> String {
    let table = db.open_table(name).unwrap();
    let mut out = String::new();
    for (kind, scan) in [("all", Scan::new().raw().versions(u32::MAX)), ("row", Scan::new())] {
        for row in table.scan(&scan).unwrap() {
            writeln!(out, "{kind} {}", text(&row.unwrap())).unwrap();
        }
    }
    out
}

fn text(row: &Row) -> String {
    let mut line = row.key().escape_ascii().to_string();
    for cell in row.cells() {
        let (family, qualifier) = (cell.family.escape_ascii(), cell.qualifier.escape_ascii());
        let value = cell.value.escape_ascii();
        write!(line, " {family}:{qualifier}@{} {:?} {value}", cell.timestamp, cell.cell_type).unwrap();
    }
    line
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Writes the folder of a release, which must not be there.
fn write(release: &Path) {
    fs::create_dir(release).unwrap();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("db");
    let db = Database::open(&path, options()).unwrap();
    let properties = NamespaceProperties::from([("owner".to_owned(), "nobody".to_owned())]);
    db.create_namespace_with("space", properties).unwrap();
    let wide = TableName::new("space", "wide");
    db.create_table(described(&wide)).unwrap();
    fill(&db, &wide);
    for (name, attribute) in [("off", "anything"), ("of_before", "something")] {
        let name = TableName::in_default(name);
        let mut table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        table.attributes.insert("kept".to_owned(), attribute.to_owned());
        db.create_table(table).unwrap();
        db.open_table(&name).unwrap().put(Put::new("r").add_at("f", "q", 7, "v")).unwrap();
    }
    let id = db.table(&TableName::in_default("off")).unwrap().0;
    db.set_table_enabled(id, false).unwrap();
    // A snapshot whose table is gone.
    db.create_snapshot("orphan", &TableName::in_default("of_before")).unwrap();
    db.drop_table(&TableName::in_default("of_before")).unwrap();
    db.clone_snapshot("kept", &TableName::in_default("clone")).unwrap();
    let clone = db.open_table(&TableName::in_default("clone")).unwrap();
    clone.put(Put::new("row 0001").add_at("f5", "q1", 9_000, "of the clone")).unwrap();
    db.export_snapshot("kept", &release.join("export")).unwrap();
    db.sync_wal().unwrap();
    // As a kill would leave it.
    copy(&path, &release.join("db"));
    let _ = fs::remove_file(release.join("db/LOCK"));
    fs::write(release.join("answers.txt"), everything(&db)).unwrap();
}

/// A family of every encoding; those of odd number keep what is deleted, one has the rule of deletes that later puts outlive.
fn described(name: &TableName) -> TableDescriptor {
    let mut table = TableDescriptor::new(name.clone());
    for (number, (encoding, compression, bloom)) in FAMILIES.into_iter().enumerate() {
        let mut family = FamilyDescriptor::of_hbase(format!("f{number}"));
        family.set("DATA_BLOCK_ENCODING", encoding).unwrap();
        family.set("COMPRESSION", compression).unwrap();
        if bloom == "ROWPREFIX_FIXED_LENGTH" {
            family.set("RowPrefixBloomFilter.prefix_length", "6").unwrap();
        }
        family.set("BLOOMFILTER", bloom).unwrap();
        family.versions_max = number as u32 + 1;
        if number % 2 == 1 {
            family.keep_deleted_cells = KeepDeletedCells::True;
        }
        if number == 4 {
            family.delete_rule = DeleteRule::BySequence;
        }
        family.attributes.insert("of".to_owned(), format!("family {number}"));
        table = table.family(family);
    }
    table
}

/// Two sorted runs that overlap, a region split into two that share them, a snapshot in between, and changes in the log.
fn fill(db: &Database, name: &TableName) {
    let table = db.open_table(name).unwrap();
    for run in 0..2 {
        for row in (run * 3..120).step_by(3 - run) {
            put(&table, row, 1_000 + run as i64);
        }
        deletes(&table, 10 * (run + 1));
        table.flush().unwrap();
    }
    db.create_snapshot("kept", name).unwrap();
    let region = db.regions(table.id()).unwrap()[0].id;
    db.split_region(table.id(), region, Some(b"row 0060")).unwrap();
    deletes(&table, 70);
    put(&table, 71, 5_000);
    table.increment(Increment::new("counted").add("f1", "n", 41).at(6_000)).unwrap();
    table.increment(Increment::new("counted").add("f1", "n", 1).at(6_001)).unwrap();
    table.append(Append::new("counted").add("f2", "text", "one").at(6_000)).unwrap();
    table.append(Append::new("counted").add("f2", "text", " more").at(6_001)).unwrap();
}

fn put(table: &basalt_store::Table, row: usize, timestamp: i64) {
    let mut put = Put::new(format!("row {row:04}"));
    for family in 0..FAMILIES.len() {
        for qualifier in 0..row % 3 + 1 {
            let value = format!("{row} {}", "v".repeat(row % 11));
            put = put.add_at(format!("f{family}"), format!("q{qualifier}"), timestamp, value);
        }
    }
    // Some cells have tags, which is where a TTL of their own lies.
    table.put(if row.is_multiple_of(4) { put.ttl_ms(LONG_MS) } else { put }).unwrap();
}

/// A marker of every kind in five rows from this one on, in all families.
fn deletes(table: &basalt_store::Table, first: usize) {
    let row = |row: usize| format!("row {row:04}");
    for family in 0..FAMILIES.len() {
        let family = format!("f{family}");
        table.delete(Delete::new(row(first)).newest_version(family.clone(), "q0")).unwrap();
        table.delete(Delete::new(row(first + 1)).version(family.clone(), "q0", 1_000)).unwrap();
        table.delete(Delete::up_to(row(first + 2), 4_000).column(family.clone(), "q0")).unwrap();
        table.delete(Delete::up_to(row(first + 3), 4_000).family(family.clone())).unwrap();
        table.delete(Delete::new(row(first + 4)).family_version(family, 1_001)).unwrap();
    }
}
