// SPDX-License-Identifier: Apache-2.0
//! Entry points for fuzzers. Not part of the public interface.
//!
//! Each target takes any bytes, as a peer may send them, and must return. `fuzz/` at the root of the repository runs them under
//! cargo-fuzz, one program a target; the tests of this module run them over requests that were changed at random.

use bytes::{Buf, Bytes};
use prost::Message;

use crate::preamble::{PREAMBLE_LEN, Preamble};
use crate::{CellReader, Compressor, Request, filter, multi, mutation, pb, read, schema, zookeeper};

/// What a fuzzer calls with each input.
pub type Target = fn(&[u8]);

/// Name and function of every target.
pub const TARGETS: [(&str, Target); 9] = [
    ("preamble", preamble),
    ("request", request),
    ("cells", cells),
    ("filter", filters),
    ("zookeeper", quorum),
    ("codec_gzip", |data| codec(Compressor::Gzip, data)),
    ("codec_zlib", |data| codec(Compressor::Zlib, data)),
    ("codec_snappy", |data| codec(Compressor::Snappy, data)),
    ("codec_lz4", |data| codec(Compressor::Lz4, data)),
];

/// The function of a target; panics if there is none of this name.
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no target {name}; there are {:?}", TARGETS.map(|(name, _)| name))).1
}

fn preamble(data: &[u8]) {
    let Some((first, rest)) = data.split_first_chunk::<PREAMBLE_LEN>() else { return };
    let _ = Preamble::decode(*first);
    let _ = pb::ConnectionHeader::decode(rest);
}

/// A frame, down to the operations that it asks for.
fn request(data: &[u8]) {
    let Ok(request) = Request::decode(Bytes::copy_from_slice(data)) else { return };
    let Request { header, param: Some(param), cells } = request else { return };
    let mut cells = CellReader::new(cells);
    match header.method_name() {
        "Get" => drop(decoded::<pb::GetRequest>(param).map(|request| read::get(request.get))),
        "Scan" => drop(decoded::<pb::ScanRequest>(param).map(|request| request.scan.map(read::scan))),
        "Mutate" => {
            let Some(request) = decoded::<pb::MutateRequest>(param) else { return };
            let changed = mutation::change(request.mutation, &mut cells);
            if let (Ok(change), Some(condition)) = (changed, request.condition) {
                let _ = mutation::check_and_mutate(condition, vec![change.mutation]);
            }
        }
        "Multi" => {
            parts(param.clone());
            if let Some(request) = decoded::<pb::MultiRequest>(param) {
                actions(request, &mut cells);
            }
        }
        "ExecService" => {
            let _ = decoded::<pb::CoprocessorServiceRequest>(param);
        }
        _ => {
            let _ =
                decoded::<pb::CreateTableRequest>(param).map(|request| schema::table(request.table_schema));
        }
    }
}

/// A get that is taken apart says the same as its message.
fn parts(param: Bytes) {
    let Ok(taken) = multi::Multi::decode(param) else { return };
    for action in taken.regions.iter().flat_map(|region| &region.actions) {
        let Some(parts) = multi::GetParts::of_action(action) else { continue };
        let Ok(whole) = pb::Action::decode(action.clone()) else { continue };
        assert_eq!(whole.index, parts.index);
        assert_eq!(whole.get.map(|get| get.row).as_deref(), Some(parts.row));
    }
}

fn decoded<M: Message + Default>(param: Bytes) -> Option<M> {
    M::decode(param).ok()
}

fn actions(request: pb::MultiRequest, cells: &mut CellReader) {
    for action in request.region_action.into_iter().flat_map(|region| region.action) {
        if let Some(get) = action.get {
            let _ = read::get(get);
        }
        if let Some(message) = action.mutation
            && mutation::change(message, cells).is_err()
        {
            return;
        }
    }
}

/// The first two bytes say how many cells are asked for.
fn cells(data: &[u8]) {
    let mut data = Bytes::copy_from_slice(data);
    let Ok(count) = data.try_get_u16() else { return };
    let _ = CellReader::new(data).take(count.into());
}

fn filters(data: &[u8]) {
    let _ = pb::Filter::decode(data).map(filter::decode);
}

fn quorum(data: &[u8]) {
    let packet = Bytes::copy_from_slice(data);
    let _ = zookeeper::connect(packet.clone(), 1);
    let _ = zookeeper::answer(packet, &[]);
}

fn codec(codec: Compressor, data: &[u8]) {
    let _ = codec.decompress(Bytes::copy_from_slice(data));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<Vec<u8>> {
        let region = pb::RegionSpecifier { r#type: 1, value: "t,,1.0123.".into() };
        let filter = pb::Filter {
            name: "org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter".into(),
            serialized_filter: Some(Bytes::new()),
        };
        let get = pb::Get { row: "r".into(), filter: Some(filter.clone()), ..Default::default() };
        let put = pb::MutationProto {
            row: Some("r1".into()),
            mutate_type: Some(pb::mutation_proto::MutationType::Put as i32),
            associated_cell_count: Some(1),
            ..Default::default()
        };
        let cell = b"\0\0\0\x1a\0\0\0\x10\0\0\0\x02\0\x02r1\x01fq\0\0\0\0\0\0\x03\xe8\x04v1";
        let action = pb::Action { mutation: Some(put.clone()), ..Default::default() };
        let region_action =
            pb::RegionAction { region: region.clone(), action: vec![action], ..Default::default() };
        let scan = pb::Scan { start_row: Some("a".into()), filter: Some(filter), ..Default::default() };
        let frame = |method: &str, message: Vec<u8>, cells: &[u8]| {
            let header = pb::RequestHeader {
                call_id: Some(1),
                method_name: Some(method.into()),
                request_param: Some(true),
                cell_block_meta: (!cells.is_empty())
                    .then_some(pb::CellBlockMeta { length: Some(cells.len() as u32) }),
                ..Default::default()
            };
            let mut frame = header.encode_length_delimited_to_vec();
            prost::encoding::encode_varint(message.len() as u64, &mut frame);
            frame.extend(message);
            frame.extend_from_slice(cells);
            frame
        };
        vec![
            frame("Get", pb::GetRequest { region: region.clone(), get }.encode_to_vec(), b""),
            frame(
                "Scan",
                pb::ScanRequest { region: Some(region.clone()), scan: Some(scan), ..Default::default() }
                    .encode_to_vec(),
                b"",
            ),
            frame(
                "Mutate",
                pb::MutateRequest { region, mutation: put, ..Default::default() }.encode_to_vec(),
                cell,
            ),
            frame(
                "Multi",
                pb::MultiRequest { region_action: vec![region_action], ..Default::default() }.encode_to_vec(),
                cell,
            ),
        ]
    }

    /// Requests with bytes changed, cut off and repeated: every target takes all of them.
    #[test]
    fn what_was_changed_at_random_is_read_or_refused() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize % below
        };
        for sent in requests() {
            for _ in 0..3_000 {
                let mut changed = sent.clone();
                for _ in 0..=random(4) {
                    let at = random(changed.len());
                    match random(3) {
                        0 => changed[at] = random(256) as u8,
                        1 => changed.truncate(at + 1),
                        _ => changed.insert(at, random(256) as u8),
                    }
                }
                for (_, target) in TARGETS {
                    target(&changed);
                }
            }
        }
    }

    #[test]
    fn the_requests_themselves_are_read() {
        for sent in requests() {
            assert!(Request::decode(sent.into()).is_ok());
        }
    }
}
