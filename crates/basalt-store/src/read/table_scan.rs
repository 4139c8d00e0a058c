// SPDX-License-Identifier: Apache-2.0
//! The rows of a table that a reader wants: its regions one after the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::CellRun;
use basalt_model::operation::TimeRange;
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::access::{ReadAccess, ReadCounters};
use super::family::FamilyInput;
use super::family_scan::{FamilyScan, Limits};
use super::filter::CellFilter;
use super::matcher::Wishes;
use super::region_scan::{Next, RegionScan};
use super::result::Row;
use crate::snapshot::open_scans::OpenScan;
use crate::{FileMeta, Result};

/// What is read of one region.
pub(crate) struct RegionPlan {
    /// The wanted rows of the region.
    pub(crate) range: KeyRange,
    /// The wanted families, by name.
    pub(crate) families: Vec<FamilyPlan>,
}

/// What is read of one family.
pub(crate) struct FamilyPlan {
    pub(crate) input: FamilyInput,
    pub(crate) wishes: Wishes,
    /// Only rows that pass the filter are read.
    pub(crate) later: bool,
}

/// How a table is read.
pub(crate) struct TableScanPlan {
    /// Regions in the order of the scan.
    pub(crate) regions: VecDeque<RegionPlan>,
    pub(crate) filter: Option<Box<dyn CellFilter>>,
    pub(crate) reversed: bool,
    pub(crate) limits: Limits,
    /// Rows, at most.
    pub(crate) rows_max: Option<u64>,
    pub(crate) access: ReadAccess,
    pub(crate) seq_max: Seq,
}

/// What a scan gives when it is asked for a result; see [`Rows::step`].
#[derive(Debug)]
pub enum Step {
    /// A result.
    Row(Row),
    /// The pause that was asked for, before this row.
    Paused(Bytes),
    /// There are no more results.
    End,
}

/// Rows of a scan, in key order or its reverse. After an error there are none left.
///
/// A row comes whole, unless the scan cuts rows: then each result but a row's last says that it
/// [is partial](Row::is_partial).
pub struct Rows {
    plan: TableScanPlan,
    current: Option<RegionScan>,
    /// Complete rows handed out.
    rows: u64,
    /// Row of the last result if that was partial.
    cut_row: Option<Bytes>,
    over: bool,
    _open: Option<OpenScan>,
}

impl Rows {
    pub(crate) fn new(plan: TableScanPlan) -> Self {
        let over = plan.rows_max == Some(0);
        Self { plan, current: None, rows: 0, cut_row: None, over, _open: None }
    }

    /// The same rows, of a scan that compactions know of.
    pub(crate) fn opened(self, open: OpenScan) -> Self {
        Self { _open: Some(open), ..self }
    }

    /// True if a filter said that nothing passes any more, in whatever region.
    pub fn filter_is_done(&self) -> bool {
        self.plan.filter.as_ref().is_some_and(|filter| filter.all_remaining())
    }

    /// What the scan has read so far.
    pub fn counters(&self) -> &Arc<ReadCounters> {
        &self.plan.access.counters
    }

    /// The next result, for a reader who cannot wait for ever: `pause` is asked before every row that follows one without a
    /// result, and if it says yes the scan stands there until it is asked again. After an error there are no results left.
    pub fn step(&mut self, pause: &mut dyn FnMut() -> bool) -> Result<Step> {
        let step = self.next_step(pause);
        self.over |= matches!(step, Err(_) | Ok(Step::End));
        step
    }

    fn next_step(&mut self, pause: &mut dyn FnMut() -> bool) -> Result<Step> {
        while !self.over {
            if self.current.is_none() && !self.next_region() {
                break;
            }
            let scan = self.current.as_mut().expect("set by next_region");
            let (row, more) = match scan.next(pause)? {
                Next::Result(row, more) => (row, more),
                Next::Paused(before) => return Ok(Step::Paused(before)),
            };
            if !more {
                self.end_region();
            }
            if row.is_empty() {
                continue;
            }
            if self.cut_row.take().is_some_and(|cut| cut != row.key()) && self.count_row() {
                break;
            }
            if row.is_partial() {
                self.cut_row = Some(Bytes::copy_from_slice(row.key()));
            } else {
                self.count_row();
            }
            self.plan.access.counters.cells.fetch_add(row.len() as u64, Relaxed);
            return Ok(Step::Row(row));
        }
        Ok(Step::End)
    }

    /// The next rows as they lie in one block, whole, up to `rows_max` of them; `None` if they have to be asked for one by one, with
    /// [`Rows::step`]. Far cheaper where it is possible: a single family, no filter, no columns, only the newest versions.
    pub fn next_rows(&mut self, rows_max: usize) -> Result<Option<CellRun>> {
        let wanted = self.plan.rows_max.map_or(u64::MAX, |max| max - self.rows.min(max));
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(rows_max);
        if self.over || self.cut_row.is_some() || wanted == 0 {
            return Ok(None);
        }
        if self.current.is_none() && !self.next_region() {
            return Ok(None);
        }
        let scan = self.current.as_mut().expect("set by next_region");
        let run = scan.next_rows(wanted).inspect_err(|_| self.over = true)?;
        if let Some(run) = &run {
            let rows = run.rows() as u64;
            self.rows += rows;
            self.over |= self.plan.rows_max.is_some_and(|max| self.rows >= max);
            let counters = &self.plan.access.counters;
            counters.rows.fetch_add(rows, Relaxed);
            counters.cells.fetch_add(run.cells.len() as u64, Relaxed);
        }
        Ok(run)
    }

    /// Counts a complete row; true if it was the last one wanted.
    fn count_row(&mut self) -> bool {
        self.rows += 1;
        self.plan.access.counters.rows.fetch_add(1, Relaxed);
        self.over |= self.plan.rows_max.is_some_and(|max| self.rows >= max);
        self.over
    }

    fn end_region(&mut self) {
        let scan = self.current.take().expect("a region is being read");
        self.plan.filter = scan.into_filter();
        self.over |= self.plan.filter.as_ref().is_some_and(|filter| filter.all_remaining());
    }

    fn next_region(&mut self) -> bool {
        let Some(region) = self.plan.regions.pop_front() else { return false };
        let TableScanPlan { reversed, limits, access, seq_max, .. } = &self.plan;
        let (mut families, mut later) = (Vec::new(), Vec::new());
        for family in region.families {
            let sources = family.input.into_sources(&region.range, access, *seq_max);
            let scan = FamilyScan::new(sources, family.wishes, region.range.clone(), *reversed);
            if family.later { later.push(scan) } else { families.push(scan) }
        }
        let (reversed, limits) = (*reversed, *limits);
        let counters = Arc::clone(&access.counters);
        let filter = self.plan.filter.take();
        self.current = Some(RegionScan::new(families, later, filter, counters, reversed, limits));
        true
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        match self.step(&mut || false) {
            Ok(Step::Row(row)) => Some(Ok(row)),
            Ok(Step::End) => None,
            Ok(Step::Paused(_)) => unreachable!("nobody asked for a pause"),
            Err(error) => Some(Err(error)),
        }
    }
}

/// True if a file can hold cells or markers that matter to a reader of `range`: markers of ranges hide what is
/// older than themselves.
pub(crate) fn may_concern(file: &FileMeta, range: &TimeRange, expired_below: i64) -> bool {
    let oldest = if file.deletes > 0 { file.timestamp_min.min(0) } else { file.timestamp_min };
    let before_end = range.max == i64::MAX || oldest < range.max;
    before_end && file.timestamp_max >= range.min && file.timestamp_max >= expired_below
}
