// SPDX-License-Identifier: Apache-2.0
//! From a batch to the batch with its index rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::{RowMutationRef, Seq, TableDescriptor, TableId, WriteBatch};

use super::after::{Afterwards, Overlay};
use super::{IndexChange, IndexKeeper};
use crate::database::Shared;
use crate::error::{Error, Result};
use crate::row_order::order_of;
use crate::snapshot::query::View;
use crate::snapshot::read;
use crate::tags;
use crate::version::TableVersion;

impl Shared {
    /// The batch, whose cells get the timestamp `timestamp`, with what follows from it for indexes. `view` shows
    /// everything that is before the batch.
    pub(crate) fn follow(
        &self,
        view: &View<'_>,
        mut batch: WriteBatch,
        timestamp: i64,
    ) -> Result<WriteBatch> {
        let indexed = |id: TableId| view.version.indexes.contains_key(&id);
        if view.version.indexes.is_empty() || !batch.iter().any(|(table, _)| indexed(table)) {
            return Ok(batch);
        }
        batch.stamp(timestamp);
        let mut tables: Vec<TableId> = batch.iter().map(|(table, _)| table).collect();
        tables.sort_unstable();
        tables.dedup();
        let mut more = WriteBatch::new();
        for table in tables.into_iter().filter(|&table| indexed(table)) {
            let keepers = self.keepers_of(view, table)?;
            if !keepers.is_empty() {
                follow_table(view, &batch, view.version.table(table)?, &keepers, timestamp, &mut more)?;
            }
        }
        Ok(in_order(&batch, &more))
    }

    /// The indexes of a table that are kept, with their keepers.
    fn keepers_of(&self, view: &View<'_>, table: TableId) -> Result<Vec<(TableId, Arc<dyn IndexKeeper>)>> {
        let mut keepers = Vec::new();
        for index in view.version.indexes_of(table) {
            let name = &index.descriptor.name;
            if !index.descriptor.index.as_ref().is_some_and(|index| index.state.is_kept()) {
                continue;
            }
            let keeper = self.keepers.get(name).ok_or_else(|| Error::UnkeptIndex {
                index: name.clone(),
                table: view.version.tables[&table].descriptor.name.clone(),
            })?;
            keepers.push((index.id, keeper));
        }
        Ok(keepers)
    }
}

/// Both batches as one, by table and row; changes of one row keep their order. Numbers are then given out, and memtables filled, without
/// another look for repeated rows.
fn in_order(batch: &WriteBatch, more: &WriteBatch) -> WriteBatch {
    let mut tables: BTreeMap<TableId, Vec<RowMutationRef<'_>>> = BTreeMap::new();
    for (table, row) in batch.iter().chain(more.iter()) {
        tables.entry(table).or_default().push(row);
    }
    let mut out = WriteBatch::with_capacity(batch.len() + more.len(), batch.size_bytes() + more.size_bytes());
    for (table, rows) in tables {
        by_row(&rows).for_each(|row| out.push(table, row));
    }
    out
}

/// Mutations in the order of their rows; changes of one row keep their order.
fn by_row<'a>(mutations: &[RowMutationRef<'a>]) -> impl Iterator<Item = RowMutationRef<'a>> {
    let rows: Vec<&[u8]> = mutations.iter().map(|mutation| mutation.row()).collect();
    order_of(&rows).into_iter().map(|at| mutations[at])
}

fn follow_table(
    view: &View<'_>,
    batch: &WriteBatch,
    table: &TableVersion,
    keepers: &[(TableId, Arc<dyn IndexKeeper>)],
    timestamp: i64,
    out: &mut WriteBatch,
) -> Result<()> {
    let mutations: Vec<RowMutationRef<'_>> =
        batch.iter().filter(|(id, _)| *id == table.id).map(|(_, row)| row).collect();
    let mutations: Vec<_> = by_row(&mutations).collect();
    check_cells(&table.descriptor, &mutations, timestamp)?;
    let changes: Vec<_> = mutations.chunk_by(|a, b| a.row() == b.row()).collect();
    let rows: Vec<&[u8]> = changes.iter().map(|changes| changes[0].row()).collect();
    let before = read::rows(view.shared, view.version, table.id, &rows, None, view.seq)?;
    let mut overlay: Option<Overlay> = None;
    let mut after = Afterwards::default();
    for ((row, changes), old) in rows.iter().zip(&changes).zip(&before) {
        if !after.push_plain(old, changes, timestamp) {
            let overlay = overlay.get_or_insert_with(|| Overlay::new(view, batch));
            after.push(read::row(view.shared, &overlay.version, table.id, row, None, overlay.seq)?);
        }
    }
    let after = after.finish();
    keep(view, table.id, keepers, (&before, &after), out)
}

fn keep(
    view: &View<'_>,
    base: TableId,
    keepers: &[(TableId, Arc<dyn IndexKeeper>)],
    (before, after): (&[Vec<CellRun>], &[Vec<CellRun>]),
    out: &mut WriteBatch,
) -> Result<()> {
    for (index, keeper) in keepers {
        keeper.keep(&IndexChange { index: *index, base, before, after, view }, out)?;
    }
    Ok(())
}

/// Cells whose end an index could not share.
fn check_cells(table: &TableDescriptor, mutations: &[RowMutationRef<'_>], timestamp: i64) -> Result<()> {
    let expires = table.families.iter().any(|family| family.ttl_secs.is_some());
    for cell in mutations.iter().flat_map(|mutation| mutation.cells(Seq(0))) {
        if tags::have_ttl(cell.tags) {
            return Err(Error::Invalid(format!(
                "table {} has indexes and takes no cells with a TTL of their own; use the TTL of the table",
                table.name
            )));
        }
        if expires && cell.timestamp > timestamp {
            return Err(Error::Invalid(format!(
                "table {} has indexes and a TTL and takes no cells of the future; timestamp {} is after {timestamp}",
                table.name, cell.timestamp
            )));
        }
    }
    Ok(())
}
