// SPDX-License-Identifier: Apache-2.0
//! What rows will be once a batch is written.
//!
//! [`plain`] is the quick way: new values replace old ones and deletes take them away, column by column. It says nothing
//! where timestamps, tags or the order of deletes inside of one change could matter. [`Overlay`] is the way that is always
//! right: a version of the database in which the batch lies in memory already.
//!
//! A row that is changed once, by puts and deletes of columns alone, is quicker still: both lists of cells are in order, and
//! [`Afterwards`] merges them into one block of many rows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::{CellRef, CellType, LATEST_TIMESTAMP, RowMutationRef, Seq, WriteBatch};

use crate::commit::assign_seqs;
use crate::memtable::{BlockBuilder, Memtable, block_of};
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

/// Rows as they will be, gathered for many of them.
#[derive(Default)]
pub(super) struct Afterwards {
    rows: Vec<Vec<CellRun>>,
    block: BlockBuilder,
    /// Rows whose cells are in the block, and where.
    places: Vec<(usize, Range<usize>)>,
}

impl Afterwards {
    /// Adds a row that is known.
    pub(super) fn push(&mut self, cells: Vec<CellRun>) {
        self.rows.push(cells);
    }

    /// Adds what [`plain`] says of a row; false, and nothing is added, if it says nothing.
    pub(super) fn push_plain(
        &mut self,
        before: &[CellRun],
        changes: &[RowMutationRef<'_>],
        timestamp: i64,
    ) -> bool {
        match changes {
            [change] if merges(before, *change, timestamp) => {
                let from = self.block.len();
                merge(before, *change, &mut self.block);
                if self.block.len() > from {
                    self.places.push((self.rows.len(), from..self.block.len()));
                }
                self.rows.push(Vec::new());
                if self.block.is_full() {
                    self.close_block();
                }
            }
            _ => match plain(before, changes, timestamp) {
                Some(cells) => self.rows.push(cells),
                None => return false,
            },
        }
        true
    }

    fn close_block(&mut self) {
        let Some(CellRun { block, .. }) = self.block.finish() else { return };
        for (row, cells) in self.places.drain(..) {
            self.rows[row].push(CellRun { block: Arc::clone(&block), cells });
        }
    }

    /// The visible cells of each row, in the order in which they were added.
    pub(super) fn finish(mut self) -> Vec<Vec<CellRun>> {
        self.close_block();
        self.rows
    }
}

fn cells_of(runs: &[CellRun]) -> impl Iterator<Item = CellRef<'_>> {
    runs.iter().flat_map(|run| run.cells.clone().map(|index| run.block.cell(index)))
}

fn column_of<'a>(cell: &CellRef<'a>) -> (&'a [u8], &'a [u8]) {
    (cell.family, cell.qualifier)
}

/// True if a change of a row is of puts and deletes of columns at the time of the commit, one to a column, and no cell that is there is
/// newer.
fn merges(before: &[CellRun], change: RowMutationRef<'_>, timestamp: i64) -> bool {
    let mut last: Option<(&[u8], &[u8])> = None;
    let is_plain = change.cells(Seq(0)).all(|cell| {
        let column = Some(column_of(&cell));
        let is_first = std::mem::replace(&mut last, column) != column;
        let of_column = matches!(cell.cell_type, CellType::Put | CellType::DeleteColumn);
        is_first && of_column && cell.timestamp == timestamp && cell.tags.is_empty()
    });
    is_plain && cells_of(before).all(|cell| cell.timestamp <= timestamp)
}

/// Appends the cells of a row behind such a change.
fn merge(before: &[CellRun], change: RowMutationRef<'_>, out: &mut BlockBuilder) {
    let mut old = cells_of(before).peekable();
    for cell in change.cells(Seq(0)) {
        let column = column_of(&cell);
        while let Some(kept) = old.next_if(|old| column_of(old) < column) {
            out.push(&kept);
        }
        old.next_if(|old| column_of(old) == column);
        if cell.cell_type == CellType::Put {
            out.push(&cell);
        }
    }
    old.for_each(|kept| out.push(&kept));
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
