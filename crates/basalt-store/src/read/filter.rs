// SPDX-License-Identifier: Apache-2.0
//! Evaluates filters, cell by cell, with the verdicts and side effects of HBase's (2.6). Applications rely on
//! them: a filter sees only what the ones before it in a list let pass, counts what it saw, and may end a
//! column, a row of a family, or the scan.
//!
//! For each row the reader asks [`CellFilter::drops_row_key`], then [`CellFilter::check`] for each version that
//! deletes and VERSIONS left, then [`CellFilter::edit_row`] and [`CellFilter::drops_row`], then
//! [`CellFilter::reset`].
//!
//! Of rows that lie whole in a block, with one version of each column, it may ask [`CellFilter::leaves_out`] before all that: many in a row, without
//! setting out for any of them.
//!
//! | module | filters |
//! |---|---|
//! | [`compare`] | comparators; by row, family, qualifier, value |
//! | [`column`] | by qualifier, position or timestamp |
//! | [`test`] | by the value of one column |
//! | [`row`] | by row key: prefix, stop, page, chance |
//! | [`ranges`], [`fuzzy`] | by row key, seeking |
//! | [`list`] | AND, OR, skip, while-match |

use std::ops::Range;

use basalt_hfile::CellBlock;
use basalt_model::CellRef;
use basalt_model::filter::{Filter, FilterError};

use super::result::{Row, ValueForm};
use super::seek::SeekKey;
use crate::{Error, Result};

mod column;
mod compare;
mod decimal;
mod fuzzy;
mod list;
mod ranges;
mod row;
mod test;

/// What a filter thinks of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Include,
    /// Include it; the column is done.
    IncludeNextColumn,
    /// Include it; the family of this row is done.
    IncludeNextRow,
    Skip,
    /// Leave out the rest of the column.
    NextColumn,
    /// Leave out the rest of the row in this family.
    NextRow,
    /// Leave out everything up to [`CellFilter::hint`].
    Seek,
}

impl Verdict {
    pub(crate) fn includes(self) -> bool {
        matches!(self, Self::Include | Self::IncludeNextColumn | Self::IncludeNextRow)
    }
}

/// Why a filter could not judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterFault {
    /// A number was to be compared with something else.
    #[error("a comparator of 64-bit numbers met a value of {found} bytes; expected 8")]
    NotALong {
        /// Length of the value.
        found: usize,
    },
    /// A decimal number was to be compared with something else.
    #[error(
        "a comparator of decimal numbers met a value of {found} bytes; expected 5 to {}",
        decimal::LEN_MAX
    )]
    NotADecimal {
        /// Length of the value.
        found: usize,
    },
    /// Ranges were asked about cells before they saw the row.
    #[error("a multi-row-range filter inside a skip filter never learns of rows")]
    Unpositioned,
    /// One filter of a list ended the scan while another one said where to go on.
    #[error("a fuzzy-row filter in a list knows no further row while its neighbours do")]
    NoFurtherRow,
    /// A pattern that cannot be compiled.
    #[error("pattern {pattern:?} is not understood: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The compiler's words.
        why: String,
    },
}

/// A stored cell as a filter sees it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) cell: CellRef<'a>,
    /// It was not written to a store file yet.
    pub(crate) in_memory: bool,
}

impl<'a> std::ops::Deref for Seen<'a> {
    type Target = CellRef<'a>;

    fn deref(&self) -> &CellRef<'a> {
        &self.cell
    }
}

/// A row all of whose cells in its family lie in a block, one version of each column, all of them visible.
pub(crate) struct WholeRow<'a> {
    pub(crate) block: &'a CellBlock,
    pub(crate) cells: Range<usize>,
    pub(crate) in_memory: bool,
}

impl<'a> WholeRow<'a> {
    /// Its key.
    pub(crate) fn key(&self) -> &'a [u8] {
        self.block.row(self.cells.start)
    }

    /// Its cells, as a filter sees them.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Seen<'a>> {
        let (block, in_memory) = (self.block, self.in_memory);
        self.cells.clone().map(move |at| Seen { cell: block.cell(at), in_memory })
    }

    /// The cell of a column.
    pub(crate) fn cell(&self, family: &[u8], qualifier: &[u8]) -> Option<Seen<'a>> {
        let is_it = |at: &usize| {
            let slot = &self.block.slots[*at];
            self.block.qualifier_of(slot) == qualifier && self.block.family_of(slot) == family
        };
        let at = self.cells.clone().find(is_it)?;
        Some(Seen { cell: self.block.cell(at), in_memory: self.in_memory })
    }
}

/// A filter at work. The defaults let everything pass.
pub(crate) trait CellFilter: Send {
    /// Forgets the row.
    fn reset(&mut self) {}

    /// True if nothing passes any more.
    fn all_remaining(&self) -> bool {
        false
    }

    /// True if the row is left out by its key; `first` is its first stored cell.
    fn drops_row_key(&mut self, first: &CellRef<'_>) -> Result<bool> {
        let _ = first;
        Ok(false)
    }

    fn check(&mut self, cell: &Seen<'_>) -> Result<Verdict>;

    /// Where to go on after [`Verdict::Seek`]; `None` for the next cell.
    fn hint(&mut self, cell: &CellRef<'_>) -> Result<Option<SeekKey>> {
        let _ = cell;
        Ok(None)
    }

    /// The value that the reader gets of an included cell.
    fn value_form(&self, form: ValueForm) -> ValueForm {
        form
    }

    /// Takes cells out of the row that passed.
    fn edit_row(&mut self, row: &mut Row) {
        let _ = row;
    }

    /// True if the whole row is left out after all.
    fn drops_row(&mut self) -> bool {
        false
    }

    /// True if [`CellFilter::edit_row`] or [`CellFilter::drops_row`] must see whole rows.
    fn needs_whole_rows(&self) -> bool {
        false
    }

    /// False if the decision about a row does not depend on this family.
    fn needs_family(&self, family: &[u8]) -> bool {
        let _ = family;
        true
    }

    /// True if the filter may answer [`Verdict::Seek`].
    fn may_seek(&self) -> bool {
        false
    }

    /// True if what it says of a row does not depend on those before, and it need not be asked about rows that are left out anyway.
    fn forgets_rows(&self) -> bool {
        false
    }

    /// True if nothing of the row passes, for certain. Asked only of filters that [forget rows](Self::forgets_rows).
    fn leaves_out(&self, row: &WholeRow<'_>) -> Result<bool> {
        let _ = row;
        Ok(false)
    }

    /// True if it may take single cells out of a row that others then do not see.
    fn hides_cells(&self) -> bool {
        true
    }
}

/// Sets a filter up for one scan. `reversed`: rows come in descending order. `chance` gives random numbers.
pub(crate) fn compile(
    filter: &Filter,
    reversed: bool,
    chance: &dyn Fn() -> u64,
) -> Result<Box<dyn CellFilter>> {
    filter.check().map_err(|error: FilterError| Error::BadFilter(error))?;
    build(filter, reversed, chance)
}

fn build(filter: &Filter, reversed: bool, chance: &dyn Fn() -> u64) -> Result<Box<dyn CellFilter>> {
    let members = |filters: &[Filter]| -> Result<Vec<Box<dyn CellFilter>>> {
        filters.iter().map(|filter| build(filter, reversed, chance)).collect()
    };
    Ok(match filter {
        Filter::All(filters) => Box::new(list::All::new(members(filters)?, reversed)),
        Filter::Any(filters) => Box::new(list::Any::new(members(filters)?, reversed)),
        // In HBase these two do not tell the filter in them that rows descend.
        Filter::Skip(filter) => Box::new(list::Skip::new(build(filter, false, chance)?)),
        Filter::WhileMatch(filter) => Box::new(list::WhileMatch::new(build(filter, false, chance)?)),
        Filter::Row { op, comparator } => Box::new(compare::ByRow::new(*op, comparator)?),
        Filter::Family { op, comparator } => Box::new(compare::ByFamily::new(*op, comparator)?),
        Filter::Qualifier { op, comparator } => Box::new(compare::ByQualifier::new(*op, comparator)?),
        Filter::Value { op, comparator } => Box::new(compare::ByValue::new(*op, comparator)?),
        Filter::SingleColumnValue(of) => Box::new(test::SingleColumn::new(of)?),
        Filter::ColumnValue { family, qualifier, op, comparator } => {
            Box::new(test::OneColumn::new(family.clone(), qualifier.clone(), *op, comparator)?)
        }
        Filter::DependentColumn { family, qualifier, drop, test } => {
            Box::new(test::Dependent::new(family.clone(), qualifier.clone(), *drop, test.as_ref())?)
        }
        Filter::Prefix { prefix } => Box::new(row::Prefix::new(prefix.clone(), reversed)),
        Filter::ColumnPrefix { prefix } => Box::new(column::Prefix::new(prefix.clone())),
        Filter::MultipleColumnPrefix { prefixes } => Box::new(column::Prefixes::new(prefixes)),
        Filter::ColumnRange { min, min_inclusive, max, max_inclusive } => {
            Box::new(column::Range::new((min.clone(), *min_inclusive), (max.clone(), *max_inclusive)))
        }
        Filter::ColumnPagination { limit, offset } => Box::new(column::Page::new(*limit, offset.clone())),
        Filter::ColumnCountGet { limit } => Box::new(column::Count::new(*limit)),
        Filter::Page { rows } => Box::new(row::Page::new(*rows)),
        Filter::FirstKeyOnly => Box::new(column::First::default()),
        Filter::UpToQualifier { qualifiers } => Box::new(column::UpTo::new(qualifiers)),
        Filter::KeyOnly { length_as_value } => Box::new(column::KeyOnly::new(*length_as_value)),
        Filter::InclusiveStop { row } => Box::new(row::InclusiveStop::new(row.clone(), reversed)),
        Filter::Timestamps { timestamps, can_hint } => Box::new(column::Times::new(timestamps, *can_hint)),
        Filter::RandomRow { chance: share } => Box::new(row::Random::new(*share, chance())),
        Filter::MultiRowRange { ranges } => Box::new(ranges::Ranges::new(ranges, reversed)),
        Filter::FuzzyRow { keys } => Box::new(fuzzy::Fuzzy::new(keys, reversed)),
    })
}

#[cfg(test)]
mod tests;
