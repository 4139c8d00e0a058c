// SPDX-License-Identifier: Apache-2.0
//! The cursor over delta-encoded cells: it decodes forward as far as it was asked to go, and keeps what it
//! decoded, for going back. If the block has marks, it begins at the one before what is sought; if it is then moved back beyond
//! that, it decodes the block from its start.

use std::marker::PhantomData;
use std::sync::Arc;

use basalt_model::CellRef;
use bytes::Bytes;

use super::marks::DeltaMarks;
use super::read::{DeltaCells, DeltaFormat};
use crate::encoding::DecodeContext;
use crate::encoding::cursor::{CellCursor, RowMarks};
use crate::error::Damage;
use crate::key::FlatKey;

pub(in crate::encoding) struct DeltaCursor<F> {
    body: Bytes,
    context: DecodeContext,
    cells: DeltaCells,
    /// The cells begin with that of a mark, behind which the next lies here.
    marked: Option<usize>,
    /// One more than the index of the cell; 0 is before the first.
    position: usize,
    marks: Option<Arc<RowMarks>>,
    format: PhantomData<fn() -> F>,
}

impl<F: DeltaFormat> DeltaCursor<F> {
    pub(in crate::encoding) fn try_new(body: &Bytes, context: &DecodeContext) -> Result<Self, Damage> {
        let cells = DeltaCells::for_cursor::<F>(body, context)?;
        let (body, context) = (body.clone(), *context);
        Ok(Self { body, context, cells, marked: None, position: 0, marks: None, format: PhantomData })
    }

    fn key(&self, index: usize) -> FlatKey<'_> {
        FlatKey::of(&self.cells.cell(index))
    }

    /// Begins again at the mark before `row`, or at the start of the block, if that is closer or the cells begin behind it.
    fn begin_near(&mut self, row: &[u8]) -> Result<(), Damage> {
        let marks = self.marks.clone();
        let make = || match DeltaCells::try_new::<F>(&self.body, &self.context) {
            Ok(cells) => DeltaMarks::of::<F>(cells),
            Err(_) => DeltaMarks::default(),
        };
        let mark = marks.as_ref().and_then(|marks| marks.cells(make)?.before(row));
        match mark {
            Some(mark) if mark.at > self.cells.at || self.begins_behind(row) => {
                self.cells = DeltaCells::resume::<F>(&self.body, &self.context, &mark)?;
                self.marked = Some(mark.at);
            }
            None if self.begins_behind(row) => self.begin_at_start()?,
            _ => {}
        }
        Ok(())
    }

    /// True if cells of `row` may lie before those that are known.
    fn begins_behind(&self, row: &[u8]) -> bool {
        self.marked.is_some() && self.cells.cell(0).row >= row
    }

    fn begin_at_start(&mut self) -> Result<(), Damage> {
        self.cells = DeltaCells::try_new::<F>(&self.body, &self.context)?;
        self.marked = None;
        Ok(())
    }
}

impl<F: DeltaFormat> CellCursor for DeltaCursor<F> {
    fn seek(&mut self, target: &FlatKey<'_>) -> Result<bool, Damage> {
        self.begin_near(target.row)?;
        let decoded = self.cells.len();
        if decoded > 0 && self.key(decoded - 1).compare(target).is_ge() {
            let (mut low, mut high) = (0, decoded - 1);
            while low < high {
                let middle = low + (high - low) / 2;
                if self.key(middle).compare(target).is_lt() { low = middle + 1 } else { high = middle }
            }
            self.position = low + 1;
            return Ok(true);
        }
        let found = self.cells.step_until::<F, _>(|cells| cells.last_is_at_or_after(target))?;
        self.position = self.cells.len() + usize::from(!found);
        // The last row may have been decoded as a whole.
        let first = self.cells.last_row_start();
        while found && self.position - 1 > first && self.key(self.position - 2).compare(target).is_ge() {
            self.position -= 1;
        }
        Ok(found)
    }

    fn next(&mut self) -> Result<bool, Damage> {
        if self.position >= self.cells.len() && !self.cells.step_until::<F, _>(|_| true)? {
            self.position = self.cells.len() + 1;
            return Ok(false);
        }
        self.position += 1;
        Ok(true)
    }

    fn previous(&mut self) -> Result<bool, Damage> {
        if self.position == 1
            && let Some(at) = self.marked
        {
            // The cell of the mark is the last of those before `at`.
            self.begin_at_start()?;
            self.cells.step_until::<F, _>(|cells| cells.at >= at)?;
            self.position = self.cells.len();
        }
        self.position = self.position.saturating_sub(1);
        Ok(self.position > 0)
    }

    fn cell(&self) -> Option<CellRef<'_>> {
        let index = self.position.checked_sub(1)?;
        (index < self.cells.len()).then(|| self.cells.cell(index))
    }

    fn share(&mut self, marks: &Arc<RowMarks>) {
        self.marks = Some(Arc::clone(marks));
    }
}
