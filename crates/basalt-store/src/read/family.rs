// SPDX-License-Identifier: Apache-2.0
//! The visible cells of one family: its sources merged and resolved. Again a [`CellSource`], so that families
//! are put side by side by the same merge.

use std::collections::VecDeque;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::{KeyRange, Seq};
use bytes::Bytes;

use super::access::ReadAccess;
use super::file::{FileListSource, FileSource, StoreFile, disjoint_lists};
use super::merge::Merge;
use super::resolve::{Purpose, Resolver, Rules};
use super::source::CellSource;
use crate::Result;

/// A boxed source; one virtual call per run of cells.
pub type BoxedSource = Box<dyn CellSource>;

/// Makes a source that stands before the first cell of a memtable; a scan may read it in two places at once.
pub type SourceMaker = Arc<dyn Fn() -> BoxedSource + Send + Sync>;

/// What one family of one region is read from.
pub struct FamilyInput {
    /// What decides about its cells.
    pub rules: Rules,
    /// Memtables, newest first.
    pub memtables: Vec<SourceMaker>,
    /// Store files, in any order.
    pub files: Vec<Arc<StoreFile>>,
}

impl FamilyInput {
    /// All sources, one for each memtable and for each list of files that do not overlap.
    pub(crate) fn into_sources(
        self,
        range: &KeyRange,
        access: &ReadAccess,
        seq_max: Seq,
    ) -> Vec<BoxedSource> {
        let files: Vec<_> = self.files.into_iter().filter(|file| file.overlaps(range)).collect();
        let memtables = self.memtables.iter().map(|memtable| memtable());
        memtables.chain(file_sources(&files, access, seq_max)).collect()
    }
}

/// Sources of files: as few as possible.
pub(crate) fn file_sources(files: &[Arc<StoreFile>], access: &ReadAccess, seq_max: Seq) -> Vec<BoxedSource> {
    let lists = disjoint_lists(files).into_iter();
    lists.map(|list| file_list_source(list, access.clone(), seq_max)).collect()
}

fn file_list_source(mut list: Vec<Arc<StoreFile>>, access: ReadAccess, seq_max: Seq) -> BoxedSource {
    match (list.pop(), list.is_empty()) {
        (Some(only), true) => Box::new(FileSource::new(only, access, seq_max)),
        (last, _) => {
            list.extend(last);
            Box::new(FileListSource::new(list, access, seq_max))
        }
    }
}

/// Merge and resolver of one family.
pub(crate) struct FamilyStream {
    merge: Merge<BoxedSource>,
    resolver: Resolver,
    ready: VecDeque<CellRun>,
    batch: Vec<CellRun>,
    seek_row: Bytes,
    started: bool,
}

impl FamilyStream {
    /// The cells of `sources`, newest first, that pass `rules`.
    pub(crate) fn new(sources: Vec<BoxedSource>, rules: Rules, purpose: Purpose) -> Self {
        Self {
            merge: Merge::new(sources),
            resolver: Resolver::new(rules, purpose),
            ready: VecDeque::new(),
            batch: Vec::new(),
            seek_row: Bytes::new(),
            started: false,
        }
    }

    /// The stream that a reader of `range` uses.
    pub(crate) fn of_input(input: FamilyInput, range: &KeyRange, access: &ReadAccess, seq_max: Seq) -> Self {
        let rules = input.rules.clone();
        Self::new(input.into_sources(range, access, seq_max), rules, Purpose::Read)
    }

    /// Appends the passing cells of the next stretch of the merge; false at the end of the range.
    pub(crate) fn step(&mut self, out: &mut Vec<CellRun>) -> Result<bool> {
        let Some(stretch) = self.merge.next()? else { return Ok(false) };
        self.resolver.push(&stretch, out);
        Ok(true)
    }

    /// Stands at the start of `range`.
    pub(crate) fn seek_range(&mut self, range: &KeyRange) {
        self.merge.seek(range);
        self.resolver.reset();
        self.ready.clear();
        self.started = true;
    }
}

impl CellSource for FamilyStream {
    fn seek(&mut self, row: &[u8]) {
        self.seek_row = Bytes::copy_from_slice(row);
        self.started = false;
    }

    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>> {
        if !self.started {
            self.seek_range(&KeyRange { start: self.seek_row.clone(), end: end.map(Bytes::copy_from_slice) });
        }
        loop {
            if let Some(run) = self.ready.pop_front() {
                return Ok(Some(run));
            }
            let mut batch = std::mem::take(&mut self.batch);
            let more = self.step(&mut batch);
            self.ready.extend(batch.drain(..));
            self.batch = batch;
            if !more? {
                return Ok(None);
            }
        }
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        self.merge.row_before(before)
    }

    fn timestamp_min(&self) -> i64 {
        self.merge.timestamp_min()
    }
}
