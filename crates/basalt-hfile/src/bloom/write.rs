// SPDX-License-Identifier: Apache-2.0
//! Building Bloom filters while a file is written. Sizes, folding and the moment at which a chunk is written
//! are HBase's, so that the same cells make the same bytes.

use basalt_model::CellRef;

use super::{BloomKind, COLUMN_COMPARATOR, HashKind, META_VERSION, each_bit};
use crate::block::{BlockKind, BlockSink, HEADER_LEN};
use crate::error::Result;
use crate::file::FileWrite;
use crate::index::{BlockPointer, write_root_entry};
use crate::key::FlatKey;
use crate::varint::write_vbytes;

/// Chunk size before rounding (`io.storefile.bloom.block.size`).
const CHUNK_BYTES: usize = 131_072;
/// How often a chunk that stayed emptier than planned may be halved (`io.storefile.bloom.max.fold`).
const FOLDS_MAX: u32 = 7;
/// Rate of false positives (`io.storefile.bloom.error.rate`, a Java float).
const ERROR_RATE: f32 = 0.01;

/// A filter under construction.
pub(crate) struct BloomWriter {
    hash: HashKind,
    hash_count: u32,
    chunk_bytes: usize,
    keys_max: u64,
    chunk: Option<Chunk>,
    ready: Vec<Chunk>,
    written: Vec<(BlockPointer, Vec<u8>)>,
    key_count: u64,
    bytes_total: u64,
    capacity_total: u64,
    buffer: Vec<u8>,
}

struct Chunk {
    first_key: Vec<u8>,
    bits: Vec<u8>,
    key_count: u64,
    keys_max: u64,
}

impl BloomWriter {
    pub(crate) fn new(hash: HashKind, kind: BloomKind) -> Self {
        // A column query tests two keys, so each may err half as often.
        let error_rate = match kind {
            BloomKind::RowCol => 1.0 - f64::from(1.0 - ERROR_RATE).sqrt(),
            _ => f64::from(ERROR_RATE),
        } as f32;
        let (chunk_bytes, hash_count, keys_max) = chunk_shape(error_rate);
        Self {
            hash,
            hash_count,
            chunk_bytes,
            keys_max,
            chunk: None,
            ready: Vec::new(),
            written: Vec::new(),
            key_count: 0,
            bytes_total: 0,
            capacity_total: 0,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn key_count(&self) -> u64 {
        self.key_count
    }

    /// Adds a key that differs from the one before.
    pub(crate) fn add(&mut self, key: &[u8]) {
        self.close_full_chunk();
        let chunk = self.chunk.get_or_insert_with(|| Chunk {
            first_key: key.to_vec(),
            bits: vec![0; self.chunk_bytes],
            key_count: 0,
            keys_max: self.keys_max,
        });
        let bits = &mut chunk.bits;
        each_bit(self.hash.pair(key), self.hash_count, (bits.len() * 8) as i32, |bit| {
            bits[bit / 8] |= 1 << (bit % 8);
            true
        });
        chunk.key_count += 1;
        self.key_count += 1;
    }

    fn close_full_chunk(&mut self) {
        if self.chunk.as_ref().is_some_and(|chunk| chunk.key_count >= chunk.keys_max) {
            self.close_chunk();
        }
    }

    fn close_chunk(&mut self) {
        if let Some(mut chunk) = self.chunk.take() {
            chunk.fold();
            self.ready.push(chunk);
        }
    }

    /// At the end of a data block: writes the chunks that are complete; at the end of the file, all.
    pub(crate) fn write_ready<W: FileWrite>(&mut self, sink: &mut BlockSink<W>, closing: bool) -> Result<()> {
        if closing {
            self.close_chunk();
        } else {
            self.close_full_chunk();
        }
        for chunk in std::mem::take(&mut self.ready) {
            self.buffer.clear();
            self.buffer.resize(HEADER_LEN, 0);
            self.buffer.extend_from_slice(&chunk.bits);
            let pointer = sink.write_block(BlockKind::BloomChunk, &mut self.buffer)?;
            self.bytes_total += chunk.bits.len() as u64;
            self.capacity_total += chunk.keys_max;
            self.written.push((pointer, chunk.first_key));
        }
        Ok(())
    }

    /// Writes the metadata block.
    pub(crate) fn write_meta<W: FileWrite>(
        &mut self,
        sink: &mut BlockSink<W>,
        kind: BlockKind,
        comparator: &str,
    ) -> Result<()> {
        let out = &mut self.buffer;
        out.clear();
        out.resize(HEADER_LEN, 0);
        out.extend_from_slice(&META_VERSION.to_be_bytes());
        out.extend_from_slice(&self.bytes_total.to_be_bytes());
        out.extend_from_slice(&self.hash_count.to_be_bytes());
        out.extend_from_slice(&(self.hash as u32).to_be_bytes());
        out.extend_from_slice(&self.key_count.to_be_bytes());
        out.extend_from_slice(&self.capacity_total.to_be_bytes());
        out.extend_from_slice(&(self.written.len() as u32).to_be_bytes());
        write_vbytes(out, comparator.as_bytes());
        for (pointer, first_key) in &self.written {
            write_root_entry(out, *pointer, first_key);
        }
        sink.write_block(kind, out)?;
        Ok(())
    }
}

impl Chunk {
    /// Halves the chunk while half of it would still be enough for its keys.
    fn fold(&mut self) {
        let mut size = self.bits.len();
        while size.is_multiple_of(2) && self.keys_max > 2 * self.key_count {
            size /= 2;
            self.keys_max /= 2;
        }
        let (kept, rest) = self.bits.split_at_mut(size);
        for piece in rest.chunks_exact(size) {
            for (byte, more) in kept.iter_mut().zip(piece) {
                *byte |= more;
            }
        }
        self.bits.truncate(size);
    }
}

/// Bytes, hash count and capacity of a chunk.
fn chunk_shape(error_rate: f32) -> (usize, u32, u64) {
    let error_rate = f64::from(error_rate);
    let chunk_bytes = CHUNK_BYTES.next_multiple_of(1 << FOLDS_MAX);
    let bits = (chunk_bytes * 8) as f64;
    let ln2 = std::f64::consts::LN_2;
    let ideal_keys = (bits * (ln2 * ln2 / -error_rate.ln())) as u64;
    let bits_per_key = (chunk_bytes * 8) as u64 / ideal_keys;
    let hash_count = (ln2 * bits_per_key as f64).ceil();
    let keys_max = (-bits / hash_count * (1.0 - (error_rate.ln() / hash_count).exp()).ln()) as u64;
    (chunk_bytes, hash_count as u32, keys_max)
}

/// The general filter of a file: which keys of which cells go in.
pub(crate) struct GeneralBloom {
    kind: BloomKind,
    writer: BloomWriter,
    last_key: Vec<u8>,
    scratch: Vec<u8>,
}

impl GeneralBloom {
    pub(crate) fn try_new(kind: BloomKind, hash: HashKind) -> Option<Self> {
        let writer = BloomWriter::new(hash, kind);
        (kind != BloomKind::None).then(|| Self { kind, writer, last_key: Vec::new(), scratch: Vec::new() })
    }

    /// Adds what the cell asks for; `new_row` and `new_column` compare it with the cell before.
    #[inline]
    pub(crate) fn add(&mut self, cell: &CellRef<'_>, new_row: bool, new_column: bool) {
        match self.kind {
            BloomKind::None => {}
            BloomKind::Row if new_row => self.add_row(cell.row),
            BloomKind::RowPrefix(len) if new_row => {
                self.add_prefix(&cell.row[..cell.row.len().min(len as usize)])
            }
            BloomKind::RowCol if new_row || new_column => {
                self.scratch.clear();
                FlatKey::first_of_column(cell.row, b"", cell.qualifier).write_to(&mut self.scratch);
                self.writer.add(&self.scratch);
                std::mem::swap(&mut self.scratch, &mut self.last_key);
            }
            BloomKind::Row | BloomKind::RowPrefix(_) | BloomKind::RowCol => {}
        }
    }

    /// Adds a row that differs from the one before, in a filter of rows.
    pub(crate) fn add_row(&mut self, row: &[u8]) {
        self.writer.add(row);
        self.last_key.clear();
        self.last_key.extend_from_slice(row);
    }

    /// Adds a row that differs from the one before, in a filter that looks at rows alone.
    pub(crate) fn add_new_row(&mut self, row: &[u8]) {
        match self.kind {
            BloomKind::Row => self.add_row(row),
            BloomKind::RowPrefix(len) => self.add_prefix(&row[..row.len().min(len as usize)]),
            BloomKind::None | BloomKind::RowCol => debug_assert!(false, "a filter of columns takes cells"),
        }
    }

    fn add_prefix(&mut self, prefix: &[u8]) {
        if self.writer.key_count() == 0 || self.last_key != prefix {
            self.add_row(prefix);
        }
    }

    pub(crate) fn key_count(&self) -> u64 {
        self.writer.key_count
    }

    pub(crate) fn kind(&self) -> BloomKind {
        self.kind
    }

    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    pub(crate) fn writer(&mut self) -> &mut BloomWriter {
        &mut self.writer
    }

    pub(crate) fn comparator(&self) -> &'static str {
        if self.kind == BloomKind::RowCol { COLUMN_COMPARATOR } else { "" }
    }
}
