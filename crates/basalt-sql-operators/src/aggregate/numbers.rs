// SPDX-License-Identifier: Apache-2.0
//! Whole numbers of a batch of rows, in 64 bits where all of them fit, and exact arithmetic on them.

use std::borrow::Cow;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    DataType, Decimal64Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion::common::{Result, exec_datafusion_err, exec_err};

/// A number per row, or one for all rows. Where a row has NULL, the number means nothing.
#[derive(Debug, Clone)]
pub(super) struct Numbers<'a> {
    pub(super) digits: Digits<'a>,
    pub(super) nulls: Option<NullBuffer>,
}

/// See [`Numbers`].
#[derive(Debug, Clone)]
pub(super) enum Digits<'a> {
    /// None of them is further from zero than the bound.
    Narrow(Cow<'a, [i64]>, u64),
    Wide(Cow<'a, [i128]>),
    Constant(i128),
}

/// What is done with two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
}

impl<'a> Numbers<'a> {
    /// The digits of a column of decimals or integers.
    pub(super) fn of_array(array: &'a ArrayRef) -> Result<Self> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let digits = match array.data_type() {
            DataType::Decimal64(..) => narrow(array.as_primitive::<Decimal64Type>().values()),
            DataType::Decimal128(..) => of_128(array.as_primitive::<Decimal128Type>().values()),
            DataType::Int8 => widened::<Int8Type>(array),
            DataType::Int16 => widened::<Int16Type>(array),
            DataType::Int32 => widened::<Int32Type>(array),
            DataType::Int64 => narrow(array.as_primitive::<Int64Type>().values()),
            other => return exec_err!("numbers were expected, not {other}"),
        };
        Ok(Self { digits, nulls })
    }

    /// One number for all rows.
    pub(super) fn constant(number: i128) -> Self {
        Self { digits: Digits::Constant(number), nulls: None }
    }

    /// Both numbers of each row as one. An error if a result does not fit 128 bits.
    pub(super) fn combine(&self, other: &Self, operation: Operation) -> Result<Numbers<'static>> {
        let nulls = NullBuffer::union(self.nulls.as_ref(), other.nulls.as_ref());
        let digits = match self.combine_narrow(other, operation) {
            Some(digits) => digits,
            None => self.combine_wide(other, operation, nulls.as_ref())?,
        };
        Ok(Numbers { digits, nulls })
    }

    /// `None` if a result may need more than 64 bits.
    fn combine_narrow(&self, other: &Self, operation: Operation) -> Option<Digits<'static>> {
        let (left, right) = (self.bound()?, other.bound()?);
        let bound = match operation {
            Operation::Add | Operation::Subtract => left.checked_add(right)?,
            Operation::Multiply => left.checked_mul(right)?,
        };
        i64::try_from(bound).ok()?;
        Some(match operation {
            Operation::Add => self.zip_narrow(other, bound, |left, right| left + right),
            Operation::Subtract => self.zip_narrow(other, bound, |left, right| left - right),
            Operation::Multiply => self.zip_narrow(other, bound, |left, right| left * right),
        })
    }

    #[inline]
    fn zip_narrow(&self, other: &Self, bound: u64, f: impl Fn(i64, i64) -> i64) -> Digits<'static> {
        let numbers: Vec<i64> = match (&self.digits, &other.digits) {
            (Digits::Narrow(left, _), Digits::Narrow(right, _)) => {
                left.iter().zip(right.iter()).map(|(&left, &right)| f(left, right)).collect()
            }
            (Digits::Narrow(left, _), Digits::Constant(right)) => {
                let right = *right as i64;
                left.iter().map(|&left| f(left, right)).collect()
            }
            (Digits::Constant(left), Digits::Narrow(right, _)) => {
                let left = *left as i64;
                right.iter().map(|&right| f(left, right)).collect()
            }
            (Digits::Constant(left), Digits::Constant(right)) => {
                return Digits::Constant(f(*left as i64, *right as i64).into());
            }
            _ => unreachable!("wide numbers have no bound"),
        };
        Digits::Narrow(numbers.into(), bound)
    }

    fn combine_wide(
        &self,
        other: &Self,
        operation: Operation,
        nulls: Option<&NullBuffer>,
    ) -> Result<Digits<'static>> {
        let f = |left: i128, right: i128| match operation {
            Operation::Add => left.checked_add(right),
            Operation::Subtract => left.checked_sub(right),
            Operation::Multiply => left.checked_mul(right),
        };
        let overflow =
            || exec_datafusion_err!("a DECIMAL of more than 38 digits: the result of an operation overflows");
        let Some(rows) = self.rows().or(other.rows()) else {
            return f(self.at(0), other.at(0)).map(Digits::Constant).ok_or_else(overflow);
        };
        let number = |row| match f(self.at(row), other.at(row)) {
            Some(number) => Ok(number),
            None if nulls.is_some_and(|nulls| nulls.is_null(row)) => Ok(0),
            None => Err(overflow()),
        };
        Ok(Digits::Wide((0..rows).map(number).collect::<Result<Vec<_>>>()?.into()))
    }

    /// `None` for one number for all rows.
    fn rows(&self) -> Option<usize> {
        match &self.digits {
            Digits::Narrow(numbers, _) => Some(numbers.len()),
            Digits::Wide(numbers) => Some(numbers.len()),
            Digits::Constant(_) => None,
        }
    }

    /// The number of a row.
    pub(super) fn at(&self, row: usize) -> i128 {
        match &self.digits {
            Digits::Narrow(numbers, _) => numbers[row].into(),
            Digits::Wide(numbers) => numbers[row],
            Digits::Constant(number) => *number,
        }
    }

    /// How far from zero the numbers are at most; `None` for those that need not fit 64 bits.
    fn bound(&self) -> Option<u64> {
        match &self.digits {
            Digits::Narrow(_, bound) => Some(*bound),
            Digits::Wide(_) => None,
            Digits::Constant(number) => i64::try_from(*number).ok().map(i64::unsigned_abs),
        }
    }
}

fn narrow(numbers: &[i64]) -> Digits<'_> {
    Digits::Narrow(numbers.into(), bound_of(numbers))
}

fn widened<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Digits<'static> {
    let numbers: Vec<i64> = array.as_primitive::<T>().values().iter().map(|&number| number.into()).collect();
    let bound = bound_of(&numbers);
    Digits::Narrow(numbers.into(), bound)
}

fn of_128(numbers: &[i128]) -> Digits<'_> {
    let fits = numbers.iter().fold(true, |fits, &number| fits & (i128::from(number as i64) == number));
    if !fits {
        return Digits::Wide(numbers.into());
    }
    let numbers: Vec<i64> = numbers.iter().map(|&number| number as i64).collect();
    let bound = bound_of(&numbers);
    Digits::Narrow(numbers.into(), bound)
}

/// A bound of the numbers' distances from zero, no more than twice the largest.
fn bound_of(numbers: &[i64]) -> u64 {
    // Of a negative number, the bits of its complement, which is one less than its distance.
    let bits = numbers.iter().fold(0, |bits, &number| bits | (number ^ (number >> 63)));
    if bits == 0 { 1 } else { 1 << (64 - bits.leading_zeros()) }
}

#[cfg(test)]
mod tests;
