// SPDX-License-Identifier: Apache-2.0
//! DIFF: keys without common prefix and family, timestamps as differences where those are shorter. Matches
//! DiffKeyDeltaEncoder.
//!
//! ```text
//! before the cells: u8 family length | family
//! u8 flag | [LEB key length] | [LEB value length] | LEB common | key part
//! | number, 1 to 8 bytes, LITTLE-endian | [u8 type] | value | tail
//!
//! flag 0x01 same key length   0x02 same value length   0x04 same type   (the field is left out)
//!      0x08 the number is previous timestamp - timestamp   0x70 bytes of the number - 1   0x80 negate it
//! key part: common < 2 + row length: row length and row from byte `common` on, whole qualifier
//!           else:                    qualifier from byte `common - 3 - row length - family length` on
//! ```
//!
//! ```text
//! r1/f:a/0x18bcfe569f4/Put = v1    50 10 02 00 0002 7231 61 f469e5cf8b01 04 7631 05
//! r1/f:a/0x18bcfe568fa/Put = v1    0f 07 fa 7631 04                     same everything, difference 250
//! ```

use std::ops::Range;

use basalt_model::CellRef;
use bytes::Bytes;

use super::cursor::CellCursor;
use super::delta::{
    self, DeltaBlock, DeltaCells, DeltaCursor, DeltaFormat, KnownHead, NewCell, NewName, RowHead,
};
use super::{BlockEncoder, BlockEncoding, CellLayout, CellStep, DecodeContext};
use crate::cells::{CellBlock, CellSlot};
use crate::error::Damage;
use crate::key::KEY_OVERHEAD;
use crate::rows::RowBlock;
use crate::varint::read_leb;
use crate::write_buffer::WriteBuffer;

pub(super) struct Diff;

const SAME_KEY_LEN: u8 = 0x01;
const SAME_VALUE_LEN: u8 = 0x02;
const SAME_TYPE: u8 = 0x04;
const IS_DIFFERENCE: u8 = 0x08;
const NEGATE: u8 = 0x80;

impl BlockEncoding for Diff {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder { block: DeltaBlock::new(layout), last_value_len: 0 })
    }

    fn decode(&self, body: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage> {
        delta::decode::<Diff>(body, context)
    }

    fn decode_rows(&self, body: &Bytes, context: &DecodeContext) -> Result<RowBlock, Damage> {
        delta::decode_rows::<Diff>(body, context)
    }

    fn decode_row(&self, body: &Bytes, context: &DecodeContext, row: &[u8]) -> Result<CellBlock, Damage> {
        delta::decode_row::<Diff>(body, context, row)
    }

    fn cursor(&self, body: &Bytes, context: &DecodeContext) -> Result<Box<dyn CellCursor>, Damage> {
        Ok(Box::new(DeltaCursor::<Diff>::try_new(body, context)?))
    }
}

struct Encoder {
    block: DeltaBlock,
    last_value_len: usize,
}

/// Bytes that hold `number`, at least one; eight for the one negative number that an absolute value can be.
fn number_len(number: i64) -> usize {
    (64 - (number as u64 | 1).leading_zeros() as usize).div_ceil(8)
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

impl DeltaFormat for Diff {
    const NAME: &'static str = "DIFF";
    const TIMESTAMPS_WHOLE: bool = false;

    fn read_start(body: &[u8], at: usize, cells: &mut DeltaCells) -> Option<usize> {
        let start = at + 1;
        let end = start + usize::from(*body.get(at)?);
        cells.family = start..end;
        (end <= body.len()).then_some(end)
    }

    #[inline(always)]
    fn read(body: &[u8], at: usize, last: Option<&CellSlot>, family: &Range<usize>) -> Option<NewCell> {
        let flag = *body.get(at)?;
        let mut at = at + 1;
        let key_len = if flag & SAME_KEY_LEN != 0 {
            delta::key_len(last?)
        } else {
            let (len, leb_len) = read_leb(&body[at..])?;
            at += leb_len;
            len as usize
        };
        let value_len = if flag & SAME_VALUE_LEN != 0 {
            last?.value_len
        } else {
            let (len, leb_len) = read_leb(&body[at..])?;
            at += leb_len;
            len
        } as usize;
        let (common, leb_len) = read_leb(&body[at..])?;
        at += leb_len;
        let (name, mut at) = match last {
            Some(last) => delta::read_key_part(body, at, last, key_len, common as usize)?,
            None => first_name(body, at, family, key_len).filter(|_| common == 0)?,
        };
        let last_timestamp = last.map_or(0, |last| last.timestamp);
        let timestamp = Self::read_timestamp(body, at, flag, last_timestamp)?;
        let timestamp_at = at..at + number_bytes(flag);
        at = timestamp_at.end;
        if flag & IS_DIFFERENCE != 0 {
            last?;
        }
        let cell_type = if flag & SAME_TYPE != 0 {
            last?.cell_type.code()
        } else {
            at += 1;
            *body.get(at - 1)?
        };
        let value = at..at + value_len;
        Some(NewCell { name, timestamp, timestamp_at, cell_type, value, tail_at: at + value_len })
    }

    #[inline(always)]
    fn read_row_head(body: &[u8], at: usize, known: &KnownHead) -> Option<RowHead> {
        delta::read_flagged_row_head(body, at, known)
    }

    #[inline(always)]
    fn read_timestamp(body: &[u8], at: usize, flag: u8, last: i64) -> Option<i64> {
        let number = delta::read_le(body, at, number_bytes(flag))? as i64;
        let number = if flag & NEGATE != 0 { number.wrapping_neg() } else { number };
        Some(if flag & IS_DIFFERENCE != 0 { last.wrapping_sub(number) } else { number })
    }
}

/// Bytes of the number that stands for the timestamp.
#[inline(always)]
fn number_bytes(flag: u8) -> usize {
    usize::from(flag >> 4 & 7) + 1
}

/// The name of a block's first cell: row with its length, and qualifier; the family was before.
#[inline]
fn first_name(body: &[u8], at: usize, family: &Range<usize>, key_len: usize) -> Option<(NewName, usize)> {
    let row_len = u16::from_be_bytes(*body.get(at..)?.first_chunk()?);
    let qualifier_len = key_len.checked_sub(KEY_OVERHEAD + row_len as usize + family.len())?;
    let qualifier_at = at + 2 + row_len as usize;
    let end = qualifier_at + qualifier_len;
    let name = NewName::First {
        row: at..qualifier_at,
        family: family.start - 1..family.end,
        qualifier: qualifier_at..end,
    };
    Some((name, end))
}
