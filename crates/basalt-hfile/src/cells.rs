// SPDX-License-Identifier: Apache-2.0
//! Decoded cells in bulk: what a block decodes to, what a memtable slice becomes, what merges pass on.
//!
//! A [`CellBlock`] is a struct of shared byte buffers and one fixed-size [`CellSlot`] per cell. The flat key
//! of a cell lies in `keys` at `slot.key` in HFile's form,
//!
//! ```text
//! u16 row_len (big-endian) | row | u8 family_len | family | qualifier | i64 timestamp | u8 type
//! ```
//!
//! of which only row, family length, family and qualifier are read through the slot; its value lies in
//! `values`. For the NONE encoding both are the decompressed block itself, so decoding copies nothing; delta
//! encodings rebuild the keys into a buffer of their own.
//!
//! A [`CellRun`] is a range of cells of one block: the unit in which sorted sources are merged, so that a
//! source which stands alone for a stretch of keys passes whole blocks on.

mod fronts;
mod sorted_numbers;

use std::ops::Range;
use std::sync::Arc;

use basalt_model::{CellRef, CellType, Seq};
use bytes::Bytes;
pub(crate) use fronts::Fronts;
pub use fronts::RowFronts;

/// Where the parts of one cell lie in the buffers of its [`CellBlock`]. Offsets and lengths in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSlot {
    /// Start of the flat key in `keys`.
    pub key: u32,
    /// Start of the value in `values`.
    pub value: u32,
    /// Length of the value.
    pub value_len: u32,
    /// Length of the qualifier.
    pub qualifier_len: u32,
    /// Start of the raw tags in `tags`.
    pub tags: u32,
    /// Length of the raw tags.
    pub tags_len: u16,
    /// Length of the row.
    pub row_len: u16,
    /// Length of the family.
    pub family_len: u8,
    /// Put or delete marker.
    pub cell_type: CellType,
    /// The user's version.
    pub timestamp: i64,
    /// The commit that wrote the cell.
    pub seq: Seq,
}

/// Cells in key order with shared bytes. Built by decoders and by the memtable; immutable afterwards.
#[derive(Debug, Clone, Default)]
pub struct CellBlock {
    /// Flat keys.
    pub keys: Bytes,
    /// Values.
    pub values: Bytes,
    /// Raw tags; empty when no cell has any.
    pub tags: Bytes,
    /// One slot per cell, in key order.
    pub slots: Vec<CellSlot>,
    /// Index of the first cell of every row, ascending; begins with 0 unless the block is empty.
    pub row_starts: Vec<u32>,
    /// True if every cell is a put and no two cells of a row share family and qualifier: nothing in this
    /// block hides or is hidden by anything else in it.
    pub plain: bool,
    /// What makes searches fast; begin with the default.
    pub fronts: RowFronts,
}

impl CellBlock {
    /// Number of cells.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Cell `index`, borrowed.
    #[inline]
    pub fn cell(&self, index: usize) -> CellRef<'_> {
        let slot = &self.slots[index];
        CellRef {
            row: self.row_of(slot),
            family: self.family_of(slot),
            qualifier: self.qualifier_of(slot),
            timestamp: slot.timestamp,
            cell_type: slot.cell_type,
            value: self.value_of(slot),
            seq: slot.seq,
            tags: &self.tags[slot.tags as usize..slot.tags as usize + slot.tags_len as usize],
        }
    }

    /// The flat key of a slot of this block, up to its timestamp.
    #[inline]
    pub fn key_front_of(&self, slot: &CellSlot) -> &[u8] {
        let start = slot.key as usize;
        let len = 3 + slot.row_len as usize + slot.family_len as usize + slot.qualifier_len as usize;
        &self.keys[start..start + len]
    }

    /// Row of cell `index`.
    #[inline]
    pub fn row(&self, index: usize) -> &[u8] {
        self.row_of(&self.slots[index])
    }

    /// Row key of a slot of this block.
    #[inline]
    pub fn row_of(&self, slot: &CellSlot) -> &[u8] {
        let start = slot.key as usize + 2;
        &self.keys[start..start + slot.row_len as usize]
    }

    /// Family of a slot of this block.
    #[inline]
    pub fn family_of(&self, slot: &CellSlot) -> &[u8] {
        let start = slot.key as usize + 3 + slot.row_len as usize;
        &self.keys[start..start + slot.family_len as usize]
    }

    /// Qualifier of a slot of this block.
    #[inline]
    pub fn qualifier_of(&self, slot: &CellSlot) -> &[u8] {
        let start = slot.key as usize + 3 + slot.row_len as usize + slot.family_len as usize;
        &self.keys[start..start + slot.qualifier_len as usize]
    }

    /// Value of a slot of this block.
    #[inline]
    pub fn value_of(&self, slot: &CellSlot) -> &[u8] {
        &self.values[slot.value as usize..slot.value as usize + slot.value_len as usize]
    }

    /// Index of the first cell whose row is `>= row`; `len()` if there is none.
    pub fn lower_bound_row(&self, row: &[u8]) -> usize {
        self.row_starts.get(self.lower_bound(row)).map_or(self.len(), |&start| start as usize)
    }

    /// Memory that the block holds, in bytes, for caches and budgets.
    pub fn memory_bytes(&self) -> usize {
        let shared = self.keys.as_ptr() == self.values.as_ptr();
        let values = if shared { 0 } else { self.values.len() };
        self.keys.len()
            + values
            + self.slots.len() * size_of::<CellSlot>()
            + self.row_starts.len() * (4 + fronts::FRONT_BYTES)
    }
}

/// Some consecutive cells of a block. Runs follow each other in key order; a row may span several runs.
#[derive(Debug, Clone)]
pub struct CellRun {
    /// The block.
    pub block: Arc<CellBlock>,
    /// Indices of the cells in the block.
    pub cells: Range<usize>,
}

impl CellRun {
    /// Rows of which the first cell is in the run.
    pub fn rows(&self) -> usize {
        let starts = &self.block.row_starts;
        let before = |end: usize| starts.partition_point(|&start| (start as usize) < end);
        before(self.cells.end) - before(self.cells.start)
    }
}
