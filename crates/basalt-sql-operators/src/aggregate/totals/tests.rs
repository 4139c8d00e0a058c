// SPDX-License-Identifier: Apache-2.0
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Decimal128Type;

use super::super::numbers::Numbers;
use super::*;

/// Sums and counts of some batches, and those that a plain loop gives.
fn check(groups_max: u32, largest: i128) {
    let (mut sums, mut all, mut missing) = (Sums::default(), Counts::default(), Counts::default());
    let mut expected = vec![(0i128, 0i64); groups_max as usize];
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for batch in 0..6 {
        let rows = 100 + batch;
        let groups: Vec<u32> = (0..rows).map(|_| next() as u32 % groups_max).collect();
        let numbers: Vec<Option<i128>> = (0..rows)
            .map(|_| (batch % 2 == 0 || next() % 4 > 0).then(|| largest - i128::from(next())))
            .collect();
        for (&group, number) in groups.iter().zip(&numbers) {
            if let Some(number) = number {
                expected[group as usize].0 += number;
                expected[group as usize].1 += 1;
            }
        }
        let array: ArrayRef = Arc::new(Decimal128Array::from(numbers));
        let numbers = Numbers::of_array(&array).expect("numbers");
        let grouped = Grouped::Apart(&groups, groups_max as usize);
        sums.add(grouped, &numbers).expect("fits");
        all.add_all(grouped);
        missing.add_nulls(grouped, numbers.nulls.as_ref());
    }
    let counts = all.without(&missing);
    let column = sums.column(&DataType::Decimal128(38, 0), &counts).expect("a column");
    let counted = counts.column();
    let column = column.as_primitive::<Decimal128Type>();
    for (group, (sum, count)) in expected.into_iter().enumerate() {
        assert_eq!(column.is_valid(group), count > 0, "group {group}");
        assert_eq!(column.value(group), if count > 0 { sum } else { 0 }, "group {group}");
        assert_eq!(counted.as_primitive::<datafusion::arrow::datatypes::Int64Type>().value(group), count);
    }
}

#[test]
fn few_and_many_groups_small_and_large_numbers() {
    for groups in [1, 3, FEW_GROUPS as u32, 500] {
        for largest in [1000, i128::from(i64::MAX), i128::MAX / 100_000] {
            check(groups, largest);
        }
    }
}

#[test]
fn all_rows_together() {
    let (mut sums, mut all, mut missing) = (Sums::default(), Counts::default(), Counts::default());
    for number in [5, i64::MAX.into(), -7] {
        let array: ArrayRef = Arc::new(Decimal128Array::from(vec![Some(number), None, Some(1)]));
        let numbers = Numbers::of_array(&array).expect("numbers");
        sums.add(Grouped::Together(3), &numbers).expect("fits");
        all.add_all(Grouped::Together(3));
        missing.add_nulls(Grouped::Together(3), numbers.nulls.as_ref());
    }
    assert_eq!((sums.0, all.without(&missing).0), (vec![i128::from(i64::MAX) + 1], vec![6]));
}

#[test]
fn a_sum_of_more_than_128_bits_is_an_error() {
    let array: ArrayRef = Arc::new(Decimal128Array::from(vec![i128::MAX, 1]));
    let numbers = Numbers::of_array(&array).expect("numbers");
    let error = Sums::default().add(Grouped::Together(2), &numbers).expect_err("overflows");
    assert!(error.to_string().contains("SUM"), "{error}");
}
