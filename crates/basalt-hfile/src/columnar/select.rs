// SPDX-License-Identifier: Apache-2.0
//! Predicates on the rows of a row group: answered by the head if they can be, else by the bounds of a vector, else
//! value by value on the numbers and strings as they are stored.

use std::cmp::Ordering;
use std::ops::Bound as End;

use basalt_model::{ColumnRef, TableSchema};

use super::VECTOR;
use super::block::ColumnarBlock;
use super::bound::{Bound, Bounds, TextBound};
use super::form::Form;
use super::head::Kind;
use super::mask::Mask;
use super::strings::Strings;
use super::vectors::{ColumnVector, Held, Place, Stored, VectorValues};
use crate::error::Result;
use crate::predicate::{Operand, Predicate, ValueRange};

/// Ranges of integers that are tried one after the other; of more, the one that matters is searched for.
const RANGES_TRIED_MAX: usize = 4;

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
#[derive(Debug)]
enum Test {
    Null,
    /// A number within one of these ranges, inclusive, ascending and apart.
    Ints(Vec<(i64, i64)>),
    /// A string within one of these ranges.
    Texts(Vec<TextRange>),
}

type TextRange = (End<Vec<u8>>, End<Vec<u8>>);

impl BoundPredicate {
    /// True if rows that pass satisfy the predicate; else they may, and others do not.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The verdict on all rows of the block. Answered by the head.
    pub fn of_block(&self, block: &ColumnarBlock) -> Verdict {
        let facts = |stored: Stored| Ok(Some(block.facts_of(stored)));
        self.node.verdict(&facts).expect("nothing is read")
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
                    left = part.select(block, vector, left, held)?;
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
            Self::Leaf(stored, test) => {
                if let Some(mask) = block.select_packed(*stored, test, vector)? {
                    return Ok(mask.and(among));
                }
                let column = held.vector(block, *stored, vector)?;
                Ok(test.rows_of(column, block.rows_of(vector)).and(among))
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
struct Facts {
    rows: usize,
    /// Rows with a value.
    values: usize,
    /// Of the values, if there are any.
    bounds: Option<Bounds>,
}

impl ColumnarBlock {
    /// A predicate on a table's columns in the terms of this block, which must be plain.
    pub fn bind(&self, predicate: &Predicate, table: &TableSchema) -> BoundPredicate {
        let mut exact = true;
        let node = self.node_of(predicate, table, &mut exact);
        BoundPredicate { node, exact }
    }

    /// What cannot be answered becomes "perhaps".
    fn node_of(&self, predicate: &Predicate, table: &TableSchema, exact: &mut bool) -> Node {
        match predicate {
            Predicate::All(parts) => {
                Node::All(parts.iter().map(|part| self.node_of(part, table, exact)).collect())
            }
            Predicate::Any(parts) => {
                Node::Any(parts.iter().map(|part| self.node_of(part, table, exact)).collect())
            }
            Predicate::Null(column) => match self.stored(*column, table) {
                Some(Some(stored)) => Node::Leaf(stored, Test::Null),
                Some(None) => Node::constant(true),
                None => perhaps(exact),
            },
            Predicate::Within(column, ranges) => match self.stored(*column, table) {
                Some(Some(stored)) => {
                    let test = Test::of_ranges(self.form_of(stored), ranges);
                    test.map_or_else(|| perhaps(exact), |test| Node::Leaf(stored, test))
                }
                Some(None) => Node::constant(false),
                None => perhaps(exact),
            },
        }
    }

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

    fn form_of(&self, stored: Stored) -> Form {
        match stored {
            Stored::Part(part) => self.key_parts()[part].form,
            Stored::Column(column) => self.column_head(column).form,
        }
    }

    fn facts_of(&self, stored: Stored) -> Facts {
        let (kind, subject) = stored.values_section();
        let entry = self.head.entry(kind, subject);
        let values = entry.map_or(0, |entry| entry.values as usize);
        Facts { rows: self.rows(), values, bounds: entry.map(|entry| entry.bounds) }
    }

    /// The rows of a vector that pass, if that can be told from its numbers as they are packed.
    fn select_packed(&self, stored: Stored, test: &Test, vector: usize) -> Result<Option<Mask>> {
        let Test::Ints(ranges) = test else { return Ok(None) };
        // Every row has one value, as no row of a plain block has two.
        let is_full = self.facts_of(stored).values == self.rows();
        if !is_full || ranges.len() > RANGES_TRIED_MAX {
            return Ok(None);
        }
        let (kind, subject) = stored.values_section();
        let section = self.section(kind, subject)?;
        section.map_or(Ok(None), |section| section.within(vector, self.rows_of(vector), ranges))
    }

    /// `None` if nothing is known.
    fn facts_of_vector(&self, stored: Stored, vector: usize) -> Result<Option<Facts>> {
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

fn perhaps(exact: &mut bool) -> Node {
    *exact = false;
    Node::constant(true)
}

impl Stored {
    fn values_section(self) -> (Kind, u16) {
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
                return Some(Self::Texts(vec![(End::Unbounded, End::Unbounded)]));
            }
            let texts = ranges.iter().map(|range| Some((text_end(&range.low)?, text_end(&range.high)?)));
            return texts.collect::<Option<_>>().map(Self::Texts);
        }
        let mut ints = Vec::with_capacity(ranges.len());
        for range in ranges {
            ints.extend(int_range(form, range)?);
        }
        ints.sort_unstable();
        let mut apart: Vec<(i64, i64)> = Vec::with_capacity(ints.len());
        for (low, high) in ints {
            match apart.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => apart.push((low, high)),
            }
        }
        Some(Self::Ints(apart))
    }

    fn verdict(&self, facts: &Facts) -> Verdict {
        let full = facts.values == facts.rows;
        match (self, &facts.bounds) {
            (Self::Null, _) if facts.values == 0 => Verdict::All,
            (Self::Null, _) if full => Verdict::None,
            (Self::Null, _) => Verdict::Some,
            (_, None) => Verdict::None,
            (Self::Ints(ranges), Some(Bounds { min: Bound::Int(min), max: Bound::Int(max) })) => {
                match overlapping(ranges, *min, *max) {
                    [] => Verdict::None,
                    [(low, high)] if full && low <= min && max <= high => Verdict::All,
                    _ => Verdict::Some,
                }
            }
            (Self::Texts(ranges), Some(Bounds { min: Bound::Text(min), max: Bound::Text(max) })) => {
                if ranges.iter().all(|(low, high)| is_below(high, min) || is_above(low, max)) {
                    Verdict::None
                } else if full
                    && ranges.iter().any(|(low, high)| admits_from(low, min) && admits_to(high, max))
                {
                    Verdict::All
                } else {
                    Verdict::Some
                }
            }
            _ => Verdict::Some,
        }
    }

    /// The rows whose value passes.
    fn rows_of(&self, column: &ColumnVector, rows: usize) -> Mask {
        let places = column.places.as_deref();
        if let Self::Null = self {
            return match places {
                None => Mask::NONE,
                Some(places) => Mask::of_tests(rows, |row| !matches!(places[row], Place::Value(_))),
            };
        }
        let values = match (self, &column.values) {
            (Self::Ints(ranges), VectorValues::Narrow(values)) => narrow_within(values, ranges),
            (Self::Ints(ranges), VectorValues::Wide(values)) => wide_within(values, ranges),
            (Self::Texts(ranges), VectorValues::Texts(values)) => texts_within(values, ranges),
            (Self::Texts(ranges), VectorValues::Codes(dictionary, codes)) if dictionary.len() <= VECTOR => {
                let wanted = texts_within(&dictionary.strings(), ranges);
                Mask::of_tests(codes.len(), |at| wanted.has(codes[at] as usize))
            }
            (Self::Texts(ranges), VectorValues::Codes(dictionary, codes)) => {
                texts_within(&dictionary.strings_of(codes), ranges)
            }
            // Only a vector without values has another kind than its form says.
            _ => Mask::NONE,
        };
        match places {
            None => values,
            Some(places) => Mask::of_tests(rows, |row| match places[row] {
                Place::Value(at) => values.has(at as usize),
                Place::Empty | Place::Missing => false,
            }),
        }
    }
}

fn narrow_within(values: &[u32], ranges: &[(i64, i64)]) -> Mask {
    if ranges.len() > RANGES_TRIED_MAX {
        let ranges = reachable(ranges, || values.iter().map(|&value| i64::from(value as i32)));
        return Mask::of_tests(values.len(), |at| is_within(i64::from(values[at] as i32), ranges));
    }
    let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let one = |&(low, high): &(i64, i64)| {
        if high < least || low > most {
            return Mask::NONE;
        }
        let (low, high) = (low.max(least) as u32, high.min(most) as u32);
        let span = high.wrapping_sub(low);
        Mask::of_tests(values.len(), |at| values[at].wrapping_sub(low) <= span)
    };
    ranges.iter().map(one).fold(Mask::NONE, Mask::or)
}

fn wide_within(values: &[u64], ranges: &[(i64, i64)]) -> Mask {
    if ranges.len() > RANGES_TRIED_MAX {
        let ranges = reachable(ranges, || values.iter().map(|&value| value as i64));
        return Mask::of_tests(values.len(), |at| is_within(values[at] as i64, ranges));
    }
    let one = |&(low, high): &(i64, i64)| {
        let (low, span) = (low as u64, high.wrapping_sub(low) as u64);
        Mask::of_tests(values.len(), |at| values[at].wrapping_sub(low) <= span)
    };
    ranges.iter().map(one).fold(Mask::NONE, Mask::or)
}

/// Those of the ranges, ascending and apart, that can have any of the values.
fn reachable<V: Iterator<Item = i64>>(ranges: &[(i64, i64)], values: impl Fn() -> V) -> &[(i64, i64)] {
    match (values().min(), values().max()) {
        (Some(min), Some(max)) => overlapping(ranges, min, max),
        _ => &[],
    }
}

/// Those of the ranges, ascending and apart, that have a number from `min` to `max`.
fn overlapping(ranges: &[(i64, i64)], min: i64, max: i64) -> &[(i64, i64)] {
    let from = ranges.partition_point(|(_, high)| *high < min);
    let to = ranges.partition_point(|(low, _)| *low <= max);
    &ranges[from..to.max(from)]
}

/// True if a number lies in one of many ranges.
fn is_within(value: i64, ranges: &[(i64, i64)]) -> bool {
    let at = ranges.partition_point(|(_, high)| *high < value);
    ranges.get(at).is_some_and(|(low, _)| *low <= value)
}

fn texts_within(values: &Strings, ranges: &[TextRange]) -> Mask {
    let point = |(low, high): &TextRange| match (low, high) {
        (End::Included(low), End::Included(high)) if low == high => Some(low.clone()),
        _ => None,
    };
    if let [range] = ranges
        && let Some(wanted) = point(range)
    {
        return Mask::of_tests(values.len(), |at| values.get(at) == wanted);
    }
    let inside = |text: &[u8], (low, high): &TextRange| {
        let from = match low {
            End::Unbounded => true,
            End::Included(low) => text >= low.as_slice(),
            End::Excluded(low) => text > low.as_slice(),
        };
        from && match high {
            End::Unbounded => true,
            End::Included(high) => text <= high.as_slice(),
            End::Excluded(high) => text < high.as_slice(),
        }
    };
    Mask::of_tests(values.len(), |at| ranges.iter().any(|range| inside(values.get(at), range)))
}

fn text_end(end: &End<Operand>) -> Option<End<Vec<u8>>> {
    Some(match end {
        End::Unbounded => End::Unbounded,
        End::Included(Operand::Text(text)) => End::Included(text.clone()),
        End::Excluded(Operand::Text(text)) => End::Excluded(text.clone()),
        _ => return None,
    })
}

/// A range in the integers of a form, inclusive: `Some(None)` if none is in it, `None` if they cannot be compared.
fn int_range(form: Form, range: &ValueRange) -> Option<Option<(i64, i64)>> {
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
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let some = low <= high && low <= most && high >= least;
    Some(some.then(|| (low.max(least) as i64, high.min(most) as i64)))
}

/// The largest integer of a form that is not above the operand, and whether it is equal.
fn floor_of(form: Form, operand: &Operand) -> Option<(i128, bool)> {
    let scale = match form {
        Form::Signed(_) | Form::Unsigned(_) | Form::Timestamp | Form::UnsignedTimestamp => 0,
        Form::Decimal(scale) => i32::from(scale),
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

/// True if the smallest string lies behind the end of a range.
fn is_below(high: &End<Vec<u8>>, min: &TextBound) -> bool {
    match high {
        End::Unbounded => false,
        End::Included(high) => high.as_slice() < min.prefix(),
        // A string that goes on is larger than its front.
        End::Excluded(high) => high.as_slice() <= min.prefix(),
    }
}

/// True if the largest string lies before the start of a range.
fn is_above(low: &End<Vec<u8>>, max: &TextBound) -> bool {
    let (low, included) = match low {
        End::Unbounded => return false,
        End::Included(low) => (low.as_slice(), true),
        End::Excluded(low) => (low.as_slice(), false),
    };
    match (max.is_whole(), included) {
        (true, true) => low > max.prefix(),
        (true, false) => low >= max.prefix(),
        (false, _) => low > max.prefix() && !low.starts_with(max.prefix()),
    }
}

/// True if a range that begins so has the smallest string, unless it ends before.
fn admits_from(low: &End<Vec<u8>>, min: &TextBound) -> bool {
    match low {
        End::Unbounded => true,
        End::Included(low) => low.as_slice() <= min.prefix(),
        End::Excluded(low) => low.as_slice() < min.prefix(),
    }
}

/// True if a range that ends so has the largest string, unless it begins behind it.
fn admits_to(high: &End<Vec<u8>>, max: &TextBound) -> bool {
    let (high, included) = match high {
        End::Unbounded => return true,
        End::Included(high) => (high.as_slice(), true),
        End::Excluded(high) => (high.as_slice(), false),
    };
    match (max.is_whole(), included) {
        (true, true) => high >= max.prefix(),
        (true, false) => high > max.prefix(),
        (false, _) => high > max.prefix() && !high.starts_with(max.prefix()),
    }
}

#[cfg(test)]
mod tests;
