// SPDX-License-Identifier: Apache-2.0
use super::*;

/// `unscaled` / 10^`scale` in the fewest bytes, as Java writes it.
fn encoded(unscaled: i128, scale: i32) -> Vec<u8> {
    let bytes = unscaled.to_be_bytes();
    let sign = if unscaled < 0 { 0xff } else { 0 };
    let surplus =
        bytes.windows(2).take_while(|pair| pair[0] == sign && (pair[0] ^ pair[1]) & 0x80 == 0).count();
    [&scale.to_be_bytes()[..], &bytes[surplus..]].concat()
}

fn decimal(unscaled: i128, scale: i32) -> Decimal {
    Decimal::decode(&encoded(unscaled, scale)).expect("written by encoded")
}

#[test]
fn the_bytes_of_the_module() {
    assert_eq!(encoded(1234, 2), [0, 0, 0, 2, 0x04, 0xd2]);
    assert_eq!(encoded(-123, -1), [0xff, 0xff, 0xff, 0xff, 0x85]);
    let number = decimal(1234, 2);
    assert_eq!((number.digits.as_slice(), number.exponent), (&[1, 2, 3, 4][..], 2));
}

#[test]
fn numbers_are_ordered_by_what_they_are_worth() {
    let ascending = [
        (i128::MIN, 0),
        (-10_i128.pow(30), 0),
        (-129, 0),
        (-128, 0),
        (-1, -1),
        (-1, 0),
        (-1, i32::MAX),
        (0, 7),
        (1, i32::MAX),
        (5, 3),
        (1, 2),
        (11, 3),
        (99, 2),
        (1, 0),
        (1_000_000_001, 9),
        (127, 0),
        (128, 0),
        (4_294_967_296, 0),
        (10_i128.pow(30), 0),
        (i128::MAX, 0),
        (1, i32::MIN),
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(decimal(a.0, a.1).compare(&decimal(b.0, b.1)), i.cmp(&j), "{a:?} {b:?}");
        }
    }
}

#[test]
fn zeros_at_the_end_do_not_count() {
    assert!(decimal(10, 1).compare(&decimal(100, 2)).is_eq());
    assert!(decimal(-5, -3).compare(&decimal(-5000, 0)).is_eq());
    assert!(decimal(0, 5).compare(&decimal(0, -5)).is_eq());
}

#[test]
fn what_is_no_number() {
    assert_eq!(Decimal::decode(b""), None);
    assert_eq!(Decimal::decode(b"\0\0\0\x01"), None);
    assert_eq!(Decimal::decode(&[1; LEN_MAX + 1]), None);
    let smallest = Decimal::decode(&[&[0; 4][..], &[0x80], &[0; LEN_MAX - 5]].concat());
    let largest = Decimal::decode(&[&[0; 4][..], &[0x7f], &[0xff; LEN_MAX - 5]].concat());
    assert!(smallest.expect("a number").compare(&largest.expect("a number")).is_lt());
}
