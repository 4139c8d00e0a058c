// SPDX-License-Identifier: Apache-2.0
//! ROW_INDEX_V1: cells as in NONE, and behind them where each row begins, so that a row is found by binary
//! search. Matches RowIndexCodecV1.
//!
//! ```text
//! cells, as in raw_cells | i32 row count | i32 offset of each row's first cell | i32 bytes of the cells
//! ```
//!
//! Offsets count from the first cell. Three rows at 0, 81 and 111 of 142 bytes of cells:
//! `00000003 00000000 00000051 0000006f 0000008e`.

use basalt_model::CellRef;
use bytes::Bytes;

use super::cursor::CellCursor;
use super::raw_cells::{decode_raw_cells, decode_raw_rows, write_raw_cell};
use super::raw_cursor::{Cells, RawCursor, RowOffsets};
use super::{BlockEncoder, BlockEncoding, CellLayout, CellStep, DecodeContext};
use crate::cells::CellBlock;
use crate::error::Damage;
use crate::rows::RowBlock;
use crate::write_buffer::WriteBuffer;

pub(super) struct RowIndexV1;

impl BlockEncoding for RowIndexV1 {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder { layout, start: 0, rows: Vec::new() })
    }

    fn decode(&self, body: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage> {
        let (cells, rows) = split(body)?;
        let block = decode_raw_cells(&cells, context)?;
        // A slot's key begins behind the two lengths of the cell.
        let starts = block.row_starts.iter().map(|&start| block.slots[start as usize].key as usize - 8);
        check_rows(starts, &rows, cells.len())?;
        Ok(block)
    }

    fn decode_rows(&self, body: &Bytes, context: &DecodeContext) -> Result<RowBlock, Damage> {
        let (cells, rows) = split(body)?;
        let block = decode_raw_rows(&cells, context)?;
        if !block.rows_begin_at(rows.as_chunks().0) {
            return Err(wrong_rows(cells.len()));
        }
        Ok(block)
    }

    fn decode_row(&self, body: &Bytes, context: &DecodeContext, row: &[u8]) -> Result<CellBlock, Damage> {
        let (cells, rows) = split(body)?;
        RawCursor::new(cells, StoredRows(rows), context).decode_row(row)
    }

    fn cursor(&self, body: &Bytes, context: &DecodeContext) -> Result<Box<dyn CellCursor>, Damage> {
        let (cells, rows) = split(body)?;
        Ok(Box::new(RawCursor::new(cells, StoredRows(rows), context)))
    }

    fn keeps_raw_cells(&self) -> bool {
        true
    }
}

struct Encoder {
    layout: CellLayout,
    start: usize,
    rows: Vec<u32>,
}

impl BlockEncoder for Encoder {
    fn begin(&mut self, out: &mut WriteBuffer) {
        self.start = out.len();
        self.rows.clear();
    }

    fn append(&mut self, cell: &CellRef<'_>, key: &[u8], step: Option<&CellStep>, out: &mut WriteBuffer) {
        if step.is_none_or(|step| step.new_row) {
            self.rows.push((out.len() - self.start) as u32);
        }
        write_raw_cell(cell, key, self.layout, out);
    }

    fn append_raw_rows(&mut self, rows: &[u8], row_len: usize, out: &mut WriteBuffer) {
        let first = out.len() - self.start;
        self.rows.extend((0..rows.len() / row_len).map(|row| (first + row * row_len) as u32));
        out.put(rows);
    }

    fn finish(&mut self, raw_bytes: usize, out: &mut WriteBuffer) {
        debug_assert_eq!(raw_bytes, out.len() - self.start);
        out.reserve(8 + 4 * self.rows.len());
        out.put_array((self.rows.len() as u32).to_be_bytes());
        for row in &self.rows {
            out.put_array(row.to_be_bytes());
        }
        out.put_array((raw_bytes as u32).to_be_bytes());
    }

    fn encoded_bytes(&self, out: &[u8]) -> usize {
        out.len() - self.start + 4 * self.rows.len()
    }
}

/// The cells, and the row offsets as stored.
fn split(body: &Bytes) -> Result<(Bytes, Bytes), Damage> {
    let damage = |what: String| Damage::new(body.len().saturating_sub(4), what);
    let u32_at = |at: usize| {
        let bytes = body.get(at..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes) as usize)
    };
    let last = body.len().checked_sub(4).and_then(u32_at);
    let cells_len = last.ok_or_else(|| damage("the ROW_INDEX_V1 block has no row index".into()))?;
    let rows = u32_at(cells_len).ok_or_else(|| damage(format!("{cells_len} bytes of cells pass the end")))?;
    let rows_at = cells_len + 4;
    if rows.checked_mul(4).and_then(|len| len.checked_add(rows_at + 4)) != Some(body.len()) {
        return Err(damage(format!("{rows} rows and {cells_len} bytes of cells do not fill the block")));
    }
    Ok((body.slice(..cells_len), body.slice(rows_at..body.len() - 4)))
}

/// Offset of row `index`.
fn row_offset(rows: &[u8], index: usize) -> usize {
    let bytes = &rows[4 * index..4 * index + 4];
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
}

/// The stored row offsets must be those of the decoded cells.
fn check_rows(mut starts: impl Iterator<Item = usize>, rows: &[u8], at: usize) -> Result<(), Damage> {
    let same = rows
        .as_chunks()
        .0
        .iter()
        .all(|offset| starts.next().is_some_and(|start| start == u32::from_be_bytes(*offset) as usize));
    if same && starts.next().is_none() {
        return Ok(());
    }
    Err(wrong_rows(at))
}

#[cold]
fn wrong_rows(at: usize) -> Damage {
    Damage::new(at, "the row offsets are not those of the cells")
}

/// The row offsets of a block, as stored.
struct StoredRows(Bytes);

impl RowOffsets for StoredRows {
    fn len(&self, _cells: &Cells<'_>) -> usize {
        self.0.len() / 4
    }

    fn offset(&self, index: usize) -> usize {
        row_offset(&self.0, index)
    }
}
