// SPDX-License-Identifier: Apache-2.0
//! Checking a whole file: every block, every cell, and what the parts say about each other.
//!
//! 1. Walk over all blocks by their headers, from offset 0 to the trailer: no gaps, each block's previous
//!    offset is right, blocks other than data blocks pass their checksums.
//! 2. Data blocks in the order of the index: checksum, decompression, decoding; keys in order, within the
//!    block, across blocks and against the index; every row passes the Bloom filters.
//! 3. Counts, totals and offsets of trailer and file info are those found.
//!
//! A checksum does not bind a block to its place. Two swapped blocks pass it; they are found in step 1 by their
//! previous offsets and in step 2 by their keys.

use std::fmt;

use basalt_model::{CellRef, CellType};

use super::HFileReader;
use crate::block::{BlockHeader, BlockKind, CHAINS, HEADER_LEN, read_block};
use crate::cells::CellBlock;
use crate::error::Error;
use crate::index::BlockPointer;
use crate::key::FlatKey;
use crate::trailer::{KeyOrder, TRAILER_LEN};

/// Something wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct VerifyFinding {
    /// The file.
    pub file: String,
    /// Where, if it is one place.
    pub offset: Option<u64>,
    /// What.
    pub what: String,
    /// The storage failed, which says nothing of the bytes: they may be read another time.
    #[serde(skip)]
    pub is_unread: bool,
}

impl fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at offset {offset}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

impl From<Error> for VerifyFinding {
    fn from(error: Error) -> Self {
        match error {
            Error::Corrupt { file, offset, what } => {
                Self { file, offset: Some(offset), what, is_unread: false }
            }
            Error::Io { file, offset, source } => {
                Self { file, offset: Some(offset), what: source.to_string(), is_unread: true }
            }
            Error::Unsupported { file, what } => {
                Self { file, offset: None, what: format!("{what} is not supported"), is_unread: false }
            }
            other => Self { file: String::new(), offset: None, what: other.to_string(), is_unread: false },
        }
    }
}

impl HFileReader {
    /// Reads every block and reports everything wrong; goes on behind a damaged block.
    pub fn verify(&self, report: &mut dyn FnMut(VerifyFinding)) {
        let mut check =
            Check { reader: self, report, data: Vec::new(), found: Found::default(), damaged: false };
        match self.index() {
            Ok(index) => check.data = index.pointers().to_vec(),
            Err(error) => return check.damage(error),
        }
        check.walk();
        check.read_data();
        check.compare_totals();
    }
}

/// What the walk and the data blocks came to.
#[derive(Default)]
struct Found {
    raw_bytes: u64,
    index_raw_bytes: u64,
    cells: u64,
    family_deletes: u64,
    last_key: Option<Vec<u8>>,
}

struct Check<'a> {
    reader: &'a HFileReader,
    report: &'a mut dyn FnMut(VerifyFinding),
    /// Data blocks by the index.
    data: Vec<BlockPointer>,
    found: Found,
    /// Something could not be read, so totals mean nothing.
    damaged: bool,
}

impl Check<'_> {
    fn finding(&mut self, offset: Option<u64>, what: impl Into<String>) {
        let file = self.reader.name().to_owned();
        (self.report)(VerifyFinding { file, offset, what: what.into(), is_unread: false });
    }

    fn damage(&mut self, error: Error) {
        self.damaged = true;
        (self.report)(error.into());
    }

    fn walk(&mut self) {
        let end = self.reader.size_bytes() - TRAILER_LEN as u64;
        let mut last_of_chain = [-1; CHAINS];
        let mut roots = 0;
        let mut at = 0;
        let mut data_seen = 0;
        while at < end {
            let header = match self.header_at(at, end) {
                Ok(header) => header,
                Err(error) => return self.damage(error),
            };
            let BlockHeader { kind, previous_offset, .. } = header;
            let chain = &mut last_of_chain[kind.chain()];
            if std::mem::replace(chain, at as i64) != previous_offset {
                self.finding(Some(at), format!("the previous {kind:?} is not at {previous_offset}"));
            }
            data_seen += usize::from(kind.is_data());
            roots += u32::from(kind == BlockKind::RootIndex);
            self.add_sizes(&header, roots);
            at += u64::from(header.total_bytes);
        }
        if data_seen != self.data.len() {
            self.finding(
                None,
                format!("the file has {data_seen} data blocks, its index {}", self.data.len()),
            );
        }
    }

    /// The header at `at`. Data blocks of the index are verified later; all others here.
    fn header_at(&self, at: u64, end: u64) -> Result<BlockHeader, Error> {
        let reader = self.reader;
        let corrupt = |what| crate::error::corrupt(reader.name(), at, what);
        let io = |source| Error::Io { file: reader.name().to_owned(), offset: at, source };
        let bytes = reader.file.read_at(at, HEADER_LEN).map_err(io)?;
        let first =
            bytes.first_chunk().ok_or_else(|| corrupt("the file ends inside a block header".into()))?;
        let header = BlockHeader::parse(first).map_err(corrupt)?;
        if at + u64::from(header.total_bytes) > end {
            return Err(corrupt(format!(
                "a block of {} bytes passes the end of the blocks",
                header.total_bytes
            )));
        }
        if self.data.binary_search_by_key(&at, |pointer| pointer.offset).is_err() {
            let block = read_block(&*reader.file, at, header.total_bytes)?;
            reader.payload(&block).map_err(|damage| damage.in_block(reader.name(), at))?;
        }
        Ok(header)
    }

    fn add_sizes(&mut self, header: &BlockHeader, roots: u32) {
        let raw = u64::from(header.raw_bytes);
        let data_root = header.kind == BlockKind::RootIndex && roots == 1;
        if matches!(header.kind, BlockKind::LeafIndex | BlockKind::IntermediateIndex) || data_root {
            self.found.index_raw_bytes += raw;
        }
        if !data_root && header.kind != BlockKind::IntermediateIndex {
            self.found.raw_bytes += raw + HEADER_LEN as u64;
        }
    }

    fn read_data(&mut self) {
        for index in 0..self.data.len() {
            let block = match self.reader.read_block(index) {
                Ok(block) => block,
                Err(error) => {
                    self.damage(error);
                    self.found.last_key = None;
                    continue;
                }
            };
            let offset = self.data[index].offset;
            if block.is_empty() {
                self.finding(Some(offset), "a data block without cells");
                continue;
            }
            if self.reader.trailer().order == KeyOrder::Cells {
                self.check_order(index, &block);
            }
            self.check_blooms(offset, &block);
            self.found.cells += block.len() as u64;
            let deletes = block.slots.iter().filter(|slot| is_family_delete(slot.cell_type));
            self.found.family_deletes += deletes.count() as u64;
            self.found.last_key = Some(FlatKey::of(&block.cell(block.len() - 1)).to_vec());
        }
    }

    fn check_order(&mut self, index: usize, block: &CellBlock) {
        let offset = Some(self.data[index].offset);
        let first = FlatKey::of(&block.cell(0)).to_vec();
        let is_above = |key: Option<&[u8]>| match (key.and_then(FlatKey::parse), FlatKey::parse(&first)) {
            (Some(key), Some(first)) => key.compare(&first).is_gt(),
            _ => false,
        };
        if is_above(self.found.last_key.as_deref()) {
            self.finding(offset, "the first cell sorts before the block before");
        }
        let index_key = self.reader.block_first_key(index).ok();
        if is_above(index_key.map(|key| &key[..])) {
            self.finding(offset, "the index key is above the first cell of the block");
        }
        if let (Some(key), Some(last)) = (index_key, &self.found.last_key)
            && let (Some(key), Some(last)) = (FlatKey::parse(key), FlatKey::parse(last))
            && key.compare(&last).is_lt()
        {
            self.finding(offset, "the index key is below the last cell of the block before");
        }
        for at in 1..block.len() {
            let (before, cell) = (block.cell(at - 1), block.cell(at));
            if before.compare_without_seq(&cell).is_gt() {
                let what = format!("{} comes after {}", FlatKey::of(&cell), FlatKey::of(&before));
                return self.finding(offset, what);
            }
        }
    }

    fn check_blooms(&mut self, offset: u64, block: &CellBlock) {
        let mut last: Option<CellRef<'_>> = None;
        for at in 0..block.len() {
            let cell = block.cell(at);
            let same = last.is_some_and(|last| last.row == cell.row && last.qualifier == cell.qualifier);
            let passes =
                same || self.reader.may_contain_exact_column(cell.row, cell.qualifier).unwrap_or(true);
            let marked = !is_family_delete(cell.cell_type)
                || self.reader.may_contain_family_delete(cell.row).unwrap_or(true);
            if !passes || !marked {
                return self.finding(Some(offset), format!("a bloom filter denies {}", FlatKey::of(&cell)));
            }
            last = Some(cell);
        }
    }

    fn compare_totals(&mut self) {
        if self.damaged {
            return;
        }
        let trailer = self.reader.trailer();
        let offsets =
            [self.data.first(), self.data.last()].map(|block| block.map_or(u64::MAX, |block| block.offset));
        let family_deletes = self.reader.file_info().i64(crate::file_info::keys::DELETE_FAMILY_COUNT);
        let pairs = [
            ("cells", trailer.cell_count, self.found.cells),
            ("raw bytes", trailer.raw_bytes, self.found.raw_bytes + TRAILER_LEN as u64),
            ("raw bytes of the data index", trailer.data_index_raw_bytes, self.found.index_raw_bytes),
            ("the offset of the first data block", trailer.first_data_block_offset, offsets[0]),
            ("the offset of the last data block", trailer.last_data_block_offset, offsets[1]),
            (
                "family delete markers",
                family_deletes.map_or(self.found.family_deletes, |count| count as u64),
                self.found.family_deletes,
            ),
        ];
        for (what, said, found) in pairs {
            if said != found {
                self.finding(None, format!("{what}: the file says {said}, found {found}"));
            }
        }
        if self.reader.last_key.as_deref() != self.found.last_key.as_deref() {
            self.finding(None, "the last key of the file info is not that of the last cell");
        }
    }
}

fn is_family_delete(cell_type: CellType) -> bool {
    matches!(cell_type, CellType::DeleteFamily | CellType::DeleteFamilyVersion)
}
