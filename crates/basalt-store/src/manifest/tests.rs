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
    };
    let mut manifest = Manifest::empty(1);
    (manifest.next_table, manifest.next_region) = (2, 10);
    manifest.tables.push(TableEntry { id: TableId(1), descriptor, disabled: false });
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
