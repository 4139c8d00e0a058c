// SPDX-License-Identifier: Apache-2.0
//! As much of ZooKeeper's protocol as clients of HBase read with: who looks for the cluster there asks for a few nodes and leaves.
//!
//! ```text
//! packet: int32 len | payload; string and buffer: int32 len | bytes
//! connect: int32 0 | int64 last zxid | int32 timeout ms | int64 session | buffer password | bool read-only
//!       -> int32 0 | int32 timeout ms | int64 session | buffer password | bool read-only
//! request: int32 xid | int32 op | body      reply: int32 xid | int64 zxid | int32 error | body
//! ```
//!
//! Data of HBase's nodes: `ff | int32 len | id of the writer | "PBUF" | message`.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;

/// Longest packet that is read, in bytes, as ZooKeeper's own limit.
pub const PACKET_LEN_MAX: u32 = 1 << 20;

const OK: i32 = 0;
const NO_NODE: i32 = -101;
const UNIMPLEMENTED: i32 = -6;
const OP_EXISTS: i32 = 3;
const OP_GET_DATA: i32 = 4;
const OP_GET_CHILDREN: i32 = 8;
const OP_PING: i32 = 11;
const OP_GET_CHILDREN_2: i32 = 12;
const OP_SET_WATCHES: i32 = 101;
const OP_SET_WATCHES_2: i32 = 105;
const OP_CLOSE: i32 = -11;

/// A node: its path, and its data if it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// From the root, e.g. `/hbase/master`.
    pub path: String,
    /// What it holds.
    pub data: Bytes,
}

/// Data of a node in HBase's form.
pub fn node_data(message: &impl Message) -> Bytes {
    let id = b"basalt";
    let mut data = BytesMut::with_capacity(message.encoded_len() + 24);
    data.put_u8(0xff);
    data.put_u32(id.len() as u32);
    data.put_slice(id);
    data.put_slice(b"PBUF");
    message.encode_raw(&mut data);
    data.freeze()
}

/// The answer to a client's first packet, with its length; `None` if the packet is none.
pub fn connect(mut packet: Bytes, session: u64) -> Option<Bytes> {
    packet.try_get_i32().ok()?;
    packet.try_get_i64().ok()?;
    let timeout_ms = packet.try_get_i32().ok()?.clamp(4_000, 180_000);
    let mut answer = BytesMut::new();
    answer.put_i32(0);
    answer.put_i32(timeout_ms);
    answer.put_u64(session);
    answer.put_u32(16);
    answer.put_bytes(0, 16);
    answer.put_u8(0);
    Some(framed(&answer))
}

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// This packet, with its length.
    Answer(Bytes),
    /// This packet, and then the end of the connection.
    Last(Bytes),
}

/// Answers a request out of `nodes`, which are sorted by path; `None` if the packet is no request.
pub fn answer(mut packet: Bytes, nodes: &[Node]) -> Option<Outcome> {
    let xid = packet.try_get_i32().ok()?;
    let op = packet.try_get_i32().ok()?;
    let mut body = BytesMut::new();
    let error = match op {
        OP_EXISTS | OP_GET_DATA | OP_GET_CHILDREN | OP_GET_CHILDREN_2 => {
            read_node(op, &take_string(&mut packet)?, nodes, &mut body)
        }
        OP_PING | OP_SET_WATCHES | OP_SET_WATCHES_2 | OP_CLOSE => OK,
        _ => UNIMPLEMENTED,
    };
    let mut reply = BytesMut::with_capacity(16 + body.len());
    reply.put_i32(xid);
    reply.put_i64(1);
    reply.put_i32(error);
    reply.put_slice(&body);
    let packet = framed(&reply);
    Some(if op == OP_CLOSE { Outcome::Last(packet) } else { Outcome::Answer(packet) })
}

fn read_node(op: i32, path: &str, nodes: &[Node], body: &mut BytesMut) -> i32 {
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let prefix = if path == "/" { "/".to_owned() } else { format!("{path}/") };
    let below = |node: &&Node| node.path.strip_prefix(&prefix).is_some_and(|rest| !rest.is_empty());
    let mut children: Vec<&str> = Vec::new();
    for node in nodes.iter().filter(below) {
        let rest = &node.path[prefix.len()..];
        let child = rest.split('/').next().unwrap_or(rest);
        if !children.contains(&child) {
            children.push(child);
        }
    }
    let found = nodes.iter().find(|node| node.path == path);
    if found.is_none() && children.is_empty() && path != "/" {
        return NO_NODE;
    }
    let data = found.map(|node| node.data.clone()).unwrap_or_default();
    if op == OP_GET_DATA {
        body.put_u32(data.len() as u32);
        body.put_slice(&data);
    }
    if op == OP_GET_CHILDREN || op == OP_GET_CHILDREN_2 {
        body.put_u32(children.len() as u32);
        for child in &children {
            body.put_u32(child.len() as u32);
            body.put_slice(child.as_bytes());
        }
    }
    if op != OP_GET_CHILDREN {
        put_stat(data.len(), children.len(), body);
    }
    OK
}

/// czxid, mzxid, ctime, mtime, three versions, owner, lengths, pzxid: of a node that was written once.
fn put_stat(data_len: usize, children: usize, body: &mut BytesMut) {
    for number in [1_i64, 1, 0, 0] {
        body.put_i64(number);
    }
    body.put_bytes(0, 12);
    body.put_i64(0);
    body.put_u32(data_len as u32);
    body.put_u32(children as u32);
    body.put_i64(1);
}

fn take_string(packet: &mut Bytes) -> Option<String> {
    let len = usize::try_from(packet.try_get_i32().ok()?).ok()?;
    if len > packet.len() {
        return None;
    }
    String::from_utf8(packet.split_to(len).to_vec()).ok()
}

fn framed(payload: &[u8]) -> Bytes {
    let mut packet = BytesMut::with_capacity(4 + payload.len());
    packet.put_u32(payload.len() as u32);
    packet.put_slice(payload);
    packet.freeze()
}

#[cfg(test)]
mod tests;
