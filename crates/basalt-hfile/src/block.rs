// SPDX-License-Identifier: Apache-2.0
//! Blocks: the unit of checksums and compression. Matches HFileBlock of HBase 2.6 (HFile 3.3).
//!
//! ```text
//! offset size
//!  0     8   magic, names the kind of block
//!  8     4   on-disk size without this header: payload + checksums      i32 big-endian, as all below
//! 12     4   uncompressed payload size
//! 16     8   offset of the previous block of the same kind, -1 if first
//! 24     1   checksum type: 0 none, 1 CRC32, 2 CRC32C
//! 25     4   bytes per checksum, 16,384 by default
//! 29     4   header + payload on disk: what the checksums cover
//! 33     …   payload, compressed with the file's codec
//!  …   4*n   one checksum for each started `bytes per checksum`, header included
//! ```
//!
//! A block is verified before anything in it is believed, on every read. The checksum does not bind the
//! block to its place; [`crate::HFileReader::verify`] checks the chain of previous offsets and key order.

mod checksum;
mod header;
mod read;
mod sink;

pub use checksum::Checksum;
pub(crate) use header::CHAINS;
pub use header::{BlockHeader, BlockKind, HEADER_LEN};
pub(crate) use read::{RawBlock, block_in, read_block};
pub(crate) use sink::BlockSink;
