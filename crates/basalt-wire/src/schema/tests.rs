// SPDX-License-Identifier: Apache-2.0
use super::*;

/// What a 2.6.4 client sends for a plain family.
const SENT: &[(&str, &str)] = &[
    ("BLOOMFILTER", "ROW"),
    ("IN_MEMORY", "false"),
    ("VERSIONS", "3"),
    ("KEEP_DELETED_CELLS", "FALSE"),
    ("DATA_BLOCK_ENCODING", "FAST_DIFF"),
    ("INDEX_BLOCK_ENCODING", "NONE"),
    ("COMPRESSION", "ZSTD"),
    ("TTL", "2147483647"),
    ("MIN_VERSIONS", "0"),
    ("BLOCKCACHE", "true"),
    ("BLOCKSIZE", "65536"),
    ("REPLICATION_SCOPE", "0"),
];

fn sent() -> pb::TableSchema {
    pb::TableSchema {
        table_name: Some(table_message(&TableName::new("ns", "t"))),
        attributes: vec![pair("IS_META", "false"), pair("OWNER", "ada")],
        column_families: vec![pb::ColumnFamilySchema {
            name: "f".into(),
            attributes: SENT.iter().map(|(name, value)| pair(name, value)).collect(),
            configuration: Vec::new(),
        }],
        configuration: Vec::new(),
    }
}

#[test]
fn a_table_comes_back_as_it_was_sent() {
    let table = table(sent()).unwrap();
    assert_eq!((table.families[0].versions_max, table.families[0].ttl_secs), (3, None));
    let back = table_schema(&table);
    assert_eq!(back.table_name, sent().table_name);
    for wanted in &sent().attributes {
        assert!(back.attributes.contains(wanted));
    }
    for (name, value) in SENT {
        let found =
            back.column_families[0].attributes.iter().find(|pair| pair.first == name.as_bytes()).unwrap();
        assert!(found.second.eq_ignore_ascii_case(value.as_bytes()), "{name}: {:?}", found.second);
    }
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let mut with_coprocessor = sent();
    with_coprocessor.attributes.push(pair("coprocessor$1", "|com.example.Mine|1|"));
    assert!(table(with_coprocessor).unwrap_err().message().contains("coprocessor$1"));
    let mut with_endpoint = sent();
    let class = "|org.apache.hadoop.hbase.coprocessor.AggregateImplementation|1073741823|";
    with_endpoint.attributes.push(pair("coprocessor$1", class));
    assert_eq!(table(with_endpoint).unwrap().attributes["coprocessor$1"], class);
    let mut copied = sent();
    copied.attributes.push(pair("REGION_REPLICATION", "1"));
    assert!(table(copied.clone()).is_ok());
    copied.attributes.push(pair("REGION_REPLICATION", "0"));
    assert!(table(copied).unwrap_err().message().contains("one server"));
    let mut twice = sent();
    twice.column_families.push(twice.column_families[0].clone());
    assert!(table(twice).unwrap_err().message().contains("twice"));
    let mut versions = sent();
    versions.column_families[0].attributes.push(pair("VERSIONS", "many"));
    assert!(table(versions).unwrap_err().message().contains("VERSIONS"));
}
