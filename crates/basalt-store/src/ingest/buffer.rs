// SPDX-License-Identifier: Apache-2.0
//! Rows that arrived out of order: kept as they came, sorted as (prefix, place) pairs.

use std::cmp::Ordering;

use basalt_model::{RowMutationRef, WriteBatch};

/// Batches and the order of their rows.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    batches: Vec<WriteBatch>,
    entries: Vec<Entry>,
    size_bytes: usize,
    /// A row came that is not above the one before it.
    disordered: bool,
}

/// Where a row is. The first bytes of its key settle most comparisons without a look at it.
#[derive(Debug, Clone, Copy)]
struct Entry {
    prefix: u64,
    batch: u32,
    index: u32,
}

impl Buffer {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Memory held, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Takes the rows of `batch` from index `first` on.
    pub(super) fn push(&mut self, batch: WriteBatch, first: usize) {
        let number = u32::try_from(self.batches.len()).expect("a buffer is spilled long before");
        let last_seen = self.entries.len().saturating_sub(1);
        for index in first..batch.len() {
            let prefix = prefix_of(batch.get(index).1.row());
            self.entries.push(Entry { prefix, batch: number, index: index as u32 });
        }
        self.size_bytes += batch.size_bytes() + (batch.len() - first) * size_of::<Entry>();
        self.batches.push(batch);
        let ascends = |a: &Entry, b: &Entry| a.prefix < b.prefix || self.row(a) < self.row(b);
        self.disordered = self.disordered || !self.entries[last_seen..].is_sorted_by(ascends);
    }

    /// True if the rows came in ascending order, each once.
    pub(super) fn is_ascending(&self) -> bool {
        !self.disordered
    }

    /// Sorts the rows; mutations of one row stay in the order in which they came.
    pub(super) fn sort(&mut self) {
        let batches = &self.batches;
        self.entries.sort_unstable_by(|a, b| compare(batches, a, b));
    }

    /// The mutations of each row, in the order in which they came; rows as [`Self::sort`] left them.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<RowMutationRef<'_>>> {
        let same_row = |a: &Entry, b: &Entry| self.row(a) == self.row(b);
        let groups = self.entries.chunk_by(same_row);
        groups.map(|group| group.iter().map(|entry| self.mutation(entry)).collect())
    }

    /// The lowest row after a sort.
    pub(super) fn first_row(&self) -> Option<&[u8]> {
        self.entries.first().map(|entry| self.row(entry))
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn mutation(&self, entry: &Entry) -> RowMutationRef<'_> {
        self.batches[entry.batch as usize].get(entry.index as usize).1
    }

    fn row(&self, entry: &Entry) -> &[u8] {
        self.mutation(entry).row()
    }
}

fn compare(batches: &[WriteBatch], a: &Entry, b: &Entry) -> Ordering {
    let row = |entry: &Entry| batches[entry.batch as usize].get(entry.index as usize).1.row();
    let by_row = a.prefix.cmp(&b.prefix).then_with(|| row(a).cmp(row(b)));
    by_row.then_with(|| (a.batch, a.index).cmp(&(b.batch, b.index)))
}

/// The first eight bytes of a key, zeros behind a shorter one: where two differ, they sort like the keys.
fn prefix_of(row: &[u8]) -> u64 {
    let mut prefix = [0; 8];
    let len = row.len().min(8);
    prefix[..len].copy_from_slice(&row[..len]);
    u64::from_be_bytes(prefix)
}
