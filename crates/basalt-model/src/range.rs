// SPDX-License-Identifier: Apache-2.0
//! Half-open ranges of row keys.

use bytes::Bytes;

/// All row keys `start <= row < end`; an empty `start` is the beginning, `end = None` the end of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct KeyRange {
    /// First row, inclusive.
    pub start: Bytes,
    /// First row after the range, exclusive; `None` for no bound.
    pub end: Option<Bytes>,
}

impl KeyRange {
    /// The whole table.
    pub fn all() -> Self {
        Self::default()
    }

    /// Exactly one row.
    pub fn point(row: impl Into<Bytes>) -> Self {
        let start = row.into();
        let mut end = Vec::with_capacity(start.len() + 1);
        end.extend_from_slice(&start);
        end.push(0);
        Self { start, end: Some(end.into()) }
    }

    /// The row of a [`Self::point`].
    pub fn only_row(&self) -> Option<&[u8]> {
        let end = self.end.as_ref()?.strip_suffix(&[0])?;
        (end == &self.start[..]).then_some(end)
    }

    /// All rows that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let start = prefix.into();
        let end = after_prefix(&start);
        Self { start, end }
    }

    /// True if no row can lie in the range.
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }

    /// True if `row` lies in the range.
    pub fn contains(&self, row: &[u8]) -> bool {
        *self.start <= *row && self.end.as_ref().is_none_or(|end| *row < **end)
    }

    /// True if some row could lie in both ranges.
    pub fn overlaps(&self, other: &KeyRange) -> bool {
        !self.intersect(other).is_empty()
    }

    /// The rows that lie in both ranges; may be empty.
    pub fn intersect(&self, other: &KeyRange) -> KeyRange {
        let start = self.start.clone().max(other.start.clone());
        let end = match (&self.end, &other.end) {
            (Some(a), Some(b)) => Some(a.clone().min(b.clone())),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        KeyRange { start, end }
    }
}

/// The smallest key greater than every key that begins with `prefix`; `None` if there is no such key
/// (the prefix is empty or all `ff`).
pub fn after_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end.into())
}

#[cfg(test)]
mod tests;
