// SPDX-License-Identifier: Apache-2.0
use super::*;

fn of(left: i128, right: i128, zeros: u32) -> Result<i128, NoQuotient> {
    Division::new(zeros).of(left, right)
}

#[test]
fn quotients_are_rounded_away_from_zero() {
    assert_eq!(of(1, 3, 6), Ok(333_333));
    assert_eq!(of(2, 3, 6), Ok(666_667));
    assert_eq!([of(-2, 3, 2), of(2, -3, 2), of(-2, -3, 2)], [Ok(-67), Ok(-67), Ok(67)]);
    assert_eq!([of(1, 8, 2), of(-1, 8, 2), of(0, -5, 2)], [Ok(13), Ok(-13), Ok(0)]);
}

#[test]
fn quotients_have_38_digits_at_most() {
    assert_eq!(of(10_i128.pow(20), 1, 18), Err(NoQuotient::TooLarge));
    let largest = 10_i128.pow(20) - 1;
    assert_eq!(of(largest, 1, 18), Ok(largest * 10_i128.pow(18)));
    // 128 bits hold more than 38 digits.
    assert_eq!(of(11, 1, 37), Err(NoQuotient::TooLarge));
    assert_eq!(of(0, 7, 76), Ok(0));
}

#[test]
fn nothing_is_divided_by_zero_and_nulls_are_not_divided() {
    assert_eq!(of(1, 0, 2), Err(NoQuotient::ByZero));
    let left = Decimal128Array::from(vec![Some(1), None, Some(5)]);
    let right = Decimal128Array::from(vec![Some(4), Some(0), None]);
    let found = quotients(&left, &right, 2).expect("no pair divides by zero");
    assert_eq!(found.iter().collect::<Vec<_>>(), [Some(25), None, None]);
    let right = Decimal128Array::from(vec![Some(0), Some(1), Some(1)]);
    assert_eq!(quotients(&left, &right, 2).unwrap_err(), NoQuotient::ByZero);
}

#[test]
fn short_and_long_division_agree() {
    let mut state = 1_u64;
    // Numbers of any length, half of them close to a power of ten or to the limits of 128 bits.
    let mut number = || {
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 32
        };
        let (kind, length, low) = (word() % 4, (word() % 38) as u32, word());
        let bits = (u128::from(word()) << 96 | u128::from(word()) << 64 | u128::from(word()) << 32) >> 1;
        let near = i128::from(low % 5) - 2;
        match kind {
            0 => 10_i128.pow(length) + near,
            1 => -10_i128.pow(length) + near,
            2 => (bits % 10_u128.pow(length + 1)).cast_signed(),
            _ => -(bits % 10_u128.pow(length + 1)).cast_signed(),
        }
    };
    let mut compared = 0;
    for turn in 0..200_000 {
        let (left, right, zeros) = (number(), number(), turn % 39);
        let division = Division::new(zeros);
        if right == 0 || !division.short.contains(&left) {
            continue;
        }
        compared += 1;
        let expected = division.long(left, right);
        assert_eq!(division.of(left, right), expected, "{left} with {zeros} zeros / {right}");
        let edge = *division.short.end();
        assert_eq!(
            division.of(edge, right),
            division.long(edge, right),
            "{edge} with {zeros} zeros / {right}"
        );
        assert_eq!(
            division.of(-edge, right),
            division.long(-edge, right),
            "-{edge} with {zeros} zeros / {right}"
        );
    }
    assert!(compared > 50_000, "{compared} pairs were short");
}
