// SPDX-License-Identifier: Apache-2.0
//! Names of delta-encoded cells (row length to qualifier), put together from that of the cell before and what is stored.

use std::ops::Range;

use super::read::DeltaCells;
use crate::cells::CellSlot;
use crate::encoding::same_bytes;
use crate::key::KEY_OVERHEAD;

/// Bytes of a short copy.
pub(super) const SHORT: usize = 32;

/// How the name of a cell (row, family, qualifier) comes out of the previous one and the payload.
pub(in crate::encoding) enum NewName {
    /// Name bytes below `common` are the previous cell's; those at `rest` in the payload follow. The family is
    /// part of the name.
    Whole { common: usize, rest: Range<usize> },
    /// Row bytes (with their length) below `common` are the previous cell's, then `row_rest`; the family is the
    /// previous cell's; then the qualifier.
    Row { row_len: u16, common: usize, row_rest: Range<usize>, qualifier: Range<usize> },
    /// The first cell of a DIFF block: row with its length, family with its length, qualifier.
    First { row: Range<usize>, family: Range<usize>, qualifier: Range<usize> },
    /// Row, family and the qualifier below `kept` are the previous cell's, then `rest`.
    Column { kept: usize, rest: Range<usize> },
}

impl DeltaCells {
    /// Appends the name of the next cell: row length, family length, qualifier length, whether the row is new,
    /// whether the column is the previous cell's.
    #[inline(always)]
    pub(super) fn push_name(&mut self, body: &[u8], name: &NewName) -> Option<(u16, u8, u32, bool, bool)> {
        match name {
            NewName::Column { kept, rest } => {
                let last = self.slots.last()?;
                let (key, row_len, family_len) = (last.key as usize, last.row_len, last.family_len);
                let kept = *kept;
                if kept > last.qualifier_len as usize || rest.end > body.len() {
                    return None;
                }
                let rest_at = key + 3 + row_len as usize + family_len as usize + kept;
                let same_len = kept + rest.len() == last.qualifier_len as usize;
                let same_column = same_len && is_same(&body[rest.clone()], &self.keys[rest_at..]);
                self.copy_key(key, rest_at - key);
                self.copy_body(body, rest);
                Some((row_len, family_len, (kept + rest.len()) as u32, false, same_column))
            }
            NewName::Row { row_len, common, row_rest, qualifier } => {
                let last = *self.slots.last()?;
                if row_rest.end > body.len() || qualifier.end > body.len() {
                    return None;
                }
                let start = self.keys_len;
                let family_at = last.key as usize + 2 + last.row_len as usize;
                self.copy_key(last.key as usize, *common);
                self.copy_body(body, row_rest);
                debug_assert_eq!(self.keys_len - start, 2 + *row_len as usize);
                let new_row =
                    !same_bytes(&self.keys[start..self.keys_len], &self.keys[last.key as usize..family_at]);
                self.copy_key(family_at, 1 + last.family_len as usize);
                self.copy_body(body, qualifier);
                let same_column = !new_row && self.keys[start..self.keys_len] == self.keys[self.name(&last)];
                Some((*row_len, last.family_len, qualifier.len() as u32, new_row, same_column))
            }
            NewName::First { row, family, qualifier } => {
                if [row, family, qualifier].into_iter().any(|part| part.end > body.len()) {
                    return None;
                }
                for part in [row, family, qualifier] {
                    self.copy_body(body, part);
                }
                Some(((row.len() - 2) as u16, (family.len() - 1) as u8, qualifier.len() as u32, true, false))
            }
            NewName::Whole { common, rest } => self.push_whole_name(body, *common, rest),
        }
    }

    #[inline(always)]
    fn push_whole_name(
        &mut self,
        body: &[u8],
        common: usize,
        rest: &Range<usize>,
    ) -> Option<(u16, u8, u32, bool, bool)> {
        if rest.end > body.len() {
            return None;
        }
        let start = self.keys_len;
        let last = self.slots.last().copied();
        if let Some(last) = &last {
            self.copy_key(last.key as usize, common);
        }
        self.copy_body(body, rest);
        let name = &self.keys[start..self.keys_len];
        let row_len = u16::from_be_bytes(*name.first_chunk()?);
        let family_len = *name.get(2 + row_len as usize)?;
        let qualifier_len = name.len().checked_sub(3 + row_len as usize + family_len as usize)? as u32;
        let Some(last) = &last else { return Some((row_len, family_len, qualifier_len, true, false)) };
        let last_name = &self.keys[self.name(last)];
        let row_end = 2 + row_len as usize;
        // The first `common` bytes need no second look.
        let seen = common.min(row_end);
        let new_row = last.row_len != row_len || !same_bytes(&name[seen..row_end], &last_name[seen..row_end]);
        let same_column =
            !new_row && name.len() == last_name.len() && same_bytes(&name[seen..], &last_name[seen..]);
        Some((row_len, family_len, qualifier_len, new_row, same_column))
    }

    /// Appends `len` bytes of the keys, from `from` on, to the keys.
    #[inline(always)]
    fn copy_key(&mut self, from: usize, len: usize) {
        let to = self.keys_len;
        self.keys_len += len;
        // Nearly all names are short: a copy of constant size is a few instructions, one of variable size a
        // call. What it writes too much is overwritten by the next, or cut off at the end.
        if len <= SHORT
            && to + SHORT <= self.keys.len()
            && let Some(short) = self.keys[from..].first_chunk::<SHORT>().copied()
        {
            self.keys[to..to + SHORT].copy_from_slice(&short);
            return;
        }
        self.grow_keys();
        self.keys.copy_within(from..from + len, to);
    }

    /// Appends a part of the payload, which must have it, to the keys.
    #[inline(always)]
    fn copy_body(&mut self, body: &[u8], part: &Range<usize>) {
        let (to, len) = (self.keys_len, part.len());
        self.keys_len += len;
        if len <= SHORT
            && to + SHORT <= self.keys.len()
            && let Some(short) = body[part.start..].first_chunk::<SHORT>()
        {
            self.keys[to..to + SHORT].copy_from_slice(short);
            return;
        }
        self.grow_keys();
        self.keys[to..to + len].copy_from_slice(&body[part.clone()]);
    }

    /// Makes room for `keys_len` bytes and a short copy behind them.
    #[cold]
    pub(super) fn grow_keys(&mut self) {
        let needed = self.keys_len + SHORT;
        if needed > self.keys.len() {
            self.keys.resize(needed.max(2 * self.keys.len()), 0);
        }
    }
}

/// True if `longer` begins with `bytes`. As a rule they differ in the first byte, or there is none.
#[inline(always)]
fn is_same(bytes: &[u8], longer: &[u8]) -> bool {
    match (bytes.first(), longer.first()) {
        (None, _) => true,
        (first, other) => first == other && longer.starts_with(bytes),
    }
}

/// Length of the flat key of a decoded cell.
#[inline(always)]
pub(in crate::encoding) fn key_len(slot: &CellSlot) -> usize {
    KEY_OVERHEAD + slot.row_len as usize + slot.family_len as usize + slot.qualifier_len as usize
}

/// Reads the key part of a DIFF or FAST_DIFF cell: the name, and where the part ends.
#[inline(always)]
pub(in crate::encoding) fn read_key_part(
    body: &[u8],
    at: usize,
    last: &CellSlot,
    key_len: usize,
    common: usize,
) -> Option<(NewName, usize)> {
    let (row_len, family_len) = (last.row_len as usize, last.family_len as usize);
    if common >= 2 + row_len {
        let kept = common.checked_sub(3 + row_len + family_len)?;
        let rest_len = key_len.checked_sub(KEY_OVERHEAD + row_len + family_len + kept)?;
        return Some((NewName::Column { kept, rest: at..at + rest_len }, at + rest_len));
    }
    let row_len = match common {
        0 => u16::from_be_bytes(*body.get(at..)?.first_chunk()?),
        1 => u16::from_be_bytes([(last.row_len >> 8) as u8, *body.get(at)?]),
        _ => last.row_len,
    };
    let qualifier_at = at + (2 + row_len as usize).checked_sub(common)?;
    let qualifier_len = key_len.checked_sub(KEY_OVERHEAD + row_len as usize + family_len)?;
    let end = qualifier_at + qualifier_len;
    Some((NewName::Row { row_len, common, row_rest: at..qualifier_at, qualifier: qualifier_at..end }, end))
}
