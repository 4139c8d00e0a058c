// SPDX-License-Identifier: Apache-2.0
//! Opening a file, and loading its index.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::{HFileReader, RawBlockPayload};
use crate::block::{BlockKind, RawBlock, block_in, read_block};
use crate::bloom::{BloomKind, BloomReader};
use crate::encoding::{CellLayout, Encoding};
use crate::error::{Damage, Error, Result, corrupt};
use crate::file::FileRead;
use crate::file_info::{FileInfo, keys};
use crate::index::{BlockPointer, FlatIndex, read_non_root_entries, read_root_entries};
use crate::key::FlatKey;
use crate::options::ReadOptions;
use crate::trailer::{KeyOrder, TRAILER_LEN, Trailer, TrailerError};

pub(super) fn open(file: Arc<dyn FileRead>, options: ReadOptions) -> Result<HFileReader> {
    let (trailer, trailer_offset) = read_trailer(&*file)?;
    let name = file.name().to_owned();
    let start = trailer.load_on_open_offset;
    let section = read_section(&*file, start, trailer_offset)?;
    let compression = trailer.compression;
    let payload_of = |block: &RawBlock| {
        let payload = block.payload(compression, options.block_raw_bytes_max as usize);
        payload.map_err(|damage| damage.in_block(&name, block.offset))
    };
    let mut blocks = section.iter();
    let mut next = |kind: BlockKind| {
        let block = blocks.next().filter(|block| block.header.kind == kind);
        block.ok_or_else(|| {
            corrupt(&name, start, format!("no {kind:?} where the load-on-open section must have one"))
        })
    };
    let root = next(BlockKind::RootIndex)?;
    let root = RawBlockPayload { offset: root.offset, payload: payload_of(root)? };
    let meta_root = next(BlockKind::RootIndex)?;
    check_meta_root(&payload_of(meta_root)?, trailer.meta_index_count)
        .map_err(|damage| damage.in_block(&name, meta_root.offset))?;
    let info_block = next(BlockKind::FileInfo)?;
    if info_block.offset != trailer.file_info_offset {
        return Err(corrupt(&name, info_block.offset, "the trailer points elsewhere for the file info"));
    }
    let info = FileInfo::decode(&payload_of(info_block)?)
        .map_err(|damage| damage.in_block(&name, info_block.offset))?;
    let facts = facts_of(&info).map_err(|problem| problem.into_error(&name, info_block.offset))?;
    let (mut general_bloom, mut delete_bloom) = (None, None);
    for block in blocks {
        let (slot, kind) = match block.header.kind {
            BlockKind::GeneralBloomMeta if general_bloom.is_none() && delete_bloom.is_none() => {
                (&mut general_bloom, facts.bloom_kind)
            }
            BlockKind::DeleteFamilyBloomMeta if delete_bloom.is_none() => (&mut delete_bloom, BloomKind::Row),
            kind => {
                return Err(corrupt(
                    &name,
                    block.offset,
                    format!("an unexpected {kind:?} in the load-on-open section"),
                ));
            }
        };
        let bloom = BloomReader::parse(&payload_of(block)?, kind);
        *slot = Some(bloom.map_err(|damage| damage.in_block(&name, block.offset))?);
    }
    let agreed = check_agreement(&facts, general_bloom.is_some(), trailer.cell_count);
    agreed.map_err(|what| corrupt(&name, info_block.offset, what))?;
    let cell_bytes_estimate = facts.cell_bytes_estimate;
    let (encoding, layout, bloom_kind, last_key) =
        (facts.encoding, facts.layout, facts.bloom_kind, facts.last_key);
    let index = OnceLock::new();
    Ok(HFileReader {
        file,
        options,
        trailer,
        info,
        encoding,
        layout,
        cell_bytes_estimate,
        root,
        index,
        last_key,
        bloom_kind,
        general_bloom,
        delete_bloom,
    })
}

/// The file info, the bloom blocks and the trailer say the same of the file.
fn check_agreement(facts: &Facts, has_general_bloom: bool, cell_count: u64) -> Result<(), String> {
    if has_general_bloom != (facts.bloom_kind != BloomKind::None) {
        return Err("the file info and the bloom blocks disagree".to_owned());
    }
    if (cell_count == 0) != facts.last_key.is_none() {
        return Err(format!("{cell_count} cells, but no fitting last key"));
    }
    Ok(())
}

/// The meta index is not used, but what the trailer says of it must be true.
fn check_meta_root(payload: &Bytes, count: u32) -> Result<(), Damage> {
    let taken = read_root_entries(payload, count as usize, |_, _| Ok(()))?;
    if taken == payload.len() {
        return Ok(());
    }
    Err(Damage::new(taken, format!("bytes after the {count} entries of the meta index")))
}

/// The trailer and its offset; what it points to lies in the file and in order.
fn read_trailer(file: &dyn FileRead) -> Result<(Trailer, u64)> {
    let name = file.name();
    let Some(offset) = file.size().checked_sub(TRAILER_LEN as u64) else {
        return Err(corrupt(name, 0, format!("{} bytes are too few for a store file", file.size())));
    };
    let bytes = file.read_at(offset, TRAILER_LEN).map_err(|source| Error::Io {
        file: name.to_owned(),
        offset,
        source,
    })?;
    let trailer = Trailer::decode(&bytes).map_err(|error| match error {
        TrailerError::Damage(what) => corrupt(name, offset, what),
        TrailerError::Unsupported(what) => Error::Unsupported { file: name.to_owned(), what },
    })?;
    let (start, info) = (trailer.load_on_open_offset, trailer.file_info_offset);
    if start > offset || info < start || info >= offset {
        let what = format!("the trailer points to {start} and {info}, outside the file");
        return Err(corrupt(name, offset, what));
    }
    Ok((trailer, offset))
}

/// The verified blocks from `start` to the trailer.
fn read_section(file: &dyn FileRead, start: u64, end: u64) -> Result<Vec<RawBlock>> {
    let too_large = |_| corrupt(file.name(), start, "the load-on-open section does not fit into memory");
    let len = usize::try_from(end - start).map_err(too_large)?;
    let bytes = file.read_at(start, len).map_err(|source| Error::Io {
        file: file.name().to_owned(),
        offset: start,
        source,
    })?;
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let offset = start + at as u64;
        let block =
            block_in(&bytes.slice(at..), offset).map_err(|what| corrupt(file.name(), offset, what))?;
        at += block.header.total_bytes as usize;
        blocks.push(block);
    }
    Ok(blocks)
}

/// What the file info says about the cells.
struct Facts {
    encoding: Encoding,
    layout: CellLayout,
    bloom_kind: BloomKind,
    last_key: Option<Bytes>,
    cell_bytes_estimate: usize,
}

enum FactsProblem {
    Damage(&'static str),
    Unsupported(String),
}

impl FactsProblem {
    fn into_error(self, file: &str, offset: u64) -> Error {
        match self {
            Self::Damage(what) => corrupt(file, offset, what),
            Self::Unsupported(what) => Error::Unsupported { file: file.to_owned(), what },
        }
    }
}

fn facts_of(info: &FileInfo) -> Result<Facts, FactsProblem> {
    let named = |key| info.get(key).map(|name| String::from_utf8_lossy(name).into_owned());
    if let Some(name) = named(keys::INDEX_BLOCK_ENCODING).filter(|name| name != "NONE") {
        return Err(FactsProblem::Unsupported(format!("index block encoding {name}")));
    }
    let encoding = match named(keys::DATA_BLOCK_ENCODING) {
        None => Encoding::None,
        Some(name) => Encoding::from_name(&name)
            .ok_or_else(|| FactsProblem::Unsupported(format!("data block encoding {name}")))?,
    };
    let last_key = info.get(keys::LASTKEY).map(Bytes::copy_from_slice);
    if last_key.as_ref().is_some_and(|key| FlatKey::parse(key).is_none()) {
        return Err(FactsProblem::Damage("the last key is no key"));
    }
    let average = |key| usize::try_from(info.i32(key).unwrap_or(0)).unwrap_or(0);
    Ok(Facts {
        encoding,
        layout: CellLayout {
            with_tags: info.get(keys::MAX_TAGS_LEN).is_some(),
            tags_compressed: info.flag(keys::TAGS_COMPRESSED),
            with_seq: info.i32(keys::KEY_VALUE_VERSION) == Some(1),
        },
        bloom_kind: bloom_kind_of(info)?,
        last_key,
        cell_bytes_estimate: 8 + average(keys::AVG_KEY_LEN) + average(keys::AVG_VALUE_LEN),
    })
}

fn bloom_kind_of(info: &FileInfo) -> Result<BloomKind, FactsProblem> {
    let Some(name) = info.get(keys::BLOOM_FILTER_TYPE) else { return Ok(BloomKind::None) };
    let name = String::from_utf8_lossy(name);
    if name != BloomKind::RowPrefix(0).name() {
        return BloomKind::from_name(&name)
            .ok_or_else(|| FactsProblem::Unsupported(format!("bloom filter {name}")));
    }
    let len = info.i32(keys::BLOOM_FILTER_PARAM).and_then(|len| u32::try_from(len).ok());
    len.map(BloomKind::RowPrefix)
        .ok_or(FactsProblem::Damage("a prefix bloom filter without its prefix length"))
}

impl HFileReader {
    /// The index, all levels flattened; loaded on first use.
    pub(crate) fn index(&self) -> Result<&FlatIndex> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = self.load_index()?;
        Ok(self.index.get_or_init(|| index))
    }

    fn load_index(&self) -> Result<FlatIndex> {
        let levels = self.trailer.data_index_levels;
        let mut level = self.root_entries(levels)?;
        for depth in 1..levels {
            let kind = if depth + 1 == levels { BlockKind::LeafIndex } else { BlockKind::IntermediateIndex };
            level = self.next_level(&level, kind)?;
        }
        Ok(level)
    }

    fn root_entries(&self, levels: u32) -> Result<FlatIndex> {
        let mut entries = FlatIndex::default();
        let count = self.trailer.data_index_count as usize;
        let taken = read_root_entries(&self.root.payload, count, |pointer, key| {
            self.add_entry(&mut entries, pointer, key)
        });
        let taken = taken.map_err(|damage| damage.in_block(self.name(), self.root.offset))?;
        // Behind the entries of a root above others: where the middle block is, 16 bytes.
        let left = self.root.payload.len() - taken;
        let expected = if levels > 1 { 16 } else { 0 };
        if left != expected {
            let what =
                format!("{left} bytes after the {count} entries of the root index, expected {expected}");
            return Err(corrupt(self.name(), self.root.offset, what));
        }
        Ok(entries)
    }

    fn next_level(&self, parents: &FlatIndex, kind: BlockKind) -> Result<FlatIndex> {
        let mut entries = FlatIndex::default();
        for pointer in parents.pointers() {
            let block = read_block(&*self.file, pointer.offset, pointer.size)?;
            if block.header.kind != kind {
                return Err(self.wrong_kind(pointer.offset, block.header.kind, "index block"));
            }
            self.payload(&block)
                .and_then(|payload| {
                    read_non_root_entries(&payload, |pointer, key| self.add_entry(&mut entries, pointer, key))
                })
                .map_err(|damage| damage.in_block(self.name(), pointer.offset))?;
        }
        Ok(entries)
    }

    /// Adds an entry if it points into the file and behind the entry before. So no block is visited twice on
    /// one level, whatever a damaged index says, and the keys can be searched.
    fn add_entry(&self, entries: &mut FlatIndex, pointer: BlockPointer, key: Bytes) -> Result<(), Damage> {
        let BlockPointer { offset, size } = pointer;
        if offset.checked_add(size.into()).is_none_or(|end| end > self.trailer.load_on_open_offset) {
            return Err(Damage::new(
                0,
                format!("an index entry points to {size} bytes at {offset}, past the blocks"),
            ));
        }
        let Some(parsed) = FlatKey::parse(&key) else {
            return Err(Damage::new(0, format!("the index key of the block at {offset} is no key")));
        };
        if let Some(last) = entries.len().checked_sub(1) {
            let before = entries.pointer(last);
            if offset < before.offset + u64::from(before.size) {
                return Err(Damage::new(
                    0,
                    format!("index entries point to {} and then {offset}", before.offset),
                ));
            }
            let last = FlatKey::parse(entries.key(last));
            if self.trailer.order == KeyOrder::Cells && last.is_none_or(|last| last.compare(&parsed).is_gt())
            {
                return Err(Damage::new(
                    0,
                    format!("the index key of the block at {offset} is out of order"),
                ));
            }
        }
        entries.push(pointer, key);
        Ok(())
    }
}
