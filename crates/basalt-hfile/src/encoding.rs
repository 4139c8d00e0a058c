// SPDX-License-Identifier: Apache-2.0
//! Data block encodings: how the cells of one block become bytes, and back.
//!
//! Each encoding is a folder of the same shape: an encoder that appends cells to the payload of a block, and
//! a decoder that turns a payload into a [`CellBlock`]. A new encoding adds its folder, its name in
//! [`Encoding`] and one line in [`Encoding::implementation`].
//!
//! The payload of an encoded block (`DATABLKE`) begins with the encoding's 16-bit number; NONE writes blocks
//! of another kind (`DATABLK*`) without one. Numbers and encoders match `DataBlockEncoding` of HBase 2.6, byte
//! for byte.

pub(crate) mod none;
pub(crate) mod raw_cells;

use basalt_model::{CellRef, Seq};
use bytes::Bytes;

use crate::cells::CellBlock;
use crate::error::Damage;

/// A data block encoding by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Encoding {
    /// Cells back to back.
    #[default]
    None,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 1] = [Self::None];

    /// The name in file info and family attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
        }
    }

    /// The encoding of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name().eq_ignore_ascii_case(name))
    }

    /// The number that begins an encoded block; NONE's is never written.
    pub fn id(self) -> u16 {
        match self {
            Self::None => 0,
        }
    }

    pub(crate) fn implementation(self) -> &'static dyn BlockEncoding {
        match self {
            Self::None => &none::None,
        }
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Which optional parts every cell of a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CellLayout {
    /// Tags, with a length even where a cell has none.
    pub(crate) with_tags: bool,
    /// Tags are dictionary coded (delta encodings only).
    pub(crate) tags_compressed: bool,
    /// Sequence numbers.
    pub(crate) with_seq: bool,
}

/// What a decoder needs besides the payload.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DecodeContext {
    pub(crate) layout: CellLayout,
    /// Every cell gets this number instead of the stored one.
    pub(crate) seq_override: Option<Seq>,
    /// Bytes of an average cell, to size the slots.
    pub(crate) cell_bytes_estimate: usize,
}

/// One encoding: what the writer and the reader need of it.
pub(crate) trait BlockEncoding: Sync {
    /// A fresh encoder for the blocks of one file.
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder>;

    /// All cells of a payload (behind the encoding's number).
    fn decode(&self, body: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage>;
}

/// Appends cells to block payloads. The call per cell is virtual; measured, it is lost among the copies.
pub(crate) trait BlockEncoder: Send {
    /// Starts a block at the end of `out`.
    fn begin(&mut self, out: &mut Vec<u8>);
    /// Appends a cell that sorts after the previous one. `new_row`: its row differs from the previous cell's.
    fn append(&mut self, cell: &CellRef<'_>, new_row: bool, out: &mut Vec<u8>);
    /// Ends the block.
    fn finish(&mut self, out: &mut Vec<u8>);
    /// Bytes emitted for cells of this block so far, as HBase counts them for its block boundaries.
    fn encoded_bytes(&self, out: &[u8]) -> usize;
}
