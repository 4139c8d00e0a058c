// SPDX-License-Identifier: Apache-2.0
//! Which rows of a vector are wanted: a bit each.

use std::ops::Range;

use super::VECTOR;
use super::vectors::Place;

const WORDS: usize = VECTOR / 64;

/// A set of rows of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask([u64; WORDS]);

impl Mask {
    /// No row.
    pub const NONE: Self = Self([0; WORDS]);

    /// The rows whose bits these are, from the lowest of the first word on.
    pub(super) fn of_words(words: [u64; WORDS]) -> Self {
        Self(words)
    }

    /// Rows from a range.
    #[inline]
    pub fn of_range(rows: Range<usize>) -> Self {
        if rows == (0..VECTOR) {
            return Self([u64::MAX; WORDS]);
        }
        let below = |end: usize, word: usize| match end.saturating_sub(word * 64) {
            0 => 0,
            bits if bits >= 64 => u64::MAX,
            bits => (1 << bits) - 1,
        };
        Self(std::array::from_fn(|word| below(rows.end, word) & !below(rows.start, word)))
    }

    /// Rows `i` for which `test(i)` holds, of the first `rows`.
    #[inline(always)]
    pub(crate) fn of_tests(rows: usize, test: impl Fn(usize) -> bool) -> Self {
        // Bytes first, bits then: both loops become vector instructions, which one loop with shifts does not.
        let mut bytes = [0u8; VECTOR];
        if rows == VECTOR {
            // A loop of known length has no rest.
            bytes = std::array::from_fn(|row| u8::from(test(row)));
        } else {
            bytes[..rows].iter_mut().enumerate().for_each(|(row, byte)| *byte = u8::from(test(row)));
        }
        let mut bits = [0u8; VECTOR / 8];
        for (bits, bytes) in bits.iter_mut().zip(bytes.as_chunks::<8>().0) {
            // Moves the lowest bit of each byte next to that of its neighbour, then pairs, then fours.
            let mut eight = u64::from_le_bytes(*bytes);
            eight |= eight >> 7;
            eight |= eight >> 14;
            eight |= eight >> 28;
            *bits = eight as u8;
        }
        let words = bits.as_chunks::<8>().0;
        Self(std::array::from_fn(|word| u64::from_le_bytes(words[word])))
    }

    /// The positions of those numbers that this set has.
    pub(super) fn of_members(&self, numbers: &[u32]) -> Self {
        if self.0[1..].iter().all(|&word| word == 0) {
            // One word is shifted in a register, which needs no look into memory.
            let word = self.0[0];
            return Self::of_tests(numbers.len(), |at| {
                numbers[at] < 64 && (word >> (numbers[at] % 64)) & 1 == 1
            });
        }
        Self::of_tests(numbers.len(), |at| self.has(numbers[at] as usize))
    }

    /// Takes a row in, or out.
    pub fn set(&mut self, row: usize, has: bool) {
        let (word, bit) = (row / 64, 1 << (row % 64));
        self.0[word] = if has { self.0[word] | bit } else { self.0[word] & !bit };
    }

    /// Takes rows in, at least one.
    #[inline]
    pub(super) fn insert_range(&mut self, rows: Range<usize>) {
        let last = rows.end - 1;
        for word in rows.start / 64..=last / 64 {
            let from = rows.start.saturating_sub(word * 64).min(63);
            let to = (last - word * 64).min(63);
            self.0[word] |= (u64::MAX << from) & (u64::MAX >> (63 - to));
        }
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True without rows.
    pub fn is_none(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Rows of both.
    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Rows of either.
    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Rows of this one that the other does not have.
    pub fn without(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Of the first `rows` those that it does not have.
    pub(super) fn others(self, rows: usize) -> Self {
        Self::of_range(0..rows).without(self)
    }

    /// The rows whose values it has, of which these are the places among all.
    pub(super) fn at_places(&self, places: &[Place]) -> Self {
        Self::of_tests(places.len(), |row| match places[row] {
            Place::Value(at) => self.has(at as usize),
            Place::Empty | Place::Missing => false,
        })
    }

    /// True if it has the row.
    #[inline(always)]
    pub(super) fn has(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }

    /// The rows as a range, if they are one.
    pub fn as_range(&self) -> Option<Range<usize>> {
        let first = self.0.iter().position(|&word| word != 0)?;
        let last = self.0.iter().rposition(|&word| word != 0)?;
        let start = first * 64 + self.0[first].trailing_zeros() as usize;
        let end = last * 64 + 64 - self.0[last].leading_zeros() as usize;
        (end - start == self.count()).then_some(start..end)
    }

    /// The rows as ranges, ascending, as few as can be.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut rows = self.rows().peekable();
        std::iter::from_fn(move || {
            let start = rows.next()?;
            let mut end = start + 1;
            while rows.next_if_eq(&end).is_some() {
                end += 1;
            }
            Some(start..end)
        })
    }

    /// The rows, ascending.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate();
        words.flat_map(|(word, &bits)| {
            let mut bits = bits;
            std::iter::from_fn(move || {
                let at = bits.trailing_zeros() as usize;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    word * 64 + at
                })
            })
        })
    }

    /// The rows, ascending, as numbers.
    pub(crate) fn row_numbers(&self) -> Vec<u16> {
        let mut rows = Vec::with_capacity(self.count());
        for (word, &bits) in self.0.iter().enumerate() {
            let start = (word * 64) as u16;
            if bits == u64::MAX {
                rows.extend(start..start + 64);
                continue;
            }
            let mut bits = bits;
            while bits != 0 {
                rows.push(start + bits.trailing_zeros() as u16);
                bits &= bits - 1;
            }
        }
        rows
    }

    /// The first so many of the rows.
    pub fn first(&self, mut count: usize) -> Self {
        let mut kept = Self::NONE;
        for row in self.rows() {
            if count == 0 {
                break;
            }
            count -= 1;
            kept.0[row / 64] |= 1 << (row % 64);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_one_word_and_in_many() {
        let numbers: Vec<u32> = (0..1000).map(|i| i * 7 % 1024).collect();
        for wanted in [vec![], vec![0], vec![3, 63], vec![64], vec![1, 500, 1023]] {
            let set = Mask::of_tests(VECTOR, |at| wanted.contains(&at));
            let expected = Mask::of_tests(numbers.len(), |at| wanted.contains(&(numbers[at] as usize)));
            assert_eq!(set.of_members(&numbers), expected, "{wanted:?}");
        }
    }

    #[test]
    fn ranges_and_rows_are_each_others_inverse() {
        for range in [0..0, 0..1, 5..5, 63..65, 0..1024, 1000..1024, 64..128, 1..1023] {
            let mask = Mask::of_range(range.clone());
            assert_eq!(mask.rows().collect::<Vec<_>>(), range.clone().collect::<Vec<_>>());
            assert_eq!((mask.count(), mask.is_none()), (range.len(), range.is_empty()));
            let (mut inserted, mut expected) = (Mask::of_range(700..703), mask.or(Mask::of_range(700..703)));
            match range.is_empty() {
                true => expected = inserted,
                false => inserted.insert_range(range.clone()),
            }
            assert_eq!(inserted, expected, "{range:?}");
            let range = Some(range).filter(|range| !range.is_empty());
            assert_eq!(mask.ranges().collect::<Vec<_>>(), range.iter().cloned().collect::<Vec<_>>());
            assert_eq!(mask.as_range(), range);
        }
    }

    #[test]
    fn tests_set_their_own_bit() {
        for rows in [0, 1, 63, 64, 100, 1024] {
            let test = |row: usize| row.is_multiple_of(3) || row.is_multiple_of(7);
            let expected: Vec<usize> = (0..rows).filter(|&row| test(row)).collect();
            let mask = Mask::of_tests(rows, test);
            assert_eq!(mask.rows().collect::<Vec<_>>(), expected);
            assert_eq!(mask.row_numbers().into_iter().map(usize::from).collect::<Vec<_>>(), expected);
            assert_eq!(mask.as_range(), (rows == 1).then_some(0..1));
        }
    }

    #[test]
    fn sets_meet_and_join() {
        let (low, high) = (Mask::of_range(10..300), Mask::of_range(200..900));
        assert_eq!(low.and(high), Mask::of_range(200..300));
        assert_eq!(low.or(high), Mask::of_range(10..900));
        assert_eq!(low.without(high), Mask::of_range(10..200));
        let apart = low.without(high).or(Mask::of_range(300..301));
        assert_eq!(apart.ranges().collect::<Vec<_>>(), [10..200, 300..301]);
        assert_eq!(low.first(20), Mask::of_range(10..30));
        assert_eq!(low.first(1000), low);
    }
}
