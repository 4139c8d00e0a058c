// SPDX-License-Identifier: Apache-2.0
//! Writes of one region that are not in store files yet: one entry per row mutation, sorted by row and, for
//! one row, from the newest to the oldest.
//!
//! An entry shares the bytes of its batch; the memtable copies none. Entries go in when a write is given its
//! sequence number, before it is durable; readers leave out what is newer than their snapshot, so a batch
//! becomes visible at once when its last number does. A write that fails is taken out again.
//!
//! Rule: a sealed memtable gets no new entries, and once its last commit is resolved none leave it either.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use basalt_model::{KeyRange, RowMutation, Seq};
use bytes::Bytes;
use parking_lot::RwLock;

mod cursor;
mod run;

pub(crate) use cursor::{MemtableCursor, block_of};
pub(crate) use run::{SortedRun, detached};

/// Memory that an entry takes beside its bytes: the map's node and two shared slices.
const ENTRY_OVERHEAD: u64 = 136;

/// Ordered by row, then from the newest to the oldest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct EntryKey {
    /// The first bytes of the row, filled up with zeros, as a number: most comparisons end here, without a look at the row,
    /// which lies somewhere else.
    head: u64,
    row: Bytes,
    seq: Reverse<Seq>,
}

impl EntryKey {
    fn new(row: Bytes, seq: Seq) -> Self {
        let mut head = [0; 8];
        let len = row.len().min(head.len());
        head[..len].copy_from_slice(&row[..len]);
        Self { head: u64::from_be_bytes(head), row, seq: Reverse(seq) }
    }

    /// Before all entries of the row.
    fn before(row: Bytes) -> Self {
        Self::new(row, Seq(u64::MAX))
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Memtable {
    entries: RwLock<BTreeMap<EntryKey, RowMutation>>,
    size_bytes: AtomicU64,
    /// No entry is of an earlier commit; `u64::MAX` while there are none.
    seq_min: AtomicU64,
    /// No entry is of a later commit.
    seq_max: AtomicU64,
    /// When somebody first asked for the age of the entries; 0 if nobody did.
    seen_ms: AtomicI64,
}

impl Default for Memtable {
    fn default() -> Self {
        Self {
            entries: RwLock::default(),
            size_bytes: AtomicU64::new(0),
            seq_min: AtomicU64::new(u64::MAX),
            seq_max: AtomicU64::new(0),
            seen_ms: AtomicI64::new(0),
        }
    }
}

impl Memtable {
    /// Adds mutations with their commits.
    pub(crate) fn insert(&self, mutations: impl Iterator<Item = (Seq, RowMutation)>) -> u64 {
        let mut added = 0;
        let mut sorted = Vec::with_capacity(mutations.size_hint().0);
        for (seq, mutation) in mutations {
            added += mutation.entry().len() as u64 + ENTRY_OVERHEAD;
            self.seq_min.fetch_min(seq.0, Relaxed);
            self.seq_max.fetch_max(seq.0, Relaxed);
            sorted.push((EntryKey::new(mutation.row_bytes(), seq), mutation));
        }
        // Neighbours take the same way through the map.
        sorted.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut entries = self.entries.write();
        for (key, mutation) in sorted {
            let before = entries.insert(key, mutation);
            assert!(before.is_none(), "two mutations of one row share a sequence number");
        }
        self.size_bytes.fetch_add(added, Relaxed);
        added
    }

    /// Takes a mutation out again that will never be visible; returns the bytes that are free now.
    pub(crate) fn remove(&self, row: Bytes, seq: Seq) -> u64 {
        let removed = self.entries.write().remove(&EntryKey::new(row, seq));
        let freed = removed.map_or(0, |mutation| mutation.entry().len() as u64 + ENTRY_OVERHEAD);
        self.size_bytes.fetch_sub(freed, Relaxed);
        freed
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
        if entries.is_empty() {
            return false;
        }
        let first = EntryKey::before(Bytes::copy_from_slice(row));
        entries.range(first..).next().is_some_and(|(key, _)| key.row == row)
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
        entries.values().any(|mutation| mutation.borrow().cells(Seq(0)).any(|cell| !cell.tags.is_empty()))
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
        let inside = entries.iter().filter(|(key, _)| range.contains(&key.row));
        self.insert(inside.map(|(key, mutation)| (key.seq.0, mutation.clone())));
    }

    /// Some rows, evenly spread over the entries, for cutting a scan into parts.
    pub(crate) fn sample_rows(&self, count: usize) -> Vec<Bytes> {
        let entries = self.entries.read();
        let step = (entries.len() / count.max(1)).max(1);
        entries.keys().step_by(step).skip(1).map(|key| key.row.clone()).collect()
    }

    /// The last row before `before` (`None`: of all) with a cell of the family that `seq_max` sees.
    fn row_before(&self, before: Option<&[u8]>, family: Option<&[u8]>, seq_max: Seq) -> Option<Bytes> {
        let end = before.map_or(Bound::Unbounded, |before| {
            Bound::Excluded(EntryKey::before(Bytes::copy_from_slice(before)))
        });
        let entries = self.entries.read();
        let shows = |seq: Seq, mutation: &RowMutation| {
            let mut cells = mutation.borrow().cells(seq);
            seq <= seq_max && cells.any(|cell| family.is_none_or(|family| family == cell.family))
        };
        let mut behind = entries.range((Bound::Unbounded, end)).rev();
        behind.find(|(key, mutation)| shows(key.seq.0, mutation)).map(|(key, _)| key.row.clone())
    }

    /// Up to `rows_max` rows from `from` on and below `end`, each with all its entries that `seq_max` sees,
    /// newest first; the row to go on with, or `None` if that was all. Holds the lock only while it counts
    /// up references.
    fn copy_rows(
        &self,
        from: Bound<&Bytes>,
        end: Option<&[u8]>,
        seq_max: Seq,
        rows_max: usize,
        out: &mut Vec<(Seq, RowMutation)>,
    ) -> Option<Bytes> {
        let start = match from {
            Bound::Included(row) => Bound::Included(EntryKey::before(row.clone())),
            Bound::Excluded(row) => Bound::Excluded(EntryKey::new(row.clone(), Seq(0))),
            Bound::Unbounded => Bound::Unbounded,
        };
        let entries = self.entries.read();
        let mut rows = 0;
        let mut bytes = 0;
        let mut last: Option<&Bytes> = None;
        for (key, mutation) in entries.range((start, Bound::Unbounded)) {
            if last != Some(&key.row) {
                if end.is_some_and(|end| key.row >= end) {
                    return None;
                }
                if rows == rows_max || bytes > CHUNK_BYTES {
                    return Some(key.row.clone());
                }
                rows += 1;
                last = Some(&key.row);
            }
            if key.seq.0 <= seq_max {
                bytes += mutation.entry().len();
                out.push((key.seq.0, mutation.clone()));
            }
        }
        None
    }
}

/// Bytes of entries after which a chunk takes no further row.
const CHUNK_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
