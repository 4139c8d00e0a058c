// SPDX-License-Identifier: Apache-2.0
//! What PREFIX, DIFF and FAST_DIFF share: each cell is stored as its difference from the one before.
//!
//! ```text
//! i32 size of the cells in raw form | [DIFF: u8 family length | family] | cells to the end of the payload
//! cell = what the encoding makes of key and value | tail
//! tail = [LEB tags length | tags] | [VLONG seq]            (by file: has tags, has sequence numbers)
//! ```
//!
//! `common` is the length of the prefix that the flat keys of both cells share, by HBase's count: if the
//! row lengths differ, the equal leading bytes of those; else 2 + the common prefix of the rows; and if the rows
//! are equal, family (taken as equal: one file, one family) and the common prefix of the qualifiers.
//!
//! Decoding rebuilds keys into a buffer of its own; values stay in the payload. The declared raw size bounds
//! what a payload may unfold to, so a few damaged bytes cannot ask for more memory than the block claims.

mod cursor;
mod marks;
mod names;
mod read;
mod rows;
mod run;
mod tags;
mod write;

pub(super) use cursor::DeltaCursor;
pub(super) use marks::DeltaMarks;
pub(super) use names::{NewName, key_len, read_key_part};
pub(super) use read::{DeltaCells, DeltaFormat, NewCell, decode, decode_row, decode_rows, read_be, read_le};
pub(super) use rows::{KnownHead, RowHead, read_flagged_row_head};
pub(crate) use tags::{TagReader, tags_are_whole};
pub(super) use write::{DeltaBlock, write_key_part};
