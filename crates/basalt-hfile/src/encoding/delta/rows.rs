// SPDX-License-Identifier: Apache-2.0
//! Rows of delta-encoded cells that have the form of the row before ([`crate::encoding::row_form`]), decoded by
//! copying its slots and names.
//!
//! ```text
//! row = head | rest of the row key | tail
//! head: flags and lengths of the first cell, as in the row before, and how many bytes of the row key are the previous one's
//! tail: the rest of the first cell, and all others
//! ```
//!
//! 1. The head is the last row's but for the number of common bytes; the row key has the same length, another end.
//! 2. The tail has the form of the last row's tail: same names, lengths, flags and types, other timestamps and values.
//! 3. Then names are those of the last row with the end of the row key written over, and slots are those of the last row,
//!    moved on.

use std::ops::Range;

use basalt_model::{CellType, Seq};

use super::names::NewName;
use super::read::{DeltaCells, DeltaFormat};
use crate::cells::CellSlot;
use crate::encoding::row_form::{CELLS_MAX, Patience, RowForm, load};
use crate::rows::Parts;
use crate::varint::vlong_len;

/// The head of a row that was decoded: its length up to the row key's rest, and its bytes.
#[derive(Debug, Default)]
pub(in crate::encoding) struct KnownHead {
    pub(in crate::encoding) len: usize,
    /// The first eight bytes.
    pub(in crate::encoding) bytes: [u8; 8],
}

/// The head of a row of the same form.
pub(in crate::encoding) struct RowHead {
    /// Bytes of the row key, its length included, that are the last row's.
    pub(in crate::encoding) common: usize,
    pub(in crate::encoding) row_rest_at: usize,
}

/// The head of DIFF and FAST_DIFF: the same bytes but for the last, the number of common bytes.
#[inline(always)]
pub(in crate::encoding) fn read_flagged_row_head(
    body: &[u8],
    at: usize,
    known: &KnownHead,
) -> Option<RowHead> {
    let head: [u8; 8] = *body.get(at..)?.first_chunk()?;
    let common = head[(known.len - 1) & 7];
    let different = u64::from_le_bytes(head) ^ u64::from_le_bytes(known.bytes);
    let fits = different & low_bytes(known.len - 1) == 0 && common < 0x80;
    fits.then_some(RowHead { common: common.into(), row_rest_at: at + known.len })
}

/// What is read of each cell, by its offset from the start of the tail.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Start of the cell's name, from the start of the row's first name.
    pub(super) name: usize,
    pub(super) timestamp: usize,
    /// Bytes of what stands for the timestamp.
    timestamp_len: usize,
    /// The first byte of the cell: the form of its timestamp.
    pub(super) flag: u8,
    /// The value is that of the cell before.
    same_value: bool,
    /// Last byte of the sequence number.
    pub(super) seq: usize,
}

/// The form of the last row, and its parts.
#[derive(Debug, Default)]
pub(super) struct DeltaRows {
    pub(super) head: KnownHead,
    pub(super) form: RowForm,
    pub(super) places: Vec<Place>,
    pub(super) row_len: usize,
    /// Bytes of the names of a row.
    pub(super) names_len: usize,
    /// Bytes of a row in raw form.
    pub(super) raw_bytes: usize,
    patience: Patience,
}

impl DeltaRows {
    /// True if it is worth a try.
    pub(super) fn is_ready(&mut self) -> bool {
        self.patience.is_ready()
    }

    /// Decodes rows on from the position of `cells`, which is behind a whole row, while they have its form. `starts` is
    /// where each cell of that row begins. Stops before the first row for which `stop` says so, and behind it if
    /// it has been decoded: the caller looks again.
    pub(super) fn decode<F: DeltaFormat, const TAGS: bool, const SEQ: bool>(
        &mut self,
        cells: &mut DeltaCells,
        body: &[u8],
        starts: &[usize],
        mut stop: impl FnMut(&DeltaCells) -> bool,
    ) -> bool {
        let begun = cells.at;
        let mut stopped = false;
        if let Some(mut tail_at) = self.learn::<F, TAGS, SEQ>(cells, body, starts) {
            while !stopped && let Some(next) = self.decode_row::<F, TAGS, SEQ>(cells, body, tail_at) {
                tail_at = next;
                stopped = stop(cells);
            }
        }
        self.patience.note(cells.at > begun);
        stopped
    }

    /// As [`Self::decode`] to the end, to a run of rows, the last of which becomes slots for what follows.
    pub(super) fn decode_run<F: DeltaFormat, const TAGS: bool, const SEQ: bool>(
        &mut self,
        cells: &mut DeltaCells,
        body: &[u8],
        starts: &[usize],
        parts: &mut Parts,
    ) {
        let begun = cells.at;
        if let Some(mut tail_at) = self.learn::<F, TAGS, SEQ>(cells, body, starts) {
            match self.run::<F, SEQ>(cells, body, tail_at) {
                Some(run) => run.read_all::<F, TAGS, SEQ>(self, cells, parts),
                None => {
                    while let Some(next) = self.decode_row::<F, TAGS, SEQ>(cells, body, tail_at) {
                        tail_at = next;
                    }
                }
            }
        }
        self.patience.note(cells.at > begun);
    }

    /// Takes the form of the last row; where its tail begins, or `None` if it is not fit for it.
    fn learn<F: DeltaFormat, const TAGS: bool, const SEQ: bool>(
        &mut self,
        cells: &DeltaCells,
        body: &[u8],
        starts: &[usize],
    ) -> Option<usize> {
        let first = *cells.row_starts.last()? as usize;
        let row = &cells.slots[first..];
        let mut last = cells.slots.get(first.checked_sub(1)?)?;
        if row.len() != starts.len() || row.len() > CELLS_MAX {
            return None;
        }
        self.places.clear();
        let mut tail_at = 0;
        for (index, (slot, &start)) in row.iter().zip(starts).enumerate() {
            let read = F::read(body, start, Some(last), &cells.family)?;
            if index == 0 {
                let (common, row_rest) = row_rest(&read.name, last)?;
                tail_at = row_rest.end;
                let bytes = *body[start..].first_chunk()?;
                self.head = KnownHead { len: row_rest.start - start, bytes };
                // The number of common bytes is one byte, the last of the head.
                if usize::from(body[row_rest.start - 1]) != common || self.head.len > 8 {
                    return None;
                }
                if !self.form.reset(cells.at - tail_at) {
                    return None;
                }
            } else if !is_column(&read.name, last) || cells.column_bytes(slot) == cells.column_bytes(last) {
                return None;
            }
            let end = starts.get(index + 1).copied().unwrap_or(cells.at);
            if slot.cell_type != CellType::Put || slot.tags_len > 0 {
                return None;
            }
            self.form.free(read.timestamp_at.start - tail_at..read.timestamp_at.end - tail_at);
            let same_value = read.value.end != read.tail_at;
            if !same_value {
                self.form.free(read.value.start - tail_at..read.value.end - tail_at);
            }
            if TAGS && body.get(read.tail_at) != Some(&0) {
                return None;
            }
            if SEQ {
                let seq_len = end - read.tail_at - usize::from(TAGS);
                self.form.free_vlong(end - 1 - tail_at, seq_len);
                // The raw size counts the shortest form; a longer one must not become the shortest in the next row.
                let shortest =
                    cells.context.seq_override.is_none() && seq_len == vlong_len(slot.seq.0 as i64);
                if seq_len > 2 && !shortest {
                    return None;
                }
            }
            self.places.push(Place {
                name: (slot.key - row[0].key) as usize,
                timestamp: read.timestamp_at.start - tail_at,
                timestamp_len: read.timestamp_at.len(),
                flag: body[start],
                same_value,
                seq: end - 1 - tail_at,
            });
            last = slot;
        }
        self.form.fix(&body[tail_at..cells.at]);
        self.row_len = row[0].row_len.into();
        self.names_len = cells.keys_len - row[0].key as usize;
        self.raw_bytes = cells.raw_bytes - cells.row_raw_start;
        Some(tail_at)
    }

    /// Makes `form` that of tails which have the timestamps of `tail` as well.
    pub(super) fn fix_timestamps(&self, form: &mut RowForm, tail: &[u8]) {
        let of_place = |place: &Place| place.timestamp..place.timestamp + place.timestamp_len;
        form.fix_more(&self.form, self.places.iter().map(of_place), tail);
    }

    /// The row at the position of `cells`; `None`, and nothing is done, if it has another form. `tail_at` is where the
    /// tail of the row before begins; returns where this one's does.
    #[inline(always)]
    fn decode_row<F: DeltaFormat, const TAGS: bool, const SEQ: bool>(
        &self,
        cells: &mut DeltaCells,
        body: &[u8],
        tail_at: usize,
    ) -> Option<usize> {
        let RowHead { common, row_rest_at } = F::read_row_head(body, cells.at, &self.head)?;
        let rest_len = (2 + self.row_len).checked_sub(common).filter(|_| common >= 2)?;
        let next_at = row_rest_at + rest_len;
        let end = next_at + self.form.len();
        let tail = body.get(next_at..end)?;
        if !self.form.fits(tail) {
            return None;
        }
        if cells.raw_bytes + self.raw_bytes > cells.raw_bytes_declared
            || !self.write_names(&mut cells.keys, cells.keys_len, common, &body[row_rest_at..], rest_len)
        {
            return None;
        }
        let count = cells.slots.len();
        cells.slots.extend_from_within(count - self.places.len()..);
        let moved = (next_at - tail_at) as u32;
        let (done, new) = cells.slots.split_at_mut(count);
        let mut last = *done.last()?;
        for (slot, place) in new.iter_mut().zip(&self.places) {
            slot.key += self.names_len as u32;
            slot.value = if place.same_value { last.value } else { slot.value + moved };
            if TAGS && !cells.context.layout.tags_compressed {
                slot.tags += moved;
            }
            slot.timestamp = F::read_timestamp(body, next_at + place.timestamp, place.flag, last.timestamp)?;
            if SEQ && cells.context.seq_override.is_none() {
                slot.seq = Seq(slot.seq.0 & !0xff | u64::from(tail[place.seq]));
            }
            last = *slot;
        }
        cells.row_starts.push(count as u32);
        cells.keys_len += self.names_len;
        cells.row_raw_start = cells.raw_bytes;
        cells.raw_bytes += self.raw_bytes;
        cells.at = end;
        Some(next_at)
    }

    /// Writes the names of a row behind those of the last, which end at `to`: the same, but for the end of the row key.
    /// False if there is no room, or the row key is the same as the last one's.
    #[inline(always)]
    fn write_names(&self, keys: &mut [u8], to: usize, common: usize, body: &[u8], rest_len: usize) -> bool {
        let from = to - self.names_len;
        if to + self.names_len + 8 > keys.len() || rest_len == 0 {
            return false;
        }
        let (old, Some(word)) = (load(keys, from + common).unwrap_or(0), load(body, 0)) else { return false };
        if rest_len > 8 {
            return self.write_long_names(keys, to, common, &body[..rest_len]);
        }
        // Up to eight bytes are written as one number, with what follows them in the last row's name.
        let mask = low_bytes(rest_len);
        let word = word & mask;
        if old & mask == word {
            return false;
        }
        keys.copy_within(from..to, to);
        let (last, new) = keys.split_at_mut(to);
        for place in &self.places {
            let at = place.name + common;
            // The last bytes of the last name have nothing behind them but the row key just written.
            let old = load(last, from + at).unwrap_or_else(|| load(new, at).unwrap_or(0));
            if let Some(bytes) = new.get_mut(at..at + 8) {
                bytes.copy_from_slice(&(old & !mask | word).to_le_bytes());
            }
        }
        true
    }

    #[cold]
    fn write_long_names(&self, keys: &mut [u8], to: usize, common: usize, rest: &[u8]) -> bool {
        let from = to - self.names_len;
        if keys[from + common..from + common + rest.len()] == *rest {
            return false;
        }
        keys.copy_within(from..to, to);
        for place in &self.places {
            let at = to + place.name + common;
            keys[at..at + rest.len()].copy_from_slice(rest);
        }
        true
    }
}

/// A mask of the first `count` (at most 8) bytes of a number that was loaded as it lay.
#[inline(always)]
pub(super) fn low_bytes(count: usize) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (64 - 8 * count.min(8)) }
}

/// Bytes of the row key that are the last one's, and where the others lie, if the name begins a row with a key as long as the last one's and the same family.
fn row_rest(name: &NewName, last: &CellSlot) -> Option<(usize, Range<usize>)> {
    let row_end = 2 + last.row_len as usize;
    match name {
        NewName::Row { row_len, common, row_rest, .. } if *row_len == last.row_len && *common >= 2 => {
            Some((*common, row_rest.clone()))
        }
        NewName::Whole { common, rest } if (2..row_end).contains(common) => {
            let row = rest.start..rest.start + row_end - common;
            (row.end <= rest.end).then_some((*common, row))
        }
        _ => None,
    }
}

/// True if the name is of a cell in the last one's row and family.
fn is_column(name: &NewName, last: &CellSlot) -> bool {
    match name {
        NewName::Column { .. } => true,
        NewName::Whole { common, .. } => *common >= 3 + last.row_len as usize + last.family_len as usize,
        NewName::Row { .. } | NewName::First { .. } => false,
    }
}
