// SPDX-License-Identifier: Apache-2.0
//! Row groups that nothing else concerns, on their way straight to columns: no cell is made of them.
//!
//! A scan of one family goes from block to block through the file that has most of the rows, which may be another one in
//! each [stretch](stretches) of keys. A row group passes as it is if
//!
//! 1. it is plain: puts only, no two cells of a row share a column,
//! 2. no cell of it is newer than the snapshot,
//! 3. no TTL concerns it,
//! 4. few rows between its first and its last are in the other files and in the memtables, too; these rows are read as
//!    cells, and its rows between them pass.
//!
//! The first three are answered by its head. The rows of any other block are read as cells, by the merge and the resolver
//! that read everything else; they are also the oracle of this path in the tests.
//!
//! A reader that takes rows in any order need not go through one file: row groups of several whose rows lie among each other pass together,
//! but for the rows that are in more than one of them ([`woven`]).
//!
//! A few rows of one vector are read as cells, too, if the cache has the cells of the vector, as it has once lookups come to it again and
//! again: there they are found without decoding the vector's keys.

mod stretches;
mod woven;

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::columnar::{Mask, VECTOR};
use basalt_hfile::{CellRun, ColumnarBlock, Encoding};
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use self::stretches::{Stretch, stretches};
pub(crate) use self::woven::CellColumns;
use self::woven::{OfCells, Opened, Side, find_shared, woven};
use super::cache::WorkingMemory;
use super::family::{BoxedSource, FamilyInput, FamilyStream, SourceMaker, file_sources};
use super::file::{Keep, ReadAccess, StoreFile};
use super::merge::Merge;
use super::resolve::{Purpose, Rules};
use crate::{Error, Result};

/// Some rows of one vector of a row group.
#[derive(Debug)]
pub(crate) struct GroupRows {
    pub(crate) group: Arc<ColumnarBlock>,
    pub(crate) vector: usize,
    /// At least one row of the vector.
    pub(crate) rows: Mask,
    /// What is wanted of the group, when it begins: a reader may load what it needs of it at once.
    pub(crate) begins: Option<Begin>,
    file: Arc<StoreFile>,
    block: usize,
    /// Taken while somebody has rows of the group.
    _memory: Arc<WorkingMemory>,
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

/// Rows of a vector that are read as cells if the cache has these; of more rows the columns are decoded sooner than made of cells.
const AS_CELLS_MAX: usize = 32;

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
    /// Rows that are read as cells from sources of their own.
    Aside(Box<FamilyStream>),
}

/// How a reader takes rows.
#[derive(Debug, Clone)]
pub(crate) struct Taking {
    /// Rows need not come in the order of their keys.
    pub(crate) any_order: bool,
    /// The columns that are wanted.
    pub(crate) columns: CellColumns,
}

/// A family in some ranges: the files to go through, in key order, and what else has rows there.
pub(crate) struct LoneFiles {
    stretches: Vec<Stretch>,
    memtables: Vec<SourceMaker>,
    /// What else has rows in a stretch, and in which.
    others: Option<Merge<BoxedSource>>,
    others_of: Option<usize>,
    seq_max: Seq,
    rules: Rules,
    taking: Taking,
    /// What is left of the range in hand.
    range: Option<KeyRange>,
    /// The stretch in hand and the block of its file that is next; `None` for that in which the range begins.
    next: Option<(usize, Option<usize>)>,
    group: Option<Group>,
    /// What is left of a part of which a window was read: its stretch, and the file and the block that it is of.
    rest: Option<(usize, Arc<StoreFile>, usize, Part)>,
    /// Rows of the window in hand, and behind them those that are read as cells.
    window: VecDeque<GroupRows>,
    aside: Option<Box<FamilyStream>>,
    /// The row group whose rows were handed out last, if that was in a window.
    of_window: Option<Arc<ColumnarBlock>>,
    /// Row groups of that window, which may go on in the next.
    opened: Vec<Opened>,
}

struct Group {
    group: Arc<ColumnarBlock>,
    file: Arc<StoreFile>,
    block: usize,
    rows: Range<usize>,
    /// Rows that are read as cells, each with the rows of the group that it comes before or takes the place of.
    others: VecDeque<(Range<usize>, Bytes)>,
    begins: Option<Begin>,
    memory: Arc<WorkingMemory>,
}

/// Rows of a block, in front of it and behind it, and whether rows of the block lie outside.
struct Part {
    range: KeyRange,
    cut_before: bool,
    cut_behind: bool,
}

impl LoneFiles {
    /// `None` if no file has row groups.
    pub(crate) fn try_new(
        input: &FamilyInput,
        hull: &KeyRange,
        seq_max: Seq,
        taking: Taking,
    ) -> Result<Option<Self>> {
        let files: Vec<_> = input.files.iter().filter(|file| file.overlaps(hull)).cloned().collect();
        let stretches = stretches(&files, hull)?;
        Ok((!stretches.is_empty()).then(|| Self {
            stretches,
            memtables: input.memtables.clone(),
            others: None,
            others_of: None,
            seq_max,
            rules: input.rules.clone(),
            taking,
            range: None,
            next: None,
            group: None,
            rest: None,
            window: VecDeque::new(),
            aside: None,
            of_window: None,
            opened: Vec::new(),
        }))
    }

    /// Goes on with a range.
    pub(crate) fn seek_range(&mut self, range: KeyRange) {
        let ends_before =
            |stretch: &Stretch| stretch.range.end.as_ref().is_some_and(|end| *end <= range.start);
        self.next = Some((self.stretches.partition_point(ends_before), None));
        self.group = None;
        self.rest = None;
        self.range = Some(range);
    }

    /// The next rows of the range; `None` at its end.
    pub(crate) fn next(&mut self, access: &ReadAccess) -> Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.next_piece() {
                return Ok(Some(piece));
            }
            if let Some((at, file, block, part)) = self.rest.take() {
                if let Some(piece) = self.begin_part(at, file, block, part, access)? {
                    return Ok(Some(piece));
                }
                continue;
            }
            let (Some((at, block)), Some(range)) = (self.next, &self.range) else { return Ok(None) };
            let stretch = self.stretches.get(at).map(|stretch| stretch.range.intersect(range));
            let Some(stretch) = stretch.filter(|stretch| !stretch.is_empty()) else {
                self.next = None;
                continue;
            };
            if self.others_of != Some(at) {
                self.others = self.other_sources(at, access);
                self.others_of = Some(at);
            }
            let Some((file, block, part)) = self.part(at, block, &stretch)? else {
                self.next = Some((at + 1, None));
                if block.is_none() && self.others.is_some() {
                    // The file has no rows here.
                    return Ok(Some(Piece::Cells(stretch)));
                }
                continue;
            };
            self.next = Some((at, Some(block + 1)));
            if let Some(piece) = self.begin_part(at, file, block, part, access)? {
                return Ok(Some(piece));
            }
        }
    }

    /// Begins with a part, or with a window of it; the piece, if it is read as cells.
    fn begin_part(
        &mut self,
        at: usize,
        file: Arc<StoreFile>,
        block: usize,
        part: Part,
        access: &ReadAccess,
    ) -> Result<Option<Piece>> {
        if self.taking.any_order && self.others.is_some() {
            return self.begin_window(at, file, block, part, access);
        }
        let takes_up = self.take_up(file, block, &part, access)?;
        Ok((!takes_up).then_some(Piece::Cells(part.range)))
    }

    /// Begins with the first window of a part, and leaves the rest for later; the piece, if the window is read as cells.
    fn begin_window(
        &mut self,
        at: usize,
        file: Arc<StoreFile>,
        block: usize,
        part: Part,
        access: &ReadAccess,
    ) -> Result<Option<Piece>> {
        let (mut window, mut peers, mut as_cells) = (part, vec![], vec![]);
        let part_end = window.range.end.clone();
        let cut_behind = window.cut_behind;
        for other in &self.stretches[at].others {
            if !other.overlaps(&window.range) {
                continue;
            }
            match peer_block(other, &mut window)? {
                Some(block) => peers.push((Arc::clone(other), block)),
                None => as_cells.push(Arc::clone(other)),
            }
        }
        let range = window.range.clone();
        if range.end != part_end {
            let start = range.end.clone().expect("a window that ends before its part has an end");
            let rest = Part { range: KeyRange { start, end: part_end }, cut_before: true, cut_behind };
            self.rest = Some((at, Arc::clone(&file), block, rest));
        }
        let before = std::mem::take(&mut self.opened);
        let Some(lone) = self.open(&before, &file, block, access)? else {
            return Ok(Some(Piece::Cells(range)));
        };
        let Some(rows) = rows_in(&file, block, &lone.group, &window, access)? else {
            return Ok(Some(Piece::Cells(range)));
        };
        let mut sides = vec![];
        if !rows.is_empty() {
            sides.push(Side::new(lone, rows));
        }
        for (other, block) in peers.into_iter().filter(|(other, _)| other.overlaps(&range)) {
            let Some(peer) = self.open(&before, &other, block, access)? else {
                as_cells.push(other);
                continue;
            };
            let bound = |row| lower_bound(&peer.group, row).map_err(|error| other.explain(error, Some(block)));
            let end = range.end.as_deref().map_or(Ok(peer.group.rows()), bound)?;
            let rows = bound(&range.start)?..end;
            if !rows.is_empty() {
                sides.push(Side::new(peer, rows));
            }
        }
        as_cells.retain(|file| file.overlaps(&range));
        let mut sources: Vec<BoxedSource> = self.memtables.iter().map(|memtable| memtable()).collect();
        sources.extend(file_sources(&as_cells, access, self.seq_max));
        let rows_max = sides.iter().map(Side::row_count).sum();
        let Some(of_cells) = OfCells::read(sources, &range, rows_max)? else {
            // There is little that could pass.
            return Ok(Some(Piece::Cells(range)));
        };
        find_shared(&mut sides, &of_cells.rows)?;
        let (rows, sources) = woven(&sides, of_cells, Some(&self.taking.columns));
        self.window = rows;
        if !sources.is_empty() {
            let mut aside = FamilyStream::new(sources, self.rules.clone(), Purpose::Read);
            aside.seek_range(&range);
            self.aside = Some(Box::new(aside));
        }
        Ok(None)
    }

    /// A row group for the window in hand, perhaps one of those that were open `before`; `None` if it cannot pass.
    fn open(
        &mut self,
        before: &[Opened],
        file: &Arc<StoreFile>,
        block: usize,
        access: &ReadAccess,
    ) -> Result<Option<Opened>> {
        let opened = match before.iter().find(|opened| opened.is(file, block)) {
            Some(opened) => opened.clone(),
            None => {
                let Some(group) = file.row_group(block, access)?.filter(|group| self.passes(group)) else {
                    return Ok(None);
                };
                reopened(file, block, &group, access)?
            }
        };
        self.opened.push(opened.clone());
        Ok(Some(opened))
    }

    /// True if all cells of a row group are visible, as far as it knows itself.
    fn passes(&self, group: &ColumnarBlock) -> bool {
        group.is_plain()
            && group.seqs().1 <= self.seq_max.0
            && group.timestamps().0 >= self.rules.timestamp_min
    }

    /// All that has rows in a stretch but the file that a scan goes through.
    fn other_sources(&self, at: usize, access: &ReadAccess) -> Option<Merge<BoxedSource>> {
        let mut sources: Vec<BoxedSource> = self.memtables.iter().map(|memtable| memtable()).collect();
        sources.extend(file_sources(&self.stretches[at].others, access, self.seq_max));
        (!sources.is_empty()).then(|| Merge::new(sources))
    }

    /// The rows in `range` that lie in a block, in front of it if it is the first, and behind it up to the next one; `None`
    /// if that block is none of those that have rows in `range`, which is a stretch or some of it.
    fn part(
        &self,
        at: usize,
        block: Option<usize>,
        range: &KeyRange,
    ) -> Result<Option<(Arc<StoreFile>, usize, Part)>> {
        let Some(file) = self.stretches[at].lone.as_ref().filter(|file| file.overlaps(range)) else {
            return Ok(None);
        };
        let reader = file.reader()?;
        let count = file.blocks_end()?;
        let row =
            |block| Ok::<_, Error>(Bytes::copy_from_slice(file.explained(reader.block_first_row(block))?));
        let (number, start) = match block {
            None => (file.explained(reader.find_block(&range.start))?.unwrap_or(count), range.start.clone()),
            Some(block) if block < count => (block, row(block)?),
            Some(block) => (block, Bytes::new()),
        };
        if number >= count || range.end.as_ref().is_some_and(|end| start >= *end) {
            return Ok(None);
        }
        let least = if number == 0 { file.meta().first_row.clone() } else { row(number)? };
        let next = if number + 1 < count { Some(row(number + 1)?) } else { None };
        let end = match (&next, &range.end) {
            (Some(next), Some(end)) => Some(next.min(end).clone()),
            (next, end) => next.as_ref().or(end.as_ref()).cloned(),
        };
        // The rows of which a file knows the first and the last are those inside its bound.
        let bounded = file.meta().bound().is_some();
        let cut_before = start > least || bounded && !start.is_empty();
        let cut_behind = match (&end, &next) {
            (Some(end), Some(next)) => bounded || end < next,
            (Some(end), None) => bounded || *end <= file.meta().last_row,
            (None, _) => false,
        };
        let part = Part { cut_before, cut_behind, range: KeyRange { start, end } };
        Ok(Some((Arc::clone(file), number, part)))
    }

    /// Begins with a row group; false if the block must be read as cells.
    fn take_up(
        &mut self,
        file: Arc<StoreFile>,
        block: usize,
        part: &Part,
        access: &ReadAccess,
    ) -> Result<bool> {
        let range = &part.range;
        let explain = |error| file.explain(error, Some(block));
        let Some(group) = file.row_group(block, access)?.filter(|group| self.passes(group)) else {
            return Ok(false);
        };
        let Some(rows) = rows_in(&file, block, &group, part, access)? else { return Ok(false) };
        let Some(others) = self.other_rows(range)? else { return Ok(false) };
        let bound = |row: &[u8]| lower_bound(&group, row).map_err(explain);
        let mut replaced = 0;
        let others: VecDeque<_> = others
            .into_iter()
            .map(|row| {
                let at = bound(&row)?.clamp(rows.start, rows.end);
                let behind = bound(&point_end(&row))?.clamp(at, rows.end);
                replaced += behind - at;
                Ok((at..behind, row))
            })
            .collect::<Result<_>>()?;
        let begins = Some(Begin { rows: rows.len() - replaced, is_mixed: !others.is_empty() });
        let Opened { group, file, block, memory } = reopened(&file, block, &group, access)?;
        self.group = Some(Group { group, file, block, rows, others, begins, memory });
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
        if let Some(group) = &self.of_window {
            let is_of = |rows: &mut GroupRows| Arc::ptr_eq(&rows.group, group);
            let skipped = std::iter::from_fn(|| self.window.pop_front_if(is_of));
            return skipped.map(|rows| rows.rows.count()).sum();
        }
        let Some(Group { rows, others, .. }) = &mut self.group else { return 0 };
        let mut left = rows.len();
        for (replaced, _) in others {
            left -= replaced.len();
            *replaced = rows.end..rows.end;
        }
        rows.start = rows.end;
        left
    }

    /// The next rows of the window or of the row group in hand.
    fn next_piece(&mut self) -> Option<Piece> {
        if let Some(rows) = self.window.pop_front() {
            self.of_window = Some(Arc::clone(&rows.group));
            return Some(Piece::Rows(rows));
        }
        self.of_window = None;
        if let Some(aside) = self.aside.take() {
            return Some(Piece::Aside(aside));
        }
        let Group { group, file, block, rows, others, begins, memory } = self.group.as_mut()?;
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
        let (group, file, _memory) = (Arc::clone(group), Arc::clone(file), Arc::clone(memory));
        Some(Piece::Rows(GroupRows {
            group,
            vector,
            rows: Mask::of_range(of_vector),
            begins: begins.take(),
            file,
            block: *block,
            _memory,
        }))
    }
}

/// A row group for one reader, who is counted as one.
fn reopened(
    file: &Arc<StoreFile>,
    block: usize,
    group: &ColumnarBlock,
    access: &ReadAccess,
) -> Result<Opened> {
    let size_bytes = file.explained(file.reader()?.block_extent(block))?.size_bytes;
    access.counters.blocks_read.fetch_add(1, Relaxed);
    access.counters.bytes_read.fetch_add(size_bytes.into(), Relaxed);
    let shelf = (access.keep >= Keep::Stored).then(|| access.cache.shelf(file.owner(), block));
    let group = Arc::new(group.reopened(shelf));
    // As stored, and once more in the pieces that go into the cache and may have to leave it while they are read.
    let memory = Arc::new(access.cache.work_with(2 * u64::from(size_bytes)));
    Ok(Opened { group, file: Arc::clone(file), block, memory })
}

/// The block of another file that has the first rows of a window, which ends at the next block of that file at the latest; `None` if the
/// file's rows are to be read as cells.
fn peer_block(file: &StoreFile, window: &mut Part) -> Result<Option<usize>> {
    let reader = file.reader()?;
    let is_whole = file.meta().bound().is_none_or(|bound| bound.intersect(&window.range) == window.range);
    if reader.encoding() != Encoding::Columnar || !is_whole {
        return Ok(None);
    }
    let Some(block) = file.explained(reader.find_block(&window.range.start))? else { return Ok(None) };
    if block + 1 < file.blocks_end()? {
        let next = file.explained(reader.block_first_row(block + 1))?;
        if window.range.end.as_ref().is_none_or(|end| next < &end[..]) {
            window.range.end = Some(Bytes::copy_from_slice(next));
            window.cut_behind = true;
        }
    }
    Ok(Some(block))
}

/// The rows of a group in a part of its rows; `None` if they are so few that they are found sooner among decoded cells, which the cache
/// has or shall have.
fn rows_in(
    file: &StoreFile,
    block: usize,
    group: &ColumnarBlock,
    part: &Part,
    access: &ReadAccess,
) -> Result<Option<Range<usize>>> {
    let explain = |error| file.explain(error, Some(block));
    let Part { range: KeyRange { start, end }, cut_before, cut_behind } = part;
    // Where the range does not cut the group, its index need not be read.
    let Some(end) = end.as_ref().filter(|_| *cut_behind) else {
        let first = if *cut_before { lower_bound(group, start).map_err(explain)? } else { 0 };
        return Ok(Some(first..group.rows()));
    };
    if !cut_before {
        return Ok(Some(0..lower_bound(group, end).map_err(explain)?));
    }
    let vector = group.vector_of_row(start).map_err(explain)?;
    let in_one = access.keep == Keep::Decoded && group.vector_of_row(end).map_err(explain)? == vector;
    let held = if in_one { access.cache.get(file.meta().id, block, vector) } else { None };
    let (first, last) = match &held {
        Some(cells) => (vector * VECTOR + cells.lower_bound(start), vector * VECTOR + cells.lower_bound(end)),
        None => group.lower_bounds(start, end).map_err(explain)?,
    };
    let rows = first..last.max(first);
    let is_short = in_one && rows.len() <= AS_CELLS_MAX;
    let as_cells =
        is_short && (held.is_some() || access.cache.is_worth_decoding(file.meta().id, block, vector));
    Ok((!as_cells).then_some(rows))
}

/// [`ColumnarBlock::lower_bound`], without a look at the keys if that is the first row.
fn lower_bound(group: &ColumnarBlock, row: &[u8]) -> basalt_hfile::Result<usize> {
    match group.first_row_of(0)?.as_slice().cmp(row) {
        Ordering::Less => group.lower_bound(row),
        _ => Ok(0),
    }
}

/// The least row above a row.
fn point_end(row: &[u8]) -> Vec<u8> {
    [row, &[0]].concat()
}
