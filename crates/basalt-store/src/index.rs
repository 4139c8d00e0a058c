// SPDX-License-Identifier: Apache-2.0
//! Indexes: tables that follow another table, their base, in the same batch.
//!
//! What an index row looks like is not the store's business; it asks a [`IndexKeeper`]. What it does:
//!
//! 1. Under the sequencer's lock, where batches get their order, the rows of indexed tables that a batch changes are read as
//!    they are: everything before this batch, what is on its way included.
//! 2. The rows as the batch leaves them are worked out: column by column where the batch plainly sets and deletes, else by a
//!    read that sees the batch as one more memtable.
//! 3. The keeper of each index adds to the batch what follows for the index.
//!
//! So a row and its index rows have one sequence number, are one frame of the log, and no two writers can both have read the
//! same old row. The price is that other writers wait while the old rows are read.
//!
//! **Building.** A new index is registered, empty, while no commit is on its way; from then on every write is followed, and a
//! snapshot of that moment has all rows that were not. They are written as files that read as older than anything that was
//! followed meanwhile (`Database::build_index`). Until then the index is not read, and not compacted either: a marker
//! for an index row that is yet to come must stay. It may be built in parts, each of the rows of the table up to some row; the manifest names
//! that row together with the part's files, and a build that was ended goes on there (`Database::resume_index`).
//!
//! **Bulk loads** go around all this. One that ends marks the indexes of its table as outdated, in the same change of the
//! manifest; they have to be built again, also where a build was under way.

mod after;
mod follow;

use std::collections::HashMap;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, TableId, TableName, WriteBatch};
use bytes::Bytes;
use parking_lot::RwLock;

pub use after::row_after;

use crate::error::Result;
use crate::snapshot::query::View;
use crate::snapshot::{ScanOptions, read};

/// Knows what the rows of one index are.
pub trait IndexKeeper: Send + Sync + std::fmt::Debug {
    /// Adds to `out` what the index's rows have to become when some rows of its base table change. Runs while all writers
    /// wait: it must be quick and must not write itself. An error refuses the whole batch.
    fn keep(&self, change: &IndexChange<'_>, out: &mut WriteBatch) -> Result<()>;
}

/// Rows of a base table before and after a batch.
pub struct IndexChange<'a> {
    /// The index.
    pub index: TableId,
    /// The table whose rows change.
    pub base: TableId,
    /// The visible cells of each changed row as it was; none if it was not there. Rows ascend.
    pub before: &'a [Vec<CellRun>],
    /// The same of each row as it will be.
    pub after: &'a [Vec<CellRun>],
    view: &'a View<'a>,
}

impl IndexChange<'_> {
    /// The first rows of the index in a range, as they were before the batch; `max` of them at most.
    pub fn rows(&self, range: KeyRange, max: usize) -> Result<Vec<Bytes>> {
        let options = ScanOptions { ranges: vec![range], ..ScanOptions::default() };
        let View { shared, version, seq, .. } = self.view;
        let mut scan = read::scan(shared, version, self.index, &options, *seq)?;
        let mut rows: Vec<Bytes> = Vec::new();
        while rows.len() < max
            && let Some(runs) = scan.next_runs()?
        {
            for (run, cell) in runs.iter().flat_map(|run| run.cells.clone().map(move |cell| (run, cell))) {
                let row = run.block.row(cell);
                if rows.last().is_none_or(|last| last != row) {
                    rows.push(Bytes::copy_from_slice(row));
                }
            }
        }
        rows.truncate(max);
        Ok(rows)
    }
}

impl IndexChange<'_> {
    /// The visible cells of some rows of the base table, which ascend, as they were before the batch.
    pub fn base_rows(&self, rows: &[&[u8]]) -> Result<Vec<Vec<CellRun>>> {
        let View { shared, version, seq, .. } = self.view;
        crate::snapshot::read::rows(shared, version, self.base, rows, None, *seq)
    }
}

impl std::fmt::Debug for IndexChange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexChange").field("index", &self.index).finish_non_exhaustive()
    }
}

/// The keepers that programs have brought, by name of the index.
#[derive(Debug, Default)]
pub(crate) struct Keepers {
    known: RwLock<HashMap<TableName, Arc<dyn IndexKeeper>>>,
}

impl Keepers {
    pub(crate) fn put(&self, name: TableName, keeper: Arc<dyn IndexKeeper>) {
        self.known.write().insert(name, keeper);
    }

    pub(crate) fn remove(&self, name: &TableName) {
        self.known.write().remove(name);
    }

    fn get(&self, name: &TableName) -> Option<Arc<dyn IndexKeeper>> {
        self.known.read().get(name).map(Arc::clone)
    }
}
