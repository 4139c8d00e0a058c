// SPDX-License-Identifier: Apache-2.0
//! Predicates on the table of [`columnar`](super::columnar), and what they mean, row by row.

use std::ops::{Bound, RangeBounds};

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Decimal128Type, Int32Type};
use basalt_model::types::Decimal;

use super::*;

const K: ColumnRef = ColumnRef::Key(0);
const V: ColumnRef = ColumnRef::Column(0);
const W: ColumnRef = ColumnRef::Column(1);
const D: ColumnRef = ColumnRef::Column(2);

pub(super) fn any(random: &mut impl FnMut(u64) -> u64, depth: u32) -> Predicate {
    if depth > 0 && random(3) > 0 {
        let parts = (0..random(4)).map(|_| any(random, depth - 1)).collect();
        return if random(2) == 0 { Predicate::All(parts) } else { Predicate::Any(parts) };
    }
    let column = [K, V, W, D][random(4) as usize];
    if random(6) == 0 {
        return Predicate::Null(column);
    }
    if random(5) == 0 {
        let least = random(4000) as i64 - 2000;
        let mut numbers = NumberSet::between(least, least + 2000);
        (0..random(1000)).for_each(|_| numbers.insert(least + random(2001) as i64));
        return Predicate::Among([K, W][random(2) as usize], Arc::new(numbers));
    }
    let ranges = (0..random(7)).map(|_| {
        let mut end = |wide: bool| {
            let operand = match column {
                V => Operand::Text(format!("text {}", random(55)).into_bytes()),
                D => Operand::Decimal(Decimal::new(random(99_999).into(), 3)),
                _ if wide => Operand::Integer(random(4000) as i64),
                _ => Operand::Integer(random(1000) as i64),
            };
            match random(3) {
                0 => Bound::Unbounded,
                1 => Bound::Included(operand),
                _ => Bound::Excluded(operand),
            }
        };
        ValueRange { low: end(column == K), high: end(column == K) }
    });
    Predicate::Within(column, ranges.collect())
}

/// W and K of the rows of a batch of all columns in declared order that satisfy the predicate.
pub(super) fn filter(predicate: &Predicate, batch: &RecordBatch) -> RecordBatch {
    let keep: BooleanArray = (0..batch.num_rows()).map(|row| Some(holds(predicate, batch, row))).collect();
    let narrow = batch.project(&[2, 0]).expect("the columns are there");
    filter_record_batch(&narrow, &keep).expect("as many rows")
}

fn holds(predicate: &Predicate, batch: &RecordBatch, row: usize) -> bool {
    match predicate {
        Predicate::All(parts) => parts.iter().all(|part| holds(part, batch, row)),
        Predicate::Any(parts) => parts.iter().any(|part| holds(part, batch, row)),
        Predicate::Null(column) => batch.column(position(*column)).is_null(row),
        Predicate::Among(column, numbers) => {
            let array = batch.column(position(*column)).as_primitive::<Int32Type>();
            !array.is_null(row) && numbers.has(array.value(row).into())
        }
        Predicate::Within(column, ranges) => {
            let array = batch.column(position(*column));
            !array.is_null(row) && ranges.iter().any(|range| inside(range, array, row))
        }
    }
}

fn position(column: ColumnRef) -> usize {
    [K, V, W, D].iter().position(|known| *known == column).expect("one of four")
}

fn inside(range: &ValueRange, array: &dyn Array, row: usize) -> bool {
    let thousandths = |operand: &Operand| match operand {
        Operand::Integer(number) => i128::from(*number) * 1000,
        Operand::Decimal(number) => number.unscaled,
        _ => panic!("a number is expected"),
    };
    let of = |end: &Bound<Operand>| end.clone().map(|operand| thousandths(&operand));
    if let Some(texts) = array.as_string_view_opt() {
        let of = |end: &Bound<Operand>| {
            end.clone().map(|operand| match operand {
                Operand::Text(text) => text,
                _ => panic!("a text is expected"),
            })
        };
        let value = texts.value(row).as_bytes().to_vec();
        return (of(&range.low), of(&range.high)).contains(&value);
    }
    let value = match array.as_primitive_opt::<Int32Type>() {
        Some(ints) => i128::from(ints.value(row)) * 1000,
        None => array.as_primitive::<Decimal128Type>().value(row) * 10,
    };
    (of(&range.low), of(&range.high)).contains(&value)
}
