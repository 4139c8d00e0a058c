// SPDX-License-Identifier: Apache-2.0
//! Rows of one form ([`super::rows`]) as a run ([`crate::rows`]): of each row what is read is its key and its timestamps, and
//! where its tail begins is kept.
//!
//! 1. A row is read with what varies in its length: how many bytes of its key are the last one's, and what stands for its
//!    timestamps ([`Run::next_row`], [`Run::take`]). Where the next row lies is known only then.
//! 2. If its timestamps are those of the row before, they will be those of each row behind it that has the same bytes for them:
//!    FAST_DIFF's and DIFF's are functions of these bytes and of the last timestamp. Rows that have these bytes and the same head
//!    are all equally long. They are counted first, which waits for nothing that is read, and then taken at once
//!    ([`Run::take_alike`]). In tables of consecutive keys that are written in batches these are all but one row in two hundred.
//! 3. The first row that is not alike is read as in 1.

use basalt_model::Seq;

use super::read::{DeltaCells, DeltaFormat};
use super::rows::{DeltaRows, RowHead, low_bytes};
use crate::encoding::row_form::{RowForm, load};
use crate::rows::{Parts, Places, RowColumn, RowRun, Timestamps};

/// A run being read.
pub(super) struct Run<'a> {
    body: &'a [u8],
    /// Where the tail of the row lies whose form is learned.
    model_at: usize,
    at: usize,
    raw_bytes: usize,
    columns: Vec<RowColumn>,
    offsets: Vec<u32>,
    /// The key of the row before the run, then those of the run.
    keys: Vec<u8>,
    /// The last of the keys as a number, if it has at most eight bytes.
    key: u64,
    timestamps: Timestamps,
    /// That of the last cell.
    timestamp: i64,
    /// The form of tails with the last row's timestamps.
    alike: RowForm,
}

/// Where the parts of a row lie.
struct RowPlace {
    at: usize,
    rest_at: usize,
    tail_at: usize,
    /// How many bytes of the key are the last one's; the others, at least one, are the rest.
    kept: usize,
}

impl DeltaRows {
    /// A run behind the last row of `cells`, whose tail lies at `tail_at`; `None` if a value of the row is one of the row before.
    pub(super) fn run<'a, F: DeltaFormat, const SEQ: bool>(
        &self,
        cells: &DeltaCells,
        body: &'a [u8],
        tail_at: usize,
    ) -> Option<Run<'a>> {
        let row = &cells.slots[cells.last_row_start()..];
        let mut columns = Vec::with_capacity(row.len());
        for (slot, place) in row.iter().zip(&self.places) {
            let name_at = slot.key + 2 + u32::from(slot.row_len);
            let value_at = slot.value.checked_sub(tail_at as u32)?;
            let mut column = RowColumn::of_slot(slot, name_at, value_at);
            column.timestamp_at = place.timestamp as u32;
            if SEQ && cells.context.seq_override.is_none() {
                column.let_seq_vary(place.seq as u32);
            }
            columns.push(column);
        }
        let (first, last) = (row.first()?, row.last()?);
        let key_at = first.key as usize + 2;
        let keys = cells.keys[key_at..key_at + self.row_len].to_vec();
        let mut key = [0; 8];
        if let Some(bytes) = key.get_mut(..self.row_len) {
            bytes.copy_from_slice(&keys);
        }
        Some(Run {
            body,
            model_at: tail_at,
            at: cells.at,
            raw_bytes: cells.raw_bytes,
            columns,
            offsets: Vec::new(),
            keys,
            key: u64::from_le_bytes(key),
            timestamps: Timestamps::default(),
            timestamp: last.timestamp,
            alike: RowForm::default(),
        })
    }
}

impl Run<'_> {
    /// Reads rows as long as they have the form. All but the last go to `parts`; that one becomes the last of `cells`.
    pub(super) fn read_all<F: DeltaFormat, const TAGS: bool, const SEQ: bool>(
        mut self,
        rows: &DeltaRows,
        cells: &mut DeltaCells,
        parts: &mut Parts,
    ) {
        // A row is four bytes in the list; the room is for as many as would fill the payload.
        let expected = (self.body.len() - self.at) / (rows.form.len() + rows.head.len + 1) + 1;
        self.offsets.reserve(expected);
        // However long the keys are, all of them are part of what the block claims to come to.
        let raw_left = cells.raw_bytes_declared.saturating_sub(self.raw_bytes);
        self.keys.reserve((expected * rows.row_len).min(raw_left) + 8);
        if !F::TIMESTAMPS_WHOLE {
            self.timestamps.reserve_rows(expected);
        }
        while self.read_some::<F>(rows, cells.raw_bytes_declared).is_some() {}
        let Some(tail_at) = self.offsets.pop() else { return };
        self.push_last::<TAGS, SEQ>(rows, cells, tail_at as usize);
        if self.offsets.is_empty() {
            return;
        }
        let count = self.offsets.len();
        self.keys.truncate((count + 1) * rows.row_len);
        self.timestamps.truncate(count);
        let run = RowRun {
            rows: count,
            columns: self.columns,
            row_len: rows.row_len,
            places: Places::Listed { offsets: self.offsets, keys_at: rows.row_len, keys: self.keys },
            timestamps: self.timestamps,
        };
        parts.push(cells.len() - rows.places.len(), run);
    }

    /// The next row, and those behind it that are alike.
    #[inline(always)]
    fn read_some<F: DeltaFormat>(&mut self, rows: &DeltaRows, raw_bytes_max: usize) -> Option<()> {
        let row = self.next_row::<F>(rows, raw_bytes_max)?;
        if rows.row_len <= 8 {
            self.push_short_key(rows, &row)?
        } else {
            self.push_long_key(rows, &row)?
        }
        let last_timestamp = self.timestamp;
        self.take::<F>(rows, row.tail_at);
        if F::TIMESTAMPS_WHOLE {
            self.take_alike(rows, &rows.form, &row, raw_bytes_max);
        } else if self.timestamp == last_timestamp {
            let mut alike = std::mem::take(&mut self.alike);
            let tail = &self.body[row.tail_at..self.at];
            // Most often the timestamps are still those of the time before, and something else was not alike.
            if alike.len() != tail.len() || !alike.fits(tail) {
                rows.fix_timestamps(&mut alike, tail);
            }
            self.take_alike(rows, &alike, &row, raw_bytes_max);
            self.alike = alike;
        }
        Some(())
    }

    /// The next row, if it has the form and there is room for it.
    #[inline(always)]
    fn next_row<F: DeltaFormat>(&self, rows: &DeltaRows, raw_bytes_max: usize) -> Option<RowPlace> {
        let RowHead { common, row_rest_at } = F::read_row_head(self.body, self.at, &rows.head)?;
        let kept = common.checked_sub(2).filter(|&kept| kept < rows.row_len)?;
        let tail_at = row_rest_at + rows.row_len - kept;
        let tail = self.body.get(tail_at..tail_at + rows.form.len())?;
        let fits = rows.form.fits(tail) && self.raw_bytes + rows.raw_bytes <= raw_bytes_max;
        fits.then_some(RowPlace { at: self.at, rest_at: row_rest_at, tail_at, kept })
    }

    /// The key of a row, of at most eight bytes, which are kept as a number; `None` if it is the last one's.
    #[inline(always)]
    fn push_short_key(&mut self, rows: &DeltaRows, row: &RowPlace) -> Option<()> {
        // A form has eight bytes at least: there are as many behind the start of the rest.
        let rest = load(self.body, row.rest_at)? & low_bytes(rows.row_len - row.kept);
        let key = self.key & low_bytes(row.kept) | rest << (8 * row.kept);
        if key == self.key {
            return None;
        }
        self.key = key;
        self.keys.extend_from_slice(&key.to_le_bytes());
        self.keys.truncate(self.keys.len() - (8 - rows.row_len));
        Some(())
    }

    fn push_long_key(&mut self, rows: &DeltaRows, row: &RowPlace) -> Option<()> {
        let before = self.keys.len() - rows.row_len;
        let rest = &self.body[row.rest_at..row.tail_at];
        if self.keys[before + row.kept..] == *rest {
            return None;
        }
        self.keys.extend_from_within(before..before + row.kept);
        self.keys.extend_from_slice(rest);
        Some(())
    }

    /// Moves behind the row whose tail lies at `tail_at`, and whose key is the last of the keys.
    #[inline(always)]
    fn take<F: DeltaFormat>(&mut self, rows: &DeltaRows, tail_at: usize) {
        if !F::TIMESTAMPS_WHOLE {
            let mut timestamp = self.timestamp;
            self.timestamps.push_row(rows.places.iter().map(|place| {
                let at = tail_at + place.timestamp;
                // What the flag says lies in the tail, which was there in the row before and is here.
                timestamp = F::read_timestamp(self.body, at, place.flag, timestamp).unwrap_or(timestamp);
                timestamp
            }));
            self.timestamp = timestamp;
        }
        self.offsets.push(tail_at as u32);
        self.raw_bytes += rows.raw_bytes;
        self.at = tail_at + rows.form.len();
    }

    /// Takes the rows behind `row`, the last one, that have its head and whose tails have `form`: they have its timestamps.
    fn take_alike(&mut self, rows: &DeltaRows, form: &RowForm, row: &RowPlace, raw_bytes_max: usize) {
        let stride = self.at - row.at;
        let (rest_at, tail_at) = (row.rest_at - row.at, row.tail_at - row.at);
        let rows_max = (raw_bytes_max - self.raw_bytes) / rows.raw_bytes;
        let following = self.body[self.at..].chunks_exact(stride).take(rows_max);
        let model = &self.body[row.at..self.at];
        // A form has eight bytes at least: there are as many behind the start of the head, and of the rest.
        let word = |row: &[u8], at: usize| load(row, at).unwrap_or_default();
        let (head, head_mask) = (word(model, 0), low_bytes(rest_at));
        let has_head = |row: &[u8]| (word(row, 0) ^ head) & head_mask == 0;
        let count = if tail_at - rest_at <= 8 {
            let (mut last, mask) = (word(model, rest_at), low_bytes(tail_at - rest_at));
            form.count(following.map_while(|row| {
                let rest = word(row, rest_at);
                let is_new = (rest ^ last) & mask != 0;
                last = rest;
                (is_new && has_head(row)).then(|| &row[tail_at..])
            }))
        } else {
            let mut last = &model[rest_at..tail_at];
            form.count(following.map_while(|row| {
                let rest = &row[rest_at..tail_at];
                let is_new = rest != last;
                last = rest;
                (is_new && has_head(row)).then(|| &row[tail_at..])
            }))
        };
        if count == 0 {
            return;
        }
        let end = self.at + count * stride;
        let rests = self.body[self.at..end].chunks_exact(stride).map(|row| &row[rest_at..]);
        push_keys(&mut self.keys, &mut self.key, rows.row_len, row.kept, rests);
        self.offsets.extend((1..=count).map(|number| (row.tail_at + number * stride) as u32));
        self.timestamps.repeat_last(count);
        self.raw_bytes += count * rows.raw_bytes;
        self.at = end;
    }

    /// Makes the last row the last of `cells`.
    fn push_last<const TAGS: bool, const SEQ: bool>(
        &self,
        rows: &DeltaRows,
        cells: &mut DeltaCells,
        tail_at: usize,
    ) {
        let (names_at, count) = (cells.keys_len, cells.slots.len());
        cells.keys_len += rows.names_len;
        cells.grow_keys();
        cells.keys.copy_within(names_at - rows.names_len..names_at, names_at);
        let key = &self.keys[self.keys.len() - rows.row_len..];
        let tail = &self.body[tail_at..];
        cells.slots.extend_from_within(count - rows.places.len()..);
        let timestamps = self.timestamps.last(rows.places.len());
        for (index, (slot, place)) in cells.slots[count..].iter_mut().zip(&rows.places).enumerate() {
            let name_at = names_at + place.name + 2;
            cells.keys[name_at..name_at + key.len()].copy_from_slice(key);
            slot.key += rows.names_len as u32;
            let moved = (tail_at - self.model_at) as u32;
            slot.value += moved;
            if TAGS && !cells.context.layout.tags_compressed {
                slot.tags += moved;
            }
            slot.timestamp = match timestamps {
                Some(timestamps) => timestamps[index],
                None => tail[place.timestamp..].first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes)),
            };
            if SEQ && cells.context.seq_override.is_none() {
                slot.seq = Seq(slot.seq.0 & !0xff | u64::from(tail[place.seq]));
            }
        }
        cells.row_starts.push(count as u32);
        cells.row_raw_start = self.raw_bytes - rows.raw_bytes;
        cells.raw_bytes = self.raw_bytes;
        cells.at = self.at;
    }
}

/// Adds keys of `row_len` bytes, of which `kept` are the last one's and the others begin `rests`. `last`: the last key as a number, if
/// it has at most eight bytes.
fn push_keys<'a>(
    keys: &mut Vec<u8>,
    last: &mut u64,
    row_len: usize,
    kept: usize,
    rests: impl ExactSizeIterator<Item = &'a [u8]>,
) {
    let before = keys.len();
    if row_len > 8 {
        for rest in rests {
            let last_at = keys.len() - row_len;
            keys.extend_from_within(last_at..last_at + kept);
            keys.extend_from_slice(&rest[..row_len - kept]);
        }
        return;
    }
    let (count, front, mask) = (rests.len(), *last & low_bytes(kept), low_bytes(row_len - kept));
    // Each key is written with eight bytes, over which the next one goes.
    keys.resize(before + count * row_len + 8, 0);
    let mut at = before;
    for rest in rests {
        *last = front | (load(rest, 0).unwrap_or_default() & mask) << (8 * kept);
        if let Some(bytes) = keys.get_mut(at..at + 8) {
            bytes.copy_from_slice(&last.to_le_bytes());
        }
        at += row_len;
    }
    keys.truncate(at);
}
