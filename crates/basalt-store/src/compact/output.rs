// SPDX-License-Identifier: Apache-2.0
//! One sorted run of cells written as files of bounded size, cut between rows.

use std::sync::Arc;

use basalt_hfile::columnar::ColumnBatch;
use basalt_model::{CellRef, Seq};
use bytes::Bytes;

use crate::Result;
use crate::new_file::{FamilyTarget, FinishedFile, NewFile};

/// Size at which a run goes on in the next file: large enough that a terabyte is some thousands of files,
/// small enough that rewriting one is a matter of seconds.
pub(crate) const FILE_BYTES_MAX: u64 = 256 << 20;

/// Writes a run. Dropping it, or the files it gave, removes them.
pub(crate) struct RunWriter {
    target: FamilyTarget,
    with_seq: bool,
    /// The next row begins a new file.
    cut: bool,
    file_bytes_max: u64,
    /// First rows of regions: a file ends before each.
    bounds: Arc<[Bytes]>,
    /// The first of them behind the current file's first row.
    next_bound: Option<Bytes>,
    seqs: (Seq, Seq),
    current: Option<NewFile>,
    finished: Vec<FinishedFile>,
}

impl RunWriter {
    /// Files go to `target`; their cells come from the commits `seqs` (first and last).
    pub(crate) fn new(target: FamilyTarget, with_seq: bool, file_bytes_max: u64, seqs: (Seq, Seq)) -> Self {
        Self {
            target,
            with_seq,
            cut: false,
            file_bytes_max,
            bounds: Arc::default(),
            next_bound: None,
            seqs,
            current: None,
            finished: Vec::new(),
        }
    }

    /// The same, of several regions, whose first rows these are.
    pub(crate) fn over_regions(self, bounds: Arc<[Bytes]>) -> Self {
        Self { bounds, ..self }
    }

    /// Cells from the next row on may have tags. Files with tags spend two bytes on every cell, so a run has
    /// them only from the first that needs them.
    pub(crate) fn allow_tags(&mut self) {
        self.target = self.target.clone().with_tags();
        self.cut = true;
    }

    /// Must be called before the first cell of every row: files end between rows.
    pub(crate) fn begin_row(&mut self, row: &[u8]) -> Result<()> {
        let full = |file: &NewFile| {
            file.size_so_far() >= self.file_bytes_max
                || self.next_bound.as_ref().is_some_and(|bound| **bound <= *row)
        };
        if self.cut || self.current.as_ref().is_some_and(full) {
            self.finish_file()?;
            self.cut = false;
        }
        if self.current.is_none() {
            let at = self.bounds.partition_point(|bound| **bound <= *row);
            self.next_bound = self.bounds.get(at).cloned();
        }
        if self.current.is_none() {
            self.current = Some(self.target.create(self.with_seq)?);
        }
        Ok(())
    }

    /// Appends a cell of the row begun last.
    #[inline]
    pub(crate) fn append(&mut self, cell: CellRef<'_>) -> Result<()> {
        self.current.as_mut().expect("begin_row comes first").append(cell)
    }

    /// True if the file of the row begun last may go on up to this one: both are of one region.
    pub(crate) fn has_room_to(&self, row: &[u8]) -> bool {
        self.next_bound.as_ref().is_none_or(|bound| *row < **bound)
    }

    /// Appends rows by column, of which the first was begun, with [`Self::has_room_to`] the last.
    pub(crate) fn append_columns(&mut self, batch: &ColumnBatch) -> Result<()> {
        self.current.as_mut().expect("begin_row comes first").append_columns(batch)
    }

    fn finish_file(&mut self) -> Result<()> {
        if let Some(file) = self.current.take() {
            let file = file.finish(self.seqs.0, self.seqs.1)?;
            self.finished.push(file);
        }
        Ok(())
    }

    /// Completes the run; all files and their names are durable.
    pub(crate) fn finish(mut self) -> Result<Vec<FinishedFile>> {
        self.finish_file()?;
        if !self.finished.is_empty() {
            self.target.sync()?;
        }
        Ok(self.finished)
    }
}
