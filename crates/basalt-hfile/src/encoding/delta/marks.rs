// SPDX-License-Identifier: Apache-2.0
//! Places inside of a delta-encoded block from which decoding can go on: after some cell, whose name, timestamp, type and value
//! are what the next one is the difference from.

use super::read::{DeltaCells, DeltaFormat};
use crate::cells::CellSlot;
use crate::encoding::cursor::MARK_CELLS;

/// Marks of one block, in order.
#[derive(Debug, Default)]
pub(crate) struct DeltaMarks {
    marks: Vec<StoredMark>,
    names: Vec<u8>,
}

#[derive(Debug)]
struct StoredMark {
    slot: CellSlot,
    name_at: u32,
    name_len: u32,
    at: u32,
    raw_bytes: u32,
}

/// What decoding goes on from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark<'a> {
    /// The last cell; its key lies at 0.
    pub(super) slot: CellSlot,
    /// Its name: row length to qualifier.
    pub(super) name: &'a [u8],
    /// Where the next cell begins.
    pub(super) at: usize,
    /// Bytes of all cells up to here, in raw form.
    pub(super) raw_bytes: usize,
}

impl Mark<'_> {
    /// Row of the last cell.
    pub(super) fn row(&self) -> &[u8] {
        &self.name[2..2 + self.slot.row_len as usize]
    }
}

impl DeltaMarks {
    /// The marks of a block, given its cells before the first is decoded. None where a cell is damaged or behind it: who reads it
    /// will say so; and none if tags are coded, for what their codes mean depends on all cells before.
    pub(super) fn of<F: DeltaFormat>(mut cells: DeltaCells) -> Self {
        let (mut marks, mut marked) = (Self::default(), 0);
        if cells.may_have_coded_tags() {
            return marks;
        }
        let _ = cells.step_until::<F, _>(|cells| {
            if cells.len() - marked >= MARK_CELLS
                && let Some(mark) = cells.mark()
            {
                marked = cells.len();
                marks.push(&mark);
            }
            false
        });
        marks
    }

    fn push(&mut self, mark: &Mark<'_>) {
        self.marks.push(StoredMark {
            slot: mark.slot,
            name_at: self.names.len() as u32,
            name_len: mark.name.len() as u32,
            at: mark.at as u32,
            raw_bytes: mark.raw_bytes as u32,
        });
        self.names.extend_from_slice(mark.name);
    }

    fn get(&self, mark: &StoredMark) -> Mark<'_> {
        let name = &self.names[mark.name_at as usize..(mark.name_at + mark.name_len) as usize];
        Mark { slot: mark.slot, name, at: mark.at as usize, raw_bytes: mark.raw_bytes as usize }
    }

    /// The last mark before every cell of `row`; `None` if they may begin before the first mark.
    pub(super) fn before(&self, row: &[u8]) -> Option<Mark<'_>> {
        let behind = self.marks.partition_point(|mark| self.get(mark).row() < row);
        Some(self.get(&self.marks[behind.checked_sub(1)?]))
    }

    /// Memory that the marks hold, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.marks.capacity() * size_of::<StoredMark>() + self.names.capacity()
    }
}
