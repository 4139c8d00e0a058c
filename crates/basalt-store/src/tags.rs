// SPDX-License-Identifier: Apache-2.0
//! Tags of cells, as far as the store knows them: a cell's own TTL.
//!
//! Tags lie one behind the other; numbers are big-endian, as in HBase:
//!
//! ```text
//! length of type and value  2 bytes
//! type                      1 byte; 8: TTL
//! value                     TTL: 8 bytes, milliseconds after the cell's timestamp
//! ```
//!
//! A TTL of one second: `00 09 08 00 00 00 00 00 00 03 e8`.

use std::collections::BTreeMap;

use basalt_model::CellRef;

use crate::manifest::OwnTtl;

/// Type of the tag for a cell's own TTL.
const TTL: u8 = 8;

/// Type and value of each tag; bytes that are no tag end the list.
fn tags(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let [high, low, rest @ ..] = bytes else { return None };
        let (tag, after) = rest.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))?;
        bytes = after;
        Some(tag)
    })
}

/// True if the cell carries a TTL that has run out.
pub(crate) fn own_ttl_passed(cell: &CellRef<'_>, now_ms: i64) -> bool {
    last_ms(cell).is_some_and(|last_ms| last_ms < now_ms)
}

/// The last moment at which a cell with a TTL of its own is seen, milliseconds since the epoch.
pub(crate) fn last_ms(cell: &CellRef<'_>) -> Option<i64> {
    let ttl_ms = tags(cell.tags).find_map(|tag| match tag {
        [TTL, ttl @ ..] => ttl.try_into().ok().map(i64::from_be_bytes),
        _ => None,
    });
    ttl_ms.map(|ttl_ms| cell.timestamp.saturating_add(ttl_ms))
}

/// Learns when the cells of a file end that carry a TTL of their own, to an eighth of the time that they have left.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The moment at which the file is begun, milliseconds since the epoch.
    from_ms: i64,
    first_ms: i64,
    /// Cells by the time that they have left, see [`Ends::place`].
    counts: BTreeMap<u16, u64>,
}

impl Ends {
    pub(crate) fn new(from_ms: i64) -> Self {
        Self { from_ms, first_ms: i64::MAX, counts: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, cell: &CellRef<'_>) {
        if let Some(last_ms) = last_ms(cell) {
            self.first_ms = self.first_ms.min(last_ms);
            let left_ms = last_ms.saturating_sub(self.from_ms).max(0).unsigned_abs();
            *self.counts.entry(Self::place(left_ms)).or_default() += 1;
        }
    }

    /// What is known of a file of so many cells.
    pub(crate) fn of_file(&self, cells: u64) -> Option<OwnTtl> {
        let mut ended = 0;
        let half = self.counts.iter().find(|(_, count)| {
            ended += *count;
            ended * 2 >= cells
        });
        let moment = |place: &u16| self.from_ms.saturating_add_unsigned(Self::most(*place));
        let own = OwnTtl { first_ms: self.first_ms, half_ms: half.map(|(place, _)| moment(place)) };
        (!self.counts.is_empty()).then_some(own)
    }

    /// Eight places for each power of two, in ascending order: the exponent and the three bits below the highest one.
    fn place(left_ms: u64) -> u16 {
        let high = left_ms.max(8).ilog2() as u16;
        match left_ms {
            0..8 => left_ms as u16,
            _ => (high - 2) * 8 + ((left_ms >> (high - 3)) & 7) as u16,
        }
    }

    /// The longest time of a place.
    fn most(place: u16) -> u64 {
        match place {
            0..8 => place.into(),
            _ => {
                let shift = place / 8 - 1;
                (u64::from(place % 8 + 8) << shift) + ((1 << shift) - 1)
            }
        }
    }
}

/// True if there is a TTL among these tags.
pub(crate) fn have_ttl(of_cell: &[u8]) -> bool {
    tags(of_cell).any(|tag| tag.first() == Some(&TTL))
}

/// The tag of a TTL.
pub(crate) fn of_ttl(ttl_ms: u64) -> Vec<u8> {
    let ttl = i64::try_from(ttl_ms).unwrap_or(i64::MAX);
    let mut tag = vec![0, 9, TTL];
    tag.extend_from_slice(&ttl.to_be_bytes());
    tag
}

/// The tags of a cell that replaces one with the tags `before`: the same, but for a TTL of its own.
pub(crate) fn of_successor(before: &[u8], ttl_ms: Option<u64>) -> Vec<u8> {
    let Some(ttl_ms) = ttl_ms else { return before.to_vec() };
    let mut kept = Vec::with_capacity(before.len());
    for tag in tags(before).filter(|tag| tag.first() != Some(&TTL)) {
        let len = u16::try_from(tag.len()).expect("a tag was cut by a length of two bytes");
        kept.extend_from_slice(&len.to_be_bytes());
        kept.extend_from_slice(tag);
    }
    kept.extend(of_ttl(ttl_ms));
    kept
}

#[cfg(test)]
mod tests;
