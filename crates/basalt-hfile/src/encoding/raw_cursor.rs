// SPDX-License-Identifier: Apache-2.0
//! The cursor over cells in raw form: NONE, and ROW_INDEX_V1 with its row offsets.

use std::sync::Arc;

use basalt_model::CellRef;
use bytes::Bytes;

use super::DecodeContext;
use super::cursor::{CellCursor, MARK_CELLS, RowMarks};
use super::raw_cells::{RawCell, decode_raw_row, explain, parse_raw_cell, skim};
use crate::cells::CellBlock;
use crate::error::Damage;
use crate::key::FlatKey;

/// Where rows begin, all or some of them, in order.
pub(super) trait RowOffsets: Send {
    /// How many are known.
    fn len(&self, cells: &Cells<'_>) -> usize;

    /// Offset `index`.
    fn offset(&self, index: usize) -> usize;

    /// Uses what other cursors over the same block found out.
    fn share(&mut self, _marks: &Arc<RowMarks>) {}

    /// The last known row that is not above `row`, or 0; `None` if an offset lies outside the cells.
    fn at_or_before(&self, cells: &Cells<'_>, row: &[u8]) -> Option<usize> {
        let not_above = |offset: usize| {
            let row_len = u16::from_be_bytes(*cells.data.get(offset + 8..)?.first_chunk()?);
            Some(cells.data.get(offset + 10..)?.get(..row_len.into())? <= row)
        };
        self.last(cells, not_above)
    }

    /// The last known row that begins before `offset`, or 0.
    fn before(&self, cells: &Cells<'_>, offset: usize) -> usize {
        self.last(cells, |start| Some(start < offset)).unwrap_or(0)
    }

    /// The last offset for which `below` is true, or 0.
    fn last(&self, cells: &Cells<'_>, below: impl Fn(usize) -> Option<bool>) -> Option<usize> {
        let (mut low, mut high) = (0, self.len(cells));
        while low < high {
            let middle = low + (high - low) / 2;
            if below(self.offset(middle))? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low.checked_sub(1).map_or(0, |index| self.offset(index)))
    }
}

/// The cells of a block, and how to read one.
pub(super) struct Cells<'a> {
    data: &'a [u8],
    parse: Parse,
}

/// Rows that were found by walking over them.
#[derive(Default)]
pub(super) struct WalkedRows(Option<Arc<RowMarks>>);

impl RowOffsets for WalkedRows {
    fn len(&self, cells: &Cells<'_>) -> usize {
        self.0.as_ref().map_or(0, |marks| marks.offsets(|| cells.marks()).len())
    }

    fn offset(&self, index: usize) -> usize {
        self.0.as_ref().map_or(0, |marks| marks.offsets(Vec::new)[index] as usize)
    }

    fn share(&mut self, marks: &Arc<RowMarks>) {
        self.0 = Some(Arc::clone(marks));
    }
}

impl Cells<'_> {
    /// Where about every 32nd cell begins, if a row begins with it. Ends where a cell is damaged: who reads it will say so.
    fn marks(&self) -> Vec<u32> {
        let (mut marks, mut row, mut cells, mut at) = (Vec::new(), &self.data[..0], 0, 0);
        while let Some(cell) = (self.parse)(self.data, at) {
            let this = &self.data[at + 10..at + 10 + cell.row_len as usize];
            cells += 1;
            if cells > MARK_CELLS && this != row {
                marks.push(at as u32);
                cells = 0;
            }
            (row, at) = (this, cell.end);
        }
        marks
    }
}

type Parse = fn(&[u8], usize) -> Option<RawCell>;
type Skim = for<'a> fn(&'a [u8], usize, &[u8]) -> Option<usize>;

pub(super) struct RawCursor<R> {
    data: Bytes,
    rows: R,
    context: DecodeContext,
    parse: Parse,
    skim: Skim,
    /// Starts of the cells walked so far, without gaps; the next one, if any, begins at `walked_to`.
    starts: Vec<usize>,
    walked_to: usize,
    /// Position: one more than the index into `starts`; 0 is before the first cell of the block.
    position: usize,
    behind_last: bool,
}

impl<R: RowOffsets> RawCursor<R> {
    pub(super) fn new(data: Bytes, rows: R, context: &DecodeContext) -> Self {
        let layout = context.layout;
        let (parse, skim): (Parse, Skim) = match (layout.with_tags, layout.with_seq) {
            (false, false) => (parse_raw_cell::<false, false>, skim::<false, false>),
            (false, true) => (parse_raw_cell::<false, true>, skim::<false, true>),
            (true, false) => (parse_raw_cell::<true, false>, skim::<true, false>),
            (true, true) => (parse_raw_cell::<true, true>, skim::<true, true>),
        };
        let (starts, context) = (Vec::new(), *context);
        Self { data, rows, context, parse, skim, starts, walked_to: 0, position: 0, behind_last: false }
    }

    /// The cells of one row, as a block of their own.
    pub(super) fn decode_row(&self, row: &[u8]) -> Result<CellBlock, Damage> {
        let start = self.row_start(row)?;
        decode_raw_row(&self.data, start, row, &self.context)
    }

    /// Where the first cell with a row not below `row` begins; the end of the cells if there is none.
    fn row_start(&self, row: &[u8]) -> Result<usize, Damage> {
        let from = self.rows.at_or_before(&self.cells(), row);
        let from =
            from.ok_or_else(|| Damage::new(self.data.len(), "a row offset points outside the cells"))?;
        (self.skim)(&self.data, from, row)
            .ok_or_else(|| Damage::new(from, "a cell passes the end of the block"))
    }

    fn cells(&self) -> Cells<'_> {
        Cells { data: &self.data, parse: self.parse }
    }

    fn key_at(&self, start: usize) -> Result<FlatKey<'_>, Damage> {
        let cell = (self.parse)(&self.data, start).ok_or_else(|| explain(&self.data, start))?;
        FlatKey::parse(cell.key(&self.data)).ok_or_else(|| explain(&self.data, start))
    }

    /// Walks over the cell at `walked_to`.
    fn walk(&mut self) -> Result<(), Damage> {
        let start = self.walked_to;
        let cell = (self.parse)(&self.data, start).ok_or_else(|| explain(&self.data, start))?;
        self.walked_to = cell.end;
        self.starts.push(start);
        Ok(())
    }

    /// Walks over the row before the first known cell.
    fn walk_before(&mut self) -> Result<(), Damage> {
        let end = self.starts.first().copied().unwrap_or(self.walked_to);
        let known = std::mem::take(&mut self.starts);
        let before = self.rows.before(&self.cells(), end);
        let walked_to = std::mem::replace(&mut self.walked_to, before);
        while self.walked_to < end {
            self.walk()?;
        }
        self.position += self.starts.len();
        self.starts.extend(known);
        self.walked_to = walked_to.max(end);
        Ok(())
    }
}

impl<R: RowOffsets> CellCursor for RawCursor<R> {
    fn seek(&mut self, target: &FlatKey<'_>) -> Result<bool, Damage> {
        self.walked_to = self.row_start(target.row)?;
        self.starts.clear();
        self.position = 0;
        self.behind_last = false;
        while self.next()? {
            if self.key_at(self.starts[self.position - 1])?.compare(target).is_ge() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn share(&mut self, marks: &Arc<RowMarks>) {
        self.rows.share(marks);
    }

    fn next(&mut self) -> Result<bool, Damage> {
        if self.position == self.starts.len() {
            if self.walked_to >= self.data.len() {
                self.behind_last = true;
                return Ok(false);
            }
            self.walk()?;
        }
        self.position += 1;
        Ok(true)
    }

    fn previous(&mut self) -> Result<bool, Damage> {
        if self.behind_last {
            self.behind_last = false;
            if self.starts.is_empty() && self.walked_to > 0 {
                self.walk_before()?;
            }
            return Ok(self.position > 0);
        }
        let first = self.starts.first().copied().unwrap_or(self.walked_to);
        if self.position <= 1 && first > 0 {
            self.walk_before()?;
        }
        self.position = self.position.saturating_sub(1);
        Ok(self.position > 0)
    }

    fn cell(&self) -> Option<CellRef<'_>> {
        if self.behind_last {
            return None;
        }
        let start = *self.starts.get(self.position.checked_sub(1)?)?;
        // The cell was parsed when it was walked over.
        let cell = (self.parse)(&self.data, start)?;
        let key = FlatKey::parse(cell.key(&self.data))?;
        Some(CellRef {
            row: key.row,
            family: key.family,
            qualifier: key.qualifier,
            timestamp: key.timestamp,
            cell_type: cell.cell_type,
            value: &self.data[cell.value_at..cell.value_at + cell.value_len as usize],
            seq: self.context.seq_override.unwrap_or(cell.seq),
            tags: &self.data[cell.tags_at..cell.tags_at + cell.tags_len as usize],
        })
    }
}
