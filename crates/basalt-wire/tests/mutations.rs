// SPDX-License-Identifier: Apache-2.0
//! Whatever comes in, the decoders answer: with an operation, or with an exception. Good requests, changed at random in a few
//! places; `BASALT_FUZZ_ROUNDS` and `BASALT_FUZZ_SEED` ask for more and for others.

use basalt_model::{CellRef, CellType, Seq};
use basalt_wire::zookeeper;
use basalt_wire::{CellReader, Compressor, Request, cell_block, filter, mutation, pb, read, schema};
use bytes::{Bytes, BytesMut};
use prost::Message;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Decodes a frame as every method that a server knows, as far as it goes.
fn decode_all(frame: Bytes) {
    let Ok(Request { param: Some(param), cells, .. }) = Request::decode(frame) else { return };
    for codec in [Compressor::Gzip, Compressor::Zlib, Compressor::Snappy, Compressor::Lz4] {
        let _ = codec.decompress(cells.clone());
    }
    if let Ok(message) = pb::GetRequest::decode(param.clone()) {
        let _ = read::get(message.get);
    }
    if let Ok(message) = pb::ScanRequest::decode(param.clone()) {
        let _ = message.scan.map(read::scan);
    }
    if let Ok(message) = pb::MutateRequest::decode(param.clone()) {
        let change = mutation::change(message.mutation, &mut CellReader::new(cells.clone()));
        let changes = change.into_iter().map(|change| change.mutation).collect();
        let _ = message.condition.map(|condition| mutation::check_and_mutate(condition, changes));
    }
    if let Ok(message) = pb::MultiRequest::decode(param.clone()) {
        let mut reader = CellReader::new(cells);
        for action in message.region_action.into_iter().flat_map(|region| region.action) {
            let _ = action.get.map(read::get);
            let _ = action.mutation.map(|mutation| mutation::change(mutation, &mut reader));
        }
    }
    if let Ok(message) = pb::CreateTableRequest::decode(param.clone()) {
        let _ = schema::table(message.table_schema);
    }
    if let Ok(message) = pb::Filter::decode(param) {
        let _ = filter::decode(message);
    }
}

fn frame(message: &impl Message, cells: &[u8]) -> Vec<u8> {
    let meta = (!cells.is_empty()).then_some(pb::CellBlockMeta { length: Some(cells.len() as u32) });
    let header = pb::RequestHeader {
        call_id: Some(1),
        method_name: Some("Multi".to_owned()),
        request_param: Some(true),
        cell_block_meta: meta,
        ..Default::default()
    };
    let mut bytes = header.encode_length_delimited_to_vec();
    bytes.extend_from_slice(&message.encode_length_delimited_to_vec());
    bytes.extend_from_slice(cells);
    bytes
}

fn good_frames() -> Vec<Vec<u8>> {
    let region = pb::RegionSpecifier { r#type: 1, value: "t,,1.0123.".into() };
    let mut cells = BytesMut::new();
    for row in [&b"r1"[..], b"r2", b"r3"] {
        let cell = CellRef {
            row,
            family: b"f",
            qualifier: b"q",
            timestamp: 7,
            cell_type: CellType::Put,
            value: b"value",
            seq: Seq(0),
            tags: b"",
        };
        cell_block::encode_cell(&cell, &mut cells);
    }
    let put =
        pb::MutationProto { mutate_type: Some(2), associated_cell_count: Some(1), ..Default::default() };
    let action = |index| pb::Action { index: Some(index), mutation: Some(put.clone()), ..Default::default() };
    let region_action = pb::RegionAction {
        region: region.clone(),
        action: (0..3).map(action).collect(),
        ..Default::default()
    };
    let multi = pb::MultiRequest { region_action: vec![region_action], ..Default::default() };
    let prefix = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.PrefixFilter".to_owned(),
        serialized_filter: Some(pb::PrefixFilter { prefix: Some("r".into()) }.encode_to_vec().into()),
    };
    let list = pb::FilterList { operator: 1, filters: vec![prefix.clone(), prefix] };
    let filter = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.FilterList".to_owned(),
        serialized_filter: Some(list.encode_to_vec().into()),
    };
    let scan = pb::Scan { filter: Some(filter.clone()), max_versions: Some(3), ..Default::default() };
    let scan = pb::ScanRequest { region: Some(region.clone()), scan: Some(scan), ..Default::default() };
    let get = pb::GetRequest {
        region,
        get: pb::Get { row: "r1".into(), filter: Some(filter.clone()), ..Default::default() },
    };
    let packed = Compressor::Snappy.compress(&cells);
    vec![
        frame(&multi, &cells),
        frame(&multi, &packed),
        frame(&scan, b""),
        frame(&get, b""),
        frame(&filter, b""),
    ]
}

#[test]
fn decoders_answer_whatever_comes() {
    let mut state = number("BASALT_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let good = good_frames();
    good.iter().for_each(|frame| decode_all(Bytes::copy_from_slice(frame)));
    for _ in 0..number("BASALT_FUZZ_ROUNDS", 20_000) {
        let mut bytes = good[random() as usize % good.len()].clone();
        for _ in 0..1 + random() % 4 {
            let at = random() as usize % bytes.len();
            match random() % 4 {
                0 => bytes[at] = random() as u8,
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random() as usize % 5],
                2 => {
                    bytes.remove(at);
                }
                _ => bytes.insert(at, random() as u8),
            }
        }
        let _ = zookeeper::answer(Bytes::copy_from_slice(&bytes), &[]);
        decode_all(bytes.into());
    }
}
