// SPDX-License-Identifier: Apache-2.0
use datafusion::arrow::array::{Float64Array, Int64Array, StringArray};

use super::*;

fn decimals(values: &[i128], precision: u8, scale: i8) -> ArrayRef {
    Arc::new(
        Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).expect("valid"),
    )
}

#[test]
fn a_number_too_large_names_its_row() {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 40_000]));
    let refusal = coerce(&values, SqlType::SmallInt).expect_err("40000 is no SMALLINT");
    assert_eq!(refusal.row, Some(1));
    assert_eq!(refusal.error.message(), "value 40000 is out of range for SMALLINT");
}

#[test]
fn decimals_are_cut_and_not_rounded() {
    let cut = coerce(&decimals(&[1_239, -1_239], 10, 3), SqlType::Decimal(Some((10, 2)))).expect("fits");
    assert_eq!(cut.as_primitive::<Decimal128Type>().values(), &[123, -123]);
    let refusal =
        coerce(&decimals(&[100], 10, 0), SqlType::Decimal(Some((4, 2)))).expect_err("100 has 3 digits");
    assert_eq!(refusal.error.code(), Some(code::DATA_EXCEEDS_CAPACITY));
}

#[test]
fn only_whole_decimals_become_integers() {
    assert!(coerce(&decimals(&[300], 10, 2), SqlType::Integer).is_ok());
    assert!(coerce(&decimals(&[370], 10, 2), SqlType::Integer).is_err());
}

#[test]
fn a_double_beyond_float_is_refused() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 1e300]));
    assert_eq!(coerce(&values, SqlType::Float).expect_err("too large").row, Some(1));
}

#[test]
fn text_is_no_number_and_no_date() {
    let values: ArrayRef = Arc::new(StringArray::from(vec!["12"]));
    for target in [SqlType::Integer, SqlType::Date, SqlType::Boolean] {
        let refusal = coerce(&values, target).expect_err("text");
        assert_eq!(refusal.error.code(), Some(code::TYPE_MISMATCH));
    }
}
