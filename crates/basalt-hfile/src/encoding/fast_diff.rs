// SPDX-License-Identifier: Apache-2.0
//! FAST_DIFF: DIFF without arithmetic on timestamps, and with values that repeat left out. Matches
//! FastDiffDeltaEncoder.
//!
//! ```text
//! u8 flag | [LEB key length] | [LEB value length] | LEB common | key part
//! | timestamp without its first (flag & 7) bytes | [u8 type] | [value] | tail
//!
//! flag 0x07 leading timestamp bytes that are the previous cell's, at most 7
//!      0x08 same key length   0x10 same value length   0x20 same type   0x40 same value   (left out)
//! key part: as in DIFF; the first cell of a block has its complete flat key instead
//! ```
//!
//! ```text
//! r1/f:a/0x18bcfe569f4/Put = v1    00 10 02 00 0002 7231 01 66 61 0000018bcfe569f4 04 7631 05
//! r1/f:a/0x18bcfe568fa/Put = v1    7e 07 68fa 04         6 bytes of the timestamp, all else the same
//! ```

use std::ops::Range;

use basalt_model::CellRef;
use bytes::Bytes;

use super::cursor::CellCursor;
use super::delta::{
    self, DeltaBlock, DeltaCells, DeltaCursor, DeltaFormat, KnownHead, NewCell, NewName, RowHead,
};
use super::{BlockEncoder, BlockEncoding, CellLayout, CellStep, DecodeContext, same_bytes};
use crate::cells::{CellBlock, CellSlot};
use crate::error::Damage;
use crate::rows::RowBlock;
use crate::varint::read_leb;
use crate::write_buffer::WriteBuffer;

pub(super) struct FastDiff;

const TIMESTAMP_COMMON: u8 = 0x07;
const SAME_KEY_LEN: u8 = 0x08;
const SAME_VALUE_LEN: u8 = 0x10;
const SAME_TYPE: u8 = 0x20;
const SAME_VALUE: u8 = 0x40;

impl BlockEncoding for FastDiff {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder { block: DeltaBlock::new(layout), last_value: WriteBuffer::default() })
    }

    fn decode(&self, body: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage> {
        delta::decode::<FastDiff>(body, context)
    }

    fn decode_rows(&self, body: &Bytes, context: &DecodeContext) -> Result<RowBlock, Damage> {
        delta::decode_rows::<FastDiff>(body, context)
    }

    fn decode_row(&self, body: &Bytes, context: &DecodeContext, row: &[u8]) -> Result<CellBlock, Damage> {
        delta::decode_row::<FastDiff>(body, context, row)
    }

    fn cursor(&self, body: &Bytes, context: &DecodeContext) -> Result<Box<dyn CellCursor>, Damage> {
        Ok(Box::new(DeltaCursor::<FastDiff>::try_new(body, context)?))
    }
}

struct Encoder {
    block: DeltaBlock,
    last_value: WriteBuffer,
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

impl Encoder {
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

impl DeltaFormat for FastDiff {
    const NAME: &'static str = "FAST_DIFF";
    const TIMESTAMPS_WHOLE: bool = false;

    fn read_start(_body: &[u8], at: usize, _cells: &mut DeltaCells) -> Option<usize> {
        Some(at)
    }

    #[inline(always)]
    fn read(body: &[u8], at: usize, last: Option<&CellSlot>, _family: &Range<usize>) -> Option<NewCell> {
        let Some(last) = last else { return read_first(body, at) };
        let flag = *body.get(at)?;
        let mut at = at + 1;
        let key_len = if flag & SAME_KEY_LEN != 0 {
            delta::key_len(last)
        } else {
            let (len, leb_len) = read_leb(&body[at..])?;
            at += leb_len;
            len as usize
        };
        let value_len = if flag & SAME_VALUE_LEN != 0 {
            last.value_len
        } else {
            let (len, leb_len) = read_leb(&body[at..])?;
            at += leb_len;
            len
        } as usize;
        let (common, leb_len) = read_leb(&body[at..])?;
        at += leb_len;
        let (name, mut at) = delta::read_key_part(body, at, last, key_len, common as usize)?;
        let timestamp = Self::read_timestamp(body, at, flag, last.timestamp)?;
        let timestamp_at = at..at + 8 - usize::from(flag & TIMESTAMP_COMMON);
        at = timestamp_at.end;
        let cell_type = if flag & SAME_TYPE != 0 {
            last.cell_type.code()
        } else {
            at += 1;
            *body.get(at - 1)?
        };
        let value = if flag & SAME_VALUE != 0 {
            let start = last.value as usize;
            (value_len == last.value_len as usize).then_some(start..start + value_len)?
        } else {
            at += value_len;
            at - value_len..at
        };
        Some(NewCell { name, timestamp, timestamp_at, cell_type, value, tail_at: at })
    }

    #[inline(always)]
    fn read_row_head(body: &[u8], at: usize, known: &KnownHead) -> Option<RowHead> {
        delta::read_flagged_row_head(body, at, known)
    }

    #[inline(always)]
    fn read_timestamp(body: &[u8], at: usize, flag: u8, last: i64) -> Option<i64> {
        let kept = usize::from(flag & TIMESTAMP_COMMON);
        let stored = delta::read_be(body, at, 8 - kept)?;
        let low = u64::MAX >> (8 * kept);
        Some((last as u64 & !low | stored) as i64)
    }
}

fn read_first(body: &[u8], at: usize) -> Option<NewCell> {
    let mut at = at + 1;
    let flag = *body.get(at - 1)?;
    let (key_len, leb_len) = read_leb(&body[at..])?;
    at += leb_len;
    let (value_len, leb_len) = read_leb(&body[at..])?;
    at += leb_len;
    let (common, leb_len) = read_leb(&body[at..])?;
    at += leb_len;
    if flag != 0 || common != 0 {
        return None;
    }
    let key = body[at..].get(..key_len as usize)?;
    let suffix = key.last_chunk::<9>()?;
    let value_at = at + key.len();
    Some(NewCell {
        name: NewName::Whole { common: 0, rest: at..value_at - 9 },
        timestamp: i64::from_be_bytes(*suffix.first_chunk()?),
        timestamp_at: value_at - 9..value_at - 1,
        cell_type: suffix[8],
        value: value_at..value_at + value_len as usize,
        tail_at: value_at + value_len as usize,
    })
}
