// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Decimal128Array, Float64Array, Int32Array, StringViewArray};
use datafusion::arrow::compute::{SortColumn, SortOptions, lexsort_to_indices};

use super::super::keys::KeyMaker;
use super::*;

/// The places of all rows of these batches of sort columns, merged from runs of a few entries.
fn places(batches: &[Vec<ArrayRef>], options: SortOptions) -> Vec<(usize, usize)> {
    let columns: Vec<_> = batches[0].iter().map(|column| (column.data_type().clone(), options)).collect();
    let maker = KeyMaker::try_new(&columns).expect("types that sort");
    let (mut runs, mut ties, mut nulls) = (vec![], vec![], vec![]);
    for (batch, columns) in batches.iter().enumerate() {
        let mut run = vec![];
        ties.push(maker.entries(columns, batch as u32, &mut run, &mut nulls).expect("converts"));
        let third = run.len() / 3;
        let (left, right) = run.split_at_mut(third);
        sort(left, &ties);
        sort(right, &ties);
        runs.extend([left.to_vec(), right.to_vec()]);
    }
    let mut merge = Merge::new(runs, ties, nulls, maker.nulls_first());
    let mut all = vec![];
    loop {
        let some = merge.next_places(7);
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

/// The same rows in one batch, sorted by Arrow, must show the same values in the same order.
fn check(batches: &[Vec<ArrayRef>]) {
    for descending in [false, true] {
        for nulls_first in [false, true] {
            let options = SortOptions { descending, nulls_first };
            let of_column = |index: usize| {
                let parts: Vec<&dyn Array> = batches.iter().map(|columns| columns[index].as_ref()).collect();
                datafusion::arrow::compute::concat(&parts).expect("one type")
            };
            let whole: Vec<ArrayRef> = (0..batches[0].len()).map(of_column).collect();
            let sorted: Vec<SortColumn> = whole
                .iter()
                .map(|values| SortColumn { values: Arc::clone(values), options: Some(options) })
                .collect();
            let order = lexsort_to_indices(&sorted, None).expect("sorts");
            let starts: Vec<usize> = batches
                .iter()
                .scan(0, |sum, columns| Some(std::mem::replace(sum, *sum + columns[0].len())))
                .collect();
            let found: Vec<usize> =
                places(batches, options).into_iter().map(|(batch, row)| starts[batch] + row).collect();
            assert_eq!(found.len(), order.len());
            for column in &whole {
                let show = |row: usize| column.slice(row, 1);
                for (at, row) in order.values().iter().enumerate() {
                    assert_eq!(&show(found[at]), &show(*row as usize), "{options:?} at {at}");
                }
            }
        }
    }
}

#[test]
fn one_column_of_numbers() {
    let integers = |from: i32| -> ArrayRef {
        Arc::new(Int32Array::from_iter((0..50).map(|n| (n % 9 > 0).then_some((n * 7919 + from) % 31 - 15))))
    };
    check(&[vec![integers(0)], vec![integers(5)], vec![integers(100)]]);
    let floats: ArrayRef =
        Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -1.5, f64::INFINITY, -f64::NAN, 7.25]));
    check(&[vec![floats]]);
}

#[test]
fn decimals_beyond_64_bits() {
    let large = i128::from(i64::MAX) * 3;
    let decimals: ArrayRef = Arc::new(Decimal128Array::from(vec![
        Some(large),
        Some(-large),
        Some(i64::MAX.into()),
        None,
        Some(large + 1),
        Some(5),
        Some(i64::MIN.into()),
        Some(-large - 1),
    ]));
    check(&[vec![Arc::clone(&decimals)], vec![decimals]]);
}

#[test]
fn several_columns_and_texts_that_begin_alike() {
    let texts = |from: usize| -> ArrayRef {
        Arc::new(StringViewArray::from_iter(
            (0..40).map(|n| (n % 5 > 0).then(|| format!("a text of some length {}", (n * 13 + from) % 11))),
        ))
    };
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter((0..40).map(|n| (n % 3 > 0).then_some(n % 4))));
    check(&[vec![texts(0)], vec![texts(3)]]);
    check(&[vec![Arc::clone(&numbers), texts(0)], vec![numbers, texts(4)]]);
}
