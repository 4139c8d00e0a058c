// SPDX-License-Identifier: Apache-2.0
//! Predicates on the rows of a row group: answered by the head if they can be, else by the bounds of a vector, else
//! value by value on the numbers and strings as they are stored.

use std::cmp::Ordering;
use std::ops::Bound as End;
use std::sync::Arc;

use basalt_model::{ColumnRef, TableSchema};

use super::VECTOR;
use super::block::ColumnarBlock;
use super::bound::{Bound, Bounds, TextBound};
use super::form::Form;
use super::head::Kind;
use super::mask::Mask;
use super::sets::{DecimalSet, IntSet, RANGES_TRIED_MAX, TextRange, TextSet};
use super::vectors::{ColumnVector, Held, Stored, VectorValues};
use crate::error::Result;
use crate::predicate::{NumberSet, Operand, Predicate, ValueRange};

/// How many of some rows satisfy a predicate, as far as it is known without looking at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No row.
    None,
    /// Perhaps some.
    Some,
    /// Every row.
    All,
}

/// A predicate in the terms of one row group.
#[derive(Debug)]
pub struct BoundPredicate {
    node: Node,
    exact: bool,
}

#[derive(Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Leaf(Stored, Test),
}

/// What is asked of one column.
#[derive(Debug, Clone)]
enum Test {
    Null,
    /// A number of these ranges.
    Ints(Arc<IntSet>),
    /// One of these numbers.
    Among(Arc<NumberSet>),
    /// A string of these.
    Texts(Arc<TextSet>),
    /// A DECIMAL of these.
    Decimals(Arc<DecimalSet>),
}

impl BoundPredicate {
    /// True if rows that pass satisfy the predicate; else they may, and others do not.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The verdict on all rows of the block. Answered by the head.
    pub fn of_block(&self, block: &ColumnarBlock) -> Verdict {
        self.of_facts(|stored| Some(block.facts_of(stored)))
    }

    /// The verdict on rows of which this is known.
    pub(super) fn of_facts(&self, facts: impl Fn(Stored) -> Option<Facts>) -> Verdict {
        self.node.verdict(&|stored| Ok(facts(stored))).expect("nothing is read")
    }

    /// The verdict on the rows of a vector. Reads the headers of sections.
    pub fn of_vector(&self, block: &ColumnarBlock, vector: usize) -> Result<Verdict> {
        self.node.verdict(&|stored| block.facts_of_vector(stored, vector))
    }

    /// The rows of a vector that pass.
    pub(crate) fn select(&self, block: &ColumnarBlock, vector: usize, held: &mut Held) -> Result<Mask> {
        self.node.select(block, vector, Mask::of_range(0..block.rows_of(vector)), held)
    }

    /// The numbers of the columns whose cells are looked at, and whether key parts are.
    pub fn columns(&self) -> (Vec<usize>, bool) {
        let (mut columns, mut key) = (Vec::new(), false);
        self.node.stored(&mut |stored| match stored {
            Stored::Column(column) => columns.push(column),
            Stored::Part(_) => key = true,
        });
        columns.sort_unstable();
        columns.dedup();
        (columns, key)
    }
}

impl Node {
    fn constant(holds: bool) -> Self {
        if holds { Self::All(Vec::new()) } else { Self::Any(Vec::new()) }
    }

    fn verdict(&self, facts: &impl Fn(Stored) -> Result<Option<Facts>>) -> Result<Verdict> {
        let (parts, decided, start) = match self {
            Self::All(parts) => (parts, Verdict::None, Verdict::All),
            Self::Any(parts) => (parts, Verdict::All, Verdict::None),
            Self::Leaf(stored, test) => {
                return Ok(facts(*stored)?.map_or(Verdict::Some, |facts| test.verdict(&facts)));
            }
        };
        let mut verdict = start;
        for part in parts {
            match part.verdict(facts)? {
                part if part == decided => return Ok(decided),
                part if part == start => {}
                _ => verdict = Verdict::Some,
            }
        }
        Ok(verdict)
    }

    /// Those of `among` that pass.
    fn select(&self, block: &ColumnarBlock, vector: usize, among: Mask, held: &mut Held) -> Result<Mask> {
        match self {
            Self::All(parts) => {
                let mut left = among;
                for part in parts {
                    if left.is_none() {
                        break;
                    }
                    // What the vector's bounds say of one part need not be asked of its rows.
                    left = match part.verdict(&|stored| block.facts_of_vector(stored, vector))? {
                        Verdict::All => left,
                        Verdict::None => Mask::NONE,
                        Verdict::Some => part.select(block, vector, left, held)?,
                    };
                }
                Ok(left)
            }
            Self::Any(parts) => {
                let mut passed = Mask::NONE;
                for part in parts {
                    passed = passed.or(part.select(block, vector, among, held)?);
                }
                Ok(passed)
            }
            Self::Leaf(stored, Test::Null) => {
                Ok(block.rows_with_value(*stored, vector)?.others(block.rows_of(vector)).and(among))
            }
            Self::Leaf(stored, test) => {
                if let Some(mask) = block.select_packed(*stored, test, vector)? {
                    return Ok(mask.and(among));
                }
                let column = held.vector(block, *stored, vector)?;
                Ok(test.rows_of(column).and(among))
            }
        }
    }

    fn stored(&self, f: &mut impl FnMut(Stored)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.stored(f)),
            Self::Leaf(stored, _) => f(*stored),
        }
    }
}

/// What is known of some values.
pub(crate) struct Facts {
    rows: usize,
    /// Rows with a value.
    pub(crate) values: usize,
    /// Of the values, if there are any.
    bounds: Option<Bounds>,
}

impl Facts {
    pub(super) fn new(rows: usize, values: usize, bounds: Option<Bounds>) -> Self {
        Self { rows, values, bounds }
    }

    /// The least and the greatest, of numbers.
    pub(crate) fn extremes(&self) -> Option<(i64, i64)> {
        match self.bounds {
            Some(Bounds { min: Bound::Int(min), max: Bound::Int(max) }) => Some((min, max)),
            _ => None,
        }
    }

    /// The same of texts, as far as their bounds go.
    pub(crate) fn text_extremes(&self) -> Option<(&TextBound, &TextBound)> {
        match &self.bounds {
            Some(Bounds { min: Bound::Text(min), max: Bound::Text(max) }) => Some((min, max)),
            _ => None,
        }
    }
}

/// Puts a predicate in the terms of one row group after the other. What it makes of long lists of values serves all of them.
#[derive(Debug, Default)]
pub struct Binder {
    predicate: Option<Arc<Predicate>>,
    /// What became of each of the predicate's lists of ranges, for values of a form.
    tests: Vec<Option<(Form, Option<Test>)>>,
}

/// A predicate on its way into the terms of a row group.
struct Binding<'a> {
    block: &'a ColumnarBlock,
    table: &'a TableSchema,
    tests: &'a mut Vec<Option<(Form, Option<Test>)>>,
    /// Lists of ranges that were met.
    lists: usize,
    exact: bool,
}

impl Binder {
    /// A predicate on a table's columns in the terms of a block, which must be plain.
    pub fn bind(
        &mut self,
        predicate: &Arc<Predicate>,
        block: &ColumnarBlock,
        table: &TableSchema,
    ) -> BoundPredicate {
        if !self.predicate.as_ref().is_some_and(|known| Arc::ptr_eq(known, predicate)) {
            *self = Self { predicate: Some(Arc::clone(predicate)), tests: Vec::new() };
        }
        let mut binding = Binding { block, table, tests: &mut self.tests, lists: 0, exact: true };
        let node = binding.node_of(predicate);
        BoundPredicate { node, exact: binding.exact }
    }
}

impl Binding<'_> {
    /// What cannot be answered becomes "perhaps".
    fn node_of(&mut self, predicate: &Predicate) -> Node {
        let stored = |column: &ColumnRef| self.block.stored(*column, self.table);
        match predicate {
            Predicate::All(parts) => Node::All(parts.iter().map(|part| self.node_of(part)).collect()),
            Predicate::Any(parts) => Node::Any(parts.iter().map(|part| self.node_of(part)).collect()),
            Predicate::Null(column) => match stored(column) {
                Some(Some(stored)) => Node::Leaf(stored, Test::Null),
                Some(None) => Node::constant(true),
                None => self.perhaps(),
            },
            Predicate::Among(column, numbers) => match stored(column) {
                Some(Some(stored)) => match self.block.form_of(stored) {
                    Form::Signed(_) | Form::Unsigned(_) => {
                        Node::Leaf(stored, Test::Among(Arc::clone(numbers)))
                    }
                    _ => self.perhaps(),
                },
                Some(None) => Node::constant(false),
                None => self.perhaps(),
            },
            Predicate::Within(column, ranges) => {
                let stored = stored(column);
                self.lists += 1;
                match stored {
                    Some(Some(stored)) => match self.test_of(self.block.form_of(stored), ranges) {
                        Some(test) => Node::Leaf(stored, test),
                        None => self.perhaps(),
                    },
                    Some(None) => Node::constant(false),
                    None => self.perhaps(),
                }
            }
        }
    }

    /// The test of the list of ranges that was met last.
    fn test_of(&mut self, form: Form, ranges: &[ValueRange]) -> Option<Test> {
        self.tests.resize(self.tests.len().max(self.lists), None);
        match &mut self.tests[self.lists - 1] {
            Some((known, test)) if *known == form => test.clone(),
            other => other.insert((form, Test::of_ranges(form, ranges))).1.clone(),
        }
    }

    fn perhaps(&mut self) -> Node {
        self.exact = false;
        Node::constant(true)
    }
}

impl ColumnarBlock {
    /// Where a column is stored: `Some(None)` if no row of the block has a value of it, `None` if its values cannot
    /// be told from the others of the row key.
    fn stored(&self, column: ColumnRef, table: &TableSchema) -> Option<Option<Stored>> {
        match column {
            ColumnRef::Key(index) => {
                let part = self.key_parts().get(index)?;
                let own = self.key_parts().len() == table.key.len() && part.is_of(&table.key[index]);
                own.then_some(Some(Stored::Part(index)))
            }
            ColumnRef::Column(index) => {
                Some(self.column(&table.columns[index].qualifier).map(Stored::Column))
            }
        }
    }

    /// How values are stored.
    pub(crate) fn form_of(&self, stored: Stored) -> Form {
        match stored {
            Stored::Part(part) => self.key_parts()[part].form,
            Stored::Column(column) => self.column_head(column).form,
        }
    }

    /// Of all values of a plain block. Answered by the head.
    pub(crate) fn facts_of(&self, stored: Stored) -> Facts {
        let (kind, subject) = stored.values_section();
        let entry = self.head.entry(kind, subject);
        let values = entry.map_or(0, |entry| entry.values as usize);
        Facts { rows: self.rows(), values, bounds: entry.map(|entry| entry.bounds) }
    }

    /// The rows of a vector that pass, if that can be told from its numbers as they are packed.
    fn select_packed(&self, stored: Stored, test: &Test, vector: usize) -> Result<Option<Mask>> {
        let Test::Ints(set) = test else { return Ok(None) };
        let ranges = set.ranges();
        let (kind, subject) = stored.values_section();
        let is_tried = ranges.len() <= RANGES_TRIED_MAX && !self.is_beside(stored);
        let Some(section) = self.section(kind, subject)?.filter(|_| is_tried) else {
            return Ok(None);
        };
        // Every row has one value, as no row of a plain block has two.
        if self.facts_of(stored).values == self.rows() {
            return section.within(vector, self.rows_of(vector), ranges);
        }
        let (values, places) = self.places(stored, vector)?;
        let among_values = section.within(vector, values, ranges)?;
        Ok(among_values.map(|mask| places.map_or(mask, |places| mask.at_places(&places))))
    }

    /// Of the values of a vector; `None` if nothing is known. Reads the header of the section.
    pub(crate) fn facts_of_vector(&self, stored: Stored, vector: usize) -> Result<Option<Facts>> {
        let (kind, subject) = stored.values_section();
        let of_block = self.facts_of(stored);
        let rows = self.rows_of(vector);
        if of_block.values == 0 {
            return Ok(Some(Facts { rows, ..of_block }));
        }
        let section = self.section(kind, subject)?;
        if let Some((values, bounds)) = section.and_then(|section| section.facts_of(vector)) {
            return Ok(Some(Facts { rows, values, bounds: (values > 0).then_some(*bounds) }));
        }
        // One value for all rows: how many of the vector's rows have it is known only if all do.
        let full = of_block.values == of_block.rows;
        Ok(full.then_some(Facts { rows, values: rows, bounds: of_block.bounds }))
    }
}

impl Stored {
    pub(super) fn values_section(self) -> (Kind, u16) {
        match self {
            Self::Part(part) => (Kind::KeyValues, part as u16),
            Self::Column(column) => (Kind::Values, column as u16),
        }
    }
}

impl Test {
    /// `None` if values of the form cannot be compared so.
    fn of_ranges(form: Form, ranges: &[ValueRange]) -> Option<Self> {
        let all = ranges.contains(&ValueRange::ALL);
        if form == Form::Bytes {
            // Whatever the values are, all of them are wanted.
            if all {
                return Some(Self::of_texts(vec![(End::Unbounded, End::Unbounded)]));
            }
            let texts = ranges.iter().map(|range| Some((text_end(&range.low)?, text_end(&range.high)?)));
            return texts.collect::<Option<_>>().map(Self::of_texts);
        }
        let ranges = ranges.iter().map(|range| number_range(form, range)).collect::<Option<_>>()?;
        Some(match form {
            Form::LongDecimal(scale) => Self::Decimals(Arc::new(DecimalSet::new(scale, ranges))),
            _ => Self::Ints(Arc::new(IntSet::new(ranges.into_iter().filter_map(in_64_bits).collect()))),
        })
    }

    fn of_texts(ranges: Vec<TextRange>) -> Self {
        Self::Texts(Arc::new(TextSet::new(ranges)))
    }

    /// The strings that pass, of a test of values that are stored as strings.
    fn texts(&self) -> Option<&TextSet> {
        match self {
            Self::Texts(set) => Some(set),
            Self::Decimals(set) => Some(set.texts()),
            Self::Null | Self::Ints(_) | Self::Among(_) => None,
        }
    }

    fn verdict(&self, facts: &Facts) -> Verdict {
        let full = facts.values == facts.rows;
        match (self, &facts.bounds) {
            (Self::Null, _) if facts.values == 0 => Verdict::All,
            (Self::Null, _) if full => Verdict::None,
            (Self::Null, _) => Verdict::Some,
            (_, None) => Verdict::None,
            (Self::Ints(set), Some(Bounds { min: Bound::Int(min), max: Bound::Int(max) })) => {
                match set.overlapping(*min, *max) {
                    [] => Verdict::None,
                    [(low, high)] if full && low <= min && max <= high => Verdict::All,
                    _ => Verdict::Some,
                }
            }
            (Self::Among(set), Some(Bounds { min: Bound::Int(min), max: Bound::Int(max) })) => {
                if set.has_between(*min, *max) { Verdict::Some } else { Verdict::None }
            }
            (_, Some(Bounds { min: Bound::Text(min), max: Bound::Text(max) }))
                if let Some(set) = self.texts() =>
            {
                if set.none_between(min, max) {
                    Verdict::None
                } else if full && set.all_between(min, max) {
                    Verdict::All
                } else {
                    Verdict::Some
                }
            }
            _ => Verdict::Some,
        }
    }

    /// The rows whose value passes; of a test of values.
    fn rows_of(&self, column: &ColumnVector) -> Mask {
        let texts = self.texts();
        let values = match (self, &column.values) {
            (Self::Decimals(set), VectorValues::Digits(digits)) => set.of(digits),
            (Self::Ints(set), VectorValues::Narrow(values)) => set.of_narrow(values),
            (Self::Ints(set), VectorValues::Wide(values)) => set.of_wide(values),
            (Self::Among(set), VectorValues::Narrow(values)) => {
                Mask::of_tests(values.len(), |at| set.has(i64::from(values[at] as i32)))
            }
            (Self::Among(set), VectorValues::Wide(values)) => {
                Mask::of_tests(values.len(), |at| set.has(values[at] as i64))
            }
            (_, VectorValues::Texts(values)) if let Some(set) = texts => set.of(values),
            (_, VectorValues::Codes(dictionary, codes)) if let Some(set) = texts => {
                match dictionary.len() <= VECTOR {
                    true => set.of(&dictionary.strings()).of_members(codes),
                    false => set.of(&dictionary.strings_of(codes)),
                }
            }
            // Only a vector without values has another kind than its form says.
            _ => Mask::NONE,
        };
        column.places.as_ref().map_or(values, |places| values.at_places(places))
    }
}

fn text_end(end: &End<Operand>) -> Option<End<Vec<u8>>> {
    Some(match end {
        End::Unbounded => End::Unbounded,
        End::Included(Operand::Text(text)) => End::Included(text.clone()),
        End::Excluded(Operand::Text(text)) => End::Excluded(text.clone()),
        _ => return None,
    })
}

/// A range in the numbers of a form, inclusive, whose ends may lie beyond them all, or the low one above the high one; `None` if they
/// cannot be compared.
fn number_range(form: Form, range: &ValueRange) -> Option<(i128, i128)> {
    let low = match &range.low {
        End::Unbounded => i128::MIN,
        End::Included(operand) => {
            let (floor, exact) = floor_of(form, operand)?;
            if exact { floor } else { floor.saturating_add(1) }
        }
        End::Excluded(operand) => floor_of(form, operand)?.0.saturating_add(1),
    };
    let high = match &range.high {
        End::Unbounded => i128::MAX,
        End::Included(operand) => floor_of(form, operand)?.0,
        End::Excluded(operand) => {
            let (floor, exact) = floor_of(form, operand)?;
            if exact { floor.saturating_sub(1) } else { floor }
        }
    };
    Some((low, high))
}

/// Those numbers of a range that have 64 bits, if there are any.
fn in_64_bits((low, high): (i128, i128)) -> Option<(i64, i64)> {
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let some = low <= high && low <= most && high >= least;
    some.then(|| (low.max(least) as i64, high.min(most) as i64))
}

/// The largest integer of a form that is not above the operand, and whether it is equal.
fn floor_of(form: Form, operand: &Operand) -> Option<(i128, bool)> {
    let scale = match form {
        Form::Signed(_) | Form::Unsigned(_) | Form::Timestamp | Form::UnsignedTimestamp => 0,
        Form::Decimal(scale) | Form::LongDecimal(scale) => i32::from(scale),
        Form::Float(width) | Form::RawFloat(width) => return sortable(width, operand).map(|at| (at, true)),
        Form::Bytes => return None,
    };
    let (digits, operand_scale) = match operand {
        Operand::Integer(number) => (i128::from(*number), 0),
        Operand::Decimal(number) => (number.unscaled, number.scale),
        Operand::Float(_) | Operand::Text(_) => return None,
    };
    let shift = scale.checked_sub(operand_scale)?;
    let Some(power) = 10i128.checked_pow(shift.unsigned_abs()) else {
        // Beyond all numbers that can be stored, or a fraction too small to matter.
        return Some(match (shift > 0, digits.cmp(&0)) {
            (_, Ordering::Equal) => (0, true),
            (true, Ordering::Greater) => (i128::MAX, true),
            (true, Ordering::Less) => (i128::MIN, true),
            (false, Ordering::Greater) => (0, false),
            (false, Ordering::Less) => (-1, false),
        });
    };
    Some(if shift >= 0 {
        (digits.saturating_mul(power), true)
    } else {
        (digits.div_euclid(power), digits.rem_euclid(power) == 0)
    })
}

fn sortable(width: u8, operand: &Operand) -> Option<i128> {
    let Operand::Float(number) = operand else { return None };
    if width == 8 {
        return Some(i128::from(super::alp::sortable_64(number.to_bits()) as i64));
    }
    let narrow = *number as f32;
    let same = f64::from(narrow).to_bits() == number.to_bits();
    same.then(|| i128::from(super::alp::sortable_32(narrow.to_bits()) as i32))
}

#[cfg(test)]
mod tests;
