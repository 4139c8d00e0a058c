// SPDX-License-Identifier: Apache-2.0
//! Writing a store file. Matches StoreFileWriter and HFileWriterImpl of HBase 2.6, byte for byte.
//!
//! For each cell: Bloom filters, order check, block boundary, encoder, statistics. When a data block closes:
//! the block, its index entry, then whatever leaf index block and Bloom chunks are ready. At the end: the
//! last of all those, intermediate index blocks, data root, meta root, file info, Bloom metadata, trailer.

mod group;
mod rows;
mod stats;

use basalt_model::escape::Escaped;
use basalt_model::{CellRef, CellType, FAMILY_LEN_MAX, ROW_LEN_MAX, Seq};
use bytes::Bytes;

use crate::block::{BlockKind, BlockSink, HEADER_LEN};
use crate::bloom::{BloomKind, BloomWriter, GeneralBloom};
use crate::compression::Compressor;
use crate::encoding::delta::tags_are_whole;
use crate::encoding::raw_cells::raw_cell_len;
use crate::encoding::{BlockEncoder, CellLayout, CellStep, Encoding, encoded_len_max, same_bytes};
use crate::error::{Error, Result};
use crate::file::FileWrite;
use crate::file_info::{FileInfo, keys};
use crate::index::{BlockPointer, IndexWriter, separator};
use crate::key::{FlatKey, KEY_OVERHEAD};
use crate::options::WriterOptions;
use crate::trailer::Trailer;
use crate::write_buffer::WriteBuffer;
pub use group::Background;
use group::GroupWriter;
use stats::CellStats;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSummary {
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Cells.
    pub cells: u64,
    /// Distinct rows.
    pub rows: u64,
    /// First row; empty if there are no cells.
    pub first_row: Bytes,
    /// Last row; empty if there are no cells.
    pub last_row: Bytes,
    /// Smallest timestamp; `i64::MAX` if there are no cells.
    pub timestamp_min: i64,
    /// Largest timestamp; `i64::MIN` if there are no cells.
    pub timestamp_max: i64,
    /// Largest sequence number.
    pub seq_max: u64,
    /// Delete markers of all kinds.
    pub deletes: u64,
    /// Bytes of the cells before encoding and compression.
    pub raw_bytes: u64,
}

/// Writes sorted cells into a file.
///
/// ```
/// use basalt_hfile::{HFileWriter, WriterOptions};
/// use basalt_model::{CellRef, CellType, Seq};
///
/// let mut file = Vec::new();
/// let mut writer = HFileWriter::new(&mut file, WriterOptions::default())?;
/// let put = CellType::Put;
/// writer.append(CellRef { row: b"r1", family: b"f", qualifier: b"q", timestamp: 1, cell_type: put, value: b"v", seq: Seq(1), tags: b"" })?;
/// assert_eq!(writer.finish()?.cells, 1);
/// # Ok::<(), basalt_hfile::Error>(())
/// ```
pub struct HFileWriter<W: FileWrite> {
    options: WriterOptions,
    layout: CellLayout,
    sink: BlockSink<W>,
    encoder: Box<dyn BlockEncoder>,
    /// The rows of the block being filled, in COLUMNAR.
    groups: Option<GroupWriter>,
    /// The block being filled: room for its header, then payload.
    block: WriteBuffer,
    /// Raw bytes of the cells in `block`.
    block_raw_bytes: usize,
    /// Cells in `block`.
    block_cells: usize,
    /// Key of the last cell, and of the last cell of the previous block.
    last_key: LastKey,
    /// Index key of the block being filled.
    block_key: Vec<u8>,
    index: IndexWriter,
    general_bloom: Option<GeneralBloom>,
    delete_bloom: Option<BloomWriter>,
    delete_bloom_row: Vec<u8>,
    info: FileInfo,
    stats: CellStats,
    first_data_block: u64,
    last_data_block: u64,
}

/// The flat key of the last cell, with the lengths of its parts.
#[derive(Default)]
struct LastKey {
    bytes: WriteBuffer,
    row_len: usize,
    family_len: usize,
    timestamp: i64,
    type_code: u8,
}

impl LastKey {
    /// Becomes the key of `cell`; of a cell in the same row only what follows the family is written.
    #[inline]
    fn set(&mut self, cell: &CellRef<'_>, new_row: bool) {
        if new_row {
            self.bytes.truncate(0);
            self.bytes.reserve(KEY_OVERHEAD + cell.row.len() + cell.family.len() + cell.qualifier.len());
            self.bytes.put_array((cell.row.len() as u16).to_be_bytes());
            self.bytes.put(cell.row);
            self.bytes.push(cell.family.len() as u8);
            self.bytes.put(cell.family);
            self.row_len = cell.row.len();
            self.family_len = cell.family.len();
        } else {
            self.bytes.truncate(3 + self.row_len + self.family_len);
            self.bytes.reserve(9 + cell.qualifier.len());
        }
        self.bytes.put(cell.qualifier);
        self.bytes.put_array(cell.timestamp.to_be_bytes());
        self.timestamp = cell.timestamp;
        self.type_code = cell.cell_type.code();
        self.bytes.push(self.type_code);
    }

    /// The flat key.
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    #[inline]
    fn key(&self) -> FlatKey<'_> {
        let family_at = 3 + self.row_len;
        let (qualifier_at, bytes) = (family_at + self.family_len, self.bytes.as_slice());
        FlatKey {
            row: &bytes[2..2 + self.row_len],
            family: &bytes[family_at..qualifier_at],
            qualifier: &bytes[qualifier_at..bytes.len() - 9],
            timestamp: self.timestamp,
            type_code: self.type_code,
        }
    }
}

impl<W: FileWrite> HFileWriter<W> {
    /// Starts a file at the current end of `file`, which must be empty.
    pub fn new(file: W, options: WriterOptions) -> Result<Self> {
        options.validate()?;
        let layout = CellLayout {
            with_tags: options.with_tags,
            tags_compressed: options.with_tags
                && options.tags_compressed
                && options.encoding != Encoding::None,
            with_seq: options.with_seq,
        };
        let compressor = Compressor::new(options.compression, options.compression_level)
            .map_err(|source| Error::Io { file: "being written".into(), offset: 0, source })?;
        let sink = BlockSink::new(file, compressor, options.checksum, options.checksum_chunk_bytes);
        let with_delete_bloom = options.bloom != BloomKind::RowCol;
        let mut writer = Self {
            layout,
            sink,
            encoder: options.encoding.implementation().encoder(layout),
            groups: GroupWriter::try_new(&options)?,
            block: WriteBuffer::with_room(options.block_bytes as usize + options.block_bytes as usize / 4),
            block_raw_bytes: 0,
            block_cells: 0,
            last_key: LastKey::default(),
            block_key: Vec::new(),
            index: IndexWriter::new(options.index_block_bytes as usize, options.index_entries_min as usize),
            general_bloom: GeneralBloom::try_new(options.bloom, options.bloom_hash),
            delete_bloom: with_delete_bloom.then(|| BloomWriter::new(options.bloom_hash, BloomKind::Row)),
            delete_bloom_row: Vec::new(),
            info: FileInfo::default(),
            stats: CellStats::default(),
            first_data_block: u64::MAX,
            last_data_block: u64::MAX,
            options,
        };
        writer.start_block();
        Ok(writer)
    }

    /// Adds an entry to the file info. Where the writer computes an entry itself, its own value wins, but for
    /// `MAX_SEQ_ID_KEY` and `MAJOR_COMPACTION_KEY`.
    pub fn add_file_info(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.info.set(key, value);
    }

    /// Bytes handed to the file so far, plus those of the block being filled.
    pub fn size_so_far(&self) -> u64 {
        let group = self.groups.as_ref().map_or(0, GroupWriter::size_bytes);
        self.sink.offset() + (self.block.len().saturating_sub(HEADER_LEN) + group) as u64
    }

    /// Cells appended so far.
    pub fn cells(&self) -> u64 {
        self.stats.cells
    }

    /// Appends a cell that does not sort before the last one.
    pub fn append(&mut self, cell: CellRef<'_>) -> Result<()> {
        self.check_limits(&cell)?;
        if self.stats.cells == 0 {
            self.add_to_blooms(&cell, true, true);
            if self.groups.is_some() {
                return self.append_to_group(&cell, true, false);
            }
            self.block_key = FlatKey::of(&cell).to_vec();
            self.encode(&cell, None, true);
            return Ok(());
        }
        let last = self.last_key.key();
        if !same_bytes(last.family, cell.family) {
            return Err(two_families(last.family, cell.family));
        }
        let step = CellStep::between(&last, &cell);
        if step.order.is_gt() {
            return Err(order_error(&last, &cell));
        }
        self.add_to_blooms(&cell, step.new_row, step.new_column);
        if self.groups.is_some() {
            return self.append_to_group(&cell, step.new_row, step.order.is_ne());
        }
        if step.order.is_ne() && self.block_is_full() {
            self.finish_block()?;
            self.block_key = separator(&self.last_key.key(), &FlatKey::of(&cell));
            self.encode(&cell, None, step.new_row);
        } else {
            self.encode(&cell, Some(&step), step.new_row);
        }
        Ok(())
    }

    #[inline(always)]
    fn add_to_blooms(&mut self, cell: &CellRef<'_>, new_row: bool, new_column: bool) {
        if let Some(bloom) = &mut self.general_bloom {
            bloom.add(cell, new_row, new_column);
        }
        if matches!(cell.cell_type, CellType::DeleteFamily | CellType::DeleteFamilyVersion) {
            self.add_to_delete_bloom(cell.row);
        }
    }

    /// Adds the cell to the block being filled; `step` is `None` for its first.
    #[inline(always)]
    fn encode(&mut self, cell: &CellRef<'_>, step: Option<&CellStep>, new_row: bool) {
        self.last_key.set(cell, new_row);
        let (raw_len, key) = (raw_cell_len(cell, self.layout), self.last_key.bytes.as_slice());
        self.block.reserve(encoded_len_max(cell, key));
        self.encoder.append(cell, key, step, &mut self.block);
        self.block_raw_bytes += raw_len;
        self.block_cells += 1;
        self.stats.add(cell, key, raw_len, new_row);
    }

    #[inline]
    fn check_limits(&self, cell: &CellRef<'_>) -> Result<()> {
        let fits = (1..=ROW_LEN_MAX).contains(&cell.row.len())
            && (1..=FAMILY_LEN_MAX).contains(&cell.family.len())
            && cell.qualifier.len() <= i32::MAX as usize / 2
            && cell.value.len() <= i32::MAX as usize / 2
            && cell.tags.len() <= i16::MAX as usize
            && cell.seq.0 <= i64::MAX as u64
            && (cell.tags.is_empty() || self.layout.with_tags && tags_are_whole(cell.tags));
        if fits { Ok(()) } else { Err(limit_error(cell)) }
    }

    fn add_to_delete_bloom(&mut self, row: &[u8]) {
        if let Some(bloom) = &mut self.delete_bloom
            && (bloom.key_count() == 0 || self.delete_bloom_row != row)
        {
            bloom.add(row);
            self.delete_bloom_row.clear();
            self.delete_bloom_row.extend_from_slice(row);
        }
    }

    fn start_block(&mut self) {
        self.block.truncate(0);
        self.block.reserve(HEADER_LEN + 2);
        self.block.put_array([0; HEADER_LEN]);
        self.block_raw_bytes = 0;
        self.block_cells = 0;
        if self.options.encoding != Encoding::None {
            self.block.put_array(self.options.encoding.by_cell().id().to_be_bytes());
        }
        self.encoder.begin(&mut self.block);
    }

    #[inline]
    fn block_is_full(&self) -> bool {
        let limit = self.options.block_bytes as usize;
        // No encoding counts more than what is in the buffer and a row offset per cell; the exact count is the
        // encoder's, and rarely asked for.
        let encoded_bound = self.block.len() + 4 * self.block_cells;
        self.block_raw_bytes >= limit
            || encoded_bound >= limit && self.encoder.encoded_bytes(self.block.as_slice()) >= limit
    }

    fn finish_block(&mut self) -> Result<()> {
        self.write_data_block()?;
        self.start_block();
        Ok(())
    }

    fn write_data_block(&mut self) -> Result<()> {
        self.encoder.finish(self.block_raw_bytes, &mut self.block);
        let kind =
            if self.options.encoding == Encoding::None { BlockKind::Data } else { BlockKind::EncodedData };
        let mut block = self.block.take_vec();
        let pointer = self.sink.write_block(kind, &mut block);
        self.block.take_back(block);
        self.add_data_block(pointer?)
    }

    /// A data block was written: its index entry, and what else is ready behind it.
    fn add_data_block(&mut self, pointer: BlockPointer) -> Result<()> {
        self.index.add(pointer, std::mem::take(&mut self.block_key));
        self.last_data_block = pointer.offset;
        self.first_data_block = self.first_data_block.min(pointer.offset);
        self.index.write_ready_leaf(&mut self.sink)?;
        self.write_ready_blooms(false)
    }

    fn write_ready_blooms(&mut self, closing: bool) -> Result<()> {
        if let Some(bloom) = &mut self.general_bloom {
            bloom.writer().write_ready(&mut self.sink, closing)?;
        }
        if let Some(bloom) = &mut self.delete_bloom {
            bloom.write_ready(&mut self.sink, closing)?;
        }
        Ok(())
    }

    /// Writes everything that is left; returns the summary. Making the file durable is the caller's part.
    pub fn finish(self) -> Result<FileSummary> {
        Ok(self.finish_into()?.0)
    }

    /// As [`Self::finish`]; also gives the file back.
    pub fn finish_into(mut self) -> Result<(FileSummary, W)> {
        self.finish_group(false)?;
        self.write_pending(0)?;
        if self.block_cells > 0 {
            self.write_data_block()?;
        }
        self.index.write_last_leaf(&mut self.sink)?;
        self.write_ready_blooms(true)?;
        self.index.write_intermediates(&mut self.sink)?;
        let load_on_open_offset = self.sink.offset();
        let index = self.index.write_root(&mut self.sink)?;
        let mut block = vec![0; HEADER_LEN];
        self.sink.write_block(BlockKind::RootIndex, &mut block)?;
        self.stats.complete(&mut self.info, &self.options, self.layout, self.last_key.bytes());
        if let Some(bloom) = self.general_bloom.as_mut().filter(|bloom| bloom.key_count() > 0) {
            bloom_info(bloom, &mut self.info);
        }
        if let Some(sketches) = self.groups.as_ref().and_then(GroupWriter::sketches) {
            self.info.set(keys::SKETCHES, sketches);
        }
        block.clear();
        block.resize(HEADER_LEN, 0);
        self.info.encode(&mut block);
        let file_info_offset = self.sink.write_block(BlockKind::FileInfo, &mut block)?.offset;
        if let Some(bloom) = self.general_bloom.as_mut().filter(|bloom| bloom.key_count() > 0) {
            let comparator = bloom.comparator();
            bloom.writer().write_meta(&mut self.sink, BlockKind::GeneralBloomMeta, comparator)?;
        }
        if let Some(bloom) = self.delete_bloom.as_mut().filter(|bloom| bloom.key_count() > 0) {
            bloom.write_meta(&mut self.sink, BlockKind::DeleteFamilyBloomMeta, "")?;
        }
        let trailer = Trailer {
            minor_version: 3,
            file_info_offset,
            load_on_open_offset,
            data_index_raw_bytes: index.raw_bytes,
            raw_bytes: self.sink.raw_bytes_total + crate::trailer::TRAILER_LEN as u64,
            data_index_count: index.root_count,
            meta_index_count: 0,
            cell_count: self.stats.cells,
            data_index_levels: index.levels,
            first_data_block_offset: self.first_data_block,
            last_data_block_offset: self.last_data_block,
            order: self.options.order,
            compression: self.options.compression,
            checksummed: self.options.trailer_checksum,
        };
        self.sink.append(&trailer.encode())?;
        let last_row = self.last_key.bytes().get(2..2 + self.last_key.row_len).unwrap_or_default();
        let summary = self.stats.summary(self.sink.offset(), Bytes::copy_from_slice(last_row));
        Ok((summary, self.sink.into_file()?))
    }
}

fn bloom_info(bloom: &GeneralBloom, info: &mut FileInfo) {
    info.set(keys::BLOOM_FILTER_TYPE, bloom.kind().name());
    info.set(keys::LAST_BLOOM_KEY, bloom.last_key());
    if let BloomKind::RowPrefix(len) = bloom.kind() {
        info.set(keys::BLOOM_FILTER_PARAM, len.to_be_bytes());
    }
}

#[cold]
fn order_error(last: &FlatKey<'_>, cell: &CellRef<'_>) -> Error {
    Error::Order { previous: last.to_string(), current: FlatKey::of(cell).to_string() }
}

#[cold]
fn two_families(first: &[u8], second: &[u8]) -> Error {
    let what = format!("a store file holds one family, not {} and {}", Escaped(first), Escaped(second));
    Error::Invalid { what }
}

#[cold]
fn limit_error(cell: &CellRef<'_>) -> Error {
    let row = Escaped(&cell.row[..cell.row.len().min(64)]);
    let what = format!(
        "no store file can hold a cell with a row of {}, a family of {}, a qualifier of {}, a value of {} and tags of \
         {} bytes and sequence number {} (row begins {row})",
        cell.row.len(),
        cell.family.len(),
        cell.qualifier.len(),
        cell.value.len(),
        cell.tags.len(),
        cell.seq.0,
    );
    Error::Invalid { what }
}

impl CellStats {
    fn summary(self, size_bytes: u64, last_row: Bytes) -> FileSummary {
        FileSummary {
            size_bytes,
            cells: self.cells,
            rows: self.rows,
            first_row: self.first_row,
            last_row,
            timestamp_min: self.timestamp_min,
            timestamp_max: self.timestamp_max,
            seq_max: self.seq_max.0,
            deletes: self.deletes,
            raw_bytes: self.raw_bytes,
        }
    }
}

const _: () = assert!(size_of::<Seq>() == 8);

#[cfg(test)]
mod tests;
