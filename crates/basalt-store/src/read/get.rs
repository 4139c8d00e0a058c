// SPDX-License-Identifier: Apache-2.0
//! Point lookups: every place that may have the row is looked into ([`point`]); no scan is set up.
//!
//! Several rows are looked up place by place, not row by row: what a place has of all of them is one sorted source, the sources are merged
//! and resolved once, and the cells that remain are dealt out to their rows.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::access::ReadAccess;
use super::family::{BoxedSource, FamilyInput};
use super::file::{FileSource, StoreFile};
use super::merge::{Merge, Stretch};
use super::point::{self, Asked, Found, Known, Together, Trail};
use super::resolve::{Purpose, Resolver, Rules};
use super::source::{CellSource, RunList};
use crate::Result;

/// The visible cells of one row, in key order; none if there is no such row. `families` are sorted by name.
pub fn get_row(
    families: Vec<FamilyInput>,
    row: &[u8],
    access: &ReadAccess,
    seq_max: Seq,
) -> Result<Vec<CellRun>> {
    let range = KeyRange::point(Bytes::copy_from_slice(row));
    let mut out = Vec::new();
    for family in families {
        family_row(family, &range, access, seq_max, &mut out)?;
    }
    access.counters.rows.fetch_add(u64::from(!out.is_empty()), Relaxed);
    Ok(out)
}

fn family_row(
    family: FamilyInput,
    range: &KeyRange,
    access: &ReadAccess,
    seq_max: Seq,
    out: &mut Vec<CellRun>,
) -> Result<()> {
    let mut found: Vec<(Vec<CellRun>, i64)> = Vec::new();
    for memtable in &family.memtables {
        let mut source = memtable();
        let runs = runs_of_row(&mut source, range)?;
        if !runs.is_empty() {
            found.push((runs, source.timestamp_min()));
        }
    }
    for file in &family.files {
        let lookup = Lookup { file, bloom_first: family.files.len() > 1, access, seq_max };
        let mut runs = Vec::new();
        lookup.push_row(&range.start, Known::Nothing, &mut runs)?;
        if !runs.is_empty() {
            found.push((runs, file.meta().timestamp_min));
        }
    }
    resolve(found, family.rules, out)
}

/// What one family of one region is read from for several rows.
pub(crate) struct RowsInput<'a> {
    pub(crate) rules: Rules,
    /// What each memtable has of the rows, newest first.
    pub(crate) in_memory: Vec<Vec<CellRun>>,
    /// Store files, in any order.
    pub(crate) files: &'a [Arc<StoreFile>],
}

/// Appends the visible cells of a family in some rows, which ascend, to what `out` has of each.
pub(crate) fn get_rows(
    input: RowsInput<'_>,
    rows: &[&[u8]],
    access: &ReadAccess,
    seq_max: Seq,
    out: &mut [Vec<CellRun>],
) -> Result<()> {
    debug_assert!(rows.len() == out.len() && rows.windows(2).all(|pair| pair[0] < pair[1]));
    let in_memory = input.in_memory.into_iter().filter(|runs| !runs.is_empty());
    let mut found: Vec<(Vec<CellRun>, i64)> = in_memory.map(|runs| (runs, i64::MIN)).collect();
    for file in input.files {
        let meta = file.meta();
        let inside = rows.partition_point(|row| *row < &meta.first_row[..])
            ..rows.partition_point(|row| *row <= &meta.last_row[..]);
        let lookup = Lookup { file, bloom_first: input.files.len() > 1, access, seq_max };
        let (mut runs, mut trail) = (Vec::new(), Trail::default());
        let mut rest = rows.get(inside).unwrap_or_default();
        while let Some((row, others)) = rest.split_first() {
            rest = match lookup.push_together(rest, &mut runs)? {
                0 => {
                    lookup.push_row(row, Known::Trail(&mut trail), &mut runs)?;
                    others
                }
                count => &rest[count..],
            };
        }
        if !runs.is_empty() {
            found.push((runs, meta.timestamp_min));
        }
    }
    let mut visible = Vec::new();
    resolve(found, input.rules, &mut visible)?;
    deal_out(&visible, rows, out);
    Ok(())
}

/// Lookups in one file.
struct Lookup<'a> {
    file: &'a Arc<StoreFile>,
    /// See [`point::find_row`].
    bloom_first: bool,
    access: &'a ReadAccess,
    seq_max: Seq,
}

impl Lookup<'_> {
    /// Appends the cells of the first of some rows, which ascend, that are decoded together; how many these are.
    fn push_together(&self, rows: &[&[u8]], out: &mut Vec<CellRun>) -> Result<usize> {
        let Some(Together { rows: count, block }) = point::find_together(self.file, rows, self.access)?
        else {
            return Ok(0);
        };
        for row in &rows[..count] {
            self.push_found(point::row_of_block(Arc::clone(&block), row, None), row, out)?;
        }
        Ok(count)
    }

    /// Appends the cells of a row that `seq_max` sees.
    fn push_row(&self, row: &[u8], known: Known<'_>, out: &mut Vec<CellRun>) -> Result<()> {
        let asked = Asked { row, columns: None };
        let found = point::find_row(self.file, asked, self.bloom_first, self.access, known)?;
        self.push_found(found, row, out)
    }

    fn push_found(&self, found: Found, row: &[u8], out: &mut Vec<CellRun>) -> Result<()> {
        let Self { file, access, seq_max, .. } = *self;
        match found {
            Found::Missing => {}
            Found::Cells(run)
                if run.block.slots[run.cells.clone()].iter().all(|slot| slot.seq <= seq_max) =>
            {
                out.push(run);
            }
            Found::Cells(_) | Found::Elsewhere => {
                let source = &mut FileSource::of_row(Arc::clone(file), access.clone(), seq_max, row);
                let range = KeyRange::point(Bytes::copy_from_slice(row));
                out.append(&mut runs_of_row(source, &range)?);
            }
        }
        Ok(())
    }
}

/// Appends what remains of the cells that some places have, each with a timestamp that none of its cells is below, the newest place
/// first.
fn resolve(mut found: Vec<(Vec<CellRun>, i64)>, rules: Rules, out: &mut Vec<CellRun>) -> Result<()> {
    let mut resolver = Resolver::new(rules, Purpose::Read);
    if let [(runs, timestamp_min)] = &mut found[..] {
        for run in runs.drain(..) {
            let stretch = Stretch { run, lone: true, timestamp_min: *timestamp_min, in_memory: false };
            resolver.push(&stretch, out);
        }
        return Ok(());
    }
    let lists = found.into_iter().map(|(runs, _)| Box::new(RunList::new(runs)) as BoxedSource).collect();
    let mut merge = Merge::new(lists);
    merge.seek(&KeyRange::all());
    while let Some(stretch) = merge.next()? {
        resolver.push(&stretch, out);
    }
    Ok(())
}

/// Appends the cells of each row, all of which are among `rows`, to what `out` has of it.
fn deal_out(visible: &[CellRun], rows: &[&[u8]], out: &mut [Vec<CellRun>]) {
    let mut at = 0;
    for CellRun { block, cells } in visible {
        let behind = block.row_starts.partition_point(|&start| start as usize <= cells.start);
        let mut starts = block.row_starts[behind..].iter().map(|&start| start as usize);
        let mut start = cells.start;
        while start < cells.end {
            let end = starts.next().map_or(cells.end, |next| next.min(cells.end));
            let row = block.row(start);
            at += rows[at..].iter().take_while(|wanted| **wanted != row).count();
            out[at].push(CellRun { block: Arc::clone(block), cells: start..end });
            start = end;
        }
    }
}

/// The runs of the one row that `range` spans.
fn runs_of_row(source: &mut dyn CellSource, range: &KeyRange) -> Result<Vec<CellRun>> {
    let end = range.end.as_deref();
    source.seek(&range.start);
    let mut runs = Vec::new();
    while let Some(mut run) = source.next_run(end)? {
        let block = &run.block;
        if block.row(run.cells.start) != range.start {
            break;
        }
        let next = block.row_starts.partition_point(|&start| start as usize <= run.cells.start);
        let row_end = block.row_starts.get(next).map_or(block.len(), |&start| start as usize);
        let more = row_end >= run.cells.end;
        run.cells.end = row_end.min(run.cells.end);
        runs.push(run);
        if !more {
            break;
        }
    }
    Ok(runs)
}
