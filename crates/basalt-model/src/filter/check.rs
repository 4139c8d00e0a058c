// SPDX-License-Identifier: Apache-2.0
//! Filters that cannot be: found before anything is read.

use bytes::Bytes;

use super::{Filter, FuzzyKey, RowRange};
use crate::ROW_LEN_MAX;
use crate::escape::Escaped;

/// Filters in filters, at most.
const DEPTH_MAX: usize = 64;

/// Why a filter cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// Filters nested too deeply.
    #[error("filters are nested {found} deep or more; expected at most {DEPTH_MAX}")]
    Depth {
        /// Depth at which the check stopped.
        found: usize,
    },
    /// The same prefix twice.
    #[error("column prefix {prefix} is given twice; prefixes must be distinct")]
    RepeatedPrefix {
        /// The prefix, escaped.
        prefix: String,
    },
    /// A list that must have members has none.
    #[error("a {filter} filter needs at least one {what}")]
    Empty {
        /// The filter.
        filter: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// A range that holds no row.
    #[error("row range from {start} to {stop} holds no row; its start must lie before its stop")]
    EmptyRange {
        /// Start, escaped.
        start: String,
        /// Stop, escaped.
        stop: String,
    },
    /// Key and mask of different lengths.
    #[error("fuzzy key {key} has {key_len} bytes and a mask for {mask_len}; the two must agree")]
    FuzzyLength {
        /// The key, escaped.
        key: String,
        /// Its length.
        key_len: usize,
        /// Length of the mask.
        mask_len: usize,
    },
    /// A row longer than a row can be.
    #[error("row of {found} bytes in a filter; expected at most {ROW_LEN_MAX}")]
    RowLength {
        /// Its length.
        found: usize,
    },
    /// A timestamp below zero.
    #[error("timestamp {found} in a filter is negative; expected 0 or more")]
    NegativeTimestamp {
        /// The timestamp.
        found: i64,
    },
    /// A chance that is no number.
    #[error("the chance of a random-row filter is not a number")]
    Chance,
}

impl Filter {
    /// What is wrong with the filter, if anything.
    pub fn check(&self) -> Result<(), FilterError> {
        check(self, 1)
    }
}

fn check(filter: &Filter, depth: usize) -> Result<(), FilterError> {
    if depth > DEPTH_MAX {
        return Err(FilterError::Depth { found: depth });
    }
    match filter {
        Filter::All(filters) | Filter::Any(filters) => {
            filters.iter().try_for_each(|filter| check(filter, depth + 1))
        }
        Filter::Skip(filter) | Filter::WhileMatch(filter) => check(filter, depth + 1),
        Filter::MultipleColumnPrefix { prefixes } => check_prefixes(prefixes),
        Filter::Timestamps { timestamps, .. } => match timestamps.iter().find(|&&found| found < 0) {
            Some(&found) => Err(FilterError::NegativeTimestamp { found }),
            None => Ok(()),
        },
        Filter::RandomRow { chance } if chance.is_nan() => Err(FilterError::Chance),
        Filter::MultiRowRange { ranges } => check_ranges(ranges),
        Filter::FuzzyRow { keys } => check_fuzzy(keys),
        Filter::Prefix { prefix: row } | Filter::InclusiveStop { row } => check_row(row),
        Filter::RandomRow { .. }
        | Filter::ColumnPrefix { .. }
        | Filter::ColumnRange { .. }
        | Filter::ColumnPagination { .. }
        | Filter::ColumnCountGet { .. }
        | Filter::Page { .. }
        | Filter::FirstKeyOnly
        | Filter::UpToQualifier { .. }
        | Filter::KeyOnly { .. }
        | Filter::Row { .. }
        | Filter::Family { .. }
        | Filter::Qualifier { .. }
        | Filter::Value { .. }
        | Filter::ColumnValue { .. }
        | Filter::SingleColumnValue(_)
        | Filter::DependentColumn { .. } => Ok(()),
    }
}

fn check_prefixes(prefixes: &[Bytes]) -> Result<(), FilterError> {
    let mut sorted: Vec<&Bytes> = prefixes.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(FilterError::RepeatedPrefix { prefix: Escaped(pair[0]).to_string() }),
        None => Ok(()),
    }
}

fn check_row(row: &[u8]) -> Result<(), FilterError> {
    if row.len() > ROW_LEN_MAX { Err(FilterError::RowLength { found: row.len() }) } else { Ok(()) }
}

fn check_ranges(ranges: &[RowRange]) -> Result<(), FilterError> {
    if ranges.is_empty() {
        return Err(FilterError::Empty { filter: "multi-row-range", what: "range" });
    }
    for range in ranges {
        check_row(&range.start)?;
        check_row(&range.stop)?;
        let unbounded = range.start.is_empty() || range.stop.is_empty();
        let order = range.start.cmp(&range.stop);
        if !(unbounded || order.is_lt() || order.is_eq() && range.stop_inclusive) {
            return Err(FilterError::EmptyRange {
                start: Escaped(&range.start).to_string(),
                stop: Escaped(&range.stop).to_string(),
            });
        }
    }
    Ok(())
}

fn check_fuzzy(keys: &[FuzzyKey]) -> Result<(), FilterError> {
    if keys.is_empty() {
        return Err(FilterError::Empty { filter: "fuzzy-row", what: "key" });
    }
    for FuzzyKey { key, any } in keys {
        check_row(key)?;
        if key.len() != any.len() {
            return Err(FilterError::FuzzyLength {
                key: Escaped(key).to_string(),
                key_len: key.len(),
                mask_len: any.len(),
            });
        }
    }
    Ok(())
}
