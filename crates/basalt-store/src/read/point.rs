// SPDX-License-Identifier: Apache-2.0
//! One row of one store file, the short way: index, cached block, binary search. No source, no merge, no filter asked
//! before a block would have to be read from storage.
//!
//! It finds a row that lies within one block (of a row group: within one vector) and leaves all others to the
//! general path.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::{CellBlock, CellRun, ColumnarBlock, Encoding};
use basalt_model::{CellType, Seq};
use bytes::Bytes;

use super::access::{Keep, ReadAccess, Way};
use super::file::StoreFile;
use crate::{FileId, Result};

/// Where the cells of a row are.
pub(crate) enum Found {
    /// Not in the file.
    Missing,
    /// All of them.
    Cells(CellRun),
    /// Perhaps in several blocks.
    Elsewhere,
}

/// What lookups of one table share: of each file the block that the last one came to. Rows that are asked for in
/// ascending order find those of a block there, without index and cache.
#[derive(Debug, Default)]
pub(crate) struct Trail(Vec<Held>);

#[derive(Debug)]
struct Held {
    file: FileId,
    block: Arc<CellBlock>,
    /// First row of the next block.
    next_row: Option<Bytes>,
}

impl Trail {
    /// What is known of `row` without a look into the file.
    fn find(&self, file: FileId, row: &[u8]) -> Option<Found> {
        let held = self.0.iter().find(|held| held.file == file)?;
        // The first row may begin in the block before.
        let inside = held.block.row(0) < row && held.next_row.as_ref().is_none_or(|next| *row < next[..]);
        inside.then(|| row_of_block(Arc::clone(&held.block), row, held.next_row.as_deref()))
    }

    fn hold(&mut self, file: FileId, block: &Arc<CellBlock>, next_row: Option<&[u8]>) {
        if block.is_empty() {
            return;
        }
        let held = Held { file, block: Arc::clone(block), next_row: next_row.map(Bytes::copy_from_slice) };
        match self.0.iter_mut().find(|held| held.file == file) {
            Some(before) => *before = held,
            None => self.0.push(held),
        }
    }
}

/// The head of the row group that was looked into last: rows that ascend come to the same one again and again.
#[derive(Debug, Default)]
pub(crate) struct LastGroup(Option<(FileId, usize, Arc<ColumnarBlock>)>);

impl LastGroup {
    /// The head of block `index`, if it is at hand or in the cache.
    fn get(&mut self, file: &StoreFile, index: usize, access: &ReadAccess) -> Option<&ColumnarBlock> {
        let wanted = (file.meta().id, index);
        if self.0.as_ref().is_none_or(|(file, index, _)| (*file, *index) != wanted) {
            let head = access.cache.get_head(wanted.0, index)?;
            self.0 = Some((wanted.0, index, head));
        }
        self.0.as_ref().map(|(_, _, head)| &**head)
    }
}

/// One of several rows that are looked for together, on its way to its cells. Each step waits for memory that the step before named:
/// done for all rows before the next one is, they wait together.
pub(crate) struct Ahead<'a> {
    file: &'a StoreFile,
    row: &'a [u8],
    block: Arc<CellBlock>,
    /// First row of the next block.
    next_row: Option<&'a [u8]>,
    /// Rows of the block, by number, among which the row is.
    rows: Range<usize>,
}

impl<'a> Ahead<'a> {
    /// The first step: the row's block, if the cache has it.
    pub(crate) fn try_new(
        file: &'a StoreFile,
        row: &'a [u8],
        access: &ReadAccess,
        last: &mut LastGroup,
    ) -> Result<Option<Self>> {
        let reader = file.reader()?;
        let Some(index) = file.explained(reader.find_block(row))? else { return Ok(None) };
        let part = match reader.encoding() == Encoding::Columnar {
            true => match last.get(file, index, access) {
                Some(head) => file.explained_at(head.vector_of_row(row), index)?,
                None => return Ok(None),
            },
            false => 0,
        };
        let Some(block) = file.cached_part((index, part), access) else { return Ok(None) };
        let next_row = next_row_of(file, index)?;
        Ok(Some(Self { file, row, block, next_row, rows: 0..0 }))
    }

    /// The second step: loads what the third begins with.
    pub(crate) fn touch_fronts(&self) -> u64 {
        self.block.touch_fronts()
    }

    /// The third step: where it can be in the block.
    pub(crate) fn narrow(&mut self) {
        self.rows = self.block.rows_alike(self.row);
    }

    /// The fourth step: loads the slots of the row, and those of the next.
    pub(crate) fn touch(&self) -> u64 {
        let slot = |row: usize| {
            let start = self.block.row_starts.get(row).copied()?;
            self.block.slots.get(start as usize)
        };
        slot(self.rows.start).map_or(0, |slot| slot.seq.0 ^ u64::from(slot.key))
    }

    /// The fifth step: loads what the row is compared with, and its first value.
    pub(crate) fn touch_bytes(&self) -> u8 {
        let slot = self.block.row_starts.get(self.rows.start).map(|&start| &self.block.slots[start as usize]);
        let byte = |bytes: &[u8], at: u32| bytes.get(at as usize).copied().unwrap_or_default();
        slot.map_or(0, |slot| byte(&self.block.keys, slot.key) ^ byte(&self.block.values, slot.value))
    }

    /// The last step.
    fn found(&self) -> Found {
        let at = self.block.lower_bound_among(self.rows.clone(), self.row);
        row_at(Arc::clone(&self.block), at, self.row, self.next_row)
    }
}

/// First row of the block behind block `index`.
fn next_row_of(file: &StoreFile, index: usize) -> Result<Option<&[u8]>> {
    let reader = file.reader()?;
    match index + 1 < file.explained(reader.block_count())? {
        true => file.explained(reader.block_first_row(index + 1)).map(Some),
        false => Ok(None),
    }
}

/// What is known already of a row that is looked for.
#[derive(Default)]
pub(crate) enum Known<'a> {
    #[default]
    Nothing,
    /// It may be where others were found.
    Trail(&'a mut Trail),
    /// It was looked for together with others.
    Ahead(&'a Ahead<'a>),
}

impl Known<'_> {
    /// What is known of `row` without a look into the file.
    fn find(&self, file: FileId, row: &[u8]) -> Option<Found> {
        match self {
            Self::Nothing => None,
            Self::Trail(trail) => trail.find(file, row),
            Self::Ahead(ahead) => (ahead.file.meta().id == file).then(|| ahead.found()),
        }
    }

    /// For a lookup in another file.
    pub(crate) fn again(&mut self) -> Known<'_> {
        match self {
            Self::Nothing => Known::Nothing,
            Self::Trail(trail) => Known::Trail(trail),
            Self::Ahead(ahead) => Known::Ahead(ahead),
        }
    }
}

/// What a lookup asks a file's filter for.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) row: &'a [u8],
    /// The only columns of the family that are wanted; all without any.
    pub(crate) columns: Option<&'a BTreeSet<Bytes>>,
}

impl Asked<'_> {
    /// False if nothing of it can be in the file.
    pub(crate) fn may_be_in(&self, file: &StoreFile) -> Result<bool> {
        let reader = file.reader()?;
        file.explained(match self.columns.filter(|columns| !columns.is_empty()) {
            Some(columns) => reader.may_contain_any(self.row, columns.iter().map(|qualifier| &qualifier[..])),
            None => reader.may_contain_row(self.row),
        })
    }
}

/// The stored cells of a row. `bloom_first`: ask the filter before anything else, because most files will not have it.
pub(crate) fn find_row(
    file: &StoreFile,
    asked: Asked<'_>,
    bloom_first: bool,
    access: &ReadAccess,
    known: Known<'_>,
) -> Result<Found> {
    let (meta, row) = (file.meta(), asked.row);
    if *row < meta.first_row[..] || *row > meta.last_row[..] {
        return Ok(Found::Missing);
    }
    if let Some(found) = known.find(meta.id, row) {
        return Ok(found);
    }
    let reader = file.reader()?;
    if bloom_first && !asked.may_be_in(file)? {
        return Ok(Found::Missing);
    }
    let Some(index) = file.explained(reader.find_block(row))? else { return Ok(Found::Missing) };
    let block = match file.cached_block(index, row, access)? {
        Some(block) => block,
        None if !bloom_first && !asked.may_be_in(file)? => return Ok(Found::Missing),
        None => file.block_of_row(index, row, access)?,
    };
    let next_row = next_row_of(file, index)?;
    if let Known::Trail(trail) = known
        && reader.encoding() != Encoding::Columnar
    {
        trail.hold(meta.id, &block, next_row);
    }
    Ok(row_of_block(block, row, next_row))
}

/// Several rows of one vector of a row group.
pub(crate) struct Together {
    /// How many of those that were asked for, from the first on.
    pub(crate) rows: usize,
    /// Has the cells of those that are there.
    pub(crate) block: Arc<CellBlock>,
}

/// The first of some rows, which ascend, that lie in one vector of a row group, if there are several: it is decoded once for all of them. Those
/// that the filter says are not there go with the ones behind them.
pub(crate) fn find_together(
    file: &StoreFile,
    rows: &[&[u8]],
    access: &ReadAccess,
) -> Result<Option<Together>> {
    let reader = file.reader()?;
    let [first, second, ..] = rows else { return Ok(None) };
    if reader.encoding() != Encoding::Columnar {
        return Ok(None);
    }
    let Some(index) = file.explained(reader.find_block(first))? else { return Ok(None) };
    let next_row = next_row_of(file, index)?;
    let is_here = |row: &[u8]| next_row.is_none_or(|next| row < next);
    if !is_here(second) {
        return Ok(None);
    }
    // Only as far as it is looked: most of the others are of other vectors.
    let here = |at: usize| rows.get(at).copied().filter(|row| is_here(row));
    // The filter is asked before a block would have to be read.
    let may_be = |row: &[u8]| file.explained(reader.may_contain_row(row));
    let mut absent = 0;
    let first = loop {
        match here(absent) {
            None => return Ok(Some(Together { rows: absent, block: Arc::default() })),
            Some(row) if may_be(row)? => break row,
            Some(_) => absent += 1,
        }
    };
    let Some(group) = file.row_group(index, access)? else { return Ok(None) };
    let vector_of = |row: &[u8]| group.vector_of_row(row).map_err(|error| file.explain(error, Some(index)));
    let vector = vector_of(first)?;
    let mut count = absent + 1;
    while let Some(row) = here(count)
        && vector_of(row)? == vector
    {
        count += 1;
    }
    if count < 2 {
        return Ok(None);
    }
    let block = match file.cached_block(index, first, access)? {
        Some(block) => block,
        None if file.is_worth_decoding((index, vector), &group, access) => {
            file.decode_for_good((index, vector), &group, access)?
        }
        None => {
            let mut wanted = vec![first];
            for row in &rows[absent + 1..count] {
                if may_be(row)? {
                    wanted.push(*row);
                }
            }
            file.rows_of_group((index, vector), &wanted, &group, access)?
        }
    };
    Ok(Some(Together { rows: count, block }))
}

/// The row's cells in the block that would hold it, if the next block, which begins with `next_row` or behind that,
/// cannot have any.
pub(crate) fn row_of_block(block: Arc<CellBlock>, row: &[u8], next_row: Option<&[u8]>) -> Found {
    let at = block.lower_bound(row);
    row_at(block, at, row, next_row)
}

/// As [`row_of_block`]; `at` is the number of the first row that is not below `row`.
fn row_at(block: Arc<CellBlock>, at: usize, row: &[u8], next_row: Option<&[u8]>) -> Found {
    let starts = &block.row_starts;
    let end = starts.get(at + 1).map_or(block.len(), |&start| start as usize);
    if end == block.len() && next_row.is_some_and(|next| next <= row) {
        return Found::Elsewhere;
    }
    match starts.get(at) {
        Some(&start) if block.row(start as usize) == row => {
            Found::Cells(CellRun { block, cells: start as usize..end })
        }
        _ => Found::Missing,
    }
}

/// True if a reader at `seq_max` sees all cells of the row: puts, one to a column, none too new or with a life of its own.
pub(crate) fn is_plain(run: &CellRun, seq_max: Seq) -> bool {
    let block = &run.block;
    let cells = &block.slots[run.cells.clone()];
    let puts =
        cells.iter().all(|slot| slot.seq <= seq_max && slot.tags_len == 0 && slot.cell_type == CellType::Put);
    let apart = |pair: &[basalt_hfile::CellSlot]| {
        block.qualifier_of(&pair[0]) != block.qualifier_of(&pair[1])
            || block.family_of(&pair[0]) != block.family_of(&pair[1])
    };
    puts && (block.plain || cells.windows(2).all(apart))
}

impl StoreFile {
    /// What the cache has of block `index` for a lookup of `row`: the block, or of a row group the decoded part.
    fn cached_block(&self, index: usize, row: &[u8], access: &ReadAccess) -> Result<Option<Arc<CellBlock>>> {
        let part = if self.reader()?.encoding() == Encoding::Columnar {
            let Some(head) = access.cache.get_head(self.meta().id, index) else { return Ok(None) };
            self.explained_at(head.vector_of_row(row), index)?
        } else {
            0
        };
        Ok(self.cached_part((index, part), access))
    }

    /// What the cache has of a part of a block.
    fn cached_part(&self, (index, part): (usize, usize), access: &ReadAccess) -> Option<Arc<CellBlock>> {
        let found = access.cache.get(self.meta().id, index, part);
        found.iter().for_each(|block| access.counters.found_in_cache(block));
        found
    }

    fn explained_at<T>(&self, found: basalt_hfile::Result<T>, index: usize) -> Result<T> {
        found.map_err(|error| self.explain(error, Some(index)))
    }

    /// Reads what a lookup of `row` needs of block `index`: the block; of a row group the row, or the part that holds it
    /// if that is looked into again and again.
    fn block_of_row(&self, index: usize, row: &[u8], access: &ReadAccess) -> Result<Arc<CellBlock>> {
        let Some(head) = self.row_group(index, access)? else {
            return self.read_block(index, Way::Sought, access);
        };
        let part = head.vector_of_row(row).map_err(|error| self.explain(error, Some(index)))?;
        self.decode_for_row((index, part), row, &head, access)
    }

    /// The part of a row group that would hold `row`, if lookups keep coming to it; else the row alone.
    pub(super) fn decode_for_row(
        &self,
        (index, part): (usize, usize),
        row: &[u8],
        head: &ColumnarBlock,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        if self.is_worth_decoding((index, part), head, access) {
            return self.decode_for_good((index, part), head, access);
        }
        self.row_of_group(index, row, head, access)
    }

    /// Puts a part of a row group into the cache.
    fn decode_for_good(
        &self,
        (index, part): (usize, usize),
        group: &ColumnarBlock,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        let block = self.read_part((index, part), group, access)?;
        access.cache.make_room_in(self.meta().id, index, group);
        Ok(block)
    }

    /// True if lookups come to a part of a row group, which the cache does not have, again and again.
    pub(super) fn is_worth_decoding(
        &self,
        part: (usize, usize),
        group: &ColumnarBlock,
        access: &ReadAccess,
    ) -> bool {
        let all = group.columns().len();
        let read = access.columns.as_ref().and_then(|columns| columns.of_group(group));
        let columns = (read.map_or(all, |read| read.len()), all);
        access.keep == Keep::Decoded && access.cache.is_worth_decoding(self.meta().id, part, columns)
    }

    /// The cells of some rows of a vector of a row group.
    fn rows_of_group(
        &self,
        (index, vector): (usize, usize),
        rows: &[&[u8]],
        group: &ColumnarBlock,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        let columns = access.columns.as_ref().and_then(|columns| columns.of_group(group));
        let block = group.decode_these(vector, rows, columns.map(|columns| &columns[..]));
        access.counters.blocks_read.fetch_add(1, Relaxed);
        block.map(Arc::new).map_err(|error| self.explain(error, Some(index)))
    }

    /// The cells of one row of a row group.
    fn row_of_group(
        &self,
        index: usize,
        row: &[u8],
        group: &ColumnarBlock,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        let columns = access.columns.as_ref().and_then(|columns| columns.of_group(group));
        let block = group
            .decode_row(row, columns.map(|columns| &columns[..]))
            .map_err(|error| self.explain(error, Some(index)))?;
        access.counters.blocks_read.fetch_add(1, Relaxed);
        Ok(Arc::new(block))
    }
}
