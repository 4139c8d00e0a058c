// SPDX-License-Identifier: Apache-2.0
//! Where a row is in a block that is searched again and again.
//!
//! A binary search over row keys touches three places of memory a step: the row's first cell, its slot, its key. For a block of 500 rows
//! that are two dozen misses of the processor's caches, most of the time of a lookup. From the second search on a block has the
//! *front* of each row, which is found with three or four misses: the eight bytes behind what all rows have in common, as a number that sorts as they do.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::CellBlock;
use super::sorted_numbers::SortedNumbers;

/// Blocks of fewer rows are searched without fronts.
const ROWS_MIN: usize = 16;
/// Bytes of memory that a row's front takes, with its share of what stands above it.
pub(super) const FRONT_BYTES: usize = size_of::<u64>() + 1;

/// The fronts of a block's rows, once it was searched twice.
#[derive(Debug, Default)]
pub struct RowFronts {
    searched: AtomicBool,
    fronts: OnceLock<Fronts>,
}

impl Clone for RowFronts {
    /// Those of the copy are made when it is searched.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The fronts of sorted rows.
#[derive(Debug)]
pub(crate) struct Fronts {
    /// What all rows begin with.
    common: Beginning,
    fronts: SortedNumbers,
}

/// Bytes that many rows begin with. The first of them lie here, so that no search waits for them.
#[derive(Debug)]
struct Beginning {
    len: usize,
    near: [u8; NEAR],
    far: Box<[u8]>,
}

const NEAR: usize = 16;

impl Beginning {
    fn new(bytes: &[u8]) -> Self {
        let mut near = [0; NEAR];
        let (first, far) = bytes.split_at(bytes.len().min(NEAR));
        near[..first.len()].copy_from_slice(first);
        Self { len: bytes.len(), near, far: far.into() }
    }

    /// How the beginning of a row, as long as this, compares with it.
    fn order_of(&self, row: &[u8]) -> Ordering {
        let (near, far) = row[..self.len.min(row.len())].split_at(self.len.min(row.len()).min(NEAR));
        let known = &self.near[..self.len.min(NEAR)];
        near.cmp(known).then_with(|| if self.len > NEAR { far.cmp(&self.far) } else { Ordering::Equal })
    }
}

/// The first eight bytes as a number, zeros behind fewer.
fn front(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => {
            let front = bytes.iter().fold(0, |front, &byte| front << 8 | u64::from(byte));
            front << (8 * (8 - bytes.len())).min(63)
        }
    }
}

impl Fronts {
    fn of(block: &CellBlock) -> Self {
        Self::of_rows(|| block.row_starts.iter().map(|&start| block.row(start as usize)))
    }

    /// Those of rows in ascending order.
    pub(crate) fn of_rows<'a, I>(rows: impl Fn() -> I) -> Self
    where
        I: DoubleEndedIterator<Item = &'a [u8]>,
    {
        let (first, last) = (rows().next().unwrap_or_default(), rows().next_back().unwrap_or_default());
        // Rows between two that begin alike begin so, too.
        let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let fronts: Vec<u64> = rows().map(|row| front(&row[common..])).collect();
        Self { common: Beginning::new(&first[..common]), fronts: SortedNumbers::new(&fronts) }
    }

    /// The numbers of the rows whose front is that of `row`; those before are below it, those behind above.
    pub(crate) fn alike(&self, row: &[u8]) -> Range<usize> {
        match self.common.order_of(row) {
            Ordering::Less => return 0..0,
            Ordering::Greater => return self.fronts.len()..self.fronts.len(),
            Ordering::Equal => {}
        }
        let wanted = front(&row[self.common.len..]);
        let from = self.fronts.below(wanted);
        let alike = (from..).take_while(|&at| self.fronts.get(at) == Some(wanted)).count();
        from..from + alike
    }
}

/// How many of some rows, by number, are below `row`.
fn below(block: &CellBlock, rows: Range<usize>, row: &[u8]) -> usize {
    block.row_starts[rows].partition_point(|&start| block.row(start as usize) < row)
}

impl CellBlock {
    /// The number of the first row that is not below `row`: an index of [`Self::row_starts`], or their number if there is none.
    pub fn lower_bound(&self, row: &[u8]) -> usize {
        self.lower_bound_among(self.rows_alike(row), row)
    }

    /// The first step of [`Self::lower_bound`], which looks at the fronts alone: the rows, by number, among which `row` can be.
    /// All before are below it, all behind above.
    pub fn rows_alike(&self, row: &[u8]) -> Range<usize> {
        let rows = self.row_starts.len();
        if rows < ROWS_MIN {
            return 0..rows;
        }
        match self.fronts.fronts.get() {
            Some(fronts) => fronts.alike(row),
            None if !self.fronts.searched.swap(true, Relaxed) => 0..rows,
            None => self.fronts.fronts.get_or_init(|| Fronts::of(self)).alike(row),
        }
    }

    /// Before the first step: loads the memory that it begins with, so that searches of several blocks wait for it together.
    pub fn touch_fronts(&self) -> u64 {
        self.fronts.fronts.get().map_or(0, |fronts| fronts.fronts.touch())
    }

    /// The second step, which compares rows.
    pub fn lower_bound_among(&self, rows: Range<usize>, row: &[u8]) -> usize {
        rows.start + below(self, rows, row)
    }
}

#[cfg(test)]
mod tests {
    use basalt_model::{CellType, Seq};
    use proptest::prelude::*;

    use super::*;
    use crate::cells::CellSlot;

    fn block(rows: &[Vec<u8>]) -> CellBlock {
        let mut block = CellBlock::default();
        let mut keys = Vec::new();
        for row in rows {
            block.row_starts.push(block.slots.len() as u32);
            block.slots.push(CellSlot {
                key: keys.len() as u32,
                value: 0,
                value_len: 0,
                qualifier_len: 0,
                tags: 0,
                tags_len: 0,
                row_len: row.len() as u16,
                family_len: 0,
                cell_type: CellType::Put,
                timestamp: 0,
                seq: Seq(0),
            });
            keys.extend_from_slice(&(row.len() as u16).to_be_bytes());
            keys.extend_from_slice(row);
            keys.push(0);
        }
        block.keys = keys.into();
        block
    }

    fn any_row() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(0x7f), Just(0xff)];
        (0usize..3, proptest::collection::vec(byte, 0..12))
            .prop_map(|(prefix, tail)| [&b"common"[..prefix * 3], &tail[..]].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        #[test]
        fn every_search_finds_what_the_first_one_found(
            rows in proptest::collection::btree_set(any_row(), 1..60),
            wanted in proptest::collection::vec(any_row(), 1..40),
        ) {
            let rows: Vec<_> = rows.into_iter().collect();
            let block = block(&rows);
            for row in wanted.iter().chain(&rows) {
                let expected = rows.partition_point(|known| known < row);
                prop_assert_eq!(block.lower_bound(row), expected, "{:?}", row);
            }
            prop_assert_eq!(block.fronts.fronts.get().is_some(), rows.len() >= ROWS_MIN);
        }
    }
}
