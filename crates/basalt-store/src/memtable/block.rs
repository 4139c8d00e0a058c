// SPDX-License-Identifier: Apache-2.0
//! Blocks of cells put together one by one, for what is in memory.

use std::sync::Arc;

use basalt_hfile::{CellBlock, CellRun, CellSlot, RowFronts};
use basalt_model::CellRef;

/// Size at which a block should be closed and another begun, also within a row; offsets in a block are 32 bits.
const BLOCK_BYTES_MAX: usize = 64 << 20;

/// A block of cells that are in key order.
pub(crate) fn block_of(cells: &[CellRef<'_>]) -> Arc<CellBlock> {
    let mut builder = BlockBuilder::default();
    cells.iter().for_each(|cell| builder.push(cell));
    builder.finish().map(|run| run.block).unwrap_or_default()
}

/// Builds a block from cells in key order, of one row or of many.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    keys: Vec<u8>,
    values: Vec<u8>,
    tags: Vec<u8>,
    slots: Vec<CellSlot>,
    row_starts: Vec<u32>,
    plain: bool,
}

impl Default for BlockBuilder {
    fn default() -> Self {
        let (keys, values, tags) = (Vec::new(), Vec::new(), Vec::new());
        Self { keys, values, tags, slots: Vec::new(), row_starts: Vec::new(), plain: true }
    }
}

impl BlockBuilder {
    /// Cells so far.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if no more cells should go into this block.
    pub(crate) fn is_full(&self) -> bool {
        self.keys.len() + self.values.len() + self.tags.len() > BLOCK_BYTES_MAX
    }

    /// Adds a cell that comes behind all others.
    pub(crate) fn push(&mut self, cell: &CellRef<'_>) {
        let same_row = self.slots.last().is_some_and(|last| key_row(&self.keys, last) == cell.row);
        let repeated = same_row
            && self
                .slots
                .last()
                .is_some_and(|last| key_column(&self.keys, last) == (cell.family, cell.qualifier));
        self.add(cell, !same_row, repeated);
    }

    /// The same, of a cell of which it is known what comes before it in its row.
    pub(crate) fn push_behind(&mut self, before: Option<&CellRef<'_>>, cell: &CellRef<'_>) {
        let before = before.filter(|_| !self.slots.is_empty());
        // Qualifiers differ more often than families do.
        let repeated =
            before.is_some_and(|before| before.qualifier == cell.qualifier && before.family == cell.family);
        self.add(cell, before.is_none(), repeated);
    }

    /// Adds a cell: whether it is the first of its row here, and whether it is of the column of the one before.
    fn add(&mut self, cell: &CellRef<'_>, new_row: bool, repeated: bool) {
        if new_row {
            self.row_starts.push(self.slots.len() as u32);
        }
        self.plain &= !repeated && !cell.cell_type.is_delete();
        self.slots.push(CellSlot {
            key: self.keys.len() as u32,
            value: self.values.len() as u32,
            value_len: cell.value.len() as u32,
            qualifier_len: cell.qualifier.len() as u32,
            tags: self.tags.len() as u32,
            tags_len: cell.tags.len() as u16,
            row_len: cell.row.len() as u16,
            family_len: cell.family.len() as u8,
            cell_type: cell.cell_type,
            timestamp: cell.timestamp,
            seq: cell.seq,
        });
        let key_len = 2 + cell.row.len() + 1 + cell.family.len() + cell.qualifier.len() + 9;
        self.keys.reserve(key_len);
        self.keys.extend_from_slice(&(cell.row.len() as u16).to_be_bytes());
        self.keys.extend_from_slice(cell.row);
        self.keys.push(cell.family.len() as u8);
        self.keys.extend_from_slice(cell.family);
        self.keys.extend_from_slice(cell.qualifier);
        self.keys.extend_from_slice(&cell.timestamp.to_be_bytes());
        self.keys.push(cell.cell_type.code());
        self.values.extend_from_slice(cell.value);
        self.tags.extend_from_slice(cell.tags);
    }

    /// All cells so far as a run of one block, if there are any; the next one begins another block.
    pub(crate) fn finish(&mut self) -> Option<CellRun> {
        let built = std::mem::take(self);
        if built.slots.is_empty() {
            return None;
        }
        let cells = 0..built.slots.len();
        let block = CellBlock {
            keys: built.keys.into(),
            values: built.values.into(),
            tags: built.tags.into(),
            slots: built.slots,
            row_starts: built.row_starts,
            plain: built.plain,
            fronts: RowFronts::default(),
        };
        Some(CellRun { block: Arc::new(block), cells })
    }
}

fn key_row<'a>(keys: &'a [u8], slot: &CellSlot) -> &'a [u8] {
    let start = slot.key as usize + 2;
    &keys[start..start + slot.row_len as usize]
}

fn key_column<'a>(keys: &'a [u8], slot: &CellSlot) -> (&'a [u8], &'a [u8]) {
    let start = slot.key as usize + 3 + slot.row_len as usize;
    let (family, rest) = keys[start..].split_at(slot.family_len as usize);
    (family, &rest[..slot.qualifier_len as usize])
}
