// SPDX-License-Identifier: Apache-2.0
//! NONE: cells back to back, as [`super::raw_cells`] draws them.

use basalt_model::CellRef;
use bytes::Bytes;

use super::cursor::CellCursor;
use super::raw_cells::{decode_raw_cells, decode_raw_rows, write_raw_cell};
use super::raw_cursor::{RawCursor, WalkedRows};
use super::{BlockEncoder, BlockEncoding, CellLayout, CellStep, DecodeContext};
use crate::cells::CellBlock;
use crate::error::Damage;
use crate::rows::RowBlock;
use crate::write_buffer::WriteBuffer;

pub(super) struct None;

impl BlockEncoding for None {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder { layout, start: 0 })
    }

    fn decode(&self, body: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage> {
        decode_raw_cells(body, context)
    }

    fn decode_rows(&self, body: &Bytes, context: &DecodeContext) -> Result<RowBlock, Damage> {
        decode_raw_rows(body, context)
    }

    fn decode_row(&self, body: &Bytes, context: &DecodeContext, row: &[u8]) -> Result<CellBlock, Damage> {
        RawCursor::new(body.clone(), WalkedRows::default(), context).decode_row(row)
    }

    fn cursor(&self, body: &Bytes, context: &DecodeContext) -> Result<Box<dyn CellCursor>, Damage> {
        Ok(Box::new(RawCursor::new(body.clone(), WalkedRows::default(), context)))
    }

    fn keeps_raw_cells(&self) -> bool {
        true
    }
}

struct Encoder {
    layout: CellLayout,
    start: usize,
}

impl BlockEncoder for Encoder {
    fn begin(&mut self, out: &mut WriteBuffer) {
        self.start = out.len();
    }

    fn append(&mut self, cell: &CellRef<'_>, key: &[u8], _step: Option<&CellStep>, out: &mut WriteBuffer) {
        write_raw_cell(cell, key, self.layout, out);
    }

    fn append_raw_rows(&mut self, rows: &[u8], _row_len: usize, out: &mut WriteBuffer) {
        out.put(rows);
    }

    fn finish(&mut self, _raw_bytes: usize, _out: &mut WriteBuffer) {}

    fn encoded_bytes(&self, out: &[u8]) -> usize {
        out.len() - self.start
    }
}
