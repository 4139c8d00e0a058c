// SPDX-License-Identifier: Apache-2.0
//! Cells in their unencoded form, as NONE and ROW_INDEX_V1 store them:
//!
//! ```text
//! i32 key length | i32 value length | flat key | value | [u16 tags length | tags] | [VLONG seq]
//! ```
//!
//! Tags are there if the file has `hfile.MAX_TAGS_LEN`, the sequence number if `KEY_VALUE_VERSION` is 1.
//! Decoding copies nothing: keys, values and tags of the [`CellBlock`] are the payload itself.

use basalt_model::{CellRef, CellType, Seq};
use bytes::Bytes;

use super::raw_rows::{RawRows, Target};
use super::{CellLayout, DecodeContext};
use crate::cells::{CellBlock, CellSlot, RowFronts};
use crate::error::Damage;
use crate::key::KEY_OVERHEAD;
use crate::rows::{Parts, RowBlock};
use crate::varint::{read_vlong, vlong_len, vlong_len_at};
use crate::write_buffer::WriteBuffer;

/// Single cells that a block of runs has room for to begin with.
pub(super) const RUN_CELLS_EXPECTED: usize = 64;

/// Bytes of a cell in this form: what block sizes count.
#[inline]
pub(crate) fn raw_cell_len(cell: &CellRef<'_>, layout: CellLayout) -> usize {
    let key_len = KEY_OVERHEAD + cell.row.len() + cell.family.len() + cell.qualifier.len();
    let tags = if layout.with_tags { 2 + cell.tags.len() } else { 0 };
    let seq = if layout.with_seq { vlong_len(cell.seq.0 as i64) } else { 0 };
    8 + key_len + cell.value.len() + tags + seq
}

/// Appends a cell with its flat key.
#[inline]
pub(super) fn write_raw_cell(cell: &CellRef<'_>, key: &[u8], layout: CellLayout, out: &mut WriteBuffer) {
    let lengths = (key.len() as u64) << 32 | cell.value.len() as u64;
    out.put_array(lengths.to_be_bytes());
    out.put(key);
    out.put(cell.value);
    if layout.with_tags {
        out.put_array((cell.tags.len() as u16).to_be_bytes());
        out.put(cell.tags);
    }
    if layout.with_seq {
        out.put_vlong(cell.seq.0 as i64);
    }
}

/// All cells of `data`, which they fill exactly.
pub(crate) fn decode_raw_cells(data: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage> {
    decode_layout(data, context, None)
}

/// As [`decode_raw_cells`], to runs of rows.
pub(crate) fn decode_raw_rows(data: &Bytes, context: &DecodeContext) -> Result<RowBlock, Damage> {
    let mut parts = Parts::default();
    let cells = decode_layout(data, context, Some(&mut parts))?;
    Ok(parts.into_block(cells))
}

fn decode_layout(
    data: &Bytes,
    context: &DecodeContext,
    parts: Option<&mut Parts>,
) -> Result<CellBlock, Damage> {
    let layout = context.layout;
    // The options are decided here, once, and are constants in the loop.
    match (layout.with_tags, layout.with_seq) {
        (false, false) => decode::<false, false>(data, context, parts),
        (false, true) => decode::<false, true>(data, context, parts),
        (true, false) => decode::<true, false>(data, context, parts),
        (true, true) => decode::<true, true>(data, context, parts),
    }
}

/// The cells; without those that went to `parts` as rows.
fn decode<const TAGS: bool, const SEQ: bool>(
    data: &Bytes,
    context: &DecodeContext,
    mut parts: Option<&mut Parts>,
) -> Result<CellBlock, Damage> {
    let bytes = &data[..];
    let mut expected = bytes.len() / context.cell_bytes_estimate.max(8 + KEY_OVERHEAD) + 1;
    if parts.is_some() {
        // Most rows will be in runs.
        expected = expected.min(RUN_CELLS_EXPECTED);
    }
    let mut slots = Vec::with_capacity(expected);
    let mut row_starts = Vec::with_capacity(expected / 2 + 1);
    let mut plain = true;
    let (mut last_row, mut last_column) = (Name::default(), Name::default());
    let mut regular = RawRows::default();
    let mut at = 0;
    while at < bytes.len() {
        let cell = parse_raw_cell::<TAGS, SEQ>(bytes, at).ok_or_else(|| explain(bytes, at))?;
        let row = Name::new(bytes, at + 10, cell.row_len.into());
        if !row.is(&last_row, bytes) {
            let seq_override = context.seq_override;
            let parts = parts.as_deref_mut();
            let mut target = Target { slots: &mut slots, row_starts: &mut row_starts, seq_override, parts };
            let end = regular.decode::<TAGS, SEQ>(bytes, at, &mut target);
            if end > at {
                at = end;
                // The row that was decoded last takes the place of the one before.
                if let Some(last) = slots.last() {
                    last_row = Name::new(bytes, last.key as usize + 2, last.row_len.into());
                    last_column = column_name(bytes, last);
                }
                continue;
            }
            row_starts.push(slots.len() as u32);
            last_row = row;
            last_column = Name::default();
        }
        let slot = cell.slot(at, context.seq_override);
        let column = column_name(bytes, &slot);
        plain &= cell.cell_type == CellType::Put && !column.is(&last_column, bytes);
        last_column = column;
        slots.push(slot);
        at = cell.end;
    }
    let tags = if TAGS { data.clone() } else { Bytes::new() };
    Ok(CellBlock {
        keys: data.clone(),
        values: data.clone(),
        tags,
        slots,
        row_starts,
        plain,
        fronts: RowFronts::default(),
    })
}

/// Family length, family and qualifier.
#[inline(always)]
fn column_name(bytes: &[u8], slot: &CellSlot) -> Name {
    let at = slot.key as usize + 2 + slot.row_len as usize;
    Name::new(bytes, at, 1 + slot.family_len as usize + slot.qualifier_len as usize)
}

/// A row or a column of a cell, to be compared with that of the next: its first eight bytes as a number decide
/// nearly always, and no `memcmp` is called.
#[derive(Clone, Copy, Default)]
struct Name {
    at: usize,
    len: usize,
    first: u64,
}

impl Name {
    /// The `len` bytes at `at`. Every name in a parsed cell has eight bytes of the key behind its start: timestamp
    /// and type end it.
    #[inline(always)]
    fn new(bytes: &[u8], at: usize, len: usize) -> Self {
        let first = bytes[at..].first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        let beyond = 64 - 8 * len.min(8) as u32;
        Self { at, len, first: first.checked_shr(beyond).unwrap_or(0) }
    }

    #[inline(always)]
    fn is(&self, other: &Self, bytes: &[u8]) -> bool {
        self.first == other.first
            && self.len == other.len
            && (self.len <= 8
                || bytes[self.at + 8..self.at + self.len] == bytes[other.at + 8..other.at + other.len])
    }
}

/// The cells of `row`, the first of which begins at `start` if there is any.
pub(super) fn decode_raw_row(
    data: &Bytes,
    start: usize,
    row: &[u8],
    context: &DecodeContext,
) -> Result<CellBlock, Damage> {
    let layout = context.layout;
    let parse = match (layout.with_tags, layout.with_seq) {
        (false, false) => parse_raw_cell::<false, false>,
        (false, true) => parse_raw_cell::<false, true>,
        (true, false) => parse_raw_cell::<true, false>,
        (true, true) => parse_raw_cell::<true, true>,
    };
    let mut slots = Vec::new();
    let mut plain = true;
    let mut last_column = None;
    let mut at = start;
    while at < data.len() {
        let cell = parse(data, at).ok_or_else(|| explain(data, at))?;
        let (row_end, key) = (2 + cell.row_len as usize, cell.key(data));
        if key[2..row_end] != *row {
            break;
        }
        let column = Some(&key[row_end..key.len() - 9]);
        plain &= cell.cell_type == CellType::Put && column != last_column;
        last_column = column;
        slots.push(cell.slot(at, context.seq_override));
        at = cell.end;
    }
    let row_starts = if slots.is_empty() { Vec::new() } else { vec![0] };
    let tags = if layout.with_tags { data.clone() } else { Bytes::new() };
    Ok(CellBlock {
        keys: data.clone(),
        values: data.clone(),
        tags,
        slots,
        row_starts,
        plain,
        fronts: RowFronts::default(),
    })
}

/// Walks from the cell at `at` to the first whose row is not below `row`; the end of `bytes` if there is none,
/// `None` if a cell does not fit. Looks at lengths and rows alone.
pub(super) fn skim<const TAGS: bool, const SEQ: bool>(
    bytes: &[u8],
    mut at: usize,
    row: &[u8],
) -> Option<usize> {
    // Most rows are decided by their first eight bytes, as one number, padded with zeros.
    let prefix = row_prefix(row);
    while at < bytes.len() {
        let head = bytes[at..].first_chunk::<18>()?;
        let key_len = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let value_len = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let row_len = usize::from(u16::from_be_bytes([head[8], head[9]]));
        // A whole cell has at least eight bytes behind the start of its row; those that are not row are masked.
        let first = u64::from_be_bytes(*head.last_chunk()?);
        let first = if row_len >= 8 { first } else { first & !(u64::MAX >> (8 * row_len)) };
        if first >= prefix && bytes.get(at + 10..at + 10 + row_len)? >= row {
            return Some(at);
        }
        at += 8 + key_len + value_len;
        if TAGS {
            at += 2 + usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        }
        if SEQ {
            at += vlong_len_at(bytes, at)?;
        }
    }
    (at == bytes.len()).then_some(at)
}

fn row_prefix(row: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = row.len().min(8);
    first[..len].copy_from_slice(&row[..len]);
    u64::from_be_bytes(first)
}

/// A cell taken apart; offsets count from the start of the cells.
#[derive(Clone, Copy)]
pub(crate) struct RawCell {
    pub(crate) key_len: usize,
    pub(crate) row_len: u16,
    pub(crate) family_len: u8,
    pub(crate) qualifier_len: u32,
    pub(crate) timestamp: i64,
    pub(crate) cell_type: CellType,
    pub(crate) value_at: usize,
    pub(crate) value_len: u32,
    pub(crate) tags_at: usize,
    pub(crate) tags_len: u16,
    pub(crate) seq: Seq,
    pub(crate) end: usize,
}

impl RawCell {
    #[inline(always)]
    fn slot(&self, at: usize, seq_override: Option<Seq>) -> CellSlot {
        CellSlot {
            key: (at + 8) as u32,
            value: self.value_at as u32,
            value_len: self.value_len,
            qualifier_len: self.qualifier_len,
            tags: self.tags_at as u32,
            tags_len: self.tags_len,
            row_len: self.row_len,
            family_len: self.family_len,
            cell_type: self.cell_type,
            timestamp: self.timestamp,
            seq: seq_override.unwrap_or(self.seq),
        }
    }

    /// The flat key.
    pub(crate) fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.value_at - self.key_len..self.value_at]
    }
}

/// The cell at `at`, every length checked; `None` if one does not fit.
#[inline(always)]
pub(crate) fn parse_raw_cell<const TAGS: bool, const SEQ: bool>(bytes: &[u8], at: usize) -> Option<RawCell> {
    // The shortest cell has 21 bytes: both lengths, the row's, and what follows are two loads.
    let head = bytes.get(at..)?.first_chunk::<16>()?;
    let lengths = u64::from_be_bytes(*head.first_chunk()?);
    let (key_len, value_len) = ((lengths >> 32) as usize, lengths as u32);
    let row_len = u16::from_be_bytes([head[8], head[9]]);
    let value_at = at + 8 + key_len;
    let mut end = value_at + value_len as usize;
    // Neither sum can overflow: each part has 32 bits at most.
    let names_len = key_len.wrapping_sub(KEY_OVERHEAD + row_len as usize);
    if end > bytes.len() || names_len > key_len || row_len == 0 {
        return None;
    }
    let family_len = bytes[at + 10 + row_len as usize];
    let qualifier_len = names_len.wrapping_sub(family_len as usize);
    if qualifier_len > names_len {
        return None;
    }
    let suffix = bytes[value_at - 9..].first_chunk::<9>()?;
    let timestamp = i64::from_be_bytes(*suffix.first_chunk()?);
    let cell_type = CellType::from_code(suffix[8])?;
    let (mut tags_at, mut tags_len) = (0, 0);
    if TAGS {
        tags_len = u16::from_be_bytes(*bytes[end..].first_chunk()?);
        tags_at = end + 2;
        end = tags_at + tags_len as usize;
        if end > bytes.len() {
            return None;
        }
    }
    let mut seq = Seq(0);
    if SEQ {
        let (number, len) = read_vlong(&bytes[end..])?;
        seq = Seq(u64::try_from(number).ok()?);
        end += len;
    }
    let qualifier_len = qualifier_len as u32;
    Some(RawCell {
        key_len,
        row_len,
        family_len,
        qualifier_len,
        timestamp,
        cell_type,
        value_at,
        value_len,
        tags_at,
        tags_len,
        seq,
        end,
    })
}

/// Says why the cell at `at` could not be read.
#[cold]
pub(crate) fn explain(bytes: &[u8], at: usize) -> Damage {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(head) = rest.first_chunk::<10>() else {
        return Damage::new(at, format!("{} bytes after the last cell", rest.len()));
    };
    let key_len = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let value_len = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    let row_len = u16::from_be_bytes([head[8], head[9]]);
    let left = rest.len();
    let what = format!(
        "no cell with a key of {key_len}, a row of {row_len} and a value of {value_len} bytes and a known type \
         fits into the {left} bytes left"
    );
    Damage::new(at, what)
}
