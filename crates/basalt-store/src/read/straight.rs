// SPDX-License-Identifier: Apache-2.0
//! Row groups that nothing else concerns, on their way straight to columns: no cell is made of them.
//!
//! Where a scan of one family reads files whose rows do not overlap, and no memtable, it goes from block to block.
//! A row group passes as it is if
//!
//! 1. it is plain: puts only, no two cells of a row share a column,
//! 2. no cell of it is newer than the snapshot,
//! 3. no TTL concerns it.
//!
//! All three are answered by its head. The rows of any other block are read as cells, by the merge and the resolver
//! that read everything else; they are also the oracle of this path in the tests.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use basalt_hfile::ColumnarBlock;
use basalt_hfile::columnar::VECTOR;
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::family::FamilyInput;
use super::file::{ReadAccess, StoreFile, disjoint_lists};
use crate::{Error, Result};

/// Some rows of one vector of a row group.
#[derive(Debug)]
pub(crate) struct GroupRows {
    pub(crate) group: Arc<ColumnarBlock>,
    pub(crate) vector: usize,
    /// Counted from the first row of the vector.
    pub(crate) rows: Range<usize>,
    /// All rows that are wanted of the group, when they begin: a reader may load what it needs of them at once.
    pub(crate) begins: Option<usize>,
    file: Arc<StoreFile>,
    block: usize,
}

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

/// The only files of a family that have rows of some ranges, in key order.
pub(crate) struct LoneFiles {
    files: Vec<Arc<StoreFile>>,
    seq_max: Seq,
    timestamp_min: i64,
    /// What is left of the range in hand.
    range: Option<KeyRange>,
    /// The file in hand and the block in it that is next.
    next: Option<(usize, usize)>,
    group: Option<Group>,
}

struct Group {
    group: Arc<ColumnarBlock>,
    file: usize,
    block: usize,
    rows: Range<usize>,
    begun: bool,
}

impl LoneFiles {
    /// `None` if something else has rows of `hull`, or no file has row groups.
    pub(crate) fn try_new(input: &FamilyInput, hull: &KeyRange, seq_max: Seq) -> Result<Option<Self>> {
        let files: Vec<_> = input.files.iter().filter(|file| file.overlaps(hull)).cloned().collect();
        let mut lists = disjoint_lists(&files);
        let (Some(files), true, true) = (lists.pop(), lists.is_empty(), input.memtables.is_empty()) else {
            return Ok(None);
        };
        for file in &files {
            if file.reader()?.encoding() != basalt_hfile::Encoding::Columnar {
                return Ok(None);
            }
        }
        let timestamp_min = input.rules.timestamp_min;
        Ok(Some(Self { files, seq_max, timestamp_min, range: None, next: None, group: None }))
    }

    /// Goes on with a range.
    pub(crate) fn seek_range(&mut self, range: KeyRange) {
        let first = self.files.iter().position(|file| file.overlaps(&range));
        self.next = first.map(|file| (file, usize::MAX));
        self.group = None;
        self.range = Some(range);
    }

    /// The next rows of the range; `None` at its end.
    pub(crate) fn next(&mut self, access: &ReadAccess) -> Result<Option<Piece>> {
        loop {
            if let Some(rows) = self.next_rows() {
                return Ok(Some(Piece::Rows(rows)));
            }
            let (Some((at, block)), Some(range)) = (self.next, self.range.clone()) else { return Ok(None) };
            let file = Arc::clone(&self.files[at]);
            let reader = file.reader()?;
            let count = file.explained(reader.block_count())?;
            let block = match block {
                usize::MAX => file.explained(reader.find_block(&range.start))?.unwrap_or(count),
                block => block,
            };
            if block >= count {
                let further = self.files.get(at + 1).is_some_and(|file| file.overlaps(&range));
                self.next = further.then_some((at + 1, usize::MAX));
                continue;
            }
            let of_block = block_range(&file, block, count)?.intersect(&range);
            if range.end.as_ref().is_some_and(|end| of_block.start >= *end) {
                self.next = None;
                continue;
            }
            self.next = Some((at, block + 1));
            if of_block.is_empty() {
                continue;
            }
            if !self.take_up(at, block, &of_block, access)? {
                return Ok(Some(Piece::Cells(of_block)));
            }
        }
    }

    /// Begins with a row group; false if the block must be read as cells.
    fn take_up(&mut self, at: usize, block: usize, range: &KeyRange, access: &ReadAccess) -> Result<bool> {
        let file = &self.files[at];
        let explain = |error| file.explain(error, Some(block));
        let opened = file.reader()?.open_block(block).map_err(explain)?;
        let Some(group) = opened.columns().cloned() else { return Ok(false) };
        let passes = group.is_plain()
            && group.seqs().1 <= self.seq_max.0
            && group.timestamps().0 >= self.timestamp_min;
        if !passes {
            return Ok(false);
        }
        let bound =
            |row: &[u8], default: usize| match group.first_row_of(0).map_err(explain)?.as_slice().cmp(row) {
                Ordering::Less => group.lower_bound(row).map_err(explain),
                _ => Ok(default),
            };
        let first = bound(&range.start, 0)?;
        let last = match &range.end {
            Some(end) => bound(end, 0)?,
            None => group.rows(),
        };
        let size_bytes = file.explained(file.reader()?.block_extent(block))?.size_bytes;
        access.counters.blocks_read.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        access.counters.bytes_read.fetch_add(size_bytes.into(), std::sync::atomic::Ordering::Relaxed);
        self.group = Some(Group { group, file: at, block, rows: first..last.max(first), begun: false });
        Ok(true)
    }

    /// The next rows of the row group in hand.
    fn next_rows(&mut self) -> Option<GroupRows> {
        let Group { group, file, block, rows, begun } = self.group.as_mut()?;
        if rows.start >= rows.end {
            self.group = None;
            return None;
        }
        let vector = rows.start / VECTOR;
        let end = rows.end.min((vector + 1) * VECTOR);
        let begins = (!std::mem::replace(begun, true)).then_some(rows.len());
        let of_vector = rows.start - vector * VECTOR..end - vector * VECTOR;
        rows.start = end;
        let (group, file) = (Arc::clone(group), Arc::clone(&self.files[*file]));
        Some(GroupRows { group, vector, rows: of_vector, begins, file, block: *block })
    }
}

/// The rows that lie in one block: from its index key up to the next one.
fn block_range(file: &StoreFile, block: usize, count: usize) -> Result<KeyRange> {
    let reader = file.reader()?;
    let row = |block| Ok::<_, Error>(Bytes::copy_from_slice(file.explained(reader.block_first_row(block))?));
    let start = if block == 0 { Bytes::new() } else { row(block)? };
    let end = if block + 1 < count { Some(row(block + 1)?) } else { None };
    Ok(KeyRange { start, end })
}
