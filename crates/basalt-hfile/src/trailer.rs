// SPDX-License-Identifier: Apache-2.0
//! The last 4,096 bytes of a file, from which everything else is found. Matches FixedFileTrailer of HBase 2.6.
//!
//! ```text
//! "TRABLK\"$" | LEB length | protobuf FileTrailerProto | zeros up to 4092 | i32 (minor << 24 | major) = 03000003
//! ```
//!
//! HBase gives the trailer no checksum. Basalt puts one into the padding, which HBase does not read:
//!
//! ```text
//! 4084  "BCRC" | u32 CRC32C of the other 4,088 bytes | 4092 version
//! ```
//!
//! A file without it has zeros there. Its trailer is checked as far as it can be: version, zeros, and that
//! offsets, counts and totals agree with the blocks (the latter by [`crate::HFileReader::verify`]).

use prost::Message;

use crate::compression::Compression;

/// Bytes of the trailer.
pub const TRAILER_LEN: usize = 4096;
const MAGIC: &[u8; 8] = b"TRABLK\"$";
const CHECKSUM_AT: usize = TRAILER_LEN - 12;
const CHECKSUM_MAGIC: &[u8; 4] = b"BCRC";
const VERSION_MAJOR: u32 = 3;
const VERSION_MINOR: u32 = 3;
/// More levels than any writer makes; HBase stops at 16.
const INDEX_LEVELS_MAX: u32 = 64;

/// How keys of a file are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyOrder {
    /// The order of ordinary tables.
    #[default]
    Cells,
    /// The row order of `hbase:meta`: such files can be read from end to end but not searched.
    Meta,
}

const ORDER_CELLS: &str = "org.apache.hadoop.hbase.KeyValue$KVComparator";
const ORDER_META: &str = "org.apache.hadoop.hbase.KeyValue$MetaComparator";

impl KeyOrder {
    fn class_name(self) -> &'static str {
        match self {
            Self::Cells => ORDER_CELLS,
            Self::Meta => ORDER_META,
        }
    }

    fn from_class_name(name: &str) -> Option<Self> {
        let short = name.strip_prefix("org.apache.hadoop.hbase.")?;
        Some(match short {
            "KeyValue$KVComparator"
            | "KeyValue$KeyComparator"
            | "CellComparator"
            | "CellComparatorImpl"
            | "InnerStoreCellComparator" => Self::Cells,
            "KeyValue$MetaComparator"
            | "KeyValue$MetaKeyComparator"
            | "CellComparator$MetaCellComparator"
            | "CellComparatorImpl$MetaCellComparator"
            | "MetaCellComparator" => Self::Meta,
            _ => return None,
        })
    }
}

/// What the trailer says.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Trailer {
    /// Minor version of the format; the major is 3.
    pub minor_version: u32,
    /// Where the file info lies.
    pub file_info_offset: u64,
    /// Where the section begins that is loaded on opening.
    pub load_on_open_offset: u64,
    /// Raw bytes of the data index.
    pub data_index_raw_bytes: u64,
    /// Raw bytes of all blocks, the trailer included.
    pub raw_bytes: u64,
    /// Entries of the data root index.
    pub data_index_count: u32,
    /// Number of meta blocks.
    pub meta_index_count: u32,
    /// Number of cells.
    pub cell_count: u64,
    /// Levels of the data index; 1 if the root points to data blocks.
    pub data_index_levels: u32,
    /// The first data block; `u64::MAX` if there is none.
    pub first_data_block_offset: u64,
    /// The last data block; `u64::MAX` if there is none.
    pub last_data_block_offset: u64,
    /// Key order.
    pub order: KeyOrder,
    /// The codec of every block.
    pub compression: Compression,
    /// The trailer carries a checksum in its padding.
    pub checksummed: bool,
}

#[derive(Clone, PartialEq, Message)]
struct TrailerMessage {
    #[prost(uint64, optional, tag = "1")]
    file_info_offset: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    load_on_open_offset: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    data_index_raw_bytes: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    raw_bytes: Option<u64>,
    #[prost(uint32, optional, tag = "5")]
    data_index_count: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    meta_index_count: Option<u32>,
    #[prost(uint64, optional, tag = "7")]
    cell_count: Option<u64>,
    #[prost(uint32, optional, tag = "8")]
    data_index_levels: Option<u32>,
    #[prost(uint64, optional, tag = "9")]
    first_data_block_offset: Option<u64>,
    #[prost(uint64, optional, tag = "10")]
    last_data_block_offset: Option<u64>,
    #[prost(string, optional, tag = "11")]
    comparator: Option<String>,
    #[prost(uint32, optional, tag = "12")]
    compression: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "13")]
    encryption_key: Option<Vec<u8>>,
}

/// Why a trailer was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TrailerError {
    Damage(String),
    Unsupported(String),
}

impl Trailer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let message = TrailerMessage {
            file_info_offset: Some(self.file_info_offset),
            load_on_open_offset: Some(self.load_on_open_offset),
            data_index_raw_bytes: Some(self.data_index_raw_bytes),
            raw_bytes: Some(self.raw_bytes),
            data_index_count: Some(self.data_index_count),
            meta_index_count: Some(self.meta_index_count),
            cell_count: Some(self.cell_count),
            data_index_levels: Some(self.data_index_levels),
            first_data_block_offset: Some(self.first_data_block_offset),
            last_data_block_offset: Some(self.last_data_block_offset),
            comparator: Some(self.order.class_name().to_owned()),
            compression: Some(self.compression.ordinal()),
            encryption_key: None,
        };
        let mut out = Vec::with_capacity(TRAILER_LEN);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&message.encode_length_delimited_to_vec());
        out.resize(TRAILER_LEN - 4, 0);
        out.extend_from_slice(&(VERSION_MINOR << 24 | VERSION_MAJOR).to_be_bytes());
        if self.checksummed {
            out[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(CHECKSUM_MAGIC);
            let checksum = checksum_of(&out);
            out[CHECKSUM_AT + 4..CHECKSUM_AT + 8].copy_from_slice(&checksum.to_be_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, TrailerError> {
        let damage = |what: &str| TrailerError::Damage(what.to_owned());
        debug_assert_eq!(bytes.len(), TRAILER_LEN);
        if !bytes.starts_with(MAGIC) {
            return Err(damage("no trailer at the end of the file"));
        }
        let (body, version) = bytes.split_at(TRAILER_LEN - 4);
        let version = u32::from_be_bytes([version[0], version[1], version[2], version[3]]);
        let (major, minor_version) = (version & 0x00ff_ffff, version >> 24);
        let checksummed = check_checksum(bytes).map_err(TrailerError::Damage)?;
        let body = &body[..CHECKSUM_AT];
        if major != VERSION_MAJOR || minor_version > VERSION_MINOR {
            return Err(TrailerError::Unsupported(format!("HFile version {major}.{minor_version}")));
        }
        let mut rest = &body[MAGIC.len()..];
        let message = TrailerMessage::decode_length_delimited(&mut rest)
            .map_err(|error| TrailerError::Damage(format!("the trailer is no protobuf message: {error}")))?;
        if rest.iter().any(|&byte| byte != 0) {
            return Err(damage("the padding of the trailer is not zero"));
        }
        if message.encryption_key.is_some() {
            return Err(TrailerError::Unsupported("encryption".into()));
        }
        // HBase writes every field, zero or not; a missing one is a tag that was damaged.
        let missing = |name: &str| TrailerError::Damage(format!("the trailer has no {name}"));
        let need = |field: Option<u64>, name: &str| field.ok_or_else(|| missing(name));
        let need_u32 = |field: Option<u32>, name: &str| field.ok_or_else(|| missing(name));
        let ordinal = message.compression.unwrap_or(Compression::None.ordinal());
        let comparator = message.comparator.ok_or_else(|| missing("key order"))?;
        let trailer = Self {
            minor_version,
            file_info_offset: need(message.file_info_offset, "file info offset")?,
            load_on_open_offset: need(message.load_on_open_offset, "load-on-open offset")?,
            data_index_raw_bytes: need(message.data_index_raw_bytes, "index size")?,
            raw_bytes: need(message.raw_bytes, "raw size")?,
            data_index_count: need_u32(message.data_index_count, "index count")?,
            meta_index_count: need_u32(message.meta_index_count, "meta index count")?,
            cell_count: need(message.cell_count, "cell count")?,
            data_index_levels: need_u32(message.data_index_levels, "index levels")?,
            first_data_block_offset: need(message.first_data_block_offset, "first data block")?,
            last_data_block_offset: need(message.last_data_block_offset, "last data block")?,
            order: KeyOrder::from_class_name(&comparator)
                .ok_or_else(|| TrailerError::Unsupported(format!("the key order {comparator:?}")))?,
            compression: Compression::from_ordinal(ordinal)
                .ok_or_else(|| TrailerError::Unsupported(format!("compression codec {ordinal}")))?,
            checksummed,
        };
        if !(1..=INDEX_LEVELS_MAX).contains(&trailer.data_index_levels) {
            return Err(TrailerError::Damage(format!("an index of {} levels", trailer.data_index_levels)));
        }
        Ok(trailer)
    }
}

/// CRC of everything but the four bytes it is stored in.
fn checksum_of(trailer: &[u8]) -> u32 {
    let before = crc32c::crc32c(&trailer[..CHECKSUM_AT + 4]);
    crc32c::crc32c_append(before, &trailer[CHECKSUM_AT + 8..])
}

/// True if there is a checksum and it is right, false if there is none.
fn check_checksum(trailer: &[u8]) -> Result<bool, String> {
    let stored = &trailer[CHECKSUM_AT..CHECKSUM_AT + 8];
    if stored == [0; 8] {
        return Ok(false);
    }
    let expected = checksum_of(trailer);
    if stored[..4] == *CHECKSUM_MAGIC && stored[4..] == expected.to_be_bytes() {
        return Ok(true);
    }
    Err("checksum mismatch in the trailer".into())
}
