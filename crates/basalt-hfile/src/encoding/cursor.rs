// SPDX-License-Identifier: Apache-2.0
//! Moving through one block cell by cell, decoding no more than its layout forces.
//!
//! | encoding | seek | backward |
//! |---|---|---|
//! | NONE | walks over lengths and rows; from its second seek on, a cached block knows where some rows begin ([`RowMarks`]) | remembers where cells began |
//! | ROW_INDEX_V1 | binary search over row offsets, then within the row | as NONE within a row, by offset between rows |
//! | PREFIX, DIFF, FAST_DIFF | decodes from the start of the block, or from where it is; from its second seek on, a cached block knows some cells to go on from | keeps the cells it decoded |
//!
//! [`crate::HFileReader::read_block`] is the way to read many cells; this is the way to read a few.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use basalt_model::CellRef;

use super::delta::DeltaMarks;
use crate::error::Damage;
use crate::key::FlatKey;

/// Where reading can begin inside of a block, for encodings that do not store it. Made by the second seek, for the third and all
/// that follow: a block that is read once does not pay for it. For some 32 cells four bytes, or the cell before.
#[derive(Debug, Default)]
pub(crate) struct RowMarks {
    sought: AtomicBool,
    offsets: OnceLock<Vec<u32>>,
    cells: OnceLock<DeltaMarks>,
}

/// Cells between two marks, at least.
pub(super) const MARK_CELLS: usize = 32;

impl RowMarks {
    /// The offsets, ascending, or none yet.
    pub(super) fn offsets(&self, make: impl FnOnce() -> Vec<u32>) -> &[u32] {
        if let Some(offsets) = self.offsets.get() {
            return offsets;
        }
        if !self.sought.swap(true, Relaxed) {
            return &[];
        }
        self.offsets.get_or_init(make)
    }

    /// Cells of a delta encoding, or none yet.
    pub(super) fn cells(&self, make: impl FnOnce() -> DeltaMarks) -> Option<&DeltaMarks> {
        if let Some(cells) = self.cells.get() {
            return Some(cells);
        }
        self.sought.swap(true, Relaxed).then(|| self.cells.get_or_init(make))
    }

    /// Memory that the marks hold, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.offsets.get().map_or(0, |offsets| 4 * offsets.capacity())
            + self.cells.get().map_or(0, DeltaMarks::memory_bytes)
    }
}

/// A position in a block: before the first cell, at a cell, or behind the last.
pub(crate) trait CellCursor: Send {
    /// Moves to the first cell whose key is not below `target`; false if there is none.
    fn seek(&mut self, target: &FlatKey<'_>) -> Result<bool, Damage>;

    /// Moves one cell forward; false behind the last.
    fn next(&mut self) -> Result<bool, Damage>;

    /// Moves one cell backward; false before the first.
    fn previous(&mut self) -> Result<bool, Damage>;

    /// The cell at the position; `None` before the first and behind the last.
    fn cell(&self) -> Option<CellRef<'_>>;

    /// Lets the cursor use what cursors over the same block found out.
    fn share(&mut self, _marks: &Arc<RowMarks>) {}
}
