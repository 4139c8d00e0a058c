// SPDX-License-Identifier: Apache-2.0
//! What a table's files know of the values of its columns: between which numbers they lie and how many rows have one, by the heads of
//! row groups, and how many different ones there are, by the files' sketches. For planners, who want to know what share of the rows a condition
//! leaves and how many rows of one table a row of another one meets.

use std::collections::BTreeMap;

use basalt_hfile::columnar::{ColumnarBlock, NumberRange, Sketch, Sketches, ValueSource};

use super::access::ReadAccess;
use super::file::StoreFile;
use crate::Result;

/// Row groups of a file that are looked at, at most; of more, some at equal distances.
const GROUPS_MAX: usize = 256;

/// The least and the greatest number of each key part and column that holds numbers, how many rows have a value, and about how many different
/// ones there are. What is in memory, in other encodings or in row groups that were not looked at may lie outside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownValues {
    /// Rows that were looked at.
    rows: usize,
    key: BTreeMap<usize, Known>,
    columns: BTreeMap<Vec<u8>, Known>,
    sketches: Sketches,
}

/// Of one key part or column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Known {
    /// Rows with a value.
    values: usize,
    range: Option<NumberRange>,
}

impl Known {
    fn add(&mut self, other: Self) {
        self.range = match (self.range, other.range) {
            _ if other.values == 0 => self.range,
            _ if self.values == 0 => other.range,
            (Some(a), Some(b)) => {
                Some(NumberRange { min: a.min.min(b.min), max: a.max.max(b.max), whole: a.whole && b.whole })
            }
            _ => None,
        };
        self.values += other.values;
    }
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
        if !group.is_plain() {
            return;
        }
        self.rows += group.rows();
        for (source, values, range) in group.known_values() {
            let of_group = Known { values, range };
            match source {
                ValueSource::KeyPart(part) => self.key.entry(part).or_default().add(of_group),
                ValueSource::Column(qualifier) => match self.columns.get_mut(qualifier) {
                    Some(known) => known.add(of_group),
                    None => drop(self.columns.insert(qualifier.to_vec(), of_group)),
                },
            }
        }
    }

    /// Takes in those of another file.
    pub(crate) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.sketches.merge(&other.sketches);
        for (&part, &known) in &other.key {
            self.key.entry(part).or_default().add(known);
        }
        for (qualifier, &known) in &other.columns {
            self.columns.entry(qualifier.clone()).or_default().add(known);
        }
    }

    /// Least and greatest of a part of the key; `None` if it is no number, or nothing is known of it.
    pub fn range_of_key_part(&self, part: usize) -> Option<NumberRange> {
        self.key.get(&part)?.range
    }

    /// Least and greatest of a column, by its qualifier; `None` if it is no number, or nothing is known of it.
    pub fn range_of_column(&self, qualifier: &[u8]) -> Option<NumberRange> {
        self.columns.get(qualifier)?.range
    }

    /// The share of the rows that have a value in a column, by its qualifier; `None` if nothing is known of the table's rows.
    pub fn filled_share(&self, qualifier: &[u8]) -> Option<f64> {
        let values = self.columns.get(qualifier).map_or(0, |known| known.values);
        (self.rows > 0).then(|| values as f64 / self.rows as f64)
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
