// SPDX-License-Identifier: Apache-2.0
//! Point lookups: every place that may have the row is looked into ([`point`]); no scan is set up.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::family::{BoxedSource, FamilyInput};
use super::file::{FileSource, ReadAccess};
use super::merge::{Merge, Stretch};
use super::point::{self, Found, Known};
use super::resolve::{Purpose, Resolver};
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
        match point::find_row(file, &range.start, family.files.len() > 1, access, Known::Nothing)? {
            Found::Missing => {}
            Found::Cells(run)
                if run.block.slots[run.cells.clone()].iter().all(|slot| slot.seq <= seq_max) =>
            {
                found.push((vec![run], file.meta().timestamp_min));
            }
            Found::Cells(_) | Found::Elsewhere => {
                let source = &mut FileSource::of_row(Arc::clone(file), access.clone(), seq_max, &range.start);
                let runs = runs_of_row(source, range)?;
                if !runs.is_empty() {
                    found.push((runs, file.meta().timestamp_min));
                }
            }
        }
    }
    let mut resolver = Resolver::new(family.rules, Purpose::Read);
    if let [(runs, timestamp_min)] = &mut found[..] {
        for run in runs.drain(..) {
            let stretch = Stretch { run, lone: true, timestamp_min: *timestamp_min, in_memory: false };
            resolver.push(&stretch, out);
        }
        return Ok(());
    }
    let lists = found.into_iter().map(|(runs, _)| Box::new(RunList::new(runs)) as BoxedSource).collect();
    let mut merge = Merge::new(lists);
    merge.seek(range);
    while let Some(stretch) = merge.next()? {
        resolver.push(&stretch, out);
    }
    Ok(())
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
