// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use datafusion::arrow::array::{Decimal64Array, Decimal128Array, Int16Array};

use super::*;

fn column(numbers: Vec<Option<i128>>) -> ArrayRef {
    Arc::new(Decimal128Array::from(numbers))
}

fn all(numbers: &Numbers<'_>, rows: usize) -> Vec<Option<i128>> {
    let is_null = |row| numbers.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    (0..rows).map(|row| (!is_null(row)).then(|| numbers.at(row))).collect()
}

#[test]
fn what_fits_64_bits_stays_narrow_and_what_does_not_is_exact() {
    let large = i128::from(i64::MAX);
    let cases = [(3, -4), (large, 1), (large, large), (-large - 1, -1), (1 << 40, -(1 << 40)), (0, 0)];
    let left = column(cases.iter().map(|&(left, _)| Some(left)).collect());
    let right = column(cases.iter().map(|&(_, right)| Some(right)).collect());
    let (left, right) =
        (Numbers::of_array(&left).expect("numbers"), Numbers::of_array(&right).expect("numbers"));
    assert!(matches!(left.digits, Digits::Narrow(..)));
    type Exact = fn(i128, i128) -> i128;
    let operations: [(Operation, Exact); 3] = [
        (Operation::Add, |left, right| left + right),
        (Operation::Subtract, |left, right| left - right),
        (Operation::Multiply, |left, right| left * right),
    ];
    for (operation, exact) in operations {
        let expected: Vec<_> = cases.iter().map(|&(left, right)| Some(exact(left, right))).collect();
        let combined = left.combine(&right, operation).expect("fits 128 bits");
        assert_eq!(all(&combined, cases.len()), expected, "{operation:?}");
    }
}

#[test]
fn small_numbers_are_multiplied_in_64_bits() {
    let prices: ArrayRef = Arc::new(Decimal64Array::from(vec![Some(10_494_950), None, Some(-1)]));
    let shares: ArrayRef = Arc::new(Int16Array::from(vec![Some(90), Some(91), None]));
    let (prices, shares) =
        (Numbers::of_array(&prices).expect("numbers"), Numbers::of_array(&shares).expect("numbers"));
    let left = Numbers::constant(100).combine(&shares, Operation::Subtract).expect("fits");
    let product = prices.combine(&left, Operation::Multiply).expect("fits");
    assert!(matches!(product.digits, Digits::Narrow(..)));
    assert_eq!(all(&product, 3), [Some(104_949_500), None, None]);
}

#[test]
fn more_than_128_bits_are_an_error_but_not_where_a_row_has_null() {
    let numbers = column(vec![Some(i128::MAX), None]);
    let numbers = Numbers::of_array(&numbers).expect("numbers");
    let error = numbers.combine(&Numbers::constant(2), Operation::Multiply).expect_err("overflows");
    assert!(error.to_string().contains("38 digits"), "{error}");
    let nothing = column(vec![None, None]);
    let nothing = Numbers::of_array(&nothing).expect("numbers");
    let sum = numbers.combine(&nothing, Operation::Add).expect("all rows are NULL");
    assert_eq!(all(&sum, 2), [None, None]);
}
