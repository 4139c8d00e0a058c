// SPDX-License-Identifier: Apache-2.0
//! Frames give back what they got, whatever it is; bad bytes are damage.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn encoded(values: &[i64]) -> Vec<u8> {
    let mut bytes = vec![];
    encode(values, &mut bytes);
    bytes
}

fn decoded<T: Lane>(bytes: &[u8], count: usize) -> Result<Vec<T>, Damage> {
    let mut input = Input::new(bytes);
    let mut out = vec![T::default(); count];
    decode(&mut input, 1, 0, &mut out)?;
    input.finish()?;
    Ok(out)
}

/// Numbers near each other with some far away, on either side.
pub(in crate::columnar) fn numbers() -> impl Strategy<Value = Vec<i64>> {
    let count = prop_oneof![Just(1024usize), 0usize..40, 900usize..1100];
    (count, any::<i64>(), 0u32..64, 0u32..64, any::<u64>(), 1u64..60).prop_map(
        |(count, base, bits, far_bits, seed, every)| {
            let random = |at: u64, bits: u32| (seed ^ at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (63 - bits);
            let number = |at: u64| match random(at, 10) % every {
                0 => base.wrapping_sub_unsigned(random(at, far_bits)),
                _ => base.wrapping_add_unsigned(random(at, bits)),
            };
            (0..count as u64).map(number).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn packed_numbers_are_compared_as_decoded_ones(
        values in numbers(), unit in prop_oneof![Just(1i64), 1i64..1000], rest in -1000i64..1000,
        picks in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), -2i64..3, -2i64..3), 1..4),
    ) {
        // So small that no multiple leaves 64 bits.
        let values: Vec<i64> = values.iter().map(|value| value >> 12).collect();
        let bytes = encoded(&values);
        let whole: Vec<i64> = values.iter().map(|value| value * unit + rest).collect();
        let end = |at: &prop::sample::Index, by: i64| whole.get(at.index(whole.len().max(1))).map_or(by, |v| v + by);
        let ranges: Vec<_> = picks.iter().map(|(a, b, low, high)| (end(a, *low), end(b, *high))).collect();
        let mut input = Input::new(&bytes);
        if let Some(mask) = within(&mut input, (unit, rest), values.len(), &ranges).unwrap() {
            input.finish().unwrap();
            let wanted = |value: &i64| ranges.iter().any(|(low, high)| low <= value && value <= high);
            let expected: Vec<usize> = (0..whole.len()).filter(|&at| wanted(&whole[at])).collect();
            prop_assert_eq!(mask.rows().collect::<Vec<_>>(), expected);
        } else {
            prop_assert!(values.len() > VECTOR || bytes[0] > 32);
        }
    }

    #[test]
    fn a_frame_gives_back_its_numbers(values in numbers()) {
        let bytes = encoded(&values);
        let out: Vec<u64> = decoded(&bytes, values.len()).unwrap();
        prop_assert!(out.iter().zip(&values).all(|(&a, &b)| a as i64 == b));
        // Narrow lanes keep the low bits of whatever comes.
        let out: Vec<u32> = decoded(&bytes, values.len()).unwrap();
        prop_assert!(out.iter().zip(&values).all(|(&a, &b)| a == b as u32));
    }

    #[test]
    fn random_bytes_are_no_panic(bytes in vec(any::<u8>(), 0..80), count in 0usize..40) {
        let _ = decoded::<u64>(&bytes, count);
        let _ = decoded::<u32>(&bytes, count);
    }
}

#[test]
fn few_outliers_do_not_widen_a_frame() {
    let mut values: Vec<i64> = (0..1024).map(|at| 1_000 + at % 64).collect();
    let narrow = encoded(&values).len();
    values[77] = i64::MAX;
    values[700] = -5;
    assert_eq!(encoded(&values).len(), narrow + 2 * 10);
}

#[test]
fn the_base_follows_the_greater_part() {
    // Seven in eight are near the top.
    let values: Vec<i64> = (0..1024).map(|at| if at % 128 == 0 { at } else { 1 << 40 | at }).collect();
    assert!(encoded(&values).len() < 1024 * 12 / 8);
}

#[test]
fn the_example_of_the_format_comes_out() {
    let expected = [2, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0x24];
    assert_eq!(encoded(&[100, 101, 102]), expected);
}

#[test]
fn a_patch_outside_of_the_vector_is_damage() {
    let mut values = vec![7; 40];
    values[39] = 1 << 40;
    let mut bytes = encoded(&values);
    assert_eq!(bytes[..4], [0, 0, 1, 0]);
    assert_eq!(bytes[12], 39);
    bytes[12] = 40;
    assert!(decoded::<u64>(&bytes, 40).unwrap_err().what.contains("a patch at 40 of 40"));
}

/// Bits of a frame of this base and width with its patches.
fn cost(values: &[i64], base: i64, width: u32) -> usize {
    let outside = values.iter().filter(|&&value| value < base || bits(value.abs_diff(base)) > width).count();
    values.len() * width as usize + outside * PATCH_BITS
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    /// What is left out of the search cannot be the cheapest.
    #[test]
    fn no_frame_that_is_looked_for_is_cheaper(values in numbers()) {
        prop_assume!(!values.is_empty());
        let (min, max) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        let usual = usual_min(&values).unwrap();
        let found = Plan::of(&values);
        let least = (0..64).flat_map(|width| {
            let span = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            [(min, width), (max.wrapping_sub_unsigned(span).max(min), width), (usual, width)]
        });
        let least = least.map(|(base, width)| cost(&values, base, width)).min().unwrap();
        prop_assert!(cost(&values, found.base, found.width) <= least, "{found:?}");
    }
}
