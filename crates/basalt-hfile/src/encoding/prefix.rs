// SPDX-License-Identifier: Apache-2.0
//! PREFIX: each key is stored without the prefix it shares with the one before. Matches PrefixKeyDeltaEncoder.
//!
//! ```text
//! LEB (key length - common) | LEB value length | LEB common | key from byte `common` on | value | tail
//! ```
//!
//! `common` counts as [`super::delta`] says, and goes on into timestamp and type if the qualifiers are equal.
//!
//! ```text
//! r1/f:a/0x18bcfe569f4/Put = v1    10 02 00 0002 7231 01 66 61 0000018bcfe569f4 04 7631 05
//! r1/f:a/0x18bcfe568fa/Put = v1    03 02 0d 68fa 04 7631 04         13 = all but two bytes of the timestamp
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
use crate::rows::RowBlock;
use crate::varint::read_leb;
use crate::write_buffer::WriteBuffer;

pub(super) struct Prefix;

impl BlockEncoding for Prefix {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder { block: DeltaBlock::new(layout) })
    }

    fn decode(&self, body: &Bytes, context: &DecodeContext) -> Result<CellBlock, Damage> {
        delta::decode::<Prefix>(body, context)
    }

    fn decode_rows(&self, body: &Bytes, context: &DecodeContext) -> Result<RowBlock, Damage> {
        delta::decode_rows::<Prefix>(body, context)
    }

    fn decode_row(&self, body: &Bytes, context: &DecodeContext, row: &[u8]) -> Result<CellBlock, Damage> {
        delta::decode_row::<Prefix>(body, context, row)
    }

    fn cursor(&self, body: &Bytes, context: &DecodeContext) -> Result<Box<dyn CellCursor>, Damage> {
        Ok(Box::new(DeltaCursor::<Prefix>::try_new(body, context)?))
    }
}

struct Encoder {
    block: DeltaBlock,
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

impl DeltaFormat for Prefix {
    const NAME: &'static str = "PREFIX";
    const TIMESTAMPS_WHOLE: bool = true;

    fn read_start(_body: &[u8], at: usize, _cells: &mut DeltaCells) -> Option<usize> {
        Some(at)
    }

    #[inline(always)]
    fn read(body: &[u8], at: usize, last: Option<&CellSlot>, _family: &Range<usize>) -> Option<NewCell> {
        let (rest_len, leb_len) = read_leb(body.get(at..)?)?;
        let mut at = at + leb_len;
        let (value_len, leb_len) = read_leb(&body[at..])?;
        at += leb_len;
        let (common, leb_len) = read_leb(&body[at..])?;
        at += leb_len;
        let (rest_len, common) = (rest_len as usize, common as usize);
        let rest = body.get(at..)?.get(..rest_len)?;
        let value_at = at + rest_len;
        let last_name_len = last.map_or(0, |last| delta::key_len(last) - 9);
        // Timestamp and type are the last nine bytes of the key; up to all of them may be the previous cell's.
        let suffix = match rest.last_chunk::<9>() {
            Some(suffix) => *suffix,
            None => {
                let last = last?;
                let kept = 9 - rest_len;
                // The names are then equal, and nothing of the key but the suffix can be in the rest.
                if common != last_name_len + kept {
                    return None;
                }
                let mut suffix = [0; 9];
                suffix[..8].copy_from_slice(&last.timestamp.to_be_bytes());
                suffix[8] = last.cell_type.code();
                suffix[kept..].copy_from_slice(rest);
                suffix
            }
        };
        let name_common = common.min(last_name_len);
        if rest_len >= 9 && common > last_name_len {
            return None;
        }
        Some(NewCell {
            name: NewName::Whole { common: name_common, rest: at..at + rest_len.saturating_sub(9) },
            timestamp: i64::from_be_bytes(*suffix.first_chunk()?),
            timestamp_at: value_at.saturating_sub(9).max(at)..value_at.saturating_sub(1).max(at),
            cell_type: suffix[8],
            value: value_at..value_at + value_len as usize,
            tail_at: value_at + value_len as usize,
        })
    }

    /// Key length less common, value length, common: the first and the last make the length of the key.
    #[inline(always)]
    fn read_row_head(body: &[u8], at: usize, known: &KnownHead) -> Option<RowHead> {
        let head: &[u8; 3] = body.get(at..)?.first_chunk()?;
        let model = &known.bytes;
        let (common, key_len) = (usize::from(head[2]), usize::from(model[0]) + usize::from(model[2]));
        let fits = head[1] == model[1] && usize::from(head[0]) + common == key_len && known.len == 3;
        (fits && (head[0] | head[1] | head[2]) < 0x80).then_some(RowHead { common, row_rest_at: at + 3 })
    }

    #[inline(always)]
    fn read_timestamp(body: &[u8], at: usize, _flag: u8, _last: i64) -> Option<i64> {
        Some(delta::read_be(body, at, 8)? as i64)
    }
}
