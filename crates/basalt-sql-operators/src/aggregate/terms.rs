// SPDX-License-Identifier: Apache-2.0
//! Sums, differences and products of columns and constants, each computed once for all aggregates that it is part of.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal, NegativeExpr};

use super::numbers::{Numbers, Operation};

/// Computations in the order in which they are made.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms(Vec<Term>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    /// The digits of a column of the input.
    Column(usize),
    Constant(i128),
    /// Of two earlier ones.
    Operation(Operation, usize, usize),
}

/// A term, and how many digits of it are behind the point.
#[derive(Debug, Clone, Copy)]
struct Scaled {
    term: usize,
    scale: i8,
}

impl Terms {
    /// Adds an expression on `schema`, a DECIMAL at its type's scale or an integer; its number. `None` if it is made of
    /// anything else, or a column is none of the input's; then terms may have been added that nobody needs.
    pub(super) fn add(&mut self, expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<usize> {
        let Scaled { term, scale } = self.expression(expr, schema)?;
        (scale == scale_of(&expr.data_type(schema).ok()?)?).then_some(term)
    }

    fn expression(&mut self, expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Scaled> {
        let scale = scale_of(&expr.data_type(schema).ok()?)?;
        if let Some(column) = expr.downcast_ref::<Column>() {
            return Some(Scaled { term: self.push(Term::Column(column.index())), scale });
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return Some(Scaled { term: self.push(Term::Constant(digits(literal.value())?)), scale });
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            let from = cast.expr().data_type(schema).ok()?;
            let grows = whole_digits(&expr.data_type(schema).ok()?)? >= whole_digits(&from)?;
            let inner = self.expression(cast.expr(), schema)?;
            return if grows && scale >= inner.scale { self.at_scale(inner, scale) } else { None };
        }
        if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
            let inner = self.expression(negative.arg(), schema)?;
            let zero = self.push(Term::Constant(0));
            let term = self.push(Term::Operation(Operation::Subtract, zero, inner.term));
            return Some(Scaled { term, ..inner });
        }
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        // Integers wrap or fail at the width of their type, which is not ours.
        if !matches!(expr.data_type(schema).ok()?, DataType::Decimal128(..)) {
            return None;
        }
        let operation = match binary.op() {
            Operator::Plus => Operation::Add,
            Operator::Minus => Operation::Subtract,
            Operator::Multiply => Operation::Multiply,
            _ => return None,
        };
        let mut left = self.expression(binary.left(), schema)?;
        let mut right = self.expression(binary.right(), schema)?;
        let scale = match operation {
            Operation::Multiply => left.scale.checked_add(right.scale)?,
            Operation::Add | Operation::Subtract => {
                let scale = left.scale.max(right.scale);
                (left, right) = (self.at_scale(left, scale)?, self.at_scale(right, scale)?);
                scale
            }
        };
        let term = self.push(Term::Operation(operation, left.term, right.term));
        Some(Scaled { term, scale })
    }

    /// The same number with more digits behind the point.
    fn at_scale(&mut self, from: Scaled, scale: i8) -> Option<Scaled> {
        let more = u32::try_from(scale.checked_sub(from.scale)?).ok()?;
        if more == 0 {
            return Some(from);
        }
        let factor = 10i128.checked_pow(more)?;
        let term = match self.0[from.term] {
            Term::Constant(number) => Term::Constant(number.checked_mul(factor)?),
            _ => {
                let factor = self.push(Term::Constant(factor));
                Term::Operation(Operation::Multiply, from.term, factor)
            }
        };
        Some(Scaled { term: self.push(term), scale })
    }

    fn push(&mut self, term: Term) -> usize {
        self.0.iter().position(|known| *known == term).unwrap_or_else(|| {
            self.0.push(term);
            self.0.len() - 1
        })
    }

    /// All terms of the rows of a batch, by their numbers.
    pub(super) fn evaluate<'a>(&self, batch: &'a RecordBatch) -> Result<Vec<Numbers<'a>>> {
        let mut all: Vec<Numbers<'a>> = Vec::with_capacity(self.0.len());
        for term in &self.0 {
            let numbers = match *term {
                Term::Column(index) => Numbers::of_array(batch.column(index))?,
                Term::Constant(number) => Numbers::constant(number),
                Term::Operation(operation, left, right) => all[left].combine(&all[right], operation)?,
            };
            all.push(numbers);
        }
        Ok(all)
    }
}

/// Digits behind the point of numbers of a type; `None` for types of which [`Numbers`] knows nothing.
fn scale_of(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal128(_, scale) => Some(*scale),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Some(0),
        _ => None,
    }
}

/// Digits before the point that numbers of a type may have.
fn whole_digits(data_type: &DataType) -> Option<i16> {
    match data_type {
        DataType::Decimal128(precision, scale) => Some(i16::from(*precision) - i16::from(*scale)),
        DataType::Int8 => Some(3),
        DataType::Int16 => Some(5),
        DataType::Int32 => Some(10),
        DataType::Int64 => Some(19),
        _ => None,
    }
}

fn digits(value: &ScalarValue) -> Option<i128> {
    match *value {
        ScalarValue::Decimal128(digits, ..) => digits,
        ScalarValue::Int8(number) => number.map(i128::from),
        ScalarValue::Int16(number) => number.map(i128::from),
        ScalarValue::Int32(number) => number.map(i128::from),
        ScalarValue::Int64(number) => number.map(i128::from),
        _ => None,
    }
}
