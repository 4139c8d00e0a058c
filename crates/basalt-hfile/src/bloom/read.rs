// SPDX-License-Identifier: Apache-2.0
//! Asking a Bloom filter. Chunks are read on first use and kept with the reader.

use std::sync::OnceLock;

use bytes::Bytes;

use super::{BloomKind, HashKind, META_VERSION, each_bit};
use crate::error::{Damage, Result};
use crate::index::{BlockPointer, read_root_entries};
use crate::key::FlatKey;
use crate::varint::read_vbytes;

/// What a filter's metadata says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BloomFacts {
    /// Bytes of all chunks.
    pub bytes: u64,
    /// Bits set per key.
    pub hash_count: u32,
    /// The hash function.
    pub hash: HashKind,
    /// Keys added.
    pub keys: u64,
    /// Keys that the chunks were made for.
    pub capacity: u64,
    /// Number of chunks.
    pub chunks: u32,
}

/// A filter of an open file.
#[derive(Debug)]
pub(crate) struct BloomReader {
    facts: BloomFacts,
    by_column: bool,
    first_keys: Vec<Bytes>,
    pointers: Vec<BlockPointer>,
    chunks: Vec<OnceLock<Bytes>>,
}

/// More bits per key than any error rate asks for; bounds the work per query.
const HASH_COUNT_MAX: u32 = 64;

impl BloomReader {
    pub(crate) fn parse(payload: &Bytes, kind: BloomKind) -> Result<Self, Damage> {
        let field = |at: usize, len: usize| {
            let bytes = payload
                .get(at..at + len)
                .ok_or_else(|| Damage::new(at, "the bloom metadata is cut short"))?;
            Ok(bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte)))
        };
        let version = field(0, 4)? as u32;
        if version != META_VERSION {
            return Err(Damage::new(0, format!("bloom filter version {version}, expected {META_VERSION}")));
        }
        let hash_code = field(16, 4)? as u32;
        let facts = BloomFacts {
            bytes: field(4, 8)?,
            hash_count: field(12, 4)? as u32,
            hash: HashKind::from_code(hash_code)
                .ok_or_else(|| Damage::new(16, format!("unknown hash {hash_code}")))?,
            keys: field(20, 8)?,
            capacity: field(28, 8)?,
            chunks: field(36, 4)? as u32,
        };
        if !(1..=HASH_COUNT_MAX).contains(&facts.hash_count) {
            return Err(Damage::new(12, format!("{} hashes per key", facts.hash_count)));
        }
        let comparator =
            read_vbytes(&payload[40..]).ok_or_else(|| Damage::new(40, "the comparator passes the end"))?;
        let entries = payload.slice(40 + comparator.end..);
        if facts.chunks as usize > entries.len() / 13 {
            return Err(Damage::new(36, format!("{} chunks in {} bytes", facts.chunks, entries.len())));
        }
        let by_column = kind == BloomKind::RowCol;
        let (mut first_keys, mut pointers) = (Vec::new(), Vec::new());
        let taken = read_root_entries(&entries, facts.chunks as usize, |pointer, key| {
            if by_column && FlatKey::parse(&key).is_none() {
                return Err(Damage::new(40, "the first key of a bloom chunk is no key"));
            }
            if pointers.last().is_some_and(|last: &BlockPointer| last.offset >= pointer.offset) {
                return Err(Damage::new(40, "bloom chunks out of order"));
            }
            pointers.push(pointer);
            first_keys.push(key);
            Ok(())
        })?;
        if taken != entries.len() {
            return Err(Damage::new(40 + taken, "bytes after the last bloom chunk"));
        }
        let chunks = pointers.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { facts, by_column, first_keys, pointers, chunks })
    }

    pub(crate) fn facts(&self) -> &BloomFacts {
        &self.facts
    }

    /// The last chunk that lies before `offset`.
    pub(crate) fn chunk_before(&self, offset: u64) -> Option<BlockPointer> {
        let before = self.pointers.partition_point(|chunk| chunk.offset < offset);
        before.checked_sub(1).map(|index| self.pointers[index])
    }

    /// Bytes of chunks that have been read and are kept.
    pub(crate) fn loaded_bytes(&self) -> usize {
        self.chunks.iter().filter_map(OnceLock::get).map(Bytes::len).sum()
    }

    /// False if `key` was certainly never added. `load` reads the payload of a chunk.
    pub(crate) fn may_contain(
        &self,
        key: &[u8],
        load: impl FnOnce(BlockPointer) -> Result<Bytes>,
    ) -> Result<bool> {
        let Some(index) = self.chunk_for(key) else { return Ok(false) };
        let chunk = match self.chunks[index].get() {
            Some(chunk) => chunk,
            None => {
                let loaded = load(self.pointers[index])?;
                self.chunks[index].get_or_init(|| loaded)
            }
        };
        // `load` refuses empty chunks and those of 2^31 bits and more.
        let bits = (chunk.len() * 8) as i32;
        Ok(each_bit(self.facts.hash.pair(key), self.facts.hash_count, bits, |bit| {
            chunk[bit / 8] & 1 << (bit % 8) != 0
        }))
    }

    fn chunk_for(&self, key: &[u8]) -> Option<usize> {
        let not_after = |first: &Bytes| {
            if !self.by_column {
                return first[..] <= *key;
            }
            match (FlatKey::parse(first), FlatKey::parse(key)) {
                (Some(first), Some(key)) => first.compare(&key).is_le(),
                _ => false,
            }
        };
        self.first_keys.partition_point(not_after).checked_sub(1)
    }
}
