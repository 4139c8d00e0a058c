// SPDX-License-Identifier: Apache-2.0
//! The rows of the block being written, column by column.
//!
//! Whatever cells come, they can be given back in their order: by row, then by column, then as they came. Timestamp,
//! type and sequence number are kept once per row as long as the cells of each row agree, else once per cell.

use std::ops::Range;

use basalt_model::{CellRef, CellType, Seq};

use super::batch::ColumnBatch;
use super::gathered::Gathered;
use super::strings::StringList;
use super::{COLUMNS_MAX, QUALIFIER_MAX, ROWS_MAX, VECTOR};
use crate::encoding::same_bytes;

/// Cells of one column in one vector; more would no longer be a small part of a block.
const VECTOR_CELLS_MAX: usize = 16 * VECTOR;
/// A block of more than this many columns must fill one in [`SPARSE`] places.
const SPARSE_COLUMNS: usize = 16;
const SPARSE: usize = 32;

/// When, which and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) timestamp: i64,
    pub(super) cell_type: CellType,
    pub(super) seq: Seq,
}

impl Stamp {
    fn of(cell: &CellRef<'_>) -> Self {
        Self { timestamp: cell.timestamp, cell_type: cell.cell_type, seq: cell.seq }
    }
}

/// The cells of one column.
#[derive(Debug, Default)]
pub(super) struct Column {
    pub(super) qualifier: Vec<u8>,
    /// Row of each cell, ascending.
    pub(super) rows: Vec<u32>,
    pub(super) values: Gathered,
    /// Of each cell, once the stamps of a row differ.
    pub(super) stamps: Vec<Stamp>,
}

impl Column {
    /// True if each of so many rows has one cell.
    pub(super) fn is_dense(&self, rows: usize) -> bool {
        self.rows.len() == rows && self.rows.iter().zip(0..).all(|(&row, at)| row == at)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(super) family: Vec<u8>,
    pub(super) rows: StringList,
    /// Sorted by qualifier.
    pub(super) columns: Vec<Column>,
    /// Of each row, as long as all cells of a row have the same.
    pub(super) row_stamps: Option<Vec<Stamp>>,
    pub(super) cells: usize,
    /// Where the last cell's column is.
    at: usize,
    /// Tags, a row begun in another block, or a column name too long for the head.
    irregular: bool,
    tags: Vec<Vec<u8>>,
    bytes: usize,
}

impl Group {
    /// An empty group. `continues` if its first row has cells before it in the file.
    pub(crate) fn new(continues: bool) -> Self {
        Self { row_stamps: Some(Vec::new()), irregular: continues, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Bytes of rows and values so far.
    pub(crate) fn size_bytes(&self) -> usize {
        self.bytes
    }

    /// True if the next cell belongs into another block. A row is divided only if it is too large for any.
    pub(crate) fn is_full(
        &self,
        cell: &CellRef<'_>,
        new_row: bool,
        rows_max: usize,
        bytes_max: usize,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        if new_row {
            return self.rows.len() >= rows_max.clamp(1, ROWS_MAX)
                || self.bytes >= bytes_max
                || self.irregular;
        }
        let large = self.bytes >= bytes_max.saturating_mul(2) || self.cells >= ROWS_MAX * 256;
        large || self.columns.len() >= COLUMNS_MAX && self.find(cell.qualifier).is_err()
    }

    /// How many rows of a batch fit, at least one unless the next row belongs into another block. Rows are taken to be as large
    /// as the batch's are in the mean.
    pub(crate) fn room_for(&self, batch: &ColumnBatch, rows_max: usize, bytes_max: usize) -> usize {
        let rows_max = rows_max.clamp(1, ROWS_MAX);
        if self.irregular || self.rows.len() >= rows_max || self.bytes >= bytes_max {
            return if self.is_empty() { 1 } else { 0 };
        }
        let new = batch.columns().filter(|(qualifier, _)| self.find(qualifier).is_err()).count();
        if !self.is_empty() && self.columns.len() + new > COLUMNS_MAX {
            return 0;
        }
        let row_bytes = batch.size_bytes() / batch.len() + 1;
        (rows_max - self.rows.len()).min(((bytes_max - self.bytes) / row_bytes).max(1))
    }

    /// Adds some rows of a batch, all behind the last one.
    pub(crate) fn extend(&mut self, batch: &ColumnBatch, range: Range<usize>) {
        if self.is_empty() {
            self.family = batch.family().to_vec();
        }
        let first = self.rows.len() as u32;
        let new_rows = first..first + range.len() as u32;
        self.bytes += batch.size_bytes() * range.len() / batch.len();
        self.rows.extend(batch.rows(), range.clone());
        let stamp = Stamp { timestamp: batch.timestamp(), cell_type: CellType::Put, seq: Seq(0) };
        if let Some(stamps) = &mut self.row_stamps {
            stamps.resize(stamps.len() + range.len(), stamp);
        }
        for (qualifier, values) in batch.columns() {
            self.at = self.column_of(qualifier, false);
            let column = &mut self.columns[self.at];
            column.rows.extend(new_rows.clone());
            column.values.extend(values, range.clone());
            if self.row_stamps.is_none() {
                column.stamps.resize(column.rows.len(), stamp);
            }
            self.cells += range.len();
        }
        if !self.tags.is_empty() {
            self.tags.resize(self.cells, Vec::new());
        }
    }

    fn find(&self, qualifier: &[u8]) -> Result<usize, usize> {
        self.columns.binary_search_by(|column| column.qualifier.as_slice().cmp(qualifier))
    }

    /// Adds a cell that does not sort before the last one.
    pub(crate) fn push(&mut self, cell: &CellRef<'_>, new_row: bool) {
        let new_row = new_row || self.is_empty();
        if self.is_empty() {
            self.family = cell.family.to_vec();
        }
        if new_row {
            self.rows.push(cell.row);
            self.bytes += cell.row.len();
        }
        self.at = self.column_of(cell.qualifier, new_row);
        self.add_stamp(Stamp::of(cell), new_row);
        let row = self.rows.len() as u32 - 1;
        let column = &mut self.columns[self.at];
        column.rows.push(row);
        column.values.push(cell.value);
        self.bytes += cell.value.len();
        if !cell.tags.is_empty() && self.tags.is_empty() {
            self.irregular = true;
            self.tags.resize(self.cells, Vec::new());
        }
        if self.irregular && (!self.tags.is_empty() || !cell.tags.is_empty()) {
            self.tags.push(cell.tags.to_vec());
        }
        self.cells += 1;
    }

    /// The column of a cell, which is mostly the one behind the last cell's.
    fn column_of(&mut self, qualifier: &[u8], new_row: bool) -> usize {
        let guess = if new_row { 0 } else { self.at + 1 };
        let is_at =
            |at: usize| self.columns.get(at).is_some_and(|column| same_bytes(&column.qualifier, qualifier));
        if is_at(guess) {
            return guess;
        }
        if is_at(self.at) {
            return self.at;
        }
        self.find(qualifier).unwrap_or_else(|at| {
            self.irregular |= qualifier.len() > QUALIFIER_MAX;
            self.columns.insert(at, Column { qualifier: qualifier.to_vec(), ..Column::default() });
            at
        })
    }

    fn add_stamp(&mut self, stamp: Stamp, new_row: bool) {
        match &mut self.row_stamps {
            Some(stamps) if new_row => stamps.push(stamp),
            Some(stamps) if stamps.last() == Some(&stamp) => {}
            Some(stamps) => {
                let stamps = std::mem::take(stamps);
                self.row_stamps = None;
                for column in &mut self.columns {
                    column.stamps = column.rows.iter().map(|&row| stamps[row as usize]).collect();
                }
                self.columns[self.at].stamps.push(stamp);
            }
            None => self.columns[self.at].stamps.push(stamp),
        }
    }

    /// True if the rows are worth columns.
    pub(crate) fn is_regular(&self) -> bool {
        let places = self.columns.len().saturating_mul(self.rows.len());
        let sparse = self.columns.len() > SPARSE_COLUMNS && places > SPARSE * self.cells;
        // Cells of a column are in the order of rows: those of a vector lie within a window.
        let crowded = |column: &Column| {
            let first_and_last = column.rows.iter().zip(column.rows.iter().skip(VECTOR_CELLS_MAX));
            first_and_last
                .into_iter()
                .any(|(first, last)| *first as usize / VECTOR == *last as usize / VECTOR)
        };
        !self.irregular && !sparse && !self.columns.iter().any(crowded)
    }

    /// Hands out the cells in their order.
    pub(crate) fn for_each<E>(&self, mut each: impl FnMut(CellRef<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut next = vec![0; self.columns.len()];
        let mut number = 0;
        let mut value = Vec::new();
        for (row_index, row) in self.rows.iter().enumerate() {
            for (column, next) in self.columns.iter().zip(&mut next) {
                while column.rows.get(*next).is_some_and(|&row| row as usize == row_index) {
                    let stamp = match &self.row_stamps {
                        Some(stamps) => stamps[row_index],
                        None => column.stamps[*next],
                    };
                    value.clear();
                    column.values.append(*next, &mut value);
                    each(CellRef {
                        row,
                        family: &self.family,
                        qualifier: &column.qualifier,
                        timestamp: stamp.timestamp,
                        cell_type: stamp.cell_type,
                        value: &value,
                        seq: stamp.seq,
                        tags: self.tags.get(number).map_or(b"", Vec::as_slice),
                    })?;
                    *next += 1;
                    number += 1;
                }
            }
        }
        Ok(())
    }
}
