// SPDX-License-Identifier: Apache-2.0
//! A data block that is read, verified and decompressed, but not decoded: what a cache may hold for point
//! reads, which take one row out of it.

use std::sync::Arc;

use basalt_model::CellRef;
use bytes::Bytes;

use crate::cells::CellBlock;
use crate::encoding::cursor::{CellCursor, RowMarks};
use crate::encoding::{DecodeContext, Encoding};
use crate::error::{Damage, Error, Result};
use crate::file::FileRead;
use crate::key::FlatKey;

/// A verified data block in its encoded form.
#[derive(Debug, Clone)]
pub struct EncodedBlock {
    pub(crate) file: Arc<dyn FileRead>,
    pub(crate) offset: u64,
    pub(crate) encoding: Encoding,
    pub(crate) body: Bytes,
    pub(crate) context: DecodeContext,
    marks: Arc<RowMarks>,
}

impl EncodedBlock {
    pub(crate) fn new(
        file: Arc<dyn FileRead>,
        offset: u64,
        encoding: Encoding,
        body: Bytes,
        context: DecodeContext,
    ) -> Self {
        Self { file, offset, encoding, body, context, marks: Arc::default() }
    }

    /// All cells.
    pub fn decode(&self) -> Result<CellBlock> {
        let block = self.encoding.implementation().decode(&self.body, &self.context);
        block.map_err(|damage| self.corrupt(damage))
    }

    /// The cells of `row` in this block, none or some, decoding no more than the encoding forces.
    pub fn decode_row(&self, row: &[u8]) -> Result<CellBlock> {
        let block = self.encoding.implementation().decode_row(&self.body, &self.context, row);
        block.map_err(|damage| self.corrupt(damage))
    }

    /// A cursor before the first cell.
    pub fn cursor(&self) -> Result<BlockCursor> {
        let cursor = self.encoding.implementation().cursor(&self.body, &self.context);
        let mut cursor = cursor.map_err(|damage| self.corrupt(damage))?;
        cursor.share(&self.marks);
        Ok(BlockCursor { cursor, block: self.clone() })
    }

    /// Memory that the block holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.body.len()
    }

    #[cold]
    fn corrupt(&self, damage: Damage) -> Error {
        damage.in_block(self.file.name(), self.offset)
    }
}

/// A position among the cells of one block: before the first, at one, or behind the last.
pub struct BlockCursor {
    cursor: Box<dyn CellCursor>,
    block: EncodedBlock,
}

impl BlockCursor {
    /// Moves to the first cell whose key is not below `target`; false if there is none.
    pub fn seek(&mut self, target: &FlatKey<'_>) -> Result<bool> {
        self.cursor.seek(target).map_err(|damage| self.block.corrupt(damage))
    }

    /// Moves one cell forward; false behind the last.
    pub fn next_cell(&mut self) -> Result<bool> {
        self.cursor.next().map_err(|damage| self.block.corrupt(damage))
    }

    /// Moves one cell backward; false before the first.
    pub fn previous_cell(&mut self) -> Result<bool> {
        self.cursor.previous().map_err(|damage| self.block.corrupt(damage))
    }

    /// The cell at the position.
    pub fn cell(&self) -> Option<CellRef<'_>> {
        self.cursor.cell()
    }
}

#[cfg(test)]
mod tests;
