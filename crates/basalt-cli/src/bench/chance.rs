// SPDX-License-Identifier: Apache-2.0
//! Numbers by chance, the same in every run.

/// A linear congruential generator with the constants of Knuth's MMIX. Its high bits are the good ones.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// A number below another one.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        (self.bits() >> 33) % end
    }
}
