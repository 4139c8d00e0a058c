// SPDX-License-Identifier: Apache-2.0
//! What a table's files know of the values of its columns: between which integers they lie, by the heads of row groups, and how
//! many different ones there are, by the files' sketches. For planners, who want to know what share of the rows a condition
//! leaves and how many rows of one table a row of another one meets.

use std::collections::BTreeMap;

use basalt_hfile::columnar::{ColumnarBlock, IntegerSource, Sketch, Sketches};

use super::file::{ReadAccess, StoreFile};
use crate::Result;

/// Row groups of a file that are looked at, at most; of more, some at equal distances.
const GROUPS_MAX: usize = 256;

/// The least and the greatest integer of each key part and column that holds integers, and about how many different values each
/// key part and column has. What is in memory, in other encodings or in row groups that were not looked at may lie outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownValues {
    key: BTreeMap<usize, (i64, i64)>,
    columns: BTreeMap<Vec<u8>, (i64, i64)>,
    sketches: Sketches,
}

impl KnownValues {
    /// Of a file, which may have no row groups.
    pub(super) fn of_file(file: &StoreFile, access: &ReadAccess) -> Result<Self> {
        let sketches = file.explained(file.reader()?.sketches())?;
        let mut found = Self { sketches, ..Self::default() };
        let count = file.blocks_end()?;
        let step = count.div_ceil(GROUPS_MAX).max(1);
        for block in (0..count).step_by(step).chain(count.checked_sub(1)) {
            if let Some(group) = file.row_group(block, access)? {
                found.add_group(&group);
            }
        }
        Ok(found)
    }

    fn add_group(&mut self, group: &ColumnarBlock) {
        for (source, bounds) in group.integers() {
            match source {
                IntegerSource::KeyPart(part) => widen(self.key.entry(part).or_insert(bounds), bounds),
                IntegerSource::Column(qualifier) => match self.columns.get_mut(qualifier) {
                    Some(known) => widen(known, bounds),
                    None => drop(self.columns.insert(qualifier.to_vec(), bounds)),
                },
            }
        }
    }

    /// Takes in those of another file.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sketches.merge(&other.sketches);
        for (&part, &bounds) in &other.key {
            widen(self.key.entry(part).or_insert(bounds), bounds);
        }
        for (qualifier, &bounds) in &other.columns {
            widen(self.columns.entry(qualifier.clone()).or_insert(bounds), bounds);
        }
    }

    /// Least and greatest of a part of the key; `None` if it is no integer, or nothing is known of it.
    pub fn bounds_of_key_part(&self, part: usize) -> Option<(i64, i64)> {
        self.key.get(&part).copied()
    }

    /// Least and greatest of a column, by its qualifier; `None` if it is no integer, or nothing is known of it.
    pub fn bounds_of_column(&self, qualifier: &[u8]) -> Option<(i64, i64)> {
        self.columns.get(qualifier).copied()
    }

    /// How many different values a part of the key has, about; `None` if nothing is known of it.
    pub fn distinct_of_key_part(&self, part: usize) -> Option<f64> {
        self.sketches.of_key_part(part).map(Sketch::estimate)
    }

    /// How many different values a column has, about, by its qualifier; `None` if nothing is known of it.
    pub fn distinct_of_column(&self, qualifier: &[u8]) -> Option<f64> {
        self.sketches.of_column(qualifier).map(Sketch::estimate)
    }
}

fn widen(known: &mut (i64, i64), (min, max): (i64, i64)) {
    *known = (known.0.min(min), known.1.max(max));
}
