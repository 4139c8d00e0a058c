// SPDX-License-Identifier: Apache-2.0
//! A store file as a source of cells: opened on first use, read block by block through the cache.
//!
//! Damage is reported with the file, the offset, the table and the rows that the block may have held: from
//! its index key up to the next one. A source that met a damaged block goes on behind it when asked again.

mod group;
mod list;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use basalt_hfile::columnar::WholeFacts;
use basalt_hfile::file_info::keys;
use basalt_hfile::{CellBlock, CellRun, ColumnarBlock, EncodedBlock, Encoding, HFileReader, ReadOptions};
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use self::group::Group;
use super::access::{Keep, ReadAccess, Way};
use super::cache::BlockOwner;
use super::handle::FileHandle;
use super::known_values::KnownValues;
use super::source::CellSource;
use crate::env::{Env, FileRead};
use crate::{Corruption, Error, FileMeta, Result};
pub(crate) use list::{FileListSource, disjoint_lists};

/// One store file as a region lists it: what the manifest says of it, and its reader once somebody needed it. Shared
/// behind an `Arc`; a snapshot that holds one can read it, whatever the manifest says by then.
///
/// A listing may be of some rows only ([`crate::manifest::FilePart`]): readers get no others.
pub struct StoreFile {
    meta: FileMeta,
    table: Arc<str>,
    handle: Arc<FileHandle>,
    known_values: OnceLock<KnownValues>,
    whole_facts: OnceLock<Option<WholeFacts>>,
}

impl StoreFile {
    /// The file at `path`; touches nothing yet. `table` is named in errors.
    pub fn new(env: Env, path: PathBuf, table: Arc<str>, meta: FileMeta) -> Self {
        Self::of(Arc::new(FileHandle::new(env, path, None)), table, meta)
    }

    /// A file that others may list as well.
    pub(crate) fn of(handle: Arc<FileHandle>, table: Arc<str>, meta: FileMeta) -> Self {
        Self { meta, table, handle, known_values: OnceLock::new(), whole_facts: OnceLock::new() }
    }

    /// What the manifest says.
    pub fn meta(&self) -> &FileMeta {
        &self.meta
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.handle.path()
    }

    /// The manifest no longer names the file: it is removed from storage with the last handle on it.
    pub fn mark_obsolete(&self) {
        self.handle.mark_obsolete();
    }

    /// It belongs, or does not belong any more, to a family of which as much as possible is to stay in memory.
    pub(crate) fn favour(&self, favoured: bool) {
        self.handle.favour(favoured);
    }

    /// Whose the blocks are that go into the cache.
    pub(super) fn owner(&self) -> BlockOwner {
        BlockOwner { file: self.meta.id, favoured: self.handle.is_favoured() }
    }

    /// Where the rows that count end; `None` if all that follow their first one do.
    fn part_end(&self) -> Option<&Bytes> {
        self.meta.bound()?.end.as_ref()
    }

    /// Where to look for the first row from `row` on that counts.
    fn row_from(&self, row: &[u8]) -> Vec<u8> {
        let first = if self.meta.part.is_some() { &self.meta.first_row[..] } else { b"" };
        row.max(first).to_vec()
    }

    /// First block behind those that hold rows that count.
    pub(crate) fn blocks_end(&self) -> Result<usize> {
        let reader = self.reader()?;
        let count = self.explained(reader.block_count())?;
        if self.meta.part.is_none() {
            return Ok(count);
        }
        Ok(self.explained(reader.find_block(&self.meta.last_row))?.map_or(0, |last| last + 1))
    }

    /// True if a row of the file can lie in `range`.
    pub fn overlaps(&self, range: &KeyRange) -> bool {
        range.end.as_ref().is_none_or(|end| self.meta.first_row < *end) && range.start <= self.meta.last_row
    }

    /// The open file.
    pub fn reader(&self) -> Result<&HFileReader> {
        self.handle.reader(|file| self.open(file))
    }

    /// Memory of index and Bloom filter, in bytes; 0 before the first use.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.handle.opened().map_or(0, |reader| reader.memory_bytes() as u64)
    }

    /// No put in the file has a lower timestamp.
    pub(crate) fn put_timestamp_min(&self) -> Result<i64> {
        Ok(self.reader()?.file_info().i64(keys::EARLIEST_PUT_TS).unwrap_or(i64::MIN))
    }

    fn open(&self, file: Arc<dyn FileRead>) -> Result<HFileReader> {
        let options = ReadOptions { seq_override: self.meta.seq_override, ..ReadOptions::default() };
        let reader = HFileReader::open(file, options).map_err(|error| self.explain(error, None))?;
        let expected = self.meta.whole().cells;
        if reader.cells() != expected {
            let what = format!("the manifest gives it {expected} cells, its trailer {}", reader.cells());
            return Err(self.damage(0, what, None));
        }
        Ok(reader)
    }

    /// The way to its bytes for who keeps nothing, where others leave what they read in the second tier of the cache.
    fn passing(&self, access: &ReadAccess) -> Option<&Arc<dyn FileRead>> {
        self.handle.passing().filter(|_| access.keep == Keep::Nothing)
    }

    /// The head of block `index` if it is a row group, from the cache or from storage.
    pub(crate) fn row_group(&self, index: usize, access: &ReadAccess) -> Result<Option<Arc<ColumnarBlock>>> {
        let reader = self.reader()?;
        if reader.encoding() != Encoding::Columnar {
            return Ok(None);
        }
        let passing = self.passing(access);
        if let Some(head) = access.cache.get_head(self.meta.id, index) {
            return Ok(Some(match passing {
                Some(file) => Arc::new(head.reopened_from(Arc::clone(file), None)),
                None => head,
            }));
        }
        let opened = match passing {
            Some(file) => reader.open_block_from(file, index),
            None => reader.open_block(index),
        };
        let opened = opened.map_err(|error| self.explain(error, Some(index)))?;
        let Some(head) = opened.columns() else { return Ok(None) };
        if access.keep >= Keep::Stored {
            access.cache.insert_head(self.owner(), index, head);
        }
        Ok(Some(Arc::clone(head)))
    }

    /// What it knows of its values; found out when it is asked for first.
    pub(crate) fn known_values(&self, access: &ReadAccess) -> Result<&KnownValues> {
        if let Some(known) = self.known_values.get() {
            return Ok(known);
        }
        let found = KnownValues::of_file(self, access)?;
        Ok(self.known_values.get_or_init(|| found))
    }

    /// What the heads of its row groups say of all its rows, if they can say it together; found out when it is asked for first.
    pub(crate) fn whole_facts(&self, access: &ReadAccess) -> Result<Option<&WholeFacts>> {
        if let Some(known) = self.whole_facts.get() {
            return Ok(known.as_ref());
        }
        let found = if self.blocks_end()? > 0 { self.merged_facts(access)? } else { None };
        Ok(self.whole_facts.get_or_init(|| found).as_ref())
    }

    fn merged_facts(&self, access: &ReadAccess) -> Result<Option<WholeFacts>> {
        let Some(first) = self.row_group(0, access)? else { return Ok(None) };
        let Some(mut all) = WholeFacts::of(&first) else { return Ok(None) };
        for block in 1..self.blocks_end()? {
            let group = self.row_group(block, access)?;
            if !group.is_some_and(|group| all.add(&first, &group)) {
                return Ok(None);
            }
        }
        Ok(Some(all))
    }

    /// The cells of one part of a row group, from the cache or from storage.
    pub(crate) fn part(
        &self,
        (index, part): (usize, usize),
        group: &ColumnarBlock,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        if let Some(block) = access.cache.get(self.meta.id, index, part) {
            access.counters.found_in_cache(&block);
            return Ok(block);
        }
        self.read_part((index, part), group, access)
    }

    pub(super) fn read_part(
        &self,
        (index, part): (usize, usize),
        group: &ColumnarBlock,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        let block = group.decode(part..part + 1).map_err(|error| self.explain(error, Some(index)))?;
        let block = Arc::new(block);
        let size_bytes = self.explained(self.reader()?.block_extent(index))?.size_bytes;
        access.counters.blocks_read.fetch_add(u64::from(part == 0), Relaxed);
        access.counters.bytes_read.fetch_add(u64::from(size_bytes) / group.vectors() as u64, Relaxed);
        if access.keep == Keep::Decoded {
            access.cache.insert(self.owner(), index, part, &block);
        }
        Ok(block)
    }

    /// Block `index`, which is no row group, from the cache or from storage.
    pub(super) fn block(&self, index: usize, way: Way, access: &ReadAccess) -> Result<Arc<CellBlock>> {
        if let Some(block) = access.cache.get(self.meta.id, index, 0) {
            access.counters.found_in_cache(&block);
            return Ok(block);
        }
        self.read_block(index, way, access)
    }

    /// Decodes block `index`, which is no row group and is not held decoded.
    pub(super) fn read_block(&self, index: usize, way: Way, access: &ReadAccess) -> Result<Arc<CellBlock>> {
        let reader = self.reader()?;
        let (id, cache) = (self.meta.id, &access.cache);
        let held = cache.get_encoded(id, index);
        let was_held = held.is_some();
        let encoded = match held {
            Some(encoded) => {
                access.counters.found_encoded(&encoded);
                encoded
            }
            None => self.read_encoded(index, access)?,
        };
        let block = reader.decode_block(&encoded, index).map_err(|error| self.explain(error, Some(index)))?;
        let block = Arc::new(block);
        if access.keep == Keep::Decoded && way == Way::Sought {
            if was_held {
                cache.remove_encoded(id, index);
            }
            cache.insert(self.owner(), index, 0, &block);
        } else if access.keep >= Keep::Stored && !was_held {
            cache.insert_encoded(self.owner(), index, &encoded);
        }
        Ok(block)
    }

    fn read_encoded(&self, index: usize, access: &ReadAccess) -> Result<EncodedBlock> {
        let reader = self.reader()?;
        let read = match self.passing(access) {
            Some(file) => reader.read_encoded_block_from(file, index),
            None => reader.read_encoded_block(index),
        };
        let encoded = read.map_err(|error| self.explain(error, Some(index)))?;
        let size_bytes = self.explained(reader.block_extent(index))?.size_bytes;
        access.counters.blocks_read.fetch_add(1, Relaxed);
        access.counters.bytes_read.fetch_add(u64::from(size_bytes), Relaxed);
        Ok(encoded)
    }

    pub(crate) fn explained<T>(&self, result: basalt_hfile::Result<T>) -> Result<T> {
        result.map_err(|error| self.explain(error, None))
    }

    /// Adds what the file layer does not know: the table, and the rows concerned.
    pub(crate) fn explain(&self, error: basalt_hfile::Error, block: Option<usize>) -> Error {
        match error {
            basalt_hfile::Error::Corrupt { offset, what, .. } => self.damage(offset, what, block),
            basalt_hfile::Error::Io { source, .. } => Error::io("read", self.path())(source),
            // Our own files use only what this release knows; a trailer that says otherwise has rotted.
            basalt_hfile::Error::Unsupported { what, .. } => {
                self.damage(0, format!("it uses {what}, which is not supported"), None)
            }
            other => Error::Invalid(other.to_string()),
        }
    }

    fn damage(&self, offset: u64, what: String, block: Option<usize>) -> Error {
        let range = block.and_then(|index| self.block_range(index)).unwrap_or_else(|| self.key_range());
        let table = Some(self.table.to_string());
        Error::Corrupt(Arc::new(Corruption {
            file: self.path().to_owned(),
            offset,
            table,
            range: Some(range),
            what,
        }))
    }

    /// The rows of the file.
    fn key_range(&self) -> KeyRange {
        let end = KeyRange::point(self.meta.last_row.clone()).end;
        KeyRange { start: self.meta.first_row.clone(), end }
    }

    /// The rows that block `index` may hold. The row of the next index key counts as well when that key
    /// begins in the middle of a row.
    fn block_range(&self, index: usize) -> Option<KeyRange> {
        let reader = self.handle.opened()?;
        let start = Bytes::copy_from_slice(reader.block_first_row(index).ok()?);
        let end = if index + 1 < reader.block_count().ok()? {
            KeyRange::point(Bytes::copy_from_slice(reader.block_first_row(index + 1).ok()?)).end
        } else {
            self.key_range().end
        };
        Some(KeyRange { start, end })
    }
}

impl fmt::Debug for StoreFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreFile")
            .field("path", &self.path())
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

/// The cells of one file.
#[derive(Debug)]
pub(crate) struct FileSource {
    file: Arc<StoreFile>,
    access: ReadAccess,
    /// Newer cells are left out; `None` when the file has none.
    seq_max: Option<Seq>,
    /// Where to go first, until a block was found that holds it.
    seek_row: Option<Vec<u8>>,
    /// Only this row is wanted: of a row group no more than it is decoded.
    only_row: Option<Vec<u8>>,
    /// Next block to read.
    next: Option<usize>,
    /// The row group whose parts are being read.
    group: Option<Group>,
    /// The block in hand and the cells in it that were not handed out.
    current: Option<Current>,
    /// Blocks, and parts of row groups, that came one after the other since the last seek.
    in_a_row: usize,
}

/// So many blocks, or parts of row groups, in a row are read as if they were looked for: a scan that wants more goes on for long.
const SOUGHT: usize = 4;

/// In place of a part's number: one row of it.
const ONE_ROW: usize = usize::MAX;

#[derive(Debug)]
struct Current {
    index: usize,
    /// The part of a row group, or [`ONE_ROW`]; 0 of other blocks.
    part: usize,
    block: Arc<CellBlock>,
    at: usize,
}

impl FileSource {
    /// Cells of `file` up to the commit `seq_max`.
    pub(crate) fn new(file: Arc<StoreFile>, access: ReadAccess, seq_max: Seq) -> Self {
        let seq_max = Some(seq_max).filter(|seq_max| *seq_max < file.meta.seq_max);
        let seek_row = Some(file.row_from(b""));
        Self {
            file,
            access,
            seq_max,
            seek_row,
            only_row: None,
            next: None,
            group: None,
            current: None,
            in_a_row: 0,
        }
    }

    /// As [`Self::new`], for one row. The source must be made to seek it.
    pub(crate) fn of_row(file: Arc<StoreFile>, access: ReadAccess, seq_max: Seq, row: &[u8]) -> Self {
        Self { only_row: Some(row.to_vec()), ..Self::new(file, access, seq_max) }
    }

    /// Makes sure that a block with cells not handed out is in hand; false at the end.
    fn load(&mut self, end: Option<&[u8]>) -> Result<bool> {
        loop {
            if self.current.as_ref().is_some_and(|current| current.at < current.block.len()) {
                return Ok(true);
            }
            if self.load_part(end)? {
                continue;
            }
            let Some(index) = self.next_block()? else { return Ok(false) };
            let file = Arc::clone(&self.file);
            let reader = file.reader()?;
            if index >= file.explained(reader.block_count())? {
                return Ok(false);
            }
            if let Some(end) = end
                && file.explained(reader.block_first_row(index))? >= end
            {
                return Ok(false);
            }
            self.next = Some(index + 1);
            if let Some(head) = file.row_group(index, &self.access)? {
                let row = self.seek_row.as_deref().unwrap_or_default();
                let next = head.vector_of_row(row).map_err(|error| file.explain(error, Some(index)))?;
                self.group = Some(Group::new(index, head, next));
                continue;
            }
            let block = match self.current.take() {
                Some(current) if current.index == index => current.block,
                _ => file.block(index, self.way(), &self.access)?,
            };
            self.take_up(index, 0, block);
        }
    }

    /// Takes the next part of the row group in hand; false if there is none that begins before `end`.
    fn load_part(&mut self, end: Option<&[u8]>) -> Result<bool> {
        let Some(group) = self.group.as_mut().filter(|group| group.next < group.head.vectors()) else {
            self.group = None;
            return Ok(false);
        };
        let (index, part) = (group.index, group.next);
        group.next += 1;
        let head = Arc::clone(&group.head);
        let file = Arc::clone(&self.file);
        let explain = |error| file.explain(error, Some(index));
        if let Some(row) = self.only_row.as_deref().or_else(|| self.one_row_before(end)) {
            let block = match self.access.cache.get(file.meta.id, index, part) {
                Some(block) => block,
                None => file.decode_for_row((index, part), row, &head, &self.access)?,
            };
            self.group = None;
            self.take_up(index, ONE_ROW, block);
            return Ok(true);
        }
        if let Some(end) = end
            && head.first_row_of(part).map_err(explain)?.as_slice() >= end
        {
            self.group = None;
            return Ok(false);
        }
        let block = match self.current.take() {
            Some(current) if (current.index, current.part) == (index, part) => current.block,
            _ => {
                let way = self.way();
                let group = self.group.as_mut().expect("it is in hand");
                group.part(part, way, &file, &self.access)?
            }
        };
        self.take_up(index, part, block);
        Ok(true)
    }

    /// The row that was looked for, if the range ends right behind it.
    fn one_row_before(&self, end: Option<&[u8]>) -> Option<&[u8]> {
        let row = self.seek_row.as_deref()?;
        end.filter(|end| end.strip_prefix(row) == Some(&[0])).map(|_| row)
    }

    /// Goes on in a block, from the row that was looked for.
    fn take_up(&mut self, index: usize, part: usize, block: Arc<CellBlock>) {
        let at = self.seek_row.as_ref().map_or(0, |row| block.lower_bound_row(row));
        if at < block.len() {
            self.seek_row = None;
        }
        self.current = Some(Current { index, part, block, at });
        self.in_a_row += 1;
    }

    fn way(&self) -> Way {
        if self.in_a_row < SOUGHT { Way::Sought } else { Way::Followed }
    }

    /// The last row before `before` that block `index` has.
    fn row_before_in(&self, index: usize, before: &[u8]) -> Result<Option<Bytes>> {
        let last_of = |block: &CellBlock| {
            let last = block.lower_bound_row(before).checked_sub(1)?;
            Some(Bytes::copy_from_slice(block.row(last)))
        };
        let Some(head) = self.file.row_group(index, &self.access)? else {
            return Ok(match &self.current {
                Some(current) if current.index == index => last_of(&current.block),
                _ => last_of(&*self.file.block(index, Way::Sought, &self.access)?),
            });
        };
        let part = head.vector_of_row(before).map_err(|error| self.file.explain(error, Some(index)))?;
        for part in (0..=part).rev() {
            if let Some(row) = last_of(&*self.file.part((index, part), &head, &self.access)?) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn next_block(&mut self) -> Result<Option<usize>> {
        if self.next.is_none() {
            let row = self.seek_row.as_deref().unwrap_or_default();
            if row > &self.file.meta.last_row[..] {
                return Ok(None);
            }
            self.next = self.file.explained(self.file.reader()?.find_block(row))?;
        }
        Ok(self.next)
    }
}

impl CellSource for FileSource {
    fn seek(&mut self, row: &[u8]) {
        self.seek_row = Some(self.file.row_from(row));
        self.next = None;
        self.group = None;
        self.in_a_row = 0;
        if let Some(current) = &mut self.current {
            current.at = current.block.len();
        }
    }

    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>> {
        let part_end = self.file.part_end().cloned();
        let end = match (end, part_end.as_deref()) {
            (Some(end), Some(part_end)) => Some(end.min(part_end)),
            (end, part_end) => end.or(part_end),
        };
        loop {
            if !self.load(end)? {
                return Ok(None);
            }
            let current = self.current.as_mut().expect("loaded above");
            let block = &current.block;
            let limit = part_end.as_ref().map_or(block.len(), |end| block.lower_bound_row(end));
            if current.at >= limit {
                return Ok(None);
            }
            let mut cells = match self.seq_max {
                None => current.at..limit,
                Some(seq_max) => visible(block, current.at, seq_max),
            };
            current.at = cells.end;
            cells.end = cells.end.min(limit);
            if !cells.is_empty() {
                return Ok(Some(CellRun { block: Arc::clone(&current.block), cells }));
            }
        }
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        let meta = &self.file.meta;
        let Some(before) = before.filter(|before| *before <= &meta.last_row[..]) else {
            return Ok(Some(meta.last_row.clone()));
        };
        if *before <= meta.first_row[..] {
            return Ok(None);
        }
        let found = self.file.explained(self.file.reader()?.find_block(before))?;
        for index in (0..=found.unwrap_or(0)).rev() {
            if let Some(row) = self.row_before_in(index, before)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn timestamp_min(&self) -> i64 {
        self.file.meta.timestamp_min
    }
}

/// The next cells from `at` on, in a row, that are not newer than `seq_max`; empty at the block's end.
fn visible(block: &CellBlock, at: usize, seq_max: Seq) -> std::ops::Range<usize> {
    let slots = &block.slots[at..];
    let skipped = slots.iter().take_while(|slot| slot.seq > seq_max).count();
    let taken = slots[skipped..].iter().take_while(|slot| slot.seq <= seq_max).count();
    at + skipped..at + skipped + taken
}

#[cfg(test)]
mod tests;
