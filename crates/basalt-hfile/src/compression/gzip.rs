// SPDX-License-Identifier: Apache-2.0
//! GZ: one gzip member (RFC 1952) per block.
//!
//! ```text
//! 1f 8b 08 00 00000000 00 00 | raw deflate | u32 CRC32 | u32 size     (little-endian)
//! ```

use flate2::{Compress, Compression as Level, Decompress, FlushCompress, FlushDecompress, Status};

use crate::error::Damage;

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0];
const TRAILER_LEN: usize = 8;
const LEVEL_DEFAULT: u32 = 6;

pub(super) struct Compressor {
    deflate: Compress,
}

impl Compressor {
    pub(super) fn new(level: Option<i32>) -> Self {
        let level = level.map_or(LEVEL_DEFAULT, |level| level.clamp(0, 9) as u32);
        Self { deflate: Compress::new(Level::new(level), false) }
    }

    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&HEADER);
        self.deflate.reset();
        loop {
            let consumed = self.deflate.total_in() as usize;
            out.reserve((raw.len() - consumed) / 2 + 64);
            let status = self.deflate.compress_vec(&raw[consumed..], out, FlushCompress::Finish);
            match status.expect("deflate with a fresh state and room to write cannot fail") {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError => {}
            }
        }
        out.extend_from_slice(&crc32fast::hash(raw).to_le_bytes());
        out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    }
}

pub(super) fn decompress(stored: &[u8], raw_len: usize) -> Result<Vec<u8>, Damage> {
    let deflated_at = header_len(stored)?;
    let mut raw = Vec::with_capacity(raw_len);
    let mut inflate = Decompress::new(false);
    // One byte more than declared would need a second call, which is not made.
    let status = inflate
        .decompress_vec(&stored[deflated_at..], &mut raw, FlushDecompress::Finish)
        .map_err(|error| Damage::new(deflated_at, format!("not deflate: {error}")))?;
    if status != Status::StreamEnd || raw.len() != raw_len {
        let what = format!("the gzip member does not end at the declared {raw_len} bytes");
        return Err(Damage::new(deflated_at, what));
    }
    let trailer_at = deflated_at + inflate.total_in() as usize;
    let trailer =
        stored.get(trailer_at..trailer_at + TRAILER_LEN).filter(|_| stored.len() == trailer_at + TRAILER_LEN);
    let mut expected = [0; TRAILER_LEN];
    expected[..4].copy_from_slice(&crc32fast::hash(&raw).to_le_bytes());
    expected[4..].copy_from_slice(&(raw_len as u32).to_le_bytes());
    if trailer != Some(&expected[..]) {
        return Err(Damage::new(trailer_at, "the gzip trailer does not match the data"));
    }
    Ok(raw)
}

/// Length of the member header; optional fields are skipped.
fn header_len(stored: &[u8]) -> Result<usize, Damage> {
    let cut = || Damage::new(0, "the gzip header is cut short");
    let fixed = stored.first_chunk::<10>().ok_or_else(cut)?;
    if fixed[..3] != HEADER[..3] {
        return Err(Damage::new(0, "no gzip header"));
    }
    let flags = fixed[3];
    let mut at = HEADER.len();
    if flags & 4 != 0 {
        let extra = stored.get(at..at + 2).ok_or_else(cut)?;
        at += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    for text in [8, 16] {
        if flags & text != 0 {
            let rest = stored.get(at..).ok_or_else(cut)?;
            at += 1 + rest.iter().position(|&byte| byte == 0).ok_or_else(cut)?;
        }
    }
    at += usize::from(flags & 2);
    if at > stored.len() { Err(cut()) } else { Ok(at) }
}
