// SPDX-License-Identifier: Apache-2.0
//! Tags in the tail of a delta-encoded cell: raw, or coded with a dictionary of the block's last tags. Matches
//! TagCompressionContext and LRUDictionary.
//!
//! ```text
//! raw tags       ( u16 length | type | payload )*           length = 1 + payload
//! coded, per tag 00 ss                                      entry ss (16 bits) of the dictionary
//!                ff | LEB length | type | payload           new: takes the next of 127 slots, then the least recently used
//! ```

use std::collections::HashMap;

use crate::write_buffer::WriteBuffer;

/// Slots of a dictionary.
const SLOTS: usize = 127;
const NEW_ENTRY: u8 = 0xff;

/// The order in which slots were used.
#[derive(Default)]
struct Recency {
    used_at: Vec<u64>,
    clock: u64,
}

impl Recency {
    fn touch(&mut self, slot: usize) {
        self.clock += 1;
        self.used_at[slot] = self.clock;
    }

    /// The slot for a new entry, already touched.
    fn take_slot(&mut self) -> usize {
        let slot = if self.used_at.len() < SLOTS {
            self.used_at.push(0);
            self.used_at.len() - 1
        } else {
            let oldest = self.used_at.iter().enumerate().min_by_key(|(_, used)| **used);
            oldest.map_or(0, |(slot, _)| slot)
        };
        self.touch(slot);
        slot
    }

    fn clear(&mut self) {
        self.used_at.clear();
    }
}

/// Splits the first tag off; `None` at the end or if the length does not fit.
fn split_tag(tags: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = usize::from(u16::from_be_bytes(*tags.first_chunk()?));
    tags[2..].split_at_checked(len)
}

/// True if `tags` is a sequence of whole tags with at least a type each: what the dictionary can code.
pub(crate) fn tags_are_whole(mut tags: &[u8]) -> bool {
    while !tags.is_empty() {
        match split_tag(tags) {
            Some((tag, rest)) if !tag.is_empty() => tags = rest,
            _ => return false,
        }
    }
    true
}

/// Writes the tags of one block's cells.
pub(super) struct TagWriter {
    compress: bool,
    slots: HashMap<Vec<u8>, usize>,
    entries: Vec<Vec<u8>>,
    recency: Recency,
}

impl TagWriter {
    pub(super) fn new(compress: bool) -> Self {
        Self { compress, slots: HashMap::new(), entries: Vec::new(), recency: Recency::default() }
    }

    pub(super) fn start_block(&mut self) {
        self.slots.clear();
        self.entries.clear();
        self.recency.clear();
    }

    /// Appends `tags`, whole tags as [`tags_are_whole`] demands of compressed ones.
    pub(super) fn write(&mut self, tags: &[u8], out: &mut WriteBuffer) {
        if !self.compress {
            out.put(tags);
            return;
        }
        let mut rest = tags;
        while let Some((tag, after)) = split_tag(rest) {
            self.write_tag(tag, out);
            rest = after;
        }
    }

    fn write_tag(&mut self, tag: &[u8], out: &mut WriteBuffer) {
        if let Some(&slot) = self.slots.get(tag) {
            out.put_array((slot as u16).to_be_bytes());
            self.recency.touch(slot);
            return;
        }
        out.push(NEW_ENTRY);
        out.put_leb(tag.len() as u32);
        out.put(tag);
        let slot = self.recency.take_slot();
        if slot == self.entries.len() {
            self.entries.push(tag.to_vec());
        } else {
            let evicted = std::mem::replace(&mut self.entries[slot], tag.to_vec());
            self.slots.remove(&evicted);
        }
        self.slots.insert(tag.to_vec(), slot);
    }
}

/// Reads the coded tags of one block's cells.
#[derive(Default)]
pub(crate) struct TagReader {
    /// Where each slot's tag lies in the payload.
    entries: Vec<std::ops::Range<usize>>,
    recency: Recency,
}

impl TagReader {
    /// Appends `len` bytes of raw tags to `out`; returns where the coded form ends.
    pub(crate) fn read(
        &mut self,
        body: &[u8],
        mut at: usize,
        len: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let end = out.len() + len;
        while out.len() < end {
            let tag = if *body.get(at)? == NEW_ENTRY {
                let (tag_len, leb_len) = crate::varint::read_leb(&body[at + 1..])?;
                let start = at + 1 + leb_len;
                let tag = start..start.checked_add(tag_len as usize)?;
                body.get(tag.clone()).filter(|tag| !tag.is_empty())?;
                at = tag.end;
                let slot = self.recency.take_slot();
                if slot == self.entries.len() {
                    self.entries.push(tag.clone());
                } else {
                    self.entries[slot] = tag.clone();
                }
                tag
            } else {
                let slot = usize::from(u16::from_be_bytes(*body[at..].first_chunk()?));
                let tag = self.entries.get(slot)?.clone();
                self.recency.touch(slot);
                at += 2;
                tag
            };
            let tag_len = u16::try_from(tag.len()).ok()?;
            if out.len() + 2 + tag.len() > end {
                return None;
            }
            out.extend_from_slice(&tag_len.to_be_bytes());
            out.extend_from_slice(&body[tag]);
        }
        Some(at)
    }
}
