// SPDX-License-Identifier: Apache-2.0
use basalt_model::{FamilyDescriptor, TableName};

use super::*;

fn region(id: u64, start: &'static [u8], end: Option<&'static [u8]>) -> RegionEntry {
    RegionEntry {
        id: RegionId(id),
        table: TableId(1),
        dir: format!("data/default/T/{id}"),
        range: KeyRange { start: Bytes::from_static(start), end: end.map(Bytes::from_static) },
        flushed_seq: Seq(0),
        families: BTreeMap::new(),
    }
}

fn manifest(regions: Vec<RegionEntry>) -> Manifest {
    let descriptor = TableDescriptor {
        name: TableName::in_default("T"),
        families: vec![FamilyDescriptor::new("f")],
        schema: None,
        attributes: BTreeMap::new(),
        index: None,
    };
    let mut manifest = Manifest::empty(1);
    (manifest.next_table, manifest.next_region) = (2, 10);
    manifest.tables.push(TableEntry { id: TableId(1), descriptor, disabled: false, building: None });
    manifest.regions = regions;
    manifest
}

#[test]
fn regions_must_cover_the_table() {
    let wrong = |regions| manifest(regions).check_invariants().unwrap_err();
    manifest(vec![region(2, b"m", None), region(1, b"", Some(b"m"))]).check_invariants().unwrap();
    assert!(wrong(vec![region(1, b"", Some(b"m"))]).contains("do not reach the end"));
    assert!(wrong(vec![region(1, b"a", None)]).contains("gap"));
    assert!(wrong(vec![region(1, b"", Some(b"m")), region(2, b"l", None)]).contains("overlap"));
    assert!(wrong(vec![region(1, b"", None), region(1, b"", None)]).contains("not unique"));
}

#[test]
fn json_keeps_every_byte_of_a_key() {
    let before = manifest(vec![region(1, b"", Some(b"\x00\xff")), region(2, b"\x00\xff", None)]);
    let json = serde_json::to_string(&before).unwrap();
    assert_eq!(serde_json::from_str::<Manifest>(&json).unwrap(), before);
}

fn range(start: &'static str, end: Option<&'static str>) -> KeyRange {
    KeyRange { start: start.into(), end: end.map(Bytes::from) }
}

fn file(id: u64, first: &'static str, last: &'static str) -> FileMeta {
    FileMeta {
        id: FileId(id),
        size_bytes: 1000,
        cells: 100,
        rows: 100,
        deletes: 0,
        raw_bytes: 2000,
        first_row: first.into(),
        last_row: last.into(),
        timestamp_min: 0,
        timestamp_max: 0,
        seq_min: Seq(0),
        seq_max: Seq(0),
        own_ttl: None,
        seq_override: None,
        created_ms: 0,
        dir: None,
        part: None,
    }
}

#[test]
fn parts_of_a_file_are_joined_where_their_bounds_meet() {
    let whole = file(1, "a", "y").listed_from("data/default/T/1");
    let left = whole.cut(&range("", Some("g")), "a".into(), "f".into(), 250);
    let middle = whole.cut(&range("g", Some("p")), "h".into(), "n".into(), 250);
    let right = whole.cut(&range("p", None), "p".into(), "y".into(), 500);
    assert_eq!((left.cells, left.raw_bytes, right.rows), (25, 500, 50));
    let both = left.joined(&middle).unwrap();
    assert_eq!((&both.first_row[..], &both.last_row[..], both.cells), (&b"a"[..], &b"n"[..], 50));
    assert_eq!(both.bound(), Some(&range("", Some("p"))));
    assert_eq!(both.joined(&right), Some(whole.clone()));
    // What lay between them may have been let go since.
    assert_eq!(left.joined(&right), None);
    // A part of a part is one of the whole file.
    let small = middle.cut(&range("k", None), "k".into(), "n".into(), 100);
    assert_eq!((small.bound(), small.whole()), (Some(&range("k", Some("p"))), &whole));
}

#[test]
fn no_row_of_a_file_is_listed_twice_and_none_outside_of_its_region() {
    let regions = || vec![region(1, b"", Some(b"m")), region(2, b"m", None)];
    let whole = file(1, "a", "y").listed_from("data/default/T/1");
    let listed = |left: FileMeta, right: FileMeta| {
        let mut regions = regions();
        regions[0].families.insert("f".into(), vec![left]);
        regions[1].families.insert("f".into(), vec![right]);
        let mut manifest = manifest(regions);
        manifest.next_file = 5;
        manifest.check_invariants()
    };
    let left = whole.cut(&range("", Some("m")), "a".into(), "k".into(), 500);
    let right = whole.cut(&range("m", None), "n".into(), "y".into(), 500);
    listed(left.clone(), right.clone()).unwrap();
    let wrong = |left: &FileMeta, right: &FileMeta| listed(left.clone(), right.clone()).unwrap_err();
    assert!(wrong(&whole, &right).contains("lists rows of it twice"));
    assert!(wrong(&right, &left).contains("outside of region"));
    let elsewhere = FileMeta { dir: None, ..right.clone() };
    assert!(wrong(&left, &elsewhere).contains("not unique"));
    let beyond = FileMeta { last_row: "z".into(), ..right };
    let mut twice = regions();
    twice[1].families.insert("f".into(), vec![beyond.clone(), beyond]);
    let mut manifest = manifest(twice);
    manifest.next_file = 5;
    assert!(manifest.check_invariants().unwrap_err().contains("lists rows of it twice"));
}
