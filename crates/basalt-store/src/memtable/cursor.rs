// SPDX-License-Identifier: Apache-2.0
//! Reads a memtable as a source of cells: rows are copied in chunks into cell blocks, outside of the lock.
//!
//! The first chunk after a seek is small, so that a lookup of one row copies little; later ones grow.

use std::collections::VecDeque;
use std::sync::Arc;

use basalt_hfile::{CellBlock, CellRun, CellSlot, RowFronts};
use basalt_model::{CellRef, RowMutation, Seq};
use bytes::Bytes;

use super::Memtable;
use crate::Result;
use crate::read::CellSource;

const FIRST_ROWS: usize = 16;
const ROWS_MAX: usize = 1024;
/// Size at which a block of one very long row is closed and another begun; offsets in a block are 32 bits.
const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Cells of one family (or of all) of a memtable, up to a sequence number.
#[derive(Debug)]
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    family: Option<Bytes>,
    seq_max: Seq,
    /// Next row to copy; `None` when all were.
    next_row: Option<Bytes>,
    rows: usize,
    entries: Vec<(Seq, RowMutation)>,
    ready: VecDeque<CellRun>,
}

impl MemtableCursor {
    /// Stands before the first row.
    pub(crate) fn new(memtable: Arc<Memtable>, family: Option<&str>, seq_max: Seq) -> Self {
        let family = family.map(|family| Bytes::copy_from_slice(family.as_bytes()));
        let (next_row, entries, ready) = (Some(Bytes::new()), Vec::new(), VecDeque::new());
        Self { memtable, family, seq_max, next_row, rows: FIRST_ROWS, entries, ready }
    }
}

impl CellSource for MemtableCursor {
    fn seek(&mut self, row: &[u8]) {
        self.next_row = Some(Bytes::copy_from_slice(row));
        self.rows = FIRST_ROWS;
        self.ready.clear();
    }

    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>> {
        loop {
            if let Some(run) = self.ready.pop_front() {
                return Ok(Some(run));
            }
            let Some(row) = self.next_row.take() else { return Ok(None) };
            self.entries.clear();
            self.next_row = self.memtable.copy_rows(&row, end, self.seq_max, self.rows, &mut self.entries);
            self.rows = (self.rows * 4).min(ROWS_MAX);
            build_runs(&self.entries, self.family.as_deref(), &mut self.ready);
        }
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        Ok(self.memtable.row_before(before, self.family.as_deref(), self.seq_max))
    }

    fn in_memory(&self) -> bool {
        true
    }
}

/// Turns entries (rows ascending, newest first in a row) into runs of cells in key order.
fn build_runs(entries: &[(Seq, RowMutation)], family: Option<&[u8]>, out: &mut VecDeque<CellRun>) {
    let mut builder = BlockBuilder::default();
    let mut at = 0;
    let mut cells = Vec::new();
    while at < entries.len() {
        let row = entries[at].1.borrow().row();
        let len = entries[at..].iter().take_while(|(_, mutation)| mutation.borrow().row() == row).count();
        cells.clear();
        for (seq, mutation) in &entries[at..at + len] {
            let all = mutation.borrow().cells(*seq);
            cells.extend(all.filter(|cell| family.is_none_or(|family| family == cell.family)));
        }
        if len > 1 {
            cells.sort_by(CellRef::compare);
        }
        for cell in &cells {
            if builder.size_bytes() > BLOCK_BYTES_MAX {
                builder.finish_into(out);
            }
            builder.push(cell);
        }
        at += len;
    }
    builder.finish_into(out);
}

/// A block of cells that are in key order.
pub(crate) fn block_of(cells: &[CellRef<'_>]) -> Arc<CellBlock> {
    let mut builder = BlockBuilder::default();
    cells.iter().for_each(|cell| builder.push(cell));
    let mut runs = VecDeque::new();
    builder.finish_into(&mut runs);
    runs.pop_front().map(|run| run.block).unwrap_or_default()
}

/// Builds a block from cells in key order.
#[derive(Debug)]
struct BlockBuilder {
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
    fn size_bytes(&self) -> usize {
        self.keys.len() + self.values.len() + self.tags.len()
    }

    fn push(&mut self, cell: &CellRef<'_>) {
        let new_row = self.slots.last().is_none_or(|last| key_row(&self.keys, last) != cell.row);
        if new_row {
            self.row_starts.push(self.slots.len() as u32);
        }
        let repeated = !new_row
            && self
                .slots
                .last()
                .is_some_and(|last| key_column(&self.keys, last) == (cell.family, cell.qualifier));
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

    fn finish_into(&mut self, out: &mut VecDeque<CellRun>) {
        let built = std::mem::take(self);
        if built.slots.is_empty() {
            return;
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
        out.push_back(CellRun { block: Arc::new(block), cells });
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
