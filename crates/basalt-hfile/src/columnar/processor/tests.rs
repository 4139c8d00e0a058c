// SPDX-License-Identifier: Apache-2.0
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn numbers_are_looked_up_by_three_bits(
        table in any::<[u32; 8]>(),
        pairs in vec(any::<(u32, u32)>(), 0..40),
    ) {
        let (codes, mut numbers): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        add_looked_up(&table, &codes, &mut numbers);
        let expected = pairs.iter().map(|(code, number)| number.wrapping_add(table[(code % 8) as usize]));
        prop_assert_eq!(numbers, expected.collect::<Vec<_>>());
    }
}

#[test]
fn any_bytes_may_be_asked_for() {
    for len in [0, 1, 63, 64, 65, 5000] {
        ask_for(&vec![1; len]);
    }
}
