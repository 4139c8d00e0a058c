// SPDX-License-Identifier: Apache-2.0
//! Every scheme gives back what it got, and each is chosen for what it is made for.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::frame;
use super::*;

fn encoded(scheme: &IntScheme, vectors: &[Vec<i64>]) -> usize {
    let mut params = vec![];
    scheme.write_params(&mut params);
    let mut input = Input::new(&params);
    let read = IntScheme::read_params(scheme.number(), &mut input).unwrap();
    input.finish().unwrap();
    assert_eq!(read, *scheme);
    let mut len = params.len();
    for vector in vectors {
        let mut bytes = vec![];
        scheme.encode(vector, &mut bytes);
        let mut out = vec![0u64; vector.len()];
        read.decode(&bytes, &mut out).unwrap();
        assert!(out.iter().zip(vector).all(|(&a, &b)| a as i64 == b), "{}", scheme.name());
        for ranges in ranges_among(vector) {
            let Some(mask) = read.within(&bytes, vector.len(), &ranges).unwrap() else { continue };
            let is_in = |at: usize| ranges.iter().any(|&(low, high)| (low..=high).contains(&vector[at]));
            assert_eq!(mask, Mask::of_tests(vector.len(), is_in), "{} {ranges:?}", scheme.name());
        }
        let mut out = vec![0u32; vector.len()];
        read.decode(&bytes, &mut out).unwrap();
        assert!(out.iter().zip(vector).all(|(&a, &b)| a == b as u32), "{}", scheme.name());
        len += bytes.len();
    }
    len
}

/// Ranges that have some of the numbers, none, or all.
fn ranges_among(numbers: &[i64]) -> Vec<Vec<(i64, i64)>> {
    let at = |place: usize| numbers.get(place * numbers.len() / 4).copied().unwrap_or(7);
    let between = |a: i64, b: i64| (a.min(b), a.max(b));
    vec![
        vec![(i64::MIN, i64::MAX)],
        vec![(at(1), at(1))],
        vec![between(at(0), at(2))],
        vec![between(at(0), at(0)), between(at(1), at(3))],
        vec![(at(2).saturating_add(1), i64::MAX)],
    ]
}

/// Name of the scheme chosen, and bytes it takes.
fn check(vectors: &[Vec<i64>], nature: Nature) -> (&'static str, usize) {
    let slices: Vec<&[i64]> = vectors.iter().map(Vec::as_slice).collect();
    let scheme = IntScheme::choose(&slices, nature);
    (scheme.name(), encoded(&scheme, vectors))
}

fn vectors(value: impl Fn(i64) -> i64) -> Vec<Vec<i64>> {
    (0..4).map(|vector| (0..1024).map(|at| value(vector * 1024 + at)).collect()).collect()
}

fn noise(at: i64) -> i64 {
    (at as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(31)
        .wrapping_mul(0x94d0_49bb_1331_11eb) as i64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_is_chosen_gives_back_its_numbers(
        vectors in vec(frame::tests::numbers(), 1..4),
        unit in prop_oneof![Just(1i64), 2i64..100_000, Just(86_400_000)],
        few in any::<bool>(),
        float in prop_oneof![Just(0u32), Just(32), Just(64)],
    ) {
        let vectors: Vec<Vec<i64>> = vectors
            .iter()
            .map(|vector| vector.iter().map(|&value| {
                let value = if few { value % 7 } else { value };
                let value = value.wrapping_mul(unit);
                if float == 32 { i64::from(value as i32) } else { value }
            }).collect())
            .collect();
        check(&vectors, if float == 0 { Nature::Integer } else { Nature::Float(float) });
    }

    #[test]
    fn random_bytes_are_no_panic(number in 0u8..9, bytes in vec(any::<u8>(), 0..120), count in 0usize..40) {
        let mut input = Input::new(&bytes);
        if let Ok(scheme) = IntScheme::read_params(number, &mut input) {
            let rest = input.rest();
            let _ = scheme.decode(rest, &mut vec![0u64; count]);
            let _ = scheme.within(rest, count, &[(-5, 1 << 40)]);
        }
    }
}

#[test]
fn a_sequence_is_nearly_nothing() {
    let (name, bytes) = check(&vectors(|at| 1_000_000 + at), Nature::Integer);
    assert_eq!((name, bytes), ("delta", 16 + 4 * 20));
}

#[test]
fn chosen_keys_take_little_more_than_their_gaps() {
    let mut last = 0;
    let mut key = |at: i64| {
        // Exponential, 100,000 on average, whose chance is log2(e * 100,000) = 18.05 bits.
        let random = (noise(at) as u64 >> 11) as f64 / (1u64 << 53) as f64;
        last += 2 * (-(1.0 - random).ln() * 1e5) as i64;
        last + 1
    };
    let keys: Vec<Vec<i64>> =
        (0..4).map(|vector| (0..1024).map(|at| key(vector * 1024 + at)).collect()).collect();
    let (name, bytes) = check(&keys, Nature::Integer);
    assert_eq!(name, "ascending");
    assert!((bytes * 8) as f64 / 4096.0 < 18.8, "{bytes}");
}

#[test]
fn midnights_are_counted_in_days() {
    let (_, bytes) = check(&vectors(|at| noise(at).rem_euclid(4096) * 86_400_000), Nature::Integer);
    assert_eq!(bytes, 16 + 4 * (12 + 1024 * 12 / 8));
}

#[test]
fn a_timestamp_for_a_thousand_rows_is_a_run() {
    let (name, bytes) = check(&vectors(|at| 1_700_000_000_000 + at / 1000 * 25), Nature::Integer);
    assert_eq!(name, "runs");
    // Long runs are compared as they are, short ones are not.
    let runs = IntScheme { kind: Kind::Runs, unit: 1, rest: 0 };
    for (length, is_compared) in [(100, true), (2, false)] {
        let (values, mut bytes) = ((0..1024).map(|at| at / length).collect::<Vec<i64>>(), vec![]);
        runs.encode(&values, &mut bytes);
        let expected = is_compared.then(|| Mask::of_tests(values.len(), |at| values[at] <= 3));
        assert_eq!(runs.within(&bytes, values.len(), &[(0, 3)]).unwrap(), expected);
    }
    assert!(bytes < 4 * 40, "{bytes}");
}

#[test]
fn few_numbers_far_apart_go_by_number() {
    let (name, bytes) = check(&vectors(|at| noise(noise(at).rem_euclid(50))), Nature::Integer);
    assert_eq!(name, "dictionary");
    assert!(bytes < 4 * 1024 * 6 / 8 + 600, "{bytes}");
}

#[test]
fn random_floats_take_26_bits() {
    let float = |at| (noise(at) as u64 >> 40) as f32 / (1 << 24) as f32;
    let sortable = |at| i64::from(super::super::alp::sortable_32(float(at).to_bits()) as i32);
    let (_, bytes) = check(&vectors(sortable), Nature::Float(32));
    assert!(bytes < 4 * 1024 * 332 / 100, "{bytes}");
}

#[test]
fn extremes_come_back() {
    check(&[vec![i64::MIN, i64::MAX, 0, -1, i64::MIN]], Nature::Integer);
    check(&[vec![], vec![5], vec![i64::MIN]], Nature::Integer);
}
