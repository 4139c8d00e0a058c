// SPDX-License-Identifier: Apache-2.0
//! Vectors whose rows are alike: row keys of one width, and a put in every column. Their keys are made for all rows at once: a row's keys
//! are the same bytes in each row but for the row itself.

use basalt_model::{CellType, Seq};

use super::{CellsBuilder, Numbers, ReadyColumn, Stamps, check_bytes};
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
        columns: &mut [ReadyColumn<'_>],
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
        for column in &*columns {
            key_at.push(pattern.len());
            pattern.extend_from_slice(&(width as u16).to_be_bytes());
            pattern.resize(pattern.len() + width, 0);
            pattern.extend_from_slice(&column.name);
        }
        let (stride, base) = (pattern.len(), self.keys.len());
        check_bytes(base + stride * rows.len() + self.values.len(), block.source.bytes_max)?;
        if u32::try_from(base + stride * rows.len()).is_err() {
            return Err(Damage::new(0, "keys of 4 GiB"));
        }
        self.keys.reserve(stride * rows.len());
        (0..rows.len()).for_each(|_| self.keys.extend_from_slice(&pattern));
        let keys = &mut self.keys[base..];
        for at in &key_at {
            rows.write_all(keys, stride, at + ROW_LEN_BYTES);
        }
        let family_len = block.head.family.len() as u8;
        for row in 0..rows.len() {
            self.row_starts.push(self.slots.len() as u32);
            for (column, at) in columns.iter_mut().zip(&key_at) {
                let value = column.take_span();
                let (stamps, of) = match &column.part.stamps {
                    Some(stamps) => (stamps, column.next - 1),
                    None => (row_stamps.expect("looked for above"), row),
                };
                self.slots.push(CellSlot {
                    key: (base + row * stride + at) as u32,
                    value: value.start,
                    value_len: value.len,
                    qualifier_len: column.part.qualifier.len() as u32,
                    tags: 0,
                    tags_len: 0,
                    row_len: width as u16,
                    family_len,
                    cell_type: CellType::Put,
                    timestamp: stamps.timestamps.get(of) as i64,
                    seq: block.seq_override.unwrap_or(Seq(stamps.seqs.get(of))),
                });
            }
        }
        Ok(true)
    }
}
