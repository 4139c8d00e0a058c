// SPDX-License-Identifier: Apache-2.0
//! Writing blocks: compression, header, checksums, and the chains of previous offsets.

use super::checksum::Checksum;
use super::header::{BlockHeader, BlockKind, CHAINS, HEADER_LEN};
use crate::compression::{Compression, Compressor};
use crate::error::{Error, Result};
use crate::file::FileWrite;
use crate::index::BlockPointer;

/// Bytes of one checksum in a block that checks itself: more than any has.
const SEALED_CHUNK: u32 = 1 << 30;

/// What is handed to the file at once. Pieces that begin at a multiple of their size lie in large pages of the system's cache: it
/// takes them, and gives them back, faster than blocks that begin anywhere.
const PIECE_BYTES: usize = 256 << 10;

/// Where blocks go, one after the other.
///
/// Callers build a payload behind [`HEADER_LEN`] reserved bytes, so that an uncompressed block is written
/// from the buffer it was encoded into.
pub(crate) struct BlockSink<W> {
    file: W,
    /// The end of what was written, which is not yet in the file.
    pending: Vec<u8>,
    /// Where the next block begins.
    offset: u64,
    previous: [i64; CHAINS],
    compressor: Compressor,
    compressed: Vec<u8>,
    checksum: Checksum,
    checksum_chunk_bytes: u32,
    /// Sum of header and raw payload over all blocks, as the trailer wants it.
    pub(crate) raw_bytes_total: u64,
}

impl<W: FileWrite> BlockSink<W> {
    pub(crate) fn new(
        file: W,
        compressor: Compressor,
        checksum: Checksum,
        checksum_chunk_bytes: u32,
    ) -> Self {
        Self {
            file,
            pending: Vec::new(),
            offset: 0,
            previous: [-1; CHAINS],
            compressor,
            compressed: Vec::new(),
            checksum,
            checksum_chunk_bytes,
            raw_bytes_total: 0,
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The file, with everything in it.
    pub(crate) fn into_file(mut self) -> Result<W> {
        self.hand_over()?;
        Ok(self.file)
    }

    /// Writes a block whose payload starts at `HEADER_LEN` in `buffer`; leaves the buffer as scrap.
    pub(crate) fn write_block(&mut self, kind: BlockKind, buffer: &mut Vec<u8>) -> Result<BlockPointer> {
        let raw_len = buffer.len() - HEADER_LEN;
        if i32::try_from(buffer.len()).is_err() {
            return Err(Error::Invalid {
                what: format!("a block of {raw_len} bytes is too large for a store file"),
            });
        }
        if self.compressor.compression() == Compression::None {
            let mut block = std::mem::take(buffer);
            let written = self.finish_block(kind, raw_len, &mut block);
            *buffer = block;
            return written;
        }
        let mut block = std::mem::take(&mut self.compressed);
        block.clear();
        block.resize(HEADER_LEN, 0);
        self.compressor.compress(&buffer[HEADER_LEN..], &mut block);
        let written = self.finish_block(kind, raw_len, &mut block);
        self.compressed = block;
        written
    }

    /// Writes a block whose payload starts at `HEADER_LEN` in `buffer` and is stored as it is. It checks itself:
    /// `seal` puts its checksums in, once the header is there; the container's is one of zeros.
    pub(crate) fn write_sealed_block(
        &mut self,
        kind: BlockKind,
        buffer: &mut Vec<u8>,
        seal: impl FnOnce(&mut [u8]),
    ) -> Result<BlockPointer> {
        let raw_len = buffer.len() - HEADER_LEN;
        if buffer.len() >= SEALED_CHUNK as usize {
            return Err(Error::Invalid {
                what: format!("a block of {raw_len} bytes is too large for a store file"),
            });
        }
        let total = buffer.len() as u32 + 4;
        let header = BlockHeader {
            kind,
            total_bytes: total,
            raw_bytes: raw_len as u32,
            previous_offset: self.previous[kind.chain()],
            checksum: Checksum::Null,
            checksum_chunk_bytes: SEALED_CHUNK,
            covered_bytes: buffer.len() as u32,
        };
        header.write_over(buffer);
        seal(buffer);
        Checksum::Null.append_to(buffer, SEALED_CHUNK as usize);
        self.append_block(kind, raw_len, buffer)
    }

    fn append_block(&mut self, kind: BlockKind, raw_len: usize, block: &[u8]) -> Result<BlockPointer> {
        let pointer = BlockPointer { offset: self.offset, size: block.len() as u32 };
        self.append(block)?;
        self.previous[kind.chain()] = pointer.offset as i64;
        self.raw_bytes_total += (HEADER_LEN + raw_len) as u64;
        Ok(pointer)
    }

    fn finish_block(&mut self, kind: BlockKind, raw_len: usize, block: &mut Vec<u8>) -> Result<BlockPointer> {
        let covered = block.len();
        let total = covered + 4 * covered.div_ceil(self.checksum_chunk_bytes as usize);
        let header = BlockHeader {
            kind,
            total_bytes: total as u32,
            raw_bytes: raw_len as u32,
            previous_offset: self.previous[kind.chain()],
            checksum: self.checksum,
            checksum_chunk_bytes: self.checksum_chunk_bytes,
            covered_bytes: covered as u32,
        };
        header.write_over(block);
        self.checksum.append_to(block, self.checksum_chunk_bytes as usize);
        debug_assert_eq!(block.len(), total);
        self.append_block(kind, raw_len, block)
    }

    /// Appends bytes that are not a block: the trailer.
    pub(crate) fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.offset += bytes.len() as u64;
        while self.pending.len() + bytes.len() >= PIECE_BYTES {
            let (now, later) = bytes.split_at(PIECE_BYTES - self.pending.len());
            self.pending.extend_from_slice(now);
            self.hand_over()?;
            bytes = later;
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    fn hand_over(&mut self) -> Result<()> {
        let offset = self.offset;
        let done = self.file.append(&self.pending);
        self.pending.clear();
        done.map_err(|source| Error::Io { file: "being written".into(), offset, source })
    }
}
