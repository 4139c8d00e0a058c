// SPDX-License-Identifier: Apache-2.0
//! The rows of one region that a reader wants: families side by side under one filter.
//!
//! ```text
//! next row key      -> does the filter drop it?          no -> cells of the families that the filter needs
//! -> cells or row dropped by the filter as a whole?      no -> cells of the other families -> result
//! ```
//!
//! The order of these steps, and what is skipped when a limit cuts the row, are HBase's (`RegionScannerImpl`, 2.6),
//! because filters count what they are asked.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::CellRun;
use bytes::Bytes;

use super::access::ReadCounters;
use super::family_scan::{FamilyScan, Limits};
use super::filter::CellFilter;
use super::result::Row;
use crate::Result;

/// See the module.
pub(crate) struct RegionScan {
    /// Families that decide about rows, by name.
    families: Vec<FamilyScan>,
    /// Families that are read only for rows that pass.
    later: Vec<FamilyScan>,
    filter: Option<Box<dyn CellFilter>>,
    /// Where rows are counted of which nothing is left.
    counters: Arc<ReadCounters>,
    reversed: bool,
    limits: Limits,
    /// The row whose cells of the later families were cut off by a limit.
    unfinished: Option<Bytes>,
}

/// What follows a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// More of the same row, as far as is known.
    SameRow,
    /// Another row.
    NextRow,
    /// Nothing.
    End,
    /// The reader wants a pause; the result is empty.
    Pause,
}

/// What a reader gets when it asks for the next result.
#[derive(Debug)]
pub(crate) enum Next {
    /// A result, and whether there may be another. It may be empty at the end, or where a limit was reached by
    /// cells that a filter then took out.
    Result(Row, bool),
    /// Nothing yet: the reader wanted a pause before this row.
    Paused(Bytes),
}

impl RegionScan {
    pub(crate) fn new(
        families: Vec<FamilyScan>,
        later: Vec<FamilyScan>,
        filter: Option<Box<dyn CellFilter>>,
        counters: Arc<ReadCounters>,
        reversed: bool,
        limits: Limits,
    ) -> Self {
        Self { families, later, filter, counters, reversed, limits, unfinished: None }
    }

    /// The filter, for the next region.
    pub(crate) fn into_filter(self) -> Option<Box<dyn CellFilter>> {
        self.filter
    }

    /// The next result. `pause` is asked before every row that follows one without a result.
    pub(crate) fn next(&mut self, pause: &mut dyn FnMut() -> bool) -> Result<Next> {
        let mut row = Row::default();
        let then = self.fill(&mut row, pause)?;
        if then == Then::Pause {
            let at = front(&mut self.families, self.reversed)?.expect("the pause is before a row");
            return Ok(Next::Paused(Bytes::copy_from_slice(self.families[at].front().row)));
        }
        if then != Then::SameRow {
            self.reset_filter();
        }
        row.set_partial(then == Then::SameRow);
        let over = self.filter.as_ref().is_some_and(|filter| filter.all_remaining());
        Ok(Next::Result(row, !over && then != Then::End))
    }

    /// The next rows as they lie, up to `rows_max`, if there is one family and nothing to ask or to count.
    pub(crate) fn next_rows(&mut self, rows_max: usize) -> Result<Option<CellRun>> {
        let plain = self.filter.is_none() && self.later.is_empty() && self.limits.cells_max.is_none();
        match &mut self.families[..] {
            [family] if plain => family.next_rows(rows_max, self.limits.bytes_max),
            _ => Ok(None),
        }
    }

    fn fill(&mut self, out: &mut Row, pause: &mut dyn FnMut() -> bool) -> Result<Then> {
        let mut first = true;
        loop {
            self.limits.reset();
            if let Some(row) = self.unfinished.clone() {
                return self.fill_later(&row, out);
            }
            self.skip_left_out()?;
            let Some(at) = front(&mut self.families, self.reversed)? else {
                return Ok(Then::End);
            };
            if !std::mem::take(&mut first) && pause() {
                return Ok(Then::Pause);
            }
            let row = Bytes::copy_from_slice(self.families[at].front().row);
            if self.drops_row_key(at)? {
                self.count_filtered();
                if self.filter.as_ref().is_some_and(|filter| filter.all_remaining()) {
                    self.counters.ended_by_filter.fetch_add(1, Relaxed);
                    return Ok(Then::End);
                }
                self.skip_row(&row)?;
                continue;
            }
            let more_of_row = self.fill_families(&row, out)?;
            if self.limits.reached() {
                return Ok(if more_of_row { Then::SameRow } else { Then::NextRow });
            }
            let last = front(&mut self.families, self.reversed)?.is_none();
            if out.is_empty() || self.drops_row(out) {
                out.clear();
                self.count_filtered();
                self.skip_row(&row)?;
                if last {
                    return Ok(Then::End);
                }
                continue;
            }
            if !self.later.is_empty() {
                let then = self.fill_later(&row, out)?;
                if self.limits.reached() {
                    return Ok(then);
                }
            }
            // A filter may have taken all cells out of a row that passed.
            if out.is_empty() {
                self.count_filtered();
            }
            if out.is_empty() && !last {
                self.skip_row(&row)?;
                continue;
            }
            return Ok(if last { Then::End } else { Then::NextRow });
        }
    }

    /// Leaves out rows of which the filter lets nothing pass, as far as that can be seen without setting out for them.
    fn skip_left_out(&mut self) -> Result<()> {
        if let ([family], [], Some(filter)) = (&mut self.families[..], &self.later[..], &self.filter)
            && filter.forgets_rows()
        {
            let rows = family.skip_left_out(&**filter)?;
            self.counters.rows_filtered.fetch_add(rows, Relaxed);
        }
        Ok(())
    }

    fn count_filtered(&self) {
        self.counters.rows_filtered.fetch_add(1, Relaxed);
    }

    fn drops_row_key(&mut self, at: usize) -> Result<bool> {
        let Some(filter) = &mut self.filter else { return Ok(false) };
        Ok(filter.all_remaining() || filter.drops_row_key(&self.families[at].front())?)
    }

    /// True if the filter leaves out the row as a whole.
    fn drops_row(&mut self, out: &mut Row) -> bool {
        let Some(filter) = &mut self.filter else { return false };
        if !filter.needs_whole_rows() {
            return filter.drops_row();
        }
        filter.edit_row(out);
        !out.is_empty() && filter.drops_row()
    }

    /// Cells of the row up to a limit; true if there may be more.
    fn fill_families(&mut self, row: &[u8], out: &mut Row) -> Result<bool> {
        fill_row(&mut self.families, self.filter.as_deref_mut(), row, self.reversed, out, &mut self.limits)
    }

    fn fill_later(&mut self, row: &Bytes, out: &mut Row) -> Result<Then> {
        self.unfinished = None;
        for family in &mut self.later {
            family.seek_row(row)?;
        }
        let here = match front(&mut self.later, self.reversed)? {
            Some(at) => self.later[at].front().row == *row,
            None => false,
        };
        let mut more_of_row = false;
        if here {
            let filter = self.filter.as_deref_mut();
            more_of_row = fill_row(&mut self.later, filter, row, self.reversed, out, &mut self.limits)?;
            out.sort();
        }
        if self.limits.reached() {
            self.unfinished = more_of_row.then(|| row.clone());
            return Ok(if more_of_row { Then::SameRow } else { Then::NextRow });
        }
        let last = front(&mut self.families, self.reversed)?.is_none();
        Ok(if last { Then::End } else { Then::NextRow })
    }

    /// Leaves what is left of a row. Going forward the filter sees it, as it does in HBase.
    fn skip_row(&mut self, row: &[u8]) -> Result<()> {
        while let Some(at) = front(&mut self.families, self.reversed)? {
            let family = &mut self.families[at];
            if family.front().row != row {
                break;
            }
            if self.reversed {
                family.skip_row()?;
            } else {
                let filter = self.filter.as_deref_mut();
                family.next(&mut Row::default(), filter, &mut Limits::skipping())?;
            }
        }
        self.reset_filter();
        Ok(())
    }

    fn reset_filter(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.reset();
        }
    }
}

/// The family whose next cell comes first: by row, then by name.
fn front(families: &mut [FamilyScan], reversed: bool) -> Result<Option<usize>> {
    let mut first: Option<usize> = None;
    for at in 0..families.len() {
        if !families[at].peek()? {
            continue;
        }
        let earlier = first.is_none_or(|first| {
            let order = families[at].front().row.cmp(families[first].front().row);
            if reversed { order.is_gt() } else { order.is_lt() }
        });
        if earlier {
            first = Some(at);
        }
    }
    Ok(first)
}

/// Appends cells of `row` from all families up to a limit; true if cells of the row are left.
fn fill_row(
    families: &mut [FamilyScan],
    mut filter: Option<&mut (dyn CellFilter + 'static)>,
    row: &[u8],
    reversed: bool,
    out: &mut Row,
    limits: &mut Limits,
) -> Result<bool> {
    loop {
        let Some(at) = front(families, reversed)? else { return Ok(false) };
        if families[at].front().row != row {
            return Ok(false);
        }
        if limits.reached() {
            return Ok(true);
        }
        families[at].next(out, filter.as_deref_mut(), limits)?;
    }
}
