// SPDX-License-Identifier: Apache-2.0
//! Reading blocks: bounds, header, checksums, decompression, in that order.

use bytes::Bytes;

use super::header::{BlockHeader, BlockKind, HEADER_LEN};
use crate::compression::{Compression, decompress};
use crate::error::{Damage, Error, Result, corrupt};
use crate::file::FileRead;

/// A block as it lies in the file, its checksums verified.
#[derive(Debug, Clone)]
pub(crate) struct RawBlock {
    pub(crate) offset: u64,
    pub(crate) header: BlockHeader,
    /// The payload as stored: compressed.
    pub(crate) stored: Bytes,
    /// Header, payload and checksums.
    pub(crate) bytes: Bytes,
}

impl RawBlock {
    /// The payload, decompressed to exactly the size that the header declares.
    pub(crate) fn payload(&self, compression: Compression, raw_bytes_max: usize) -> Result<Bytes, Damage> {
        let raw_len = self.header.raw_bytes as usize;
        if raw_len > raw_bytes_max {
            return Err(Damage::new(
                0,
                format!("the block claims {raw_len} bytes, the limit is {raw_bytes_max}"),
            ));
        }
        match self.header.kind {
            BlockKind::ColumnarData => decompress(Compression::None, &self.stored, raw_len),
            _ => decompress(compression, &self.stored, raw_len),
        }
    }
}

/// Reads the block of `len` bytes at `offset`.
pub(crate) fn read_block(file: &dyn FileRead, offset: u64, len: u32) -> Result<RawBlock> {
    if u64::from(len) + offset > file.size() {
        return Err(corrupt(
            file.name(),
            offset,
            format!("a block of {len} bytes passes the end of the file"),
        ));
    }
    let bytes = file.read_at(offset, len as usize).map_err(|source| Error::Io {
        file: file.name().to_owned(),
        offset,
        source,
    })?;
    let block = block_in(&bytes, offset).map_err(|what| corrupt(file.name(), offset, what))?;
    if block.header.total_bytes != len {
        let found = block.header.total_bytes;
        return Err(corrupt(
            file.name(),
            offset,
            format!("the index gives the block {len} bytes, its header {found}"),
        ));
    }
    Ok(block)
}

/// The block at the start of `bytes`, which lie at `offset` of the file.
pub(crate) fn block_in(bytes: &Bytes, offset: u64) -> Result<RawBlock, String> {
    let first = bytes.first_chunk::<HEADER_LEN>().ok_or("the bytes end inside a block header")?;
    let header = BlockHeader::parse(first)?;
    let total = header.total_bytes as usize;
    if total > bytes.len() {
        return Err(format!("a block of {total} bytes has only {} left", bytes.len()));
    }
    let covered = header.covered_bytes as usize;
    header
        .checksum
        .verify(&bytes[..covered], &bytes[covered..total], header.checksum_chunk_bytes as usize)
        .map_err(|(start, expected, found)| {
        let at = offset + start as u64;
        format!(
            "checksum mismatch in the chunk at offset {at}: expected {expected:#010x}, found {found:#010x}"
        )
    })?;
    Ok(RawBlock { offset, header, stored: bytes.slice(HEADER_LEN..covered), bytes: bytes.slice(..total) })
}
