// SPDX-License-Identifier: Apache-2.0
//! Reading FAST_DIFF.

use std::ops::Range;

use super::{FastDiff, SAME_KEY_LEN, SAME_TYPE, SAME_VALUE, SAME_VALUE_LEN, TIMESTAMP_COMMON};
use crate::cells::CellSlot;
use crate::encoding::delta::{self, DeltaCells, DeltaFormat, KnownHead, NewCell, NewName, RowHead};
use crate::varint::read_leb;

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
