// SPDX-License-Identifier: Apache-2.0
//! Writing DIFF.

use basalt_model::CellRef;

use super::{IS_DIFFERENCE, NEGATE, SAME_KEY_LEN, SAME_TYPE, SAME_VALUE_LEN};
use crate::encoding::delta::{self, DeltaBlock};
use crate::encoding::{BlockEncoder, CellLayout, CellStep};
use crate::write_buffer::WriteBuffer;

pub(super) struct Encoder {
    block: DeltaBlock,
    last_value_len: usize,
}

impl Encoder {
    pub(super) fn new(layout: CellLayout) -> Self {
        Self { block: DeltaBlock::new(layout), last_value_len: 0 }
    }
}

impl BlockEncoder for Encoder {
    fn begin(&mut self, out: &mut WriteBuffer) {
        self.block.begin(out);
    }

    fn append(&mut self, cell: &CellRef<'_>, key: &[u8], step: Option<&CellStep>, out: &mut WriteBuffer) {
        let type_code = cell.cell_type.code();
        let mut flag = 0;
        let mut common = 0;
        let absolute = cell.timestamp.wrapping_abs();
        let mut number = absolute;
        let mut negate = cell.timestamp < 0;
        match step {
            None => {
                out.push(cell.family.len() as u8);
                out.put(cell.family);
            }
            Some(step) => {
                common = step.common;
                flag |= if step.previous_key_len == key.len() { SAME_KEY_LEN } else { 0 };
                flag |= if self.last_value_len == cell.value.len() { SAME_VALUE_LEN } else { 0 };
                flag |= if step.previous_type == type_code { SAME_TYPE } else { 0 };
                let difference = step.previous_timestamp.wrapping_sub(cell.timestamp);
                if number_len(difference.wrapping_abs()) < number_len(absolute) {
                    flag |= IS_DIFFERENCE;
                    number = difference.wrapping_abs();
                    negate = difference < 0;
                }
            }
        }
        flag |= if negate { NEGATE } else { 0 };
        let number_bytes = number_len(number);
        flag |= (number_bytes as u8 - 1) << 4;
        out.push(flag);
        if flag & SAME_KEY_LEN == 0 {
            out.put_leb(key.len() as u32);
        }
        if flag & SAME_VALUE_LEN == 0 {
            out.put_leb(cell.value.len() as u32);
        }
        out.put_leb(common as u32);
        delta::write_key_part(cell, common, out);
        out.put_front(number.to_le_bytes(), number_bytes);
        if flag & SAME_TYPE == 0 {
            out.push(type_code);
        }
        out.put(cell.value);
        self.block.write_tail(cell, out);
        self.last_value_len = cell.value.len();
    }

    fn finish(&mut self, raw_bytes: usize, out: &mut WriteBuffer) {
        self.block.finish(raw_bytes, out.as_mut_slice());
    }

    fn encoded_bytes(&self, out: &[u8]) -> usize {
        self.block.encoded_bytes(out)
    }
}

/// Bytes that hold `number`, at least one; eight for the one negative number that an absolute value can be.
fn number_len(number: i64) -> usize {
    (64 - (number as u64 | 1).leading_zeros() as usize).div_ceil(8)
}
