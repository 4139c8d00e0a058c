// SPDX-License-Identifier: Apache-2.0
//! Changes that depend on what the row holds.

use bytes::Bytes;

use super::{Mutation, TimeRange};
use crate::filter::{CompareOp, Filter};

/// What must hold for a change to be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The newest version of a column, compared with a value.
    ///
    /// Unlike in filters the operator reads *given value, operator, stored value*, as HBase's clients send it. A
    /// column that is not there fulfils no comparison. An empty given value stands for "not there or empty":
    /// every operator but `NotEqual` asks for that, `NotEqual` for a value that is not empty.
    Value {
        /// Family of the column.
        family: Bytes,
        /// Qualifier of the column.
        qualifier: Bytes,
        /// The relation.
        op: CompareOp,
        /// The given value.
        value: Bytes,
    },
    /// A get of the row with this filter finds something.
    Filter(Filter),
}

/// Checks one row and changes it if the condition holds, with no other write in between.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckAndMutate {
    /// The row.
    pub row: Bytes,
    /// What must hold.
    pub condition: Condition,
    /// Only cells with these timestamps are looked at.
    pub time_range: TimeRange,
    /// What to do then, all of the same row, in this order.
    pub mutations: Vec<Mutation>,
}

impl CheckAndMutate {
    /// Under any condition.
    pub fn new(row: impl Into<Bytes>, condition: Condition) -> Self {
        Self { row: row.into(), condition, time_range: TimeRange::all(), mutations: Vec::new() }
    }

    /// If the column is not there, or empty.
    pub fn if_not_exists(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
    ) -> Self {
        Self::if_value(row, family, qualifier, CompareOp::Equal, Bytes::new())
    }

    /// If the column's newest value is this one.
    pub fn if_equals(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Self {
        Self::if_value(row, family, qualifier, CompareOp::Equal, value)
    }

    /// If `value` relates like this to the stored one; see [`Condition::Value`].
    pub fn if_value(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        op: CompareOp,
        value: impl Into<Bytes>,
    ) -> Self {
        let (family, qualifier, value) = (family.into(), qualifier.into(), value.into());
        Self::new(row, Condition::Value { family, qualifier, op, value })
    }

    /// If a get of the row with this filter finds something.
    pub fn if_filter(row: impl Into<Bytes>, filter: Filter) -> Self {
        Self::new(row, Condition::Filter(filter))
    }

    /// Looks only at cells with these timestamps.
    #[must_use]
    pub fn time_range(mut self, range: TimeRange) -> Self {
        self.time_range = range;
        self
    }

    /// Adds a change.
    #[must_use]
    pub fn then(mut self, mutation: impl Into<Mutation>) -> Self {
        self.mutations.push(mutation.into());
        self
    }
}
