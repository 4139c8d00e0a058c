// SPDX-License-Identifier: Apache-2.0
//! Data block encodings: how the cells of one block become bytes, and back.
//!
//! Each encoding is a module of the same shape: its layout and its [`BlockEncoding`], behind which is an encoder that appends cells
//! to the payload of a block, and a decoder that turns a payload into a [`CellBlock`]; where they do not share all of their work with
//! other encodings they lie in the module's folder, `write` and `read`. A new encoding adds its module and one line to the table
//! of [`Encoding`].
//!
//! The payload of an encoded block (`DATABLKE`) begins with the encoding's 16-bit number; NONE writes blocks
//! of another kind (`DATABLK*`) without one. Numbers and encoders match `DataBlockEncoding` of HBase 2.6, byte
//! for byte.

pub(crate) mod cursor;
pub(crate) mod delta;
mod diff;
mod fast_diff;
mod none;
mod prefix;
pub(crate) mod raw_cells;
mod raw_cursor;
mod raw_rows;
mod row_form;
mod row_index_v1;

use std::cmp::Ordering;

use basalt_model::{CellRef, Seq};
use bytes::Bytes;

use crate::cells::CellBlock;
use crate::error::Damage;
use crate::key::FlatKey;
use crate::rows::RowBlock;
use crate::write_buffer::WriteBuffer;
use cursor::CellCursor;

/// Makes [`Encoding`] and what it says of each encoding of a table.
macro_rules! encodings {
    (
        of HBase {$($(#[$theirs_attribute:meta])* $theirs:ident, $theirs_name:literal, $theirs_id:literal, $theirs_code:expr;)*}
        of Basalt alone {$($(#[$ours_attribute:meta])* $ours:ident, $ours_name:literal, $ours_id:literal, $ours_code:expr;)*}
    ) => {
        /// A data block encoding by name. All but COLUMNAR are HBase's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub enum Encoding {
            $($(#[$theirs_attribute])* $theirs,)*
            $($(#[$ours_attribute])* $ours,)*
        }

        impl Encoding {
            /// Every encoding.
            pub const ALL: [Self; Self::OF_HBASE.len() + [$($ours_id),*].len()] =
                [$(Self::$theirs,)* $(Self::$ours,)*];
            /// Those that HBase knows.
            pub const OF_HBASE: [Self; [$($theirs_id),*].len()] = [$(Self::$theirs),*];

            /// The name in file info and family attributes.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$theirs => $theirs_name,)*
                    $(Self::$ours => $ours_name,)*
                }
            }

            /// The number that begins an encoded block; NONE's is never written. HBase's end at 7.
            pub fn id(self) -> u16 {
                match self {
                    $(Self::$theirs => $theirs_id,)*
                    $(Self::$ours => $ours_id,)*
                }
            }

            /// The code for blocks that are written cell by cell.
            pub(crate) fn implementation(self) -> &'static dyn BlockEncoding {
                match self {
                    $(Self::$theirs => &$theirs_code,)*
                    $(Self::$ours => &$ours_code,)*
                }
            }
        }
    };
}

encodings! {
    of HBase {
        /// Cells back to back.
        #[default]
        None, "NONE", 0, none::None;
        /// Keys without the prefix of the key before.
        Prefix, "PREFIX", 2, prefix::Prefix;
        /// As PREFIX, and timestamps as differences.
        Diff, "DIFF", 3, diff::Diff;
        /// As DIFF, cheaper to decode, and without values that repeat.
        FastDiff, "FAST_DIFF", 4, fast_diff::FastDiff;
        /// As NONE, with the offset of each row.
        RowIndexV1, "ROW_INDEX_V1", 7, row_index_v1::RowIndexV1;
    }
    of Basalt alone {
        /// A block is a row group, its columns apart from each other ([`crate::columnar`]); irregular ones are FAST_DIFF's. HBase cannot
        /// read it.
        Columnar, "COLUMNAR", 0x4243, fast_diff::FastDiff;
    }
}

impl Encoding {
    /// The encoding of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name().eq_ignore_ascii_case(name))
    }

    /// The encoding of blocks that are written cell by cell: COLUMNAR's irregular ones are FAST_DIFF's.
    pub(crate) fn by_cell(self) -> Self {
        if self == Self::Columnar { Self::FastDiff } else { self }
    }
}

impl serde::Serialize for Encoding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
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
    /// Raw bytes that the cells of one block may come to.
    pub(crate) block_raw_bytes_max: usize,
}

/// How a cell stands to the one before it.
#[derive(Debug)]
pub(crate) struct CellStep {
    /// `Less` if the cell sorts behind the one before, as it must; `Equal` if their keys are equal.
    pub(crate) order: Ordering,
    /// The rows differ.
    pub(crate) new_row: bool,
    /// Row or qualifier differ.
    pub(crate) new_column: bool,
    /// Bytes that the flat keys have in common, as [`delta`] counts them.
    pub(crate) common: usize,
    /// Timestamp of the cell before.
    pub(crate) previous_timestamp: i64,
    /// Type of the cell before.
    pub(crate) previous_type: u8,
    /// Length of the flat key of the cell before.
    pub(crate) previous_key_len: usize,
}

impl CellStep {
    /// Compares two cells of one family, once for all who want to know.
    #[inline]
    pub(crate) fn between(previous: &FlatKey<'_>, cell: &CellRef<'_>) -> Self {
        let mut step = Self {
            order: Ordering::Less,
            new_row: true,
            new_column: true,
            common: 0,
            previous_timestamp: previous.timestamp,
            previous_type: previous.type_code,
            previous_key_len: previous.len(),
        };
        let row = common_len(previous.row, cell.row);
        if row < cell.row.len() || row < previous.row.len() {
            step.order = previous.row[row..].first().cmp(&cell.row[row..].first());
            step.common = match previous.row.len() == cell.row.len() {
                true => 2 + row,
                false => usize::from(previous.row.len() >> 8 == cell.row.len() >> 8),
            };
            return step;
        }
        step.new_row = false;
        let qualifier = common_len(previous.qualifier, cell.qualifier);
        step.common = 3 + row + cell.family.len() + qualifier;
        step.new_column = qualifier < cell.qualifier.len() || qualifier < previous.qualifier.len();
        step.order = if step.new_column {
            previous.qualifier[qualifier..].first().cmp(&cell.qualifier[qualifier..].first())
        } else {
            let by_timestamp = cell.timestamp.cmp(&previous.timestamp);
            by_timestamp.then_with(|| cell.cell_type.code().cmp(&previous.type_code))
        };
        step
    }
}

/// Length of the common prefix.
#[inline(always)]
pub(crate) fn common_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut at = 0;
    while let (Some(x), Some(y)) = (a[at..].first_chunk(), b[at..].first_chunk()) {
        let different = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if different != 0 {
            return at + different.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    if let (Some(x), Some(y)) = (a[at..].first_chunk(), b[at..].first_chunk()) {
        let different = u32::from_le_bytes(*x) ^ u32::from_le_bytes(*y);
        if different != 0 {
            return at + different.trailing_zeros() as usize / 8;
        }
        at += 4;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}

/// One encoding: what the writer and the reader need of it.
pub(crate) trait BlockEncoding: Sync {
    /// A fresh encoder for the blocks of one file.
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder>;

    /// All cells of a payload (behind the encoding's number).
    fn decode(&self, body: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage>;

    /// All cells of a payload, as runs of rows where rows have one form.
    fn decode_rows(&self, body: &Bytes, context: &DecodeContext) -> Result<RowBlock, Damage>;

    /// The cells of `row` alone, decoding no more than the layout forces.
    fn decode_row(&self, body: &Bytes, context: &DecodeContext, row: &[u8]) -> Result<CellBlock, Damage>;

    /// A cursor before the first cell.
    fn cursor(&self, body: &Bytes, context: &DecodeContext) -> Result<Box<dyn CellCursor>, Damage>;

    /// True if blocks hold cells in raw form, one after the other.
    fn keeps_raw_cells(&self) -> bool {
        false
    }
}

/// Appends cells to block payloads. The call per cell is virtual; measured, it is lost among the copies.
pub(crate) trait BlockEncoder: Send {
    /// Starts a block at the end of `out`.
    fn begin(&mut self, out: &mut WriteBuffer);
    /// Appends a cell with its flat key; `step` is `None` for the first cell of a block. There is room for
    /// [`encoded_len_max`].
    fn append(&mut self, cell: &CellRef<'_>, key: &[u8], step: Option<&CellStep>, out: &mut WriteBuffer);
    /// Appends rows in raw form, `row_len` bytes each, if the encoding keeps cells in that form ([`BlockEncoding::keeps_raw_cells`]).
    /// There is room for them.
    fn append_raw_rows(&mut self, rows: &[u8], _row_len: usize, _out: &mut WriteBuffer) {
        debug_assert!(rows.is_empty(), "an encoding of its own form takes cells");
    }
    /// Ends the block, whose cells are `raw_bytes` in raw form.
    fn finish(&mut self, raw_bytes: usize, out: &mut WriteBuffer);
    /// Bytes emitted for cells of this block so far, as HBase counts them for its block boundaries: at most
    /// what was appended and four for each cell.
    fn encoded_bytes(&self, out: &[u8]) -> usize;
}

/// Bytes that no encoding of a cell exceeds, nor what is written behind its end on the way.
#[inline(always)]
pub(crate) fn encoded_len_max(cell: &CellRef<'_>, key: &[u8]) -> usize {
    // Flag, three lengths, type, tags' length and sequence number; a family length. A coded tag has at most its raw form's bytes
    // and four more, and has two at least.
    64 + key.len() + cell.family.len() + cell.value.len() + 4 * cell.tags.len()
}

/// `a == b` for slices that are a few bytes long and mostly equal: rows and column names of neighbouring cells.
/// Two loads that overlap instead of a call of `memcmp`.
#[inline(always)]
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0 => true,
        1 => a[0] == b[0],
        2..4 => a.first_chunk::<2>() == b.first_chunk::<2>() && a.last_chunk::<2>() == b.last_chunk::<2>(),
        4..8 => a.first_chunk::<4>() == b.first_chunk::<4>() && a.last_chunk::<4>() == b.last_chunk::<4>(),
        8..=16 => a.first_chunk::<8>() == b.first_chunk::<8>() && a.last_chunk::<8>() == b.last_chunk::<8>(),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
