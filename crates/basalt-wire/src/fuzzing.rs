// SPDX-License-Identifier: Apache-2.0
//! Entry points for fuzzers. Not part of the public interface.
//!
//! Each target takes any bytes, as a peer may send them, and must return. `fuzz/` at the root of the repository runs them under
//! cargo-fuzz, one program a target; the tests of this module run them over sound inputs that were changed at random, and over
//! `testdata/corpus/TARGET`: what long runs found worth keeping, and whatever once failed.

mod seeds;

use basalt_model::{LATEST_TIMESTAMP, Mutation, TableId, WriteBatch};
use bytes::{Buf, Bytes};
use prost::Message;

pub use seeds::seeds;

use crate::preamble::{PREAMBLE_LEN, Preamble};
use crate::{
    CellReader, Compressor, Request, filter, multi, mutation, names, pb, read, region_name, schema, zookeeper,
};

/// What a fuzzer calls with each input.
pub type Target = fn(&[u8]);

/// Name and function of every target.
pub const TARGETS: [(&str, Target); 11] = [
    ("preamble", preamble),
    ("request", request),
    ("cells", cells),
    ("filter", filters),
    ("table", table),
    ("names", names_of),
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
            parts(param.clone(), cells.clone());
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

/// A get or a put that is taken apart says the same as its message.
fn parts(param: Bytes, mut cells: CellReader) {
    let Ok(taken) = multi::Multi::decode(param) else { return };
    for action in taken.regions.iter().flat_map(|region| &region.actions) {
        let Ok(whole) = pb::Action::decode(action.clone()) else { continue };
        if let Some(parts) = multi::GetParts::of_action(action) {
            assert_eq!(whole.index, parts.index);
            assert_eq!(whole.get.map(|get| get.row).as_deref(), Some(parts.row));
        } else if let Some(parts) = multi::PutParts::of_action(action) {
            put(&parts, &whole, &mut cells);
        } else if let Some(message) = whole.mutation {
            let _ = mutation::change(message, &mut cells);
        }
    }
}

fn put(parts: &multi::PutParts<'_>, whole: &pb::Action, cells: &mut CellReader) {
    assert_eq!(whole.index, parts.index);
    let message = whole.mutation.clone().expect("a put is a mutation");
    let (mut own, mut batch) = (cells.clone(), WriteBatch::new());
    let change = mutation::change(message, cells);
    if !parts.write(&mut own, TableId(1), &mut batch) {
        assert!(batch.is_empty());
        return;
    }
    let change = change.expect("a put that could be written");
    assert_eq!((own.remaining(), parts.durability), (cells.remaining(), change.durability));
    let Mutation::Put(put) = change.mutation else { panic!("another mutation than a put") };
    let mut expected = WriteBatch::new();
    let mut row = expected.row(TableId(1), put.row()).expect("a row key");
    for cell in &put.cells {
        let timestamp = cell.timestamp.unwrap_or(LATEST_TIMESTAMP);
        row.put(&cell.family, &cell.qualifier, timestamp, &cell.value).expect("a cell");
    }
    row.finish();
    assert_eq!(batch, expected);
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

/// The description of a table, then of a table that changes.
fn table(data: &[u8]) {
    let Ok(message) = pb::TableSchema::decode(data) else { return };
    let Ok(table) = schema::table(message) else { return };
    let again = schema::table(schema::table_schema(&table)).map(|table| schema::table_schema(&table));
    assert_eq!(again.ok(), Some(schema::table_schema(&table)));
}

/// Names of tables and regions, and two rows of `hbase:meta`.
fn names_of(data: &[u8]) {
    let _ = names::table_of_text(data).map(|name| names::table_text(&name));
    let _ = pb::TableName::decode(data).map(|name| names::table_of(&name));
    let _ = region_name::table_part(data);
    let (a, b) = data.split_at(data.len() / 2);
    assert_eq!(region_name::compare_meta_rows(a, b), region_name::compare_meta_rows(b, a).reverse());
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
mod tests;
