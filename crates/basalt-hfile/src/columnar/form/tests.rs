// SPDX-License-Identifier: Apache-2.0
//! An integer gives back the very bytes that it came from, for every form and whatever the bytes are.

use basalt_model::types::Value;
use basalt_model::{SortOrder, SqlType};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn forms() -> Vec<Form> {
    let widths = (1..=8).flat_map(|width| [Form::Unsigned(width), Form::Signed(width)]);
    let floats = [4, 8].into_iter().flat_map(|width| [Form::Float(width), Form::RawFloat(width)]);
    let decimals = [-3, 0, 2, 10, 38].map(Form::Decimal);
    widths
        .chain(floats)
        .chain(decimals)
        .chain([Form::Bytes, Form::Timestamp, Form::UnsignedTimestamp])
        .collect()
}

fn check(form: Form, bytes: &[u8]) -> Option<i64> {
    let integer = form.to_integer(bytes)?;
    let mut again = vec![];
    form.append(integer, &mut again).unwrap();
    assert_eq!(again, bytes, "{form:?} of {integer}");
    Some(integer)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn bytes_that_have_an_integer_come_back(bytes in vec(any::<u8>(), 0..14)) {
        for form in forms() {
            check(form, &bytes);
        }
    }

    #[test]
    fn decimals_come_back(digits in any::<i64>(), shift in 0u32..64, scale in -5i32..12) {
        let mut bytes = vec![];
        decimal::encode(Decimal::new((digits >> shift).into(), scale), &mut bytes).unwrap();
        for form in forms() {
            check(form, &bytes);
        }
    }

    #[test]
    fn order_is_kept(a in any::<[u8; 8]>(), b in any::<[u8; 8]>()) {
        for form in [Form::Signed(8), Form::Float(8)] {
            let (a_number, b_number) = (form.to_integer(&a).unwrap(), form.to_integer(&b).unwrap());
            // The all-zero bytes are no float that anyone writes.
            if form == Form::Signed(8) || a != [0; 8] && b != [0; 8] {
                prop_assert_eq!(a_number.cmp(&b_number), a.cmp(&b));
            }
        }
    }

    #[test]
    fn random_integers_are_no_panic(integer in any::<i64>()) {
        for form in forms() {
            let _ = form.append(integer, &mut vec![]);
        }
    }
}

#[test]
fn every_width_takes_all_of_its_values() {
    for width in 1..=8u8 {
        for fill in [0x00, 0x7f, 0x80, 0xff] {
            let bytes = vec![fill; width.into()];
            assert!(check(Form::Unsigned(width), &bytes).is_some());
            assert!(check(Form::Signed(width), &bytes).is_some());
        }
    }
}

#[test]
fn values_of_all_types_have_the_number_that_sql_sees() {
    let cases = [
        (SqlType::Integer, Value::Int(-7), -7),
        (SqlType::UnsignedLong, Value::Int(7), 7),
        (SqlType::TinyInt, Value::Int(-128), -128),
        (SqlType::Boolean, Value::Boolean(true), 1),
        (SqlType::Date, Value::Millis(86_400_000), 86_400_000),
        (SqlType::Decimal(Some((12, 2))), Value::Decimal(Decimal::new(15, 1)), 150),
        (SqlType::Timestamp, Value::Timestamp { millis: -1, nanos: 999_999 }, -1),
        (SqlType::UnsignedFloat, Value::Float(1.5), i64::from(1.5f32.to_bits())),
        (SqlType::Double, Value::Double(2.5), 2.5f64.to_bits() as i64),
    ];
    for (sql_type, value, expected) in cases {
        let mut bytes = vec![];
        sql_type.encode(SortOrder::Asc, &value, &mut bytes).unwrap();
        let form = Form::of(sql_type, || 0);
        assert_eq!(check(form, &bytes), Some(expected), "{sql_type}");
    }
}

#[test]
fn what_a_form_would_write_otherwise_has_no_integer() {
    // 1.5 with a trailing zero pair, and one digit too many for the scale.
    assert_eq!(Form::Decimal(2).to_integer(&[0xc1, 2, 51, 1]), None);
    let mut bytes = vec![];
    decimal::encode(Decimal::new(12345, 3), &mut bytes).unwrap();
    assert_eq!(Form::Decimal(2).to_integer(&bytes), None);
    assert_eq!(Form::Decimal(3).to_integer(&bytes), Some(12345));
    // Nanoseconds of the whole second, as old writers stored them.
    assert_eq!(Form::Timestamp.to_integer(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0x05, 0xf5, 0xe1, 0x00]), None);
}
