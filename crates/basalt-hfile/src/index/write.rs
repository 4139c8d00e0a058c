// SPDX-License-Identifier: Apache-2.0
//! Building the data index while blocks are written.
//!
//! 1. Each data block adds an entry to the pending leaf chunk; a chunk that reaches the limit is written as
//!    a leaf block right there, and the root gets an entry for it.
//! 2. At the end: if no leaf was written, the pending chunk is the root (one level); else it is the last leaf.
//! 3. While the root is over the limit, it is cut into intermediate blocks, and a new root points to them.
//!    The cut counts entries from the level's start, not the chunk's: so do HBase's files.
//!
//! With several levels the root block ends with the place of the middle data block, for region splits.

use super::BlockPointer;
use crate::block::{BlockKind, BlockSink, HEADER_LEN};
use crate::error::Result;
use crate::file::FileWrite;
use crate::varint::{vlong_len, write_vbytes};

/// Levels at which splitting stops, as in HBase.
const LEVELS_MAX: u32 = 16;

/// Some entries that become one block.
#[derive(Debug, Default)]
struct Chunk {
    pointers: Vec<BlockPointer>,
    keys: Vec<Vec<u8>>,
    key_bytes: usize,
    root_bytes: usize,
}

impl Chunk {
    fn add(&mut self, pointer: BlockPointer, key: Vec<u8>) {
        self.key_bytes += key.len();
        self.root_bytes += 12 + vlong_len(key.len() as i64) + key.len();
        self.pointers.push(pointer);
        self.keys.push(key);
    }

    fn len(&self) -> usize {
        self.pointers.len()
    }

    fn non_root_bytes(&self) -> usize {
        4 + 4 * (self.len() + 1) + 12 * self.len() + self.key_bytes
    }

    fn write_non_root(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u32).to_be_bytes());
        let mut relative = 0u32;
        for key in &self.keys {
            out.extend_from_slice(&relative.to_be_bytes());
            relative += 12 + key.len() as u32;
        }
        out.extend_from_slice(&relative.to_be_bytes());
        for (pointer, key) in self.pointers.iter().zip(&self.keys) {
            write_pointer(out, *pointer);
            out.extend_from_slice(key);
        }
    }
}

fn write_pointer(out: &mut Vec<u8>, pointer: BlockPointer) {
    out.extend_from_slice(&pointer.offset.to_be_bytes());
    out.extend_from_slice(&pointer.size.to_be_bytes());
}

/// Appends one entry in root form.
pub(crate) fn write_root_entry(out: &mut Vec<u8>, pointer: BlockPointer, key: &[u8]) {
    write_pointer(out, pointer);
    write_vbytes(out, key);
}

/// The data index of a file being written.
pub(crate) struct IndexWriter {
    block_bytes_max: usize,
    /// Entries below which a level is not split.
    entries_min: usize,
    pending: Chunk,
    root: Chunk,
    /// Data blocks up to and including each leaf, for the middle block.
    blocks_through_leaf: Vec<usize>,
    blocks: usize,
    levels: u32,
    middle: Option<(BlockPointer, u32)>,
    /// Raw bytes of leaf, intermediate and root blocks, for the trailer.
    raw_bytes: u64,
    buffer: Vec<u8>,
}

/// What the trailer says about the data index.
pub(crate) struct IndexSummary {
    pub(crate) root_count: u32,
    pub(crate) levels: u32,
    pub(crate) raw_bytes: u64,
}

impl IndexWriter {
    pub(crate) fn new(block_bytes_max: usize, entries_min: usize) -> Self {
        Self {
            block_bytes_max,
            entries_min,
            pending: Chunk::default(),
            root: Chunk::default(),
            blocks_through_leaf: Vec::new(),
            blocks: 0,
            levels: 1,
            middle: None,
            raw_bytes: 0,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, pointer: BlockPointer, key: Vec<u8>) {
        self.pending.add(pointer, key);
        self.blocks += 1;
    }

    /// After a data block: writes a leaf if the pending chunk has reached the limit.
    pub(crate) fn write_ready_leaf<W: FileWrite>(&mut self, sink: &mut BlockSink<W>) -> Result<()> {
        if self.pending.non_root_bytes() >= self.block_bytes_max { self.write_leaf(sink) } else { Ok(()) }
    }

    /// After the last data block: the rest becomes a leaf, unless it is all there is.
    pub(crate) fn write_last_leaf<W: FileWrite>(&mut self, sink: &mut BlockSink<W>) -> Result<()> {
        if self.root.len() == 0 {
            self.root = std::mem::take(&mut self.pending);
            return Ok(());
        }
        if self.pending.len() > 0 { self.write_leaf(sink) } else { Ok(()) }
    }

    fn write_leaf<W: FileWrite>(&mut self, sink: &mut BlockSink<W>) -> Result<()> {
        let leaf = std::mem::take(&mut self.pending);
        let (pointer, first_key) = self.write_non_root(sink, BlockKind::LeafIndex, leaf)?;
        self.root.add(pointer, first_key);
        self.blocks_through_leaf.push(self.blocks);
        Ok(())
    }

    fn write_non_root<W: FileWrite>(
        &mut self,
        sink: &mut BlockSink<W>,
        kind: BlockKind,
        mut chunk: Chunk,
    ) -> Result<(BlockPointer, Vec<u8>)> {
        self.start_buffer();
        chunk.write_non_root(&mut self.buffer);
        self.raw_bytes += (self.buffer.len() - HEADER_LEN) as u64;
        let pointer = sink.write_block(kind, &mut self.buffer)?;
        Ok((pointer, chunk.keys.swap_remove(0)))
    }

    fn start_buffer(&mut self) {
        self.buffer.clear();
        self.buffer.resize(HEADER_LEN, 0);
    }

    /// Writes intermediate levels. After this the index waits for [`Self::write_root`].
    pub(crate) fn write_intermediates<W: FileWrite>(&mut self, sink: &mut BlockSink<W>) -> Result<()> {
        if !self.blocks_through_leaf.is_empty() {
            self.levels = 2;
            self.middle = Some(self.middle_block());
        }
        while self.root.root_bytes > self.block_bytes_max
            && self.root.len() > self.entries_min
            && self.levels < LEVELS_MAX
        {
            let level = std::mem::take(&mut self.root);
            self.root = self.write_level(sink, level)?;
            self.levels += 1;
        }
        Ok(())
    }

    fn write_level<W: FileWrite>(&mut self, sink: &mut BlockSink<W>, level: Chunk) -> Result<Chunk> {
        let raw_before = sink.raw_bytes_total;
        let mut parent = Chunk::default();
        let mut chunk = Chunk::default();
        for (index, (pointer, key)) in level.pointers.into_iter().zip(level.keys).enumerate() {
            chunk.add(pointer, key);
            if index >= self.entries_min && chunk.root_bytes >= self.block_bytes_max {
                let full = std::mem::take(&mut chunk);
                let (pointer, key) = self.write_non_root(sink, BlockKind::IntermediateIndex, full)?;
                parent.add(pointer, key);
            }
        }
        if chunk.len() > 0 {
            let (pointer, key) = self.write_non_root(sink, BlockKind::IntermediateIndex, chunk)?;
            parent.add(pointer, key);
        }
        // The trailer's total leaves intermediate blocks out.
        sink.raw_bytes_total = raw_before;
        Ok(parent)
    }

    /// The leaf that holds data block (N - 1) / 2, and the entry's position in it.
    fn middle_block(&self) -> (BlockPointer, u32) {
        let middle = (self.blocks - 1) / 2;
        let leaf = self.blocks_through_leaf.partition_point(|&through| through <= middle);
        let before = if leaf == 0 { 0 } else { self.blocks_through_leaf[leaf - 1] };
        (self.root.pointers[leaf], (middle - before) as u32)
    }

    /// Writes the root block.
    pub(crate) fn write_root<W: FileWrite>(mut self, sink: &mut BlockSink<W>) -> Result<IndexSummary> {
        let raw_before = sink.raw_bytes_total;
        self.start_buffer();
        for (pointer, key) in self.root.pointers.iter().zip(&self.root.keys) {
            write_root_entry(&mut self.buffer, *pointer, key);
        }
        if let Some((leaf, entry)) = self.middle {
            write_pointer(&mut self.buffer, leaf);
            self.buffer.extend_from_slice(&entry.to_be_bytes());
        }
        self.raw_bytes += (self.buffer.len() - HEADER_LEN) as u64;
        sink.write_block(BlockKind::RootIndex, &mut self.buffer)?;
        // The trailer's total leaves the data root out.
        sink.raw_bytes_total = raw_before;
        Ok(IndexSummary {
            root_count: self.root.len() as u32,
            levels: self.levels,
            raw_bytes: self.raw_bytes,
        })
    }
}
