// SPDX-License-Identifier: Apache-2.0
//! Compression of cell blocks: a client names a Hadoop codec in its header, and then every block is one stream of it.
//!
//! | codec | stream |
//! |---|---|
//! | GzipCodec | one gzip member |
//! | DefaultCodec, DeflateCodec | one zlib stream |
//! | SnappyCodec, Lz4Codec | blocks of `int32 raw_len`, then chunks of `int32 len`, bytes, until the block is full |

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::exception::{self, Exception};

/// Longest block that is unpacked, in bytes.
pub const RAW_LEN_MAX: usize = 256 << 20;
/// Raw bytes per chunk that is written: Hadoop's decompressors have buffers of 256 KiB.
const CHUNK_LEN: usize = 128 << 10;
/// A deflate match of 258 bytes takes at least two bits.
const DEFLATE_RATIO_MAX: usize = 1032;

/// A codec of cell blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressor {
    /// `GzipCodec`.
    Gzip,
    /// `DefaultCodec` and `DeflateCodec`.
    Zlib,
    /// `SnappyCodec`.
    Snappy,
    /// `Lz4Codec`.
    Lz4,
}

impl Compressor {
    /// The codec that a connection header names.
    pub fn of_class(class: &str) -> Result<Self, Exception> {
        let simple = class.rsplit('.').next().unwrap_or(class);
        Ok(match simple {
            "GzipCodec" | "ReusableStreamGzipCodec" => Self::Gzip,
            "DefaultCodec" | "DeflateCodec" => Self::Zlib,
            "SnappyCodec" => Self::Snappy,
            "Lz4Codec" => Self::Lz4,
            _ => {
                return Err(Exception::new(
                    exception::UNSUPPORTED_COMPRESSOR,
                    format!(
                        "{class} is not known; expected GzipCodec, DefaultCodec, SnappyCodec or Lz4Codec"
                    ),
                ));
            }
        })
    }

    /// Packs a block.
    pub fn compress(self, raw: &[u8]) -> Bytes {
        match self {
            Self::Gzip => deflated(
                raw,
                |packer, raw, out| packer.gzip_compress(raw, out),
                |packer, len| packer.gzip_compress_bound(len),
            ),
            Self::Zlib => deflated(
                raw,
                |packer, raw, out| packer.zlib_compress(raw, out),
                |packer, len| packer.zlib_compress_bound(len),
            ),
            Self::Snappy => chunked(raw, |chunk| {
                snap::raw::Encoder::new().compress_vec(chunk).expect("a chunk is short enough for snappy")
            }),
            Self::Lz4 => chunked(raw, lz4_flex::block::compress),
        }
    }

    /// Unpacks a block; an exception if it is damaged or larger than [`RAW_LEN_MAX`].
    pub fn decompress(self, packed: Bytes) -> Result<Bytes, Exception> {
        let raw = match self {
            Self::Gzip => inflated(&packed, |unpacker, packed, out| unpacker.gzip_decompress(packed, out)),
            Self::Zlib => inflated(&packed, |unpacker, packed, out| unpacker.zlib_decompress(packed, out)),
            Self::Snappy => unchunked(packed, |chunk, out| {
                let len = snap::raw::decompress_len(chunk).ok().filter(|&len| len <= out.len())?;
                snap::raw::Decoder::new().decompress(chunk, &mut out[..len]).ok()
            }),
            Self::Lz4 => unchunked(packed, |chunk, out| lz4_flex::block::decompress_into(chunk, out).ok()),
        };
        raw.ok_or_else(|| Exception::refused("the compressed cell block is damaged or too large"))
    }
}

type Deflate =
    fn(&mut libdeflater::Compressor, &[u8], &mut [u8]) -> Result<usize, libdeflater::CompressionError>;
type Inflate =
    fn(&mut libdeflater::Decompressor, &[u8], &mut [u8]) -> Result<usize, libdeflater::DecompressionError>;

fn deflated(raw: &[u8], pack: Deflate, bound: fn(&mut libdeflater::Compressor, usize) -> usize) -> Bytes {
    let mut packer = libdeflater::Compressor::new(libdeflater::CompressionLvl::fastest());
    let mut out = vec![0; bound(&mut packer, raw.len())];
    let len = pack(&mut packer, raw, &mut out).expect("the buffer is as large as the bound");
    out.truncate(len);
    out.into()
}

/// The stream does not say how long it will be: tried with larger and larger buffers, up to what its length allows.
fn inflated(packed: &[u8], unpack: Inflate) -> Option<Bytes> {
    let most = packed.len().saturating_mul(DEFLATE_RATIO_MAX).clamp(64, RAW_LEN_MAX);
    let mut len = packed.len().saturating_mul(6).clamp(64, most);
    loop {
        let mut out = vec![0; len];
        match unpack(&mut libdeflater::Decompressor::new(), packed, &mut out) {
            Ok(raw_len) => {
                out.truncate(raw_len);
                return Some(out.into());
            }
            Err(libdeflater::DecompressionError::InsufficientSpace) if len < most => {
                len = len.saturating_mul(4).min(most);
            }
            Err(_) => return None,
        }
    }
}

fn chunked(raw: &[u8], pack: impl Fn(&[u8]) -> Vec<u8>) -> Bytes {
    let mut out = BytesMut::with_capacity(raw.len() / 2 + 16);
    for chunk in raw.chunks(CHUNK_LEN) {
        let packed = pack(chunk);
        out.put_u32(chunk.len() as u32);
        out.put_u32(packed.len() as u32);
        out.put_slice(&packed);
    }
    out.freeze()
}

/// `unpack` fills the front of a buffer from a chunk and says how much of it.
fn unchunked(mut packed: Bytes, unpack: impl Fn(&[u8], &mut [u8]) -> Option<usize>) -> Option<Bytes> {
    let mut out: Vec<u8> = Vec::new();
    while !packed.is_empty() {
        let raw_len = packed.try_get_u32().ok()? as usize;
        // No codec here unpacks a byte to more than 255; a block of a liar allocates nothing.
        if raw_len > packed.len().saturating_mul(256) || out.len() + raw_len > RAW_LEN_MAX {
            return None;
        }
        let (mut at, end) = (out.len(), out.len() + raw_len);
        out.resize(end, 0);
        while at < end {
            let len = packed.try_get_u32().ok()? as usize;
            if len > packed.len() {
                return None;
            }
            let found = unpack(&packed.split_to(len), &mut out[at..end])?;
            if found == 0 {
                return None;
            }
            at += found;
        }
    }
    Some(out.into())
}

#[cfg(test)]
mod tests;
