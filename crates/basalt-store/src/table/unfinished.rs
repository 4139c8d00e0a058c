// SPDX-License-Identifier: Apache-2.0
//! A batch that is being put together, and the database as its next change finds it. The changes of one row that HBase's clients make
//! together all find it as it was before, as there (`HRegion.doMiniBatchMutate`, 2.6); in a batch of changes one after the other each sees those
//! before it as if they were committed, deletes and timestamps included.

use std::collections::hash_map::{Entry, HashMap};
use std::sync::Arc;

use basalt_model::{Seq, TableId, WriteBatch};
use bytes::Bytes;

use crate::error::Result;
use crate::ids::RegionId;
use crate::memtable::Memtable;
use crate::snapshot::query::View;
use crate::version::Version;

/// See the module. Whoever has one holds the order of commits.
pub(super) struct Unfinished<'a> {
    /// The database before the batch.
    before: &'a View<'a>,
    batch: WriteBatch,
    /// Rows that the batch changes so far, and the newest timestamp that an increment or append among these changes gave.
    changed: HashMap<(TableId, Bytes), i64>,
    so_far: Option<SoFar>,
    /// Changes see those before them.
    in_turn: bool,
}

/// The database with the batch, as far as somebody needed it.
struct SoFar {
    version: Version,
    memtables: HashMap<(TableId, RegionId), Arc<Memtable>>,
    /// Rows of the batch that it has.
    rows: usize,
}

impl<'a> Unfinished<'a> {
    /// Of changes that are made together.
    pub(super) fn together(before: &'a View<'a>) -> Self {
        let (batch, changed) = (WriteBatch::new(), HashMap::new());
        Self { before, batch, changed, so_far: None, in_turn: false }
    }

    /// Of changes that are made one after the other.
    pub(super) fn in_turn(before: &'a View<'a>) -> Self {
        Self { in_turn: true, ..Self::together(before) }
    }

    /// For a change of a row: the database as it finds it, the batch that it goes into, and a place for the newest timestamp that it gives: what
    /// comes behind it must not be older.
    pub(super) fn next(
        &mut self,
        table: TableId,
        row: &[u8],
    ) -> Result<(View<'_>, &mut WriteBatch, &mut i64)> {
        let &View { shared, version, seq, now_ms } = self.before;
        let newest = match self.changed.entry((table, Bytes::copy_from_slice(row))) {
            Entry::Vacant(new) => {
                let newest = new.insert(now_ms);
                return Ok((View { shared, version, seq, now_ms }, &mut self.batch, newest));
            }
            Entry::Occupied(known) => known.into_mut(),
        };
        if !self.in_turn {
            *newest = now_ms;
            return Ok((View { shared, version, seq, now_ms }, &mut self.batch, newest));
        }
        let so_far = self.so_far.get_or_insert_with(|| SoFar {
            version: Version::clone(version),
            memtables: HashMap::new(),
            rows: 0,
        });
        so_far.take_in(self.before, &self.batch)?;
        let seq = Seq(seq.0 + so_far.rows as u64);
        Ok((View { shared, version: &so_far.version, seq, now_ms }, &mut self.batch, newest))
    }

    /// The batch.
    pub(super) fn finish(self) -> WriteBatch {
        self.batch
    }
}

impl SoFar {
    /// Adds the rows of the batch that are new since the last time. Each has a number of its own: only their order matters.
    fn take_in(&mut self, before: &View<'_>, batch: &WriteBatch) -> Result<()> {
        for at in self.rows..batch.len() {
            let (table, row) = batch.get(at);
            let region = before.version.table(table)?.region_of(row.row()).id;
            let memtable = match self.memtables.entry((table, region)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let memtable = Arc::<Memtable>::default();
                    self.version.edit_region(table, region, |region| {
                        let older = std::mem::replace(&mut region.active, Arc::clone(&memtable));
                        region.sealed.push(older);
                    });
                    new.insert(memtable)
                }
            };
            let mut alone = WriteBatch::with_capacity(1, row.entry().len());
            alone.push(table, row);
            alone.stamp(before.now_ms);
            let mutations = alone.freeze().rows.into_iter().map(|(_, mutation)| mutation);
            memtable.insert(mutations.map(|mutation| (Seq(before.seq.0 + 1 + at as u64), mutation)));
        }
        self.rows = batch.len();
        Ok(())
    }
}
