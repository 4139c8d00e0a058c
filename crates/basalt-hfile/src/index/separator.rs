// SPDX-License-Identifier: Apache-2.0
//! The shortened key of an index entry: greater than the last key of the block before, not greater than the
//! first of its own. Matches HFileWriterImpl.getMidpoint.
//!
//! ```text
//! last row "row17x", first row "row20"  ->  row "row2", then the first key of that row
//! same row, qualifiers "a17" and "a2"   ->  that row, qualifier "a2", the first key of the column
//! same row and qualifier                ->  the first key itself
//! ```

use crate::key::FlatKey;

/// The key for a block that begins with `first`, after one that ended with `last`.
pub(crate) fn separator(last: &FlatKey<'_>, first: &FlatKey<'_>) -> Vec<u8> {
    if let Some(row) = middle(last.row, first.row) {
        return FlatKey::first_of_row(&row).to_vec();
    }
    if let Some(family) = middle(last.family, first.family) {
        return FlatKey::first_of_column(first.row, &family, b"").to_vec();
    }
    if let Some(qualifier) = middle(last.qualifier, first.qualifier) {
        return FlatKey::first_of_column(first.row, first.family, &qualifier).to_vec();
    }
    first.to_vec()
}

/// A short string above `low` and not above `high`; `None` if they are equal.
fn middle(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    debug_assert!(low <= high);
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    if common == low.len() && common == high.len() {
        return None;
    }
    let mut middle = low[..common].to_vec();
    match low.get(common) {
        Some(&byte) => middle.push(byte + 1),
        None => middle.push(0),
    }
    Some(middle)
}

#[cfg(test)]
mod tests;
