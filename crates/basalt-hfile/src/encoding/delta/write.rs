// SPDX-License-Identifier: Apache-2.0
//! The parts of writing that the delta encodings share: key part, block frame, tail.

use basalt_model::CellRef;

use super::tags::TagWriter;
use crate::encoding::CellLayout;
use crate::write_buffer::WriteBuffer;

/// Appends the key part of a DIFF or FAST_DIFF cell: what of row and qualifier is not common.
#[inline]
pub(in crate::encoding) fn write_key_part(cell: &CellRef<'_>, common: usize, out: &mut WriteBuffer) {
    let row_end = 2 + cell.row.len();
    if common >= row_end {
        out.put(&cell.qualifier[common - row_end - 1 - cell.family.len()..]);
        return;
    }
    if common < 2 {
        out.put(&(cell.row.len() as u16).to_be_bytes()[common..]);
    }
    out.put(&cell.row[common.saturating_sub(2)..]);
    out.put(cell.qualifier);
}

/// The frame of a block being written, and the tails of its cells.
pub(in crate::encoding) struct DeltaBlock {
    layout: CellLayout,
    tags: TagWriter,
    size_at: usize,
    cells_at: usize,
}

impl DeltaBlock {
    pub(in crate::encoding) fn new(layout: CellLayout) -> Self {
        Self { layout, tags: TagWriter::new(layout.tags_compressed), size_at: 0, cells_at: 0 }
    }

    pub(in crate::encoding) fn begin(&mut self, out: &mut WriteBuffer) {
        self.size_at = out.len();
        out.reserve(4);
        out.put_array([0; 4]);
        self.cells_at = out.len();
        self.tags.start_block();
    }

    #[inline]
    pub(in crate::encoding) fn write_tail(&mut self, cell: &CellRef<'_>, out: &mut WriteBuffer) {
        if self.layout.with_tags {
            out.put_leb(cell.tags.len() as u32);
            self.tags.write(cell.tags, out);
        }
        if self.layout.with_seq {
            out.put_vlong(cell.seq.0 as i64);
        }
    }

    pub(in crate::encoding) fn finish(&mut self, raw_bytes: usize, out: &mut [u8]) {
        out[self.size_at..self.cells_at].copy_from_slice(&(raw_bytes as u32).to_be_bytes());
    }

    pub(in crate::encoding) fn encoded_bytes(&self, out: &[u8]) -> usize {
        out.len() - self.cells_at
    }
}
