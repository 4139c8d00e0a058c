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

pub(super) struct Diff;

const SAME_KEY_LEN: u8 = 0x01;
const SAME_VALUE_LEN: u8 = 0x02;
const SAME_TYPE: u8 = 0x04;
const IS_DIFFERENCE: u8 = 0x08;
const NEGATE: u8 = 0x80;

impl BlockEncoding for Diff {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder::new(layout))
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
