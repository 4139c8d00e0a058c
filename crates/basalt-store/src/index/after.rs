// SPDX-License-Identifier: Apache-2.0
//! What rows will be once a batch is written.
//!
//! [`plain`] is the quick way: new values replace old ones and deletes take them away, column by column. It says nothing
//! where timestamps, tags or the order of deletes inside of one change could matter. [`Overlay`] is the way that is always
//! right: a version of the database in which the batch lies in memory already.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::{CellRef, CellType, LATEST_TIMESTAMP, RowMutationRef, Seq, WriteBatch};

use crate::commit::assign_seqs;
use crate::memtable::{Memtable, block_of};
use crate::snapshot::query::View;
use crate::version::Version;

/// The visible cells of a row, given those before, after a change whose cells have the time of the commit. `None` where cells carry tags,
/// or a column is written twice.
pub fn row_after(before: &[CellRun], change: RowMutationRef<'_>) -> Option<Vec<CellRun>> {
    plain(before, &[change], LATEST_TIMESTAMP)
}

/// The visible cells of a row after `changes`, if that can be told from its visible cells before. Deletes go by sequence
/// in all tables that have indexes; `timestamp` is that of the commit.
pub(super) fn plain(
    before: &[CellRun],
    changes: &[RowMutationRef<'_>],
    timestamp: i64,
) -> Option<Vec<CellRun>> {
    let mut cells: BTreeMap<(&[u8], &[u8]), CellRef<'_>> = BTreeMap::new();
    for run in before {
        for cell in run.cells.clone().map(|index| run.block.cell(index)) {
            // An older version may lie below one of the future.
            if cell.timestamp > timestamp {
                return None;
            }
            cells.insert((cell.family, cell.qualifier), cell);
        }
    }
    for change in changes {
        apply(change, timestamp, &mut cells)?;
    }
    let cells: Vec<CellRef<'_>> = cells.into_values().collect();
    if cells.is_empty() {
        return Some(Vec::new());
    }
    let block = block_of(&cells);
    Some(vec![CellRun { block, cells: 0..cells.len() }])
}

fn apply<'a>(
    change: &RowMutationRef<'a>,
    timestamp: i64,
    cells: &mut BTreeMap<(&'a [u8], &'a [u8]), CellRef<'a>>,
) -> Option<()> {
    let mut last: Option<(&[u8], &[u8])> = None;
    let (mut puts, mut deletes_family) = (false, false);
    for cell in change.cells(Seq(0)) {
        let column = (cell.family, cell.qualifier);
        if cell.timestamp != timestamp || !cell.tags.is_empty() || last == Some(column) {
            return None;
        }
        match cell.cell_type {
            CellType::Put => {
                puts = true;
                cells.insert(column, cell);
            }
            CellType::DeleteColumn => {
                cells.remove(&column);
            }
            CellType::DeleteFamily => {
                deletes_family = true;
                cells.retain(|(family, _), _| *family != cell.family);
            }
            _ => return None,
        }
        last = Some(column);
    }
    // Which of them wins inside of one change is for the resolver to say.
    (!(puts && deletes_family)).then_some(())
}

/// The database with a batch that is not written yet.
pub(super) struct Overlay {
    pub(super) version: Version,
    pub(super) seq: Seq,
}

impl Overlay {
    /// The batch has its timestamps.
    pub(super) fn new(view: &View<'_>, batch: &WriteBatch) -> Self {
        let frozen = batch.clone().freeze();
        let first = Seq(view.seq.0 + 1);
        let (seqs, seq) = assign_seqs(first, &frozen.rows);
        let mut version = view.version.clone();
        let mut memtables: BTreeMap<_, Arc<Memtable>> = BTreeMap::new();
        for (i, (table, row)) in frozen.rows.into_iter().enumerate() {
            // Rows of a table that is gone are found out when the batch is routed.
            let Ok(found) = view.version.table(table) else { continue };
            let region = found.region_of(row.borrow().row()).id;
            let memtable = memtables.entry((table, region)).or_default();
            memtable.insert(std::iter::once((seqs.of(i), row)));
        }
        for ((table, region), memtable) in memtables {
            version.edit_region(table, region, |region| region.sealed.push(memtable));
        }
        Self { version, seq }
    }
}
