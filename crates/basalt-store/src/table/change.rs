// SPDX-License-Identifier: Apache-2.0
//! From a mutation to the cells that are written.

use basalt_model::escape::Escaped;
use basalt_model::mutation::{CELL_HEADER, ROW_HEADER, RowBuilder};
use basalt_model::operation::DeletePart;
use basalt_model::operation::{NewCell, TimeRange};
use basalt_model::{
    Append, CellRef, CellType, Delete, Get, Increment, LATEST_TIMESTAMP, Mutation, Put, Seq, TableDescriptor,
    TableId, WriteBatch,
};
use bytes::Bytes;

use super::unfinished::Unfinished;
use crate::error::{Error, Result};
use crate::memtable::block_of;
use crate::read::Row;
use crate::snapshot::query::{View, check_row};
use crate::tags;

/// A mutation that was looked over.
#[derive(Debug, Clone)]
pub(super) struct Change<'a> {
    mutation: &'a Mutation,
    /// Puts without a timestamp get one that is not older than this.
    not_before: Option<i64>,
}

/// A cell that is about to be written.
struct Cell {
    family: Bytes,
    qualifier: Bytes,
    timestamp: i64,
    value: Bytes,
    tags: Vec<u8>,
}

impl<'a> Change<'a> {
    /// The caller's mistakes that do not depend on the table: rows, timestamps, nothing to do.
    pub(super) fn of(mutation: &'a Mutation) -> Result<Self> {
        check_row(mutation.row())?;
        let nothing = |what| Err(Error::NothingToDo { row: Bytes::copy_from_slice(mutation.row()), what });
        match mutation {
            Mutation::Put(put) if put.cells.is_empty() => return nothing("cell"),
            Mutation::Increment(increment) if increment.amounts.is_empty() => return nothing("counter"),
            Mutation::Append(append) if append.values.is_empty() => return nothing("value"),
            _ => {}
        }
        if let Some(found) = negative_timestamp(mutation) {
            return Err(Error::NegativeTimestamp { found });
        }
        Ok(Self { mutation, not_before: None })
    }

    pub(super) fn row(&self) -> &'a [u8] {
        self.mutation.row()
    }

    /// Bytes that it will take of a batch, about.
    pub(super) fn size_bytes(&self) -> usize {
        let cells = match self.mutation {
            Mutation::Put(put) => put.cells.iter().map(size_of_cell).sum(),
            _ => 0,
        };
        ROW_HEADER + self.row().len() + cells
    }

    /// Puts without a timestamp of their own must not be hidden by a cell that was just seen.
    pub(super) fn not_before(self, timestamp: i64) -> Self {
        Self { not_before: Some(timestamp), ..self }
    }

    /// True if what is written depends on what the row holds, or on the moment of the commit.
    pub(super) fn needs_row(&self) -> bool {
        match self.mutation {
            Mutation::Put(_) => false,
            Mutation::Delete(delete) => {
                delete.parts.iter().any(|part| matches!(part, DeletePart::Version { timestamp: None, .. }))
            }
            Mutation::Increment(_) | Mutation::Append(_) => true,
        }
    }

    /// Adds the cells of a change that needs nothing of the row.
    pub(super) fn write_blind(
        &self,
        table: &TableDescriptor,
        id: TableId,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let mut builder = batch.row(id, self.row())?;
        match self.mutation {
            Mutation::Put(put) => write_put(put, LATEST_TIMESTAMP, &mut builder)?,
            Mutation::Delete(delete) => {
                write_delete(delete, table, &mut builder, LATEST_TIMESTAMP, |_, _, _| Ok(LATEST_TIMESTAMP))?
            }
            Mutation::Increment(_) | Mutation::Append(_) => unreachable!("needs_row says so"),
        }
        builder.finish();
        Ok(())
    }

    /// Adds the cells of any change; gives the new values of increments and appends.
    pub(super) fn write(&self, table: TableId, to: &mut Unfinished<'_>) -> Result<Vec<NewCell>> {
        let (view, batch, newest) = to.next(table, self.row())?;
        let mut new = Vec::new();
        match self.mutation {
            Mutation::Put(put) => {
                let timestamp = self.not_before.map_or(*newest, |seen| seen.max(*newest));
                let mut builder = batch.row(table, self.row())?;
                write_put(put, timestamp, &mut builder)?;
                builder.finish();
            }
            Mutation::Delete(delete) => {
                let version = |family: &Bytes, qualifier: &Bytes, nth: u32| {
                    newest_timestamp(&view, table, self.row(), family, qualifier, nth)
                };
                let descriptor = &view.version.table(table)?.descriptor;
                let mut builder = batch.row(table, self.row())?;
                // The moment of the commit, unless the batch has something newer of the row.
                let latest = if *newest > view.now_ms { *newest } else { LATEST_TIMESTAMP };
                write_delete(delete, descriptor, &mut builder, latest, version)?;
                builder.finish();
            }
            Mutation::Increment(increment) => {
                let cells = incremented(increment, &view, table, self.row())?;
                *newest = cells.iter().map(|cell| cell.timestamp).fold(*newest, i64::max);
                write_new(self.row(), table, cells, batch, &mut new)?;
            }
            Mutation::Append(append) => {
                let cells = appended(append, &view, table, self.row())?;
                *newest = cells.iter().map(|cell| cell.timestamp).fold(*newest, i64::max);
                write_new(self.row(), table, cells, batch, &mut new)?;
            }
        }
        Ok(new)
    }
}

/// Adds the cells of all changes of one row; gives the new values of increments and appends.
pub(super) fn write_all(changes: &[Change<'_>], table: TableId, to: &mut Unfinished<'_>) -> Result<Row> {
    let mut new = Vec::new();
    for change in changes {
        new.extend(change.write(table, to)?);
    }
    new.sort_by(|a, b| (&a.family, &a.qualifier).cmp(&(&b.family, &b.qualifier)));
    let mut row = Row::default();
    if let Some(first) = changes.first() {
        let cells: Vec<CellRef<'_>> = new.iter().map(|new| new_cell_ref(first.row(), new)).collect();
        if !cells.is_empty() {
            let block = block_of(&cells);
            row.push_run(&block, 0..cells.len());
        }
    }
    Ok(row)
}

fn new_cell_ref<'a>(row: &'a [u8], new: &'a NewCell) -> CellRef<'a> {
    CellRef {
        row,
        family: &new.family,
        qualifier: &new.qualifier,
        timestamp: new.timestamp.unwrap_or(LATEST_TIMESTAMP),
        cell_type: CellType::Put,
        value: &new.value,
        seq: Seq(0),
        tags: b"",
    }
}

fn size_of_cell(cell: &NewCell) -> usize {
    CELL_HEADER + cell.family.len() + cell.qualifier.len() + cell.value.len()
}

fn negative_timestamp(mutation: &Mutation) -> Option<i64> {
    let negative = |at: &i64| *at < 0;
    match mutation {
        Mutation::Put(put) => put.cells.iter().filter_map(|cell| cell.timestamp).find(negative),
        Mutation::Delete(delete) => {
            let part = |part: &DeletePart| match part {
                DeletePart::Version { timestamp, .. }
                | DeletePart::Column { timestamp, .. }
                | DeletePart::Family { timestamp, .. } => *timestamp,
                DeletePart::FamilyVersion { timestamp, .. } => Some(*timestamp),
            };
            delete.parts.iter().filter_map(part).chain(delete.timestamp).find(negative)
        }
        Mutation::Increment(Increment { timestamp, .. }) | Mutation::Append(Append { timestamp, .. }) => {
            timestamp.filter(negative)
        }
    }
}

fn write_put(put: &Put, now: i64, builder: &mut RowBuilder<'_>) -> Result<()> {
    let tags = put.ttl_ms.map(tags::of_ttl).unwrap_or_default();
    for NewCell { family, qualifier, timestamp, value } in &put.cells {
        let timestamp = timestamp.filter(|&at| at != LATEST_TIMESTAMP).unwrap_or(now);
        builder.cell(family, qualifier, timestamp, CellType::Put, value, &tags)?;
    }
    Ok(())
}

/// `latest` is the timestamp of what has none; `version` finds that of the n-th newest version of a column.
fn write_delete(
    delete: &Delete,
    table: &TableDescriptor,
    builder: &mut RowBuilder<'_>,
    latest: i64,
    version: impl Fn(&Bytes, &Bytes, u32) -> Result<i64>,
) -> Result<()> {
    let mut asked: Vec<(&Bytes, &Bytes)> = Vec::new();
    for part in &delete.parts {
        match part {
            DeletePart::Version { family, qualifier, timestamp: None } => {
                asked.push((family, qualifier));
                let nth = asked.iter().filter(|column| **column == (family, qualifier)).count();
                let timestamp = version(family, qualifier, nth as u32)?;
                builder.delete(family, qualifier, timestamp, CellType::Delete)?;
            }
            DeletePart::Version { family, qualifier, timestamp: Some(timestamp) } => {
                builder.delete(family, qualifier, *timestamp, CellType::Delete)?;
            }
            DeletePart::Column { family, qualifier, timestamp } => {
                builder.delete(family, qualifier, timestamp.unwrap_or(latest), CellType::DeleteColumn)?;
            }
            DeletePart::Family { family, timestamp } => {
                builder.delete(family, b"", timestamp.unwrap_or(latest), CellType::DeleteFamily)?;
            }
            DeletePart::FamilyVersion { family, timestamp } => {
                builder.delete(family, b"", *timestamp, CellType::DeleteFamilyVersion)?;
            }
        }
    }
    if delete.parts.is_empty() {
        let timestamp = delete.timestamp.unwrap_or(latest);
        for family in &table.families {
            builder.delete(family.name.as_bytes(), b"", timestamp, CellType::DeleteFamily)?;
        }
    }
    Ok(())
}

/// Timestamp of the `nth` newest version of a column, or the moment of the commit if there are fewer.
fn newest_timestamp(
    view: &View<'_>,
    table: TableId,
    row: &[u8],
    family: &Bytes,
    qualifier: &Bytes,
    nth: u32,
) -> Result<i64> {
    let get = Get::new(Bytes::copy_from_slice(row)).column(family.clone(), qualifier.clone()).versions(nth);
    let found = view.get(table, &get)?;
    Ok(found.cells().nth(nth as usize - 1).map_or(LATEST_TIMESTAMP, |cell| cell.timestamp))
}

/// The stored cell of each column, as an increment or append of them sees it.
fn current<'a>(
    view: &View<'_>,
    table: TableId,
    row: &[u8],
    columns: impl Iterator<Item = (&'a Bytes, &'a Bytes)>,
    time_range: TimeRange,
) -> Result<Row> {
    let mut get = Get::new(Bytes::copy_from_slice(row)).time_range(time_range.min, time_range.max);
    for (family, qualifier) in columns {
        get = get.column(family.clone(), qualifier.clone());
    }
    view.get(table, &get)
}

/// A changed cell is newer than the one it replaces; a new one has the time that was asked for.
fn timestamp_of(stored: Option<&CellRef<'_>>, wanted: Option<i64>, now: i64) -> i64 {
    match stored {
        // The largest timestamp means none.
        Some(cell) => cell.timestamp.saturating_add(1).max(now).min(LATEST_TIMESTAMP - 1),
        None => wanted.filter(|&at| at != LATEST_TIMESTAMP).unwrap_or(now),
    }
}

/// A changed cell expires as the one that it replaces, unless the change says otherwise.
fn tags_of(stored: Option<&CellRef<'_>>, ttl_ms: Option<u64>) -> Vec<u8> {
    tags::of_successor(stored.map_or(b"", |cell| cell.tags), ttl_ms)
}

fn incremented(of: &Increment, view: &View<'_>, table: TableId, row: &[u8]) -> Result<Vec<Cell>> {
    let columns = of.amounts.iter().map(|(family, qualifier, _)| (family, qualifier));
    let before = current(view, table, row, columns, of.time_range)?;
    let cell = |(family, qualifier, amount): &(Bytes, Bytes, i64)| {
        let stored = before.cells().find(|cell| cell.family == family && cell.qualifier == qualifier);
        let base = match &stored {
            None => 0,
            Some(cell) => i64::from_be_bytes(cell.value.try_into().map_err(|_| Error::NotACounter {
                row: Escaped(row).to_string(),
                family: Escaped(family).to_string(),
                qualifier: Escaped(qualifier).to_string(),
                found: cell.value.len(),
            })?),
        };
        let value = Bytes::copy_from_slice(&base.wrapping_add(*amount).to_be_bytes());
        let timestamp = timestamp_of(stored.as_ref(), of.timestamp, view.now_ms);
        let tags = tags_of(stored.as_ref(), of.ttl_ms);
        Ok(Cell { family: family.clone(), qualifier: qualifier.clone(), timestamp, value, tags })
    };
    of.amounts.iter().map(cell).collect()
}

fn appended(of: &Append, view: &View<'_>, table: TableId, row: &[u8]) -> Result<Vec<Cell>> {
    let columns = of.values.iter().map(|(family, qualifier, _)| (family, qualifier));
    let before = current(view, table, row, columns, of.time_range)?;
    let cell = |(family, qualifier, more): &(Bytes, Bytes, Bytes)| {
        let stored = before.cells().find(|cell| cell.family == family && cell.qualifier == qualifier);
        let mut value = stored.map(|cell| cell.value.to_vec()).unwrap_or_default();
        value.extend_from_slice(more);
        let timestamp = timestamp_of(stored.as_ref(), of.timestamp, view.now_ms);
        let tags = tags_of(stored.as_ref(), of.ttl_ms);
        Cell { family: family.clone(), qualifier: qualifier.clone(), timestamp, value: value.into(), tags }
    };
    Ok(of.values.iter().map(cell).collect())
}

fn write_new(
    row: &[u8],
    table: TableId,
    cells: Vec<Cell>,
    batch: &mut WriteBatch,
    new: &mut Vec<NewCell>,
) -> Result<()> {
    let mut builder = batch.row(table, row)?;
    for Cell { family, qualifier, timestamp, value, tags } in cells {
        builder.cell(&family, &qualifier, timestamp, CellType::Put, &value, &tags)?;
        new.push(NewCell { family, qualifier, timestamp: Some(timestamp), value });
    }
    builder.finish();
    Ok(())
}
