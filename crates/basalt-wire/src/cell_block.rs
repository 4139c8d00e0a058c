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

use basalt_model::{CellRef, CellType, LATEST_TIMESTAMP, Seq};
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
    block: Bytes,
    /// Where the next cell begins.
    at: usize,
}

impl CellReader {
    /// Of a block that is not compressed.
    pub fn new(block: Bytes) -> Self {
        Self { block, at: 0 }
    }

    /// Bytes that were not taken yet.
    pub fn remaining(&self) -> usize {
        self.block.len() - self.at
    }

    /// The next `count` cells; an exception if the block has fewer or one of them is damaged.
    pub fn take(&mut self, count: usize) -> Result<Vec<WireCell>, Exception> {
        // A cell takes at least its lengths: the count of a liar allocates nothing.
        let mut cells = Vec::with_capacity(count.min(self.remaining() / (12 + KEY_FIXED) + 1));
        for _ in 0..count {
            let (cell, end) = cell_at(&self.block, self.at)?;
            let part = |part| self.block.slice_ref(part);
            cells.push(WireCell {
                row: part(cell.row),
                family: part(cell.family),
                qualifier: part(cell.qualifier),
                timestamp: cell.timestamp,
                cell_type: cell.cell_type,
                value: part(cell.value),
                tags: part(cell.tags),
            });
            self.at = end;
        }
        Ok(cells)
    }

    /// The next cell, borrowed from the block.
    pub(crate) fn next_cell(&mut self) -> Result<CellRef<'_>, Exception> {
        let (cell, end) = cell_at(&self.block, self.at)?;
        self.at = end;
        Ok(cell)
    }

    /// Where the reader stands, for [`Self::return_to`].
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Stands again where it stood.
    pub(crate) fn return_to(&mut self, position: usize) {
        debug_assert!(position <= self.block.len());
        self.at = position;
    }
}

/// The cell that begins at `at`, and where it ends.
fn cell_at(block: &[u8], at: usize) -> Result<(CellRef<'_>, usize), Exception> {
    let cell = prefixed(&block[at..])
        .ok_or_else(|| Exception::refused("the cell block ends before its last cell"))?;
    let end = at + 4 + cell.len();
    parse_cell(cell).map(|cell| (cell, end)).ok_or_else(|| {
        Exception::refused("a cell of the request cannot be read: its lengths or its type are wrong")
    })
}

/// What the length at the front of `bytes` says, without it.
fn prefixed(bytes: &[u8]) -> Option<&[u8]> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.get(..usize::try_from(i32::from_be_bytes(*len)).ok()?)
}

/// A cell, its length left out.
fn parse_cell(cell: &[u8]) -> Option<CellRef<'_>> {
    let (mut lens, rest) = cell.split_at_checked(8)?;
    let key_len = usize::try_from(lens.get_i32()).ok()?;
    let value_len = usize::try_from(lens.get_i32()).ok()?;
    if key_len < KEY_FIXED {
        return None;
    }
    let (key, rest) = rest.split_at_checked(key_len)?;
    let (value, mut tags) = rest.split_at_checked(value_len)?;
    let (row_len, key) = key.split_first_chunk()?;
    let (row, key) = key.split_at_checked(usize::try_from(i16::from_be_bytes(*row_len)).ok()?)?;
    let (&family_len, key) = key.split_first()?;
    let (family, key) = key.split_at_checked(family_len.into())?;
    let (qualifier, mut end) = key.split_at_checked(key.len().checked_sub(9)?)?;
    let (timestamp, cell_type) = (end.get_i64(), CellType::from_code(end.get_u8())?);
    if !tags.is_empty() {
        let len = usize::from(tags.try_get_u16().ok()?);
        if len != tags.len() {
            return None;
        }
    }
    Some(CellRef { row, family, qualifier, timestamp, cell_type, value, seq: Seq(0), tags })
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
