// SPDX-License-Identifier: Apache-2.0
//! The cell: the unit of storage, and the order in which cells lie in memory and in files.
//!
//! A cell is (row, family, qualifier, timestamp, type) -> value. The order is HBase's
//! (`CellComparatorImpl`, 2.6): row, family, qualifier ascending as unsigned bytes; then timestamp
//! descending, type code descending, sequence number descending. So the newest version of a column comes
//! first and a delete marker comes before the puts of the same timestamp.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Sequence number of a committed batch: 1, 2, 3, … over the whole database. It orders writes; the user's
/// version of a cell is its *timestamp*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// A timestamp that asks for the clock at commit ("the latest"), HBase's `HConstants.LATEST_TIMESTAMP`.
pub const LATEST_TIMESTAMP: i64 = i64::MAX;

/// What a cell says about its column. The codes are HBase's `KeyValue.Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CellType {
    /// A value.
    Put = 4,
    /// Deletes one version: this column at exactly this timestamp.
    Delete = 8,
    /// Deletes every column of the family at exactly this timestamp; the qualifier is empty.
    DeleteFamilyVersion = 10,
    /// Deletes all versions of this column up to and including this timestamp.
    DeleteColumn = 12,
    /// Deletes every column of the family up to and including this timestamp; the qualifier is empty.
    DeleteFamily = 14,
}

impl CellType {
    /// The type with this code, or `None` for a code that no stored cell may have.
    #[inline]
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            4 => Self::Put,
            8 => Self::Delete,
            10 => Self::DeleteFamilyVersion,
            12 => Self::DeleteColumn,
            14 => Self::DeleteFamily,
            _ => return None,
        })
    }

    /// The code stored in files and sent on the wire.
    #[inline]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// True for all types but `Put`.
    pub fn is_delete(self) -> bool {
        self != Self::Put
    }
}

/// A borrowed cell. `tags` is the raw tag section (empty as a rule); `seq` is the commit that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellRef<'a> {
    /// Row key, 1 to 32,767 bytes.
    pub row: &'a [u8],
    /// Column family, 1 to 127 bytes.
    pub family: &'a [u8],
    /// Column qualifier; may be empty.
    pub qualifier: &'a [u8],
    /// The user's version, milliseconds since the epoch as a rule.
    pub timestamp: i64,
    /// Put or one of the delete markers.
    pub cell_type: CellType,
    /// The value; may be empty, and is for deletes.
    pub value: &'a [u8],
    /// The commit that wrote the cell; `Seq(0)` when nothing older or newer contends with it.
    pub seq: Seq,
    /// Raw tags, HBase layout: repeated (u16 length of type + payload, u8 type, payload).
    pub tags: &'a [u8],
}

impl CellRef<'_> {
    /// Order of cells in memory and in files; the sequence number is the last word.
    pub fn compare(&self, other: &CellRef<'_>) -> Ordering {
        self.compare_without_seq(other).then_with(|| other.seq.cmp(&self.seq))
    }

    /// Order as a file index and a writer's order check see it: everything but the sequence number.
    pub fn compare_without_seq(&self, other: &CellRef<'_>) -> Ordering {
        self.row.cmp(other.row).then_with(|| self.compare_column(other)).then_with(|| {
            other
                .timestamp
                .cmp(&self.timestamp)
                .then_with(|| other.cell_type.code().cmp(&self.cell_type.code()))
        })
    }

    /// Order by family and qualifier alone.
    pub fn compare_column(&self, other: &CellRef<'_>) -> Ordering {
        self.family.cmp(other.family).then_with(|| self.qualifier.cmp(other.qualifier))
    }
}

#[cfg(test)]
mod tests;
