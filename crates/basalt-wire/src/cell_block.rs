// SPDX-License-Identifier: Apache-2.0
//! Cell blocks of HBase's `KeyValueCodec`: cells one after the other. How many there are, the message says.
//!
//! ```text
//! int32 cell_len | int32 key_len | int32 value_len
//!   | int16 row_len | row | int8 family_len | family | qualifier | int64 timestamp | int8 type
//!   | value
//!   | int16 tags_len | tags          only if cell_len says so
//! ```
//!
//! Row `r1`, `f:q` at 1000, put of `v1`:
//! `0000001a 00000010 00000002 0002 7231 01 66 71 00000000000003e8 04 7631`

use basalt_model::{CellRef, CellType, LATEST_TIMESTAMP};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::exception::Exception;

/// Bytes of a key beside row, family and qualifier.
const KEY_FIXED: usize = 2 + 1 + 8 + 1;

/// A cell as it was sent. Its parts are slices of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireCell {
    /// Row.
    pub row: Bytes,
    /// Column family.
    pub family: Bytes,
    /// Column qualifier.
    pub qualifier: Bytes,
    /// The user's version; [`LATEST_TIMESTAMP`] asks for the clock.
    pub timestamp: i64,
    /// Put or a delete marker.
    pub cell_type: CellType,
    /// Value.
    pub value: Bytes,
    /// Raw tags.
    pub tags: Bytes,
}

impl WireCell {
    /// The timestamp, unless the clock is asked for.
    pub fn given_timestamp(&self) -> Option<i64> {
        Some(self.timestamp).filter(|&at| at != LATEST_TIMESTAMP)
    }
}

/// Takes the cells of a request's block off in their order.
#[derive(Debug, Clone, Default)]
pub struct CellReader {
    rest: Bytes,
}

impl CellReader {
    /// Of a block that is not compressed.
    pub fn new(block: Bytes) -> Self {
        Self { rest: block }
    }

    /// The next `count` cells; an exception if the block has fewer or one of them is damaged.
    pub fn take(&mut self, count: usize) -> Result<Vec<WireCell>, Exception> {
        // A cell takes at least its lengths: the count of a liar allocates nothing.
        let mut cells = Vec::with_capacity(count.min(self.rest.len() / (12 + KEY_FIXED) + 1));
        for _ in 0..count {
            cells.push(self.next_cell()?);
        }
        Ok(cells)
    }

    fn next_cell(&mut self) -> Result<WireCell, Exception> {
        let truncated = || Exception::refused("the cell block ends before its last cell");
        let mut cell = take_prefixed(&mut self.rest).ok_or_else(truncated)?;
        decode_cell(&mut cell).ok_or_else(|| {
            Exception::refused("a cell of the request cannot be read: its lengths or its type are wrong")
        })
    }
}

fn take_prefixed(rest: &mut Bytes) -> Option<Bytes> {
    let len = usize::try_from(rest.try_get_i32().ok()?).ok()?;
    (len <= rest.len()).then(|| rest.split_to(len))
}

fn decode_cell(cell: &mut Bytes) -> Option<WireCell> {
    let key_len = usize::try_from(cell.try_get_i32().ok()?).ok()?;
    let value_len = usize::try_from(cell.try_get_i32().ok()?).ok()?;
    if key_len < KEY_FIXED || key_len.checked_add(value_len)? > cell.len() {
        return None;
    }
    let mut key = cell.split_to(key_len);
    let value = cell.split_to(value_len);
    let row_len = usize::try_from(key.get_i16()).ok()?;
    if row_len + KEY_FIXED - 2 > key.len() {
        return None;
    }
    let row = key.split_to(row_len);
    let family_len = usize::from(key.get_u8());
    if family_len + 9 > key.len() {
        return None;
    }
    let family = key.split_to(family_len);
    let qualifier = key.split_to(key.len() - 9);
    let timestamp = key.get_i64();
    let cell_type = CellType::from_code(key.get_u8())?;
    let tags = match cell.is_empty() {
        true => Bytes::new(),
        false => {
            let len = usize::from(cell.try_get_u16().ok()?);
            (len == cell.len()).then(|| cell.split_to(len))?
        }
    };
    Some(WireCell { row, family, qualifier, timestamp, cell_type, value, tags })
}

/// Appends a cell without its tags.
#[inline]
pub fn encode_cell(cell: &CellRef<'_>, out: &mut BytesMut) {
    let key_len = KEY_FIXED + cell.row.len() + cell.family.len() + cell.qualifier.len();
    let cell_len = 8 + key_len + cell.value.len();
    out.reserve(4 + cell_len);
    out.put_u32(cell_len as u32);
    out.put_u32(key_len as u32);
    out.put_u32(cell.value.len() as u32);
    out.put_u16(cell.row.len() as u16);
    out.put_slice(cell.row);
    out.put_u8(cell.family.len() as u8);
    out.put_slice(cell.family);
    out.put_slice(cell.qualifier);
    out.put_i64(cell.timestamp);
    out.put_u8(cell.cell_type.code());
    out.put_slice(cell.value);
}

/// Appends a cell of which the key lies ready up to its timestamp (`row_len | row | family_len | family | qualifier`), without tags.
#[inline]
pub fn encode_flat_cell(
    key_front: &[u8],
    timestamp: i64,
    cell_type: CellType,
    value: &[u8],
    out: &mut BytesMut,
) {
    let key_len = key_front.len() + 9;
    let mut lens = [0; 12];
    lens[..4].copy_from_slice(&((8 + key_len + value.len()) as u32).to_be_bytes());
    lens[4..8].copy_from_slice(&(key_len as u32).to_be_bytes());
    lens[8..].copy_from_slice(&(value.len() as u32).to_be_bytes());
    let mut key_end = [0; 9];
    key_end[..8].copy_from_slice(&timestamp.to_be_bytes());
    key_end[8] = cell_type.code();
    out.reserve(12 + key_len + value.len());
    for part in [&lens[..], key_front, &key_end, value] {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests;
