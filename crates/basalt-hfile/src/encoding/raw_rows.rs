// SPDX-License-Identifier: Apache-2.0
//! Rows of raw cells that have the form of the row before ([`super::row_form`]), decoded by copying its slots or not at all.
//!
//! 1. All bytes but those of row, timestamps, values and the ends of sequence numbers are those of the row before.
//! 2. All cells have the same row, and it is not that of the row before.
//! 3. Then each slot is that of the row before, moved on by the length of a row, with the timestamp and the number read;
//!    and of a run of such rows ([`crate::rows`]) their number says everything.

use basalt_model::{CellType, Seq};

use super::CellLayout;
use super::row_form::{CELLS_MAX, Patience, RowForm, load};
use crate::cells::CellSlot;
use crate::rows::{Parts, Places, RowColumn, RowRun, Timestamps};

/// Cells behind the first of a row whose keys are compared at once.
const KEYS_NEAR: usize = 4;

/// What is read of each cell, by its offset from the start of the row.
#[derive(Debug, Clone, Copy)]
struct Place {
    row: usize,
    timestamp: usize,
    /// Last byte of the sequence number.
    seq: usize,
}

/// The form of the last row, and its parts.
#[derive(Debug, Default)]
pub(super) struct RawRows {
    form: RowForm,
    places: Vec<Place>,
    row_len: usize,
    patience: Patience,
}

/// Where decoded cells go.
pub(super) struct Target<'a> {
    pub(super) slots: &'a mut Vec<CellSlot>,
    pub(super) row_starts: &'a mut Vec<u32>,
    pub(super) seq_override: Option<Seq>,
    /// If runs are wanted: where they go. Of a run the last row becomes slots, for what follows.
    pub(super) parts: Option<&'a mut Parts>,
}

impl RawRows {
    /// Decodes the rows from `at` on that look like the last one in `target`, which ends there. Returns where the first
    /// row begins that does not.
    pub(super) fn decode<const TAGS: bool, const SEQ: bool>(
        &mut self,
        bytes: &[u8],
        at: usize,
        target: &mut Target<'_>,
    ) -> usize {
        let Some(&first) = target.row_starts.last() else { return at };
        if !self.patience.is_ready() {
            return at;
        }
        let mut rows = 0;
        if self.learn::<TAGS, SEQ>(bytes, at, &target.slots[first as usize..]) {
            rows = match target.parts {
                Some(_) => self.decode_run::<TAGS, SEQ>(bytes, at, target),
                None => self.decode_rows::<TAGS, SEQ>(bytes, at, target),
            };
        }
        self.patience.note(rows > 0);
        at + rows * self.form.len()
    }

    /// Decodes rows to slots; how many.
    fn decode_rows<const TAGS: bool, const SEQ: bool>(
        &self,
        bytes: &[u8],
        at: usize,
        target: &mut Target<'_>,
    ) -> usize {
        let mut rows = 0;
        while let Some(row) = self.next_row(bytes, at + rows * self.form.len()) {
            self.push_row::<TAGS, SEQ>(row, 1, target);
            rows += 1;
        }
        rows
    }

    /// Counts rows, which become a run but for the last.
    fn decode_run<const TAGS: bool, const SEQ: bool>(
        &self,
        bytes: &[u8],
        at: usize,
        target: &mut Target<'_>,
    ) -> usize {
        let rows = self.count_rows(bytes, at);
        if rows > 1 {
            let run = self.run::<TAGS, SEQ>(at, rows - 1, target);
            if let Some(parts) = &mut target.parts {
                parts.push(target.slots.len(), run);
            }
        }
        if let Some(last) = rows.checked_sub(1) {
            let row = &bytes[at + last * self.form.len()..at + rows * self.form.len()];
            self.push_row::<TAGS, SEQ>(row, rows, target);
        }
        rows
    }

    /// The run of `rows` rows from `start` on; the row before it is the last one in `target`.
    fn run<const TAGS: bool, const SEQ: bool>(
        &self,
        start: usize,
        rows: usize,
        target: &Target<'_>,
    ) -> RowRun {
        let row_start = start - self.form.len();
        let slots = &target.slots[target.slots.len() - self.places.len()..];
        let columns = slots.iter().zip(&self.places).map(|(slot, place)| {
            let name_at = slot.key + 2 + u32::from(slot.row_len);
            let value_at = slot.value - row_start as u32;
            let mut column = RowColumn::of_slot(slot, name_at, value_at);
            column.timestamp_at = place.timestamp as u32;
            if SEQ && target.seq_override.is_none() {
                column.let_seq_vary(place.seq as u32);
            }
            column
        });
        let key_at = self.places.first().map_or(0, |place| place.row);
        let layout = CellLayout { with_tags: TAGS, tags_compressed: false, with_seq: SEQ };
        let layout = target.seq_override.is_none().then_some(layout);
        let places = Places::Even { start, stride: self.form.len(), key_at, layout };
        RowRun {
            rows,
            columns: columns.collect(),
            places,
            row_len: self.row_len,
            timestamps: Timestamps::default(),
        }
    }

    /// Takes the form of a row that ends at `end`; false if it is not fit for it.
    fn learn<const TAGS: bool, const SEQ: bool>(
        &mut self,
        bytes: &[u8],
        end: usize,
        row: &[CellSlot],
    ) -> bool {
        let Some(first) = row.first().filter(|_| row.len() <= CELLS_MAX) else { return false };
        let start = first.key as usize - 8;
        if !self.form.reset(end - start) {
            return false;
        }
        self.places.clear();
        self.row_len = first.row_len.into();
        for (index, slot) in row.iter().enumerate() {
            let key = slot.key as usize - start;
            let value = slot.value as usize - start;
            let cell_end = row.get(index + 1).map_or(end, |next| next.key as usize - 8) - start;
            let value_end = value + slot.value_len as usize + if TAGS { 2 } else { 0 };
            if slot.cell_type != CellType::Put || slot.tags_len > 0 {
                return false;
            }
            self.form.free(key + 2..key + 2 + self.row_len);
            self.form.free(value - 9..value - 1);
            self.form.free(value..value + slot.value_len as usize);
            if SEQ {
                self.form.free_vlong(cell_end - 1, cell_end - value_end);
            }
            self.places.push(Place { row: key + 2, timestamp: value - 9, seq: cell_end - 1 });
        }
        self.form.fix(&bytes[start..end]);
        // Two cells of a column are versions; such rows are left to the plain way.
        let column = |slot: &CellSlot| {
            let at = slot.key as usize + 2 + slot.row_len as usize;
            &bytes[at..at + 1 + slot.family_len as usize + slot.qualifier_len as usize]
        };
        row.windows(2).all(|pair| column(&pair[0]) != column(&pair[1]))
    }

    /// How many rows from `at` on have the form.
    fn count_rows(&self, bytes: &[u8], at: usize) -> usize {
        let len = self.form.len();
        let Some((first, others)) = self.places.split_first() else { return 0 };
        let Some(mask) = self.key_mask() else {
            let mut rows = 0;
            while self.next_row(bytes, at + rows * len).is_some() {
                rows += 1;
            }
            return rows;
        };
        let key = |row: &[u8], at: usize| load(row, at).unwrap_or(0);
        // Without a loop for the usual number of cells: where there are fewer, the first one's key is compared with itself.
        let (near, far) = others.split_at(others.len().min(KEYS_NEAR));
        let near: [usize; KEYS_NEAR] = std::array::from_fn(|index| near.get(index).unwrap_or(first).row);
        let mut last = key(&bytes[at - len..at], first.row);
        self.form.count(bytes[at..].chunks_exact(len).take_while(|row| {
            let this = key(row, first.row);
            let different = near.iter().fold(0, |different, &at| different | key(row, at) ^ this);
            let different =
                far.iter().fold(different, |different, place| different | key(row, place.row) ^ this);
            let is_new = (this ^ last) & mask != 0;
            last = this;
            is_new && different & mask == 0
        }))
    }

    /// Which bits of eight bytes at a row key are of it, if it is no longer than that. A key has more than eight bytes behind the
    /// start of its row.
    fn key_mask(&self) -> Option<u64> {
        (1..=8).contains(&self.row_len).then(|| u64::MAX >> (64 - 8 * self.row_len))
    }

    /// The row at `at`; `None` if it has another form.
    #[inline(always)]
    fn next_row<'a>(&self, bytes: &'a [u8], at: usize) -> Option<&'a [u8]> {
        let len = self.form.len();
        let row = bytes.get(at..at + len)?;
        let model = &bytes[at - len..at];
        (self.form.fits(row) && self.is_one_new_row(model, row)).then_some(row)
    }

    /// Adds the slots of `row`, which lies `rows_on` rows behind the last one in `target`.
    #[inline(always)]
    fn push_row<const TAGS: bool, const SEQ: bool>(
        &self,
        row: &[u8],
        rows_on: usize,
        target: &mut Target<'_>,
    ) {
        let moved = (rows_on * self.form.len()) as u32;
        let slots = &mut *target.slots;
        let count = slots.len();
        slots.extend_from_within(count - self.places.len()..);
        for (slot, place) in slots[count..].iter_mut().zip(&self.places) {
            slot.key += moved;
            slot.value += moved;
            if TAGS {
                slot.tags += moved;
            }
            let timestamp = row[place.timestamp..].first_chunk().copied();
            slot.timestamp = i64::from_be_bytes(timestamp.unwrap_or_default());
            if SEQ && target.seq_override.is_none() {
                slot.seq = Seq(slot.seq.0 & !0xff | u64::from(row[place.seq]));
            }
        }
        target.row_starts.push(count as u32);
    }

    /// True if all cells of `row` have the same row key, and that of `model` is another.
    #[inline(always)]
    fn is_one_new_row(&self, model: &[u8], row: &[u8]) -> bool {
        let Some(first) = self.places.first() else { return false };
        let len = self.row_len;
        let Some(mask) = self.key_mask() else {
            let key = |place: &Place| &row[place.row..place.row + len];
            return *key(first) != model[first.row..first.row + len]
                && self.places[1..].iter().all(|place| key(place) == key(first));
        };
        let key = |bytes: &[u8], place: &Place| load(bytes, place.row).unwrap_or(0);
        let expected = key(row, first);
        let same = |bytes: &[u8], place: &Place| (key(bytes, place) ^ expected) & mask == 0;
        !same(model, first) && self.places[1..].iter().all(|place| same(row, place))
    }
}
