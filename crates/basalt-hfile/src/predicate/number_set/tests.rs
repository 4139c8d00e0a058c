// SPDX-License-Identifier: Apache-2.0
//! A set has what was taken in, and nothing else, at the ends of words and of all numbers.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn it_has_what_was_taken_in(
        least in prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -200i64..200],
        distances in vec(0u64..400, 1..20),
        range in (0u64..400, 0u64..400),
        asked in vec((-500i64..900, 0i64..300), 0..50),
        anywhere in vec(any::<(i64, i64)>(), 0..20),
    ) {
        let greatest = least.saturating_add(400);
        let within = |distance: u64| least.saturating_add_unsigned(distance);
        let mut set = NumberSet::between(least, greatest);
        let mut expected: BTreeSet<i64> = distances.iter().map(|&distance| within(distance)).collect();
        expected.iter().for_each(|&number| set.insert(number));
        let (low, high) = (within(range.0.min(range.1)), within(range.0.max(range.1)));
        set.insert_range(low, high);
        expected.extend(low..=high);
        prop_assert_eq!(set.count(), expected.len());
        prop_assert!(set.numbers().eq(expected.iter().copied()));
        let near = asked.iter().map(|&(from, more)| {
            let from = least.saturating_add(from);
            (from, from.saturating_add(more))
        });
        for (from, to) in near.chain(anywhere.iter().map(|&(a, b)| (a.min(b), a.max(b)))) {
            prop_assert_eq!(set.has(from), expected.contains(&from));
            prop_assert_eq!(set.has(to), expected.contains(&to));
            prop_assert_eq!(set.has_between(from, to), expected.range(from..=to).next().is_some());
        }
        prop_assert!(!set.has_between(least, least) || expected.contains(&least));
    }
}

#[test]
fn nothing_lies_between_bounds_the_wrong_way_round() {
    let mut set = NumberSet::between(0, 100);
    set.insert(50);
    assert!(set.has_between(50, 50) && !set.has_between(51, 49));
}
