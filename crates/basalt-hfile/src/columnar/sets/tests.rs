// SPDX-License-Identifier: Apache-2.0
use super::super::bound::{Bound, Bounds};
use super::*;

#[test]
fn ranges_that_touch_become_one() {
    let set = IntSet::new([5, 9, 6, 4, i64::MAX, 9].map(|value| (value, value)).to_vec());
    assert_eq!(set.ranges(), [(4, 6), (9, 9), (i64::MAX, i64::MAX)]);
}

#[test]
fn numbers_of_any_width_are_tested_alike() {
    let narrow: Vec<u32> = (-500i32..500).map(|value| (value * 4_000_000) as u32).collect();
    let wide: Vec<u64> = narrow.iter().map(|&value| i64::from(value as i32) as u64).collect();
    let cases: [&[(i64, i64)]; 7] = [
        &[],
        &[(-8_000_000, 12_000_001)],
        &[(i64::MIN, -1), (1, 4_000_000)],
        &[(-1 << 40, -1 << 39), (-1 << 33, -1), (1, 1 << 40)],
        &[(i64::MIN, i64::MAX)],
        &[(1 << 33, 1 << 34)],
        &[(0, 0), (5, 7), (4_000_000, 4_000_000), (40_000_000, 80_000_000), (1 << 40, i64::MAX)],
    ];
    for ranges in cases {
        let inside = |at: usize| ranges.iter().any(|(low, high)| (*low..=*high).contains(&(wide[at] as i64)));
        let expected = Mask::of_tests(wide.len(), inside);
        let set = IntSet::new(ranges.to_vec());
        assert_eq!(set.of_narrow(&narrow), expected, "{ranges:?}");
        assert_eq!(set.of_wide(&wide), expected, "{ranges:?}");
    }
}

#[test]
fn many_ranges_close_together_are_bits() {
    for least in [-100_000, -63, 0, 1, 7_000] {
        let ranges: Vec<(i64, i64)> =
            (0..500).map(|i| (least + i * 300, least + i * 300 + (i * 7) % 290)).collect();
        let set = IntSet::new(ranges.clone());
        assert!(set.members.is_some());
        let wide: Vec<u64> = (0..1024).map(|i| (least - 200 + i * 148) as u64).collect();
        let narrow: Vec<u32> = wide.iter().map(|&value| value as u32).collect();
        let inside = |at: usize| ranges.iter().any(|(low, high)| (*low..=*high).contains(&(wide[at] as i64)));
        let expected = Mask::of_tests(wide.len(), inside);
        assert!(expected.count() > 100 && expected.count() < 1000);
        assert_eq!(set.of_wide(&wide), expected);
        assert_eq!(set.of_narrow(&narrow), expected);
    }
    let apart = (0..100).map(|i| (i << 50, i << 50)).collect();
    assert_eq!(IntSet::new(apart).members, None);
    let widest = [i64::MIN, -4, -2, 0, 2, 4, i64::MAX].map(|value| (value, value)).to_vec();
    assert_eq!(IntSet::new(widest).members, None);
}

#[test]
fn many_texts_answer_as_ranges_of_them_would() {
    let text = |i: u32| format!("a text of some length {:04}", i * 7 % 1000).into_bytes();
    let ranges: Vec<TextRange> = (0..100).map(|i| (End::Included(text(i)), End::Included(text(i)))).collect();
    let set = TextSet::new(ranges.clone());
    assert!(matches!(set, TextSet::Points(_)));
    let slow = TextSet::Ranges(ranges);
    let mut sorted: Vec<Vec<u8>> = (0..1000).map(text).collect();
    sorted.extend([b"a".to_vec(), b"b".to_vec()]);
    sorted.sort();
    let mut none = 0;
    for first in (0..sorted.len()).step_by(13) {
        for last in (first..sorted.len().min(first + 30)).step_by(3) {
            let Bounds { min, max } = Bounds::of_texts(&sorted[first], &sorted[last]);
            let (Bound::Text(min), Bound::Text(max)) = (min, max) else { panic!("they are texts") };
            assert_eq!(set.none_between(&min, &max), slow.none_between(&min, &max), "{min:?} {max:?}");
            assert_eq!(set.all_between(&min, &max), slow.all_between(&min, &max), "{min:?} {max:?}");
            none += usize::from(set.none_between(&min, &max));
        }
    }
    assert!(none > 0);
}

#[test]
fn decimals_and_their_bytes_are_in_the_same_sets() {
    let most = 10i128.pow(38) - 1;
    let mut numbers = vec![-most, -most + 1, -(1 << 80), -100, -1, 0, 1, 99, 100, 1 << 70, most - 1, most];
    numbers.extend((0..200).map(|i| (i * i * i - 3_000_000) * 10i128.pow(i as u32 % 30)));
    let cases: [&[(i128, i128)]; 8] = [
        &[],
        &[(i128::MIN, -1)],
        &[(0, i128::MAX)],
        &[(-most, -most), (most, most)],
        &[(5, 4), (most + 1, i128::MAX), (i128::MIN, -most - 1)],
        &[(-100, -100), (1 << 70, 1 << 70), (0, 1), (2, 99)],
        &[(i128::MIN, i128::MAX)],
        &[(-1, -1), (0, 0), (99, 99), (-100, -100), (1 << 70, 1 << 70), (7, 7)],
    ];
    for (scale, ranges) in [-38, 0, 7, 38].into_iter().flat_map(|scale| cases.map(|case| (scale, case))) {
        let set = DecimalSet::new(scale, ranges.to_vec());
        let inside = |at: usize| ranges.iter().any(|(low, high)| (*low..=*high).contains(&numbers[at]));
        let expected = Mask::of_tests(numbers.len(), inside);
        assert_eq!(set.of(&numbers), expected, "{ranges:?}");
        let mut plain = Vec::new();
        let mut lengths = Vec::new();
        for &number in &numbers {
            let from = plain.len();
            decimal::encode(Decimal::new(number, scale.into()), &mut plain).expect("38 digits");
            lengths.push(plain.len() - from);
        }
        let strings = Strings::back_to_back(plain.into(), 0, &lengths).expect("as many bytes");
        assert_eq!(set.texts().of(&strings), expected, "{ranges:?} at scale {scale}");
    }
}
