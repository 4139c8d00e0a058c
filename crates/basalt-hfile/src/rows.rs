// SPDX-License-Identifier: Apache-2.0
//! Decoded rows in bulk: a block as runs of rows that have one form, and single cells between them.
//!
//! Most rows of most tables have the same columns as the row before, with values of the same lengths. Of such a row a
//! [`RowRun`] keeps four bytes (where its cells lie) or none at all, where [`CellBlock`] keeps 48 bytes a cell: everything
//! else is said once for the run, and found by adding offsets.
//!
//! ```text
//! columns of a run                                 V1       V2       _0        once: names, and where in a row
//! NONE, ROW_INDEX_V1   payload  | row 0 ....... | row 1 ....... | row 2        all rows equally long: nothing is kept
//! PREFIX               payload  | head | tail 0 ...... | head | tail 1         where each tail begins; the row keys, rebuilt
//! DIFF, FAST_DIFF                                                              and the timestamps
//! ```
//!
//! [`RowBlock::parts`] gives the runs to readers that work by column, [`RowBlock::for_each_cell`] gives every cell to those
//! that do not. A row lies in one part as a whole.

mod timestamps;

use std::ops::Range;

use basalt_model::{CellRef, CellType, Seq};
use bytes::Bytes;

use crate::cells::{CellBlock, CellSlot};
use crate::encoding::CellLayout;
use crate::key::KEY_OVERHEAD;
pub(crate) use timestamps::Timestamps;

/// A decoded block: stretches of rows of one form, and of cells that have none, in key order.
#[derive(Debug, Clone, Default)]
pub struct RowBlock {
    /// The cells that are in no run, and the names of those that are.
    cells: CellBlock,
    parts: Vec<Part>,
    len: usize,
}

#[derive(Debug, Clone)]
enum Part {
    /// Some of the single cells.
    Cells(Range<usize>),
    Rows(RowRun),
}

/// A stretch of a block, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum RowPart<'a> {
    /// Cells `first..end` of a block of cells; whole rows.
    Cells {
        /// The block.
        block: &'a CellBlock,
        /// The first cell.
        first: usize,
        /// Behind the last cell.
        end: usize,
    },
    /// Rows of one form.
    Rows(Rows<'a>),
}

/// What a decoder has so far of the parts of a block.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    parts: Vec<Part>,
    /// Single cells that are in a part.
    cells: usize,
    len: usize,
}

/// Rows of one form. All are puts without tags, and no column is there twice.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowRun {
    pub(crate) rows: usize,
    /// One for each cell of a row.
    pub(crate) columns: Vec<RowColumn>,
    /// Where rows lie in the payload.
    pub(crate) places: Places,
    pub(crate) row_len: usize,
    pub(crate) timestamps: Timestamps,
}

/// Where the rows of a run, and their keys, lie.
#[derive(Debug, Clone)]
pub(crate) enum Places {
    /// Row after row from `start` on, `stride` bytes each; the key is at `key_at` of each. `layout`: of the raw cells that they
    /// are, unless their numbers are not the stored ones.
    Even { start: usize, stride: usize, key_at: usize, layout: Option<CellLayout> },
    /// At these offsets; the keys lie back to back in `keys` from `keys_at` on.
    Listed { offsets: Vec<u32>, keys: Vec<u8>, keys_at: usize },
}

impl Default for Places {
    fn default() -> Self {
        Self::Listed { offsets: Vec::new(), keys: Vec::new(), keys_at: 0 }
    }
}

/// What the cells of a column have in common. Offsets count from where a row lies.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowColumn {
    /// Family length, family and qualifier, in the keys of the block.
    pub(crate) name_at: u32,
    pub(crate) family_len: u8,
    pub(crate) qualifier_len: u32,
    pub(crate) value_at: u32,
    pub(crate) value_len: u32,
    /// Eight bytes, if the timestamps lie in the payload.
    pub(crate) timestamp_at: u32,
    /// The number, but for the bits of `seq_mask`.
    pub(crate) seq: u64,
    /// One byte, of which `seq_mask` is used.
    pub(crate) seq_at: u32,
    pub(crate) seq_mask: u8,
}

impl RowRun {
    /// True if the rows lie at these offsets (big-endian).
    fn begins_at(&self, stored: &[[u8; 4]]) -> bool {
        let Places::Even { start, stride, .. } = self.places else { return false };
        // Without a branch a row, so that several are compared at once; four bytes hold all offsets of a payload.
        let expected =
            (0..stored.len() as u32).map(|row| (start as u32).wrapping_add(row.wrapping_mul(stride as u32)));
        let differ = |(stored, expected): (&[u8; 4], u32)| u32::from_be_bytes(*stored) ^ expected;
        stored.iter().zip(expected).map(differ).fold(0, |all, differ| all | differ) == 0
    }
}

impl RowColumn {
    /// The column of a cell of one of the rows: its timestamp and where its number lies are still to be said.
    pub(crate) fn of_slot(slot: &CellSlot, name_at: u32, value_at: u32) -> Self {
        Self {
            name_at,
            family_len: slot.family_len,
            qualifier_len: slot.qualifier_len,
            value_at,
            value_len: slot.value_len,
            timestamp_at: 0,
            seq: slot.seq.0,
            seq_at: 0,
            seq_mask: 0,
        }
    }

    /// The last byte of the number lies here, in every row.
    pub(crate) fn let_seq_vary(&mut self, seq_at: u32) {
        self.seq &= !0xff;
        self.seq_at = seq_at;
        self.seq_mask = 0xff;
    }
}

impl Parts {
    /// Adds a run that follows `cells` single cells.
    pub(crate) fn push(&mut self, cells: usize, run: RowRun) {
        self.push_cells(cells);
        self.len += run.rows * run.columns.len();
        self.parts.push(Part::Rows(run));
    }

    fn push_cells(&mut self, cells: usize) {
        if cells > self.cells {
            self.parts.push(Part::Cells(self.cells..cells));
            self.len += cells - self.cells;
            self.cells = cells;
        }
    }

    /// The block, all of whose single cells are `cells`.
    pub(crate) fn into_block(mut self, cells: CellBlock) -> RowBlock {
        self.push_cells(cells.len());
        RowBlock { cells, parts: self.parts, len: self.len }
    }
}

impl From<CellBlock> for RowBlock {
    fn from(cells: CellBlock) -> Self {
        Parts::default().into_block(cells)
    }
}

impl RowBlock {
    /// Number of cells.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if every cell is a put and no two cells of a row share family and qualifier, as [`CellBlock::plain`].
    pub fn is_plain(&self) -> bool {
        self.cells.plain
    }

    /// The stretches, in order.
    pub fn parts(&self) -> impl Iterator<Item = RowPart<'_>> {
        self.parts.iter().map(|part| match part {
            Part::Cells(cells) => RowPart::Cells { block: &self.cells, first: cells.start, end: cells.end },
            Part::Rows(run) => {
                RowPart::Rows(Rows { run, payload: &self.cells.values, names: &self.cells.keys })
            }
        })
    }

    /// Every cell, in order.
    #[inline]
    pub fn for_each_cell(&self, mut visit: impl FnMut(&CellRef<'_>)) {
        self.fold_cells((), |(), cell| visit(cell));
    }

    /// `start` put through `add` with every cell, in order: what adds up is nearer than behind a reference.
    #[inline]
    pub fn fold_cells<A>(&self, start: A, mut add: impl FnMut(A, &CellRef<'_>) -> A) -> A {
        self.parts().fold(start, |sum, part| match part {
            RowPart::Cells { block, first, end } => {
                (first..end).fold(sum, |sum, at| add(sum, &block.cell(at)))
            }
            RowPart::Rows(rows) => rows.fold_cells(sum, &mut add),
        })
    }

    /// As [`Self::for_each_cell`], until a visit fails.
    pub fn try_for_each_cell<E>(
        &self,
        mut visit: impl FnMut(&CellRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for part in self.parts() {
            match part {
                RowPart::Cells { block, first, end } => {
                    (first..end).try_for_each(|at| visit(&block.cell(at)))?
                }
                RowPart::Rows(rows) => {
                    for row in 0..rows.len() {
                        (0..rows.columns()).try_for_each(|column| visit(&rows.cell(row, column)))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The first and the last cell; no run is at an end of a block.
    pub(crate) fn ends(&self) -> Option<(CellRef<'_>, CellRef<'_>)> {
        let last = self.cells.len().checked_sub(1)?;
        Some((self.cells.cell(0), self.cells.cell(last)))
    }

    /// True if the rows of a block whose keys lie in its payload begin at these offsets (big-endian), all of them.
    pub(crate) fn rows_begin_at(&self, mut stored: &[[u8; 4]]) -> bool {
        let row_of = |cell: usize| self.cells.row_starts.partition_point(|&start| (start as usize) < cell);
        self.parts.iter().all(|part| match part {
            Part::Rows(run) => stored.split_off(..run.rows).is_some_and(|here| run.begins_at(here)),
            Part::Cells(cells) => {
                let rows = row_of(cells.start)..row_of(cells.end);
                stored.split_off(..rows.len()).is_some_and(|here| self.cells_begin_at(rows.start, here))
            }
        }) && stored.is_empty()
    }

    fn cells_begin_at(&self, first: usize, stored: &[[u8; 4]]) -> bool {
        // A slot's key begins behind the two lengths of the cell.
        let offset = |&cell: &u32| self.cells.slots[cell as usize].key - 8;
        let rows = &self.cells.row_starts[first..first + stored.len()];
        rows.iter().zip(stored).all(|(cell, stored)| offset(cell) == u32::from_be_bytes(*stored))
    }

    /// Memory that the block holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let of_run = |run: &RowRun| {
            let places = match &run.places {
                Places::Even { .. } => 0,
                Places::Listed { offsets, keys, .. } => 4 * offsets.capacity() + keys.capacity(),
            };
            places + run.timestamps.memory_bytes() + run.columns.capacity() * size_of::<RowColumn>()
        };
        let runs = self.parts.iter().map(|part| match part {
            Part::Cells(_) => 0,
            Part::Rows(run) => of_run(run),
        });
        self.cells.memory_bytes() + self.parts.capacity() * size_of::<Part>() + runs.sum::<usize>()
    }
}

/// Rows of one form, borrowed: every row has the same columns, with values of the same lengths. All cells are puts without tags.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    run: &'a RowRun,
    payload: &'a Bytes,
    names: &'a Bytes,
}

impl<'a> Rows<'a> {
    /// Number of rows.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a run has rows")]
    pub fn len(&self) -> usize {
        self.run.rows
    }

    /// Number of columns, which is that of the cells of a row.
    #[inline]
    pub fn columns(&self) -> usize {
        self.run.columns.len()
    }

    /// Family and qualifier of a column.
    #[inline]
    pub fn name(&self, column: usize) -> (&'a [u8], &'a [u8]) {
        self.name_of(&self.run.columns[column])
    }

    #[inline(always)]
    fn name_of(&self, column: &RowColumn) -> (&'a [u8], &'a [u8]) {
        let family_at = column.name_at as usize + 1;
        let qualifier_at = family_at + column.family_len as usize;
        let end = qualifier_at + column.qualifier_len as usize;
        (&self.names[family_at..qualifier_at], &self.names[qualifier_at..end])
    }

    /// Key of row `row`.
    #[inline]
    pub fn row(&self, row: usize) -> &'a [u8] {
        self.key_and_bytes(row).0
    }

    /// The key of a row, and the payload from where the row lies.
    #[inline(always)]
    fn key_and_bytes(&self, row: usize) -> (&'a [u8], &'a [u8]) {
        let row_len = self.run.row_len;
        match &self.run.places {
            Places::Even { start, stride, key_at, .. } => {
                let bytes = &self.payload[start + row * stride..];
                (&bytes[*key_at..key_at + row_len], bytes)
            }
            Places::Listed { offsets, keys, keys_at } => {
                let (bytes, key_at) = (&self.payload[offsets[row] as usize..], keys_at + row * row_len);
                (&keys[key_at..key_at + row_len], bytes)
            }
        }
    }

    /// Value of a cell.
    #[inline]
    pub fn value(&self, row: usize, column: usize) -> &'a [u8] {
        value_of(self.key_and_bytes(row).1, &self.run.columns[column])
    }

    /// Length of every value of a column.
    #[inline]
    pub fn value_len(&self, column: usize) -> usize {
        self.run.columns[column].value_len as usize
    }

    /// The rows as raw cells, back to back, if that is how they lie in their block.
    pub(crate) fn raw(&self) -> Option<RawRun<'a>> {
        let Places::Even { start, stride, layout, .. } = self.run.places else { return None };
        let bytes = &self.payload[start..start + self.run.rows * stride];
        let names = |column: &RowColumn| column.family_len as usize + column.qualifier_len as usize;
        let columns = &self.run.columns;
        Some(RawRun {
            layout: layout?,
            bytes,
            stride,
            key_bytes: columns.iter().map(|column| KEY_OVERHEAD + self.run.row_len + names(column)).sum(),
            value_bytes: columns.iter().map(|column| column.value_len as usize).sum(),
        })
    }

    /// Timestamp and number of each cell of a row.
    #[inline(always)]
    pub(crate) fn versions(&self, row: usize) -> impl Iterator<Item = (i64, Seq)> {
        let (_, bytes) = self.key_and_bytes(row);
        let timestamps = self.run.timestamps.of_row(row, self.run.columns.len()).unwrap_or_default();
        self.run.columns.iter().enumerate().map(move |(at, column)| {
            let timestamp = timestamps.get(at).copied();
            (timestamp.unwrap_or_else(|| stored_timestamp(bytes, column)), seq_of(bytes, column))
        })
    }

    /// The cells of a row.
    #[inline(always)]
    pub(crate) fn cells_of(&self, row: usize) -> impl Iterator<Item = CellRef<'a>> {
        let ((key, bytes), rows) = (self.key_and_bytes(row), *self);
        self.run
            .columns
            .iter()
            .zip(self.versions(row))
            .map(move |(column, (timestamp, _))| cell_of(key, bytes, rows.name_of(column), column, timestamp))
    }

    /// One cell.
    #[inline]
    pub fn cell(&self, row: usize, column: usize) -> CellRef<'a> {
        let (key, bytes) = self.key_and_bytes(row);
        let columns = &self.run.columns;
        let timestamp = match self.run.timestamps.of_row(row, columns.len()) {
            Some(timestamps) => timestamps[column],
            None => stored_timestamp(bytes, &columns[column]),
        };
        cell_of(key, bytes, self.name(column), &columns[column], timestamp)
    }

    /// Every cell, row by row.
    #[inline]
    pub fn for_each_cell(&self, mut visit: impl FnMut(&CellRef<'a>)) {
        self.fold_cells((), |(), cell| visit(cell));
    }

    /// `start` put through `add` with every cell, row by row.
    #[inline]
    pub fn fold_cells<A>(&self, start: A, add: impl FnMut(A, &CellRef<'a>) -> A) -> A {
        // A loop for each usual number of columns, in which the compiler keeps what all rows share.
        match self.columns() {
            1 => self.fold::<1, A>(start, add),
            2 => self.fold::<2, A>(start, add),
            3 => self.fold::<3, A>(start, add),
            4 => self.fold::<4, A>(start, add),
            5 => self.fold::<5, A>(start, add),
            6 => self.fold::<6, A>(start, add),
            7 => self.fold::<7, A>(start, add),
            8 => self.fold::<8, A>(start, add),
            _ => self.fold_wide(start, add),
        }
    }

    /// [`Self::fold_cells`] of rows of this many columns.
    fn fold<const COLUMNS: usize, A>(&self, start: A, mut add: impl FnMut(A, &CellRef<'a>) -> A) -> A {
        let Some(columns) = self.run.columns.first_chunk::<COLUMNS>() else { return start };
        let columns = columns.each_ref().map(|column| (self.name_of(column), *column));
        let (row_len, mut sum) = (self.run.row_len, start);
        match &self.run.places {
            Places::Even { start, stride, key_at, .. } => {
                for bytes in self.payload[*start..].chunks_exact(*stride).take(self.run.rows) {
                    let key = &bytes[*key_at..key_at + row_len];
                    sum = fold_row(sum, &mut add, key, bytes, &columns, None);
                }
            }
            Places::Listed { offsets, keys, keys_at } => {
                let rows = keys[*keys_at..].chunks_exact(row_len).zip(offsets);
                for (row, (key, &at)) in rows.enumerate() {
                    let list = self.run.timestamps.of_row(row, COLUMNS).and_then(|list| list.first_chunk());
                    sum = fold_row(sum, &mut add, key, &self.payload[at as usize..], &columns, list);
                }
            }
        }
        sum
    }

    #[cold]
    fn fold_wide<A>(&self, start: A, mut add: impl FnMut(A, &CellRef<'a>) -> A) -> A {
        let columns: Vec<_> = self.run.columns.iter().map(|column| (self.name_of(column), *column)).collect();
        let mut sum = start;
        for row in 0..self.run.rows {
            let (key, bytes) = self.key_and_bytes(row);
            for ((name, column), (timestamp, _)) in columns.iter().zip(self.versions(row)) {
                sum = add(sum, &cell_of(key, bytes, *name, column, timestamp));
            }
        }
        sum
    }
}

/// Family and qualifier of a column, and where its cells lie.
type NamedColumn<'a> = ((&'a [u8], &'a [u8]), RowColumn);

/// `sum` put through `add` with every cell of a row, whose timestamps are those of `list` if there is one, else stored.
#[inline(always)]
fn fold_row<'a, const COLUMNS: usize, A>(
    mut sum: A,
    add: &mut impl FnMut(A, &CellRef<'a>) -> A,
    key: &'a [u8],
    bytes: &'a [u8],
    columns: &[NamedColumn<'a>; COLUMNS],
    list: Option<&[i64; COLUMNS]>,
) -> A {
    for (at, (name, column)) in columns.iter().enumerate() {
        let timestamp = list.map_or_else(|| stored_timestamp(bytes, column), |list| list[at]);
        sum = add(sum, &cell_of(key, bytes, *name, column, timestamp));
    }
    sum
}

/// Rows as they lie in a block of raw cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawRun<'a> {
    pub(crate) layout: CellLayout,
    /// All rows.
    pub(crate) bytes: &'a [u8],
    /// Bytes of a row.
    pub(crate) stride: usize,
    /// Bytes of the flat keys of a row.
    pub(crate) key_bytes: usize,
    /// Bytes of the values of a row.
    pub(crate) value_bytes: usize,
}

#[inline(always)]
fn value_of<'a>(bytes: &'a [u8], column: &RowColumn) -> &'a [u8] {
    &bytes[column.value_at as usize..column.value_at as usize + column.value_len as usize]
}

#[inline(always)]
fn stored_timestamp(bytes: &[u8], column: &RowColumn) -> i64 {
    bytes[column.timestamp_at as usize..].first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
}

/// The number of a cell. It lies in the row: no panic for the compiler to keep where nobody wants the number.
#[inline(always)]
fn seq_of(bytes: &[u8], column: &RowColumn) -> Seq {
    let varying = bytes.get(column.seq_at as usize).copied().unwrap_or_default();
    Seq(column.seq | u64::from(varying & column.seq_mask))
}

#[inline(always)]
fn cell_of<'a>(
    row: &'a [u8],
    bytes: &'a [u8],
    (family, qualifier): (&'a [u8], &'a [u8]),
    column: &RowColumn,
    timestamp: i64,
) -> CellRef<'a> {
    CellRef {
        row,
        family,
        qualifier,
        timestamp,
        cell_type: CellType::Put,
        value: value_of(bytes, column),
        seq: seq_of(bytes, column),
        tags: b"",
    }
}
