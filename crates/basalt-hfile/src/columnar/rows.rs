// SPDX-License-Identifier: Apache-2.0
//! Row keys of one vector, put together one at a time: a search builds ten of a thousand.

use std::cmp::Ordering;

use super::block::ColumnarBlock;
use super::cells::Values;
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
