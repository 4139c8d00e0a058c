// SPDX-License-Identifier: Apache-2.0
//! What is left of keys and ranges within others is what each key says of itself.

use super::*;

/// Ranges of one-byte keys from the first of some ends to the second, from the third to the fourth; the last one may be open.
fn ranges(ends: &[u8]) -> Vec<KeyRange> {
    let range = |pair: &[u8]| KeyRange {
        start: vec![pair[0]].into(),
        end: pair.get(1).map(|&end| Bytes::from(vec![end])),
    };
    ends.chunks(2).map(range).collect()
}

/// Every set of numbers below this many, as ends.
const NUMBERS: u8 = 6;

#[test]
fn what_lies_within_lies_in_both() {
    let sets: Vec<Vec<u8>> =
        (0u8..1 << NUMBERS).map(|bits| (0..NUMBERS).filter(|at| bits >> at & 1 == 1).collect()).collect();
    let has = |ranges: &[KeyRange], key: u8| ranges.iter().any(|range| range.contains(&[key]));
    for (own, others) in sets.iter().flat_map(|own| sets.iter().map(move |others| (own, others))) {
        let (own, others) = (ranges(own), ranges(others));
        let Narrowed::Ranges(left) = Narrowed::Ranges(own.clone()).within(&others) else { panic!("ranges") };
        let are_apart = |pair: &[KeyRange]| pair[0].end.as_ref().is_some_and(|end| *end <= pair[1].start);
        assert!(left.windows(2).all(are_apart), "{own:?} {others:?}: {left:?}");
        for key in 0..=NUMBERS {
            let both = has(&own, key) && has(&others, key);
            assert_eq!(has(&left, key), both, "{key} in {own:?} and {others:?}");
            let Narrowed::Keys(kept) = Narrowed::Keys(vec![vec![key].into()]).within(&others) else {
                panic!("keys")
            };
            assert_eq!(kept.len() == 1, has(&others, key), "{key} in {others:?}");
        }
    }
}

#[test]
fn alternatives_are_united() {
    let key = |key: u8| Bytes::from(vec![key]);
    let points = |keys: &[u8]| Access::Points(keys.iter().map(|&of| key(of)).collect());
    assert_eq!(united([points(&[3, 5]), points(&[1, 3]), Access::Nothing].into_iter()), points(&[1, 3, 5]));
    assert_eq!(united([Access::Nothing].into_iter()), Access::Nothing);
    assert_eq!(united([points(&[3]), Access::Full].into_iter()), Access::Full);
    let Access::Ranges(both) = united([points(&[3, 9]), Access::Ranges(ranges(&[2, 5]))].into_iter()) else {
        panic!("ranges")
    };
    let has = |key: u8| both.iter().any(|range| range.contains(&[key]));
    assert!((0..12).all(|key| has(key) == matches!(key, 2..5 | 9)), "{both:?}");
}
