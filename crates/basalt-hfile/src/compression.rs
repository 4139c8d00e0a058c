// SPDX-License-Identifier: Apache-2.0
//! Block compression with the framings of HBase's codecs.
//!
//! | codec | payload on disk |
//! |---|---|
//! | NONE | the raw payload |
//! | GZ | one gzip member |
//! | SNAPPY, LZ4 | Hadoop block framing ([`hadoop`]) of raw snappy or LZ4 blocks |
//! | ZSTD | read: either Hadoop block framing of zstd frames (HBase's own codec) or bare frames (Hadoop's native codec); written: the former |
//!
//! A payload must come out at exactly the size its header declares. The declared size is held against what
//! the codec can reach from the stored bytes *before* the output is allocated, and no decoder may write past
//! it, so a damaged or hostile block costs at most its declared, bounded size.

mod gzip;
pub(crate) mod hadoop;

use bytes::Bytes;

use crate::error::Damage;
use hadoop::RawCodec;

/// The codec of a file; ordinals as in the trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Compression {
    /// Stored as is.
    #[default]
    None,
    /// gzip.
    Gz,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// Every codec.
    pub const ALL: [Self; 5] = [Self::None, Self::Gz, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The name in family attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Gz => "GZ",
            Self::Snappy => "SNAPPY",
            Self::Lz4 => "LZ4",
            Self::Zstd => "ZSTD",
        }
    }

    /// The codec of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name().eq_ignore_ascii_case(name))
    }

    /// The number in the trailer.
    pub(crate) fn ordinal(self) -> u32 {
        match self {
            Self::Gz => 1,
            Self::None => 2,
            Self::Snappy => 3,
            Self::Lz4 => 4,
            Self::Zstd => 6,
        }
    }

    /// The codec with this number in the trailer.
    pub(crate) fn from_ordinal(ordinal: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.ordinal() == ordinal)
    }

    /// The most bytes that `stored_len` bytes can decompress to.
    fn raw_len_max(self, stored_len: usize) -> usize {
        let ratio = match self {
            Self::None => 1,
            // A deflate match of 258 bytes takes at least two bits.
            Self::Gz => 1032,
            // A copy of 64 bytes takes three.
            Self::Snappy => 22,
            // Every length byte adds 255.
            Self::Lz4 => 255,
            // A run of 128 KiB takes four bytes.
            Self::Zstd => 32_768,
        };
        stored_len.saturating_mul(ratio).saturating_add(64)
    }
}

impl std::fmt::Display for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Decompresses a payload that must come to exactly `raw_len` bytes.
pub(crate) fn decompress(compression: Compression, stored: &Bytes, raw_len: usize) -> Result<Bytes, Damage> {
    if compression == Compression::None {
        if stored.len() != raw_len {
            return Err(Damage::new(0, format!("{} bytes are stored, {raw_len} declared", stored.len())));
        }
        return Ok(stored.clone());
    }
    if raw_len > compression.raw_len_max(stored.len()) {
        let what = format!("{} bytes of {compression} cannot hold the declared {raw_len}", stored.len());
        return Err(Damage::new(0, what));
    }
    let raw = match compression {
        Compression::None => unreachable!("answered above"),
        Compression::Gz => gzip::decompress(stored, raw_len)?,
        Compression::Snappy => hadoop::decompress(RawCodec::Snappy, stored, raw_len)?,
        Compression::Lz4 => hadoop::decompress(RawCodec::Lz4, stored, raw_len)?,
        Compression::Zstd if stored.starts_with(&hadoop::ZSTD_MAGIC) => {
            hadoop::decompress_bare_zstd(stored, raw_len)?
        }
        Compression::Zstd => hadoop::decompress(RawCodec::Zstd, stored, raw_len)?,
    };
    if raw.len() != raw_len {
        return Err(Damage::new(0, format!("decompressed to {} bytes, {raw_len} declared", raw.len())));
    }
    Ok(raw.into())
}

/// A codec with its working memory, kept for a whole file.
pub(crate) struct Compressor {
    compression: Compression,
    state: State,
}

enum State {
    None,
    Gz(gzip::Compressor),
    Hadoop(Box<hadoop::Compressor>),
}

impl Compressor {
    /// `level` is the codec's own scale; `None` takes the default (GZ 5, ZSTD 1).
    pub(crate) fn new(compression: Compression, level: Option<i32>) -> std::io::Result<Self> {
        let state = match compression {
            Compression::None => State::None,
            Compression::Gz => State::Gz(gzip::Compressor::new(level)),
            Compression::Snappy => State::Hadoop(Box::new(hadoop::Compressor::new(RawCodec::Snappy, None)?)),
            Compression::Lz4 => State::Hadoop(Box::new(hadoop::Compressor::new(RawCodec::Lz4, None)?)),
            Compression::Zstd => State::Hadoop(Box::new(hadoop::Compressor::new(RawCodec::Zstd, level)?)),
        };
        Ok(Self { compression, state })
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Appends the framed, compressed form of `raw` to `out`.
    pub(crate) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        match &mut self.state {
            State::None => out.extend_from_slice(raw),
            State::Gz(gzip) => gzip.compress(raw, out),
            State::Hadoop(codec) => codec.compress(raw, out),
        }
    }
}

#[cfg(test)]
mod tests;
