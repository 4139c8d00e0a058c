// SPDX-License-Identifier: Apache-2.0
//! Row groups that nothing else concerns, on their way straight to columns: no cell is made of them.
//!
//! A scan of one family goes from block to block through the file that has most of the rows, which may be another one in
//! each [stretch](stretches) of keys. A row group passes as it is if
//!
//! 1. it is plain: puts only, no two cells of a row share a column,
//! 2. no cell of it is newer than the snapshot,
//! 3. no TTL concerns it.
//!
//! The three are answered by its head. The rows of any other block are read as cells, by the merge and the resolver
//! that read everything else; they are also the oracle of this path in the tests.
//!
//! Where the other files and the memtables have rows between its first and its last it passes in [windows](woven): but for the rows that
//! more than one of them has, and with the row groups of the other files.
//!
//! A few rows of one vector are read as cells, too, if the cache has the cells of the vector, as it has once lookups come to it again and
//! again: there they are found without decoding the vector's keys.

mod stretches;
mod woven;

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use basalt_hfile::columnar::{Mask, VECTOR};
use basalt_hfile::{CellRun, ColumnarBlock, Encoding};
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use self::stretches::{Stretch, stretches};
use self::woven::{OfCells, Opened, Ranks, Side, Woven, weave};
use super::access::{Keep, ReadAccess, Tally};
use super::cache::WorkingMemory;
use super::cell_columns::CellColumns;
use super::family::{BoxedSource, FamilyInput, FamilyStream, SourceMaker, file_sources};
use super::file::StoreFile;
use super::resolve::{Purpose, Rules};
use crate::{Error, Result};

/// Some rows of one vector of a row group.
#[derive(Debug)]
pub(crate) struct GroupRows {
    pub(crate) group: Arc<ColumnarBlock>,
    pub(crate) vector: usize,
    /// At least one row of the vector.
    pub(crate) rows: Mask,
    /// Where its rows belong among those of the window in hand; `None` where they come in their order, or in any.
    pub(crate) ranks: Option<Ranks>,
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

/// Vectors of the file that a scan goes through in one window, if rows have to be put in order.
const ORDERED_VECTORS: usize = 16;

/// Rows of a vector that are read as cells if the cache has these; of more rows the columns are decoded sooner than made of cells.
const AS_CELLS_MAX: usize = 32;

impl GroupRows {
    /// The rank of a row of the vector in the window in hand.
    pub(crate) fn rank(&self, row: usize) -> Option<u32> {
        self.ranks.as_ref().map(|ranks| ranks.of(self.vector * VECTOR + row))
    }

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
    /// Rows from here on, to [`Piece::Ends`], come in no order, but each has its rank.
    Begins(Unordered),
    /// The window ends.
    Ends,
}

/// Rows that come in no order.
#[derive(Debug)]
pub(crate) struct Unordered {
    /// Of those that are read as cells, in the order of their keys.
    pub(crate) ranks: Vec<(Bytes, u32)>,
    /// All of them, at most: some may be deleted.
    pub(crate) rows_max: usize,
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
    seq_max: Seq,
    rules: Rules,
    taking: Taking,
    /// What is left of the range in hand.
    range: Option<KeyRange>,
    /// The stretch in hand and the block of its file that is next; `None` for that in which the range begins.
    next: Option<(usize, Option<usize>)>,
    group: Option<Group>,
    /// What is left of a part of which a window was read.
    rest: Option<Part>,
    /// What is left of the window in hand.
    window: VecDeque<Piece>,
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
    begins: Option<Begin>,
    memory: Arc<WorkingMemory>,
}

/// Rows of a block, in front of it and behind it, and whether rows of the block lie outside.
#[derive(Clone)]
struct Part {
    /// The stretch.
    at: usize,
    file: Arc<StoreFile>,
    block: usize,
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
            seq_max,
            rules: input.rules.clone(),
            taking,
            range: None,
            next: None,
            group: None,
            rest: None,
            window: VecDeque::new(),
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
            if let Some(part) = self.rest.take() {
                if let Some(piece) = self.begin_part(part, access)? {
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
            let Some(part) = self.part(at, block, &stretch)? else {
                self.next = Some((at + 1, None));
                if block.is_none() && self.has_others(at, &stretch)? {
                    // The file has no rows here.
                    return Ok(Some(Piece::Cells(stretch)));
                }
                continue;
            };
            self.next = Some((at, Some(part.block + 1)));
            if let Some(piece) = self.begin_part(part, access)? {
                return Ok(Some(piece));
            }
        }
    }

    /// True if others than the file that a scan goes through may have rows in some of a stretch.
    fn has_others(&self, at: usize, range: &KeyRange) -> Result<bool> {
        if self.stretches[at].others.iter().any(|file| file.overlaps(range)) {
            return Ok(true);
        }
        for memtable in &self.memtables {
            let mut source = memtable();
            source.seek(&range.start);
            let run = source.next_run(range.end.as_deref())?;
            let is_inside =
                |run: CellRun| range.end.as_ref().is_none_or(|end| run.block.row(run.cells.start) < &end[..]);
            if run.is_some_and(is_inside) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Begins with a part, or with a window of it; the piece, if it is read as cells.
    fn begin_part(&mut self, part: Part, access: &ReadAccess) -> Result<Option<Piece>> {
        if self.has_others(part.at, &part.range)? {
            return self.begin_window(part, access);
        }
        let takes_up = self.take_up(&part, access)?;
        Ok((!takes_up).then_some(Piece::Cells(part.range)))
    }

    /// Begins with the first window of a part, and leaves the rest for later; the piece, if the window is read as cells.
    fn begin_window(&mut self, part: Part, access: &ReadAccess) -> Result<Option<Piece>> {
        if let Some(front) = self.front_of(&part)? {
            let range = KeyRange { start: part.range.start.clone(), end: Some(front.clone()) };
            self.leave(part, Some(front));
            return Ok(Some(Piece::Cells(range)));
        }
        let mut window = part.clone();
        let before = std::mem::take(&mut self.opened);
        let Some(lone) = self.lone_of(&part, &before, access)? else {
            return Ok(Some(Piece::Cells(part.range)));
        };
        self.opened.push(lone.clone());
        if !self.taking.any_order {
            let vector = lone.explained(lone.group.vector_of_row(&part.range.start))? + ORDERED_VECTORS;
            if vector < lone.group.vectors() {
                window.end_before(&lone.explained(lone.group.first_row_of(vector))?);
            }
        }
        let (mut peers, mut as_cells) = (vec![], vec![]);
        for other in &self.stretches[part.at].others {
            if !other.overlaps(&window.range) {
                continue;
            }
            match peer_block(other, &mut window)? {
                Some(block) => peers.push((Arc::clone(other), block)),
                None => as_cells.push(Arc::clone(other)),
            }
        }
        let mut range = window.range.clone();
        let Some(rows) = rows_in(&window, &lone.group, access)? else {
            self.leave(part, range.end.clone());
            return Ok(Some(Piece::Cells(range)));
        };
        let mut groups = vec![(lone, rows)];
        for (other, block) in peers.into_iter().filter(|(other, _)| other.overlaps(&range)) {
            let Some(peer) = self.open(&before, &other, block, access)? else {
                as_cells.push(other);
                continue;
            };
            let first = peer.explained(lower_bound(&peer.group, &range.start))?;
            let end = peer.end_of(range.end.as_deref())?;
            groups.push((peer, first..end));
        }
        if groups.iter().all(|(_, rows)| rows.is_empty()) {
            self.leave(part, range.end.clone());
            return Ok(Some(Piece::Cells(range)));
        }
        as_cells.retain(|file| file.overlaps(&range));
        let mut sources: Vec<BoxedSource> = self.memtables.iter().map(|memtable| memtable()).collect();
        sources.extend(file_sources(&as_cells, access, self.seq_max));
        let rows_max = groups.iter().map(|(_, rows)| rows.len()).sum();
        let of_cells = OfCells::read(sources, &mut range, rows_max)?;
        let is_cut = range.end != window.range.end;
        self.leave(part, range.end.clone());
        let mut sides = vec![];
        for (opened, mut rows) in groups {
            if is_cut {
                rows.end = rows.end.min(opened.end_of(range.end.as_deref())?);
            }
            if !rows.is_empty() {
                sides.push(Side::new(opened, rows));
            }
        }
        let rows_max = sides.iter().map(Side::row_count).sum::<usize>() + of_cells.rows.len();
        let woven = weave(sides, of_cells, &self.taking)?;
        self.take_window(woven, rows_max, &range);
        Ok(None)
    }

    /// The first row of a part's block, if the part begins in front of it and no other file has rows there: only memtables have, and so
    /// there is nothing to bring together.
    fn front_of(&self, part: &Part) -> Result<Option<Bytes>> {
        if part.cut_before {
            return Ok(None);
        }
        let first = match part.block {
            0 => part.file.meta().first_row.clone(),
            block => {
                let reader = part.file.reader()?;
                Bytes::copy_from_slice(part.file.explained(reader.block_first_row(block))?)
            }
        };
        let front = KeyRange { start: part.range.start.clone(), end: Some(first.clone()) };
        let is_apart = !front.is_empty()
            && part.range.end.as_ref().is_none_or(|end| first < end)
            && !self.stretches[part.at].others.iter().any(|file| file.overlaps(&front));
        Ok(is_apart.then_some(first))
    }

    /// Leaves what a part has from here on for later.
    fn leave(&mut self, part: Part, from: Option<Bytes>) {
        if from != part.range.end {
            let start = from.expect("a window that ends before its part has an end");
            let range = KeyRange { start, end: part.range.end.clone() };
            self.rest = Some(Part { range, cut_before: true, ..part });
        }
    }

    /// Hands a window out from now on.
    fn take_window(&mut self, woven: Woven, rows_max: usize, range: &KeyRange) {
        let is_ranked = woven.ranks.is_some();
        self.window.extend(woven.ranks.map(|ranks| Piece::Begins(Unordered { ranks, rows_max })));
        self.window.extend(woven.rows.into_iter().map(Piece::Rows));
        if !woven.sources.is_empty() {
            let mut aside = FamilyStream::new(woven.sources, self.rules.clone(), Purpose::Read);
            aside.seek_range(range);
            self.window.push_back(Piece::Aside(Box::new(aside)));
        }
        self.window.extend(is_ranked.then_some(Piece::Ends));
    }

    /// The row group of a part, perhaps one of those that were open `before`; `None` if the part is read as cells.
    fn lone_of(&self, part: &Part, before: &[Opened], access: &ReadAccess) -> Result<Option<Opened>> {
        if let Some(lone) = before.iter().find(|opened| opened.is(&part.file, part.block)) {
            return Ok(Some(lone.clone()));
        }
        match self.passing(&part.file, part.block, access)? {
            Some(group) if rows_in(part, &group, access)?.is_some() => {
                reopened(&part.file, part.block, &group, access).map(Some)
            }
            _ => Ok(None),
        }
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
                let Some(group) = self.passing(file, block, access)? else { return Ok(None) };
                reopened(file, block, &group, access)?
            }
        };
        self.opened.push(opened.clone());
        Ok(Some(opened))
    }

    /// A block, if it is a row group all of whose cells are visible, as far as it knows itself.
    fn passing(
        &self,
        file: &StoreFile,
        block: usize,
        access: &ReadAccess,
    ) -> Result<Option<Arc<ColumnarBlock>>> {
        let passes = |group: &Arc<ColumnarBlock>| {
            group.is_plain()
                && group.seqs().1 <= self.seq_max.0
                && group.timestamps().0 >= self.rules.timestamp_min
        };
        Ok(file.row_group(block, access)?.filter(passes))
    }

    /// The rows in `range` that lie in a block, in front of it if it is the first, and behind it up to the next one; `None`
    /// if that block is none of those that have rows in `range`, which is a stretch or some of it.
    fn part(&self, at: usize, block: Option<usize>, range: &KeyRange) -> Result<Option<Part>> {
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
        let (file, range) = (Arc::clone(file), KeyRange { start, end });
        Ok(Some(Part { at, file, block: number, range, cut_before, cut_behind }))
    }

    /// Begins with a row group; false if the block must be read as cells.
    fn take_up(&mut self, part: &Part, access: &ReadAccess) -> Result<bool> {
        let Part { file, block, .. } = part;
        let Some(group) = self.passing(file, *block, access)? else { return Ok(false) };
        let Some(rows) = rows_in(part, &group, access)? else { return Ok(false) };
        let begins = Some(Begin { rows: rows.len(), is_mixed: false });
        let Opened { group, file, block, memory } = reopened(file, *block, &group, access)?;
        self.group = Some(Group { group, file, block, rows, begins, memory });
        Ok(true)
    }

    /// Leaves out what is left of the row group whose rows were handed out last; how many rows.
    pub(crate) fn skip_group(&mut self) -> usize {
        if let Some(group) = &self.of_window {
            let is_of =
                |piece: &mut Piece| matches!(piece, Piece::Rows(rows) if Arc::ptr_eq(&rows.group, group));
            let skipped = std::iter::from_fn(|| self.window.pop_front_if(is_of));
            return skipped
                .map(|piece| if let Piece::Rows(rows) = piece { rows.rows.count() } else { 0 })
                .sum();
        }
        let Some(Group { rows, .. }) = &mut self.group else { return 0 };
        let left = rows.len();
        rows.start = rows.end;
        left
    }

    /// What comes next of the window or of the row group in hand.
    fn next_piece(&mut self) -> Option<Piece> {
        self.of_window = None;
        if let Some(piece) = self.window.pop_front() {
            if let Piece::Rows(rows) = &piece {
                self.of_window = Some(Arc::clone(&rows.group));
            }
            return Some(piece);
        }
        let Group { group, file, block, rows, begins, memory } = self.group.as_mut()?;
        if rows.start >= rows.end {
            self.group = None;
            return None;
        }
        let vector = rows.start / VECTOR;
        let end = rows.end.min((vector + 1) * VECTOR);
        let of_vector = rows.start - vector * VECTOR..end - vector * VECTOR;
        rows.start = end;
        Some(Piece::Rows(GroupRows {
            group: Arc::clone(group),
            vector,
            rows: Mask::of_range(of_vector),
            ranks: None,
            begins: begins.take(),
            file: Arc::clone(file),
            block: *block,
            _memory: Arc::clone(memory),
        }))
    }
}

impl Part {
    /// Leaves out the rows from this one on.
    fn end_before(&mut self, row: &[u8]) {
        if self.range.end.as_ref().is_none_or(|end| row < &end[..]) {
            self.range.end = Some(Bytes::copy_from_slice(row));
            self.cut_behind = true;
        }
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
    let tally = Tally::new(&access.counters, size_bytes.into());
    let shelf = (access.keep >= Keep::Stored).then(|| access.cache.shelf(file.owner(), block, tally));
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
        window.end_before(file.explained(reader.block_first_row(block + 1))?);
    }
    Ok(Some(block))
}

/// The rows of a group in a part of its rows; `None` if they are so few that they are found sooner among decoded cells, which the cache
/// has or shall have.
fn rows_in(part: &Part, group: &ColumnarBlock, access: &ReadAccess) -> Result<Option<Range<usize>>> {
    let Part { file, block, range: KeyRange { start, end }, cut_before, cut_behind, .. } = part;
    let block = *block;
    let explain = |error| file.explain(error, Some(block));
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
    let as_cells = is_short && (held.is_some() || file.is_worth_decoding((block, vector), group, access));
    Ok((!as_cells).then_some(rows))
}

/// [`ColumnarBlock::lower_bound`], without a look at the keys if that is the first row.
fn lower_bound(group: &ColumnarBlock, row: &[u8]) -> basalt_hfile::Result<usize> {
    match group.first_row_of(0)?.as_slice().cmp(row) {
        Ordering::Less => group.lower_bound(row),
        _ => Ok(0),
    }
}
