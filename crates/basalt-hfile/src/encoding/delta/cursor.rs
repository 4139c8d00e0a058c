// SPDX-License-Identifier: Apache-2.0
//! The cursor over delta-encoded cells: it decodes forward as far as it was asked to go, and keeps what it
//! decoded, for going back.

use std::marker::PhantomData;

use basalt_model::CellRef;
use bytes::Bytes;

use super::read::{DeltaCells, DeltaFormat};
use crate::encoding::DecodeContext;
use crate::encoding::cursor::CellCursor;
use crate::error::Damage;
use crate::key::FlatKey;

pub(in crate::encoding) struct DeltaCursor<F> {
    cells: DeltaCells,
    /// One more than the index of the cell; 0 is before the first.
    position: usize,
    format: PhantomData<fn() -> F>,
}

impl<F: DeltaFormat> DeltaCursor<F> {
    pub(in crate::encoding) fn try_new(body: &Bytes, context: &DecodeContext) -> Result<Self, Damage> {
        Ok(Self { cells: DeltaCells::try_new::<F>(body, context)?, position: 0, format: PhantomData })
    }

    fn key(&self, index: usize) -> FlatKey<'_> {
        FlatKey::of(&self.cells.cell(index))
    }
}

impl<F: DeltaFormat> CellCursor for DeltaCursor<F> {
    fn seek(&mut self, target: &FlatKey<'_>) -> Result<bool, Damage> {
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
        self.position = self.position.saturating_sub(1);
        Ok(self.position > 0)
    }

    fn cell(&self) -> Option<CellRef<'_>> {
        let index = self.position.checked_sub(1)?;
        (index < self.cells.len()).then(|| self.cells.cell(index))
    }
}
