// SPDX-License-Identifier: Apache-2.0
//! Hadoop's block framing (`BlockCompressorStream`) around raw snappy, LZ4 and zstd.
//!
//! ```text
//! U == 0        : 00000000
//! 0 < U <= MAXIN: i32 U | i32 C | C bytes
//! U > MAXIN     : i32 U | ( i32 C | C bytes )* | 00000000      one chunk for each MAXIN raw bytes
//! ```
//!
//! MAXIN is what fits a codec buffer of 256 KiB after the codec's worst-case overhead. A reader accepts any
//! number of records and chunks, and a chunk of any size up to what is left of its record. ZSTD of Hadoop's
//! native codec has no framing at all, only zstd frames: [`decompress_bare_zstd`].

use std::cell::RefCell;
use std::io;

use crate::error::Damage;

/// The first bytes of a zstd frame.
pub(super) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const ZSTD_LEVEL_DEFAULT: i32 = 1;

/// The codec of the chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawCodec {
    Snappy,
    Lz4,
    Zstd,
}

impl RawCodec {
    /// Raw bytes per chunk when writing.
    fn chunk_bytes_max(self) -> usize {
        match self {
            Self::Snappy => 218_422,
            Self::Lz4 => 261_100,
            Self::Zstd => 261_120,
        }
    }
}

thread_local! {
    /// zstd contexts are some hundred KiB; making one per block would cost more than small blocks do.
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses framed chunks to exactly `raw_len` bytes.
pub(super) fn decompress(codec: RawCodec, stored: &[u8], raw_len: usize) -> Result<Vec<u8>, Damage> {
    let mut raw = Vec::new();
    let mut at = 0;
    while raw.len() < raw_len {
        let record_len = read_len(stored, &mut at)?;
        if record_len == 0 || record_len > raw_len - raw.len() {
            let what = format!("a record of {record_len} bytes where {} are left", raw_len - raw.len());
            return Err(Damage::new(at - 4, what));
        }
        let record_end = raw.len() + record_len;
        while raw.len() < record_end {
            let chunk_len = read_len(stored, &mut at)?;
            let chunk = stored
                .get(at..)
                .and_then(|rest| rest.get(..chunk_len))
                .ok_or_else(|| Damage::new(at - 4, format!("a chunk of {chunk_len} bytes passes the end")))?;
            let before = raw.len();
            decompress_chunk(codec, chunk, &mut raw, record_end - before)
                .map_err(|what| Damage::new(at, what))?;
            if raw.len() == before {
                return Err(Damage::new(at, "an empty chunk"));
            }
            at += chunk_len;
        }
    }
    // Nothing may follow but the zero that ends a payload of several chunks, or stands for an empty one.
    let rest = &stored[at..];
    if rest.is_empty() || rest == [0; 4] {
        Ok(raw)
    } else {
        Err(Damage::new(at, format!("{} bytes after the last chunk", rest.len())))
    }
}

fn read_len(stored: &[u8], at: &mut usize) -> Result<usize, Damage> {
    let bytes =
        stored[*at..].first_chunk().ok_or_else(|| Damage::new(*at, "the payload ends inside its framing"))?;
    *at += 4;
    Ok(u32::from_be_bytes(*bytes) as usize)
}

/// Appends one chunk to `raw`, at most `left` bytes.
fn decompress_chunk(codec: RawCodec, chunk: &[u8], raw: &mut Vec<u8>, left: usize) -> Result<(), String> {
    let before = raw.len();
    match codec {
        RawCodec::Snappy => {
            let len = snap::raw::decompress_len(chunk).map_err(|error| error.to_string())?;
            if len > left {
                return Err(format!("a chunk of {len} bytes where {left} are left"));
            }
            raw.resize(before + len, 0);
            let written = snap::raw::Decoder::new().decompress(chunk, &mut raw[before..]);
            raw.truncate(before + written.map_err(|error| error.to_string())?);
        }
        RawCodec::Lz4 => {
            raw.resize(before + left, 0);
            let written = lz4_flex::block::decompress_into(chunk, &mut raw[before..]);
            raw.truncate(before + written.map_err(|error| error.to_string())?);
        }
        RawCodec::Zstd => zstd_append(chunk, raw, left)?,
    }
    Ok(())
}

fn zstd_append(chunk: &[u8], raw: &mut Vec<u8>, left: usize) -> Result<(), String> {
    ZSTD.with_borrow_mut(|context| {
        let decompressor = match context {
            Some(decompressor) => decompressor,
            None => context.insert(zstd::bulk::Decompressor::new().map_err(|error| error.to_string())?),
        };
        let before = raw.len();
        raw.reserve_exact(left);
        let mut out = io::Cursor::new(std::mem::take(raw));
        out.set_position(before as u64);
        let written = decompressor.decompress_to_buffer(chunk, &mut out);
        *raw = out.into_inner();
        let written = written.map_err(|error| format!("not zstd: {error}"))?;
        if written > left {
            return Err(format!("a chunk of {written} bytes where {left} are left"));
        }
        raw.truncate(before + written);
        Ok(())
    })
}

/// Decompresses zstd frames without framing, as Hadoop's native codec writes them.
pub(super) fn decompress_bare_zstd(stored: &[u8], raw_len: usize) -> Result<Vec<u8>, Damage> {
    let mut raw = Vec::new();
    // A frame that would pass `raw_len` has no room to; several frames in a row are one call of the library.
    zstd_append(stored, &mut raw, raw_len).map_err(|what| Damage::new(0, what))?;
    Ok(raw)
}

/// A raw codec with its working memory.
pub(super) struct Compressor {
    codec: RawCodec,
    snappy: snap::raw::Encoder,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl Compressor {
    pub(super) fn new(codec: RawCodec, level: Option<i32>) -> io::Result<Self> {
        let zstd = match codec {
            RawCodec::Zstd => Some(zstd::bulk::Compressor::new(level.unwrap_or(ZSTD_LEVEL_DEFAULT))?),
            RawCodec::Snappy | RawCodec::Lz4 => None,
        };
        Ok(Self { codec, snappy: snap::raw::Encoder::new(), zstd })
    }

    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&(raw.len() as u32).to_be_bytes());
        if raw.is_empty() {
            return;
        }
        let chunk_bytes_max = self.codec.chunk_bytes_max();
        for chunk in raw.chunks(chunk_bytes_max) {
            let len_at = out.len();
            out.extend_from_slice(&[0; 4]);
            self.compress_chunk(chunk, out);
            let len = (out.len() - len_at - 4) as u32;
            out[len_at..len_at + 4].copy_from_slice(&len.to_be_bytes());
        }
        if raw.len() > chunk_bytes_max {
            out.extend_from_slice(&[0; 4]);
        }
    }

    fn compress_chunk(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let written = match self.codec {
            RawCodec::Snappy => {
                out.resize(start + snap::raw::max_compress_len(chunk.len()), 0);
                self.snappy.compress(chunk, &mut out[start..]).expect("the buffer has the codec's bound")
            }
            RawCodec::Lz4 => {
                out.resize(start + lz4_flex::block::get_maximum_output_size(chunk.len()), 0);
                lz4_flex::block::compress_into(chunk, &mut out[start..])
                    .expect("the buffer has the codec's bound")
            }
            RawCodec::Zstd => {
                out.resize(start + zstd::zstd_safe::compress_bound(chunk.len()), 0);
                let zstd = self.zstd.as_mut().expect("made with the codec");
                zstd.compress_to_buffer(chunk, &mut out[start..]).expect("the buffer has the codec's bound")
            }
        };
        out.truncate(start + written);
    }
}
