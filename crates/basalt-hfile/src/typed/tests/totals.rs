// SPDX-License-Identifier: Apache-2.0
//! What row groups are added up to is what the arrays of their rows come to.

use arrow::array::Array;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use proptest::prelude::*;

use super::groups::{file, repetitive};
use super::*;
use crate::columnar::Mask;

const ALL: Wanted = Wanted { sum: true, extremes: true };

/// What an array comes to, beside the number of values that are not NULL.
#[derive(Debug, Clone, PartialEq)]
struct Expected {
    count: u64,
    sum: i128,
    float_sum: f64,
    extremes: Option<(Number, Number)>,
    texts: Option<(Vec<u8>, Vec<u8>)>,
}

fn expected(array: &ArrayRef) -> Expected {
    let none = Expected { count: 0, sum: 0, float_sum: 0.0, extremes: None, texts: None };
    let count = (array.len() - array.null_count()) as u64;
    match array.data_type() {
        DataType::Utf8View | DataType::Binary => {
            let texts = cast(array, &DataType::Binary).unwrap();
            let texts: Vec<&[u8]> = texts.as_binary::<i32>().iter().flatten().collect();
            let texts = texts.iter().min().zip(texts.iter().max());
            Expected { count, texts: texts.map(|(least, most)| (least.to_vec(), most.to_vec())), ..none }
        }
        DataType::Float32 | DataType::Float64 => {
            let floats = cast(array, &DataType::Float64).unwrap();
            let floats: Vec<f64> = floats.as_primitive::<Float64Type>().iter().flatten().collect();
            let extreme = |pick: fn(&f64, &f64) -> std::cmp::Ordering| floats.iter().copied().max_by(pick);
            let extremes = extreme(|a, b| b.total_cmp(a)).zip(extreme(f64::total_cmp));
            let extremes = extremes.map(|(least, most)| (Number::Float(least), Number::Float(most)));
            Expected { count, float_sum: floats.iter().sum(), extremes, ..none }
        }
        other => {
            let numbers: Vec<i128> = match other {
                DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().iter().flatten().collect(),
                _ => {
                    let numbers = cast(array, &DataType::Int64).unwrap();
                    numbers.as_primitive::<Int64Type>().iter().flatten().map(i128::from).collect()
                }
            };
            // Wider ones are not stored as numbers, and not compared.
            let number = |number: &i128| Number::Integer(*number as i64);
            let extremes = numbers.iter().min().zip(numbers.iter().max());
            let extremes = extremes.map(|(least, most)| (number(least), number(most)));
            Expected { count, sum: numbers.iter().sum(), extremes, ..none }
        }
    }
}

fn found(total: &Total) -> Expected {
    let Total { count, sum, float_sum, .. } = *total;
    let texts = total.least_text().zip(total.most_text());
    let texts = texts.map(|(least, most)| (least.to_vec(), most.to_vec()));
    Expected { count, sum, float_sum, extremes: total.least().zip(total.most()), texts }
}

/// Equal bit by bit, but for sums of floats, which depend on the order in which they are added up.
fn agree(a: &Expected, b: &Expected) -> bool {
    let bits = |number| match number {
        Number::Integer(number) => (0, number as u64),
        // A NaN that goes through an array keeps its bits or becomes a quiet one.
        Number::Float(float) if float.is_nan() => (1, u64::from(float.is_sign_negative())),
        Number::Float(float) => (2, float.to_bits()),
    };
    let extremes = |expected: &Expected| expected.extremes.map(|(least, most)| (bits(least), bits(most)));
    let close = (a.float_sum - b.float_sum).abs() <= 1e-9 * (1.0 + a.float_sum.abs());
    let is_lost = !a.float_sum.is_finite() || !b.float_sum.is_finite() || a.float_sum.abs() > 1e15;
    let same = a.count == b.count && a.sum == b.sum && a.texts == b.texts && extremes(a) == extremes(b);
    same && (close || is_lost)
}

/// Columns of which this can be had, and which need no other family.
fn columns_of(schema: &TableSchema, wanted: Wanted) -> Vec<ColumnRef> {
    let of_family = |column: &ColumnRef| match column {
        ColumnRef::Key(_) => true,
        ColumnRef::Column(index) => schema.columns[*index].family == schema.empty_family,
    };
    let columns = schema.declared_order().iter().copied();
    columns.filter(|column| of_family(column) && Totals::can_have(schema, *column, wanted)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn totals_are_those_of_the_rows(
        rows in any_rows(),
        typed in any::<bool>(),
        block_rows in 1u32..14,
        chosen in any::<u16>(),
        at_once in any::<bool>(),
        wanted in 0..3,
    ) {
        let (_, cells) = stored_rows(&rows);
        let reader = file(&rows, &cells, typed, block_rows);
        let wanted = Wanted { sum: wanted == 2, extremes: wanted >= 1 };
        let columns = columns_of(&rows.schema, wanted);
        let mut plain = RowDecoder::of_columns(&rows.schema, &columns);
        let mut totals = RowDecoder::of_columns(&rows.schema, &columns);
        totals.set_totals(&rows.schema, &columns, &vec![wanted; columns.len()]);
        let mut sound = true;
        for index in 0..reader.block_count().unwrap() {
            let opened = reader.open_block(index).unwrap();
            let group = opened.columns().unwrap();
            let mask = match at_once {
                true => Mask::of_range(0..group.rows()),
                false => Mask::of_tests(group.rows(), |row| chosen >> (row % 16) & 1 == 1),
            };
            sound = sound && plain.push_vector(group, 0, &mask).is_ok();
            totals.begin_totals();
            if at_once && totals.add_up_group(group).unwrap() {
                continue;
            }
            if !totals.add_up(group, 0, &mask).unwrap() {
                sound = sound && totals.push_vector(group, 0, &mask).is_ok();
            }
        }
        // Values that a row may not have are found by whoever makes arrays of them.
        if sound {
            let (all, rest) = (plain.finish_batch().unwrap(), totals.finish_batch().unwrap());
            let totals = totals.totals().unwrap();
            prop_assert_eq!(all.num_rows() as u64, totals.rows + rest.num_rows() as u64);
            for (column, total) in totals.columns.iter().enumerate() {
                let (all, rest) = (all.column(column), rest.column(column));
                if !wanted.extremes {
                    let there = |array: &ArrayRef| (array.len() - array.null_count()) as u64;
                    prop_assert_eq!(there(all), total.count + there(rest));
                    continue;
                }
                let (mut all, rest) = (expected(all), expected(rest));
                if !wanted.sum {
                    (all.sum, all.float_sum) = (0, 0.0);
                }
                // What was added up and what was not, one after the other.
                if rest.count == 0 {
                    prop_assert!(agree(&all, &found(total)), "{:?} {:?}", all, total);
                } else {
                    prop_assert_eq!(all.count, total.count + rest.count);
                }
            }
        }
    }
}

#[test]
fn numbers_of_many_vectors_are_added_up_and_none_is_pushed() {
    let (schema, reader) = repetitive();
    for (wanted, columns_max) in
        [(ALL, 4), (Wanted { extremes: false, ..ALL }, 4), (Wanted { sum: false, ..ALL }, 6)]
    {
        let columns = columns_of(&schema, wanted);
        assert_eq!(columns.len(), columns_max, "K, PRICE, BEGUN, ENDED, and texts where no sum is wanted");
        let mut plain = RowDecoder::of_columns(&schema, &columns);
        let mut totals = RowDecoder::of_columns(&schema, &columns);
        totals.set_totals(&schema, &columns, &vec![wanted; columns.len()]);
        for index in 0..reader.block_count().unwrap() {
            let opened = reader.open_block(index).unwrap();
            let group = opened.columns().unwrap();
            let mask = Mask::of_range(0..group.rows());
            plain.push_vector(group, 0, &mask).unwrap();
            totals.begin_totals();
            // As a whole, and vector by vector.
            match index % 2 {
                0 => assert!(totals.add_up_group(group).unwrap()),
                _ => assert!(totals.add_up(group, 0, &mask).unwrap()),
            }
        }
        assert_eq!(totals.rows_ready(), 0);
        let batch = plain.finish_batch().unwrap();
        let totals = totals.totals().unwrap();
        assert_eq!(totals.rows, 450);
        for (column, total) in totals.columns.iter().enumerate() {
            let mut expected = expected(batch.column(column));
            expected.sum = if wanted.sum { expected.sum } else { 0 };
            expected.extremes = expected.extremes.filter(|_| wanted.extremes);
            assert_eq!(found(total), expected);
        }
    }
}
