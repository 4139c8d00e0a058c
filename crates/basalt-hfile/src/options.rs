// SPDX-License-Identifier: Apache-2.0
//! Options of writing and reading a file.

use std::sync::Arc;

use basalt_model::{FamilyLayout, Seq};

use crate::block::{Checksum, HEADER_LEN};
use crate::bloom::{BloomKind, HashKind};
use crate::columnar::ROWS_MAX;
use crate::compression::Compression;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::trailer::KeyOrder;

/// How a file is written.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Data block encoding. Default NONE.
    pub encoding: Encoding,
    /// Codec of every block, or of COLUMNAR's sections where it helps. Default NONE.
    pub compression: Compression,
    /// Level on the codec's own scale; `None` is GZ 5, ZSTD 1 (3 in COLUMNAR). Higher is smaller and slower to write.
    pub compression_level: Option<i32>,
    /// Bytes of cells after which a data block ends, raw or encoded, whichever comes first. Default 65,536.
    /// Larger blocks compress better and scan faster; a point read decodes one whole block. A block of COLUMNAR, of
    /// which a point read decodes a small part, ends at 256 times as many bytes of rows and values.
    pub block_bytes: u32,
    /// Rows after which a block of COLUMNAR ends, if it is not full before. Default and most 65,536.
    pub block_rows: u32,
    /// What the cells are, for COLUMNAR. Default `None`: bytes.
    pub layout: Option<Arc<FamilyLayout>>,
    /// Number that no other file of the database has; COLUMNAR's checksums are bound to it. Default 0.
    pub file_number: u64,
    /// General Bloom filter. Default ROW.
    pub bloom: BloomKind,
    /// Hash of the Bloom filters. Default Murmur.
    pub bloom_hash: HashKind,
    /// Store sequence numbers (HBase: MVCC versions). Default true.
    pub with_seq: bool,
    /// Store tags. Default false.
    pub with_tags: bool,
    /// Dictionary-code tags in the delta encodings. Default false.
    pub tags_compressed: bool,
    /// Creation time in milliseconds since the epoch; the caller has the clock.
    pub create_time_ms: i64,
    /// Bytes after which an index block ends. Default 131,072.
    pub index_block_bytes: u32,
    /// Entries below which an index level is not split, whatever its size. Default 16.
    pub index_entries_min: u32,
    /// Checksum algorithm. Default CRC32C.
    pub checksum: Checksum,
    /// Bytes per checksum. Default 16,384.
    pub checksum_chunk_bytes: u32,
    /// Put a checksum into the trailer's padding, where HBase reads over it. Default true.
    pub trailer_checksum: bool,
    /// Key order named in the trailer; cells must be appended in [`KeyOrder::Cells`]. Default that.
    pub order: KeyOrder,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            encoding: Encoding::default(),
            compression: Compression::default(),
            compression_level: None,
            block_bytes: 65_536,
            block_rows: ROWS_MAX as u32,
            layout: None,
            file_number: 0,
            bloom: BloomKind::default(),
            bloom_hash: HashKind::default(),
            with_seq: true,
            with_tags: false,
            tags_compressed: false,
            create_time_ms: 0,
            index_block_bytes: 131_072,
            index_entries_min: 16,
            checksum: Checksum::default(),
            checksum_chunk_bytes: 16_384,
            trailer_checksum: true,
            order: KeyOrder::default(),
        }
    }
}

/// Largest block target; a block holds at most this and one cell.
const BLOCK_BYTES_MAX: u32 = 1 << 28;

/// How much larger a block of COLUMNAR is, and how large at most.
const COLUMNAR_FACTOR: usize = 256;
const COLUMNAR_BYTES_MAX: usize = 1 << 29;

impl WriterOptions {
    /// Bytes of rows and values at which a block of COLUMNAR ends.
    pub(crate) fn columnar_bytes(&self) -> usize {
        (self.block_bytes as usize * COLUMNAR_FACTOR).min(COLUMNAR_BYTES_MAX)
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let invalid = |what: String| Err(Error::Invalid { what });
        if !(1..=BLOCK_BYTES_MAX).contains(&self.block_bytes) {
            return invalid(format!("a block size of {} is not in 1..={BLOCK_BYTES_MAX}", self.block_bytes));
        }
        if !(1..=BLOCK_BYTES_MAX).contains(&self.index_block_bytes) {
            return invalid(format!(
                "an index block size of {} is not in 1..={BLOCK_BYTES_MAX}",
                self.index_block_bytes
            ));
        }
        if !(HEADER_LEN as u32..=BLOCK_BYTES_MAX).contains(&self.checksum_chunk_bytes) {
            return invalid(format!(
                "{} bytes per checksum are not in {HEADER_LEN}..={BLOCK_BYTES_MAX}",
                self.checksum_chunk_bytes
            ));
        }
        if !(1..=ROWS_MAX as u32).contains(&self.block_rows) {
            return invalid(format!("{} rows of a block are not in 1..={ROWS_MAX}", self.block_rows));
        }
        if self.index_entries_min < 2 {
            return invalid("an index level must have at least 2 entries to be split".into());
        }
        if self.order != KeyOrder::Cells {
            return invalid("files in the key order of hbase:meta cannot be written".into());
        }
        Ok(())
    }
}

/// How a file is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Every cell reads with this sequence number, whatever the file says (bulk-loaded files).
    pub seq_override: Option<Seq>,
    /// Raw bytes that one block may claim. Default 1 GiB; a claim above it is damage.
    pub block_raw_bytes_max: u32,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { seq_override: None, block_raw_bytes_max: 1 << 30 }
    }
}
