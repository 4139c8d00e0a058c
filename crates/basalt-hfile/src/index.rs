// SPDX-License-Identifier: Apache-2.0
//! The block index: which data block begins with which key. Matches HFileBlockIndex of HBase 2.6.
//!
//! ```text
//! root form      ( i64 offset | i32 on-disk size | VBYTES key )*               count is stored elsewhere
//! non-root form  i32 n | i32 rel[n + 1] | ( i64 offset | i32 on-disk size | key )*
//! ```
//!
//! A file of one level has its entries in the root block. Larger files put them into leaf blocks between
//! the data blocks, the root points to those, and if it outgrows its limit, intermediate blocks come between.
//! The key of an entry is not the block's first key but a shortened one between the last key of the block
//! before and it ([`separator`]).

mod read;
mod separator;
mod write;

pub(crate) use read::{FlatIndex, read_non_root_entries, read_root_entries};
pub(crate) use separator::separator;
pub(crate) use write::{IndexWriter, write_root_entry};

/// Where a block lies: its offset and its size on disk, header and checksums included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPointer {
    pub(crate) offset: u64,
    pub(crate) size: u32,
}
