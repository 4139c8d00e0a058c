// SPDX-License-Identifier: Apache-2.0
//! Row groups of several files whose rows lie among each other, and among rows of memtables.
//!
//! A *window* is a range of keys in which each file has rows of one row group at most. Of these only the keys are merged. A row that one
//! side alone has passes as it is; the others, and those of memtables, are read as cells, and nothing but these.
//!
//! ```text
//! side 0, a group of file A     a   c d   f g          pass as they are    a c g of A, e of B
//! side 1, a group of file B           d e f            read as cells       b d f, of A, B and the memtable
//! cells, of a memtable            b
//! ```
//!
//! The keys of all sides but the largest are brought together in order, and each is looked for in the largest: there the keys of those vectors alone
//! are decoded in which it may be, unless it is nearly all of them.
//!
//! Rows come side by side, those that are read as cells at the end. For a reader who wants them in order each has a *rank*: the place of its key among
//! all keys of the window.

use std::ops::Range;
use std::sync::Arc;

use basalt_hfile::columnar::{KeyRows, Mask, VECTOR};
use basalt_hfile::{CellRun, ColumnarBlock};
use basalt_model::KeyRange;
use bytes::Bytes;

use super::{Begin, GroupRows, Taking};
use crate::Result;
use crate::read::cache::WorkingMemory;
use crate::read::cell_columns::CellColumns;
use crate::read::family::BoxedSource;
use crate::read::file::StoreFile;
use crate::read::source::{CellSource, RunList};

/// As many keys are looked for one by one in a side with so many times as many rows; more are merged with all of its own.
const LOOKUP_FACTOR: usize = 16;

/// Rows of one source that are read as cells, for which a window does not end sooner.
const ROWS_MAX: usize = 16 << 10;
/// Bytes of cells of a window, about, with which it ends.
const BYTES_MAX: usize = 8 << 20;

/// An open row group.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) group: Arc<ColumnarBlock>,
    pub(super) file: Arc<StoreFile>,
    pub(super) block: usize,
    pub(super) memory: Arc<WorkingMemory>,
}

impl Opened {
    pub(super) fn is(&self, file: &Arc<StoreFile>, block: usize) -> bool {
        self.block == block && Arc::ptr_eq(&self.file, file)
    }

    /// The first row that is not below `end`.
    pub(super) fn end_of(&self, end: Option<&[u8]>) -> Result<usize> {
        let bound = |end| super::lower_bound(&self.group, end);
        self.explained(end.map_or(Ok(self.group.rows()), bound))
    }

    pub(super) fn explained<T>(&self, result: basalt_hfile::Result<T>) -> Result<T> {
        result.map_err(|error| self.file.explain(error, Some(self.block)))
    }
}

/// The ranks of some rows of a row group.
#[derive(Debug, Clone)]
pub(crate) struct Ranks {
    first_row: usize,
    of_rows: Arc<[u32]>,
}

impl Ranks {
    /// The rank of a row of the group.
    pub(super) fn of(&self, row: usize) -> u32 {
        self.of_rows[row - self.first_row]
    }
}

/// What a row group has in a window.
#[derive(Debug)]
pub(super) struct Side {
    opened: Opened,
    rows: Range<usize>,
    /// For each vector with any of the rows: those that others have as well.
    shared: Vec<Mask>,
    /// Of its rows, if they have any.
    ranks: Vec<u32>,
}

impl Side {
    /// `rows` are not none.
    pub(super) fn new(opened: Opened, rows: Range<usize>) -> Self {
        let vectors = rows.end.div_ceil(VECTOR) - rows.start / VECTOR;
        Self { opened, rows, shared: vec![Mask::NONE; vectors], ranks: Vec::new() }
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn share(&mut self, row: usize) {
        self.shared[row / VECTOR - self.rows.start / VECTOR].set(row % VECTOR, true);
    }

    /// The vectors with any of the rows: number, these rows, and those of them that others have as well.
    fn vectors(&self) -> impl Iterator<Item = (usize, Mask, Mask)> {
        let rows = &self.rows;
        let vectors = (rows.start / VECTOR..).zip(&self.shared);
        vectors.map(|(vector, shared)| {
            let start = vector * VECTOR;
            let all = rows.start.max(start) - start..rows.end.min(start + VECTOR) - start;
            (vector, Mask::of_range(all), *shared)
        })
    }

    /// The rows that pass as they are, vector by vector.
    fn pieces(&self) -> Vec<GroupRows> {
        let ranks = (!self.ranks.is_empty())
            .then(|| Ranks { first_row: self.rows.start, of_rows: self.ranks.as_slice().into() });
        let shared: usize = self.shared.iter().map(Mask::count).sum();
        let mut begins = Some(Begin { rows: self.rows.len() - shared, is_mixed: shared > 0 });
        let Opened { group, file, block, memory } = &self.opened;
        let mut pieces = Vec::with_capacity(self.shared.len());
        for (vector, all, shared) in self.vectors() {
            let rows = all.without(shared);
            if !rows.is_none() {
                pieces.push(GroupRows {
                    group: Arc::clone(group),
                    vector,
                    rows,
                    ranks: ranks.clone(),
                    begins: begins.take(),
                    file: Arc::clone(file),
                    block: *block,
                    _memory: Arc::clone(memory),
                });
            }
        }
        pieces
    }

    /// The rows that others have as well, as a source of cells; `None` without any.
    fn shared_rows(&self, columns: &CellColumns) -> Option<SharedRows> {
        let vectors = self.vectors().filter(|(_, _, shared)| !shared.is_none());
        let vectors: Vec<_> = vectors.map(|(vector, _, shared)| (vector, shared)).collect();
        if vectors.is_empty() {
            return None;
        }
        let columns = columns.of_group(&self.opened.group).cloned();
        Some(SharedRows { opened: self.opened.clone(), vectors, columns, from: Vec::new(), next: 0 })
    }

    /// Bytes of its row keys, if they are numbers: see [`KeyRows::numbers`].
    fn number_width(&self) -> Result<Option<u32>> {
        let of_vector = self.opened.group.key_rows(self.rows.start / VECTOR);
        Ok(self.opened.explained(of_vector)?.number_width())
    }

    /// Its row keys in the window; as numbers of so many bytes, if they are.
    fn keys(&self, width: Option<u32>) -> Result<Keys> {
        let mut keys = Keys::default();
        for (vector, rows, _) in self.vectors() {
            let of_vector = self.opened.explained(self.opened.group.key_rows(vector))?;
            let rows = rows.as_range().unwrap_or_default();
            if let Some(numbers) = width.and_then(|width| heads_of(&of_vector, width)) {
                keys.heads.extend_from_slice(&numbers[rows]);
                continue;
            }
            for row in rows {
                let start = keys.bytes.len();
                self.opened.explained(of_vector.append(row, &mut keys.bytes))?;
                keys.heads.push(head_of(&keys.bytes[start..]));
                match width {
                    Some(_) => keys.bytes.truncate(start),
                    None => keys.ends.push(keys.bytes.len()),
                }
            }
        }
        Ok(keys)
    }
}

/// A row key, which compares by its first sixteen bytes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    head: u128,
    /// All of it; nothing where all keys are numbers of one width.
    bytes: &'a [u8],
}

/// The first bytes of a row, filled up with zeros, as a number.
fn head_of(row: &[u8]) -> u128 {
    let mut head = [0; 16];
    let len = row.len().min(head.len());
    head[..len].copy_from_slice(&row[..len]);
    u128::from_be_bytes(head)
}

/// The same of the rows of a vector, if they are numbers of so many bytes.
fn heads_of(rows: &KeyRows<'_>, width: u32) -> Option<Vec<u128>> {
    let mut numbers = rows.numbers()?;
    numbers.iter_mut().for_each(|number| *number <<= u128::BITS - 8 * width);
    Some(numbers)
}

/// Row keys one behind the other; of numbers only the heads.
#[derive(Default)]
struct Keys {
    heads: Vec<u128>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn iter(&self) -> impl Iterator<Item = Key<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut bytes = starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end]);
        self.heads.iter().map(move |&head| Key { head, bytes: bytes.next().unwrap_or_default() })
    }
}

/// A key of one of the smaller sides.
struct Entry<'a> {
    key: Key<'a>,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    /// A side and a row of it.
    Side(u32, u32),
    /// Among those that are read as cells in any case.
    Cells,
}

impl Place {
    fn of_side(self) -> Option<(usize, usize)> {
        match self {
            Self::Side(side, row) => Some((side as usize, row as usize)),
            Self::Cells => None,
        }
    }
}

/// The rows of a window.
pub(super) struct Woven {
    /// Those that pass as they are.
    pub(super) rows: Vec<GroupRows>,
    /// Sources of the others, which are read as cells.
    pub(super) sources: Vec<BoxedSource>,
    /// Of these others, in the order of their keys; `None` if rows have no ranks: they come in any order, or are all of one side.
    pub(super) ranks: Option<Vec<(Bytes, u32)>>,
}

/// Brings together what several sides have in a window.
pub(super) fn weave(mut sides: Vec<Side>, of_cells: OfCells, taking: &Taking) -> Result<Woven> {
    let is_mixed = sides.len() + usize::from(!of_cells.rows.is_empty()) > 1;
    let mut ranks = None;
    if is_mixed {
        let found = find_shared(&mut sides, &of_cells.rows, !taking.any_order)?;
        ranks = (!taking.any_order).then_some(found);
    }
    let rows = sides.iter().flat_map(Side::pieces).collect();
    let runs = of_cells.runs.into_iter().filter(|runs| !runs.is_empty());
    let runs = runs.map(|runs| Box::new(RunList::new(runs)) as BoxedSource);
    let shared = sides.iter().filter_map(|side| side.shared_rows(&taking.columns));
    let sources = runs.chain(shared.map(|shared| Box::new(shared) as BoxedSource)).collect();
    Ok(Woven { rows, sources, ranks })
}

/// Finds out which rows more than one side has, or a side and `of_cells`, which are in order and each there once. If rows are to be ranked,
/// the ranks of those that are read as cells.
fn find_shared(sides: &mut [Side], of_cells: &[Bytes], is_ranked: bool) -> Result<Vec<(Bytes, u32)>> {
    sides.sort_by_key(Side::row_count);
    let width = common_width(sides, of_cells)?;
    let mut ranks = vec![];
    let Some((largest, smaller)) = sides.split_last_mut() else { return Ok(ranks) };
    let keys = smaller.iter().map(|side| side.keys(width)).collect::<Result<Vec<_>>>()?;
    let key_of = |row| Key { head: head_of(row), bytes: if width.is_some() { &[] } else { row } };
    let mut entries: Vec<Entry<'_>> =
        of_cells.iter().map(|row| Entry { key: key_of(row), place: Place::Cells }).collect();
    for ((number, side), keys) in (0..).zip(&*smaller).zip(&keys) {
        let places = side.rows.clone().map(|row| Place::Side(number, row as u32));
        entries.extend(keys.iter().zip(places).map(|(key, place)| Entry { key, place }));
    }
    // The stable sort finds the sides, which are in order, and merges them.
    entries.sort_by_key(|entry| entry.key);
    let opened = largest.opened.clone();
    let (first, end) = (largest.rows.start, largest.rows.end);
    let mut search = Search::new(&opened, first..end, width, entries.len());
    // Keys that the largest side lacks, so far.
    let mut between = 0;
    for same in entries.chunk_by(|a, b| a.key == b.key) {
        let key = same[0].key;
        let (at, is_there) = search.lower_bound(key)?;
        let is_shared = is_there || same.len() > 1;
        if is_there {
            largest.share(at);
        }
        if is_shared {
            let places = same.iter().filter_map(|entry| entry.place.of_side());
            places.for_each(|(side, row)| smaller[side].share(row));
        }
        if !is_ranked {
            continue;
        }
        let rank = (at - first + between) as u32;
        largest.ranks.extend((largest.ranks.len()..at - first).map(|row| (row + between) as u32));
        // Within a side keys ascend, and each is there once.
        let places = same.iter().filter_map(|entry| entry.place.of_side());
        places.for_each(|(side, _)| smaller[side].ranks.push(rank));
        if is_shared || matches!(same[0].place, Place::Cells) {
            ranks.push((row_of(key, width), rank));
        }
        between += usize::from(!is_there);
    }
    if is_ranked {
        largest.ranks.extend((largest.ranks.len()..end - first).map(|row| (row + between) as u32));
    }
    Ok(ranks)
}

/// The width of all row keys of a window, if they are numbers of one.
fn common_width(sides: &[Side], of_cells: &[Bytes]) -> Result<Option<u32>> {
    let mut common = None;
    for side in sides {
        let width = side.number_width()?;
        if width.is_none() || common.is_some_and(|common| Some(common) != width) {
            return Ok(None);
        }
        common = width;
    }
    Ok(common.filter(|width| of_cells.iter().all(|row| row.len() == *width as usize)))
}

/// A key as a row.
fn row_of(key: Key<'_>, width: Option<u32>) -> Bytes {
    match width {
        Some(width) => Bytes::copy_from_slice(&key.head.to_be_bytes()[..width as usize]),
        None => Bytes::copy_from_slice(key.bytes),
    }
}

/// Looks for keys that ascend among the rows of a side.
struct Search<'a> {
    opened: &'a Opened,
    rows: Range<usize>,
    width: Option<u32>,
    is_merged: bool,
    /// The vector in hand, and its keys as numbers where they are and were needed.
    vector: Option<(usize, KeyRows<'a>)>,
    numbers: Vec<u128>,
    /// The first row that may still be one that is looked for, and its key once it was needed.
    next: usize,
    key: Vec<u8>,
}

impl<'a> Search<'a> {
    fn new(opened: &'a Opened, rows: Range<usize>, width: Option<u32>, wanted: usize) -> Self {
        let (is_merged, next) = (wanted * LOOKUP_FACTOR > rows.len(), rows.start);
        let (vector, numbers, key) = Default::default();
        Self { opened, rows, width, is_merged, vector, numbers, next, key }
    }

    fn keys_of(&mut self, vector: usize) -> Result<&KeyRows<'a>> {
        if self.vector.as_ref().is_none_or(|(known, _)| *known != vector) {
            self.numbers.clear();
            self.vector = Some((vector, self.opened.explained(self.opened.group.key_rows(vector))?));
        }
        Ok(&self.vector.as_ref().expect("set above").1)
    }

    /// The first row that is not below the key, and whether it is the key's.
    fn lower_bound(&mut self, key: Key<'_>) -> Result<(usize, bool)> {
        match (self.is_merged, self.width) {
            (false, width) => self.look_up(&row_of(key, width)),
            (true, None) => self.go_to(key.bytes),
            (true, Some(width)) => self.go_to_number(key.head, width),
        }
    }

    fn look_up(&mut self, row: &[u8]) -> Result<(usize, bool)> {
        let opened = self.opened;
        let vector = opened.explained(opened.group.vector_of_row(row))?;
        let (at, is_there) = opened.explained(self.keys_of(vector)?.lower_bound_of(row))?;
        Ok(((vector * VECTOR + at).clamp(self.rows.start, self.rows.end), is_there))
    }

    fn go_to(&mut self, row: &[u8]) -> Result<(usize, bool)> {
        while self.next < self.rows.end {
            if self.key.is_empty() {
                let (opened, next) = (self.opened, self.next);
                let mut own = std::mem::take(&mut self.key);
                opened.explained(self.keys_of(next / VECTOR)?.append(next % VECTOR, &mut own))?;
                self.key = own;
            }
            if self.key.as_slice() >= row {
                return Ok((self.next, self.key == row));
            }
            self.key.clear();
            self.next += 1;
        }
        Ok((self.rows.end, false))
    }

    fn go_to_number(&mut self, head: u128, width: u32) -> Result<(usize, bool)> {
        while self.next < self.rows.end {
            let vector = self.next / VECTOR;
            if self.vector.as_ref().is_none_or(|(known, _)| *known != vector) || self.numbers.is_empty() {
                let Some(numbers) = heads_of(self.keys_of(vector)?, width) else {
                    return self.go_to(&row_of(Key { head, bytes: &[] }, Some(width)));
                };
                self.numbers = numbers;
            }
            let start = vector * VECTOR;
            let rest =
                &self.numbers[self.next - start..self.rows.end.min(start + self.numbers.len()) - start];
            match rest.iter().position(|&own| own >= head) {
                Some(behind) => {
                    self.next += behind;
                    return Ok((self.next, rest[behind] == head));
                }
                None => self.next += rest.len(),
            }
        }
        Ok((self.rows.end, false))
    }
}

/// Rows that are read as cells in any case: what memtables have in a window, and files without row groups that can pass.
pub(super) struct OfCells {
    /// In order, each there once.
    pub(super) rows: Vec<Bytes>,
    /// What each source has there.
    runs: Vec<Vec<CellRun>>,
}

impl OfCells {
    /// What the sources have in a window, which is made to end sooner if that is more than `rows_max` rows of one of them, or many bytes.
    pub(super) fn read(sources: Vec<BoxedSource>, window: &mut KeyRange, rows_max: usize) -> Result<Self> {
        let rows_max = rows_max.max(ROWS_MAX);
        let (mut rows, mut runs): (Vec<Vec<Bytes>>, Vec<Vec<CellRun>>) = Default::default();
        let mut bytes = 0;
        for mut source in sources {
            let (mut own_rows, mut own_runs) = (vec![], vec![]);
            source.seek(&window.start);
            while let Some(run) = source.next_run(window.end.as_deref())? {
                let Some(run) = before(run, window.end.as_deref()) else { break };
                append_rows(&run, &mut own_rows);
                bytes += run.block.keys.len() + run.block.values.len();
                own_runs.push(run);
                // The last row may go on.
                if let [_, .., last] = &own_rows[..]
                    && (own_rows.len() > rows_max || bytes > BYTES_MAX)
                {
                    window.end = Some(last.clone());
                    break;
                }
            }
            rows.push(own_rows);
            runs.push(own_runs);
        }
        let end = window.end.as_deref();
        let is_before = |row: &Bytes| end.is_none_or(|end| &row[..] < end);
        let mut rows: Vec<Bytes> = rows.into_iter().flatten().filter(is_before).collect();
        rows.sort();
        rows.dedup();
        let inside = |runs: Vec<CellRun>| runs.into_iter().map_while(|run| before(run, end)).collect();
        Ok(Self { rows, runs: runs.into_iter().map(inside).collect() })
    }
}

/// What a run has of the rows below `end`; `None` if nothing.
fn before(CellRun { block, mut cells }: CellRun, end: Option<&[u8]>) -> Option<CellRun> {
    if let Some(end) = end {
        cells.end = cells.end.min(block.lower_bound_row(end)).max(cells.start);
    }
    (!cells.is_empty()).then_some(CellRun { block, cells })
}

/// Adds the rows of a run, the first of which may be there.
fn append_rows(CellRun { block, cells }: &CellRun, rows: &mut Vec<Bytes>) {
    let mut next = block.row_starts.partition_point(|&start| start as usize <= cells.start);
    let mut at = cells.start;
    while at < cells.end {
        let row = block.row(at);
        if at > cells.start || rows.last().is_none_or(|last| last != row) {
            rows.push(block.keys.slice_ref(row));
        }
        at = block.row_starts.get(next).map_or(cells.end, |&start| start as usize);
        next += 1;
    }
}

/// Some rows of a row group as a source of cells, a vector at a time.
struct SharedRows {
    opened: Opened,
    vectors: Vec<(usize, Mask)>,
    columns: Option<Arc<[Vec<u8>]>>,
    from: Vec<u8>,
    next: usize,
}

impl SharedRows {
    fn run(&self, at: usize) -> Result<CellRun> {
        let (vector, rows) = &self.vectors[at];
        let cells = self.opened.group.decode_rows(*vector, rows, self.columns.as_deref());
        let block = Arc::new(self.opened.explained(cells)?);
        let cells = block.lower_bound_row(&self.from)..block.len();
        Ok(CellRun { block, cells })
    }
}

impl CellSource for SharedRows {
    fn seek(&mut self, row: &[u8]) {
        (self.from, self.next) = (row.to_vec(), 0);
    }

    fn next_run(&mut self, _end: Option<&[u8]>) -> Result<Option<CellRun>> {
        while self.next < self.vectors.len() {
            self.next += 1;
            let run = self.run(self.next - 1)?;
            if !run.cells.is_empty() {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        for at in (0..self.vectors.len()).rev() {
            let CellRun { block, .. } = self.run(at)?;
            let end = before.map_or(block.len(), |before| block.lower_bound_row(before));
            if end > 0 {
                return Ok(Some(Bytes::copy_from_slice(block.row(end - 1))));
            }
        }
        Ok(None)
    }

    fn timestamp_min(&self) -> i64 {
        self.opened.file.meta().timestamp_min
    }
}
