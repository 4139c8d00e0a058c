// SPDX-License-Identifier: Apache-2.0
//! Rows as a reader has them ([`crate::rows`]), appended many at a time.
//!
//! 1. The first row of a run goes in cell by cell. That shows whether its columns, which are those of all rows, are in order and of
//!    the file's family, ends a block that is full, and counts what is biggest.
//! 2. If both files keep cells in raw form, the rows behind it that fit into the block whatever their cells are follow at once:
//!    their keys are compared and go to the Bloom filter, their timestamps and numbers are counted, their bytes are copied.
//! 3. Otherwise the rows behind it that fit in any case go in cell by cell, but without what is the same in every row: how a column
//!    stands to the one before it, the lengths, the checks ([`FormColumn`]). That is half of the time of writing a delta encoding.
//! 4. The next row goes in as the first one did, and so on.
//!
//! What comes out is, byte for byte, what [`HFileWriter::append`] makes of each cell.

use basalt_model::Seq;

use super::HFileWriter;
use super::stats::RowStats;
use crate::bloom::BloomKind;
use crate::encoding::raw_cells::raw_cell_len;
use crate::encoding::{CellStep, common_len, encoded_len_max};
use crate::error::Result;
use crate::file::FileWrite;
use crate::key::FlatKey;
use crate::rows::{RawRun, RowBlock, RowPart, Rows};
use crate::varint::vlong_len;

/// Rows of a run for which it pays to prepare their columns.
const FORM_ROWS_MIN: usize = 4;
/// Bytes of the longest sequence number.
const SEQ_LEN_MAX: usize = 9;

/// What is known of the cells of a column before they come.
struct FormColumn {
    /// How the cell stands to the one before it, but for the timestamp, and of the first column what the row keys have in common.
    step: CellStep,
    /// The flat key, in which row and timestamp change.
    key: Vec<u8>,
    /// Bytes in raw form without the sequence number.
    raw_len: usize,
    value_len: usize,
    encoded_len_max: usize,
}

impl<W: FileWrite> HFileWriter<W> {
    /// Appends all cells of a block, none of which sorts before the last one.
    pub fn append_block(&mut self, block: &RowBlock) -> Result<()> {
        for part in block.parts() {
            match part {
                RowPart::Cells { block, first, end } => {
                    (first..end).try_for_each(|at| self.append(block.cell(at)))?
                }
                RowPart::Rows(rows) => self.append_rows(&rows)?,
            }
        }
        Ok(())
    }

    /// Appends rows of one form, none of which sorts before the last cell.
    pub fn append_rows(&mut self, rows: &Rows<'_>) -> Result<()> {
        let raw = rows.raw().filter(|raw| self.keeps_as_it_is(raw));
        let by_form = raw.is_none() && self.takes_forms() && rows.len() > FORM_ROWS_MIN;
        let mut columns = if by_form { self.form_columns(rows) } else { Vec::new() };
        let mut row = 0;
        while row < rows.len() {
            (0..rows.columns()).try_for_each(|column| self.append(rows.cell(row, column)))?;
            row += 1;
            row += match &raw {
                Some(raw) => self.append_raw_rows(rows, row, raw),
                None if by_form => self.append_form_rows(rows, row, &mut columns),
                None => 0,
            };
        }
        Ok(())
    }

    /// True if cells go into blocks one by one, and no filter asks for each.
    fn takes_forms(&self) -> bool {
        self.groups.is_none() && self.options.bloom != BloomKind::RowCol
    }

    /// The columns of a run's rows.
    fn form_columns(&self, rows: &Rows<'_>) -> Vec<FormColumn> {
        let last = rows.cell(0, rows.columns() - 1);
        let mut previous = FlatKey::of(&last).to_vec();
        let mut columns = Vec::with_capacity(rows.columns());
        for column in 0..rows.columns() {
            let cell = rows.cell(0, column);
            let key = FlatKey::of(&cell).to_vec();
            let before = FlatKey::parse(&previous).expect("it was made of a cell");
            let seq_len = if self.layout.with_seq { vlong_len(cell.seq.0 as i64) } else { 0 };
            let mut step = CellStep::between(&before, &cell);
            if column == 0 {
                (step.new_row, step.new_column) = (true, true);
            }
            columns.push(FormColumn {
                step,
                raw_len: raw_cell_len(&cell, self.layout) - seq_len,
                value_len: cell.value.len(),
                encoded_len_max: encoded_len_max(&cell, &key),
                key: key.clone(),
            });
            previous = key;
        }
        columns
    }

    /// As [`Self::append_raw_rows`], in any form, the cells' own parts one by one.
    fn append_form_rows(&mut self, rows: &Rows<'_>, first: usize, columns: &mut [FormColumn]) -> usize {
        let sum = |of: fn(&FormColumn) -> usize| columns.iter().map(of).sum::<usize>();
        let encoded_len = sum(|column| column.encoded_len_max);
        let (key_bytes, value_bytes) = (sum(|column| column.key.len()), sum(|column| column.value_len));
        let raw_len = sum(|column| column.raw_len + SEQ_LEN_MAX);
        let room = self.room_for_rows(raw_len, encoded_len).min(rows.len() - first);
        let (mut timestamp_min, mut timestamp_max, mut seq_max) = (i64::MAX, i64::MIN, Seq(0));
        let (mut last, mut raw_bytes, mut end) = (rows.row(first - 1), 0, first);
        let mut previous_timestamp = self.last_key.timestamp;
        while end < first + room {
            let row = rows.row(end);
            if row <= last {
                break;
            }
            if let Some(bloom) = &mut self.general_bloom {
                bloom.add_new_row(row);
            }
            self.block.reserve(encoded_len);
            columns[0].step.common = 2 + common_len(last, row);
            for (cell, column) in rows.cells_of(end).zip(columns.iter_mut()) {
                column.step.previous_timestamp = previous_timestamp;
                column.key[2..2 + row.len()].copy_from_slice(row);
                let timestamp_at = column.key.len() - 9;
                column.key[timestamp_at..timestamp_at + 8].copy_from_slice(&cell.timestamp.to_be_bytes());
                self.encoder.append(&cell, &column.key, Some(&column.step), &mut self.block);
                raw_bytes +=
                    column.raw_len + if self.layout.with_seq { vlong_len(cell.seq.0 as i64) } else { 0 };
                previous_timestamp = cell.timestamp;
                timestamp_min = timestamp_min.min(cell.timestamp);
                timestamp_max = timestamp_max.max(cell.timestamp);
                seq_max = seq_max.max(cell.seq);
            }
            last = row;
            end += 1;
        }
        let count = end - first;
        if count > 0 {
            self.rows_were_added(
                rows,
                end,
                &RowStats {
                    rows: count,
                    cells: count * rows.columns(),
                    raw_bytes,
                    key_bytes: count * key_bytes,
                    value_bytes: count * value_bytes,
                    timestamp_min,
                    timestamp_max,
                    seq_max,
                },
            );
        }
        count
    }

    /// Rows up to `end`, not included, are in the block.
    fn rows_were_added(&mut self, rows: &Rows<'_>, end: usize, added: &RowStats) {
        self.block_raw_bytes += added.raw_bytes;
        self.block_cells += added.cells;
        self.last_key.set(&rows.cell(end - 1, rows.columns() - 1), true);
        self.stats.add_rows(added);
    }

    /// True if the bytes of the rows are those that this file would have.
    fn keeps_as_it_is(&self, raw: &RawRun<'_>) -> bool {
        self.options.encoding.implementation().keeps_raw_cells()
            && self.options.bloom != BloomKind::RowCol
            && (raw.layout.with_tags, raw.layout.with_seq) == (self.layout.with_tags, self.layout.with_seq)
    }

    /// Appends rows from `first` on, behind the one that was appended last, that are in order and leave the block open; how many.
    fn append_raw_rows(&mut self, rows: &Rows<'_>, first: usize, raw: &RawRun<'_>) -> usize {
        // Beside its cells a row has an offset at most.
        let room = self.room_for_rows(raw.stride, raw.stride + 4).min(rows.len() - first);
        let (mut timestamp_min, mut timestamp_max, mut seq_max) = (i64::MAX, i64::MIN, Seq(0));
        let mut last = rows.row(first - 1);
        let mut end = first;
        while end < first + room {
            let key = rows.row(end);
            if key <= last {
                break;
            }
            if let Some(bloom) = &mut self.general_bloom {
                bloom.add_new_row(key);
            }
            for (timestamp, seq) in rows.versions(end) {
                timestamp_min = timestamp_min.min(timestamp);
                timestamp_max = timestamp_max.max(timestamp);
                seq_max = seq_max.max(seq);
            }
            last = key;
            end += 1;
        }
        let count = end - first;
        if count == 0 {
            return 0;
        }
        let bytes = &raw.bytes[first * raw.stride..end * raw.stride];
        self.block.reserve(bytes.len());
        self.encoder.append_raw_rows(bytes, raw.stride, &mut self.block);
        self.rows_were_added(
            rows,
            end,
            &RowStats {
                rows: count,
                cells: count * rows.columns(),
                raw_bytes: bytes.len(),
                key_bytes: count * raw.key_bytes,
                value_bytes: count * raw.value_bytes,
                timestamp_min,
                timestamp_max,
                seq_max,
            },
        );
        count
    }

    /// How many rows of `row_len` raw bytes, and of at most `encoded_len` in the block, can follow without a cell before which the
    /// block would be full.
    fn room_for_rows(&self, row_len: usize, encoded_len: usize) -> usize {
        let last_open = self.options.block_bytes as usize - 1;
        let encoded_bytes = self.encoder.encoded_bytes(self.block.as_slice());
        let raw_rows = last_open.saturating_sub(self.block_raw_bytes) / row_len;
        raw_rows.min(last_open.saturating_sub(encoded_bytes) / encoded_len)
    }
}
