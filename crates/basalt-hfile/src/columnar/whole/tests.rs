// SPDX-License-Identifier: Apache-2.0
//! What is known of groups together is what would be known of one group of all their rows.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn merged(values: &[Option<i64>]) -> Merged {
    let values: Vec<i64> = values.iter().flatten().copied().collect();
    Merged { values: values.len(), numbers: values.iter().copied().min().zip(values.iter().copied().max()) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn of_groups_as_of_all_rows(groups in vec(vec(any::<Option<i64>>(), 0..5), 1..6)) {
        let together = groups.iter().map(|group| merged(group)).reduce(Merged::and).expect("there are groups");
        let all = merged(&groups.concat());
        prop_assert_eq!((together.values, together.numbers), (all.values, all.numbers));
    }
}

#[test]
fn of_strings_nothing_is_known() {
    let strings = Merged { values: 3, numbers: None };
    assert!(strings.facts(3).is_none());
    assert!(strings.and(merged(&[Some(1)])).facts(4).is_none());
    // A group without a value says nothing against it, and nothing for it.
    assert_eq!(merged(&[None]).and(merged(&[Some(7), None])).numbers, Some((7, 7)));
    assert!(merged(&[None]).facts(1).is_some_and(|facts| facts.values == 0));
}
