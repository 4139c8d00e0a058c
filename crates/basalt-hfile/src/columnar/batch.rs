// SPDX-License-Identifier: Apache-2.0
//! Rows that come by column: what a bulk load of ordered rows hands to a writer of COLUMNAR in place of cells, each of which would
//! be put together only to be taken apart again.

use basalt_model::{CellRef, CellType, FAMILY_LEN_MAX, ROW_LEN_MAX, Seq};

use super::QUALIFIER_MAX;
use super::gathered::Gathered;
use super::strings::StringList;
use crate::key::KEY_OVERHEAD;

/// Ascending rows of one family, each once. Every row has one cell in every column: a put, of the batch's timestamp and without
/// sequence number.
#[derive(Debug)]
pub struct ColumnBatch {
    family: Vec<u8>,
    timestamp: i64,
    rows: StringList,
    /// Ascending by qualifier.
    columns: Vec<(Vec<u8>, Gathered)>,
    /// Of all values together.
    value_bytes: usize,
    /// Of the longest cell of each row, length of qualifier and value.
    longest: Vec<usize>,
}

impl ColumnBatch {
    /// A batch of these rows, which has no columns yet; `None` if the rows do not ascend, or one of them is no row.
    pub(crate) fn of_rows(family: &[u8], timestamp: i64, rows: StringList) -> Option<Self> {
        let ascends = rows.iter().zip(rows.iter().skip(1)).all(|(row, next)| row < next);
        let are_rows = rows.iter().all(|row| (1..=ROW_LEN_MAX).contains(&row.len()));
        let is_family = (1..=FAMILY_LEN_MAX).contains(&family.len());
        (ascends && are_rows && is_family && rows.len() > 0).then(|| Self {
            family: family.to_vec(),
            timestamp,
            longest: vec![0; rows.len()],
            rows,
            columns: Vec::new(),
            value_bytes: 0,
        })
    }

    /// A batch of values as cells have them: per column its qualifier, and a value for each row. `None` if rows or qualifiers do not
    /// ascend, a column has not a value for each row, or something is too long.
    pub fn of_bytes(
        family: &[u8],
        timestamp: i64,
        rows: &[&[u8]],
        columns: &[(&[u8], Vec<&[u8]>)],
    ) -> Option<Self> {
        let mut batch = Self::of_rows(family, timestamp, rows.iter().copied().collect())?;
        for (qualifier, values) in columns {
            batch.push_column(qualifier, Gathered::Bytes(values.iter().copied().collect()))?;
        }
        Some(batch)
    }

    /// Adds the column behind the last one; `None` if it does not belong there, or has not a value for each row.
    pub(crate) fn push_column(&mut self, qualifier: &[u8], values: Gathered) -> Option<()> {
        let behind = self.columns.last().is_none_or(|(last, _)| &last[..] < qualifier);
        if !behind || values.len() != self.len() || qualifier.len() > QUALIFIER_MAX {
            return None;
        }
        for (row, longest) in self.longest.iter_mut().enumerate() {
            let len = values.len_of(row);
            self.value_bytes += len;
            *longest = (*longest).max(qualifier.len() + len);
        }
        self.columns.push((qualifier.to_vec(), values));
        Some(())
    }

    /// Number of rows, at least one.
    #[allow(clippy::len_without_is_empty, reason = "no batch is empty")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row's key.
    pub fn row(&self, index: usize) -> &[u8] {
        self.rows.get(index)
    }

    /// The first row.
    pub fn first_row(&self) -> &[u8] {
        self.row(0)
    }

    /// The last row.
    pub fn last_row(&self) -> &[u8] {
        self.row(self.len() - 1)
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.len() * self.columns.len()
    }

    /// Bytes of rows and values.
    pub fn size_bytes(&self) -> usize {
        self.rows.size_bytes() + self.value_bytes
    }

    /// The family of all cells.
    pub fn family(&self) -> &[u8] {
        &self.family
    }

    /// The timestamp of all cells.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Gives all cells another timestamp.
    pub fn set_timestamp(&mut self, timestamp: i64) {
        self.timestamp = timestamp;
    }

    pub(crate) fn rows(&self) -> &StringList {
        &self.rows
    }

    /// Qualifiers with their values, ascending.
    pub(crate) fn columns(&self) -> impl ExactSizeIterator<Item = (&[u8], &Gathered)> {
        self.columns.iter().map(|(qualifier, values)| (&qualifier[..], values))
    }

    /// Bytes of all values.
    pub(crate) fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Bytes of all cells' flat keys.
    pub(crate) fn key_bytes(&self) -> usize {
        let qualifiers: usize = self.columns.iter().map(|(qualifier, _)| qualifier.len()).sum();
        let of_row = self.columns.len() * (KEY_OVERHEAD + self.family.len()) + qualifiers;
        self.rows.size_bytes() * self.columns.len() + of_row * self.len()
    }

    /// Row and column of the first of the cells that take the most bytes.
    pub(crate) fn biggest_cell(&self) -> (usize, usize) {
        let (mut row, mut most) = (0, 0);
        for (index, longest) in self.longest.iter().enumerate() {
            let bytes = self.row(index).len() + longest;
            if bytes > most {
                (row, most) = (index, bytes);
            }
        }
        let has_most = |(qualifier, values): &(Vec<u8>, Gathered)| {
            qualifier.len() + values.len_of(row) == self.longest[row]
        };
        (row, self.columns.iter().position(has_most).unwrap_or_default())
    }

    /// A cell of the batch, whose value `value` is for.
    pub(crate) fn cell<'a>(&'a self, row: usize, column: usize, value: &'a mut Vec<u8>) -> CellRef<'a> {
        let (qualifier, values) = &self.columns[column];
        value.clear();
        values.append(row, value);
        CellRef {
            row: self.rows.get(row),
            family: &self.family,
            qualifier,
            timestamp: self.timestamp,
            cell_type: CellType::Put,
            value,
            seq: Seq(0),
            tags: b"",
        }
    }

    /// Hands out the cells of a row, in their order.
    pub fn for_each_of_row<E>(
        &self,
        row: usize,
        mut each: impl FnMut(CellRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut value = Vec::new();
        (0..self.columns.len()).try_for_each(|column| each(self.cell(row, column, &mut value)))
    }

    /// Hands out all cells, in their order.
    pub fn for_each_cell<E>(&self, mut each: impl FnMut(CellRef<'_>) -> Result<(), E>) -> Result<(), E> {
        (0..self.len()).try_for_each(|row| self.for_each_of_row(row, &mut each))
    }
}

#[cfg(test)]
mod tests;
