// SPDX-License-Identifier: Apache-2.0
//! Flat keys: the form in which index entries, `hfile.LASTKEY` and ROWCOL bloom keys name a cell.
//!
//! ```text
//! u16 row_len (big-endian) | row | u8 family_len | family | qualifier | i64 timestamp | u8 type
//! ```
//!
//! Unlike a stored cell, a key may carry type 255 (Maximum), which sorts before every real type: with
//! timestamp LATEST, an empty family and an empty qualifier it is the first key of its row.

use std::cmp::Ordering;

use basalt_model::escape::Escaped;
use basalt_model::{CellRef, LATEST_TIMESTAMP};

/// Bytes of a flat key besides row, family and qualifier.
pub const KEY_OVERHEAD: usize = 12;
/// The type code of search keys that sort before all cells of their column.
pub const TYPE_MAXIMUM: u8 = 255;

/// A flat key taken apart; borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatKey<'a> {
    /// Row.
    pub row: &'a [u8],
    /// Family; empty in search keys.
    pub family: &'a [u8],
    /// Qualifier.
    pub qualifier: &'a [u8],
    /// Version.
    pub timestamp: i64,
    /// Type code.
    pub type_code: u8,
}

impl<'a> FlatKey<'a> {
    /// Takes a flat key apart; `None` if its lengths do not fit.
    pub fn parse(key: &'a [u8]) -> Option<Self> {
        let row_len = usize::from(u16::from_be_bytes(*key.first_chunk()?));
        let family_at = 3 + row_len;
        let family_len = usize::from(*key.get(2 + row_len)?);
        let qualifier_at = family_at + family_len;
        let suffix_at = key.len().checked_sub(9).filter(|&at| at >= qualifier_at)?;
        Some(Self {
            row: &key[2..2 + row_len],
            family: &key[family_at..qualifier_at],
            qualifier: &key[qualifier_at..suffix_at],
            timestamp: i64::from_be_bytes(*key[suffix_at..].first_chunk()?),
            type_code: key[key.len() - 1],
        })
    }

    /// The key of a cell.
    #[inline]
    pub fn of(cell: &CellRef<'a>) -> Self {
        Self {
            row: cell.row,
            family: cell.family,
            qualifier: cell.qualifier,
            timestamp: cell.timestamp,
            type_code: cell.cell_type.code(),
        }
    }

    /// The first key a row can have.
    pub fn first_of_row(row: &'a [u8]) -> Self {
        Self::first_of_column(row, b"", b"")
    }

    /// The first key a column can have.
    pub fn first_of_column(row: &'a [u8], family: &'a [u8], qualifier: &'a [u8]) -> Self {
        Self { row, family, qualifier, timestamp: LATEST_TIMESTAMP, type_code: TYPE_MAXIMUM }
    }

    /// Order of keys in a file.
    pub fn compare(&self, other: &FlatKey<'_>) -> Ordering {
        self.row
            .cmp(other.row)
            .then_with(|| self.family.cmp(other.family))
            .then_with(|| self.qualifier.cmp(other.qualifier))
            .then_with(|| other.timestamp.cmp(&self.timestamp))
            .then_with(|| other.type_code.cmp(&self.type_code))
    }

    /// Bytes of the flat form.
    #[inline]
    pub fn len(&self) -> usize {
        KEY_OVERHEAD + self.row.len() + self.family.len() + self.qualifier.len()
    }

    /// Never: a flat key has at least its fixed fields.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends the flat form.
    #[inline]
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.row.len() as u16).to_be_bytes());
        out.extend_from_slice(self.row);
        out.push(self.family.len() as u8);
        out.extend_from_slice(self.family);
        out.extend_from_slice(self.qualifier);
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.push(self.type_code);
    }

    /// The flat form.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len());
        self.write_to(&mut out);
        out
    }
}

impl std::fmt::Display for FlatKey<'_> {
    /// `row/family:qualifier/timestamp/type`, bytes escaped.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (row, family, qualifier) = (Escaped(self.row), Escaped(self.family), Escaped(self.qualifier));
        write!(f, "{row}/{family}:{qualifier}/{}/{}", self.timestamp, self.type_code)
    }
}

/// Row of a flat key whose lengths were checked before.
#[inline]
pub(crate) fn row_of(key: &[u8]) -> &[u8] {
    let row_len = usize::from(u16::from_be_bytes([key[0], key[1]]));
    &key[2..2 + row_len]
}
