// SPDX-License-Identifier: Apache-2.0
//! A cell that owns its bytes, for tests that make cells and compare them with what they read.

use basalt_model::{CellRef, CellType, Seq};

/// A cell of family `0`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) row: Vec<u8>,
    pub(crate) qualifier: Vec<u8>,
    pub(crate) timestamp: i64,
    pub(crate) cell_type: CellType,
    pub(crate) value: Vec<u8>,
    pub(crate) seq: u64,
    pub(crate) tags: Vec<u8>,
}

impl Cell {
    pub(crate) fn borrow(&self) -> CellRef<'_> {
        let Cell { row, qualifier, timestamp, cell_type, value, seq, tags } = self;
        let (family, seq) = (&b"0"[..], Seq(*seq));
        CellRef { row, family, qualifier, timestamp: *timestamp, cell_type: *cell_type, value, seq, tags }
    }
}
