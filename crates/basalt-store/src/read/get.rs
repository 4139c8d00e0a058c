// SPDX-License-Identifier: Apache-2.0
//! Point lookups: per file the key bounds, the Bloom filter, then one block; no scan is set up.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::family::{BoxedSource, FamilyInput};
use super::file::{FileSource, ReadAccess, StoreFile};
use super::merge::{Merge, Stretch};
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
    let mut look_into = |source: &mut dyn CellSource| -> Result<()> {
        let runs = runs_of_row(source, range)?;
        if !runs.is_empty() {
            found.push((runs, source.timestamp_min()));
        }
        Ok(())
    };
    for memtable in &family.memtables {
        let mut memtable = memtable();
        look_into(&mut memtable)?;
    }
    for file in &family.files {
        if may_contain(file, &range.start)? {
            let (file, row) = (Arc::clone(file), &range.start);
            look_into(&mut FileSource::of_row(file, access.clone(), seq_max, row))?;
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

fn may_contain(file: &StoreFile, row: &Bytes) -> Result<bool> {
    let meta = file.meta();
    if *row < meta.first_row || *row > meta.last_row {
        return Ok(false);
    }
    file.explained(file.reader()?.may_contain_row(row))
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
