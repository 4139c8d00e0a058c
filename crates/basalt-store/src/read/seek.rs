// SPDX-License-Identifier: Apache-2.0
//! A place between cells: where a reader goes on when it need not look at what lies before.

use std::cmp::Ordering;

use basalt_model::CellRef;

/// A key in the order of cells that need not be a cell's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeekKey {
    pub(crate) row: Vec<u8>,
    family: Vec<u8>,
    qualifier: Vec<u8>,
    timestamp: i64,
    type_code: u8,
}

/// Above every type of a cell: before all cells of a timestamp.
const TYPE_FIRST: u8 = 0xff;
/// Below every type of a cell: behind all cells of a timestamp.
const TYPE_LAST: u8 = 0;

impl SeekKey {
    /// Before the first cell of `row`.
    pub(crate) fn before_row(row: Vec<u8>) -> Self {
        Self { row, family: Vec::new(), qualifier: Vec::new(), timestamp: i64::MAX, type_code: TYPE_FIRST }
    }

    /// Before the newest version of a column in the row and family of `cell`.
    pub(crate) fn before_column(cell: &CellRef<'_>, qualifier: &[u8]) -> Self {
        Self::before_version(cell, qualifier, i64::MAX)
    }

    /// Before the versions with this timestamp of a column in the row and family of `cell`.
    pub(crate) fn before_version(cell: &CellRef<'_>, qualifier: &[u8], timestamp: i64) -> Self {
        let (row, family) = (cell.row.to_vec(), cell.family.to_vec());
        Self { row, family, qualifier: qualifier.to_vec(), timestamp, type_code: TYPE_FIRST }
    }

    /// Behind all versions of the column of `cell`.
    pub(crate) fn behind_column(cell: &CellRef<'_>) -> Self {
        Self { timestamp: i64::MIN, type_code: TYPE_LAST, ..Self::before_column(cell, cell.qualifier) }
    }

    /// Behind all cells with the timestamp and type of `cell` in its column.
    pub(crate) fn behind_type(cell: &CellRef<'_>) -> Self {
        let type_code = cell.cell_type.code() - 1;
        Self { type_code, ..Self::before_version(cell, cell.qualifier, cell.timestamp) }
    }

    /// The place of the key relative to a cell.
    pub(crate) fn compare_to(&self, cell: &CellRef<'_>) -> Ordering {
        self.row[..]
            .cmp(cell.row)
            .then_with(|| self.family[..].cmp(cell.family))
            .then_with(|| self.qualifier[..].cmp(cell.qualifier))
            .then_with(|| cell.timestamp.cmp(&self.timestamp))
            .then_with(|| cell.cell_type.code().cmp(&self.type_code))
    }
}

impl PartialOrd for SeekKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SeekKey {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.row, &self.family, &self.qualifier)
            .cmp(&(&other.row, &other.family, &other.qualifier))
            .then_with(|| other.timestamp.cmp(&self.timestamp))
            .then_with(|| other.type_code.cmp(&self.type_code))
    }
}
