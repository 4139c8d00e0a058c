// SPDX-License-Identifier: Apache-2.0
//! What gets and scans give: the cells of one row, as ranges of the blocks that hold them. Nothing is copied.

use std::ops::Range;
use std::sync::Arc;

use basalt_hfile::{CellBlock, CellRun};
use basalt_model::CellRef;

/// What a reader gets as the value of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueForm {
    /// The stored value, of this length.
    Stored(u32),
    /// Nothing.
    Empty,
    /// Its length, big-endian.
    Length([u8; 4]),
}

impl ValueForm {
    /// The length of the value in this form, as a value.
    pub(crate) fn length(self) -> Self {
        Self::Length(match self {
            Self::Stored(len) => len.to_be_bytes(),
            Self::Empty => [0; 4],
            Self::Length(_) => 4_u32.to_be_bytes(),
        })
    }
}

/// Some consecutive cells of a block.
#[derive(Debug, Clone)]
struct Span {
    block: Arc<CellBlock>,
    cells: Range<usize>,
    form: ValueForm,
}

/// The cells of one row, in key order: family, qualifier, then from the newest to the oldest.
#[derive(Debug, Clone, Default)]
pub struct Row {
    spans: Vec<Span>,
    len: usize,
    partial: bool,
}

impl Row {
    /// True if there is no such row, or nothing of it passed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The row key; empty if there are no cells.
    pub fn key(&self) -> &[u8] {
        self.spans.first().map_or(b"", |span| span.block.row(span.cells.start))
    }

    /// True if more cells of the row come with the next result: the scan cuts rows.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// The cells.
    pub fn cells(&self) -> impl Iterator<Item = CellRef<'_>> {
        self.spans.iter().flat_map(|span| {
            span.cells.clone().map(|i| {
                let cell = span.block.cell(i);
                match &span.form {
                    ValueForm::Stored(_) => cell,
                    ValueForm::Empty => CellRef { value: b"", ..cell },
                    ValueForm::Length(bytes) => CellRef { value: bytes, ..cell },
                }
            })
        })
    }

    /// The first value of a column, which is the newest; `None` if there is none.
    pub fn value(&self, family: &[u8], qualifier: &[u8]) -> Option<&[u8]> {
        self.cells().find(|cell| cell.family == family && cell.qualifier == qualifier).map(|cell| cell.value)
    }

    /// Bytes of keys and values.
    pub fn size_bytes(&self) -> u64 {
        self.cells().map(|cell| cell_bytes(&cell)).sum()
    }

    pub(crate) fn set_partial(&mut self, partial: bool) {
        self.partial = partial;
    }

    pub(crate) fn push_run(&mut self, block: &Arc<CellBlock>, cells: Range<usize>) {
        self.len += cells.len();
        self.spans.push(Span { block: Arc::clone(block), cells, form: ValueForm::Stored(0) });
    }

    /// Adds those cells of a run whose qualifier is wanted.
    pub(crate) fn push_columns(&mut self, run: &CellRun, wanted: impl Fn(&[u8]) -> bool) {
        for i in run.cells.clone().filter(|&i| wanted(run.block.qualifier_of(&run.block.slots[i]))) {
            self.push(&run.block, i, ValueForm::Stored(0));
        }
    }

    pub(crate) fn push(&mut self, block: &Arc<CellBlock>, index: usize, form: ValueForm) {
        self.len += 1;
        let stored = matches!(form, ValueForm::Stored(_));
        if let Some(last) = self.spans.last_mut()
            && stored
            && matches!(last.form, ValueForm::Stored(_))
            && last.cells.end == index
            && Arc::ptr_eq(&last.block, block)
        {
            last.cells.end += 1;
            return;
        }
        self.spans.push(Span { block: Arc::clone(block), cells: index..index + 1, form });
    }

    pub(crate) fn clear(&mut self) {
        self.spans.clear();
        self.len = 0;
    }

    /// Keeps the cells that `keep` wants.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&CellRef<'_>) -> bool) {
        let spans = std::mem::take(&mut self.spans);
        self.len = 0;
        for span in spans {
            for i in span.cells.clone() {
                if keep(&span.block.cell(i)) {
                    self.push(&span.block, i, span.form);
                }
            }
        }
    }

    /// Puts the cells in key order again, after families were added out of turn.
    pub(crate) fn sort(&mut self) {
        let mut single: Vec<Span> = Vec::with_capacity(self.len);
        for span in self.spans.drain(..) {
            single.extend(span.cells.clone().map(|i| Span { cells: i..i + 1, ..span.clone() }));
        }
        single.sort_by(|a, b| a.block.cell(a.cells.start).compare(&b.block.cell(b.cells.start)));
        self.len = 0;
        for span in single {
            self.push(&span.block, span.cells.start, span.form);
        }
    }
}

/// What a cell counts against a limit in bytes.
pub(crate) fn cell_bytes(cell: &CellRef<'_>) -> u64 {
    (cell.row.len() + cell.family.len() + cell.qualifier.len() + cell.value.len() + cell.tags.len() + 20)
        as u64
}
