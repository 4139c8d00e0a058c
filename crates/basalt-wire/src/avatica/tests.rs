// SPDX-License-Identifier: Apache-2.0
use bytes::Bytes;
use prost::Message;

use super::{AvaticaError, Request, Response, pb};

#[test]
fn the_code_was_generated_from_these_sources() {
    let fnv = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let sum = include_str!("../../proto/avatica.proto").bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    let first = include_str!("../../proto/avatica_pb.generated").lines().next().unwrap();
    assert_eq!(first, format!("// Written by `make proto`; sources {sum:016x}."), "run `make proto`");
}

/// The first message of phoenixdb, byte by byte.
#[test]
fn a_connection_is_opened() {
    let name = b"org.apache.calcite.avatica.proto.Requests$OpenConnectionRequest";
    let id = b"01234567-89ab-cdef-0123-456789abcdef";
    let mut body = vec![0x0a, 0x3f];
    body.extend_from_slice(name);
    body.extend_from_slice(&[0x12, 0x32, 0x0a, 0x24]);
    body.extend_from_slice(id);
    body.extend_from_slice(&[0x12, 0x0a, 0x0a, 0x03, b'f', b'o', b'o', 0x12, 0x03, b'b', b'a', b'r']);
    let Request::OpenConnectionRequest(open) = Request::decode(body.into()).unwrap() else {
        panic!("another one")
    };
    assert_eq!(open.connection_id.as_bytes(), id);
    assert_eq!(open.info["foo"], "bar");
    let answer = Response::from(pb::OpenConnectionResponse {}).encode();
    let wire = pb::WireMessage::decode(answer).unwrap();
    assert_eq!(wire.name, "org.apache.calcite.avatica.proto.Responses$OpenConnectionResponse");
}

#[test]
fn what_is_no_request_is_said() {
    let wire = |name: &str, bytes: &'static [u8]| {
        let wrapped_message = Bytes::from_static(bytes);
        Bytes::from(pb::WireMessage { name: name.to_owned(), wrapped_message }.encode_to_vec())
    };
    let found = |body: Bytes| Request::decode(body).unwrap_err();
    assert!(matches!(found(Bytes::from_static(b"{\"request\":\"openConnection\"}")), AvaticaError::Json));
    assert!(matches!(found(Bytes::new()), AvaticaError::NoMessage));
    assert!(matches!(found(Bytes::from_static(&[0xff; 9])), AvaticaError::NoMessage));
    let name = "org.apache.calcite.avatica.proto.Requests$DropEverything";
    assert!(matches!(found(wire(name, b"")), AvaticaError::Unknown { name: told } if told == name));
    let name = "org.apache.calcite.avatica.proto.Requests$FetchRequest";
    assert!(matches!(found(wire(name, &[0x0a, 0x7f])), AvaticaError::Malformed { name: "FetchRequest", .. }));
}

#[test]
fn every_message_comes_back() {
    let fetch = pb::FetchRequest {
        connection_id: "c".to_owned(),
        statement_id: 7,
        offset: 1 << 40,
        fetch_max_row_count: 0,
        frame_max_size: -1,
    };
    let request = Request::from(fetch);
    assert_eq!(
        (Request::decode(request.encode()).unwrap(), request.name()),
        (request.clone(), "FetchRequest")
    );
    let response = Response::from(pb::SyncResultsResponse { missing_statement: false, more_results: true });
    assert_eq!(Response::decode(response.encode()).unwrap(), response);
}
