// SPDX-License-Identifier: Apache-2.0
//! The timestamps of a run's rows, where its payload holds differences: those of a row are kept once for all rows behind it that
//! have the same, which a batch of rows has.
//!
//! ```text
//! rows    0 0 0 0 0 1 1 1 1 2        which list
//! lists   t t t t | u u u u | v v v v
//! ```

/// Timestamps row by row; none if they lie in the payload.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timestamps {
    /// Of each row where its list begins.
    rows: Vec<u32>,
    /// Of each cell of a row, list after list.
    lists: Vec<i64>,
}

impl Timestamps {
    /// Makes room for so many rows.
    pub(crate) fn reserve_rows(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }

    /// Adds a row.
    #[inline(always)]
    pub(crate) fn push_row(&mut self, timestamps: impl Iterator<Item = i64>) {
        let at = self.lists.len();
        self.lists.extend(timestamps);
        let (before, new) = self.lists.split_at(at);
        let list = match self.rows.last() {
            Some(&last) if before[last as usize..] == *new => last,
            _ => at as u32,
        };
        if list < at as u32 {
            self.lists.truncate(at);
        }
        self.rows.push(list);
    }

    /// Adds rows that have the timestamps of the last one.
    pub(crate) fn repeat_last(&mut self, rows: usize) {
        if let Some(&last) = self.rows.last() {
            self.rows.resize(self.rows.len() + rows, last);
        }
    }

    /// Forgets all but the first rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
    }

    /// Those of the last row.
    pub(crate) fn last(&self, columns: usize) -> Option<&[i64]> {
        self.of_row(self.rows.len().checked_sub(1)?, columns)
    }

    /// Those of a row of `columns` cells.
    #[inline(always)]
    pub(crate) fn of_row(&self, row: usize, columns: usize) -> Option<&[i64]> {
        self.lists.get(*self.rows.get(row)? as usize..)?.get(..columns)
    }

    /// Memory that they take, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        4 * self.rows.capacity() + 8 * self.lists.capacity()
    }
}
