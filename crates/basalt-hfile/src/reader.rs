// SPDX-License-Identifier: Apache-2.0
//! Reading a store file: trailer and load-on-open section when it is opened, index blocks and Bloom chunks on
//! first use, data blocks on demand. Every block is verified on every read before anything in it is believed.

mod load;
mod verify;

use std::sync::{Arc, OnceLock};

use basalt_model::{CellRef, Seq};
use bytes::Bytes;

use crate::block::{BlockHeader, BlockKind, RawBlock, read_block};
use crate::bloom::{BloomFacts, BloomKind, BloomReader};
use crate::cells::CellBlock;
use crate::columnar::{ColumnarBlock, FIRST_READ, Seal, Sketches};
use crate::encoded_block::{Content, EncodedBlock};
use crate::encoding::{CellLayout, DecodeContext, Encoding};
use crate::error::{Damage, Error, Result, corrupt};
use crate::file::FileRead;
use crate::file_info::{FileInfo, keys};
use crate::index::{BlockPointer, FlatIndex};
use crate::key::{FlatKey, row_of};
use crate::options::ReadOptions;
use crate::rows::RowBlock;
use crate::trailer::{KeyOrder, Trailer};

pub use verify::VerifyFinding;

/// Where a data block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockExtent {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes on disk: header, payload and checksums.
    pub size_bytes: u32,
}

/// An open store file. Shared between threads behind an `Arc`.
#[derive(Debug)]
pub struct HFileReader {
    file: Arc<dyn FileRead>,
    options: ReadOptions,
    trailer: Trailer,
    info: FileInfo,
    encoding: Encoding,
    layout: CellLayout,
    cell_bytes_estimate: usize,
    /// Payload of the data root index.
    root: RawBlockPayload,
    index: OnceLock<FlatIndex>,
    last_key: Option<Bytes>,
    bloom_kind: BloomKind,
    general_bloom: Option<BloomReader>,
    delete_bloom: Option<BloomReader>,
}

/// A decompressed payload and where its block lies, for messages.
#[derive(Debug, Clone)]
pub(crate) struct RawBlockPayload {
    pub(crate) offset: u64,
    pub(crate) payload: Bytes,
}

impl HFileReader {
    /// Opens a file: reads the trailer and the load-on-open section.
    pub fn open(file: Arc<dyn FileRead>, options: ReadOptions) -> Result<Self> {
        load::open(file, options)
    }

    /// Name of the file, for messages.
    pub fn name(&self) -> &str {
        self.file.name()
    }

    /// Size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.file.size()
    }

    /// The trailer.
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// The file info.
    pub fn file_info(&self) -> &FileInfo {
        &self.info
    }

    /// How many different values its columns have, about; empty if the file does not say.
    pub fn sketches(&self) -> Result<Sketches> {
        let Some(entry) = self.info.get(keys::SKETCHES) else { return Ok(Sketches::default()) };
        let what = |damage: Damage| format!("the sketches in the file info: {}", damage.what);
        Sketches::decode(entry)
            .map_err(|damage| corrupt(self.name(), self.trailer.file_info_offset, what(damage)))
    }

    /// The data block encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Number of cells, as the trailer counts them.
    pub fn cells(&self) -> u64 {
        self.trailer.cell_count
    }

    /// True if cells carry tags.
    pub fn has_tags(&self) -> bool {
        self.layout.with_tags
    }

    /// True if the delta encodings of this file dictionary-code their tags.
    pub fn has_compressed_tags(&self) -> bool {
        self.layout.tags_compressed
    }

    /// True if cells carry sequence numbers.
    pub fn has_seq(&self) -> bool {
        self.layout.with_seq
    }

    /// The last key; `None` if the file has no cells.
    pub fn last_key(&self) -> Option<FlatKey<'_>> {
        FlatKey::parse(self.last_key.as_ref()?)
    }

    /// The last row; `None` if the file has no cells.
    pub fn last_row(&self) -> Option<&[u8]> {
        self.last_key.as_deref().map(row_of)
    }

    /// What the general Bloom filter answers for.
    pub fn bloom_kind(&self) -> BloomKind {
        self.bloom_kind
    }

    /// Metadata of the general Bloom filter.
    pub fn general_bloom(&self) -> Option<&BloomFacts> {
        self.general_bloom.as_ref().map(BloomReader::facts)
    }

    /// Metadata of the delete-family Bloom filter.
    pub fn delete_family_bloom(&self) -> Option<&BloomFacts> {
        self.delete_bloom.as_ref().map(BloomReader::facts)
    }

    /// Number of data blocks.
    pub fn block_count(&self) -> Result<usize> {
        Ok(self.index()?.len())
    }

    /// Index key of data block `index`, a flat key: not above the first key of the block, above every key
    /// of the block before.
    pub fn block_first_key(&self, index: usize) -> Result<&Bytes> {
        Ok(self.index()?.key(index))
    }

    /// Row of [`Self::block_first_key`].
    pub fn block_first_row(&self, index: usize) -> Result<&[u8]> {
        Ok(row_of(self.block_first_key(index)?))
    }

    /// Where data block `index` lies.
    pub fn block_extent(&self, index: usize) -> Result<BlockExtent> {
        let pointer = self.index()?.pointer(index);
        Ok(BlockExtent { offset: pointer.offset, size_bytes: pointer.size })
    }

    /// The first data block that can hold a cell with a row not below `row`; `None` if there is none.
    pub fn find_block(&self, row: &[u8]) -> Result<Option<usize>> {
        self.check_searchable()?;
        if self.last_row().is_none_or(|last| last < row) {
            return Ok(None);
        }
        Ok(Some(self.index()?.last_not_after_row(row).unwrap_or(0)))
    }

    /// The data block in which `key` would lie; `None` if it is below every key of the file.
    pub fn find_block_of_key(&self, key: &FlatKey<'_>) -> Result<Option<usize>> {
        self.check_searchable()?;
        Ok(self.index()?.last_not_after(key))
    }

    fn check_searchable(&self) -> Result<()> {
        match self.trailer.order {
            KeyOrder::Cells => Ok(()),
            KeyOrder::Meta => Err(Error::Unsupported {
                file: self.name().to_owned(),
                what: "the key order of hbase:meta".into(),
            }),
        }
    }

    /// Reads, verifies, decompresses and decodes data block `index`.
    pub fn read_block(&self, index: usize) -> Result<CellBlock> {
        self.decode_block(&self.read_encoded_block(index)?, index)
    }

    /// Decodes data block `index`, which was read before.
    pub fn decode_block(&self, block: &EncodedBlock, index: usize) -> Result<CellBlock> {
        let block = block.decode()?;
        let last = block.len().checked_sub(1);
        self.check_keys(index, last.map(|last| (block.cell(0), block.cell(last))))?;
        Ok(block)
    }

    /// As [`Self::read_block`], to runs of rows: for readers of whole blocks, who can work by column or cell after cell.
    pub fn read_rows(&self, index: usize) -> Result<RowBlock> {
        let block = self.read_encoded_block(index)?.decode_rows()?;
        self.check_keys(index, block.ends())?;
        Ok(block)
    }

    /// Reads, verifies and decompresses data block `index`, and leaves it encoded.
    pub fn read_encoded_block(&self, index: usize) -> Result<EncodedBlock> {
        self.read_encoded_block_from(&self.file, index)
    }

    /// As [`Self::read_encoded_block`], of bytes that are read through `file`: another way to the same file.
    pub fn read_encoded_block_from(&self, file: &Arc<dyn FileRead>, index: usize) -> Result<EncodedBlock> {
        let pointer = self.index()?.pointer(index);
        let block = read_block(&**file, pointer.offset, pointer.size)?;
        if !block.header.kind.is_data() {
            return Err(self.wrong_kind(pointer.offset, block.header.kind, "data block"));
        }
        let previous = index.checked_sub(1).map(|before| self.index().map(|index| index.pointer(before)));
        self.check_place(&block, previous.transpose()?)?;
        let (offset, context) = (pointer.offset, self.decode_context());
        let content = if block.header.kind == BlockKind::ColumnarData {
            let (size, all) = (pointer.size as usize, block.bytes.clone());
            let open = ColumnarBlock::open(file.clone(), offset, size, all, self.seal(), &context)?;
            Content::Columns(Arc::new(open))
        } else {
            let parts = self.payload(&block).and_then(|payload| split_encoding(&block.header, &payload));
            let (encoding, body) = parts.map_err(|damage| damage.in_block(self.name(), pointer.offset))?;
            Content::Cells { encoding, body, context, marks: Arc::default() }
        };
        Ok(EncodedBlock { file: file.clone(), offset, content })
    }

    /// Data block `index`: of a row group its head alone, of which columns can then be read; all of any other block.
    pub fn open_block(&self, index: usize) -> Result<EncodedBlock> {
        self.open_block_from(&self.file, index)
    }

    /// As [`Self::open_block`], of bytes that are read through `file`: another way to the same file.
    pub fn open_block_from(&self, file: &Arc<dyn FileRead>, index: usize) -> Result<EncodedBlock> {
        let pointer = self.index()?.pointer(index);
        let first = (pointer.size as usize).min(FIRST_READ);
        if self.encoding != Encoding::Columnar || first == pointer.size as usize {
            return self.read_encoded_block_from(file, index);
        }
        let BlockPointer { offset, size } = pointer;
        let front = file.read_at(offset, first).map_err(|source| Error::Io {
            file: self.name().to_owned(),
            offset,
            source,
        })?;
        let header =
            front.first_chunk().map_or_else(|| Err("it has no header".to_owned()), BlockHeader::parse);
        let header = header.map_err(|what| corrupt(self.name(), offset, what))?;
        if header.kind != BlockKind::ColumnarData {
            return self.read_encoded_block_from(file, index);
        }
        if header.total_bytes != size {
            let what = format!("the index gives the block {size} bytes, its header {}", header.total_bytes);
            return Err(corrupt(self.name(), offset, what));
        }
        let (file, context) = (file.clone(), self.decode_context());
        let open = ColumnarBlock::open(file.clone(), offset, size as usize, front, self.seal(), &context)?;
        Ok(EncodedBlock { file, offset, content: Content::Columns(Arc::new(open)) })
    }

    /// What the checksums of row groups are bound to.
    fn seal(&self) -> Seal {
        let number = |key| self.info.i64(key).unwrap_or(0);
        Seal::of_file(number(keys::FILE_NUMBER) as u64, number(keys::CREATE_TIME_TS))
    }

    /// A checksum does not bind a block to its place, its previous offset does: no two blocks of a chain have
    /// the same one.
    fn check_place(&self, block: &RawBlock, previous: Option<BlockPointer>) -> Result<()> {
        let expected = previous.map_or(-1, |previous| previous.offset as i64);
        let found = block.header.previous_offset;
        if found == expected {
            return Ok(());
        }
        let what = format!("another block lies here: the one before is at {expected}, not at {found}");
        Err(corrupt(self.name(), block.offset, what))
    }

    /// The first and the last key of a block must lie between the index keys of it and of the next: what a block of another file
    /// at the same place rarely passes.
    fn check_keys(&self, index: usize, ends: Option<(CellRef<'_>, CellRef<'_>)>) -> Result<()> {
        let ends = ends.filter(|_| self.trailer.order == KeyOrder::Cells);
        let Some((first, last)) = ends else { return Ok(()) };
        let keys = self.index()?;
        let key_of = |index: usize| if index < keys.len() { FlatKey::parse(keys.key(index)) } else { None };
        let below = key_of(index).is_some_and(|key| key.compare(&FlatKey::of(&first)).is_gt());
        let above = key_of(index + 1).is_some_and(|key| key.compare(&FlatKey::of(&last)).is_lt());
        if below || above {
            let what = "the cells of the block lie outside the index keys around it";
            return Err(corrupt(self.name(), keys.pointer(index).offset, what));
        }
        Ok(())
    }

    fn wrong_kind(&self, offset: u64, found: BlockKind, expected: &str) -> Error {
        corrupt(self.name(), offset, format!("expected a {expected}, found {found:?}"))
    }

    fn decode_context(&self) -> DecodeContext {
        DecodeContext {
            layout: self.layout,
            seq_override: self.options.seq_override,
            cell_bytes_estimate: self.cell_bytes_estimate,
            block_raw_bytes_max: self.options.block_raw_bytes_max as usize,
        }
    }

    pub(crate) fn payload(&self, block: &RawBlock) -> Result<Bytes, Damage> {
        block.payload(self.trailer.compression, self.options.block_raw_bytes_max as usize)
    }

    /// False if no cell of `row` can be in the file, by the Bloom filter; true if there is none that knows.
    pub fn may_contain_row(&self, row: &[u8]) -> Result<bool> {
        let Some(bloom) = &self.general_bloom else { return Ok(true) };
        if self.trailer.order == KeyOrder::Meta {
            return Ok(true);
        }
        let key = match self.bloom_kind {
            BloomKind::Row => row,
            BloomKind::RowPrefix(len) => &row[..row.len().min(len as usize)],
            BloomKind::None | BloomKind::RowCol => return Ok(true),
        };
        // As in HBase: nothing above the last key was added, whatever the bits say.
        let behind = self.info.get(keys::LAST_BLOOM_KEY).is_some_and(|last| key > last);
        Ok(!behind && self.ask(bloom, key)?)
    }

    /// False if no cell of this column can be in the file. Answers for family deletes as well: a marker of
    /// the row makes the answer true.
    pub fn may_contain_column(&self, row: &[u8], qualifier: &[u8]) -> Result<bool> {
        let Some(bloom) = self.general_bloom.as_ref().filter(|_| self.bloom_kind == BloomKind::RowCol) else {
            return self.may_contain_row(row);
        };
        let marker = FlatKey::first_of_column(row, b"", b"");
        let last = self.info.get(keys::LAST_BLOOM_KEY).and_then(FlatKey::parse);
        if last.is_some_and(|last| marker.compare(&last).is_gt()) {
            return Ok(false);
        }
        Ok(self.may_contain_exact_column(row, qualifier)? || self.ask(bloom, &marker.to_vec())?)
    }

    /// False if no cell of any of these columns can be in the file, family deletes included.
    pub fn may_contain_any<'a>(
        &self,
        row: &[u8],
        qualifiers: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<bool> {
        if self.bloom_kind != BloomKind::RowCol {
            return self.may_contain_row(row);
        }
        for qualifier in qualifiers {
            if self.may_contain_column(row, qualifier)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// False if no cell of this column, markers included, can be in the file.
    pub(crate) fn may_contain_exact_column(&self, row: &[u8], qualifier: &[u8]) -> Result<bool> {
        let Some(bloom) = self.general_bloom.as_ref().filter(|_| self.bloom_kind == BloomKind::RowCol) else {
            return self.may_contain_row(row);
        };
        self.ask(bloom, &FlatKey::first_of_column(row, b"", qualifier).to_vec())
    }

    /// False if the file certainly has no family delete marker of `row`.
    pub fn may_contain_family_delete(&self, row: &[u8]) -> Result<bool> {
        match &self.delete_bloom {
            Some(bloom) => self.ask(bloom, row),
            None => Ok(self.info.i64(keys::DELETE_FAMILY_COUNT) != Some(0)),
        }
    }

    fn ask(&self, bloom: &BloomReader, key: &[u8]) -> Result<bool> {
        bloom.may_contain(key, |pointer| self.read_bloom_chunk(pointer))
    }

    pub(crate) fn read_bloom_chunk(&self, pointer: BlockPointer) -> Result<Bytes> {
        let block = read_block(&*self.file, pointer.offset, pointer.size)?;
        if block.header.kind != BlockKind::BloomChunk {
            return Err(self.wrong_kind(pointer.offset, block.header.kind, "bloom chunk"));
        }
        self.check_place(&block, self.bloom_chunk_before(pointer))?;
        let chunk = self.payload(&block).map_err(|damage| damage.in_block(self.name(), pointer.offset))?;
        if chunk.is_empty() || chunk.len() > i32::MAX as usize / 8 {
            return Err(corrupt(
                self.name(),
                pointer.offset,
                format!("a bloom chunk of {} bytes", chunk.len()),
            ));
        }
        Ok(chunk)
    }

    /// The chunk that lies before this one; both filters share one chain.
    fn bloom_chunk_before(&self, pointer: BlockPointer) -> Option<BlockPointer> {
        let blooms = [&self.general_bloom, &self.delete_bloom].into_iter().flatten();
        let chunks = blooms.filter_map(|bloom| bloom.chunk_before(pointer.offset));
        chunks.max_by_key(|chunk| chunk.offset)
    }

    /// The sequence number that [`ReadOptions::seq_override`] gives every cell.
    pub fn seq_override(&self) -> Option<Seq> {
        self.options.seq_override
    }

    /// Memory held by index and Bloom filters, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let index = self.index.get().map_or(0, FlatIndex::memory_bytes);
        let blooms = [&self.general_bloom, &self.delete_bloom].into_iter().flatten();
        index + self.root.payload.len() + blooms.map(BloomReader::loaded_bytes).sum::<usize>()
    }
}

/// The encoding of a data block's payload, and what follows its number.
fn split_encoding(header: &BlockHeader, payload: &Bytes) -> Result<(Encoding, Bytes), Damage> {
    if header.kind == BlockKind::Data {
        return Ok((Encoding::None, payload.clone()));
    }
    let id = payload.first_chunk().ok_or_else(|| Damage::new(0, "an encoded block without its encoding"))?;
    let id = u16::from_be_bytes(*id);
    let known = Encoding::ALL.into_iter().find(|encoding| *encoding != Encoding::None && encoding.id() == id);
    let encoding = known.ok_or_else(|| Damage::new(0, format!("unknown data block encoding {id}")))?;
    Ok((encoding, payload.slice(2..)))
}

#[cfg(test)]
pub(crate) mod tests_support {
    //! What tests of encodings need of a file.

    use super::*;

    /// Encoding, payload and context of each data block, none of which is a row group.
    pub(crate) fn data_payloads(reader: &HFileReader) -> Vec<(Encoding, Bytes, DecodeContext)> {
        let payload_of = |index| match reader.read_encoded_block(index).unwrap().content {
            Content::Cells { encoding, body, context, .. } => (encoding, body, context),
            Content::Columns(_) => unreachable!("HBase wrote no row groups"),
        };
        (0..reader.block_count().unwrap()).map(payload_of).collect()
    }
}
