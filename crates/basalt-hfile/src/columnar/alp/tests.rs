// SPDX-License-Identifier: Apache-2.0
//! Floats of all kinds come back bit by bit, and the kinds that the schemes are made for come out small.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn doubles(values: impl IntoIterator<Item = f64>) -> Vec<i64> {
    values.into_iter().map(|value| sortable_64(value.to_bits()) as i64).collect()
}

fn singles(values: impl IntoIterator<Item = f32>) -> Vec<i64> {
    values.into_iter().map(|value| i64::from(sortable_32(value.to_bits()) as i32)).collect()
}

fn alp_bytes(alp: Alp, values: &[i64]) -> Vec<u8> {
    let mut bytes = vec![];
    alp.encode(values, &mut bytes);
    let mut input = Input::new(&bytes);
    let mut out = vec![0u64; values.len()];
    alp.decode(&mut input, &mut out).unwrap();
    input.finish().unwrap();
    assert!(out.iter().zip(values).all(|(&a, &b)| a as i64 == b));
    // Compared as they are stored: ranges between any two of the floats, and around them.
    let among: Vec<i64> = values.iter().copied().step_by(values.len().div_ceil(8).max(1)).collect();
    for (&low, &high) in among.iter().flat_map(|low| among.iter().map(move |high| (low, high))) {
        for range in
            [(low, high), (low.saturating_add(1), high), (i64::MIN, high.saturating_sub(1)), (low, i64::MAX)]
        {
            let mut input = Input::new(&bytes);
            let Some(mask) = alp.within(&mut input, values.len(), &[range, (7, 7)]).unwrap() else {
                continue;
            };
            input.finish().unwrap();
            let is_in = |at: usize| (range.0..=range.1).contains(&values[at]) || values[at] == 7;
            assert_eq!(mask, Mask::of_tests(values.len(), is_in), "{range:?}");
        }
    }
    bytes
}

fn split_bytes(split: &Split, values: &[i64]) -> Vec<u8> {
    let mut bytes = vec![];
    split.encode(values, &mut bytes);
    let mut input = Input::new(&bytes);
    let mut out = vec![0u64; values.len()];
    split.decode(&mut input, &mut out).unwrap();
    input.finish().unwrap();
    assert!(out.iter().zip(values).all(|(&a, &b)| a as i64 == b));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_floats_come_back(bits in vec(any::<u64>(), 1..50), decimals in vec(-100_000i64..100_000, 0..200)) {
        let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 1e300];
        let mixed = doubles(
            bits.iter().map(|&bits| f64::from_bits(bits)).chain(odd).chain(decimals.iter().map(|&cents| cents as f64 / 100.0)),
        );
        if let Some(alp) = Alp::choose(&mixed, false) {
            alp_bytes(alp, &mixed);
        }
        split_bytes(&Split::choose(&mixed, 64).unwrap(), &mixed);
        let mixed = singles(
            bits.iter().map(|&bits| f32::from_bits(bits as u32)).chain(decimals.iter().map(|&cents| cents as f32 / 100.0)),
        );
        if let Some(alp) = Alp::choose(&mixed, true) {
            alp_bytes(alp, &mixed);
        }
        split_bytes(&Split::choose(&mixed, 32).unwrap(), &mixed);
    }

    #[test]
    fn sortable_forms_sort_and_come_back(a in any::<u32>(), b in any::<u32>()) {
        let of = |bits: u32| (sortable_32(bits) as i32, f32::from_bits(bits));
        let ((a_number, a_float), (b_number, b_float)) = (of(a), of(b));
        prop_assert_eq!(a_number.cmp(&b_number), a_float.total_cmp(&b_float));
        prop_assert_eq!(sortable_32(sortable_32(a)), a);
        let wide = u64::from(a) << 32 | u64::from(b);
        prop_assert_eq!(sortable_64(sortable_64(wide)), wide);
    }
}

#[test]
fn prices_take_the_bits_of_their_cents() {
    let values = doubles((0..1024).map(|at| f64::from(90_000 + at * 7 % 8192) / 100.0));
    let bytes = alp_bytes(Alp::choose(&values, false).unwrap(), &values);
    // 13 bits each, a frame's head, and the number of exceptions.
    assert_eq!(bytes.len(), 1024 * 13 / 8 + 12 + 2);
}

#[test]
fn noise_between_minus_one_and_one_saves_its_exponents() {
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let values = doubles((0..1024).map(|_| noise()));
    let bytes = split_bytes(&Split::choose(&values, 64).unwrap(), &values);
    assert!(bytes.len() < 1024 * 58 / 8, "{}", bytes.len());
}

#[test]
fn hundredths_are_compared_by_their_integers() {
    let cents = doubles(
        (0..1024).map(|at| f64::from((at * 7919) % 5000 - 2000) / 100.0).chain([f64::NAN]).take(1024),
    );
    let alp = Alp::choose(&cents, false).expect("they were decimals");
    let bytes = alp_bytes(alp, &cents);
    let range = (sortable_64((-1.5f64).to_bits()) as i64, sortable_64(7.25f64.to_bits()) as i64);
    let mask = alp.within(&mut Input::new(&bytes), cents.len(), &[range]).unwrap();
    let mask = mask.expect("their integers are compared");
    assert_eq!(mask, Mask::of_tests(cents.len(), |at| (range.0..=range.1).contains(&cents[at])));
    assert!((1..cents.len()).contains(&mask.count()));
}
