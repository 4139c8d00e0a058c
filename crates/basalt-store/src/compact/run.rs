// SPDX-License-Identifier: Apache-2.0
//! Rewriting files: merge, drop what the family's rules let go, write.
//!
//! A file whose every cell is past the family's TTL is not read at all. If all that hold any of the rows are
//! rewritten and no marker stays, the cells are written without sequence numbers: nothing older or newer
//! contends with them, and what is written later has a number above 0.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use basalt_hfile::CellRun;
use basalt_model::table::KeepDeletedCells;
use basalt_model::{KeyRange, Seq};

use super::courtesy::Courtesy;
use super::output::RunWriter;
use crate::new_file::{FamilyTarget, FinishedFile};
use crate::read::{FamilyStream, Purpose, ReadAccess, Rules, StoreFile, file_sources};
use crate::{Error, Result};

/// A decided compaction.
pub(crate) struct CompactionSpec {
    /// The files to rewrite.
    pub(crate) inputs: Vec<Arc<StoreFile>>,
    /// The rows that the region has of them.
    pub(crate) range: KeyRange,
    /// What may leave.
    pub(crate) rules: Rules,
    /// [`Purpose::CompactAll`] only if no other file holds any row of the inputs.
    pub(crate) purpose: Purpose,
    /// Where the outputs go.
    pub(crate) target: FamilyTarget,
    /// Size at which an output file ends.
    pub(crate) file_bytes_max: u64,
}

/// Cancels a compaction from another thread.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
}

impl Control {
    /// Asks the compaction to end; it does so at the next block, with [`Error::Closed`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// True after [`Control::cancel`].
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

/// Rewrites the inputs, giving way to readers if `courtesy` says how. The files returned are durable but in no manifest; dropping them removes them.
pub(crate) fn run(
    spec: &CompactionSpec,
    access: &ReadAccess,
    control: &Control,
    mut courtesy: Option<Courtesy<'_>>,
) -> Result<Vec<FinishedFile>> {
    debug_assert_ne!(spec.purpose, Purpose::Read);
    let expired = |file: &StoreFile| {
        spec.rules.versions_min == 0 && file.meta().timestamp_max < spec.rules.timestamp_min
    };
    let inputs: Vec<_> = spec.inputs.iter().filter(|file| !expired(file)).cloned().collect();
    let sources = file_sources(&inputs, access, Seq(u64::MAX));
    let mut cells = FamilyStream::new(sources, spec.rules.clone(), spec.purpose);
    cells.seek_range(&spec.range);
    let mut output = RunWriter::new(spec.target.clone(), keeps_seqs(spec), spec.file_bytes_max, seqs(spec));
    if have_tags(&inputs)? {
        output.allow_tags();
    }
    let mut last_row = Vec::new();
    let mut runs = Vec::new();
    while cells.step(&mut runs)? {
        if control.is_cancelled() {
            return Err(Error::Closed);
        }
        for run in runs.drain(..) {
            write(&run, &mut last_row, keeps_seqs(spec), &mut output)?;
        }
        if let Some(courtesy) = &mut courtesy {
            courtesy.give_way();
        }
    }
    output.finish()
}

fn have_tags(inputs: &[Arc<StoreFile>]) -> Result<bool> {
    for file in inputs {
        if file.reader()?.has_tags() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn keeps_seqs(spec: &CompactionSpec) -> bool {
    let markers_stay = spec.rules.keep_deleted_cells != KeepDeletedCells::False;
    spec.purpose != Purpose::CompactAll || markers_stay || spec.rules.seq_horizon != u64::MAX
}

fn seqs(spec: &CompactionSpec) -> (Seq, Seq) {
    let metas = || spec.inputs.iter().map(|file| file.meta());
    let min = metas().map(|meta| meta.seq_min).min().unwrap_or_default();
    (min, metas().map(|meta| meta.seq_max).max().unwrap_or_default())
}

fn write(run: &CellRun, last_row: &mut Vec<u8>, with_seq: bool, output: &mut RunWriter) -> Result<()> {
    let block = &run.block;
    let first_row = block.row_starts.partition_point(|&start| start as usize <= run.cells.start) - 1;
    let mut next_row = run.cells.start;
    let mut starts = block.row_starts[first_row + 1..].iter();
    for i in run.cells.clone() {
        let mut cell = block.cell(i);
        if i == next_row {
            if i > run.cells.start || last_row != cell.row {
                output.begin_row(cell.row)?;
            }
            next_row = starts.next().map_or(block.len(), |&start| start as usize);
        }
        if !with_seq {
            cell.seq = Seq(0);
        }
        output.append(cell)?;
    }
    last_row.clear();
    last_row.extend_from_slice(block.row(run.cells.end - 1));
    Ok(())
}

#[cfg(test)]
mod tests;
