// SPDX-License-Identifier: Apache-2.0
//! Row keys of one vector, put together one at a time: a search builds ten of a thousand.

mod width;

use std::cmp::Ordering;

use super::block::ColumnarBlock;
use super::cells::Values;
use super::form::Form;
use super::head::Kind;
use super::key::{KeyPart, RowBuilder};
use crate::error::Result;

/// The row keys of a vector: its key parts, decoded.
pub struct KeyRows<'a> {
    block: &'a ColumnarBlock,
    parts: Vec<Part>,
    len: usize,
}

struct Part {
    part: KeyPart,
    /// For each row, which of the values is its own; `None` of a row without. Without the list: that of its number.
    places: Option<Vec<Option<u32>>>,
    values: Values,
}

impl ColumnarBlock {
    /// The row keys of a vector.
    pub fn key_rows(&self, vector: usize) -> Result<KeyRows<'_>> {
        let len = self.rows_of(vector);
        let mut parts = Vec::with_capacity(self.head.key.len());
        for (number, part) in (0..).zip(&self.head.key) {
            let kinds = (Kind::KeyFilled, Kind::KeyValues, number);
            let (filled, values) = self.values(kinds, part.form, vector, len)?;
            let places = filled.map(|filled| {
                let mut next = 0;
                let mut place = |filled: u64| {
                    next += filled as u32;
                    (filled == 1).then(|| next - 1)
                };
                filled.into_iter().map(&mut place).collect()
            });
            parts.push(Part { part: *part, places, values });
        }
        Ok(KeyRows { block: self, parts, len })
    }
}

impl KeyRows<'_> {
    /// Bytes of the numbers of [`Self::numbers`]: of all rows, in all vectors of the block; `None` if rows are no numbers.
    pub fn number_width(&self) -> Option<u32> {
        let widths = self.parts.iter().map(|Part { part, places, values }| match (part.form, values) {
            (Form::Signed(width) | Form::Unsigned(width), Values::Ints(_)) if places.is_none() => {
                part.is_fixed().then_some(u32::from(width))
            }
            _ => None,
        });
        widths.sum::<Option<u32>>().filter(|width| *width <= u128::BITS / 8)
    }

    /// The row keys as big-endian numbers, which are in order as they are: if they are made of integers of fixed width, sixteen bytes at most together.
    pub fn numbers(&self) -> Option<Vec<u128>> {
        self.number_width()?;
        let mut numbers = vec![0u128; self.len];
        for Part { part, values, .. } in &self.parts {
            let (Form::Signed(width) | Form::Unsigned(width), Values::Ints(values)) = (part.form, values)
            else {
                return None;
            };
            let bits = 8 * u32::from(width);
            let mask = u64::MAX >> (u64::BITS - bits);
            let sign = if matches!(part.form, Form::Signed(_)) { 1 << (bits - 1) } else { 0 };
            let flipped = if part.is_desc() { sign ^ mask } else { sign };
            for (number, value) in numbers.iter_mut().zip(values) {
                *number = *number << bits | u128::from((value ^ flipped) & mask);
            }
        }
        Some(numbers)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends the row key of a row.
    #[inline]
    pub fn append(&self, index: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let mut builder = RowBuilder::new(out);
        for Part { part, places, values } in &self.parts {
            let from = builder.buffer().len();
            let place = match places {
                None => Some(index),
                Some(places) => places[index].map(|place| place as usize),
            };
            if let Some(place) = place {
                let appended = values.append(place, part.form, builder.buffer());
                appended.map_err(|damage| self.block.source.corrupt(damage))?;
            }
            builder.close(*part, from);
        }
        builder.finish();
        match out.len() - start {
            1..=basalt_model::ROW_LEN_MAX => Ok(()),
            len => Err(self.block.corrupt(format!("a row of {len} bytes"))),
        }
    }

    /// The first row that is not below `row`, the number of rows if there is none.
    pub(super) fn lower_bound(&self, row: &[u8]) -> Result<usize> {
        Ok(self.lower_bound_of(row)?.0)
    }

    /// The first row that is not below `row`, the number of rows if there is none; and whether it is `row`.
    pub fn lower_bound_of(&self, row: &[u8]) -> Result<(usize, bool)> {
        let (mut low, mut high) = (0, self.len);
        let (mut found, mut is_there) = (Vec::new(), false);
        while low < high {
            let middle = (low + high) / 2;
            found.clear();
            self.append(middle, &mut found)?;
            match (*found).cmp(row) {
                Ordering::Less => low = middle + 1,
                order => {
                    high = middle;
                    is_there = order == Ordering::Equal;
                }
            }
        }
        Ok((low, is_there))
    }

    /// Where `row` is.
    pub(super) fn position(&self, row: &[u8]) -> Result<Option<usize>> {
        let (at, is_there) = self.lower_bound_of(row)?;
        Ok(is_there.then_some(at))
    }
}
