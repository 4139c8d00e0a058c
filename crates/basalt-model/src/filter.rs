// SPDX-License-Identifier: Apache-2.0
//! Filters: what a get or scan leaves out beyond keys, columns and times. Values only; the store evaluates
//! them, in the order and with the side effects that HBase's filters have.
//!
//! A comparison reads *stored value, operator, given value*: `Row { op: Greater, .. }` keeps larger rows.
//!
//! ```
//! use basalt_model::filter::{CompareOp, Filter};
//! let paid = Filter::single_column_value("d", "state", CompareOp::Equal, "paid");
//! let page = Filter::all([Filter::prefix("2026-"), paid, Filter::Page { rows: 20 }]);
//! assert!(page.check().is_ok());
//! ```

use bytes::Bytes;

mod check;
mod comparator;

pub use check::FilterError;
pub use comparator::{BitOp, Comparator};

/// How the stored value must relate to the given one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Stored < given.
    Less,
    /// Stored <= given.
    LessOrEqual,
    /// Stored = given.
    Equal,
    /// Stored <> given.
    NotEqual,
    /// Stored >= given.
    GreaterOrEqual,
    /// Stored > given.
    Greater,
    /// Keeps nothing.
    NoOp,
}

impl CompareOp {
    /// True if a stored value that compares like this with the given one is kept.
    pub fn keeps(self, stored_to_given: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => stored_to_given.is_lt(),
            Self::LessOrEqual => stored_to_given.is_le(),
            Self::Equal => stored_to_given.is_eq(),
            Self::NotEqual => stored_to_given.is_ne(),
            Self::GreaterOrEqual => stored_to_given.is_ge(),
            Self::Greater => stored_to_given.is_gt(),
            Self::NoOp => false,
        }
    }
}

/// Decides which rows and cells a reader gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Cells that pass every filter (MUST_PASS_ALL); everything if there are none.
    All(Vec<Filter>),
    /// Cells that pass at least one filter (MUST_PASS_ONE); everything if there are none.
    Any(Vec<Filter>),
    /// Leaves out a row if the filter leaves out any of its cells.
    Skip(Box<Filter>),
    /// Ends the scan as soon as the filter leaves something out.
    WhileMatch(Box<Filter>),
    /// Rows by their key.
    Row {
        /// The relation.
        op: CompareOp,
        /// The given value.
        comparator: Comparator,
    },
    /// Cells by their family.
    Family {
        /// The relation.
        op: CompareOp,
        /// The given value.
        comparator: Comparator,
    },
    /// Cells by their qualifier.
    Qualifier {
        /// The relation.
        op: CompareOp,
        /// The given value.
        comparator: Comparator,
    },
    /// Cells by their value.
    Value {
        /// The relation.
        op: CompareOp,
        /// The given value.
        comparator: Comparator,
    },
    /// Whole rows by the value of one column. The scan must read the column.
    SingleColumnValue(SingleColumnValue),
    /// Cells of one column only, by value.
    ColumnValue {
        /// Family of the column.
        family: Bytes,
        /// Qualifier of the column.
        qualifier: Bytes,
        /// The relation.
        op: CompareOp,
        /// The given value.
        comparator: Comparator,
    },
    /// Cells with the timestamp of a cell of a reference column in the same row.
    DependentColumn {
        /// Family of the reference column.
        family: Bytes,
        /// Qualifier of the reference column.
        qualifier: Bytes,
        /// Leave out the reference column itself.
        drop: bool,
        /// Only cells of the reference column whose value passes count; all if `None`.
        test: Option<(CompareOp, Comparator)>,
    },
    /// Rows that begin with these bytes; the scan ends behind them.
    Prefix {
        /// First bytes of the rows.
        prefix: Bytes,
    },
    /// Cells whose qualifier begins with these bytes.
    ColumnPrefix {
        /// First bytes of the qualifiers.
        prefix: Bytes,
    },
    /// Cells whose qualifier begins with one of several byte strings, which are distinct.
    MultipleColumnPrefix {
        /// First bytes of the qualifiers.
        prefixes: Vec<Bytes>,
    },
    /// Cells whose qualifier lies in a range.
    ColumnRange {
        /// Smallest qualifier; `None` for no bound.
        min: Option<Bytes>,
        /// `min` itself belongs to the range.
        min_inclusive: bool,
        /// Largest qualifier; `None` for no bound.
        max: Option<Bytes>,
        /// `max` itself belongs to the range.
        max_inclusive: bool,
    },
    /// Some columns of each row, one version each.
    ColumnPagination {
        /// Columns per row.
        limit: u32,
        /// Where they begin.
        offset: ColumnOffset,
    },
    /// The first columns of a row, one version each. For gets: a scan ends with the first row that has more.
    ColumnCountGet {
        /// Columns of the row.
        limit: u32,
    },
    /// A number of rows.
    Page {
        /// Rows that pass.
        rows: u64,
    },
    /// The first cell of each row.
    FirstKeyOnly,
    /// The cells of each row up to the first with one of these qualifiers; all if there is none.
    UpToQualifier {
        /// The qualifiers.
        qualifiers: Vec<Bytes>,
    },
    /// Cells without their values.
    KeyOnly {
        /// The value becomes its length, a big-endian 32-bit number.
        length_as_value: bool,
    },
    /// Rows up to and including this one.
    InclusiveStop {
        /// Last row.
        row: Bytes,
    },
    /// Cells with one of these timestamps.
    Timestamps {
        /// The timestamps, in any order.
        timestamps: Vec<i64>,
        /// Seek from timestamp to timestamp; pays for columns with very many versions.
        can_hint: bool,
    },
    /// Each row with a chance.
    RandomRow {
        /// Below 0: none; above 1: all.
        chance: f32,
    },
    /// Rows in some ranges; seeks from range to range.
    MultiRowRange {
        /// The ranges, in any order, overlapping or not.
        ranges: Vec<RowRange>,
    },
    /// Rows that equal a key in some positions; seeks from match to match.
    FuzzyRow {
        /// Keys, of which one must fit.
        keys: Vec<FuzzyKey>,
    },
}

/// See [`Filter::SingleColumnValue`].
#[derive(Debug, Clone, PartialEq)]
pub struct SingleColumnValue {
    /// Family of the column.
    pub family: Bytes,
    /// Qualifier of the column.
    pub qualifier: Bytes,
    /// The relation.
    pub op: CompareOp,
    /// The given value.
    pub comparator: Comparator,
    /// Leave out rows that lack the column. Default false.
    pub filter_if_missing: bool,
    /// Only the newest version counts; otherwise any version. Default true.
    pub latest_version_only: bool,
    /// Leave out the column itself (HBase's SingleColumnValueExcludeFilter). Default false.
    pub exclude: bool,
}

/// Where a page of columns begins; see [`Filter::ColumnPagination`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnOffset {
    /// Behind this many columns.
    Count(u32),
    /// At this qualifier.
    Qualifier(Bytes),
}

/// A range of rows with bounds that belong to it or not; an empty bound is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRange {
    /// First row.
    pub start: Bytes,
    /// `start` itself belongs to the range.
    pub start_inclusive: bool,
    /// Last row.
    pub stop: Bytes,
    /// `stop` itself belongs to the range.
    pub stop_inclusive: bool,
}

/// A key of which only some positions count; see [`Filter::FuzzyRow`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuzzyKey {
    /// The bytes.
    pub key: Bytes,
    /// For each byte of the key: true if any byte will do. As long as the key.
    pub any: Vec<bool>,
}

impl Filter {
    /// See [`Filter::All`].
    pub fn all(filters: impl IntoIterator<Item = Filter>) -> Self {
        Self::All(filters.into_iter().collect())
    }

    /// See [`Filter::Any`].
    pub fn any(filters: impl IntoIterator<Item = Filter>) -> Self {
        Self::Any(filters.into_iter().collect())
    }

    /// See [`Filter::Prefix`].
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        Self::Prefix { prefix: prefix.into() }
    }

    /// Rows by their key, compared byte by byte.
    pub fn row(op: CompareOp, row: impl Into<Bytes>) -> Self {
        Self::Row { op, comparator: Comparator::Binary(row.into()) }
    }

    /// Cells by their value, compared byte by byte.
    pub fn value(op: CompareOp, value: impl Into<Bytes>) -> Self {
        Self::Value { op, comparator: Comparator::Binary(value.into()) }
    }

    /// Rows whose column has such a value, compared byte by byte; rows without the column pass.
    pub fn single_column_value(
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        op: CompareOp,
        value: impl Into<Bytes>,
    ) -> Self {
        Self::SingleColumnValue(SingleColumnValue {
            family: family.into(),
            qualifier: qualifier.into(),
            op,
            comparator: Comparator::Binary(value.into()),
            filter_if_missing: false,
            latest_version_only: true,
            exclude: false,
        })
    }

    /// True if the decision about a row needs all of its cells: such a filter cannot be combined with
    /// results that cut rows.
    pub fn needs_whole_rows(&self) -> bool {
        match self {
            Self::All(filters) | Self::Any(filters) => filters.iter().any(Self::needs_whole_rows),
            Self::Skip(_)
            | Self::WhileMatch(_)
            | Self::SingleColumnValue(_)
            | Self::DependentColumn { .. }
            | Self::Page { .. }
            | Self::RandomRow { .. } => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
