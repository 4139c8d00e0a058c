// SPDX-License-Identifier: Apache-2.0
//! Reading DIFF.

use std::ops::Range;

use super::{Diff, IS_DIFFERENCE, NEGATE, SAME_KEY_LEN, SAME_TYPE, SAME_VALUE_LEN};
use crate::cells::CellSlot;
use crate::encoding::delta::{self, DeltaCells, DeltaFormat, KnownHead, NewCell, NewName, RowHead};
use crate::key::KEY_OVERHEAD;
use crate::varint::read_leb;

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
