// SPDX-License-Identifier: Apache-2.0
//! What a write of a table means for its index. Runs inside of the write, while other writers wait.
//!
//! The rows before and after are made into index rows, encoded, and compared byte by byte: where an index row stays as it is
//! nothing is written, where its key changes the old one is deleted.

use std::collections::HashSet;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_hfile::typed::RowEncoder;
use basalt_model::rowkey::split_column;
use basalt_model::{
    CellType, IndexDescriptor, KeyRange, LATEST_TIMESTAMP, RowMutationRef, TableDescriptor, TableId,
    TableName, TableSchema, WriteBatch,
};
use basalt_store::{Error, IndexChange, IndexKeeper};
use parking_lot::Mutex;

use super::entries::Entries;
use super::expires;
use crate::error::{SqlError, code};
use crate::ingest::typed;
use crate::plan::Planning;

/// Keeps one index.
#[derive(Debug)]
pub(super) struct Keeper {
    name: TableName,
    entries: Entries,
    encoder: Mutex<RowEncoder>,
    /// Index rows are written again with each write of their row, so that they live as long.
    refresh: bool,
    /// Set if no two rows may have the same values.
    unique: Option<Leading>,
}

/// Index rows of some base rows: for each base row its position in the batch, if it has one.
struct Made {
    batch: WriteBatch,
    place: Vec<Option<usize>>,
}

impl Made {
    fn get(&self, row: usize) -> Option<RowMutationRef<'_>> {
        self.place[row].map(|at| self.batch.get(at).1)
    }
}

impl Keeper {
    pub(super) fn try_new(planning: &Planning, descriptor: &TableDescriptor) -> Result<Self, SqlError> {
        let entries = Entries::try_new(planning, descriptor)?;
        let index = descriptor.index.as_ref().ok_or_else(|| SqlError::internal("an index is none"))?;
        let base = planning.table(&index.on)?;
        Ok(Self {
            name: descriptor.name.clone(),
            encoder: Mutex::new(entries.encoder()?),
            entries,
            refresh: expires(&base.descriptor),
            unique: index.unique.then(|| Leading::of(index)),
        })
    }

    fn make(&self, index: TableId, rows: &[Vec<CellRun>]) -> Result<Made, SqlError> {
        let mut made = Made { batch: WriteBatch::new(), place: vec![None; rows.len()] };
        let (base_rows, found) = self.entries.decode(rows)?;
        if found.is_empty() {
            return Ok(made);
        }
        let (index_rows, kept) = self.entries.make(&base_rows)?;
        let mut encoder = self.encoder.lock();
        encoder
            .encode(&index_rows, index, LATEST_TIMESTAMP, false, &mut made.batch)
            .map_err(|error| typed(error).error)?;
        let is_kept = |row: &usize| kept.as_ref().is_none_or(|kept| kept.value(*row));
        for (at, row) in (0..found.len()).filter(is_kept).enumerate() {
            made.place[found[row]] = Some(at);
        }
        Ok(made)
    }

    fn write(&self, change: &IndexChange<'_>, out: &mut WriteBatch) -> Result<(), SqlError> {
        let before = self.make(change.index, change.before)?;
        let after = self.make(change.index, change.after)?;
        // What a unique index has to look at.
        let (mut fresh, mut gone) = (vec![], vec![]);
        for row in 0..change.before.len() {
            let (old, new) = (before.get(row), after.get(row));
            let same_key = matches!((&old, &new), (Some(old), Some(new)) if old.row() == new.row());
            if let Some(old) = &old
                && !same_key
            {
                gone.push(old.row());
                delete(change.index, old.row(), out)?;
            }
            let Some(new) = new else { continue };
            let same = old.as_ref().is_some_and(|old| old.entry() == new.entry());
            if !same || self.refresh {
                out.push(change.index, new);
            }
            if !same_key {
                fresh.push(new);
            }
        }
        match &self.unique {
            Some(leading) => self.check_unique(change, leading, &fresh, &gone.into_iter().collect()),
            None => Ok(()),
        }
    }

    /// An error if one of the fresh index rows has the values of another one, and these are not NULL.
    fn check_unique(
        &self,
        change: &IndexChange<'_>,
        leading: &Leading,
        fresh: &[RowMutationRef<'_>],
        gone: &HashSet<&[u8]>,
    ) -> Result<(), SqlError> {
        let mut seen = HashSet::new();
        for row in fresh {
            let Some(prefix) = leading.values_of(self.entries.index(), row.row()) else { continue };
            let range = KeyRange::prefix(prefix.to_vec());
            let known = change.rows(range, gone.len() + 1)?;
            if !seen.insert(prefix) || known.iter().any(|known| !gone.contains(&known[..])) {
                return Err(repeated(&self.name));
            }
        }
        Ok(())
    }
}

/// The error of a value that is there already.
pub(super) fn repeated(index: &TableName) -> SqlError {
    SqlError::coded(
        code::CONSTRAINT_VIOLATION,
        format!("unique index {index}: another row has the same values; change that row or these values"),
    )
}

/// The leading key columns of an index, which hold the indexed values: for each whether it says that there is one.
#[derive(Debug)]
pub(super) struct Leading(Vec<bool>);

impl Leading {
    pub(super) fn of(index: &IndexDescriptor) -> Self {
        let columns = index.parts.iter().flat_map(|part| part.presence.iter().map(|_| true).chain([false]));
        Self(columns.collect())
    }

    /// The front of an index row that holds the indexed values with their ends; `None` if one is NULL.
    pub(super) fn values_of<'a>(&self, index: &TableSchema, row: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = row;
        for (position, (column, is_presence)) in index.key.iter().zip(&self.0).enumerate() {
            let is_last = position + 1 == index.key.len();
            let (bytes, behind) = split_column(column, is_last, rest).ok()?;
            if bytes.is_empty() || *is_presence && bytes == [ABSENT] {
                return None;
            }
            rest = behind;
        }
        Some(&row[..row.len() - rest.len()])
    }
}

/// TINYINT 0 as a key has it.
const ABSENT: u8 = 0x80;

fn delete(index: TableId, row: &[u8], out: &mut WriteBatch) -> Result<(), SqlError> {
    let internal = |error: basalt_model::mutation::MutationError| SqlError::internal(error.to_string());
    let mut row = out.row(index, row).map_err(internal)?;
    row.delete(super::define::FAMILY.as_bytes(), b"", LATEST_TIMESTAMP, CellType::DeleteFamily)
        .map_err(internal)?;
    row.finish();
    Ok(())
}

impl IndexKeeper for Keeper {
    fn keep(&self, change: &IndexChange<'_>, out: &mut WriteBatch) -> Result<(), Error> {
        self.write(change, out)
            .map_err(|error| Error::IndexRefusal { index: self.name.clone(), source: Arc::new(error) })
    }
}
