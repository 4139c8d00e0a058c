// SPDX-License-Identifier: Apache-2.0
//! File info: named values that describe a file. Matches HFileInfo of HBase 2.6.
//!
//! ```text
//! "PBUF" | LEB length | protobuf { repeated 1: { 1: key bytes, 2: value bytes } }     keys ascending
//! ```

use std::collections::BTreeMap;

use basalt_model::Seq;
use prost::Message;

use crate::error::Damage;

/// Keys that this crate writes or reads.
pub mod keys {
    #![allow(missing_docs)]
    pub const LASTKEY: &[u8] = b"hfile.LASTKEY";
    pub const AVG_KEY_LEN: &[u8] = b"hfile.AVG_KEY_LEN";
    pub const AVG_VALUE_LEN: &[u8] = b"hfile.AVG_VALUE_LEN";
    pub const CREATE_TIME_TS: &[u8] = b"hfile.CREATE_TIME_TS";
    pub const KEY_OF_BIGGEST_CELL: &[u8] = b"hfile.KEY_OF_BIGGEST_CELL";
    pub const LEN_OF_BIGGEST_CELL: &[u8] = b"hfile.LEN_OF_BIGGEST_CELL";
    pub const MAX_TAGS_LEN: &[u8] = b"hfile.MAX_TAGS_LEN";
    pub const TAGS_COMPRESSED: &[u8] = b"hfile.TAGS_COMPRESSED";
    pub const KEY_VALUE_VERSION: &[u8] = b"KEY_VALUE_VERSION";
    pub const MAX_MEMSTORE_TS_KEY: &[u8] = b"MAX_MEMSTORE_TS_KEY";
    pub const DATA_BLOCK_ENCODING: &[u8] = b"DATA_BLOCK_ENCODING";
    pub const INDEX_BLOCK_ENCODING: &[u8] = b"INDEX_BLOCK_ENCODING";
    pub const BLOOM_FILTER_TYPE: &[u8] = b"BLOOM_FILTER_TYPE";
    pub const BLOOM_FILTER_PARAM: &[u8] = b"BLOOM_FILTER_PARAM";
    pub const LAST_BLOOM_KEY: &[u8] = b"LAST_BLOOM_KEY";
    pub const DELETE_FAMILY_COUNT: &[u8] = b"DELETE_FAMILY_COUNT";
    pub const MAX_SEQ_ID_KEY: &[u8] = b"MAX_SEQ_ID_KEY";
    pub const MAJOR_COMPACTION_KEY: &[u8] = b"MAJOR_COMPACTION_KEY";
    pub const TIMERANGE: &[u8] = b"TIMERANGE";
    pub const FILE_NUMBER: &[u8] = b"basalt.FILE_NUMBER";
    pub const SKETCHES: &[u8] = b"basalt.SKETCHES";
    pub const EARLIEST_PUT_TS: &[u8] = b"EARLIEST_PUT_TS";
}

const MAGIC: &[u8; 4] = b"PBUF";

/// Named values of a file, in key order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileInfo {
    entries: BTreeMap<Vec<u8>, Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct InfoMessage {
    #[prost(message, repeated, tag = "1")]
    entries: Vec<EntryMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct EntryMessage {
    #[prost(bytes = "vec", optional, tag = "1")]
    key: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    value: Option<Vec<u8>>,
}

impl FileInfo {
    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.entries.get(key).map(Vec::as_slice)
    }

    /// Sets a value.
    pub fn set(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.entries.insert(key.into(), value.into());
    }

    /// Sets a value unless the key has one.
    pub(crate) fn set_default(&mut self, key: &[u8], value: impl Into<Vec<u8>>) {
        self.entries.entry(key.to_vec()).or_insert_with(|| value.into());
    }

    /// All entries, in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// A 64-bit value.
    pub fn i64(&self, key: &[u8]) -> Option<i64> {
        Some(i64::from_be_bytes(self.get(key)?.try_into().ok()?))
    }

    /// A 32-bit value.
    pub fn i32(&self, key: &[u8]) -> Option<i32> {
        Some(i32::from_be_bytes(self.get(key)?.try_into().ok()?))
    }

    /// A flag; absent is false.
    pub fn flag(&self, key: &[u8]) -> bool {
        self.get(key).is_some_and(|value| value.iter().any(|&byte| byte != 0))
    }

    /// The highest sequence number in the file, if the file stores them.
    pub fn seq_max(&self) -> Option<Seq> {
        self.i64(keys::MAX_MEMSTORE_TS_KEY).and_then(|seq| u64::try_from(seq).ok()).map(Seq)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let entries = self.entries.iter();
        let message = InfoMessage {
            entries: entries
                .map(|(key, value)| EntryMessage { key: Some(key.clone()), value: Some(value.clone()) })
                .collect(),
        };
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&message.encode_length_delimited_to_vec());
    }

    pub(crate) fn decode(payload: &[u8]) -> Result<Self, Damage> {
        let mut rest =
            payload.strip_prefix(MAGIC).ok_or_else(|| Damage::new(0, "the file info is not protobuf"))?;
        let message = InfoMessage::decode_length_delimited(&mut rest)
            .map_err(|error| Damage::new(4, format!("the file info is no protobuf message: {error}")))?;
        let entries = message.entries.into_iter();
        Ok(Self {
            entries: entries
                .map(|entry| (entry.key.unwrap_or_default(), entry.value.unwrap_or_default()))
                .collect(),
        })
    }
}
