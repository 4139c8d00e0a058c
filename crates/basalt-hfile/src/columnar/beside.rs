// SPDX-License-Identifier: Apache-2.0
//! Numbers beside others: a column whose numbers follow those of another column in the same row is kept as its distances from
//! them. Of the three dates of an order's line, which lie within months of each other, two take 5 and 8 bits then instead of 12.
//!
//! An entry in the head (kind 10) names the other column. Bounds stay those of the values. Both columns have one value in each row, and the
//! other is itself beside none, so that a reader reads two sections at most for one.
//!
//! After Corra (Liu, Stoian, van Renen, Kipf: Correlation-Aware Column Compression, 2024), which takes more kinds of relations.

use std::cell::OnceCell;

use basalt_model::SqlType;

use super::VECTOR;
use super::block::ColumnarBlock;
use super::form::Form;
use super::frame::Lane;
use super::gathered::Gathered;
use super::group::Column;
use super::head::Kind;
use super::ints::{IntScheme, Nature};
use super::section::Section;
use super::vectors::Stored;
use crate::error::Result;

/// Most columns of a block that are looked at: the time grows with their square.
const COLUMNS_TRIED_MAX: usize = 32;
/// Vectors of a column that are encoded to compare.
const SAMPLE_VECTORS: usize = 3;
/// Numbers of a vector that are looked at before it is encoded.
const GLANCE: usize = 64;
/// Bytes that distances must save in a block: more than their entry in the head takes.
const SAVED_MIN: usize = 64;

/// Savings that differ by less than this part of them are alike.
const ALIKE: usize = 8;

/// A column as its distances from another.
#[derive(Debug)]
pub(super) struct Distances {
    /// The number of the other column.
    pub(super) from: u16,
    /// How the values are numbers.
    pub(super) form: Form,
    /// The numbers of all rows.
    pub(super) numbers: Vec<i64>,
    /// What each is more than the other column's.
    pub(super) distances: Vec<i64>,
}

/// A column of which every row has a number.
struct Candidate {
    number: usize,
    form: Form,
    sample: Vec<Vec<i64>>,
    /// What the sample takes, if that was asked.
    bytes: OnceCell<usize>,
}

/// For each column of a block of `rows` rows its distances from another, if these are much smaller. `type_of` is what is known of a column by
/// its qualifier.
pub(super) fn choose(
    columns: &[Column],
    rows: usize,
    type_of: impl Fn(&[u8]) -> Option<SqlType>,
) -> Vec<Option<Distances>> {
    let mut chosen: Vec<Option<Distances>> = columns.iter().map(|_| None).collect();
    let candidates = columns.iter().enumerate();
    let candidates = candidates
        .filter_map(|(number, column)| Candidate::of(number, column, rows, type_of(&column.qualifier)?));
    let candidates: Vec<Candidate> = candidates.take(COLUMNS_TRIED_MAX).collect();
    for (other, followers) in stars(&candidates, rows) {
        let Some(numbers) = all_numbers(&columns[other.number], other.form) else { continue };
        for follower in followers {
            let Some(own) = all_numbers(&columns[follower.number], follower.form) else { continue };
            let distances = own.iter().zip(&numbers).map(|(own, other)| own.wrapping_sub(*other)).collect();
            let from = other.number as u16;
            chosen[follower.number] = Some(Distances { from, form: follower.form, numbers: own, distances });
        }
    }
    chosen
}

/// Which columns are kept beside which other: those first that save the most together. Of others that save about as much the first one is
/// taken, since a column that is declared early is one that queries name.
fn stars(candidates: &[Candidate], rows: usize) -> Vec<(&Candidate, Vec<&Candidate>)> {
    let of_other = |other| candidates.iter().map(move |follower: &Candidate| follower.saved(other, rows));
    let saved: Vec<Vec<usize>> = candidates.iter().map(|other| of_other(other).collect()).collect();
    let mut left: Vec<usize> = (0..candidates.len()).collect();
    let mut found = Vec::new();
    loop {
        let together = |other: usize| left.iter().map(|&follower| saved[other][follower]).sum::<usize>();
        let most = left.iter().map(|&other| together(other)).max().unwrap_or(0);
        let is_as_good = |other: &usize| together(*other) >= most - most / ALIKE;
        let Some(best) = left.iter().copied().find(is_as_good) else { break };
        let (followers, others): (Vec<usize>, Vec<usize>) =
            left.iter().partition(|&&follower| saved[best][follower] > 0);
        if followers.is_empty() {
            break;
        }
        found.push((&candidates[best], followers.into_iter().map(|at| &candidates[at]).collect()));
        left = others.into_iter().filter(|&at| at != best).collect();
    }
    found
}

impl Candidate {
    fn of(number: usize, column: &Column, rows: usize, sql_type: SqlType) -> Option<Self> {
        let form = match &column.values {
            Gathered::Numbers(form, _) => *form,
            // Their scale depends on all of them.
            Gathered::Bytes(_) if sql_type == SqlType::Decimal(None) => return None,
            Gathered::Bytes(_) => Form::of(sql_type, || 0),
        };
        let is_typed = Form::of(sql_type, || 0) == form;
        if !is_typed || form == Form::Bytes || form.nature() != Nature::Integer || !column.is_dense(rows) {
            return None;
        }
        let step = rows.div_ceil(VECTOR).div_ceil(SAMPLE_VECTORS).max(1);
        let firsts = (0..rows).step_by(VECTOR * step);
        let sample = firsts.map(|first| numbers(column, form, first..rows.min(first + VECTOR)));
        let sample: Vec<Vec<i64>> = sample.collect::<Option<_>>()?;
        Some(Self { number, form, sample, bytes: OnceCell::new() })
    }

    /// Bytes of the block that are saved if this column is kept beside another; 0 if that is not worth a second column to read: a quarter
    /// of its bytes.
    fn saved(&self, other: &Self, rows: usize) -> usize {
        if self.number == other.number || self.form != other.form || !self.follows(other) {
            return 0;
        }
        let distances = self.sample.iter().zip(&other.sample).map(|(own, others)| {
            own.iter().zip(others).map(|(own, other)| own.wrapping_sub(*other)).collect()
        });
        let bytes = *self.bytes.get_or_init(|| encoded_len(&self.sample));
        let saved = bytes.saturating_sub(encoded_len(&distances.collect::<Vec<_>>()));
        let sampled: usize = self.sample.iter().map(Vec::len).sum();
        let in_block = saved * rows / sampled.max(1);
        if saved * 4 >= bytes && in_block >= SAVED_MIN { in_block } else { 0 }
    }

    /// True if some distances lie much closer together than the numbers do.
    fn follows(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (self.sample.first(), other.sample.first()) else { return false };
        let step = own.len().div_ceil(GLANCE).max(1);
        let own = || own.iter().step_by(step);
        let distances = own().zip(others.iter().step_by(step)).map(|(own, other)| own.wrapping_sub(*other));
        span(distances) <= span(own().copied()) / 4
    }
}

/// From the least to the greatest.
fn span(numbers: impl Iterator<Item = i64> + Clone) -> u64 {
    numbers.clone().min().zip(numbers.max()).map_or(0, |(min, max)| max.abs_diff(min))
}

fn encoded_len(vectors: &[Vec<i64>]) -> usize {
    let slices: Vec<&[i64]> = vectors.iter().map(Vec::as_slice).collect();
    let scheme = IntScheme::choose(&slices, Nature::Integer);
    let mut bytes = Vec::new();
    scheme.write_params(&mut bytes);
    slices.iter().for_each(|vector| scheme.encode(vector, &mut bytes));
    bytes.len()
}

fn all_numbers(column: &Column, form: Form) -> Option<Vec<i64>> {
    numbers(column, form, 0..column.values.len())
}

/// `None` if one of the values is not one of the form.
fn numbers(column: &Column, form: Form, range: std::ops::Range<usize>) -> Option<Vec<i64>> {
    match &column.values {
        Gathered::Numbers(_, numbers) => Some(numbers[range].to_vec()),
        Gathered::Bytes(values) => range.map(|index| form.to_integer(values.get(index))).collect(),
    }
}

/// The integers of a section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Integers<'a> {
    section: &'a Section,
    /// What they are distances from.
    from: Option<&'a Section>,
}

impl<'a> Integers<'a> {
    /// The section, whose own numbers may be distances.
    pub(super) fn section(self) -> &'a Section {
        self.section
    }

    /// Fills `out` with the integers of a vector, of which there must be as many.
    pub(super) fn fill<T: Lane>(self, vector: usize, out: &mut [T]) -> Result<()> {
        self.section.stored_into(vector, out)?;
        let Some(from) = self.from else { return Ok(()) };
        let mut others = vec![T::default(); out.len()];
        from.stored_into(vector, &mut others)?;
        for (number, other) in out.iter_mut().zip(others) {
            *number = number.plus(other);
        }
        Ok(())
    }

    /// The integers of a vector of `count` values.
    pub(super) fn get<T: Lane>(self, vector: usize, count: usize) -> Result<Vec<T>> {
        let mut out = vec![T::default(); count];
        self.fill(vector, &mut out)?;
        Ok(out)
    }
}

impl ColumnarBlock {
    /// True if the values are kept as distances from those of another column.
    pub(super) fn is_beside(&self, stored: Stored) -> bool {
        matches!(stored, Stored::Column(column) if self.head.beside(column as u16).is_some())
    }

    /// The integers of a section; `None` if the block has no such section.
    #[inline]
    pub(super) fn integers_of(&self, kind: Kind, subject: u16) -> Result<Option<Integers<'_>>> {
        let Some(section) = self.section(kind, subject)? else { return Ok(None) };
        let from = match self.head.beside(subject).filter(|_| kind == Kind::Values) {
            Some(other) => self.section(Kind::Values, other)?,
            None => None,
        };
        Ok(Some(Integers { section, from }))
    }
}
