// SPDX-License-Identifier: Apache-2.0
use basalt_model::Seq;
use bytes::Bytes;
use prost::Message;

use super::*;
use crate::pb;

/// Puts of `v1` into row `r1`, `f:q`: at 1000, and at the time of the commit.
const OF_1000: &[u8] = b"\0\0\0\x1a\0\0\0\x10\0\0\0\x02\0\x02r1\x01fq\0\0\0\0\0\0\x03\xe8\x04v1";
const OF_NOW: &[u8] = b"\0\0\0\x1a\0\0\0\x10\0\0\0\x02\0\x02r1\x01fp\x7f\xff\xff\xff\xff\xff\xff\xff\x04v1";

fn message() -> pb::MutationProto {
    pb::MutationProto {
        row: Some("r1".into()),
        mutate_type: Some(MutationType::Put as i32),
        associated_cell_count: Some(2),
        durability: Some(pb::mutation_proto::Durability::AsyncWal as i32),
        timestamp: Some(77),
        nonce: Some(5),
        ..Default::default()
    }
}

fn action(message: pb::MutationProto) -> Vec<u8> {
    pb::Action { index: Some(7), mutation: Some(message), ..Default::default() }.encode_to_vec()
}

fn written(action: &[u8], block: &[u8]) -> Option<Vec<String>> {
    let mut cells = CellReader::new(Bytes::copy_from_slice(block));
    let mut batch = WriteBatch::new();
    let parts = PutParts::of_action(action)?;
    if !parts.write(&mut cells, TableId(1), &mut batch) {
        assert!(batch.is_empty() && cells.remaining() == block.len(), "nothing is taken or written");
        return None;
    }
    assert_eq!((batch.len(), cells.remaining()), (1, 0));
    let row = batch.get(0).1;
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let cell = |cell: basalt_model::CellRef<'_>| {
        format!("{}/{}@{}={}", text(cell.row), text(cell.qualifier), cell.timestamp, text(cell.value))
    };
    Some(row.cells(Seq(0)).map(cell).collect())
}

#[test]
fn a_put_goes_from_the_block_into_the_batch() {
    let action = action(message());
    let parts = PutParts::of_action(&action).unwrap();
    assert_eq!((parts.index, parts.row, parts.durability), (Some(7), &b"r1"[..], Some(Durability::Async)));
    let block = [OF_1000, OF_NOW].concat();
    assert_eq!(written(&action, &block).unwrap(), ["r1/p@77=v1", "r1/q@1000=v1"]);
}

#[test]
fn the_worked_example_holds() {
    let parts = PutParts::of_action(b"\x08\x07\x12\x08\x0a\x02r1\x10\x02\x40\x01").unwrap();
    let expected =
        PutParts { index: Some(7), row: b"r1", durability: None, timestamp: LATEST_TIMESTAMP, cell_count: 1 };
    assert_eq!(parts, expected);
}

#[test]
fn what_is_no_put_of_the_usual_form_has_no_parts() {
    let with = |change: fn(&mut pb::MutationProto)| {
        let mut message = message();
        change(&mut message);
        action(message)
    };
    let attribute = pb::NameBytesPair { name: "_ttl".into(), value: Some(Bytes::from_static(b"12345678")) };
    let mut with_attribute = message();
    with_attribute.attribute.push(attribute);
    for action in [
        Vec::new(),
        b"\x08\x07".to_vec(),
        b"\x12\x00".to_vec(),
        b"\x12\x09\x0a\x02r1".to_vec(),
        action(with_attribute),
        with(|message| message.mutate_type = Some(MutationType::Delete as i32)),
        with(|message| message.mutate_type = None),
        with(|message| message.row = None),
        with(|message| message.associated_cell_count = Some(0)),
        with(|message| message.associated_cell_count = Some(-1)),
        with(|message| message.column_value.push(Default::default())),
        [action(message()), action(message())].concat(),
    ] {
        assert_eq!(PutParts::of_action(&action), None, "{action:x?}");
    }
}

#[test]
fn cells_that_have_to_be_looked_at_are_left_where_they_are() {
    let action = action(message());
    let block = [OF_1000, OF_NOW].concat();
    let changed = |at: usize, value: u8| {
        let mut block = block.clone();
        block[at] = value;
        block
    };
    let mut tagged = changed(3, 0x1a + 6);
    tagged.splice(OF_1000.len()..OF_1000.len(), *b"\0\x04\0\x01\x02x");
    for block in [
        OF_1000.to_vec(),
        block[..block.len() - 1].to_vec(),
        tagged,
        // Another row, a marker, a negative timestamp.
        changed(15, b'2'),
        changed(27, 8),
        changed(19, 0xff),
    ] {
        assert_eq!(written(&action, &block), None, "{block:x?}");
    }
}
