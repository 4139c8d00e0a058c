// SPDX-License-Identifier: Apache-2.0
//! Bloom filters: whether a file may hold a row (or a column of a row) at all. Matches the compound Bloom
//! filters of HBase 2.6.
//!
//! A filter is a list of chunks, each a plain bit array in a block of its own between the data blocks, and a
//! metadata block with the chunks' places and first keys:
//!
//! ```text
//! i32 version = 3 | i64 bytes | i32 hash count | i32 hash type | i64 keys | i64 capacity | i32 chunks
//! VBYTES comparator | ( i64 offset | i32 on-disk size | VBYTES first key )*
//! ```
//!
//! Bit `i` of a key in a chunk of `S` bytes is `|(h1 + i * h2) rem 8 S|` in signed 32-bit arithmetic, with
//! `h1 = hash(key, 0)` and `h2 = hash(key, h1)`.

pub(crate) mod hash;
mod read;
mod write;

pub use hash::HashKind;
pub use read::BloomFacts;
pub(crate) use read::BloomReader;
pub(crate) use write::{BloomWriter, GeneralBloom};

/// What the general filter of a file answers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum BloomKind {
    /// No filter.
    None,
    /// Rows.
    #[default]
    Row,
    /// Columns of rows.
    RowCol,
    /// Prefixes of rows, of this many bytes.
    #[serde(rename = "ROWPREFIX_FIXED_LENGTH")]
    RowPrefix(u32),
}

impl BloomKind {
    /// The name in file info and family attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Row => "ROW",
            Self::RowCol => "ROWCOL",
            Self::RowPrefix(_) => "ROWPREFIX_FIXED_LENGTH",
        }
    }

    /// `NONE`, `ROW` or `ROWCOL`, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Row, Self::RowCol].into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

pub(crate) const META_VERSION: u32 = 3;
/// The comparator that ROWCOL filters name.
pub(crate) const COLUMN_COMPARATOR: &str = "org.apache.hadoop.hbase.CellComparatorImpl";

/// Calls `visit` with the bit positions of a key in a chunk of `bits` bits until it answers false.
#[inline]
pub(crate) fn each_bit(
    hash: (i32, i32),
    count: u32,
    bits: i32,
    mut visit: impl FnMut(usize) -> bool,
) -> bool {
    let mut position = hash.0;
    // Chunks that were never folded to an odd size, that is nearly all, have a power of two of bits: the remainder is a
    // mask then, where seven divisions would take a third of the time of writing a row.
    let mask = if bits.count_ones() == 1 { bits as u32 - 1 } else { 0 };
    for _ in 0..count {
        let bit = if mask != 0 { position.unsigned_abs() & mask } else { (position % bits).unsigned_abs() };
        if !visit(bit as usize) {
            return false;
        }
        position = position.wrapping_add(hash.1);
    }
    true
}
