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

pub(super) struct Prefix;

impl BlockEncoding for Prefix {
    fn encoder(&self, layout: CellLayout) -> Box<dyn BlockEncoder> {
        Box::new(Encoder::new(layout))
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
