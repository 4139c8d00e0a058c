// SPDX-License-Identifier: Apache-2.0
//! What a write of a table means for its index. Runs inside of the write, while other writers wait.
//!
//! The rows before and after are made into index rows, encoded, and compared byte by byte: where an index row stays as it is
//! nothing is written, where its key changes the old one is deleted.

use std::collections::HashSet;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_hfile::typed::RowEncoder;
use basalt_model::escape::Escaped;
use basalt_model::index::IndexSource;
use basalt_model::rowkey::{KeyError, decode_row_key, encode_row_key, split_column};
use basalt_model::{
    CellType, IndexDescriptor, KeyRange, LATEST_TIMESTAMP, RowMutationRef, TableDescriptor, TableId,
    TableName, TableSchema, Value, WriteBatch,
};
use basalt_store::{Error, IndexChange, IndexKeeper};
use bytes::Bytes;
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
    /// Where the index's key has the columns of the table's.
    base_key: Vec<usize>,
}

/// So many index rows with the same values are looked at whether their rows still have these.
const ENDED_MAX: usize = 256;

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
        let own = descriptor.schema.as_ref().ok_or_else(|| SqlError::internal("an index has no columns"))?;
        let base_key = base.table_schema().key.iter().map(|key| place_of(&key.name, index, own));
        let base_key = base_key.collect::<Option<_>>();
        Ok(Self {
            base_key: base_key.ok_or_else(|| SqlError::internal("an index lacks a column of the key"))?,
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
            let most = gone.len() + if self.refresh { ENDED_MAX } else { 1 };
            let mut known = change.rows(range, most)?;
            let may_be_more = known.len() == most;
            known.retain(|known| !gone.contains(&known[..]));
            let is_taken =
                !known.is_empty() && (!self.refresh || may_be_more || self.are_true(change, &known)?);
            if !seen.insert(prefix) || is_taken {
                return Err(repeated(&self.name));
            }
        }
        Ok(())
    }

    /// True if a row of the table still has the values of one of these index rows: values end by themselves, and their index rows later.
    fn are_true(&self, change: &IndexChange<'_>, known: &[Bytes]) -> Result<bool, SqlError> {
        let key_of = |row: &Bytes| {
            let values = decode_row_key(&self.entries.index().key, row)?;
            let own: Vec<_> = self.base_key.iter().map(|&at| values[at].clone()).collect();
            let mut key = vec![];
            encode_row_key(&self.entries.base().key, &own, &mut key).map(|()| key)
        };
        let keys: Result<Vec<Vec<u8>>, KeyError> = known.iter().map(key_of).collect();
        let mut keys = keys.map_err(|error| SqlError::internal(error.to_string()))?;
        keys.sort();
        keys.dedup();
        let rows = change.base_rows(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let made = self.make(change.index, &rows)?;
        let is_known = |row: RowMutationRef<'_>| known.iter().any(|known| known[..] == *row.row());
        Ok((0..rows.len()).any(|at| made.get(at).is_some_and(is_known)))
    }
}

/// Where an index's key has a column of the table's.
fn place_of(name: &str, index: &IndexDescriptor, own: &TableSchema) -> Option<usize> {
    let is_of = |source: &IndexSource| matches!(source, IndexSource::Column(None, known) if known == name);
    let part = index.parts.iter().find(|part| is_of(&part.source)).map(|part| &part.column);
    let copy = index.copies.iter().find(|copy| copy.family.is_none() && copy.name == name);
    let column = part.or(copy.map(|copy| &copy.column))?;
    own.key.iter().position(|key| key.name == *column)
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

    /// The error of two rows of a table for which an index that is built has index rows with the same values, as this one.
    pub(super) fn repeated_in(&self, name: &TableName, index: &TableSchema, row: &[u8]) -> SqlError {
        let values = decode_row_key(&index.key, row).unwrap_or_default();
        let shown = values.iter().zip(&self.0).filter(|(_, is_presence)| !**is_presence);
        let shown: Option<Vec<_>> = shown.map(|(value, _)| shown_value(value)).collect();
        let shown = shown.map_or_else(|| format!("index row {}", Escaped(row)), |values| values.join(", "));
        let message = format!(
            "unique index {name}: two rows of the table have the same values ({shown}); change one of them and build the index again"
        );
        SqlError::coded(code::CONSTRAINT_VIOLATION, message)
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

/// A value as a statement has it; `None` for the types that take more to write.
fn shown_value(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::Int(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string().to_uppercase(),
        Value::Text(text) => format!("'{text}'"),
        _ => return None,
    })
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
