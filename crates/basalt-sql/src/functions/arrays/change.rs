// SPDX-License-Identifier: Apache-2.0
//! Arrays made of arrays: ARRAY_APPEND, ARRAY_PREPEND, ARRAY_CAT, ARRAY_FILL, ARRAY_REMOVE. NULL for an array is one
//! without elements; a NULL that is appended, prepended or removed changes nothing, as in Phoenix.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, MutableArrayData, UInt32Array, make_array,
};
use datafusion::arrow::compute::kernels::cmp::eq;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::{built, common, element, list_of, lists, span};
use crate::functions::plain::{Plain, count};

/// Elements that ARRAY_FILL makes at most.
const FILL_MAX: i64 = 1 << 20;

/// The call for the first elements of an array: its arguments are the array and how many.
pub(crate) const FIRST_OF: &str = "$first_of";

pub(super) fn functions() -> [ScalarUDF; 6] {
    let first = |found: &[DataType]| found[0].clone();
    let second = |found: &[DataType]| found[1].clone();
    [
        Plain::function(
            "array_append",
            |name, found| with_element(name, found, 0),
            first,
            |args| joined(args, &[Part::Array(0), Part::Element(1)]),
        ),
        Plain::function(
            "array_prepend",
            |name, found| with_element(name, found, 1),
            second,
            |args| joined(args, &[Part::Element(0), Part::Array(1)]),
        ),
        Plain::function("array_cat", two_arrays, first, |args| {
            joined(args, &[Part::Array(0), Part::Array(1)])
        }),
        Plain::function("array_fill", coerce_fill, |found| list_of(found[0].clone()), run_fill),
        Plain::function(FIRST_OF, coerce_first, first, run_first),
        Plain::function("array_remove", |name, found| with_element(name, found, 0), first, run_remove),
    ]
}

/// An array, at position `array`, and an element.
fn with_element(name: &str, found: &[DataType], array: usize) -> Result<Vec<DataType>> {
    count(name, found, 2, 2)?;
    let common = common(name, &[element(name, &found[array])?, found[1 - array].clone()])?;
    let mut wanted = vec![common.clone(); 2];
    wanted[array] = list_of(common);
    Ok(wanted)
}

fn two_arrays(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 2, 2)?;
    let common = common(name, &[element(name, &found[0])?, element(name, &found[1])?])?;
    Ok(vec![list_of(common); 2])
}

/// An argument that goes into the result.
enum Part {
    Array(usize),
    Element(usize),
}

/// The parts of each row one behind the other.
fn joined(args: &ScalarFunctionArgs, parts: &[Part; 2]) -> Result<ColumnarValue> {
    let rows = args.number_rows;
    let columns = parts
        .iter()
        .map(|part| match part {
            Part::Array(index) | Part::Element(index) => args.args[*index].to_array(rows),
        })
        .collect::<Result<Vec<ArrayRef>>>()?;
    let sources: Vec<_> = parts
        .iter()
        .zip(&columns)
        .map(|(part, column)| match part {
            Part::Array(_) => column.as_list::<i32>().values().to_data(),
            Part::Element(_) => column.to_data(),
        })
        .collect();
    let mut elements = MutableArrayData::new(sources.iter().collect(), true, rows);
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        let before = elements.len();
        for (source, (part, column)) in parts.iter().zip(&columns).enumerate() {
            match part {
                Part::Array(_) => {
                    let span = span(column.as_list::<i32>(), row);
                    elements.try_extend(source, span.start, span.end)?;
                }
                Part::Element(_) if column.is_valid(row) => elements.try_extend(source, row, row + 1)?,
                Part::Element(_) => {}
            }
        }
        lengths.push(elements.len() - before);
    }
    built(make_array(elements.freeze()), lengths.into_iter())
}

fn coerce_fill(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 2, 2)?;
    if !found[1].is_integer() {
        return plan_err!("the length of ARRAY_FILL cannot be of type {}", found[1]);
    }
    Ok(vec![common(name, &found[..1])?, DataType::Int64])
}

fn run_fill(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let values = args.args[0].to_array(args.number_rows)?;
    let lengths = args.args[1].to_array(args.number_rows)?;
    let lengths = lengths.as_primitive::<Int64Type>();
    let mut wanted = Vec::with_capacity(args.number_rows);
    for row in 0..args.number_rows {
        wanted.push(match lengths.is_valid(row).then(|| lengths.value(row)) {
            None => 0,
            Some(length @ 0..=FILL_MAX) => length as usize,
            Some(length) => return exec_err!("ARRAY_FILL makes 0 to {FILL_MAX} elements, not {length}"),
        });
    }
    let rows = wanted.iter().enumerate().flat_map(|(row, length)| std::iter::repeat_n(row as u32, *length));
    let elements = take(&values, &UInt32Array::from_iter_values(rows), None)?;
    built(elements, wanted.into_iter())
}

fn coerce_first(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 2, 2)?;
    if !found[1].is_integer() {
        return plan_err!("the number of values cannot be of type {}", found[1]);
    }
    Ok(vec![list_of(element(name, &found[0])?), DataType::Int64])
}

fn run_first(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let lists = lists(args, 0)?;
    let counts = args.args[1].to_array(args.number_rows)?;
    let counts = counts.as_primitive::<Int64Type>();
    let taken = |row: usize| {
        let most = if counts.is_valid(row) { usize::try_from(counts.value(row)).unwrap_or(0) } else { 0 };
        span(&lists, row).take(most).map(|index| index as u32)
    };
    let rows = 0..lists.len();
    let elements = take(lists.values(), &UInt32Array::from_iter_values(rows.clone().flat_map(taken)), None)?;
    built(elements, rows.map(|row| taken(row).len()).collect::<Vec<_>>().into_iter())
}

fn run_remove(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let lists = lists(args, 0)?;
    let removed = args.args[1].to_array(args.number_rows)?;
    let equal = matching(&lists, &removed)?;
    let (mut kept, mut lengths) = (vec![], vec![]);
    let mut at = 0;
    for row in 0..lists.len() {
        let before = kept.len();
        for index in span(&lists, row) {
            if equal.is_null(at) || !equal.value(at) {
                kept.push(index as u32);
            }
            at += 1;
        }
        lengths.push(kept.len() - before);
    }
    built(take(lists.values(), &UInt32Array::from(kept), None)?, lengths.into_iter())
}

/// Whether each element equals the value beside its array.
fn matching(lists: &datafusion::arrow::array::ListArray, values: &ArrayRef) -> Result<BooleanArray> {
    let spans = (0..lists.len()).map(|row| (row as u32, span(lists, row)));
    let pairs: (Vec<u32>, Vec<u32>) =
        spans.flat_map(|(row, span)| span.map(move |index| (index as u32, row))).unzip();
    let elements = take(lists.values(), &UInt32Array::from(pairs.0), None)?;
    let values = take(values, &UInt32Array::from(pairs.1), None)?;
    Ok(eq(&elements, &values)?)
}
