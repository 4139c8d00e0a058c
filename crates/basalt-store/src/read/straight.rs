// SPDX-License-Identifier: Apache-2.0
//! Row groups that nothing else concerns, on their way straight to columns: no cell is made of them.
//!
//! A scan of one family takes the files that make up most of it and do not overlap, and goes from block to block.
//! A row group passes as it is if
//!
//! 1. it is plain: puts only, no two cells of a row share a column,
//! 2. no cell of it is newer than the snapshot,
//! 3. no TTL concerns it,
//! 4. few rows between its first and its last are in the other files and in the memtables, too; these rows are read as
//!    cells, and its rows between them pass.
//!
//! The first three are answered by its head. The rows of any other block are read as cells, by the merge and the resolver
//! that read everything else; they are also the oracle of this path in the tests.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use basalt_hfile::columnar::VECTOR;
use basalt_hfile::{CellRun, ColumnarBlock};
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::family::{BoxedSource, FamilyInput, file_sources};
use super::file::{Keep, ReadAccess, StoreFile, disjoint_lists};
use super::merge::Merge;
use crate::{Error, Result};

/// Some rows of one vector of a row group.
#[derive(Debug)]
pub(crate) struct GroupRows {
    pub(crate) group: Arc<ColumnarBlock>,
    pub(crate) vector: usize,
    /// Counted from the first row of the vector.
    pub(crate) rows: Range<usize>,
    /// What is wanted of the group, when it begins: a reader may load what it needs of it at once.
    pub(crate) begins: Option<Begin>,
    file: Arc<StoreFile>,
    block: usize,
}

/// What a scan wants of a row group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begin {
    /// Rows that pass as they are.
    pub(crate) rows: usize,
    /// True if rows are read as cells in between.
    pub(crate) is_mixed: bool,
}

/// Rows of other sources among those of a row group, up to which it passes: reading one of them costs about as much
/// as making cells of this part of a row group.
const OTHERS_MAX: usize = 128;

impl GroupRows {
    /// Adds file, table and rows to an error of the file layer.
    pub(crate) fn explain(&self, error: basalt_hfile::Error) -> Error {
        self.file.explain(error, Some(self.block))
    }
}

/// What comes next in a range.
pub(crate) enum Piece {
    /// Rows that pass as they are.
    Rows(GroupRows),
    /// Rows to be read as cells.
    Cells(KeyRange),
}

/// The files that make up most of a family in some ranges, in key order, and what else has rows there.
pub(crate) struct LoneFiles {
    files: Vec<Arc<StoreFile>>,
    others: Option<Merge<BoxedSource>>,
    seq_max: Seq,
    timestamp_min: i64,
    /// What is left of the range in hand.
    range: Option<KeyRange>,
    /// The file in hand and the block in it that is next.
    next: Option<(usize, usize)>,
    group: Option<Group>,
}

/// In place of a block's number: that in which the range begins.
const FIRST: usize = usize::MAX;

struct Group {
    group: Arc<ColumnarBlock>,
    file: usize,
    block: usize,
    rows: Range<usize>,
    /// Rows that are read as cells, each with the rows of the group that it comes before or takes the place of.
    others: VecDeque<(Range<usize>, Bytes)>,
    begins: Option<Begin>,
}

impl LoneFiles {
    /// `None` if no file has row groups, or not those that make up the most.
    pub(crate) fn try_new(
        input: &FamilyInput,
        hull: &KeyRange,
        access: &ReadAccess,
        seq_max: Seq,
    ) -> Result<Option<Self>> {
        let files: Vec<_> = input.files.iter().filter(|file| file.overlaps(hull)).cloned().collect();
        let mut lists = disjoint_lists(&files);
        let bytes = |list: &Vec<Arc<StoreFile>>| list.iter().map(|file| file.meta().size_bytes).sum::<u64>();
        let Some(most) = (0..lists.len()).max_by_key(|&at| bytes(&lists[at])) else { return Ok(None) };
        let files = lists.swap_remove(most);
        for file in &files {
            // Rows that do not count are told apart cell by cell.
            let uncut = file.meta().bound().is_none_or(|bound| bound.intersect(hull) == *hull);
            if file.reader()?.encoding() != basalt_hfile::Encoding::Columnar || !uncut {
                return Ok(None);
            }
        }
        let mut others: Vec<BoxedSource> = input.memtables.iter().map(|memtable| memtable()).collect();
        for list in lists {
            others.extend(file_sources(&list, access, seq_max));
        }
        let others = (!others.is_empty()).then(|| Merge::new(others));
        let timestamp_min = input.rules.timestamp_min;
        Ok(Some(Self { files, others, seq_max, timestamp_min, range: None, next: None, group: None }))
    }

    /// Goes on with a range.
    pub(crate) fn seek_range(&mut self, range: KeyRange) {
        let first = self.files.iter().position(|file| file.overlaps(&range));
        self.next = Some(first.map_or((self.files.len(), 0), |file| (file, FIRST)));
        self.group = None;
        self.range = Some(range);
    }

    /// The next rows of the range; `None` at its end.
    pub(crate) fn next(&mut self, access: &ReadAccess) -> Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.next_piece() {
                return Ok(Some(piece));
            }
            let (Some((at, block)), Some(range)) = (self.next, self.range.clone()) else { return Ok(None) };
            let Some(file) = self.files.get(at).cloned() else {
                // None of the files has rows of the range.
                self.next = None;
                return Ok(self.others.is_some().then_some(Piece::Cells(range)));
            };
            let reader = file.reader()?;
            let count = file.blocks_end()?;
            let (block, is_first) = match block {
                FIRST => (file.explained(reader.find_block(&range.start))?.unwrap_or(count), true),
                block => (block, false),
            };
            if block >= count {
                let further = self.files.get(at + 1).is_some_and(|file| file.overlaps(&range));
                self.next = further.then_some((at + 1, 0));
                continue;
            }
            let whole = self.block_range(at, block, count)?;
            let mut of_block = whole.intersect(&range);
            if is_first {
                of_block.start = range.start.clone();
            }
            if range.end.as_ref().is_some_and(|end| of_block.start >= *end) {
                self.next = None;
                continue;
            }
            self.next = Some((at, block + 1));
            if of_block.is_empty() {
                continue;
            }
            if !self.take_up((at, block), &whole, &of_block, access)? {
                return Ok(Some(Piece::Cells(of_block)));
            }
        }
    }

    /// The rows that lie in a block, in front of it, and behind it up to the next: from its index key up to that of the
    /// next block, or file.
    fn block_range(&self, at: usize, block: usize, count: usize) -> Result<KeyRange> {
        let file = &self.files[at];
        let reader = file.reader()?;
        let row =
            |block| Ok::<_, Error>(Bytes::copy_from_slice(file.explained(reader.block_first_row(block))?));
        let start = match block {
            0 if at == 0 => Bytes::new(),
            0 => file.meta().first_row.clone(),
            block if at == 0 => row(block)?,
            block => row(block)?.max(file.meta().first_row.clone()),
        };
        let end = match self.files.get(at + 1) {
            _ if block + 1 < count => Some(row(block + 1)?),
            next => next.map(|next| next.meta().first_row.clone()),
        };
        Ok(KeyRange { start, end })
    }

    /// Begins with a row group, whose rows lie in `whole`; false if the block must be read as cells.
    fn take_up(
        &mut self,
        (at, block): (usize, usize),
        whole: &KeyRange,
        range: &KeyRange,
        access: &ReadAccess,
    ) -> Result<bool> {
        let file = Arc::clone(&self.files[at]);
        let explain = |error| file.explain(error, Some(block));
        let Some(group) = file.row_group(block, access)? else { return Ok(false) };
        let passes = group.is_plain()
            && group.seqs().1 <= self.seq_max.0
            && group.timestamps().0 >= self.timestamp_min;
        if !passes {
            return Ok(false);
        }
        let Some(others) = self.other_rows(range)? else { return Ok(false) };
        let bound =
            |row: &[u8], default: usize| match group.first_row_of(0).map_err(explain)?.as_slice().cmp(row) {
                Ordering::Less => group.lower_bound(row).map_err(explain),
                _ => Ok(default),
            };
        // Where the range does not cut the group, its index need not be read.
        let first = if range.start <= whole.start { 0 } else { bound(&range.start, 0)? };
        let last = match &range.end {
            Some(end) if range.end != whole.end => bound(end, 0)?,
            _ => group.rows(),
        };
        let size_bytes = file.explained(file.reader()?.block_extent(block))?.size_bytes;
        access.counters.blocks_read.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        access.counters.bytes_read.fetch_add(size_bytes.into(), std::sync::atomic::Ordering::Relaxed);
        let rows = first..last.max(first);
        let mut replaced = 0;
        let others: VecDeque<_> = others
            .into_iter()
            .map(|row| {
                let at = bound(&row, 0)?.clamp(rows.start, rows.end);
                let behind = bound(&point_end(&row), 0)?.clamp(at, rows.end);
                replaced += behind - at;
                Ok((at..behind, row))
            })
            .collect::<Result<_>>()?;
        let begins = Some(Begin { rows: rows.len() - replaced, is_mixed: !others.is_empty() });
        let shelf = (access.keep >= Keep::Stored).then(|| access.cache.shelf(file.meta().id, block));
        let group = Arc::new(group.reopened(shelf));
        self.group = Some(Group { group, file: at, block, rows, others, begins });
        Ok(true)
    }

    /// The rows of a range that the other sources have; `None` if they are many.
    fn other_rows(&mut self, range: &KeyRange) -> Result<Option<Vec<Bytes>>> {
        let Some(others) = &mut self.others else { return Ok(Some(Vec::new())) };
        let mut rows: Vec<Bytes> = Vec::new();
        others.seek(range);
        while let Some(stretch) = others.next()? {
            let CellRun { block, cells } = &stretch.run;
            let next = block.row_starts.partition_point(|&start| start as usize <= cells.start);
            let starts = block.row_starts[next..].iter().map(|&start| start as usize);
            for start in std::iter::once(cells.start).chain(starts.take_while(|start| *start < cells.end)) {
                let row = block.row(start);
                if rows.last().is_none_or(|last| *last != row) {
                    rows.push(Bytes::copy_from_slice(row));
                }
                if rows.len() > OTHERS_MAX {
                    return Ok(None);
                }
            }
        }
        Ok(Some(rows))
    }

    /// Leaves out what is left of the row group in hand, but for rows that are read as cells; how many rows.
    pub(crate) fn skip_group(&mut self) -> usize {
        let Some(Group { rows, others, .. }) = &mut self.group else { return 0 };
        let mut left = rows.len();
        for (replaced, _) in others {
            left -= replaced.len();
            *replaced = rows.end..rows.end;
        }
        rows.start = rows.end;
        left
    }

    /// The next rows of the row group in hand.
    fn next_piece(&mut self) -> Option<Piece> {
        let Group { group, file, block, rows, others, begins } = self.group.as_mut()?;
        if let Some((replaced, row)) = others.front().filter(|(replaced, _)| replaced.start == rows.start) {
            rows.start = replaced.end;
            let range = KeyRange::point(row.clone());
            others.pop_front();
            return Some(Piece::Cells(range));
        }
        if rows.start >= rows.end {
            self.group = None;
            return None;
        }
        let vector = rows.start / VECTOR;
        let until = others.front().map_or(rows.end, |(replaced, _)| replaced.start);
        let end = until.min((vector + 1) * VECTOR);
        let of_vector = rows.start - vector * VECTOR..end - vector * VECTOR;
        rows.start = end;
        let (group, file) = (Arc::clone(group), Arc::clone(&self.files[*file]));
        Some(Piece::Rows(GroupRows {
            group,
            vector,
            rows: of_vector,
            begins: begins.take(),
            file,
            block: *block,
        }))
    }
}

/// The least row above a row.
fn point_end(row: &[u8]) -> Vec<u8> {
    [row, &[0]].concat()
}
