// SPDX-License-Identifier: Apache-2.0
//! Entries for a memtable, sorted before they go in: filling a memtable from one long run takes a fraction of the time
//! that putting each entry in its place does. For a log being replayed.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::{RowMutation, Seq};
use bytes::{Bytes, BytesMut};

use super::{ENTRY_OVERHEAD, EntryKey, Memtable};

/// Entries in the order of the memtable.
#[derive(Debug, Default)]
pub(crate) struct SortedRun {
    entries: Vec<(EntryKey, RowMutation)>,
}

impl SortedRun {
    /// Sorts mutations with their commits.
    pub(crate) fn new(mutations: Vec<(Seq, RowMutation)>) -> Self {
        let entry =
            |(seq, mutation): (Seq, RowMutation)| (EntryKey::new(mutation.row_bytes(), seq), mutation);
        let mut entries: Vec<_> = mutations.into_iter().map(entry).collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self { entries }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What the entries will take of memory in a memtable.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.entries.iter().map(|(_, mutation)| mutation.entry().len() as u64 + ENTRY_OVERHEAD).sum()
    }

    /// Up to `count - 1` rows that cut the run into parts of about the same size.
    pub(crate) fn cuts(&self, count: usize) -> Vec<Bytes> {
        let at = |i: usize| self.entries[i * self.entries.len() / count].0.row.clone();
        if self.entries.is_empty() { Vec::new() } else { (1..count).map(at).collect() }
    }

    /// Cuts before each of these rows, which are in order: one run more than there are rows.
    pub(crate) fn split(mut self, rows: &[Bytes]) -> Vec<Self> {
        let mut parts = Vec::with_capacity(rows.len() + 1);
        for row in rows.iter().rev() {
            let before = EntryKey::before(row.clone());
            let at = self.entries.partition_point(|(key, _)| *key < before);
            parts.push(Self { entries: self.entries.split_off(at) });
        }
        parts.push(self);
        parts.reverse();
        parts
    }

    /// One run of several.
    pub(crate) fn merge(runs: Vec<Self>) -> Self {
        let mut entries = Vec::with_capacity(runs.iter().map(Self::len).sum());
        runs.into_iter().for_each(|run| entries.extend(run.entries));
        // The stable sort finds the runs and merges them.
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { entries }
    }
}

impl Memtable {
    /// Adds runs, each of rows behind those of the one before; returns the bytes added.
    pub(crate) fn fill(&self, runs: Vec<SortedRun>) -> u64 {
        let ends = runs.windows(2).map(|two| (two[0].entries.last(), two[1].entries.first()));
        debug_assert!(ends.into_iter().all(|ends| !matches!(ends, (Some(a), Some(b)) if a.0 >= b.0)));
        let added = runs.iter().map(SortedRun::memory_bytes).sum();
        let count: usize = runs.iter().map(SortedRun::len).sum();
        let seqs = || runs.iter().flat_map(|run| &run.entries).map(|(key, _)| key.seq.0.0);
        self.seq_min.fetch_min(seqs().min().unwrap_or(u64::MAX), Relaxed);
        self.seq_max.fetch_max(seqs().max().unwrap_or(0), Relaxed);
        let mut entries = self.entries.write();
        let before = entries.len();
        let new = runs.into_iter().flat_map(|run| run.entries);
        if before == 0 {
            *entries = new.collect::<BTreeMap<_, _>>();
        } else {
            entries.extend(new);
        }
        assert_eq!(entries.len(), before + count, "two mutations of one row share a sequence number");
        self.size_bytes.fetch_add(added, Relaxed);
        added
    }
}

/// Mutations with bytes of their own, which share nothing with what they were read from.
pub(crate) fn detached(mutations: &[(Seq, RowMutation)]) -> Vec<(Seq, RowMutation)> {
    let len = mutations.iter().map(|(_, mutation)| mutation.entry().len()).sum();
    let mut bytes = BytesMut::with_capacity(len);
    mutations.iter().for_each(|(_, mutation)| bytes.extend_from_slice(mutation.entry()));
    let mut rest = bytes.freeze();
    let copy = |(seq, _): &(Seq, RowMutation)| {
        let (mutation, len) = RowMutation::decode(&rest).expect("entries that were decoded before");
        rest = rest.slice(len..);
        (*seq, mutation)
    };
    mutations.iter().map(copy).collect()
}
