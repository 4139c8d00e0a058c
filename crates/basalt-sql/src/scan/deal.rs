// SPDX-License-Identifier: Apache-2.0
//! Work of a scan dealt out while it runs: a partition takes a part of its own ranges at a time, and where it has none left, a part of what the
//! slowest has still to do. So all threads end at about the same time, whatever filters leave of each range, and whoever else
//! uses the machine.

use std::collections::VecDeque;

use basalt_model::KeyRange;
use parking_lot::Mutex;

use super::partition::Partition;

/// Ranges that a partition takes at a time, as a part of those that it has left: first many, in the end one.
const PART: usize = 4;

/// What is to be dealt out of a scan.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// The ranges of a partition are what can be taken at once.
    pub(super) partitions: Vec<Partition>,
    /// The rows at the end of the key are wanted first.
    pub(super) is_backwards: bool,
}

/// What is left of the partitions of a scan, for one run of it.
#[derive(Debug)]
pub(super) struct Deal {
    left: Vec<Mutex<VecDeque<KeyRange>>>,
    /// All that is left is that of the first partition, of which everybody takes a range at a time.
    is_backwards: bool,
}

impl Deal {
    /// Nothing is done yet.
    pub(super) fn new(work: &Work) -> Self {
        let Work { partitions, is_backwards } = work;
        let left = match is_backwards {
            true => {
                let ranges = partitions.iter().flat_map(|partition| &partition.ranges);
                vec![Mutex::new(ranges.rev().cloned().collect())]
            }
            false => {
                let left = |partition: &Partition| Mutex::new(partition.ranges.iter().cloned().collect());
                partitions.iter().map(left).collect()
            }
        };
        Self { left, is_backwards: *is_backwards }
    }

    /// What a partition reads next, sorted; `None` if nothing is left of any. Its own ranges are taken in their order.
    pub(super) fn take(&self, partition: usize) -> Option<Vec<KeyRange>> {
        if self.is_backwards {
            return self.left[0].lock().pop_front().map(|range| vec![range]);
        }
        let taken = take_first(&mut self.left[partition].lock());
        if !taken.is_empty() {
            return Some(joined(taken));
        }
        loop {
            let most = self.left.iter().max_by_key(|left| left.lock().len())?;
            let mut left = most.lock();
            let keeps = left.len() / 2;
            let taken: Vec<_> = left.split_off(keeps).into();
            drop(left);
            if taken.is_empty() {
                // The one with the most has none, unless its owner took the last meanwhile.
                if self.left.iter().all(|left| left.lock().is_empty()) {
                    return None;
                }
                continue;
            }
            let mut own = self.left[partition].lock();
            own.extend(taken);
            return Some(joined(take_first(&mut own)));
        }
    }
}

fn take_first(left: &mut VecDeque<KeyRange>) -> Vec<KeyRange> {
    let count = left.len().div_ceil(PART);
    left.drain(..count).collect()
}

/// The same rows in fewer ranges: those that touch are one.
fn joined(ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    let mut joined: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end.as_ref() == Some(&range.start) => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
