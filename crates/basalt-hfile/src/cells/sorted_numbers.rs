// SPDX-License-Identifier: Apache-2.0
//! Sorted numbers that are searched with few waits for memory.
//!
//! A binary search waits once a step, for a place that it knows only then: eleven times among 2,048 numbers. Here sixteen numbers, which are two
//! lines of the processor's cache, make a *node*, and the greatest of each of sixteen nodes a node above them: three waits among 2,048, in each of which
//! all sixteen are compared at once (a static B+ tree; the idea is that of Rao and Ross, "Cache Conscious Indexing for Decision-Support in Main
//! Memory", 1999).

/// Numbers of a node.
const NODE: usize = 16;
/// Levels of nodes, at most: of as many numbers as a `u32` counts.
const LEVELS_MAX: usize = 8;

#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Node([u64; NODE]);

impl Node {
    /// How many of its numbers are below `wanted`.
    fn below(&self, wanted: u64) -> usize {
        self.0.iter().map(|&number| usize::from(number < wanted)).sum()
    }

    fn greatest(&self) -> u64 {
        self.0[NODE - 1]
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct SortedNumbers {
    /// Level by level, from the one node on top down to the numbers themselves. The last node of a level is filled up with the greatest number
    /// there is.
    nodes: Box<[Node]>,
    /// Where each level begins, and where the last one ends.
    starts: [u32; LEVELS_MAX + 1],
    depth: usize,
    len: usize,
}

impl SortedNumbers {
    /// Of numbers that ascend; some may be equal.
    pub(super) fn new(numbers: &[u64]) -> Self {
        let mut levels = vec![nodes(numbers)];
        while let Some(below) = levels.last().filter(|below| below.len() > 1) {
            let greatest: Vec<u64> = below.iter().map(Node::greatest).collect();
            levels.push(nodes(&greatest));
        }
        levels.reverse();
        let mut starts = [0; LEVELS_MAX + 1];
        for (at, level) in levels.iter().enumerate() {
            starts[at + 1] = starts[at] + level.len() as u32;
        }
        Self { nodes: levels.concat().into(), starts, depth: levels.len(), len: numbers.len() }
    }

    /// The first number of the node on top: a load of the memory that a search looks at first.
    pub(super) fn touch(&self) -> u64 {
        self.nodes.first().map_or(0, |node| node.0[0])
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Number `at`.
    pub(super) fn get(&self, at: usize) -> Option<u64> {
        let numbers = self.starts[self.depth - 1] as usize;
        (at < self.len).then(|| self.nodes[numbers + at / NODE].0[at % NODE])
    }

    /// How many are below `wanted`.
    pub(super) fn below(&self, wanted: u64) -> usize {
        let mut at = 0;
        for level in self.starts[..=self.depth].windows(2) {
            let place = level[0] as usize + at;
            if place >= level[1] as usize {
                return self.len;
            }
            at = at * NODE + self.nodes[place].below(wanted);
        }
        at.min(self.len)
    }
}

fn nodes(numbers: &[u64]) -> Vec<Node> {
    let node = |chunk: &[u64]| {
        let mut node = Node([u64::MAX; NODE]);
        node.0[..chunk.len()].copy_from_slice(chunk);
        node
    };
    numbers.chunks(NODE).map(node).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_number() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), 0u64..40, (0u64..40).prop_map(|less| u64::MAX - less)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        #[test]
        fn as_many_are_below_as_a_binary_search_finds(
            mut numbers in proptest::collection::vec(any_number(), 0..700),
            wanted in proptest::collection::vec(any_number(), 1..40),
        ) {
            numbers.sort_unstable();
            let sorted = SortedNumbers::new(&numbers);
            for wanted in wanted.iter().chain(&numbers).chain(&[0, u64::MAX]) {
                prop_assert_eq!(sorted.below(*wanted), numbers.partition_point(|number| number < wanted));
            }
            let listed: Vec<u64> = (0..).map_while(|at| sorted.get(at)).collect();
            prop_assert_eq!((listed.len(), listed), (sorted.len(), numbers));
        }
    }

    #[test]
    fn levels_that_are_full_to_the_last_number_end_where_they_end() {
        for len in [NODE, NODE * NODE, NODE * NODE * NODE, NODE * NODE + 1] {
            let numbers: Vec<u64> = (0..len as u64).map(|number| 2 * number).collect();
            let sorted = SortedNumbers::new(&numbers);
            assert_eq!((sorted.below(0), sorted.below(3), sorted.below(u64::MAX)), (0, 2, len));
        }
    }
}
