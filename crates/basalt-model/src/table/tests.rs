// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn attributes_survive_a_round_trip_through_texts() {
    let mut family = FamilyDescriptor::new("f");
    for (name, value) in [
        ("VERSIONS", "7"),
        ("MIN_VERSIONS", "2"),
        ("TTL", "60"),
        ("KEEP_DELETED_CELLS", "ttl"),
        ("BLOCKSIZE", "4096"),
        ("DATA_BLOCK_ENCODING", "FAST_DIFF"),
        ("COMPRESSION", "ZSTD"),
        ("BLOOMFILTER", "ROWCOL"),
        ("NEW_VERSION_BEHAVIOR", "true"),
        ("IN_MEMORY", "true"),
        ("BLOCKCACHE", "false"),
        ("hbase.hregion.majorcompaction", "3600000"),
        ("OWNER", "ada"),
    ] {
        family.set(name, value).unwrap();
    }
    assert_eq!(family.attributes.len(), 1);
    let mut again = FamilyDescriptor::new("f");
    for (name, value) in family.texts() {
        again.set(&name, &value).unwrap();
    }
    assert_eq!(again, family);
}

#[test]
fn a_value_that_an_attribute_cannot_have_is_refused_and_changes_nothing() {
    let before = FamilyDescriptor::new("f");
    let mut family = before.clone();
    for (name, value, expected) in [
        ("VERSIONS", "0", "a number from 1 to 2147483647"),
        ("MIN_VERSIONS", "-1", "a number from 0 to 2147483647"),
        ("TTL", "0", "FOREVER or a number of seconds from 1 to 2147483647"),
        ("KEEP_DELETED_CELLS", "maybe", "FALSE, TRUE or TTL"),
        ("BLOCKSIZE", "big", "a number from 1 to 2147483647"),
        ("DATA_BLOCK_ENCODING", "ZIP", "NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1 or COLUMNAR"),
        ("COMPRESSION", "RAR", "NONE, GZ, SNAPPY, LZ4 or ZSTD"),
        ("BLOOMFILTER", "ALL", "NONE, ROW, ROWCOL or ROWPREFIX_FIXED_LENGTH"),
        ("IN_MEMORY", "yes", "TRUE or FALSE"),
        ("hbase.hregion.majorcompaction", "1d", "a number of milliseconds, 0 for never"),
    ] {
        let error = family.set(name, value).unwrap_err();
        assert_eq!(error.to_string(), format!("family attribute {name} must be {expected}; found {value}"));
    }
    assert_eq!(family, before);
}

#[test]
fn table_attributes_that_cannot_be_are_all_named() {
    let mut table = TableDescriptor::new(TableName::in_default("t"));
    for (name, value) in [
        ("MAX_FILESIZE", "10 GB"),
        ("DURABILITY", "SOMETIMES"),
        ("SPLIT_ENABLED", "no"),
        ("hbase.server.keyvalue.maxsize", "-1"),
        ("MERGE_ENABLED", "False"),
        ("OWNER", "ada"),
    ] {
        table.attributes.insert(name.into(), value.into());
    }
    let wrong: Vec<_> = table.wrong_attributes().iter().map(ToString::to_string).collect();
    assert_eq!(
        wrong,
        [
            "table attribute DURABILITY must be USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL or FSYNC_WAL; found SOMETIMES",
            "table attribute MAX_FILESIZE must be a number of bytes; found 10 GB",
            "table attribute SPLIT_ENABLED must be TRUE or FALSE; found no",
        ]
    );
}

#[test]
fn a_table_keeps_its_families_sorted_and_distinct() {
    let table = TableDescriptor::new(TableName::in_default("t"))
        .family(FamilyDescriptor::new("b"))
        .family(FamilyDescriptor::new("a"))
        .family(FamilyDescriptor { versions_max: 5, ..FamilyDescriptor::new("b") });
    let families: Vec<_> =
        table.families.iter().map(|family| (&family.name[..], family.versions_max)).collect();
    assert_eq!(families, [("a", 1), ("b", 5)]);
}
