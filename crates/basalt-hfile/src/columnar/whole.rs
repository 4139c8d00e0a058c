// SPDX-License-Identifier: Apache-2.0
//! What the heads of many row groups say together: of a file with thousands of them, a predicate that its bounds answer is then asked
//! once and not of each.

use std::sync::Arc;

use basalt_model::TableSchema;

use super::block::ColumnarBlock;
use super::bound::{Bound, Bounds};
use super::select::{Binder, Facts, Verdict};
use super::vectors::Stored;
use crate::predicate::Predicate;

/// What is known of all rows of plain row groups that have the same columns, stored alike. Of strings nothing is.
#[derive(Debug)]
pub struct WholeFacts {
    rows: usize,
    parts: Vec<Merged>,
    columns: Vec<Merged>,
}

/// Of the values of a key part or a column.
#[derive(Debug, Clone, Copy)]
struct Merged {
    values: usize,
    /// The least and the greatest, if there are values, and they are numbers.
    numbers: Option<(i64, i64)>,
}

impl Merged {
    fn of(facts: &Facts) -> Self {
        Self { values: facts.values, numbers: facts.extremes() }
    }

    fn and(self, other: Self) -> Self {
        let numbers = match (self, other) {
            (Self { values: 0, .. }, known) | (known, Self { values: 0, .. }) => known.numbers,
            _ => self.numbers.zip(other.numbers).map(|((a, b), (c, d))| (a.min(c), b.max(d))),
        };
        Self { values: self.values + other.values, numbers }
    }

    /// `None` if nothing is known.
    fn facts(self, rows: usize) -> Option<Facts> {
        let bounds = self.numbers.map(|(min, max)| Bounds { min: Bound::Int(min), max: Bound::Int(max) });
        (self.values == 0 || bounds.is_some()).then(|| Facts::new(rows, self.values, bounds))
    }
}

impl WholeFacts {
    /// Of one row group; `None` if it is not plain.
    pub fn of(group: &ColumnarBlock) -> Option<Self> {
        let merged = |stored: Stored| Merged::of(&group.facts_of(stored));
        group.is_plain().then(|| Self {
            rows: group.rows(),
            parts: (0..group.key_parts().len()).map(|part| merged(Stored::Part(part))).collect(),
            columns: (0..group.columns().count()).map(|column| merged(Stored::Column(column))).collect(),
        })
    }

    /// Takes in another row group, which is `like` those before; false, and nothing done, if it is not.
    pub fn add(&mut self, like: &ColumnarBlock, group: &ColumnarBlock) -> bool {
        let alike = like.key_parts() == group.key_parts() && like.columns().eq(group.columns());
        let Some(other) = Self::of(group).filter(|_| alike) else { return false };
        self.rows += other.rows;
        let own = self.parts.iter_mut().chain(&mut self.columns);
        own.zip(other.parts.iter().chain(&other.columns)).for_each(|(own, other)| *own = own.and(*other));
        true
    }

    /// True if all rows satisfy a predicate, as far as this can tell. `like` is one of the row groups.
    pub fn satisfy(&self, predicate: &Arc<Predicate>, like: &ColumnarBlock, table: &TableSchema) -> bool {
        let bound = Binder::default().bind(predicate, like, table);
        let facts = |stored: Stored| match stored {
            Stored::Part(part) => self.parts[part].facts(self.rows),
            Stored::Column(column) => self.columns[column].facts(self.rows),
        };
        bound.is_exact() && bound.of_facts(facts) == Verdict::All
    }
}

#[cfg(test)]
mod tests;
