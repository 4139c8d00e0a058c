// SPDX-License-Identifier: Apache-2.0
//! Rows as a reader has them ([`crate::rows`]), appended many at a time.
//!
//! 1. The first row of a run goes in cell by cell. That shows whether its columns, which are those of all rows, are in order and of
//!    the file's family, ends a block that is full, and counts what is biggest.
//! 2. If both files keep cells in raw form, the rows behind it that fit into the block whatever their cells are follow at once:
//!    their keys are compared and go to the Bloom filter, their timestamps and numbers are counted, their bytes are copied.
//! 3. The next row goes in as the first one did, and so on.
//!
//! What comes out is, byte for byte, what [`HFileWriter::append`] makes of each cell.

use basalt_model::Seq;

use super::HFileWriter;
use super::stats::RowStats;
use crate::bloom::BloomKind;
use crate::error::Result;
use crate::file::FileWrite;
use crate::rows::{RawRun, RowBlock, RowPart, Rows};

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
        let mut row = 0;
        while row < rows.len() {
            (0..rows.columns()).try_for_each(|column| self.append(rows.cell(row, column)))?;
            row += 1;
            row += raw.map_or(0, |raw| self.append_raw_rows(rows, row, &raw));
        }
        Ok(())
    }

    /// True if the bytes of the rows are those that this file would have.
    fn keeps_as_it_is(&self, raw: &RawRun<'_>) -> bool {
        self.options.encoding.keeps_raw_cells()
            && self.options.bloom != BloomKind::RowCol
            && (raw.layout.with_tags, raw.layout.with_seq) == (self.layout.with_tags, self.layout.with_seq)
    }

    /// Appends rows from `first` on, behind the one that was appended last, that are in order and leave the block open; how many.
    fn append_raw_rows(&mut self, rows: &Rows<'_>, first: usize, raw: &RawRun<'_>) -> usize {
        let room = self.room_for_rows(raw.stride).min(rows.len() - first);
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
        self.block_raw_bytes += bytes.len();
        self.block_cells += count * rows.columns();
        self.last_key.set(&rows.cell(end - 1, rows.columns() - 1), true);
        self.stats.add_rows(&RowStats {
            rows: count,
            cells: count * rows.columns(),
            raw_bytes: bytes.len(),
            key_bytes: count * raw.key_bytes,
            value_bytes: count * raw.value_bytes,
            timestamp_min,
            timestamp_max,
            seq_max,
        });
        count
    }

    /// How many rows of `row_len` raw bytes can follow without a cell before which the block would be full.
    fn room_for_rows(&self, row_len: usize) -> usize {
        // Beside its cells a row has an offset at most.
        let last_open = self.options.block_bytes as usize - 1;
        let encoded_bytes = self.encoder.encoded_bytes(self.block.as_slice());
        let raw_rows = last_open.saturating_sub(self.block_raw_bytes) / row_len;
        raw_rows.min(last_open.saturating_sub(encoded_bytes) / (row_len + 4))
    }
}
