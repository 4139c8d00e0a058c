// SPDX-License-Identifier: Apache-2.0
//! Entries for a memtable, sorted before they go in: filling a memtable from one long run takes a fraction of the time
//! that putting each entry in its place does. For a log being replayed.

use std::sync::atomic::Ordering::Relaxed;

use basalt_model::{RowMutation, Seq};
use bytes::{Bytes, BytesMut};

use super::entries::{self, Entry};
use super::{ENTRY_OVERHEAD, Memtable};

/// Entries in the order of the memtable.
#[derive(Debug, Default)]
pub(crate) struct SortedRun {
    entries: Vec<Entry>,
}

impl SortedRun {
    /// Sorts mutations with their commits.
    pub(crate) fn new(mutations: Vec<(Seq, RowMutation)>) -> Self {
        let entry = |(seq, mutation): (Seq, RowMutation)| Entry::new(seq, mutation);
        let mut entries: Vec<_> = mutations.into_iter().map(entry).collect();
        entries::sort(&mut entries);
        Self { entries }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What the entries will take of memory in a memtable.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.mutation.entry().len() as u64 + ENTRY_OVERHEAD).sum()
    }

    /// Up to `count - 1` rows that cut the run into parts of about the same size.
    pub(crate) fn cuts(&self, count: usize) -> Vec<Bytes> {
        let at = |i: usize| self.entries[i * self.entries.len() / count].mutation.row_bytes();
        if self.entries.is_empty() { Vec::new() } else { (1..count).map(at).collect() }
    }

    /// Cuts before each of these rows, which are in order: one run more than there are rows.
    pub(crate) fn split(mut self, rows: &[Bytes]) -> Vec<Self> {
        let mut parts = Vec::with_capacity(rows.len() + 1);
        for row in rows.iter().rev() {
            let at = self.entries.partition_point(|entry| entry.row() < &row[..]);
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
        entries::merge_runs(&mut entries);
        Self { entries }
    }
}

impl Memtable {
    /// Adds runs, each of rows behind those of the one before; returns the bytes added.
    pub(crate) fn fill(&self, runs: Vec<SortedRun>) -> u64 {
        let ends = runs.windows(2).map(|two| (two[0].entries.last(), two[1].entries.first()));
        debug_assert!(
            ends.into_iter().all(|ends| !matches!(ends, (Some(last), Some(next)) if last.row() > next.row()))
        );
        let added = runs.iter().map(SortedRun::memory_bytes).sum();
        let seqs = || runs.iter().flat_map(|run| &run.entries).map(|entry| entry.seq.0);
        self.seq_min.fetch_min(seqs().min().unwrap_or(u64::MAX), Relaxed);
        self.seq_max.fetch_max(seqs().max().unwrap_or(0), Relaxed);
        let mut entries = self.entries.write();
        runs.into_iter().for_each(|run| entries.insert(run.entries));
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
