// SPDX-License-Identifier: Apache-2.0
//! Scans: the visible cells of some key ranges, in key order, in chunks of some thousands.
//!
//! Regions follow each other; inside a region each family is a stream of its own, and several families are
//! merged by row so that a row's cells stay together. Nothing is read before the first chunk is asked for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, Seq};

use super::access::{ReadAccess, ReadCounters};
use super::family::{FamilyInput, FamilyStream};
use super::merge::Merge;
use super::straight::{GroupRows, LoneFiles, Piece, Taking, Unordered};
use crate::Result;

/// Cells after which a chunk ends; a block that is passed on whole may exceed it.
const CHUNK_CELLS: usize = 8192;

/// What a scan reads of one region.
pub struct RegionInput {
    /// The rows of the region.
    pub range: KeyRange,
    /// The families wanted, sorted by name.
    pub families: Vec<FamilyInput>,
}

/// A scan under way. Each chunk holds visible cells in key order; chunks end anywhere, also inside a row.
pub struct CellScan {
    regions: VecDeque<RegionInput>,
    /// Ranges wanted, sorted and disjoint.
    ranges: Vec<KeyRange>,
    access: ReadAccess,
    seq_max: Seq,
    /// The region being read, and which of its ranges comes next.
    current: Option<(RegionStream, VecDeque<KeyRange>)>,
    in_range: bool,
    /// How rows are taken, if row groups may pass as they are where they can.
    taking: Option<Taking>,
    /// The files of the region being read, if they are all that is read of it.
    lone: Option<LoneFiles>,
    /// Cells of rows that lie among those handed out last, from sources of their own.
    aside: Option<Box<FamilyStream>>,
    /// What follows the cells handed out last.
    pending: Option<Chunk>,
}

/// Some of what a scan sees.
pub(crate) enum Chunk {
    /// Visible cells, at least one.
    Cells(Vec<CellRun>),
    /// Rows of a row group, all of whose cells are visible.
    Rows(GroupRows),
    /// Rows up to [`Chunk::Ends`] come in no order, each with its rank.
    Begins(Unordered),
    /// Rows come in their order again.
    Ends,
}

/// What one step of a scan came to.
enum Step {
    Cells,
    /// Something else, which is pending now.
    Other,
    End,
}

/// The families of a region.
enum RegionStream {
    One(Box<FamilyStream>),
    Several(Merge<FamilyStream>),
}

impl RegionStream {
    fn seek_range(&mut self, range: &KeyRange) {
        match self {
            Self::One(family) => family.seek_range(range),
            Self::Several(merge) => merge.seek(range),
        }
    }

    fn step(&mut self, out: &mut Vec<CellRun>) -> Result<bool> {
        match self {
            Self::One(family) => family.step(out),
            Self::Several(merge) => {
                let stretch = merge.next()?;
                let more = stretch.is_some();
                out.extend(stretch.map(|stretch| stretch.run));
                Ok(more)
            }
        }
    }
}

impl CellScan {
    /// Scans `ranges` (sorted, disjoint) of `regions` (sorted) as of the commit `seq_max`.
    pub fn new(regions: Vec<RegionInput>, ranges: Vec<KeyRange>, access: ReadAccess, seq_max: Seq) -> Self {
        debug_assert!(
            ranges.windows(2).all(|pair| pair[0].end.as_ref().is_some_and(|end| *end <= pair[1].start))
        );
        Self {
            regions: regions.into(),
            ranges,
            access,
            seq_max,
            current: None,
            in_range: false,
            taking: None,
            lone: None,
            aside: None,
            pending: None,
        }
    }

    /// From now on [`Self::next_chunk`] is called, and row groups may pass as they are.
    pub(crate) fn allow_row_groups(&mut self, taking: Taking) {
        self.taking = Some(taking);
    }

    /// The next chunk, or `None` at the end.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        if let Some(chunk) = self.pending.take() {
            return Ok(Some(chunk));
        }
        match self.next_runs()? {
            Some(runs) => Ok(Some(Chunk::Cells(runs))),
            None => Ok(self.pending.take()),
        }
    }

    /// Leaves out what is left of the row group whose rows were handed out last; how many rows these are.
    pub(crate) fn skip_group(&mut self) -> usize {
        self.lone.as_mut().map_or(0, LoneFiles::skip_group)
    }

    /// The next chunk of visible cells, at least one cell, or `None` at the end.
    pub fn next_runs(&mut self) -> Result<Option<Vec<CellRun>>> {
        let mut runs = Vec::new();
        let (mut counted, mut cells) = (0, 0);
        while cells < CHUNK_CELLS {
            match self.step(&mut runs)? {
                Step::Cells => {}
                Step::Other | Step::End => break,
            }
            // The last run may still grow; it is counted when another one follows or at the end.
            while counted + 1 < runs.len() {
                cells += runs[counted].cells.len();
                counted += 1;
            }
            if runs.last().is_some_and(|last| cells + last.cells.len() >= CHUNK_CELLS) {
                break;
            }
        }
        let total: usize = runs.iter().map(|run| run.cells.len()).sum();
        self.access.counters.cells.fetch_add(total as u64, Relaxed);
        Ok(Some(runs).filter(|runs| !runs.is_empty()))
    }

    /// What the scan has read so far.
    pub fn counters(&self) -> &Arc<ReadCounters> {
        &self.access.counters
    }

    /// The same scan, which counts on where another one stopped.
    pub(crate) fn counting_on(mut self, counters: &Arc<ReadCounters>) -> Self {
        self.access.counters = Arc::clone(counters);
        self
    }

    /// Keeps what comes next until it is asked for.
    fn hold(&mut self, chunk: Chunk) -> Step {
        self.pending = Some(chunk);
        Step::Other
    }

    /// One stretch further.
    fn step(&mut self, out: &mut Vec<CellRun>) -> Result<Step> {
        loop {
            if self.current.is_none() && !self.next_region()? {
                return Ok(Step::End);
            }
            if let Some(aside) = &mut self.aside {
                if aside.step(out)? {
                    return Ok(Step::Cells);
                }
                self.aside = None;
            }
            let (stream, ranges) = self.current.as_mut().expect("set by next_region");
            if self.in_range {
                if stream.step(out)? {
                    return Ok(Step::Cells);
                }
                self.in_range = false;
            }
            let piece = match &mut self.lone {
                Some(lone) => lone.next(&self.access)?,
                None => None,
            };
            match piece {
                Some(Piece::Rows(rows)) => return Ok(self.hold(Chunk::Rows(rows))),
                Some(Piece::Begins(rows)) => return Ok(self.hold(Chunk::Begins(rows))),
                Some(Piece::Ends) => return Ok(self.hold(Chunk::Ends)),
                Some(Piece::Cells(range)) => {
                    stream.seek_range(&range);
                    self.in_range = true;
                }
                Some(Piece::Aside(aside)) => self.aside = Some(aside),
                None => match (ranges.pop_front(), &mut self.lone) {
                    (Some(range), Some(lone)) => lone.seek_range(range),
                    (Some(range), None) => {
                        stream.seek_range(&range);
                        self.in_range = true;
                    }
                    (None, _) => (self.current, self.lone) = (None, None),
                },
            }
        }
    }

    fn next_region(&mut self) -> Result<bool> {
        let Some(region) = self.regions.pop_front() else { return Ok(false) };
        let wanted = self.ranges.iter().map(|range| range.intersect(&region.range));
        let ranges: VecDeque<KeyRange> = wanted.filter(|range| !range.is_empty()).collect();
        let hull = KeyRange {
            start: ranges.front().map(|range| range.start.clone()).unwrap_or_default(),
            end: ranges.back().and_then(|range| range.end.clone()),
        };
        if let ([family], Some(taking)) = (&region.families[..], &self.taking)
            && !family.rules.is_of_the_past()
        {
            self.lone = LoneFiles::try_new(family, &hull, self.seq_max, taking.clone())?;
        }
        let stream = |family| FamilyStream::of_input(family, &hull, &self.access, self.seq_max);
        let mut streams: Vec<FamilyStream> = region.families.into_iter().map(stream).collect();
        let stream = match streams.len() {
            1 => RegionStream::One(Box::new(streams.remove(0))),
            _ => RegionStream::Several(Merge::new(streams)),
        };
        self.current = Some((stream, ranges));
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
