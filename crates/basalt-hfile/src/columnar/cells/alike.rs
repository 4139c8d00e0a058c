// SPDX-License-Identifier: Apache-2.0
//! Vectors whose rows are alike: row keys of one width, and a put in every column. Their keys are made for all rows at once: a row's keys
//! are the same bytes in each row but for the row itself.

use std::slice;

use basalt_model::{CellType, Seq};

use super::{CellsBuilder, Numbers, ReadyColumn, Span, Stamps, check_bytes};
use crate::cells::CellSlot;
use crate::columnar::block::ColumnarBlock;
use crate::columnar::rows::KeyRows;
use crate::error::Damage;

/// Length of a row in a flat key, in bytes.
const ROW_LEN_BYTES: usize = 2;

impl Stamps {
    /// True if they say of every cell that it is a put.
    fn are_of_puts(&self) -> bool {
        matches!(self.types, Numbers::One(code) if code == u64::from(CellType::Put.code()))
    }
}

impl CellsBuilder {
    /// Adds the cells of all rows of a vector, whose columns are ready from its first cell on; false, and nothing was done, if its
    /// rows are not alike.
    pub(super) fn add_alike(
        &mut self,
        block: &ColumnarBlock,
        rows: &KeyRows<'_>,
        columns: &[ReadyColumn<'_>],
        row_stamps: Option<&Stamps>,
    ) -> Result<bool, Damage> {
        let puts = |column: &ReadyColumn<'_>| {
            column.part.counts.is_none()
                && column.part.stamps.as_ref().or(row_stamps).is_some_and(Stamps::are_of_puts)
        };
        let Some(width) = rows.width().filter(|_| !columns.is_empty() && columns.iter().all(puts)) else {
            return Ok(false);
        };
        let (mut pattern, mut key_at) = (Vec::new(), Vec::with_capacity(columns.len()));
        for column in columns {
            key_at.push(pattern.len());
            pattern.extend_from_slice(&(width as u16).to_be_bytes());
            pattern.resize(pattern.len() + width, 0);
            pattern.extend_from_slice(&column.name);
        }
        let (stride, base, count) = (pattern.len(), self.keys.len(), rows.len());
        check_bytes(base + stride * count + self.values.len(), block.source.bytes_max)?;
        if u32::try_from(base + stride * count).is_err() {
            return Err(Damage::new(0, "keys of 4 GiB"));
        }
        repeat(&pattern, count, &mut self.keys);
        for at in &key_at {
            rows.write_all(&mut self.keys[base..], stride, at + ROW_LEN_BYTES);
        }
        let mut laid: Vec<Laid<'_>> = Vec::with_capacity(columns.len());
        for (column, at) in columns.iter().zip(&key_at) {
            let stamps = column.part.stamps.as_ref().or(row_stamps).expect("looked for above");
            let slot = CellSlot {
                key: (base + at) as u32,
                value: 0,
                value_len: 0,
                qualifier_len: column.part.qualifier.len() as u32,
                tags: 0,
                tags_len: 0,
                row_len: width as u16,
                family_len: block.head.family.len() as u8,
                cell_type: CellType::Put,
                timestamp: 0,
                seq: block.seq_override.unwrap_or_default(),
            };
            laid.push(Laid::new(column, slot, stamps, block.seq_override.is_none()));
        }
        self.slots.reserve(count * laid.len());
        let first = self.slots.len() as u32;
        self.row_starts.extend((0..count as u32).map(|row| first + row * laid.len() as u32));
        match &mut *laid {
            [column] if column.lay_all(count, stride, &mut self.slots) => {}
            [column] => self.slots.extend((0..count).map(|row| column.take(row, stride))),
            columns => {
                for row in 0..count {
                    columns.iter_mut().for_each(|column| self.slots.push(column.take(row, stride)));
                }
            }
        }
        Ok(true)
    }
}

/// The slots of a column's cells, one for each row.
struct Laid<'a> {
    /// Of the next row; its value and what differs by row is not in it.
    next: CellSlot,
    spans: slice::Iter<'a, Span>,
    filled: Option<&'a [u64]>,
    /// One for each row, if they differ.
    timestamps: Option<&'a [u64]>,
    seqs: Option<&'a [u64]>,
}

impl<'a> Laid<'a> {
    fn new(column: &'a ReadyColumn<'_>, first: CellSlot, stamps: &'a Stamps, has_seqs: bool) -> Self {
        let mut next = first;
        let timestamps = match &stamps.timestamps {
            Numbers::One(timestamp) => {
                next.timestamp = *timestamp as i64;
                None
            }
            Numbers::Each(timestamps) => Some(&**timestamps),
        };
        let seqs = match &stamps.seqs {
            Numbers::Each(seqs) if has_seqs => Some(&**seqs),
            Numbers::One(seq) if has_seqs => {
                next.seq = Seq(*seq);
                None
            }
            _ => None,
        };
        Self { next, spans: column.spans.iter(), filled: column.part.filled.as_deref(), timestamps, seqs }
    }

    /// Appends the slots of all rows, if each has a value and they differ by it and their timestamp alone; false if they do not.
    fn lay_all(&self, count: usize, stride: usize, out: &mut Vec<CellSlot>) -> bool {
        let spans = self.spans.as_slice();
        if self.filled.is_some() || self.seqs.is_some() || spans.len() != count {
            return false;
        }
        let first = self.next;
        let slot = |(row, span): (usize, &Span)| CellSlot {
            key: first.key.wrapping_add((row * stride) as u32),
            value: span.start,
            value_len: span.len,
            ..first
        };
        let slots = spans.iter().enumerate().map(slot);
        match self.timestamps {
            None => out.extend(slots),
            Some(timestamps) => out.extend(
                slots
                    .zip(timestamps)
                    .map(|(slot, &timestamp)| CellSlot { timestamp: timestamp as i64, ..slot }),
            ),
        }
        true
    }

    /// The slot of the next row, which is `row`; the key of the one behind it is `stride` bytes further on.
    #[inline(always)]
    fn take(&mut self, row: usize, stride: usize) -> CellSlot {
        let mut slot = self.next;
        self.next.key = self.next.key.wrapping_add(stride as u32);
        if self.filled.is_none_or(|filled| filled[row] != 0)
            && let Some(span) = self.spans.next()
        {
            (slot.value, slot.value_len) = (span.start, span.len);
        }
        if let Some(timestamps) = self.timestamps {
            slot.timestamp = timestamps[row] as i64;
        }
        if let Some(seqs) = self.seqs {
            slot.seq = Seq(seqs[row]);
        }
        slot
    }
}

/// Appends a pattern some times: what is there already is copied, so that each copy is twice as long as the one before.
fn repeat(pattern: &[u8], times: usize, out: &mut Vec<u8>) {
    let (base, len) = (out.len(), pattern.len() * times);
    out.reserve(len);
    out.extend_from_slice(&pattern[..pattern.len().min(len)]);
    while out.len() < base + len {
        let more = (out.len() - base).min(base + len - out.len());
        out.extend_from_within(base..base + more);
    }
}
