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

mod read;
mod write;

use bytes::Bytes;

use super::cursor::CellCursor;
use super::delta::{self, DeltaCursor};
use super::{BlockEncoder, BlockEncoding, CellLayout, DecodeContext};
use crate::cells::CellBlock;
use crate::error::Damage;
use crate::rows::RowBlock;
use write::Encoder;

pub(super) struct FastDiff;

const TIMESTAMP_COMMON: u8 = 0x07;
const SAME_KEY_LEN: u8 = 0x08;
const SAME_VALUE_LEN: u8 = 0x10;
const SAME_TYPE: u8 = 0x20;
const SAME_VALUE: u8 = 0x40;

impl BlockEncoding for FastDiff {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder::new(layout))
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
