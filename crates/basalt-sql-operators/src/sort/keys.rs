// SPDX-License-Identifier: Apache-2.0
//! What rows are sorted by: a number of 64 bits each, which decides most comparisons, and what decides the others.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, exec_err};

/// DECIMALs of which the number decides; those below and above share a number each.
const DECIDED: RangeInclusive<i128> = i64::MIN as i128 + 1..=i64::MAX as i128 - 1;

/// A row: the number that it is sorted by, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) batch: u32,
    pub(super) row: u32,
}

/// How the numbers of rows are made.
#[derive(Debug)]
pub(super) enum KeyMaker {
    /// Of one column of numbers: the number decides, unless it is a DECIMAL beyond 64 bits.
    Numbers(SortOptions),
    /// Of any columns: the first bytes of a form that sorts as they do; the rest of it decides between equal ones.
    Rows(RowConverter),
}

/// What decides between rows of a batch whose numbers are equal.
#[derive(Debug)]
pub(super) enum Ties {
    None,
    Decimals(Decimal128Array, SortOptions),
    Rows(Rows),
}

impl KeyMaker {
    /// For columns of these types, sorted in these ways.
    pub(super) fn try_new(columns: &[(DataType, SortOptions)]) -> Result<Self> {
        if let [(data_type, options)] = columns
            && is_number(data_type)
        {
            return Ok(Self::Numbers(*options));
        }
        let fields = columns
            .iter()
            .map(|(data_type, options)| SortField::new_with_options(data_type.clone(), *options));
        Ok(Self::Rows(RowConverter::new(fields.collect())?))
    }

    /// The entries of a batch whose sort columns these are; those of rows whose one column is NULL come apart.
    pub(super) fn entries(
        &self,
        columns: &[ArrayRef],
        batch: u32,
        entries: &mut Vec<Entry>,
        nulls: &mut Vec<Entry>,
    ) -> Result<Ties> {
        match self {
            Self::Numbers(options) => {
                let column = &columns[0];
                let invert = if options.descending { u64::MAX } else { 0 };
                let numbers = numbers(column)?;
                let is_null = column.nulls().filter(|nulls| nulls.null_count() > 0);
                for (row, number) in numbers.into_iter().enumerate() {
                    let entry = Entry { number: number ^ invert, batch, row: row as u32 };
                    let null = is_null.is_some_and(|nulls| nulls.is_null(row));
                    if null { nulls.push(entry) } else { entries.push(entry) }
                }
                Ok(match column.as_primitive_opt::<Decimal128Type>() {
                    Some(decimals) if !decimals.values().iter().all(|number| DECIDED.contains(number)) => {
                        Ties::Decimals(decimals.clone(), *options)
                    }
                    _ => Ties::None,
                })
            }
            Self::Rows(converter) => {
                let rows = converter.convert_columns(columns)?;
                entries.extend(rows.iter().enumerate().map(|(row, bytes)| {
                    let bytes = bytes.as_ref();
                    let mut number = [0; 8];
                    let len = bytes.len().min(8);
                    number[..len].copy_from_slice(&bytes[..len]);
                    Entry { number: u64::from_be_bytes(number), batch, row: row as u32 }
                }));
                Ok(Ties::Rows(rows))
            }
        }
    }

    /// True if rows with NULL come first; of several columns they are among the others.
    pub(super) fn nulls_first(&self) -> bool {
        matches!(self, Self::Numbers(options) if options.nulls_first)
    }
}

/// Which of two rows comes first.
#[inline]
pub(super) fn compare(left: &Entry, right: &Entry, ties: &[Ties]) -> Ordering {
    left.number.cmp(&right.number).then_with(|| break_tie(left, right, ties))
}

fn break_tie(left: &Entry, right: &Entry, ties: &[Ties]) -> Ordering {
    let by_key = match (&ties[left.batch as usize], &ties[right.batch as usize]) {
        (Ties::Rows(of_left), Ties::Rows(of_right)) => {
            of_left.row(left.row as usize).cmp(&of_right.row(right.row as usize))
        }
        (Ties::Decimals(of_left, options), Ties::Decimals(of_right, _)) => {
            let ascending = of_left.value(left.row as usize).cmp(&of_right.value(right.row as usize));
            if options.descending { ascending.reverse() } else { ascending }
        }
        _ => Ordering::Equal,
    };
    by_key.then_with(|| (left.batch, left.row).cmp(&(right.batch, right.row)))
}

fn is_number(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(
        data_type,
        Int8 | Int16 | Int32 | Int64 | Float32 | Float64 | Date32 | Date64 | Timestamp(..) | Decimal128(..)
    )
}

/// Numbers in the order of the values; DECIMALs beyond 64 bits share the least or the greatest.
fn numbers(column: &ArrayRef) -> Result<Vec<u64>> {
    fn integers<T: ArrowPrimitiveType<Native: Into<i64>>>(column: &ArrayRef) -> Vec<u64> {
        column.as_primitive::<T>().values().iter().map(|&number| shifted(number.into())).collect()
    }
    Ok(match column.data_type() {
        DataType::Int8 => integers::<Int8Type>(column),
        DataType::Int16 => integers::<Int16Type>(column),
        DataType::Int32 => integers::<Int32Type>(column),
        DataType::Int64 => integers::<Int64Type>(column),
        DataType::Date32 => integers::<Date32Type>(column),
        DataType::Date64 => integers::<Date64Type>(column),
        DataType::Timestamp(TimeUnit::Second, _) => integers::<TimestampSecondType>(column),
        DataType::Timestamp(TimeUnit::Millisecond, _) => integers::<TimestampMillisecondType>(column),
        DataType::Timestamp(TimeUnit::Microsecond, _) => integers::<TimestampMicrosecondType>(column),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => integers::<TimestampNanosecondType>(column),
        DataType::Float32 => column
            .as_primitive::<Float32Type>()
            .values()
            .iter()
            .map(|&number| of_float(number.into()))
            .collect(),
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().values().iter().map(|&number| of_float(number)).collect()
        }
        DataType::Decimal128(..) => {
            let clamped = |&number: &i128| number.clamp(DECIDED.start() - 1, DECIDED.end() + 1) as i64;
            column.as_primitive::<Decimal128Type>().values().iter().map(clamped).map(shifted).collect()
        }
        other => return exec_err!("{other} is sorted as bytes"),
    })
}

#[inline]
fn shifted(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// In IEEE's total order, which is that of DataFusion.
#[inline]
fn of_float(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}
