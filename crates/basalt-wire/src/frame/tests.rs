// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::exception;

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| byte.is_ascii_hexdigit()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A put of a 2.6.4 client, as captured, but for its 51-byte region name.
#[test]
fn a_recorded_request() {
    let name = b"t1,,1795286637880.4e1742f77077c1c438a67f32eda5e30e.";
    let mut frame = hex("14 080e 1200 1a064d7574617465 2001 3000 38e0d403 5e 0a37 0801 1233").to_vec();
    frame.extend_from_slice(name);
    frame.extend_from_slice(&hex(
        "1223 0a027231 1002 1a0f 0a0166 120a 0a0171 12027631 18e807 20ffffffffffffffff7f 3000",
    ));
    assert_eq!(frame.len(), 0x74);
    let request = Request::decode(frame.into()).unwrap();
    assert_eq!((request.header.call_id(), request.header.method_name()), (14, "Mutate"));
    assert_eq!(request.header.timeout(), 60_000);
    let message = pb::MutateRequest::decode(request.param.unwrap()).unwrap();
    assert_eq!(&message.region.value[..], name);
    assert_eq!(message.mutation.row.as_deref(), Some(&b"r1"[..]));
    assert_eq!(message.mutation.column_value[0].qualifier_value[0].timestamp, Some(1000));
}

#[test]
fn recorded_answers() {
    let put = Response::answer(
        14,
        &pb::MutateResponse { processed: Some(true), ..Default::default() },
        Bytes::new(),
    );
    assert_eq!(put.head, hex("00000006 02 080e 02 1001"));
    let result = pb::Result { associated_cell_count: Some(1), stale: Some(false), ..Default::default() };
    let get = pb::GetResponse { result: Some(result) };
    let cells = hex("0000001a 00000010 00000002 0002 7231 01 66 71 00000000000003e8 04 7631");
    let answer = Response::answer(15, &get, cells);
    assert_eq!(answer.head, hex("0000002c 06 080f 1a02 081e 06 0a04 1001 2000"));
    let id =
        pb::GetConnectionRegistryResponse { cluster_id: "778e563a-97c0-4c29-ab1a-ef140064aae1".to_owned() };
    let registry = Response::answer(PREAMBLE_CALL, &id, Bytes::new());
    assert_eq!(registry.head[..14], hex("0000002e 06 08ffffffff0f 26 0a24"));
}

#[test]
fn failures_end_with_their_header() {
    let failure = Response::failure(3, &Exception::new(exception::NOT_SERVING_REGION, "no"));
    let mut frame = failure.head.slice(4..);
    let header = pb::ResponseHeader::decode_length_delimited(&mut frame).unwrap();
    assert!(frame.is_empty());
    let exception = header.exception.unwrap();
    assert_eq!(exception.exception_class_name(), "org.apache.hadoop.hbase.NotServingRegionException");
    assert!(!exception.do_not_retry());
}

#[test]
fn frames_that_lie_about_lengths() {
    let truncated = |part, frame_len| Err(FrameError::Truncated { part, frame_len });
    assert_eq!(Request::decode(Bytes::new()), truncated("header", 0));
    assert_eq!(Request::decode(hex("05 0800")), truncated("header", 3));
    assert_eq!(Request::decode(hex("04 0800 2001 7f 00")), truncated("message", 7));
    assert_eq!(
        Request::decode(hex("08 0800 2001 2a02 0810 00 ffff")),
        Err(FrameError::CellBlock { announced: 16, found: 2 })
    );
    // A varint that never ends.
    assert_eq!(Request::decode(hex("ffffffffffffffffffffff")), truncated("header", 11));
    assert!(matches!(Request::decode(hex("02 ffff")), Err(FrameError::Malformed { part: "header", .. })));
}
