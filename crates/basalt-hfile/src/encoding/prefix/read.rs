// SPDX-License-Identifier: Apache-2.0
//! Reading PREFIX.

use std::ops::Range;

use super::Prefix;
use crate::cells::CellSlot;
use crate::encoding::delta::{self, DeltaCells, DeltaFormat, KnownHead, NewCell, NewName, RowHead};
use crate::varint::read_leb;

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
