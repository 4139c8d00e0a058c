// SPDX-License-Identifier: Apache-2.0
//! Reads a memtable as a source of cells: rows are copied in chunks into cell blocks, outside of the lock.
//!
//! The first chunk after a seek is small, so that a lookup of one row copies little; later ones grow.

use std::collections::VecDeque;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::{CellRef, RowMutation, Seq};
use bytes::Bytes;

use super::Memtable;
use super::block::BlockBuilder;
use crate::Result;
use crate::read::CellSource;

const FIRST_ROWS: usize = 16;
const ROWS_MAX: usize = 1024;

/// Cells of one family (or of all) of a memtable, up to a sequence number.
#[derive(Debug)]
pub(crate) struct MemtableCursor {
    memtable: Arc<Memtable>,
    family: Option<Bytes>,
    seq_max: Seq,
    /// Next row to copy; `None` when all were.
    next_row: Option<Bytes>,
    rows: usize,
    entries: Vec<(Seq, RowMutation)>,
    ready: VecDeque<CellRun>,
}

impl MemtableCursor {
    /// Stands before the first row.
    pub(crate) fn new(memtable: Arc<Memtable>, family: Option<&str>, seq_max: Seq) -> Self {
        let family = family.map(|family| Bytes::copy_from_slice(family.as_bytes()));
        let (next_row, entries, ready) = (Some(Bytes::new()), Vec::new(), VecDeque::new());
        Self { memtable, family, seq_max, next_row, rows: FIRST_ROWS, entries, ready }
    }
}

impl CellSource for MemtableCursor {
    fn seek(&mut self, row: &[u8]) {
        self.next_row = Some(Bytes::copy_from_slice(row));
        self.rows = FIRST_ROWS;
        self.ready.clear();
    }

    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>> {
        loop {
            if let Some(run) = self.ready.pop_front() {
                return Ok(Some(run));
            }
            let Some(row) = self.next_row.take() else { return Ok(None) };
            self.entries.clear();
            self.next_row = self.memtable.copy_rows(&row, end, self.seq_max, self.rows, &mut self.entries);
            self.rows = (self.rows * 4).min(ROWS_MAX);
            build_runs(&self.entries, self.family.as_deref(), &mut self.ready);
        }
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        Ok(self.memtable.row_before(before, self.family.as_deref(), self.seq_max))
    }

    fn in_memory(&self) -> bool {
        true
    }
}

/// Turns entries (rows ascending, newest first in a row) into runs of cells in key order.
pub(super) fn build_runs(
    entries: &[(Seq, RowMutation)],
    family: Option<&[u8]>,
    out: &mut impl Extend<CellRun>,
) {
    let mut builder = BlockBuilder::default();
    let mut at = 0;
    let mut cells = Vec::new();
    while at < entries.len() {
        let row = entries[at].1.borrow().row();
        let len = entries[at..].iter().take_while(|(_, mutation)| mutation.borrow().row() == row).count();
        cells.clear();
        for (seq, mutation) in &entries[at..at + len] {
            let all = mutation.borrow().cells(*seq);
            cells.extend(all.filter(|cell| family.is_none_or(|family| family == cell.family)));
        }
        if len > 1 {
            cells.sort_by(CellRef::compare);
        }
        let mut before = None;
        for cell in &cells {
            if builder.is_full() {
                out.extend(builder.finish());
            }
            builder.push_behind(before, cell);
            before = Some(cell);
        }
        at += len;
    }
    out.extend(builder.finish());
}
