// SPDX-License-Identifier: Apache-2.0
//! Sorted runs of entries, and the order of all of them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::keys::{Entry, Ties, compare};

/// Rows of a run: few enough to be sorted without keeping others from the processor for long.
pub(super) const RUN_ROWS: usize = 1 << 20;

/// Sorts a run.
pub(super) fn sort(run: &mut [Entry], ties: &[Ties]) {
    run.sort_unstable_by(|left, right| compare(left, right, ties));
}

/// The entries of all runs in order. Entries of rows that have no key come first or last.
pub(super) struct Merge {
    runs: Vec<Vec<Entry>>,
    /// For each run that is not at its end, its next entry.
    heads: BinaryHeap<Reverse<Head>>,
    first: std::vec::IntoIter<Entry>,
    last: std::vec::IntoIter<Entry>,
}

struct Head {
    entry: Entry,
    run: usize,
    /// Of the entry behind.
    next: usize,
    ties: Arc<Vec<Ties>>,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.entry, &other.entry, &self.ties)
    }
}

impl Merge {
    /// Merges sorted runs; `nulls` in any order, in front or behind.
    pub(super) fn new(runs: Vec<Vec<Entry>>, ties: Vec<Ties>, nulls: Vec<Entry>, nulls_first: bool) -> Self {
        let ties = Arc::new(ties);
        let head = |(run, entries): (usize, &Vec<Entry>)| {
            let entry = *entries.first()?;
            Some(Reverse(Head { entry, run, next: 1, ties: Arc::clone(&ties) }))
        };
        let heads = runs.iter().enumerate().filter_map(head).collect();
        let (first, last) = if nulls_first { (nulls, vec![]) } else { (vec![], nulls) };
        Self { runs, heads, first: first.into_iter(), last: last.into_iter() }
    }

    /// The places of the next rows, at most so many; none at the end.
    pub(super) fn next_places(&mut self, rows: usize) -> Vec<(usize, usize)> {
        let place = |entry: Entry| (entry.batch as usize, entry.row as usize);
        let mut places: Vec<(usize, usize)> = self.first.by_ref().take(rows).map(place).collect();
        while places.len() < rows {
            let Some(mut least) = self.heads.peek_mut() else { break };
            let Reverse(head) = &mut *least;
            places.push(place(head.entry));
            match self.runs[head.run].get(head.next) {
                Some(next) => {
                    (head.entry, head.next) = (*next, head.next + 1);
                }
                None => {
                    std::collections::binary_heap::PeekMut::pop(least);
                }
            }
        }
        places.extend(self.last.by_ref().take(rows - places.len()).map(place));
        places
    }
}

#[cfg(test)]
mod tests;
