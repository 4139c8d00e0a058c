// SPDX-License-Identifier: Apache-2.0
//! Rows of one form ([`super::rows`]) as a run ([`crate::rows`]): of each row what is read is its key and its timestamps, and
//! where its tail begins is kept.

use basalt_model::Seq;

use super::read::{DeltaCells, DeltaFormat};
use super::rows::{DeltaRows, RowHead, low_bytes};
use crate::encoding::row_form::load;
use crate::rows::{Parts, Places, RowColumn, RowRun};

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
    timestamps: Vec<i64>,
    timestamp: i64,
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
        Some(Run {
            body,
            model_at: tail_at,
            at: cells.at,
            raw_bytes: cells.raw_bytes,
            columns,
            offsets: Vec::new(),
            keys: cells.keys[key_at..key_at + self.row_len].to_vec(),
            timestamps: Vec::new(),
            timestamp: last.timestamp,
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
            self.timestamps.reserve(expected * rows.places.len());
        }
        if rows.row_len <= 8 {
            self.read_short::<F>(rows, cells.raw_bytes_declared);
        } else {
            while self.read_long::<F>(rows, cells.raw_bytes_declared).is_some() {}
        }
        let Some(tail_at) = self.offsets.pop() else { return };
        self.push_last::<TAGS, SEQ>(rows, cells, tail_at as usize, F::TIMESTAMPS_WHOLE);
        if self.offsets.is_empty() {
            return;
        }
        let count = self.offsets.len();
        self.keys.truncate((count + 1) * rows.row_len);
        self.timestamps.truncate(if F::TIMESTAMPS_WHOLE { 0 } else { count * rows.places.len() });
        let run = RowRun {
            rows: count,
            columns: self.columns,
            row_len: rows.row_len,
            places: Places::Listed { offsets: self.offsets, keys_at: rows.row_len, keys: self.keys },
            timestamps: self.timestamps,
        };
        parts.push(cells.len() - rows.places.len(), run);
    }

    /// Rows with keys of at most eight bytes, which are kept as a number.
    fn read_short<F: DeltaFormat>(&mut self, rows: &DeltaRows, raw_bytes_max: usize) {
        let len = rows.row_len;
        let mut key = [0; 8];
        key[..len].copy_from_slice(&self.keys);
        let mut key = u64::from_le_bytes(key);
        while let Some((kept, rest_at, tail_at)) = self.next_row::<F>(rows, raw_bytes_max) {
            // A form has eight bytes at least: there are as many behind the start of the rest.
            let rest = load(self.body, rest_at).unwrap_or(0) & low_bytes(len - kept);
            let next = key & low_bytes(kept) | rest << (8 * kept);
            if next == key {
                return;
            }
            key = next;
            self.keys.extend_from_slice(&key.to_le_bytes());
            self.keys.truncate(self.keys.len() - (8 - len));
            self.take::<F>(rows, tail_at);
        }
    }

    /// One row with a longer key.
    fn read_long<F: DeltaFormat>(&mut self, rows: &DeltaRows, raw_bytes_max: usize) -> Option<()> {
        let (kept, rest_at, tail_at) = self.next_row::<F>(rows, raw_bytes_max)?;
        let before = self.keys.len() - rows.row_len;
        let rest = &self.body[rest_at..tail_at];
        if self.keys[before + kept..] == *rest {
            return None;
        }
        self.keys.extend_from_within(before..before + kept);
        self.keys.extend_from_slice(rest);
        self.take::<F>(rows, tail_at);
        Some(())
    }

    /// The next row, if it has the form and there is room for it: how many bytes of the key are the last one's, where the rest of
    /// the key lies, and the tail. At least one byte of the key is in the rest.
    #[inline(always)]
    fn next_row<F: DeltaFormat>(
        &self,
        rows: &DeltaRows,
        raw_bytes_max: usize,
    ) -> Option<(usize, usize, usize)> {
        let RowHead { common, row_rest_at } = F::read_row_head(self.body, self.at, &rows.head)?;
        let kept = common.checked_sub(2).filter(|&kept| kept < rows.row_len)?;
        let tail_at = row_rest_at + rows.row_len - kept;
        let tail = self.body.get(tail_at..tail_at + rows.form.len())?;
        let fits = rows.form.fits(tail) && self.raw_bytes + rows.raw_bytes <= raw_bytes_max;
        fits.then_some((kept, row_rest_at, tail_at))
    }

    /// Moves behind the row whose tail lies at `tail_at`, and whose key is the last of the keys.
    #[inline(always)]
    fn take<F: DeltaFormat>(&mut self, rows: &DeltaRows, tail_at: usize) {
        if !F::TIMESTAMPS_WHOLE {
            let mut timestamp = self.timestamp;
            for place in &rows.places {
                let at = tail_at + place.timestamp;
                // What the flag says lies in the tail, which was there in the row before and is here.
                timestamp = F::read_timestamp(self.body, at, place.flag, timestamp).unwrap_or(timestamp);
                self.timestamps.push(timestamp);
            }
            self.timestamp = timestamp;
        }
        self.offsets.push(tail_at as u32);
        self.raw_bytes += rows.raw_bytes;
        self.at = tail_at + rows.form.len();
    }

    /// Makes the last row the last of `cells`.
    fn push_last<const TAGS: bool, const SEQ: bool>(
        &self,
        rows: &DeltaRows,
        cells: &mut DeltaCells,
        tail_at: usize,
        timestamps_whole: bool,
    ) {
        let (names_at, count) = (cells.keys_len, cells.slots.len());
        cells.keys_len += rows.names_len;
        cells.grow_keys();
        cells.keys.copy_within(names_at - rows.names_len..names_at, names_at);
        let key = &self.keys[self.keys.len() - rows.row_len..];
        let tail = &self.body[tail_at..];
        cells.slots.extend_from_within(count - rows.places.len()..);
        let timestamps = self.timestamps.len().saturating_sub(rows.places.len());
        for (index, (slot, place)) in cells.slots[count..].iter_mut().zip(&rows.places).enumerate() {
            let name_at = names_at + place.name + 2;
            cells.keys[name_at..name_at + key.len()].copy_from_slice(key);
            slot.key += rows.names_len as u32;
            let moved = (tail_at - self.model_at) as u32;
            slot.value += moved;
            if TAGS && !cells.context.layout.tags_compressed {
                slot.tags += moved;
            }
            slot.timestamp = if timestamps_whole {
                tail[place.timestamp..].first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
            } else {
                self.timestamps[timestamps + index]
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
