// SPDX-License-Identifier: Apache-2.0
//! Every width, for whole vectors and for others.

use proptest::prelude::*;

use super::*;

fn check(values: &[u64], width: u32) {
    let mut bytes = vec![];
    pack(values, width, &mut bytes);
    assert_eq!(bytes.len(), packed_len(values.len(), width));
    // Words are read where they lie, or copied first.
    for at in [0, 1, 4] {
        let mut moved = vec![0; at];
        moved.extend_from_slice(&bytes);
        let bytes = &moved[at..];
        for base in [0, 1, u64::MAX - 5] {
            let mut out = vec![1; values.len()];
            unpack_64(bytes, width, base, &mut out);
            assert!(out.iter().zip(values).all(|(&a, &b)| a == b.wrapping_add(base)), "{width} bits");
            if width <= 32 {
                let (mut out, base) = (vec![1; values.len()], base as u32);
                unpack_32(bytes, width, base, &mut out);
                assert!(
                    out.iter().zip(values).all(|(&a, &b)| a == (b as u32).wrapping_add(base)),
                    "{width} bits"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_packed_comes_out(
        width in 0u32..=64,
        count in prop_oneof![Just(VECTOR), 0usize..80, 900usize..1100],
        seed in any::<u64>(),
    ) {
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        let values: Vec<u64> =
            (0..count as u64).map(|at| (seed ^ at).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) & mask).collect();
        check(&values, width);
    }
}

#[test]
fn every_width_holds_its_largest_value() {
    for width in 1..=64 {
        for count in [1, 7, VECTOR] {
            check(&vec![u64::MAX >> (64 - width); count], width);
        }
    }
}

#[test]
fn the_example_of_the_format_comes_out() {
    let mut bytes = vec![];
    pack(&[5, 6, 7], 3, &mut bytes);
    assert_eq!(bytes, [0xf5, 0x01]);
}

#[test]
fn values_are_compared_as_they_are_packed() {
    for width in 1..=32 {
        let max = u64::MAX >> (64 - width);
        let values: Vec<u64> = (0..VECTOR as u64)
            .map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) & max)
            .collect();
        let mut bytes = vec![];
        pack(&values, width, &mut bytes);
        let moved: Vec<u8> = std::iter::once(0).chain(bytes.iter().copied()).collect();
        let max = max as u32;
        let some = [values[1] as u32, values[2] as u32];
        let between = *some.iter().min().expect("two")..=*some.iter().max().expect("two");
        for range in
            [0..=max, 0..=0, max..=max, 0..=max / 2, max / 3..=max, between, RangeInclusive::new(1, 0)]
        {
            let expected = Mask::of_tests(VECTOR, |at| range.contains(&(values[at] as u32)));
            for bytes in [&bytes[..], &moved[1..]] {
                assert_eq!(vector_within(bytes, width, range.clone()), expected, "{width} bits, {range:?}");
            }
        }
    }
}
