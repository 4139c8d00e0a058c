// SPDX-License-Identifier: Apache-2.0
//! Calls of many actions, of which there may be a hundred thousand: they are taken apart without a struct for each.
//!
//! ```text
//! MultiRequest:  regionAction (1)* | nonceGroup (2) | condition (3)
//! RegionAction:  region (1) | atomic (2) | action (3)* | condition (4)
//! Action:        index (1) | mutation (2) | get (3) | service_call (4)
//! Get:           row (1) | what else it asks for
//! ```
//!
//! Action 7, a get of row `r1` with versions 1: `08 07 | 1a 06 | 0a 02 72 31 | 30 01`

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
};

use crate::exception::Exception;
use crate::pb;

mod put;

pub use put::PutParts;

/// A call of many actions.
#[derive(Debug, Clone, PartialEq)]
pub struct Multi {
    /// The message without its regions.
    pub head: pb::MultiRequest,
    /// What is to be done in each region.
    pub regions: Vec<RegionActions>,
}

/// The actions of one region.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionActions {
    /// The message without its actions.
    pub head: pb::RegionAction,
    /// The actions, each still encoded.
    pub actions: Vec<Bytes>,
}

impl Multi {
    /// Reads the message, but for its actions.
    pub fn decode(param: Bytes) -> Result<Self, Exception> {
        let (regions, head) = take_fields(param, 1)?;
        let region = |message: Bytes| {
            let (actions, head) = take_fields(message, 3)?;
            Ok(RegionActions { head: decode(head)?, actions })
        };
        let regions: Result<_, Exception> = regions.into_iter().map(region).collect();
        Ok(Self { head: decode(head)?, regions: regions? })
    }
}

/// Reads a part of the message of a call.
pub fn decode<M: Message + Default>(message: Bytes) -> Result<M, Exception> {
    M::decode(message).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> Exception {
    Exception::refused(format!("the message of the call cannot be read: {error}"))
}

/// Takes the fields with this number, which hold bytes, out of a message; gives them, and the message without them.
fn take_fields(message: Bytes, number: u32) -> Result<(Vec<Bytes>, Bytes), Exception> {
    let (mut taken, mut kept) = (Vec::new(), BytesMut::new());
    let mut rest = message.clone();
    while rest.has_remaining() {
        let start = message.len() - rest.len();
        let (found, wire_type) = decode_key(&mut rest).map_err(unreadable)?;
        if found == number && wire_type == WireType::LengthDelimited {
            let len = decode_varint(&mut rest).map_err(unreadable)?;
            let len = usize::try_from(len).ok().filter(|&len| len <= rest.len());
            taken.push(rest.split_to(len.ok_or_else(|| unreadable("it ends inside of a field"))?));
            continue;
        }
        skip_field(wire_type, found, &mut rest, DecodeContext::default()).map_err(unreadable)?;
        kept.extend_from_slice(&message[start..message.len() - rest.len()]);
    }
    Ok((taken, kept.freeze()))
}

/// An action that is a get, in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetParts<'a> {
    /// Number of the action.
    pub index: Option<u32>,
    /// The row.
    pub row: &'a [u8],
    /// The message of the get without its row: the same bytes for gets that differ in nothing else.
    pub options: &'a [u8],
}

impl<'a> GetParts<'a> {
    /// The parts, if the fields lie as HBase's clients write them; else the action has to be decoded.
    pub fn of_action(action: &'a [u8]) -> Option<Self> {
        let mut rest = action;
        let index = index(&mut rest)?;
        let get = field(&mut rest, 0x1a).filter(|_| rest.is_empty())?;
        let mut options = get;
        let row = field(&mut options, 0x0a)?;
        // A second row would win, wherever it lies.
        (!may_have_field(options, 1)).then_some(Self { index, row, options })
    }
}

/// False if a message certainly has no field of this number.
fn may_have_field(mut message: &[u8], number: u32) -> bool {
    while message.has_remaining() {
        let Ok((found, wire_type)) = decode_key(&mut message) else { return true };
        if found == number || skip_field(wire_type, found, &mut message, DecodeContext::default()).is_err() {
            return true;
        }
    }
    false
}

/// The number of an action, if it has one; `None` if it cannot be read.
fn index(action: &mut &[u8]) -> Option<Option<u32>> {
    if action.first() != Some(&0x08) {
        return Some(None);
    }
    action.advance(1);
    u32::try_from(decode_varint(action).ok()?).ok().map(Some)
}

/// The bytes of the field with this key, if it is the next one.
fn field<'a>(rest: &mut &'a [u8], key: u8) -> Option<&'a [u8]> {
    if rest.first() != Some(&key) {
        return None;
    }
    rest.advance(1);
    let len = usize::try_from(decode_varint(rest).ok()?).ok()?;
    let (field, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(field)
}

/// Appends a field that holds an encoded message.
pub fn push_field(number: u32, message: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(message.len() as u64, out);
    out.extend_from_slice(message);
}

#[cfg(test)]
mod tests;
