// SPDX-License-Identifier: Apache-2.0
//! Requests and answers. Integers are big-endian, `varint` is protobuf's.
//!
//! ```text
//! request:  int32 total | varint len, RequestHeader | varint len, message | cell block
//! answer:   int32 total | varint len, ResponseHeader | varint len, message | cell block
//! ```
//!
//! The header says how long the cell block is; it is the rest of the frame. A failed call's answer ends with its header.
//!
//! The answer to call 0, an empty message: `00000004 | 02 0800 | 00`.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{decode_varint, encode_varint, encoded_len_varint};

use crate::exception::Exception;
use crate::pb;

/// Longest request that is read, in bytes, as in HBase.
pub const REQUEST_LEN_MAX: u32 = 256 << 20;
/// The call of answers to preambles.
pub const PREAMBLE_CALL: u32 = u32::MAX;

/// A frame that is none. Nothing after it on its connection can be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame ends inside of a part.
    #[error("a frame of {frame_len} bytes ends inside of its {part}")]
    Truncated {
        /// The part.
        part: &'static str,
        /// Length of the frame.
        frame_len: usize,
    },
    /// A part is no protobuf message.
    #[error("the {part} of a frame cannot be read: {why}")]
    Malformed {
        /// The part.
        part: &'static str,
        /// What the decoder says.
        why: String,
    },
    /// The cell block is not what the header says.
    #[error("the header announces a cell block of {announced} bytes; the frame has {found}")]
    CellBlock {
        /// Length in the header.
        announced: usize,
        /// Rest of the frame.
        found: usize,
    },
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its number, the method, deadlines.
    pub header: pb::RequestHeader,
    /// The message, still encoded; `None` if the header says that there is none.
    pub param: Option<Bytes>,
    /// The cell block, still compressed if the connection compresses.
    pub cells: Bytes,
}

impl Request {
    /// Reads a frame, its length left out.
    pub fn decode(mut frame: Bytes) -> Result<Self, FrameError> {
        let frame_len = frame.len();
        let header = delimited(&mut frame, "header", frame_len)?;
        let header = pb::RequestHeader::decode(header)
            .map_err(|error| FrameError::Malformed { part: "header", why: error.to_string() })?;
        let param = match header.request_param() {
            true => Some(delimited(&mut frame, "message", frame_len)?),
            false => None,
        };
        let announced = header.cell_block_meta.as_ref().map_or(0, |meta| meta.length()) as usize;
        if announced != frame.len() {
            return Err(FrameError::CellBlock { announced, found: frame.len() });
        }
        Ok(Self { header, param, cells: frame })
    }
}

fn delimited(frame: &mut Bytes, part: &'static str, frame_len: usize) -> Result<Bytes, FrameError> {
    let truncated = FrameError::Truncated { part, frame_len };
    let len = decode_varint(frame).map_err(|_| truncated.clone())?;
    match usize::try_from(len) {
        Ok(len) if len <= frame.len() => Ok(frame.split_to(len)),
        _ => Err(truncated),
    }
}

/// An answer, ready to be sent: first `head`, then `cells`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Length, header and message.
    pub head: Bytes,
    /// The cell block, compressed if the connection compresses.
    pub cells: Bytes,
}

impl Response {
    /// A message and its cells; no block is announced if there are none.
    pub fn answer(call_id: u32, message: &impl Message, cells: Bytes) -> Self {
        Self::encoded(call_id, &message.encode_to_vec(), cells)
    }

    /// The same of a message that is encoded already.
    pub fn encoded(call_id: u32, message: &[u8], cells: Bytes) -> Self {
        let length = (!cells.is_empty()).then(|| pb::CellBlockMeta { length: Some(cells.len() as u32) });
        let header = pb::ResponseHeader { call_id: Some(call_id), exception: None, cell_block_meta: length };
        let header_len = header.encoded_len();
        let framed = |len: usize| encoded_len_varint(len as u64) + len;
        let len = framed(header_len) + framed(message.len());
        let mut head = BytesMut::with_capacity(4 + len);
        head.put_u32((len + cells.len()) as u32);
        encode_varint(header_len as u64, &mut head);
        header.encode_raw(&mut head);
        encode_varint(message.len() as u64, &mut head);
        head.put_slice(message);
        Self { head: head.freeze(), cells }
    }

    /// A failure.
    pub fn failure(call_id: u32, exception: &Exception) -> Self {
        let exception = Some(exception.to_response());
        let header = pb::ResponseHeader { call_id: Some(call_id), exception, cell_block_meta: None };
        let body = header.encode_length_delimited_to_vec();
        let mut head = BytesMut::with_capacity(4 + body.len());
        head.put_u32(body.len() as u32);
        head.put_slice(&body);
        Self { head: head.freeze(), cells: Bytes::new() }
    }

    /// Bytes on the wire.
    pub fn len(&self) -> usize {
        self.head.len() + self.cells.len()
    }

    /// Never: an answer has at least a header.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }
}

#[cfg(test)]
mod tests;
