// SPDX-License-Identifier: Apache-2.0
//! What a writer counts over its cells, and the file info made of it.

use basalt_model::{CellRef, CellType, LATEST_TIMESTAMP, Seq};
use bytes::Bytes;

use crate::columnar::ColumnBatch;
use crate::encoding::{CellLayout, Encoding};
use crate::file_info::{FileInfo, keys};
use crate::key::FlatKey;
use crate::options::WriterOptions;

pub(super) struct CellStats {
    pub(super) cells: u64,
    pub(super) rows: u64,
    pub(super) first_row: Bytes,
    pub(super) timestamp_min: i64,
    pub(super) timestamp_max: i64,
    pub(super) seq_max: Seq,
    pub(super) deletes: u64,
    pub(super) raw_bytes: u64,
    key_bytes: u64,
    value_bytes: u64,
    biggest_len: u64,
    biggest_key: Vec<u8>,
    tags_len_max: usize,
    family_deletes: u64,
    earliest_put: i64,
    /// A marker that deletes everything up to its timestamp reaches down to 0.
    deletes_from_zero: bool,
}

/// What rows of one form come to.
pub(super) struct RowStats {
    pub(super) rows: usize,
    pub(super) cells: usize,
    pub(super) raw_bytes: usize,
    pub(super) key_bytes: usize,
    pub(super) value_bytes: usize,
    pub(super) timestamp_min: i64,
    pub(super) timestamp_max: i64,
    pub(super) seq_max: Seq,
}

impl Default for CellStats {
    fn default() -> Self {
        Self {
            cells: 0,
            rows: 0,
            first_row: Bytes::new(),
            timestamp_min: i64::MAX,
            timestamp_max: i64::MIN,
            seq_max: Seq(0),
            deletes: 0,
            raw_bytes: 0,
            key_bytes: 0,
            value_bytes: 0,
            biggest_len: 0,
            biggest_key: Vec::new(),
            tags_len_max: 0,
            family_deletes: 0,
            earliest_put: LATEST_TIMESTAMP,
            deletes_from_zero: false,
        }
    }
}

impl CellStats {
    #[inline]
    pub(super) fn add(&mut self, cell: &CellRef<'_>, key: &[u8], raw_len: usize, new_row: bool) {
        if self.cells == 0 {
            self.first_row = Bytes::copy_from_slice(cell.row);
        }
        self.cells += 1;
        self.rows += u64::from(new_row);
        self.raw_bytes += raw_len as u64;
        self.timestamp_min = self.timestamp_min.min(cell.timestamp);
        self.timestamp_max = self.timestamp_max.max(cell.timestamp);
        self.seq_max = self.seq_max.max(cell.seq);
        self.key_bytes += key.len() as u64;
        self.value_bytes += cell.value.len() as u64;
        self.tags_len_max = self.tags_len_max.max(cell.tags.len());
        if cell.cell_type == CellType::Put {
            self.earliest_put = self.earliest_put.min(cell.timestamp);
        } else {
            self.add_delete(cell.cell_type);
        }
        // As HBase sizes a cell in the heap of a writer: the key-value form and four bytes.
        let tags_len = if cell.tags.is_empty() { 0 } else { 2 + cell.tags.len() };
        let len = (12 + key.len() + cell.value.len() + tags_len) as u64;
        if len > self.biggest_len {
            self.biggest_len = len;
            self.biggest_key.clear();
            self.biggest_key.extend_from_slice(key);
        }
    }

    /// Adds the cells of a batch.
    pub(super) fn add_batch(&mut self, batch: &ColumnBatch, raw_bytes: u64) {
        if self.cells == 0 {
            self.first_row = Bytes::copy_from_slice(batch.first_row());
        }
        self.cells += batch.cells() as u64;
        self.rows += batch.len() as u64;
        self.raw_bytes += raw_bytes;
        self.timestamp_min = self.timestamp_min.min(batch.timestamp());
        self.timestamp_max = self.timestamp_max.max(batch.timestamp());
        self.earliest_put = self.earliest_put.min(batch.timestamp());
        self.key_bytes += batch.key_bytes() as u64;
        self.value_bytes += batch.value_bytes() as u64;
        let ((row, column), mut value) = (batch.biggest_cell(), Vec::new());
        let cell = batch.cell(row, column, &mut value);
        let key = FlatKey::of(&cell);
        let len = (12 + key.len() + cell.value.len()) as u64;
        if len > self.biggest_len {
            self.biggest_len = len;
            self.biggest_key = key.to_vec();
        }
    }

    /// Adds rows of puts without tags, of the form of one that was added cell by cell: what is biggest is known.
    pub(super) fn add_rows(&mut self, rows: &RowStats) {
        self.cells += rows.cells as u64;
        self.rows += rows.rows as u64;
        self.raw_bytes += rows.raw_bytes as u64;
        self.key_bytes += rows.key_bytes as u64;
        self.value_bytes += rows.value_bytes as u64;
        self.timestamp_min = self.timestamp_min.min(rows.timestamp_min);
        self.timestamp_max = self.timestamp_max.max(rows.timestamp_max);
        self.earliest_put = self.earliest_put.min(rows.timestamp_min);
        self.seq_max = self.seq_max.max(rows.seq_max);
    }

    fn add_delete(&mut self, cell_type: CellType) {
        self.deletes += 1;
        match cell_type {
            CellType::DeleteFamily => {
                self.family_deletes += 1;
                self.deletes_from_zero = true;
            }
            CellType::DeleteFamilyVersion => self.family_deletes += 1,
            CellType::DeleteColumn => self.deletes_from_zero = true,
            CellType::Put | CellType::Delete => {}
        }
    }

    /// Sets the entries that readers rely on, and HBase's usual ones where the caller gave none.
    pub(super) fn complete(
        &self,
        info: &mut FileInfo,
        options: &WriterOptions,
        layout: CellLayout,
        last_key: &[u8],
    ) {
        let average = |sum: u64| (sum.checked_div(self.cells).unwrap_or(0) as i32).to_be_bytes();
        info.set(keys::AVG_KEY_LEN, average(self.key_bytes));
        info.set(keys::AVG_VALUE_LEN, average(self.value_bytes));
        info.set(keys::CREATE_TIME_TS, options.create_time_ms.to_be_bytes());
        if self.cells > 0 {
            info.set(keys::LASTKEY, last_key);
            info.set(keys::KEY_OF_BIGGEST_CELL, self.biggest_key.as_slice());
            info.set(keys::LEN_OF_BIGGEST_CELL, self.biggest_len.to_be_bytes());
        }
        if layout.with_tags {
            info.set(keys::MAX_TAGS_LEN, (self.tags_len_max as i32).to_be_bytes());
            info.set(keys::TAGS_COMPRESSED, [if layout.tags_compressed { 0xff } else { 0 }]);
        }
        if layout.with_seq {
            info.set(keys::KEY_VALUE_VERSION, 1i32.to_be_bytes());
            info.set(keys::MAX_MEMSTORE_TS_KEY, self.seq_max.0.to_be_bytes());
        }
        if options.encoding != Encoding::None {
            info.set(keys::DATA_BLOCK_ENCODING, options.encoding.name());
        }
        if options.encoding == Encoding::Columnar {
            info.set(keys::FILE_NUMBER, options.file_number.to_be_bytes());
        }
        info.set(keys::DELETE_FAMILY_COUNT, self.family_deletes.to_be_bytes());
        info.set(keys::EARLIEST_PUT_TS, self.earliest_put.to_be_bytes());
        info.set(keys::TIMERANGE, self.time_range());
        info.set_default(keys::MAX_SEQ_ID_KEY, self.seq_max.0.to_be_bytes());
        info.set_default(keys::MAJOR_COMPACTION_KEY, [0]);
    }

    fn time_range(&self) -> [u8; 16] {
        let (mut min, mut max) = (self.timestamp_min, self.timestamp_max);
        if self.cells == 0 {
            // What HBase 2.6.1 writes for nothing: a range that contains nothing.
            (min, max) = (LATEST_TIMESTAMP, -1);
        } else if self.deletes_from_zero {
            (min, max) = (min.min(0), max.max(0));
        }
        let mut range = [0; 16];
        range[..8].copy_from_slice(&min.to_be_bytes());
        range[8..].copy_from_slice(&max.to_be_bytes());
        range
    }
}
