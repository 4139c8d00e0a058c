// SPDX-License-Identifier: Apache-2.0
//! One row of one store file, the short way: index, cached block, binary search. No source, no merge, no filter asked
//! before a block would have to be read from storage.
//!
//! It finds a row that lies within one block (of a row group: within one vector) and leaves all others to the
//! general path.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::{CellBlock, CellRun, ColumnarBlock, Encoding};
use basalt_model::{CellType, Seq};
use bytes::Bytes;

use super::file::{Keep, ReadAccess, StoreFile};
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

/// The stored cells of `row`. `bloom_first`: ask the filter before anything else, because most files will not have it.
/// `trail`: of several lookups.
pub(crate) fn find_row(
    file: &StoreFile,
    row: &[u8],
    bloom_first: bool,
    access: &ReadAccess,
    trail: Option<&mut Trail>,
) -> Result<Found> {
    let meta = file.meta();
    if *row < meta.first_row[..] || *row > meta.last_row[..] {
        return Ok(Found::Missing);
    }
    if let Some(found) = trail.as_ref().and_then(|trail| trail.find(meta.id, row)) {
        return Ok(found);
    }
    let reader = file.reader()?;
    if bloom_first && !file.explained(reader.may_contain_row(row))? {
        return Ok(Found::Missing);
    }
    let Some(index) = file.explained(reader.find_block(row))? else { return Ok(Found::Missing) };
    let block = match file.cached_block(index, row, access)? {
        Some(block) => block,
        None if !bloom_first && !file.explained(reader.may_contain_row(row))? => return Ok(Found::Missing),
        None => file.block_of_row(index, row, access)?,
    };
    let next_row = match index + 1 < file.explained(reader.block_count())? {
        true => Some(file.explained(reader.block_first_row(index + 1))?),
        false => None,
    };
    if let Some(trail) = trail.filter(|_| reader.encoding() != Encoding::Columnar) {
        trail.hold(meta.id, &block, next_row);
    }
    Ok(row_of_block(block, row, next_row))
}

/// The row's cells in the block that would hold it, if the next block, which begins with `next_row` or behind that,
/// cannot have any.
fn row_of_block(block: Arc<CellBlock>, row: &[u8], next_row: Option<&[u8]>) -> Found {
    let starts = &block.row_starts;
    let at = block.lower_bound(row);
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
            head.vector_of_row(row).map_err(|error| self.explain(error, Some(index)))?
        } else {
            0
        };
        let found = access.cache.get(self.meta().id, index, part);
        access.counters.blocks_cached.fetch_add(u64::from(found.is_some()), Relaxed);
        Ok(found)
    }

    /// Reads what a lookup of `row` needs of block `index`: the block; of a row group the row, or the part that holds it
    /// if that is looked into again and again.
    fn block_of_row(&self, index: usize, row: &[u8], access: &ReadAccess) -> Result<Arc<CellBlock>> {
        let Some(head) = self.row_group(index, access)? else { return self.read_block(index, access) };
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
        if access.keep == Keep::Decoded && access.cache.is_worth_decoding(self.meta().id, index, part) {
            return self.read_part((index, part), head, access);
        }
        self.row_of_group(index, row, head, access)
    }

    /// The cells of one row of a row group.
    fn row_of_group(
        &self,
        index: usize,
        row: &[u8],
        group: &ColumnarBlock,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        let block = group.decode_row(row).map_err(|error| self.explain(error, Some(index)))?;
        access.counters.blocks_read.fetch_add(1, Relaxed);
        Ok(Arc::new(block))
    }
}
