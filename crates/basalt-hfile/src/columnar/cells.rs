// SPDX-License-Identifier: Apache-2.0
//! Rows of a block as cells: for merges, compactions, gets, and everything else that works cell by cell.
//!
//! A *part* is the rows of one vector. Its columns are decoded one after the other, then its cells are put in
//! order, row by row.

mod alike;
mod wanted;

use std::ops::Range;

use basalt_model::{CellRef, CellType, Seq};
use bytes::Bytes;

use self::wanted::RowsWanted;
use super::block::ColumnarBlock;
use super::form::Form;
use super::head::{ALL_CELLS, Kind};
use super::mask::Mask;
use super::rows::KeyRows;
use super::section::Section;
use super::strings::{Span, Strings};
use crate::cells::{CellBlock, CellSlot, RowFronts};
use crate::encoding::cursor::CellCursor;
use crate::error::{Damage, Error, Result};
use crate::key::FlatKey;

/// Cells of a column in one vector that a block may claim.
const VECTOR_CELLS_MAX: usize = 1 << 16;

/// Values that are not empty, of some cells.
pub(super) enum Values {
    Ints(Vec<u64>),
    Texts(Strings),
}

/// Which of some cells have a value that is not empty; `None`: all.
type Filled = Option<Vec<u64>>;

/// One column of a vector, decoded.
struct ColumnPart<'a> {
    qualifier: &'a [u8],
    form: Form,
    /// Cells of each row; `None`: one.
    counts: Option<Vec<u64>>,
    filled: Filled,
    values: Values,
    stamps: Option<Stamps>,
}

/// Timestamps, types and sequence numbers, per row or per cell.
struct Stamps {
    timestamps: Numbers,
    types: Numbers,
    seqs: Numbers,
}

/// Numbers of cells, which are often one.
enum Numbers {
    One(u64),
    Each(Vec<u64>),
}

impl Numbers {
    #[inline]
    fn get(&self, index: usize) -> u64 {
        match self {
            Self::One(number) => *number,
            Self::Each(numbers) => numbers[index],
        }
    }
}

impl ColumnarBlock {
    /// The numbers of a section, or `None` without it; each at most `max`, unless that is `u64::MAX`.
    pub(super) fn numbers(
        &self,
        kind: Kind,
        subject: u16,
        vector: usize,
        count: usize,
        max: u64,
    ) -> Result<Filled> {
        let Some(integers) = self.integers_of(kind, subject)? else { return Ok(None) };
        let numbers: Vec<u64> = integers.get(vector, count)?;
        if numbers.iter().any(|&number| number > max) {
            return Err(self.corrupt(format!("{kind:?} of {subject} is above {max}")));
        }
        Ok(Some(numbers))
    }

    /// The values of `count` cells that are not empty, and which those are.
    pub(super) fn values(
        &self,
        (filled, values, subject): (Kind, Kind, u16),
        form: Form,
        vector: usize,
        count: usize,
    ) -> Result<(Filled, Values)> {
        let filled = self.numbers(filled, subject, vector, count, 1)?;
        let count = filled.as_ref().map_or(count, |filled| filled.iter().sum::<u64>() as usize);
        let values = match self.integers_of(values, subject)? {
            None if count == 0 => Values::Texts(Strings::default()),
            None => return Err(self.corrupt(format!("{values:?} of {subject} are missing"))),
            // A vector without values has no bytes in a section that has others.
            Some(stored) if form.is_text() => Values::Texts(stored.section().texts(vector, count)?),
            Some(stored) => Values::Ints(stored.get(vector, count)?),
        };
        Ok((filled, values))
    }

    /// Cells of each row of a vector; `None`: one.
    pub(super) fn counts(&self, column: u16, vector: usize) -> Result<Filled> {
        let counts =
            self.numbers(Kind::Presence, column, vector, self.rows_of(vector), VECTOR_CELLS_MAX as u64)?;
        if counts.as_ref().is_some_and(|counts| counts.iter().sum::<u64>() > VECTOR_CELLS_MAX as u64) {
            return Err(
                self.corrupt(format!("column {column} has more than {VECTOR_CELLS_MAX} cells in a vector"))
            );
        }
        Ok(counts)
    }

    fn stamps(&self, subject: u16, vector: usize, count: usize) -> Result<Option<Stamps>> {
        let get = |kind, max| match self.section(kind, subject)?.and_then(Section::one_int) {
            Some(number) if number as u64 <= max => Ok(Some(Numbers::One(number as u64))),
            _ => Ok(self.numbers(kind, subject, vector, count, max)?.map(Numbers::Each)),
        };
        let Some(timestamps) = get(Kind::Timestamps, u64::MAX)? else { return Ok(None) };
        let (types, seqs) = (get(Kind::Types, u8::MAX.into())?, get(Kind::Seqs, i64::MAX as u64)?);
        match types.zip(seqs) {
            Some((types, seqs)) => Ok(Some(Stamps { timestamps, types, seqs })),
            None => Err(self.corrupt("cells without types or sequence numbers")),
        }
    }

    fn column_part(&self, number: usize, vector: usize) -> Result<ColumnPart<'_>> {
        let (column, subject) = (self.column_head(number), number as u16);
        let counts = self.counts(subject, vector)?;
        let cells =
            counts.as_ref().map_or(self.rows_of(vector), |counts| counts.iter().sum::<u64>() as usize);
        if cells > column.cells as usize {
            let what = format!("column {number} has {cells} cells in a vector and {} in all", column.cells);
            return Err(self.corrupt(what));
        }
        let kinds = (Kind::Filled, Kind::Values, subject);
        let (filled, values) = self.values(kinds, column.form, vector, cells)?;
        let stamps = self.stamps(subject, vector, cells)?;
        Ok(ColumnPart { qualifier: &column.qualifier, form: column.form, counts, filled, values, stamps })
    }

    /// The cells of some vectors' rows.
    pub fn decode(&self, vectors: Range<usize>) -> Result<CellBlock> {
        let mut cells = CellsBuilder::default();
        for vector in vectors {
            cells.add(self, vector, &RowsWanted::All, None)?;
        }
        Ok(cells.finish())
    }

    /// The cells of one row; none if it is not in the block. With `columns`, sorted, only those of these qualifiers, and no other
    /// column's values are read.
    pub fn decode_row(&self, row: &[u8], columns: Option<&[Vec<u8>]>) -> Result<CellBlock> {
        let mut cells = CellsBuilder::default();
        cells.add(self, self.vector_of_row(row)?, &RowsWanted::One(row), columns)?;
        Ok(cells.finish())
    }

    /// The cells of some rows of a vector; with `columns` as of [`Self::decode_row`].
    pub fn decode_rows(&self, vector: usize, rows: &Mask, columns: Option<&[Vec<u8>]>) -> Result<CellBlock> {
        let mut cells = CellsBuilder::default();
        cells.add(self, vector, &RowsWanted::Some(rows), columns)?;
        Ok(cells.finish())
    }

    /// The cells of these rows, which ascend, as far as they are in a vector; with `columns` as of [`Self::decode_row`]. The vector is decoded once.
    pub fn decode_these(
        &self,
        vector: usize,
        rows: &[&[u8]],
        columns: Option<&[Vec<u8>]>,
    ) -> Result<CellBlock> {
        let mut cells = CellsBuilder::default();
        cells.add(self, vector, &RowsWanted::These(rows), columns)?;
        Ok(cells.finish())
    }

    /// True if every row has exactly one cell of this qualifier.
    pub fn is_in_every_row(&self, qualifier: &[u8]) -> bool {
        let presence = |column: usize| self.head.number(Kind::Presence, column as u16);
        self.column(qualifier).is_some_and(|column| presence(column).is_none())
    }
}

impl Values {
    /// Appends the bytes of a value.
    #[inline]
    pub(super) fn append(&self, index: usize, form: Form, out: &mut Vec<u8>) -> Result<(), Damage> {
        match self {
            Self::Ints(values) => form.append(values[index] as i64, out),
            Self::Texts(values) => {
                out.extend_from_slice(values.get(index));
                Ok(())
            }
        }
    }
}

/// Cells for which there is room to begin with: what a block claims beyond that has to be there.
const CELLS_EXPECTED_MAX: usize = 1 << 16;

/// Cells being put in order.
#[derive(Default)]
struct CellsBuilder {
    keys: Vec<u8>,
    values: Vec<u8>,
    /// In place of `values`: the strings of the only column, as they were decoded.
    shared_values: Option<Bytes>,
    slots: Vec<CellSlot>,
    row_starts: Vec<u32>,
    overlapping: bool,
}

fn check_bytes(bytes: usize, bytes_max: usize) -> Result<(), Damage> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Damage::new(0, format!("cells of {bytes} bytes, {bytes_max} are the most")))
}

/// The index must say of the rows what they are.
fn check_index(block: &ColumnarBlock, vector: usize, rows: &KeyRows<'_>) -> Result<()> {
    let index = block.key_index()?;
    let is_last = vector + 1 == block.vectors();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    rows.append(0, &mut first)?;
    rows.append(rows.len() - 1, &mut last)?;
    let agrees = first == index.get(vector) && (!is_last || last == index.get(index.len() - 1));
    if agrees { Ok(()) } else { Err(block.corrupt("the key index is not that of the rows")) }
}

/// A column whose values are in the buffer.
struct ReadyColumn<'a> {
    part: ColumnPart<'a>,
    /// Family length, family and qualifier.
    name: Vec<u8>,
    spans: Vec<Span>,
    /// The first cell of each range of rows, counted from the vector's first.
    firsts: Vec<usize>,
    /// The next cell, counted from the vector's first and from the first with a span.
    next: usize,
    next_span: usize,
}

impl CellsBuilder {
    /// Adds rows of a vector, with their cells in these columns, or in all.
    fn add(
        &mut self,
        block: &ColumnarBlock,
        vector: usize,
        wanted: &RowsWanted<'_>,
        names: Option<&[Vec<u8>]>,
    ) -> Result<()> {
        let is_all = matches!(wanted, RowsWanted::All);
        // Who takes all rows of this vector goes on with the next.
        let next = is_all.then_some(vector + 1);
        block.ask_for(next, 0);
        let rows = block.key_rows(vector)?;
        block.ask_for(next, 1);
        if is_all {
            check_index(block, vector, &rows)?;
        }
        let wanted = wanted.ranges(&rows)?;
        let Some(first) = wanted.first().map(|range| range.start) else { return Ok(()) };
        let row_stamps = block.stamps(ALL_CELLS, vector, rows.len())?;
        let mut columns = Vec::with_capacity(names.map_or(block.head.columns.len(), <[_]>::len));
        let mut text_bytes = 0;
        for (number, head) in block.head.columns.iter().enumerate() {
            if names.is_some_and(|names| names.binary_search(&head.qualifier).is_err()) {
                continue;
            }
            let part = block.column_part(number, vector)?;
            if part.stamps.is_none() && row_stamps.is_none() {
                return Err(block.corrupt("cells without timestamps"));
            }
            if let Values::Texts(strings) = &part.values {
                text_bytes += strings.bytes.len();
            }
            let ready = check_bytes(text_bytes, block.source.bytes_max);
            self.share_values(block, &part, is_all);
            let ready = ready.and_then(|()| self.ready(part, &block.head.family, &wanted));
            columns.push(ready.map_err(|damage| block.source.corrupt(damage))?);
        }
        block.ask_for(next, 2);
        let count = wanted.iter().map(Range::len).sum::<usize>();
        let cells = (count * columns.len()).min(CELLS_EXPECTED_MAX);
        self.slots.reserve(cells);
        self.row_starts.reserve(count);
        if is_all
            && self
                .add_alike(block, &rows, &columns, row_stamps.as_ref())
                .map_err(|damage| block.source.corrupt(damage))?
        {
            block.ask_for(next, 3);
            return Ok(());
        }
        for (number, range) in wanted.into_iter().enumerate() {
            columns.iter_mut().for_each(|column| column.next = column.firsts[number]);
            for index in range {
                let row_at = self.keys.len();
                self.keys.extend_from_slice(&[0; 2]);
                rows.append(index, &mut self.keys)?;
                if index == first {
                    let names: usize =
                        columns.iter().map(|column| column.name.len() + self.keys.len() - row_at).sum();
                    self.keys.reserve((cells / columns.len().max(1) * names).min(block.source.bytes_max));
                }
                self.add_row(block, row_at, index, &mut columns, row_stamps.as_ref())
                    .map_err(|damage| block.source.corrupt(damage))?;
            }
        }
        Ok(())
    }

    /// The strings of an only column are not copied, if all of them become cells: they lie as they shall.
    fn share_values(&mut self, block: &ColumnarBlock, part: &ColumnPart<'_>, is_all: bool) {
        let alone = block.head.columns.len() == 1 && self.slots.is_empty() && is_all;
        if let Values::Texts(strings) = &part.values
            && alone
        {
            self.shared_values = Some(strings.bytes.clone());
        }
    }

    /// Puts the values of some rows of a column into the buffer.
    fn ready<'a>(
        &mut self,
        part: ColumnPart<'a>,
        family: &[u8],
        rows: &[Range<usize>],
    ) -> Result<ReadyColumn<'a>, Damage> {
        if let Some(shared) = self.shared_values.take_if(|_| !self.slots.is_empty()) {
            // Another vector follows after all.
            self.values.extend_from_slice(&shared);
        }
        let cells_in = |rows: Range<usize>| match &part.counts {
            None => rows.len(),
            Some(counts) => counts[rows].iter().sum::<u64>() as usize,
        };
        let values_in = |cells: Range<usize>| match &part.filled {
            None => cells.len(),
            Some(filled) => filled[cells].iter().sum::<u64>() as usize,
        };
        let (mut wanted, mut firsts) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        // Rows, cells and values before those that come next.
        let (mut row, mut cell, mut value) = (0, 0, 0);
        for range in rows {
            let first_cell = cell + cells_in(row..range.start);
            let first = value + values_in(cell..first_cell);
            (row, cell) = (range.end, first_cell + cells_in(range.clone()));
            value = first + values_in(first_cell..cell);
            firsts.push(first_cell);
            wanted.push(first..value);
        }
        let spans = self.append_values(&part, &wanted)?;
        let name = [&[family.len() as u8], family, part.qualifier].concat();
        Ok(ReadyColumn { part, name, spans, firsts, next: 0, next_span: 0 })
    }

    /// Puts some values of a column into the buffer; returns where each then lies.
    fn append_values(&mut self, part: &ColumnPart<'_>, wanted: &[Range<usize>]) -> Result<Vec<Span>, Damage> {
        let count = wanted.iter().map(Range::len).sum();
        let mut spans = Vec::with_capacity(count);
        match &part.values {
            Values::Ints(values) => {
                for range in wanted {
                    for &value in &values[range.clone()] {
                        let start = self.values.len();
                        part.form.append(value as i64, &mut self.values)?;
                        spans.push(span(start..self.values.len())?);
                    }
                }
            }
            Values::Texts(strings) if self.shared_values.is_some() => spans.clone_from(&strings.spans),
            // Strings that share their bytes (a dictionary's) go on doing so, unless those that are wanted are fewer bytes.
            Values::Texts(strings)
                if count == strings.len() || strings.size_of(wanted) > strings.bytes.len() =>
            {
                let base = self.values.len();
                self.values.extend_from_slice(&strings.bytes);
                for at in wanted.iter().flat_map(|range| &strings.spans[range.clone()]) {
                    let start = base + at.start as usize;
                    spans.push(span(start..start + at.len as usize)?);
                }
            }
            Values::Texts(strings) => {
                for index in wanted.iter().cloned().flatten() {
                    let start = self.values.len();
                    self.values.extend_from_slice(strings.get(index));
                    spans.push(span(start..self.values.len())?);
                }
            }
        }
        Ok(spans)
    }

    /// Adds the cells of row `index`, whose key is the last of the keys, at `row_at` behind room for its length.
    fn add_row(
        &mut self,
        block: &ColumnarBlock,
        row_at: usize,
        index: usize,
        columns: &mut [ReadyColumn<'_>],
        row_stamps: Option<&Stamps>,
    ) -> Result<(), Damage> {
        let (row_end, first_cell) = (self.keys.len(), self.slots.len());
        let row_len = (row_end - row_at - 2) as u16;
        self.keys[row_at..row_at + 2].copy_from_slice(&row_len.to_be_bytes());
        self.row_starts.push(first_cell as u32);
        let family_len = block.head.family.len() as u8;
        for column in columns {
            // Equal values and whole columns of them cost no bytes in the file: what they unfold to is bounded here.
            check_bytes(self.keys.len() + self.values.len(), block.source.bytes_max)?;
            let count = column.part.counts.as_ref().map_or(1, |counts| counts[index]);
            self.overlapping |= count > 1;
            for _ in 0..count {
                let key = match self.slots.len() == first_cell {
                    true => row_at,
                    false => {
                        self.keys.extend_from_within(row_at..row_end);
                        self.keys.len() - (row_end - row_at)
                    }
                };
                self.keys.extend_from_slice(&column.name);
                let value = column.take_span();
                let (stamps, at) = match (&column.part.stamps, row_stamps) {
                    (Some(stamps), _) => (stamps, column.next - 1),
                    (None, Some(stamps)) => (stamps, index),
                    (None, None) => return Err(Damage::new(0, "cells without timestamps")),
                };
                let cell_type = CellType::from_code(stamps.types.get(at) as u8)
                    .ok_or_else(|| Damage::new(0, format!("unknown cell type {}", stamps.types.get(at))))?;
                self.overlapping |= cell_type != CellType::Put;
                self.slots.push(CellSlot {
                    key: u32::try_from(key).map_err(|_| Damage::new(0, "keys of 4 GiB"))?,
                    value: value.start,
                    value_len: value.len,
                    qualifier_len: column.part.qualifier.len() as u32,
                    tags: 0,
                    tags_len: 0,
                    row_len,
                    family_len,
                    cell_type,
                    timestamp: stamps.timestamps.get(at) as i64,
                    seq: block.seq_override.unwrap_or(Seq(stamps.seqs.get(at))),
                });
            }
        }
        if self.slots.len() == first_cell {
            self.keys.truncate(row_at);
            self.row_starts.pop();
        }
        Ok(())
    }

    fn finish(self) -> CellBlock {
        CellBlock {
            keys: self.keys.into(),
            values: self.shared_values.unwrap_or_else(|| self.values.into()),
            tags: Bytes::new(),
            slots: self.slots,
            row_starts: self.row_starts,
            plain: !self.overlapping,
            fronts: RowFronts::default(),
        }
    }
}

impl ReadyColumn<'_> {
    /// Where the next cell's value lies.
    #[inline]
    fn take_span(&mut self) -> Span {
        let cell = self.next;
        self.next += 1;
        if self.part.filled.as_ref().is_some_and(|filled| filled[cell] == 0) {
            return Span::default();
        }
        self.next_span += 1;
        self.spans[self.next_span - 1]
    }
}

fn span(range: Range<usize>) -> Result<Span, Damage> {
    match u32::try_from(range.end) {
        Ok(_) => Ok(Span { start: range.start as u32, len: range.len() as u32 }),
        Err(_) => Err(Damage::new(0, "values of 4 GiB")),
    }
}

/// A position among the cells of a block, part by part.
pub(crate) struct PartCursor {
    block: std::sync::Arc<ColumnarBlock>,
    part: usize,
    /// The part's cells, once it was decoded.
    cells: Option<CellBlock>,
    /// One more than the cell's index in the part; 0 is before the first.
    position: usize,
}

impl PartCursor {
    pub(crate) fn new(block: std::sync::Arc<ColumnarBlock>) -> Self {
        Self { block, part: 0, cells: None, position: 0 }
    }

    fn load(&mut self, part: usize) -> Result<usize, Damage> {
        if self.cells.is_none() || self.part != part {
            let cells = self.block.decode(part..part + 1).map_err(as_damage)?;
            (self.part, self.cells) = (part, Some(cells));
        }
        Ok(self.cells.as_ref().map_or(0, CellBlock::len))
    }
}

/// What is wrong, without the place that the cursor's owner adds again.
fn as_damage(error: Error) -> Damage {
    match error {
        Error::Corrupt { what, .. } => Damage::new(0, what),
        other => Damage::new(0, other.to_string()),
    }
}

impl CellCursor for PartCursor {
    fn seek(&mut self, target: &FlatKey<'_>) -> Result<bool, Damage> {
        let part = self.block.vector_of_row(target.row).map_err(as_damage)?;
        self.load(part)?;
        let cells = self.cells.as_ref().expect("loaded above");
        let below = |index: usize| FlatKey::of(&cells.cell(index)).compare(target).is_lt();
        let (mut low, mut high) = (0, cells.len());
        while low < high {
            let middle = (low + high) / 2;
            if below(middle) { low = middle + 1 } else { high = middle }
        }
        self.position = low;
        self.next()
    }

    fn next(&mut self) -> Result<bool, Damage> {
        let len = self.load(self.part)?;
        if self.position < len {
            self.position += 1;
            return Ok(true);
        }
        if self.part + 1 == self.block.vectors() {
            self.position = len + 1;
            return Ok(false);
        }
        self.load(self.part + 1)?;
        self.position = 1;
        Ok(true)
    }

    fn previous(&mut self) -> Result<bool, Damage> {
        if self.position <= 1 && self.part > 0 {
            self.position = self.load(self.part - 1)?;
            return Ok(true);
        }
        self.position = self.position.saturating_sub(1);
        Ok(self.position > 0)
    }

    fn cell(&self) -> Option<CellRef<'_>> {
        let cells = self.cells.as_ref()?;
        let index = self.position.checked_sub(1).filter(|&index| index < cells.len())?;
        Some(cells.cell(index))
    }
}
