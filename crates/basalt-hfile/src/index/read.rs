// SPDX-License-Identifier: Apache-2.0
//! Reading index blocks into one flat list.

use std::sync::OnceLock;

use bytes::Bytes;

use super::BlockPointer;
use crate::cells::Fronts;
use crate::error::Damage;
use crate::key::{FlatKey, row_of};
use crate::varint::read_vbytes;

/// Entries in key order, whatever number of levels they came from.
#[derive(Debug, Default)]
pub(crate) struct FlatIndex {
    keys: Vec<Bytes>,
    /// The fronts of the keys' rows, once one was looked for.
    fronts: OnceLock<Fronts>,
    pointers: Vec<BlockPointer>,
}

impl FlatIndex {
    pub(crate) fn len(&self) -> usize {
        self.pointers.len()
    }

    pub(crate) fn key(&self, index: usize) -> &Bytes {
        &self.keys[index]
    }

    pub(crate) fn pointer(&self, index: usize) -> BlockPointer {
        self.pointers[index]
    }

    pub(crate) fn pointers(&self) -> &[BlockPointer] {
        &self.pointers
    }

    /// Position of the last entry whose key is not greater than the first key of `row`.
    pub(crate) fn last_not_after_row(&self, row: &[u8]) -> Option<usize> {
        let fronts = self.fronts.get_or_init(|| Fronts::of_rows(|| self.keys.iter().map(|key| row_of(key))));
        // Keys before these are of rows below, those behind of rows above.
        let alike = fronts.alike(row);
        let not_after = self.keys[alike.clone()].partition_point(|key| match row_of(key).cmp(row) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => {
                FlatKey::parse(key).is_some_and(|key| key.compare(&FlatKey::first_of_row(row)).is_le())
            }
            std::cmp::Ordering::Greater => false,
        });
        (alike.start + not_after).checked_sub(1)
    }

    /// Position of the last entry whose key is not greater than `search`.
    pub(crate) fn last_not_after(&self, search: &FlatKey<'_>) -> Option<usize> {
        let not_after = |key: &Bytes| FlatKey::parse(key).is_some_and(|key| key.compare(search).is_le());
        self.keys.partition_point(not_after).checked_sub(1)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let keys: usize = self.keys.iter().map(Bytes::len).sum();
        keys + self.len() * (size_of::<Bytes>() + size_of::<u64>() + size_of::<BlockPointer>())
    }

    /// Adds an entry; its key must be a flat key.
    pub(crate) fn push(&mut self, pointer: BlockPointer, key: Bytes) {
        debug_assert!(FlatKey::parse(&key).is_some());
        self.pointers.push(pointer);
        self.keys.push(key);
    }
}

/// Takes `count` root-form entries from the start of `payload`; returns the bytes they took.
pub(crate) fn read_root_entries(
    payload: &Bytes,
    count: usize,
    mut entry: impl FnMut(BlockPointer, Bytes) -> Result<(), Damage>,
) -> Result<usize, Damage> {
    let mut at = 0;
    for _ in 0..count {
        let rest = &payload[at..];
        let pointer = read_pointer(rest).ok_or_else(|| Damage::new(at, "the index ends inside an entry"))?;
        let key = read_vbytes(&rest[12..]).ok_or_else(|| Damage::new(at, "an index key passes the end"))?;
        let (start, end) = (at + 12 + key.start, at + 12 + key.end);
        entry(pointer, payload.slice(start..end))?;
        at = end;
    }
    Ok(at)
}

/// Takes the entries of a leaf or intermediate block.
pub(crate) fn read_non_root_entries(
    payload: &Bytes,
    mut entry: impl FnMut(BlockPointer, Bytes) -> Result<(), Damage>,
) -> Result<(), Damage> {
    let u32_at = |at: usize| {
        let bytes =
            payload.get(at..at + 4).ok_or_else(|| Damage::new(at, "the index ends inside its offsets"))?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    };
    let count = u32_at(0)?;
    // Bounds the loop by the bytes that are there.
    if count > payload.len() / 16 {
        return Err(Damage::new(0, format!("{count} index entries in {} bytes", payload.len())));
    }
    let entries_at = 4 + 4 * (count + 1);
    if u32_at(4)? != 0 {
        return Err(Damage::new(4, "the first index entry does not start at 0"));
    }
    for index in 0..count {
        let (start, end) = (u32_at(4 + 4 * index)?, u32_at(8 + 4 * index)?);
        let whole = start
            .checked_add(12)
            .filter(|&key| key <= end)
            .and_then(|_| payload.get(entries_at..)?.get(start..end));
        let whole = whole.ok_or_else(|| Damage::new(4 + 4 * index, "an index entry passes the end"))?;
        let pointer =
            read_pointer(whole).ok_or_else(|| Damage::new(start, "the index ends inside an entry"))?;
        entry(pointer, payload.slice(entries_at + start + 12..entries_at + end))?;
    }
    if entries_at + u32_at(4 + 4 * count)? != payload.len() {
        return Err(Damage::new(4 + 4 * count, "the index entries do not end with the block"));
    }
    Ok(())
}

fn read_pointer(bytes: &[u8]) -> Option<BlockPointer> {
    let offset = u64::from_be_bytes(*bytes.first_chunk()?);
    let size = u32::from_be_bytes(*bytes.get(8..)?.first_chunk()?);
    Some(BlockPointer { offset, size })
}
