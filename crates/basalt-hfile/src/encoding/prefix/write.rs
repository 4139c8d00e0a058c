// SPDX-License-Identifier: Apache-2.0
//! Writing PREFIX.

use basalt_model::CellRef;

use crate::encoding::delta::DeltaBlock;
use crate::encoding::{BlockEncoder, CellLayout, CellStep};
use crate::write_buffer::WriteBuffer;

pub(super) struct Encoder {
    block: DeltaBlock,
}

impl Encoder {
    pub(super) fn new(layout: CellLayout) -> Self {
        Self { block: DeltaBlock::new(layout) }
    }
}

impl BlockEncoder for Encoder {
    fn begin(&mut self, out: &mut WriteBuffer) {
        self.block.begin(out);
    }

    fn append(&mut self, cell: &CellRef<'_>, key: &[u8], step: Option<&CellStep>, out: &mut WriteBuffer) {
        let common = step.map_or(0, |step| common(step, cell));
        out.put_leb((key.len() - common) as u32);
        out.put_leb(cell.value.len() as u32);
        out.put_leb(common as u32);
        out.put(&key[common..]);
        out.put(cell.value);
        self.block.write_tail(cell, out);
    }

    fn finish(&mut self, raw_bytes: usize, out: &mut WriteBuffer) {
        self.block.finish(raw_bytes, out.as_mut_slice());
    }

    fn encoded_bytes(&self, out: &[u8]) -> usize {
        self.block.encoded_bytes(out)
    }
}

fn common(step: &CellStep, cell: &CellRef<'_>) -> usize {
    if step.new_column {
        return step.common;
    }
    let equal = ((step.previous_timestamp ^ cell.timestamp).leading_zeros() / 8) as usize;
    step.common + equal + usize::from(equal == 8 && step.previous_type == cell.cell_type.code())
}
