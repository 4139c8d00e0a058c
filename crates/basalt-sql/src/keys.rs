// SPDX-License-Identifier: Apache-2.0
//! From a WHERE clause to ranges of row keys.
//!
//! The filters of a scan are a conjunction. Each key column gets a [`Domain`]: the set of values, as intervals of
//! encoded bytes, that the conjuncts about that column alone leave. Then the domains of the leading columns are
//! multiplied out, key column by key column, into byte ranges of whole row keys:
//!
//! ```text
//! key (A VARCHAR, B INTEGER, C VARCHAR), A IN ('a','c') AND B > 5
//!   A: {a} {c}      points: go on with each        61 00, 63 00
//!   B: (5, ..)      an interval: the key ends here
//!   ranges [61 00 80000006, 61 01) [63 00 80000006, 63 01)
//! ```
//!
//! A disjunction over several columns is worked out branch by branch and the ranges united.
//!
//! The rule that this module protects: **ranges are never too small**. Every filter is also evaluated on the rows
//! that the ranges yield, so a predicate that is not understood, or only partly, costs time and never a row. The
//! property test compares with a full scan.

mod compose;
mod domain;
mod extract;
mod value;

use basalt_model::{KeyRange, TableSchema};
use bytes::Bytes;
use datafusion::logical_expr::Expr;

/// Most ranges or keys that one scan is cut into. Beyond it the last column that was multiplied out is covered
/// by one interval from its first to its last value.
const RANGES_MAX: usize = 16_384;

/// How a scan reaches its rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Access {
    /// No row can match.
    Nothing,
    /// Every key column is fixed: these rows and no others, sorted.
    Points(Vec<Bytes>),
    /// Sorted, disjoint ranges.
    Ranges(Vec<KeyRange>),
    /// The whole table.
    Full,
}

/// An access and how EXPLAIN writes its bounds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyAccess {
    /// How to reach the rows.
    pub(crate) access: Access,
    /// First and last bound, as `['a',3] - ['b',*]`; empty for a full scan.
    pub(crate) bounds: String,
}

impl KeyAccess {
    /// All rows.
    pub(crate) fn full() -> Self {
        Self { access: Access::Full, bounds: String::new() }
    }

    /// The same rows, reached as ranges of one row each where they would be looked up by their keys.
    pub(crate) fn into_ranges(self) -> Self {
        match self.access {
            Access::Points(keys) => {
                let ranges = keys.into_iter().map(KeyRange::point).collect();
                Self { access: Access::Ranges(ranges), bounds: self.bounds }
            }
            _ => self,
        }
    }
}

/// The access that the conjunction of `filters` leaves.
pub(crate) fn access(schema: &TableSchema, filters: &[Expr]) -> KeyAccess {
    let scan = extract::scan(schema, filters);
    let Some(composed) = scan else { return KeyAccess { access: Access::Nothing, bounds: String::new() } };
    composed.into_access()
}

/// Of how many key columns, counted from the first, the conjunction of `filters` leaves one value each.
pub(crate) fn fixed_columns(schema: &TableSchema, filters: &[Expr]) -> usize {
    extract::fixed_columns(schema, filters)
}

/// True if the conjunction of `filters` leaves single values for the first `columns` key columns.
pub(crate) fn fixes_values(schema: &TableSchema, filters: &[Expr], columns: usize) -> bool {
    extract::fixed_columns(schema, filters) >= columns
}

/// The same rows in ranges that are sorted and disjoint.
pub(crate) fn united(ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    compose::normalize(ranges)
}

#[cfg(test)]
mod tests;
