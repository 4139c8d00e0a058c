// SPDX-License-Identifier: Apache-2.0
//! One family's rows on their way to those of the others, and the part of a condition that they answer.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::error::ArrowError;
use arrow::row::{OwnedRow, Row, RowConverter, Rows};
use basalt_hfile::predicate::Predicate;
use basalt_model::ColumnRef;

use crate::Result;
use crate::read::rows::RowScan;

/// The rows of one family, each with its key.
pub(super) struct Side {
    scan: Option<RowScan>,
    /// Only rows of which this family has a row are wanted.
    pub(super) is_needed: bool,
    batch: Option<RecordBatch>,
    /// Rows of the batch that have gone.
    gone: usize,
    /// The keys of the batch in a form that compares as they do, once that was needed.
    keys: Option<Rows>,
}

impl Side {
    pub(super) fn new(scan: RowScan, is_needed: bool) -> Self {
        Self { scan: Some(scan), is_needed, batch: None, gone: 0, keys: None }
    }

    /// Has a row in hand, or has ended; false if the scan came back without either.
    pub(super) fn fill(&mut self) -> Result<bool> {
        if self.rows_left() > 0 {
            return Ok(true);
        }
        (self.batch, self.gone, self.keys) = (None, 0, None);
        let Some(scan) = &mut self.scan else { return Ok(true) };
        match scan.next_uncounted()? {
            None => self.scan = None,
            Some(rows) if rows.batch.num_rows() == 0 => return Ok(false),
            Some(rows) => self.batch = Some(rows.batch),
        }
        Ok(true)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.scan.is_none() && self.batch.is_none()
    }

    pub(super) fn rows_left(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.num_rows() - self.gone)
    }

    /// The next rows of a column; there must be as many.
    pub(super) fn slice(&self, column: usize, rows: usize) -> ArrayRef {
        let batch = self.batch.as_ref().expect("there are rows in hand");
        batch.column(column).slice(self.gone, rows)
    }

    /// A column of the batch in hand, from its first row.
    pub(super) fn column(&self, column: usize) -> Option<ArrayRef> {
        self.batch.as_ref().map(|batch| ArrayRef::clone(batch.column(column)))
    }

    /// Where in the batch the `at`-th of the next rows is.
    pub(super) fn place(&self, at: usize) -> usize {
        self.gone + at
    }

    pub(super) fn convert(
        &mut self,
        converter: &RowConverter,
        key_len: usize,
    ) -> std::result::Result<(), ArrowError> {
        if let (Some(batch), None) = (&self.batch, &self.keys) {
            self.keys = Some(converter.convert_columns(&batch.columns()[..key_len])?);
        }
        Ok(())
    }

    /// The key of the `at`-th of the next rows, converted before.
    pub(super) fn key(&self, at: usize) -> Option<Row<'_>> {
        let keys = self.keys.as_ref()?;
        (self.gone + at < keys.num_rows()).then(|| keys.row(self.gone + at))
    }

    /// The first of the next rows, from the `at`-th on, whose key is not below `key`.
    pub(super) fn first_not_before(&self, key: Row<'_>, at: usize) -> usize {
        let (mut low, mut high) = (at, self.rows_left());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle).is_some_and(|here| here < key) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The key of the `at`-th of the next rows alone.
    pub(super) fn one_key(
        &self,
        at: usize,
        converter: &RowConverter,
        key_len: usize,
    ) -> std::result::Result<OwnedRow, ArrowError> {
        let batch = self.batch.as_ref().expect("there are rows in hand");
        let key: Vec<ArrayRef> =
            batch.columns()[..key_len].iter().map(|part| part.slice(self.gone + at, 1)).collect();
        Ok(converter.convert_columns(&key)?.row(0).owned())
    }

    pub(super) fn last_key(&self) -> Option<Row<'_>> {
        self.key(self.rows_left().checked_sub(1)?)
    }

    /// Leaves rows behind.
    pub(super) fn pass(&mut self, rows: usize) {
        self.gone += rows;
        if self.rows_left() == 0 {
            (self.batch, self.gone, self.keys) = (None, 0, None);
        }
    }
}

/// What a predicate says of the columns that `is_of` tells, which are those of the key and of one family: it is weaker, or the same.
pub(super) fn predicate_of(predicate: &Predicate, is_of: &impl Fn(&ColumnRef) -> bool) -> Predicate {
    let says_only = |part: &&Predicate| {
        let mut only = true;
        part.columns(&mut |column| only &= is_of(&column));
        only
    };
    match predicate {
        Predicate::All(parts) => Predicate::All(parts.iter().filter(says_only).cloned().collect()),
        part if says_only(&part) => part.clone(),
        _ => Predicate::ALWAYS,
    }
}

/// True if no row satisfies a predicate on the key and on one family that has no cell in the family.
pub(super) fn needed(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::All(parts) => parts.iter().any(needed),
        Predicate::Any(parts) => parts.iter().all(needed),
        Predicate::Within(column, _) | Predicate::Among(column, _) => matches!(column, ColumnRef::Column(_)),
        Predicate::Null(_) => false,
    }
}
