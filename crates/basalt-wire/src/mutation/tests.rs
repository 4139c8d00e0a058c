// SPDX-License-Identifier: Apache-2.0
use super::*;
use pb::mutation_proto::{ColumnValue, MutationType, column_value::QualifierValue};

fn inline(kind: MutationType, values: Vec<QualifierValue>) -> pb::MutationProto {
    pb::MutationProto {
        row: Some("r1".into()),
        mutate_type: Some(kind as i32),
        column_value: vec![ColumnValue { family: "f".into(), qualifier_value: values }],
        timestamp: Some(i64::MAX as u64),
        ..Default::default()
    }
}

fn value(value: &'static [u8], timestamp: Option<u64>) -> QualifierValue {
    QualifierValue { qualifier: Some("q".into()), value: Some(value.into()), timestamp, ..Default::default() }
}

fn mutation(message: pb::MutationProto) -> Mutation {
    change(message, &mut CellReader::default()).unwrap().mutation
}

#[test]
fn puts_inside_of_the_message() {
    let message = inline(MutationType::Put, vec![value(b"v", Some(1000)), value(b"w", None)]);
    let expected = Put::new("r1").add_at("f", "q", 1000, "v").add("f", "q", "w");
    assert_eq!(mutation(message), expected.into());
}

#[test]
fn a_marker_in_a_put_is_not_taken_for_a_value() {
    let marker = QualifierValue { delete_type: Some(1), ..value(b"", None) };
    let message = inline(MutationType::Put, vec![value(b"v", None), marker]);
    let refused = change(message, &mut CellReader::default()).expect_err("markers are for deletes");
    assert_eq!(refused.message(), "a put holds a delete marker");
}

#[test]
fn puts_from_the_block() {
    let block = Bytes::from_static(
        b"\0\0\0\x1a\0\0\0\x10\0\0\0\x02\0\x02r1\x01fq\x7f\xff\xff\xff\xff\xff\xff\xff\x04v1",
    );
    let message = pb::MutationProto {
        mutate_type: Some(MutationType::Put as i32),
        associated_cell_count: Some(1),
        ..Default::default()
    };
    let mut cells = CellReader::new(block);
    assert_eq!(
        change(message.clone(), &mut cells).unwrap().mutation,
        Put::new("r1").add("f", "q", "v1").into()
    );
    assert!(change(message, &mut cells).is_err(), "no cell is left");
}

#[test]
fn deletes_of_every_kind() {
    let part = |delete_type, timestamp| QualifierValue {
        delete_type: Some(delete_type),
        timestamp,
        ..value(b"", None)
    };
    let message =
        inline(MutationType::Delete, vec![part(0, None), part(0, Some(5)), part(1, None), part(3, Some(7))]);
    let expected = Delete::new("r1").newest_version("f", "q").version("f", "q", 5).column("f", "q");
    assert_eq!(mutation(message), expected.family_version("f", 7).into());
    let whole = pb::MutationProto {
        column_value: Vec::new(),
        timestamp: Some(9),
        ..inline(MutationType::Delete, vec![])
    };
    assert_eq!(mutation(whole), Delete::up_to("r1", 9).into());
}

#[test]
fn increments_and_their_wishes() {
    let mut message = inline(MutationType::Increment, vec![value(b"\0\0\0\0\0\0\0\x05", None)]);
    message.attribute =
        vec![pb::NameBytesPair { name: RETURN_RESULTS.to_owned(), value: Some(Bytes::from_static(b"\0")) }];
    message.nonce = Some(7);
    let found = change(message, &mut CellReader::default()).unwrap();
    assert_eq!(found.mutation, Increment::new("r1").add("f", "q", 5).into());
    assert_eq!((found.return_results, found.nonce), (false, 7));
    let short = inline(MutationType::Increment, vec![value(b"\x05", None)]);
    assert!(change(short, &mut CellReader::default()).is_err());
}

#[test]
fn a_change_has_one_row() {
    let block = Bytes::from_static(
        b"\0\0\0\x1a\0\0\0\x10\0\0\0\x02\0\x02r1\x01fq\x7f\xff\xff\xff\xff\xff\xff\xff\x04v1",
    );
    let message = pb::MutationProto {
        row: Some("r2".into()),
        mutate_type: Some(MutationType::Put as i32),
        associated_cell_count: Some(1),
        ..Default::default()
    };
    assert!(change(message, &mut CellReader::new(block)).unwrap_err().message().contains("row r1"));
}

#[test]
fn the_empty_value_of_a_condition() {
    let condition = pb::Condition {
        row: "r".into(),
        family: Some("f".into()),
        qualifier: Some("q".into()),
        ..Default::default()
    };
    let found = check_and_mutate(condition, Vec::new()).unwrap();
    assert_eq!(found, CheckAndMutate::if_not_exists("r", "f", "q"));
}
