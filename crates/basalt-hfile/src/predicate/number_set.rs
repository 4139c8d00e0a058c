// SPDX-License-Identifier: Apache-2.0
//! Many integers that lie close together: a bit for each number from the least to the greatest.

/// A set of integers.
#[derive(Debug, PartialEq, Eq)]
pub struct NumberSet {
    least: i64,
    /// 64 numbers each, the lower ones in the lower bits; the last has none, and stands for all numbers that are beyond.
    words: Vec<u64>,
}

impl NumberSet {
    /// An empty set with room for the numbers from `least` to `greatest`: an eighth of a byte for each.
    ///
    /// # Panics
    ///
    /// If `least` is greater than `greatest`, or there are more numbers between them than memory has bits.
    pub fn between(least: i64, greatest: i64) -> Self {
        assert!(least <= greatest, "no number lies between {least} and {greatest}");
        let words = usize::try_from(greatest.abs_diff(least) / 64).expect("they were said to fit") + 2;
        Self { least, words: vec![0; words] }
    }

    /// Takes a number in, which must be one that there is room for.
    #[inline]
    pub fn insert(&mut self, number: i64) {
        let bit = number.wrapping_sub(self.least) as u64;
        self.words[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// Takes the numbers from `low` to `high` in, which must be some that there is room for.
    pub(crate) fn insert_range(&mut self, low: i64, high: i64) {
        let (low, high) = (low.wrapping_sub(self.least) as usize, high.wrapping_sub(self.least) as usize);
        for (word, bits) in self.words.iter_mut().enumerate().take(high / 64 + 1).skip(low / 64) {
            let from = low.saturating_sub(word * 64).min(63);
            let to = (high - word * 64).min(63);
            *bits |= (u64::MAX << from) & (u64::MAX >> (63 - to));
        }
    }

    /// True if it is in the set.
    #[inline(always)]
    pub fn has(&self, number: i64) -> bool {
        // One below the least is far beyond the greatest.
        let bit = number.wrapping_sub(self.least) as u64;
        let last = self.words.len() - 1;
        self.words[(bit / 64).min(last as u64) as usize] >> (bit % 64) & 1 == 1
    }

    /// True if a number from `low` to `high` is in the set.
    pub fn has_between(&self, low: i64, high: i64) -> bool {
        let last = self.words.len() - 1;
        let greatest = self.least.saturating_add_unsigned(last as u64 * 64 - 1);
        let (low, high) = (low.max(self.least), high.min(greatest));
        if low > high {
            return false;
        }
        let (low, high) = (low.abs_diff(self.least), high.abs_diff(self.least));
        let (first, end) = ((low / 64) as usize, (high / 64) as usize);
        let from = u64::MAX << (low % 64);
        let to = u64::MAX >> (63 - high % 64);
        if first == end {
            return self.words[first] & from & to != 0;
        }
        self.words[first] & from != 0
            || self.words[end] & to != 0
            || self.words[first + 1..end].iter().any(|&word| word != 0)
    }

    /// All of them, from the least on.
    pub fn numbers(&self) -> impl Iterator<Item = i64> {
        let of_word = |(at, &word): (usize, &u64)| {
            let first = self.least.wrapping_add(at as i64 * 64);
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first.wrapping_add(bit))
        };
        self.words.iter().enumerate().flat_map(of_word)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests;
