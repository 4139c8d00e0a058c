// SPDX-License-Identifier: Apache-2.0
//! Writing FAST_DIFF.

use basalt_model::CellRef;

use super::{SAME_KEY_LEN, SAME_TYPE, SAME_VALUE, SAME_VALUE_LEN};
use crate::encoding::delta::{self, DeltaBlock};
use crate::encoding::{BlockEncoder, CellLayout, CellStep, same_bytes};
use crate::write_buffer::WriteBuffer;

pub(super) struct Encoder {
    block: DeltaBlock,
    last_value: WriteBuffer,
}

impl Encoder {
    pub(super) fn new(layout: CellLayout) -> Self {
        Self { block: DeltaBlock::new(layout), last_value: WriteBuffer::default() }
    }

    fn write_next(&self, cell: &CellRef<'_>, key: &[u8], step: &CellStep, out: &mut WriteBuffer) {
        let (common, type_code) = (step.common, cell.cell_type.code());
        let timestamp_common =
            ((step.previous_timestamp ^ cell.timestamp).leading_zeros() / 8).min(7) as usize;
        let mut flag = timestamp_common as u8;
        flag |= if step.previous_key_len == key.len() { SAME_KEY_LEN } else { 0 };
        flag |= if self.last_value.len() == cell.value.len() { SAME_VALUE_LEN } else { 0 };
        flag |= if step.previous_type == type_code { SAME_TYPE } else { 0 };
        flag |= if same_bytes(self.last_value.as_slice(), cell.value) { SAME_VALUE } else { 0 };
        out.push(flag);
        if flag & SAME_KEY_LEN == 0 {
            out.put_leb(key.len() as u32);
        }
        if flag & SAME_VALUE_LEN == 0 {
            out.put_leb(cell.value.len() as u32);
        }
        out.put_leb(common as u32);
        delta::write_key_part(cell, common, out);
        let timestamp = (cell.timestamp as u64) << (8 * timestamp_common);
        out.put_front(timestamp.to_be_bytes(), 8 - timestamp_common);
        if flag & SAME_TYPE == 0 {
            out.push(type_code);
        }
        if flag & SAME_VALUE == 0 {
            out.put(cell.value);
        }
    }
}

impl BlockEncoder for Encoder {
    fn begin(&mut self, out: &mut WriteBuffer) {
        self.block.begin(out);
    }

    fn append(&mut self, cell: &CellRef<'_>, key: &[u8], step: Option<&CellStep>, out: &mut WriteBuffer) {
        match step {
            None => write_first(cell, key, out),
            Some(step) => self.write_next(cell, key, step, out),
        }
        self.block.write_tail(cell, out);
        self.last_value.truncate(0);
        self.last_value.reserve(cell.value.len());
        self.last_value.put(cell.value);
    }

    fn finish(&mut self, raw_bytes: usize, out: &mut WriteBuffer) {
        self.block.finish(raw_bytes, out.as_mut_slice());
    }

    fn encoded_bytes(&self, out: &[u8]) -> usize {
        self.block.encoded_bytes(out)
    }
}

fn write_first(cell: &CellRef<'_>, key: &[u8], out: &mut WriteBuffer) {
    out.push(0);
    out.put_leb(key.len() as u32);
    out.put_leb(cell.value.len() as u32);
    out.put_leb(0);
    out.put(key);
    out.put(cell.value);
}
