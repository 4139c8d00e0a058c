// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::pb;

fn nodes() -> Vec<Node> {
    let id = pb::ClusterId { cluster_id: "a".to_owned() };
    let node = |path: &str, data| Node { path: path.to_owned(), data };
    vec![node("/hbase/hbaseid", node_data(&id)), node("/hbase/rs/h,1,2", Bytes::new())]
}

fn request(op: i32, path: &str) -> Bytes {
    let mut packet = BytesMut::new();
    packet.put_i32(7);
    packet.put_i32(op);
    packet.put_u32(path.len() as u32);
    packet.put_slice(path.as_bytes());
    packet.put_u8(0);
    packet.freeze()
}

/// Error and body of an answer.
fn ask(op: i32, path: &str) -> (i32, Bytes) {
    let Some(Outcome::Answer(mut packet)) = answer(request(op, path), &nodes()) else { panic!() };
    assert_eq!(packet.get_u32() as usize, packet.len());
    assert_eq!(packet.get_i32(), 7);
    packet.advance(8);
    (packet.get_i32(), packet)
}

#[test]
fn data_and_children() {
    let (error, body) = ask(OP_GET_DATA, "/hbase/hbaseid");
    assert_eq!((error, &body[..24]), (0, &b"\0\0\0\x12\xff\0\0\0\x06basaltPBUF\x0a\x01a\0\0"[..]));
    assert_eq!(body.len(), 4 + 18 + 68);
    let (error, body) = ask(OP_GET_CHILDREN, "/hbase");
    assert_eq!((error, &body[..]), (0, &b"\0\0\0\x02\0\0\0\x07hbaseid\0\0\0\x02rs"[..]));
    assert_eq!(ask(OP_EXISTS, "/hbase/nothing").0, NO_NODE);
    assert_eq!(ask(1, "/hbase/new").0, UNIMPLEMENTED);
}

#[test]
fn damaged_packets() {
    let whole = request(OP_GET_DATA, "/hbase/hbaseid");
    for len in 0..12 + "/hbase/hbaseid".len() {
        assert_eq!(answer(whole.slice(..len), &nodes()), None, "{len} bytes");
        assert!(len >= 16 || connect(whole.slice(..len), 1).is_none());
    }
}
