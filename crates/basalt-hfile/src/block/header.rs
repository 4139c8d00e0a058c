// SPDX-License-Identifier: Apache-2.0
//! The 33-byte block header.

use super::checksum::Checksum;

/// Bytes of a block header.
pub const HEADER_LEN: usize = 33;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Cells, not encoded.
    Data,
    /// Cells in a data block encoding.
    EncodedData,
    /// A row group; stored as it is, whatever the file's codec.
    ColumnarData,
    /// Last level of a data index that has several.
    LeafIndex,
    /// A level between root and leaves.
    IntermediateIndex,
    /// Root of the data index or of the meta index.
    RootIndex,
    /// A piece of a bloom filter.
    BloomChunk,
    /// A named meta block.
    Meta,
    /// The file info.
    FileInfo,
    /// Metadata of the general bloom filter.
    GeneralBloomMeta,
    /// Metadata of the delete-family bloom filter.
    DeleteFamilyBloomMeta,
}

impl BlockKind {
    /// Every kind, in no special order.
    pub const ALL: [Self; 11] = [
        Self::Data,
        Self::EncodedData,
        Self::ColumnarData,
        Self::LeafIndex,
        Self::IntermediateIndex,
        Self::RootIndex,
        Self::BloomChunk,
        Self::Meta,
        Self::FileInfo,
        Self::GeneralBloomMeta,
        Self::DeleteFamilyBloomMeta,
    ];

    /// The first eight bytes of such a block.
    pub fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Data => b"DATABLK*",
            Self::EncodedData => b"DATABLKE",
            Self::ColumnarData => b"DATABLKC",
            Self::LeafIndex => b"IDXLEAF2",
            Self::IntermediateIndex => b"IDXINTE2",
            Self::RootIndex => b"IDXROOT2",
            Self::BloomChunk => b"BLMFBLK2",
            Self::Meta => b"METABLKc",
            Self::FileInfo => b"FILEINF2",
            Self::GeneralBloomMeta => b"BLMFMET2",
            Self::DeleteFamilyBloomMeta => b"DFBLMET2",
        }
    }

    fn from_magic(magic: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.magic() == magic)
    }

    /// Which chain of previous offsets the kind belongs to: the data kinds share one.
    pub(crate) fn chain(self) -> usize {
        match self {
            Self::Data | Self::EncodedData | Self::ColumnarData => 0,
            Self::LeafIndex => 1,
            Self::IntermediateIndex => 2,
            Self::RootIndex => 3,
            Self::BloomChunk => 4,
            Self::Meta => 5,
            Self::FileInfo => 6,
            Self::GeneralBloomMeta => 7,
            Self::DeleteFamilyBloomMeta => 8,
        }
    }

    /// True for blocks of cells.
    pub fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::EncodedData | Self::ColumnarData)
    }
}

/// Number of chains of previous offsets.
pub(crate) const CHAINS: usize = 9;

/// A block header, its sizes checked against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// What the block holds.
    pub kind: BlockKind,
    /// Header, payload and checksums, in bytes.
    pub total_bytes: u32,
    /// Payload after decompression, in bytes.
    pub raw_bytes: u32,
    /// Offset of the previous block of the same chain, -1 if first.
    pub previous_offset: i64,
    /// Checksum algorithm.
    pub checksum: Checksum,
    /// Bytes that one checksum covers.
    pub checksum_chunk_bytes: u32,
    /// Header and payload on disk: the bytes that checksums cover.
    pub covered_bytes: u32,
}

impl BlockHeader {
    /// Reads a header; the error says which field cannot be true.
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Result<Self, String> {
        let u32_at = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind = BlockKind::from_magic(&bytes[..8])
            .ok_or_else(|| format!("no block starts with {}", basalt_model::escape::Escaped(&bytes[..8])))?;
        let on_disk = u32_at(8);
        let raw_bytes = u32_at(12);
        let mut previous = [0; 8];
        previous.copy_from_slice(&bytes[16..24]);
        let checksum =
            Checksum::from_code(bytes[24]).ok_or_else(|| format!("unknown checksum type {}", bytes[24]))?;
        let chunk = u32_at(25);
        let covered = u32_at(29);
        if on_disk > i32::MAX as u32 - HEADER_LEN as u32 || raw_bytes > i32::MAX as u32 {
            return Err(format!("sizes {on_disk} and {raw_bytes} are negative"));
        }
        if chunk < HEADER_LEN as u32 || chunk > i32::MAX as u32 {
            return Err(format!("one checksum for {chunk} bytes is impossible"));
        }
        let sums = 4 * u64::from(covered).div_ceil(u64::from(chunk));
        if covered < HEADER_LEN as u32 || u64::from(covered) + sums != u64::from(on_disk) + HEADER_LEN as u64
        {
            return Err(format!(
                "{covered} bytes and {sums} of checksums do not make {on_disk} + {HEADER_LEN}"
            ));
        }
        Ok(Self {
            kind,
            total_bytes: on_disk + HEADER_LEN as u32,
            raw_bytes,
            previous_offset: i64::from_be_bytes(previous),
            checksum,
            checksum_chunk_bytes: chunk,
            covered_bytes: covered,
        })
    }

    /// Writes the header over the first bytes of `block`.
    pub(crate) fn write_over(&self, block: &mut [u8]) {
        block[..8].copy_from_slice(self.kind.magic());
        block[8..12].copy_from_slice(&(self.total_bytes - HEADER_LEN as u32).to_be_bytes());
        block[12..16].copy_from_slice(&self.raw_bytes.to_be_bytes());
        block[16..24].copy_from_slice(&self.previous_offset.to_be_bytes());
        block[24] = self.checksum as u8;
        block[25..29].copy_from_slice(&self.checksum_chunk_bytes.to_be_bytes());
        block[29..33].copy_from_slice(&self.covered_bytes.to_be_bytes());
    }
}
