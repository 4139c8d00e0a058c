// SPDX-License-Identifier: Apache-2.0
//! A data block that is read, verified and decompressed, but not decoded: what a cache may hold for point
//! reads, which take one row out of it.

use std::sync::Arc;

use basalt_model::CellRef;
use bytes::Bytes;

use crate::cells::CellBlock;
use crate::columnar::{ColumnarBlock, PartCursor};
use crate::encoding::cursor::{CellCursor, RowMarks};
use crate::encoding::{DecodeContext, Encoding};
use crate::error::{Damage, Error, Result};
use crate::file::FileRead;
use crate::key::FlatKey;
use crate::rows::RowBlock;

/// A verified data block in its encoded form.
#[derive(Debug, Clone)]
pub struct EncodedBlock {
    pub(crate) file: Arc<dyn FileRead>,
    pub(crate) offset: u64,
    pub(crate) content: Content,
}

/// What a block holds.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// Cells, one after the other.
    Cells { encoding: Encoding, body: Bytes, context: DecodeContext, marks: Arc<RowMarks> },
    /// A row group.
    Columns(Arc<ColumnarBlock>),
}

impl EncodedBlock {
    /// All cells.
    pub fn decode(&self) -> Result<CellBlock> {
        match &self.content {
            Content::Cells { encoding, body, context, .. } => {
                let block = encoding.implementation().decode(body, context);
                block.map_err(|damage| self.corrupt(damage))
            }
            Content::Columns(block) => block.decode(0..block.vectors()),
        }
    }

    /// All cells, as runs of rows where rows have one form: faster by half and more than [`Self::decode`].
    pub fn decode_rows(&self) -> Result<RowBlock> {
        match &self.content {
            Content::Cells { encoding, body, context, .. } => {
                let block = encoding.implementation().decode_rows(body, context);
                block.map_err(|damage| self.corrupt(damage))
            }
            Content::Columns(block) => Ok(block.decode(0..block.vectors())?.into()),
        }
    }

    /// The cells of `row` in this block, none or some, decoding no more than the encoding forces.
    pub fn decode_row(&self, row: &[u8]) -> Result<CellBlock> {
        match &self.content {
            Content::Cells { encoding, body, context, .. } => {
                let block = encoding.implementation().decode_row(body, context, row);
                block.map_err(|damage| self.corrupt(damage))
            }
            Content::Columns(block) => block.decode_row(row, None),
        }
    }

    /// A cursor before the first cell.
    pub fn cursor(&self) -> Result<BlockCursor> {
        let cursor = match &self.content {
            Content::Cells { encoding, body, context, marks } => {
                let cursor = encoding.implementation().cursor(body, context);
                let mut cursor = cursor.map_err(|damage| self.corrupt(damage))?;
                cursor.share(marks);
                cursor
            }
            Content::Columns(block) => Box::new(PartCursor::new(Arc::clone(block))),
        };
        Ok(BlockCursor { cursor, block: self.clone() })
    }

    /// Memory that the block holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match &self.content {
            Content::Cells { body, marks, .. } => body.len() + marks.memory_bytes(),
            Content::Columns(block) => block.memory_bytes(),
        }
    }

    /// The row group, if it is one.
    pub fn columns(&self) -> Option<&Arc<ColumnarBlock>> {
        match &self.content {
            Content::Cells { .. } => None,
            Content::Columns(block) => Some(block),
        }
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
