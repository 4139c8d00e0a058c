// SPDX-License-Identifier: Apache-2.0
//! Writes of one region that are not in store files yet: one entry per row mutation, sorted by row and, for
//! one row, from the newest to the oldest.
//!
//! An entry shares the bytes of its batch; the memtable copies none. Entries go in when a write is given its
//! sequence number, before it is durable; readers leave out what is newer than their snapshot, so a batch
//! becomes visible at once when its last number does. A write that fails is taken out again.
//!
//! Rule: a sealed memtable gets no new entries, and once its last commit is resolved none leave it either.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, RowMutation, Seq};
use bytes::Bytes;
use parking_lot::RwLock;

mod block;
mod cursor;
mod entries;
mod run;

use entries::{Entries, Entry};

pub(crate) use block::{BlockBuilder, block_of};
pub(crate) use cursor::MemtableCursor;
pub(crate) use run::{SortedRun, detached};

/// Memory that an entry takes beside its bytes, at most: twice its own size, as a chunk may be half empty, and the count of references of
/// a batch that has no other row.
const ENTRY_OVERHEAD: u64 = 2 * 56 + 32;

/// See the module.
#[derive(Debug)]
pub(crate) struct Memtable {
    entries: RwLock<Entries>,
    size_bytes: AtomicU64,
    /// No entry is of an earlier commit; `u64::MAX` while there are none.
    seq_min: AtomicU64,
    /// No entry is of a later commit.
    seq_max: AtomicU64,
    /// When somebody first asked for the age of the entries; 0 if nobody did.
    seen_ms: AtomicI64,
    /// The log does not have all entries.
    unlogged: AtomicBool,
}

impl Default for Memtable {
    fn default() -> Self {
        Self {
            entries: RwLock::default(),
            size_bytes: AtomicU64::new(0),
            seq_min: AtomicU64::new(u64::MAX),
            seq_max: AtomicU64::new(0),
            seen_ms: AtomicI64::new(0),
            unlogged: AtomicBool::new(false),
        }
    }
}

impl Memtable {
    /// Adds mutations with their commits; returns the bytes added.
    pub(crate) fn insert(&self, mutations: impl Iterator<Item = (Seq, RowMutation)>) -> u64 {
        let mut added = 0;
        let mut sorted = Vec::with_capacity(mutations.size_hint().0);
        let (mut seq_min, mut seq_max) = (Seq(u64::MAX), Seq(0));
        for (seq, mutation) in mutations {
            added += mutation.entry().len() as u64 + ENTRY_OVERHEAD;
            (seq_min, seq_max) = (seq_min.min(seq), seq_max.max(seq));
            sorted.push(Entry::new(seq, mutation));
        }
        self.seq_min.fetch_min(seq_min.0, Relaxed);
        self.seq_max.fetch_max(seq_max.0, Relaxed);
        // Neighbours go to the same place.
        entries::sort(&mut sorted);
        self.entries.write().insert(sorted);
        self.size_bytes.fetch_add(added, Relaxed);
        added
    }

    /// Takes a mutation out again that will never be visible; returns the bytes that are free now.
    pub(crate) fn remove(&self, row: &[u8], seq: Seq) -> u64 {
        let removed = self.entries.write().remove(row, seq);
        let freed = removed.map_or(0, |entry| entry.mutation.entry().len() as u64 + ENTRY_OVERHEAD);
        self.size_bytes.fetch_sub(freed, Relaxed);
        freed
    }

    /// Some entries are not in the log.
    pub(crate) fn note_unlogged(&self) {
        self.unlogged.store(true, Relaxed);
    }

    pub(crate) fn is_unlogged(&self) -> bool {
        self.unlogged.load(Relaxed)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes.load(Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.read().is_empty()
    }

    /// True if there is an entry of the row, of whatever commit.
    pub(crate) fn has_row(&self, row: &[u8]) -> bool {
        let entries = self.entries.read();
        entries.from(&entries.before(row)).next().is_some_and(|entry| entry.row() == row)
    }

    /// Number of row mutations.
    pub(crate) fn len(&self) -> usize {
        self.entries.read().len()
    }

    /// No entry is of a commit outside of these two; `None` if nothing was ever inserted.
    pub(crate) fn seq_range(&self) -> Option<(Seq, Seq)> {
        let (min, max) = (self.seq_min.load(Relaxed), self.seq_max.load(Relaxed));
        (min <= max).then_some((Seq(min), Seq(max)))
    }

    /// Milliseconds since this was first asked with entries there; for upkeep, which asks often.
    pub(crate) fn age_ms(&self, now_ms: i64) -> u64 {
        if self.seq_range().is_none() {
            return 0;
        }
        let seen_ms = self.seen_ms.compare_exchange(0, now_ms, Relaxed, Relaxed).unwrap_or_else(|seen| seen);
        u64::try_from(now_ms - if seen_ms == 0 { now_ms } else { seen_ms }).unwrap_or(0)
    }

    /// True if a cell has tags.
    pub(crate) fn has_tags(&self) -> bool {
        let entries = self.entries.read();
        let mut mutations = entries.iter().map(|entry| entry.mutation.borrow());
        mutations.any(|mutation| mutation.cells(Seq(0)).any(|cell| !cell.tags.is_empty()))
    }

    /// The entries of some rows in a memtable of their own. Nobody may write while it is made.
    pub(crate) fn rows_of(&self, range: &KeyRange) -> Self {
        let rows = Self::default();
        rows.take_all(self, range);
        rows
    }

    /// Adds the entries that another memtable has of some rows. Nobody may write to that meanwhile.
    pub(crate) fn take_all(&self, other: &Self, range: &KeyRange) {
        let entries = other.entries.read();
        let inside = entries.iter().filter(|entry| range.contains(entry.row()));
        self.insert(inside.map(|entry| (entry.seq, entry.mutation.clone())));
        self.unlogged.fetch_or(other.is_unlogged(), Relaxed);
    }

    /// Some rows, evenly spread over the entries, for cutting a scan into parts.
    pub(crate) fn sample_rows(&self, count: usize) -> Vec<Bytes> {
        let entries = self.entries.read();
        let step = (entries.len() / count.max(1)).max(1);
        entries.iter().step_by(step).skip(1).map(|entry| entry.mutation.row_bytes()).collect()
    }

    /// The cells of a family in some rows (ascending) that `seq_max` sees, in key order: few runs of many rows each. Holds the
    /// lock only while it counts up references.
    pub(crate) fn runs_of_rows(&self, rows: &[&[u8]], family: &str, seq_max: Seq) -> Vec<CellRun> {
        let mut found = Vec::new();
        let entries = self.entries.read();
        entries.each_of_rows(rows, |entry| {
            if entry.seq <= seq_max {
                found.push((entry.seq, entry.mutation.clone()));
            }
        });
        drop(entries);
        let mut runs = Vec::new();
        cursor::build_runs(&found, Some(family.as_bytes()), &mut runs);
        runs
    }

    /// The last row before `before` (`None`: of all) with a cell of the family that `seq_max` sees.
    fn row_before(&self, before: Option<&[u8]>, family: Option<&[u8]>, seq_max: Seq) -> Option<Bytes> {
        let entries = self.entries.read();
        let shows = |entry: &&Entry| {
            let mut cells = entry.mutation.borrow().cells(entry.seq);
            entry.seq <= seq_max && cells.any(|cell| family.is_none_or(|family| family == cell.family))
        };
        let end = before.map(|row| entries.before(row));
        let found = entries.back_from(end.as_ref()).find(shows);
        found.map(|entry| entry.mutation.row_bytes())
    }

    /// Up to `rows_max` rows from `from` on and below `end`, each with all its entries that `seq_max` sees,
    /// newest first; the row to go on with, or `None` if that was all. Holds the lock only while it counts
    /// up references.
    fn copy_rows(
        &self,
        from: &[u8],
        end: Option<&[u8]>,
        seq_max: Seq,
        rows_max: usize,
        out: &mut Vec<(Seq, RowMutation)>,
    ) -> Option<Bytes> {
        let entries = self.entries.read();
        let mut rows = 0;
        let mut bytes = 0;
        let mut last: Option<&[u8]> = None;
        for entry in entries.from(&entries.before(from)) {
            if last != Some(entry.row()) {
                if end.is_some_and(|end| entry.row() >= end) {
                    return None;
                }
                if rows == rows_max || bytes > CHUNK_BYTES {
                    return Some(entry.mutation.row_bytes());
                }
                rows += 1;
                last = Some(entry.row());
            }
            if entry.seq <= seq_max {
                bytes += entry.mutation.entry().len();
                out.push((entry.seq, entry.mutation.clone()));
            }
        }
        None
    }
}

/// Bytes of entries after which a chunk takes no further row: every open scan may hold a chunk.
const CHUNK_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests;
