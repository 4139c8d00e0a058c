// SPDX-License-Identifier: Apache-2.0
//! The rows of a vector that somebody wants as cells.

use std::ops::Range;

use crate::columnar::mask::Mask;
use crate::columnar::rows::KeyRows;
use crate::error::Result;

/// Which rows of a vector become cells.
pub(super) enum RowsWanted<'a> {
    All,
    One(&'a [u8]),
    These(&'a [&'a [u8]]),
    Some(&'a Mask),
}

impl RowsWanted<'_> {
    /// Their places, as ranges that ascend and do not touch.
    pub(super) fn ranges(&self, rows: &KeyRows<'_>) -> Result<Vec<Range<usize>>> {
        Ok(match self {
            Self::All => std::iter::once(0..rows.len()).collect(),
            Self::One(row) => rows.position(row)?.map(|at| at..at + 1).into_iter().collect(),
            Self::These(wanted) => {
                let mut ranges: Vec<Range<usize>> = Vec::with_capacity(wanted.len());
                for row in *wanted {
                    let Some(at) = rows.position(row)? else { continue };
                    match ranges.last_mut() {
                        Some(last) if last.end == at => last.end += 1,
                        _ => ranges.push(at..at + 1),
                    }
                }
                ranges
            }
            Self::Some(mask) => mask.and(Mask::of_range(0..rows.len())).ranges().collect(),
        })
    }
}
