// SPDX-License-Identifier: Apache-2.0
//! Checksums of blocks: one 32-bit CRC per chunk of the on-disk bytes, header included.

/// The algorithm; codes as stored in block headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Checksum {
    /// No checksum; the bytes are there and zero.
    Null = 0,
    /// The CRC of zlib (ISO HDLC).
    Crc32 = 1,
    /// Castagnoli's CRC (iSCSI), HBase's default.
    #[default]
    Crc32c = 2,
}

impl Checksum {
    /// The algorithm with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Null,
            1 => Self::Crc32,
            2 => Self::Crc32c,
            _ => return None,
        })
    }

    fn of(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Null => 0,
            Self::Crc32 => crc_fast::crc32_iso_hdlc(bytes),
            Self::Crc32c => crc_fast::crc32_iscsi(bytes),
        }
    }

    /// Appends the checksums of everything in `block` to it.
    pub(crate) fn append_to(self, block: &mut Vec<u8>, chunk_bytes: usize) {
        let covered = block.len();
        for start in (0..covered).step_by(chunk_bytes) {
            let sum = self.of(&block[start..covered.min(start + chunk_bytes)]);
            block.extend_from_slice(&sum.to_be_bytes());
        }
    }

    /// Compares `covered` with its stored checksums; the error is (chunk start, expected, found).
    pub(crate) fn verify(
        self,
        covered: &[u8],
        stored: &[u8],
        chunk_bytes: usize,
    ) -> Result<(), (usize, u32, u32)> {
        debug_assert_eq!(covered.len().div_ceil(chunk_bytes) * 4, stored.len());
        for (index, chunk) in covered.chunks(chunk_bytes).enumerate() {
            let bytes = &stored[4 * index..4 * index + 4];
            let expected = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let found = self.of(chunk);
            // A file without checksums carries zeros; anything else there is damage as well.
            if expected != found {
                return Err((index * chunk_bytes, expected, found));
            }
        }
        Ok(())
    }
}
