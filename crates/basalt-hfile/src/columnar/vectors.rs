// SPDX-License-Identifier: Apache-2.0
//! One column of one vector, decoded as it is stored: what Arrow arrays are made of, and what a block says of its
//! rows without reading them.

use std::ops::Range;
use std::sync::Arc;

use super::beside::Integers;
use super::block::ColumnarBlock;
use super::bound::{Bound, Bounds};
use super::form::Form;
use super::frame::Lane;
use super::head::Kind;
use super::key::KeyPart;
use super::mask::Mask;
use super::processor::ask_for;
use super::section::Section;
use super::strings::Strings;
use super::texts::Dictionary;
use crate::error::{Damage, Result};

/// Where the value of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among the values.
    Value(u32),
    /// The row has a cell without bytes.
    Empty,
    /// The row has no cell.
    Missing,
}

/// Values that are not empty.
#[derive(Debug)]
pub(crate) enum VectorValues {
    /// Integers of up to four bytes.
    Narrow(Vec<u32>),
    /// All other integers.
    Wide(Vec<u64>),
    /// Strings.
    Texts(Strings),
    /// Strings by their numbers in a dictionary.
    Codes(Arc<Dictionary>, Vec<u32>),
    /// DECIMALs at the scale of their form.
    Digits(Vec<i128>),
}

/// Numbers of a column, without the rows that have none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numbers<'a> {
    /// One, so many times.
    One { number: i64, count: usize },
    /// Integers of up to four bytes.
    Narrow(&'a [u32]),
    /// All other integers.
    Wide(&'a [u64]),
}

/// Where a block has a column of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// As a part of the row key.
    Part(usize),
    /// As a column of cells.
    Column(usize),
}

/// The columns of one vector that are decoded, and the memory of those before, which need not be filled with zeros.
#[derive(Debug, Default)]
pub(crate) struct Held {
    vectors: Vec<(Stored, ColumnVector)>,
    narrow: Vec<Vec<u32>>,
    wide: Vec<Vec<u64>>,
}

impl Held {
    /// A column of a vector of a plain block. All calls between two of [`Self::release`] must name the same vector.
    pub(crate) fn vector(
        &mut self,
        block: &ColumnarBlock,
        stored: Stored,
        vector: usize,
    ) -> Result<&ColumnVector> {
        let found = self.vectors.iter().position(|(held, _)| *held == stored);
        let at = match found {
            Some(at) => at,
            None => {
                let decoded = match stored {
                    Stored::Part(part) => block.key_vector(part, vector, self)?,
                    Stored::Column(column) => block.column_vector(column, vector, self)?,
                };
                self.vectors.push((stored, decoded));
                self.vectors.len() - 1
            }
        };
        Ok(&self.vectors[at].1)
    }

    /// Hands over all numbers of a column of a plain block, some at a time, in memory that is used again for the next ones. Rows
    /// without a number are left out, and so is a column of bytes.
    pub(crate) fn each_number(
        &mut self,
        block: &ColumnarBlock,
        stored: Stored,
        mut take: impl FnMut(Numbers<'_>),
    ) -> Result<()> {
        let (kind, subject) = stored.values_section();
        let form = block.form_of(stored);
        let Some(integers) = block.integers_of(kind, subject)?.filter(|_| !form.is_text()) else {
            return Ok(());
        };
        if let Some(number) = integers.section().one_int() {
            let count = block.facts_of(stored).values;
            take(Numbers::One { number, count });
            return Ok(());
        }
        let vectors = 0..block.vectors();
        if form.fits_narrow() || block.is_narrow((kind, subject), form) {
            each_vector(integers, vectors, &mut self.narrow, |numbers| take(Numbers::Narrow(numbers)))
        } else {
            each_vector(integers, vectors, &mut self.wide, |numbers| take(Numbers::Wide(numbers)))
        }
    }

    /// True if no column is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// The columns are no longer needed.
    pub(crate) fn release(&mut self) {
        for (_, vector) in self.vectors.drain(..) {
            match vector.values {
                VectorValues::Narrow(values) | VectorValues::Codes(_, values) => self.narrow.push(values),
                VectorValues::Wide(values) => self.wide.push(values),
                VectorValues::Texts(_) | VectorValues::Digits(_) => {}
            }
        }
    }
}

/// Hands over the integers of vectors one vector at a time, in memory from `spare` and given back to it.
fn each_vector<T: Lane>(
    integers: Integers<'_>,
    vectors: Range<usize>,
    spare: &mut Vec<Vec<T>>,
    mut take: impl FnMut(&[T]),
) -> Result<()> {
    let mut numbers = spare.pop().unwrap_or_default();
    for vector in vectors {
        let section = integers.section();
        let Some((count, _)) = section.facts_of(vector) else { continue };
        numbers.resize(count, T::default());
        // What is asked for in one go keeps the processor from its work.
        let next = section.packed(vector + 1);
        let (first, second) = next.split_at(next.len() / 2);
        ask_for(first);
        integers.fill(vector, &mut numbers)?;
        ask_for(second);
        take(&numbers);
    }
    spare.push(numbers);
    Ok(())
}

/// A column of a vector in which no row has more than one cell of it.
#[derive(Debug)]
pub(crate) struct ColumnVector {
    pub(crate) form: Form,
    /// How the bytes of a key part differ from a value's.
    part: Option<KeyPart>,
    /// Of each row; `None`: every row has a value.
    pub(crate) places: Option<Vec<Place>>,
    pub(crate) values: VectorValues,
}

impl ColumnVector {
    /// Appends the bytes of a value as they are in its cell, or in the row key.
    #[inline]
    pub(crate) fn append(&self, index: u32, out: &mut Vec<u8>) -> Result<(), Damage> {
        let (index, from) = (index as usize, out.len());
        match &self.values {
            VectorValues::Narrow(values) => self.form.append((values[index] as i32).into(), out)?,
            VectorValues::Wide(values) => self.form.append(values[index] as i64, out)?,
            VectorValues::Texts(values) => out.extend_from_slice(values.get(index)),
            VectorValues::Codes(dictionary, codes) => {
                out.extend_from_slice(dictionary.get(codes[index] as usize))
            }
            VectorValues::Digits(digits) => self.form.append_digits(digits[index], out)?,
        }
        if let Some(part) = self.part {
            part.invert(&mut out[from..]);
        }
        Ok(())
    }
}

impl ColumnarBlock {
    /// True if every cell is a put and no row has two cells of a column: nothing in the block hides anything else
    /// in it. Answered by the head.
    pub fn is_plain(&self) -> bool {
        let put = i64::from(basalt_model::CellType::Put.code());
        self.head.sections.iter().all(|entry| match entry.kind {
            Kind::Presence => int_bounds(&entry.bounds).is_some_and(|(_, most)| most <= 1),
            Kind::Types => int_bounds(&entry.bounds) == Some((put, put)),
            _ => true,
        })
    }

    /// Smallest and largest timestamp. Answered by the head.
    pub fn timestamps(&self) -> (i64, i64) {
        self.extremes(Kind::Timestamps)
    }

    /// Smallest and largest sequence number as a reader sees them. Answered by the head.
    pub fn seqs(&self) -> (u64, u64) {
        let (min, max) = self.extremes(Kind::Seqs);
        self.seq_override.map_or((min as u64, max as u64), |seq| (seq.0, seq.0))
    }

    fn extremes(&self, kind: Kind) -> (i64, i64) {
        let of_kind = self.head.sections.iter().filter(|entry| entry.kind == kind);
        let bounds = of_kind.filter_map(|entry| int_bounds(&entry.bounds));
        bounds.fold((i64::MAX, i64::MIN), |(min, max), (low, high)| (min.min(low), max.max(high)))
    }

    /// Smallest and largest of a column's values that are not empty, in the order of its form; `None` if there are
    /// none. Answered by the head.
    pub fn bounds_of(&self, column: usize) -> Option<&Bounds> {
        self.head.entry(Kind::Values, column as u16).map(|entry| &entry.bounds)
    }

    /// As [`Self::bounds_of`], of one vector. Reads the header of the section.
    pub fn vector_bounds(&self, column: usize, vector: usize) -> Result<Option<&Bounds>> {
        let section = self.section(Kind::Values, column as u16)?;
        let in_vector = section.and_then(|section| section.bounds(vector));
        let of_all = section.filter(|section| section.is_one_value()).and(self.bounds_of(column));
        Ok(in_vector.or(of_all))
    }

    /// The parts of the row keys.
    pub(crate) fn key_parts(&self) -> &[KeyPart] {
        &self.head.key
    }

    /// A column of a vector; the block must be plain.
    fn column_vector(&self, column: usize, vector: usize, held: &mut Held) -> Result<ColumnVector> {
        let (values, places) = self.places(Stored::Column(column), vector)?;
        let (subject, form) = (column as u16, self.column_head(column).form);
        let values = self.vector_values((Kind::Values, subject), form, vector, values, held)?;
        Ok(ColumnVector { form, part: None, places, values })
    }

    /// A key part of a vector.
    fn key_vector(&self, part: usize, vector: usize, held: &mut Held) -> Result<ColumnVector> {
        let (values, places) = self.places(Stored::Part(part), vector)?;
        let (subject, key_part) = (part as u16, self.head.key[part]);
        let kind = (Kind::KeyValues, subject);
        let values = self.vector_values(kind, key_part.form, vector, values, held)?;
        Ok(ColumnVector { form: key_part.form, part: Some(key_part), places, values })
    }

    /// How many values rows of a vector have, and where each row's is; `None`: every row has one. The block must be plain. No value is
    /// read.
    pub(super) fn places(&self, stored: Stored, vector: usize) -> Result<(usize, Option<Vec<Place>>)> {
        let rows = self.rows_of(vector);
        let (counts, kind, subject) = match stored {
            Stored::Part(part) => (None, Kind::KeyFilled, part as u16),
            Stored::Column(column) => (self.counts(column as u16, vector)?, Kind::Filled, column as u16),
        };
        if counts.as_ref().is_some_and(|counts| counts.iter().any(|&count| count > 1)) {
            return Err(self.corrupt("a row with two cells of a column in a plain block"));
        }
        let cells = counts.as_ref().map_or(rows, |counts| counts.iter().sum::<u64>() as usize);
        let filled = self.numbers(kind, subject, vector, cells, 1)?;
        let values = filled.as_ref().map_or(cells, |filled| filled.iter().sum::<u64>() as usize);
        Ok((values, places(rows, counts, filled)))
    }

    /// The rows of a vector that have a value. The block must be plain.
    pub(crate) fn rows_with_value(&self, stored: Stored, vector: usize) -> Result<Mask> {
        let rows = self.rows_of(vector);
        Ok(match self.places(stored, vector)?.1 {
            None => Mask::of_range(0..rows),
            Some(places) => Mask::of_tests(rows, |row| matches!(places[row], Place::Value(_))),
        })
    }

    /// True for numbers of a wide form all of which are small.
    fn is_narrow(&self, (kind, subject): (Kind, u16), form: Form) -> bool {
        let narrow = i64::from(i32::MIN)..=i64::from(i32::MAX);
        let bounds = || int_bounds(&self.head.entry(kind, subject)?.bounds);
        matches!(form, Form::Signed(8) | Form::Decimal(_) | Form::Timestamp)
            && bounds().is_some_and(|(min, max)| narrow.contains(&min) && narrow.contains(&max))
    }

    fn vector_values(
        &self,
        (kind, subject): (Kind, u16),
        form: Form,
        vector: usize,
        count: usize,
        held: &mut Held,
    ) -> Result<VectorValues> {
        let section: Option<&Section> = self.section(kind, subject)?;
        Ok(match section {
            None if count == 0 => VectorValues::Texts(Strings::default()),
            None => return Err(self.corrupt(format!("{kind:?} of {subject} are missing"))),
            Some(section) if form.is_text() => match section.dictionary() {
                Some(dictionary) => {
                    let mut codes = held.narrow.pop().unwrap_or_default();
                    codes.resize(count, 0);
                    section.codes_into(dictionary, vector, &mut codes)?;
                    VectorValues::Codes(Arc::clone(dictionary), codes)
                }
                None => match form {
                    Form::LongDecimal(scale)
                        if let Some(digits) = section.decimals(vector, count, scale)? =>
                    {
                        VectorValues::Digits(digits)
                    }
                    _ => VectorValues::Texts(section.texts(vector, count)?),
                },
            },
            Some(_) if form.fits_narrow() || self.is_narrow((kind, subject), form) => {
                let mut values = held.narrow.pop().unwrap_or_default();
                values.resize(count, 0);
                self.fill((kind, subject), vector, &mut values, held)?;
                VectorValues::Narrow(values)
            }
            Some(_) => {
                let mut values = held.wide.pop().unwrap_or_default();
                values.resize(count, 0);
                self.fill((kind, subject), vector, &mut values, held)?;
                VectorValues::Wide(values)
            }
        })
    }
}

impl ColumnarBlock {
    /// Fills `out` with the integers of a vector. Those of a column that they are distances from are held, since who reads the one often
    /// reads the other, or a second one beside it.
    fn fill<T: Lane>(
        &self,
        (kind, subject): (Kind, u16),
        vector: usize,
        out: &mut [T],
        held: &mut Held,
    ) -> Result<()> {
        let Some(integers) = self.integers_of(kind, subject)? else { return Ok(()) };
        let Some(other) = self.head.beside(subject).filter(|_| kind == Kind::Values) else {
            return integers.fill(vector, out);
        };
        integers.section().stored_into(vector, out)?;
        match &held.vector(self, Stored::Column(other.into()), vector)?.values {
            VectorValues::Narrow(others) if others.len() == out.len() => {
                add(out, others, |other| (*other as i32).into())
            }
            VectorValues::Wide(others) if others.len() == out.len() => {
                add(out, others, |other| *other as i64)
            }
            _ => {
                return Err(
                    self.corrupt(format!("column {subject} has no number of column {other} beside each"))
                );
            }
        }
        Ok(())
    }
}

#[inline]
fn add<T: Lane, U>(numbers: &mut [T], others: &[U], number: impl Fn(&U) -> i64) {
    for (own, other) in numbers.iter_mut().zip(others) {
        *own = own.plus(T::of(number(other)));
    }
}

fn int_bounds(bounds: &Bounds) -> Option<(i64, i64)> {
    match (bounds.min, bounds.max) {
        (Bound::Int(min), Bound::Int(max)) => Some((min, max)),
        _ => None,
    }
}

/// Where each row's value is, of rows with at most one cell each.
fn places(rows: usize, counts: Option<Vec<u64>>, filled: Option<Vec<u64>>) -> Option<Vec<Place>> {
    if counts.is_none() && filled.is_none() {
        return None;
    }
    let (mut cell, mut value) = (0, 0);
    let place = |row: usize| {
        if counts.as_ref().is_some_and(|counts| counts[row] == 0) {
            return Place::Missing;
        }
        cell += 1;
        if filled.as_ref().is_some_and(|filled| filled[cell - 1] == 0) {
            return Place::Empty;
        }
        value += 1;
        Place::Value(value - 1)
    };
    Some((0..rows).map(place).collect())
}
