// SPDX-License-Identifier: Apache-2.0
//! What is counted and added up for each group, and the columns in which the next step of the aggregation takes it.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Decimal128Array, Int64Array, UInt64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};

use super::numbers::{Digits, Numbers};

/// Up to so many groups a batch is added up in 64 bits of its own for each of them.
const FEW_GROUPS: usize = 64;
/// Rows that are added up side by side.
const LANES: usize = 4;

/// The groups of the rows of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grouped<'a> {
    /// All rows belong to group 0.
    Together(usize),
    /// The group of each row, and how many groups there are.
    Apart(&'a [u32], usize),
}

impl Grouped<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Together(_) => 1,
            Self::Apart(_, count) => *count,
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Together(rows) => *rows,
            Self::Apart(groups, _) => groups.len(),
        }
    }

    #[inline]
    fn group(&self, row: usize) -> usize {
        match self {
            Self::Together(_) => 0,
            Self::Apart(groups, _) => groups[row] as usize,
        }
    }
}

/// Rows of each group.
#[derive(Debug, Default)]
pub(super) struct Counts(Vec<u64>);

impl Counts {
    /// Counts all rows of a batch.
    pub(super) fn add_all(&mut self, grouped: Grouped<'_>) {
        self.0.resize(grouped.count().max(self.0.len()), 0);
        match grouped {
            Grouped::Together(rows) => self.0[0] += rows as u64,
            Grouped::Apart(groups, count) if count <= FEW_GROUPS => {
                // Neighbours of one group do not wait for each other.
                let mut counts = [[0u32; FEW_GROUPS]; LANES];
                let (rows, last) = groups.as_chunks::<LANES>();
                for row in rows {
                    for (lane, &group) in counts.iter_mut().zip(row) {
                        lane[group as usize % FEW_GROUPS] += 1;
                    }
                }
                last.iter().for_each(|&group| counts[0][group as usize] += 1);
                for (group, total) in self.0.iter_mut().enumerate().take(FEW_GROUPS) {
                    *total += counts.iter().map(|lane| u64::from(lane[group])).sum::<u64>();
                }
            }
            Grouped::Apart(groups, _) => groups.iter().for_each(|&group| self.0[group as usize] += 1),
        }
    }

    /// Counts the rows of a batch in which something is NULL.
    pub(super) fn add_nulls(&mut self, grouped: Grouped<'_>, nulls: Option<&NullBuffer>) {
        self.0.resize(grouped.count().max(self.0.len()), 0);
        let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return };
        match grouped {
            Grouped::Together(_) => self.0[0] += nulls.null_count() as u64,
            Grouped::Apart(groups, _) => {
                let is_null = |(row, _): &(usize, &u32)| nulls.is_null(*row);
                groups.iter().enumerate().filter(is_null).for_each(|(_, &group)| self.0[group as usize] += 1);
            }
        }
    }

    /// These rows without those of `missing`, which are among them.
    pub(super) fn without(&self, missing: &Self) -> Self {
        Self(self.0.iter().zip(&missing.0).map(|(all, missing)| all - missing).collect())
    }

    /// As the column that COUNT hands on.
    pub(super) fn column(&self) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(self.0.iter().map(|&count| count as i64)))
    }

    /// As the column that AVG hands on beside its sums.
    pub(super) fn divisors(&self) -> ArrayRef {
        Arc::new(self.0.iter().map(|&count| (count > 0).then_some(count)).collect::<UInt64Array>())
    }

    pub(super) fn size(&self) -> usize {
        self.0.capacity() * size_of::<u64>()
    }
}

/// Sums of numbers by group.
#[derive(Debug, Default)]
pub(super) struct Sums(Vec<i128>);

impl Sums {
    /// Adds the numbers of a batch, NULLs left out.
    pub(super) fn add(&mut self, grouped: Grouped<'_>, numbers: &Numbers<'_>) -> Result<()> {
        self.0.resize(grouped.count().max(self.0.len()), 0);
        let rows = grouped.rows();
        if let (Digits::Narrow(narrow, bound), None) = (&numbers.digits, &numbers.nulls) {
            let fits = bound.checked_mul(rows as u64).is_some_and(|most| most <= i64::MAX as u64);
            match grouped {
                Grouped::Together(_) if fits => {
                    self.0[0] += i128::from(narrow.iter().sum::<i64>());
                    return Ok(());
                }
                Grouped::Apart(groups, count) if fits && count <= FEW_GROUPS => {
                    self.add_few(groups, narrow);
                    return Ok(());
                }
                _ => {}
            }
        }
        let is_null = |row| numbers.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        for row in (0..rows).filter(|&row| !is_null(row)) {
            let total = &mut self.0[grouped.group(row)];
            match total.checked_add(numbers.at(row)) {
                Some(sum) => *total = sum,
                None => return exec_err!("a DECIMAL of more than 38 digits: the result of SUM overflows"),
            }
        }
        Ok(())
    }

    fn add_few(&mut self, groups: &[u32], numbers: &[i64]) {
        // Neighbours of one group do not wait for each other.
        let mut sums = [[0i64; FEW_GROUPS]; LANES];
        let (rows, last) = groups.as_chunks::<LANES>();
        let (numbers, last_numbers) = numbers.as_chunks::<LANES>();
        for (groups, numbers) in rows.iter().zip(numbers) {
            for (lane, (&group, number)) in sums.iter_mut().zip(groups.iter().zip(numbers)) {
                lane[group as usize % FEW_GROUPS] += number;
            }
        }
        for (&group, number) in last.iter().zip(last_numbers) {
            sums[0][group as usize] += number;
        }
        for (group, total) in self.0.iter_mut().enumerate().take(FEW_GROUPS) {
            *total += sums.iter().map(|lane| i128::from(lane[group])).sum::<i128>();
        }
    }

    /// As a column of the type that SUM, or AVG, hands on: NULL for groups of which nothing was counted.
    pub(super) fn column(&self, data_type: &DataType, counts: &Counts) -> Result<ArrayRef> {
        let rows = self.0.iter().zip(&counts.0);
        match *data_type {
            DataType::Decimal128(precision, scale) => {
                let sums = rows.map(|(&sum, &count)| (count > 0).then_some(sum));
                let column = sums.collect::<Decimal128Array>().with_precision_and_scale(precision, scale)?;
                Ok(Arc::new(column))
            }
            // What leaves 64 bits wraps, as the planner's own SUM does.
            DataType::Int64 => {
                let sums = rows.map(|(&sum, &count)| (count > 0).then_some(sum as i64));
                Ok(Arc::new(sums.collect::<Int64Array>()))
            }
            ref other => exec_err!("a sum is no {other}"),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.0.capacity() * size_of::<i128>()
    }
}

#[cfg(test)]
mod tests;
