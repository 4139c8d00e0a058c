// SPDX-License-Identifier: Apache-2.0
//! Conditions on the columns of a row that stored numbers and strings answer, before arrays are made of them.
//!
//! A predicate holds or does not hold. NULL satisfies nothing but [`Predicate::Null`]; who builds a predicate
//! resolves negations (`NOT a < 3` is `a >= 3` for rows with a value). Leaving out what a predicate cannot say keeps
//! it *weaker* than the condition meant, as long as what is left out stands in a conjunction: it then lets through rows
//! that somebody must look at again, and never drops one too many.

mod number_set;

use std::ops::Bound;
use std::sync::Arc;

use basalt_model::ColumnRef;
use basalt_model::types::Decimal;

pub use number_set::NumberSet;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// All of these hold; without any it always holds.
    All(Vec<Predicate>),
    /// One of these holds; without any it never does.
    Any(Vec<Predicate>),
    /// The column has a value, and it lies in one of these ranges.
    Within(ColumnRef, Vec<ValueRange>),
    /// The column, which is of integers, has a value, and the set has it.
    Among(ColumnRef, Arc<NumberSet>),
    /// The column is NULL.
    Null(ColumnRef),
}

/// Values between two bounds, in the order of the column's type.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueRange {
    /// The lower bound.
    pub low: Bound<Operand>,
    /// The upper bound.
    pub high: Bound<Operand>,
}

/// A value that columns are compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// Of integers and BOOLEAN the number, of DATE and TIME milliseconds, of TIMESTAMP nanoseconds.
    Integer(i64),
    /// Of DECIMAL.
    Decimal(Decimal),
    /// Of FLOAT and DOUBLE, ordered as IEEE 754's totalOrder has it.
    Float(f64),
    /// Of VARCHAR the text; of CHAR the text with its blanks, up to the column's width.
    Text(Vec<u8>),
}

impl ValueRange {
    /// Every value.
    pub const ALL: Self = Self { low: Bound::Unbounded, high: Bound::Unbounded };

    /// One value.
    pub fn point(value: Operand) -> Self {
        Self { low: Bound::Included(value.clone()), high: Bound::Included(value) }
    }
}

impl Predicate {
    /// Always holds.
    pub const ALWAYS: Self = Self::All(Vec::new());

    /// True if it says nothing.
    pub fn is_always(&self) -> bool {
        *self == Self::ALWAYS
    }

    /// The column is not NULL.
    pub fn not_null(column: ColumnRef) -> Self {
        Self::Within(column, vec![ValueRange::ALL])
    }

    /// Both hold. Two bounds of one column become one range.
    pub fn and(self, other: Self) -> Self {
        let mut all = match self {
            Self::All(all) => all,
            one => vec![one],
        };
        let more = match other {
            Self::All(more) => more,
            one => vec![one],
        };
        for part in more {
            if !all.iter_mut().any(|known| known.narrow(&part)) {
                all.push(part);
            }
        }
        if all.len() == 1 { all.remove(0) } else { Self::All(all) }
    }

    /// One of them holds. Ranges of one column become one list.
    pub fn or(self, other: Self) -> Self {
        let mut any = match self {
            Self::Any(any) => any,
            one => vec![one],
        };
        let more = match other {
            Self::Any(more) => more,
            one => vec![one],
        };
        for part in more {
            let known = any.iter_mut().find_map(|known| match (known, &part) {
                (Self::Within(column, ranges), Self::Within(of, _)) if column == of => Some(ranges),
                _ => None,
            });
            match (known, part) {
                (Some(ranges), Self::Within(_, more)) => ranges.extend(more),
                (_, part) => any.push(part),
            }
        }
        if any.len() == 1 { any.remove(0) } else { Self::Any(any) }
    }

    /// Takes in the other bound of the same column; false if that is not what it is.
    fn narrow(&mut self, other: &Self) -> bool {
        let (Self::Within(column, known), Self::Within(of, more)) = (self, other) else { return false };
        let ([known], [more]) = (&mut known[..], &more[..]) else { return false };
        let (low, high) = match (&known.low, &known.high, &more.low, &more.high) {
            (_, Bound::Unbounded, Bound::Unbounded, high) => (&known.low, high),
            (Bound::Unbounded, _, low, Bound::Unbounded) => (low, &known.high),
            _ => return false,
        };
        if column != of {
            return false;
        }
        *known = ValueRange { low: low.clone(), high: high.clone() };
        true
    }

    /// Hands every column that the predicate names to `f`, some repeatedly.
    pub fn columns(&self, f: &mut impl FnMut(ColumnRef)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.columns(f)),
            Self::Within(column, _) | Self::Among(column, _) | Self::Null(column) => f(*column),
        }
    }
}

#[cfg(test)]
mod tests;
