// SPDX-License-Identifier: Apache-2.0
//! Random numbers that are the same on every machine and in every release: SplitMix64.

/// A generator; the seed is all there is to it.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// A generator of its own for `name`, so that a new file does not change the content of the others.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        let mut chance = Self(seed);
        for byte in name.bytes() {
            chance.0 ^= u64::from(byte);
            chance.next();
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number in `0..end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `items`.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// `len` random bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
