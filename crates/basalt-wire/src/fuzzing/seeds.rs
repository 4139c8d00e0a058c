// SPDX-License-Identifier: Apache-2.0
//! Sound inputs for every target.

use bytes::Bytes;
use prost::Message;

use crate::{Compressor, pb};

const FILTERS: &str = "org.apache.hadoop.hbase.filter.";
/// A put of `v1` to row `r1` as a cell block has it.
const CELL: &[u8] = b"\0\0\0\x1a\0\0\0\x10\0\0\0\x02\0\x02r1\x01fq\0\0\0\0\0\0\x03\xe8\x04v1";

/// The name of a target, and what it takes.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let header = pb::ConnectionHeader { service_name: Some("ClientService".into()), ..Default::default() };
    let mut seeds = vec![
        ("preamble", [b"HBas\0\x50", &header.encode_to_vec()[..]].concat()),
        ("preamble", b"Regist".to_vec()),
        ("cells", [b"\0\x02", CELL, CELL].concat()),
        ("table", table().encode_to_vec()),
        ("names", b"ns:t,r1,1795286637880.4e1742f77077c1c438a67f32eda5e30e.".to_vec()),
        ("names", b"t,a,1t,b,1".to_vec()),
        ("zookeeper", b"\0\0\0\x07\0\0\0\x04\0\0\0\x06/hbase\0".to_vec()),
        ("zookeeper", [&[0; 14][..], &b"\x7d\0\0\0\0"[..]].concat()),
    ];
    seeds.extend(requests().into_iter().map(|frame| ("request", frame)));
    seeds.extend(filters().into_iter().map(|filter| ("filter", filter.encode_to_vec())));
    let raw = CELL.repeat(20);
    for (name, codec) in [
        ("codec_gzip", Compressor::Gzip),
        ("codec_zlib", Compressor::Zlib),
        ("codec_snappy", Compressor::Snappy),
        ("codec_lz4", Compressor::Lz4),
    ] {
        seeds.push((name, codec.compress(&raw).to_vec()));
        seeds.push((name, codec.compress(b"").to_vec()));
    }
    seeds
}

fn table() -> pb::TableSchema {
    let pair = |first: &'static str, second: &'static str| pb::BytesBytesPair {
        first: first.into(),
        second: second.into(),
    };
    let family = pb::ColumnFamilySchema {
        name: "f".into(),
        attributes: vec![pair("VERSIONS", "3"), pair("TTL", "86400"), pair("DATA_BLOCK_ENCODING", "DIFF")],
        configuration: vec![pb::NameStringPair { name: "COMPRESSION".into(), value: "ZSTD".into() }],
    };
    pb::TableSchema {
        table_name: Some(pb::TableName { namespace: "ns".into(), qualifier: "t".into() }),
        attributes: vec![pair("IS_META", "false"), pair("MAX_FILESIZE", "1000000")],
        column_families: vec![family],
        configuration: Vec::new(),
    }
}

fn filter(name: &str, payload: &impl Message) -> pb::Filter {
    let serialized_filter = Some(payload.encode_to_vec().into());
    pb::Filter { name: format!("{FILTERS}{name}"), serialized_filter }
}

fn filters() -> Vec<pb::Filter> {
    let comparator = |name: &str, bytes: &'static [u8]| pb::Comparator {
        name: format!("{FILTERS}{name}"),
        serialized_comparator: Some(Bytes::from_static(bytes)),
    };
    let binary = || comparator("BinaryComparator", b"\x0a\x04\x0a\x02v1");
    let compare_filter = |comparator| pb::CompareFilter { compare_op: 5, comparator: Some(comparator) };
    let row = filter("RowFilter", &pb::RowFilter { compare_filter: compare_filter(binary()) });
    let regex = pb::RegexStringComparator {
        pattern: "a.*(b|c)[0-9]+$".into(),
        pattern_flags: 34,
        charset: "UTF-8".into(),
        engine: Some("JAVA".into()),
    };
    let regex = pb::Comparator {
        name: format!("{FILTERS}RegexStringComparator"),
        serialized_comparator: Some(regex.encode_to_vec().into()),
    };
    let value = filter("ValueFilter", &pb::ValueFilter { compare_filter: compare_filter(regex) });
    let keys = pb::FuzzyRowFilter {
        fuzzy_keys_data: vec![pb::BytesBytesPair { first: "ab".into(), second: b"\xff\0"[..].into() }],
        is_mask_v2: Some(true),
    };
    let skip = filter("SkipFilter", &pb::SkipFilter { filter: row.clone() });
    let list = pb::FilterList { operator: 2, filters: vec![row.clone(), skip.clone(), value.clone()] };
    let plain = |name: &str, payload: &'static [u8]| pb::Filter {
        name: format!("{FILTERS}{name}"),
        serialized_filter: Some(Bytes::from_static(payload)),
    };
    vec![
        row,
        value,
        skip,
        filter("FuzzyRowFilter", &keys),
        filter("FilterList", &list),
        plain("PrefixFilter", b"\x0a\x02r1"),
        plain("PageFilter", b"\x08\x19"),
        plain("TimestampsFilter", b"\x0a\x02\x01\x02\x10\x01"),
        plain("ColumnRangeFilter", b"\x0a\x01a\x10\x01\x1a\x01b\x20\x00"),
        plain("FirstKeyOnlyFilter", b""),
    ]
}

fn requests() -> Vec<Vec<u8>> {
    let region = pb::RegionSpecifier { r#type: 1, value: "t,,1.0123.".into() };
    let first_key = filter("FirstKeyOnlyFilter", &pb::KeyOnlyFilter::default());
    let get = pb::Get { row: "r".into(), filter: Some(first_key.clone()), ..Default::default() };
    let put = pb::MutationProto {
        row: Some("r1".into()),
        mutate_type: Some(pb::mutation_proto::MutationType::Put as i32),
        associated_cell_count: Some(1),
        ..Default::default()
    };
    let of_put = pb::Action { mutation: Some(put.clone()), ..Default::default() };
    let of_get = pb::Action { index: Some(1), get: Some(get.clone()), ..Default::default() };
    let region_action =
        pb::RegionAction { region: region.clone(), action: vec![of_put, of_get], ..Default::default() };
    let scan = pb::Scan { start_row: Some("a".into()), filter: Some(first_key), ..Default::default() };
    let get = pb::GetRequest { region: region.clone(), get };
    let scan = pb::ScanRequest { region: Some(region.clone()), scan: Some(scan), ..Default::default() };
    let mutate = pb::MutateRequest { region, mutation: put, ..Default::default() };
    let multi = pb::MultiRequest { region_action: vec![region_action], ..Default::default() };
    let create = pb::CreateTableRequest { table_schema: table(), ..Default::default() };
    vec![
        frame("Get", &get, b""),
        frame("Scan", &scan, b""),
        frame("Mutate", &mutate, CELL),
        frame("Multi", &multi, CELL),
        frame("CreateTable", &create, b""),
    ]
}

fn frame(method: &str, message: &impl Message, cells: &[u8]) -> Vec<u8> {
    let length = Some(cells.len() as u32).filter(|&length| length > 0);
    let header = pb::RequestHeader {
        call_id: Some(1),
        method_name: Some(method.into()),
        request_param: Some(true),
        cell_block_meta: length.map(|length| pb::CellBlockMeta { length: Some(length) }),
        ..Default::default()
    };
    let mut frame = header.encode_length_delimited_to_vec();
    frame.extend(message.encode_length_delimited_to_vec());
    frame.extend_from_slice(cells);
    frame
}
