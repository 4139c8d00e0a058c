// SPDX-License-Identifier: Apache-2.0
//! Files that do not overlap, as one source.

use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_model::Seq;
use bytes::Bytes;

use super::{FileSource, ReadAccess, StoreFile};
use crate::Result;
use crate::read::source::CellSource;

/// Files whose rows do not overlap, one after the other; a file is opened when the reader comes to it.
#[derive(Debug)]
pub(crate) struct FileListSource {
    files: Vec<Arc<StoreFile>>,
    access: ReadAccess,
    seq_max: Seq,
    seek_row: Vec<u8>,
    next: usize,
    current: Option<FileSource>,
}

impl FileListSource {
    /// `files` are sorted by row.
    pub(crate) fn new(files: Vec<Arc<StoreFile>>, access: ReadAccess, seq_max: Seq) -> Self {
        assert!(files.windows(2).all(|pair| pair[0].meta.last_row < pair[1].meta.first_row));
        Self { files, access, seq_max, seek_row: Vec::new(), next: 0, current: None }
    }
}

impl CellSource for FileListSource {
    fn seek(&mut self, row: &[u8]) {
        let file = self.files.partition_point(|file| file.meta.last_row < row);
        if self.next != file + 1 {
            self.current = None;
        }
        if let Some(current) = &mut self.current {
            current.seek(row);
        } else {
            self.next = file;
        }
        self.seek_row = row.to_vec();
    }

    fn next_run(&mut self, end: Option<&[u8]>) -> Result<Option<CellRun>> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(run) = current.next_run(end)? {
                    return Ok(Some(run));
                }
                self.current = None;
            }
            let Some(file) = self.files.get(self.next) else { return Ok(None) };
            if end.is_some_and(|end| file.meta.first_row >= end) {
                return Ok(None);
            }
            let mut source = FileSource::new(Arc::clone(file), self.access.clone(), self.seq_max);
            source.seek(&self.seek_row);
            self.current = Some(source);
            self.next += 1;
        }
    }

    fn row_before(&self, before: Option<&[u8]>) -> Result<Option<Bytes>> {
        let above = |file: &Arc<StoreFile>| before.is_none_or(|before| file.meta.first_row < before);
        let Some(at) = self.files.iter().rposition(above) else { return Ok(None) };
        match &self.current {
            Some(current) if Arc::ptr_eq(&current.file, &self.files[at]) => current.row_before(before),
            _ => FileSource::new(Arc::clone(&self.files[at]), self.access.clone(), self.seq_max)
                .row_before(before),
        }
    }

    fn timestamp_min(&self) -> i64 {
        self.files.iter().map(|file| file.meta.timestamp_min).min().unwrap_or(i64::MAX)
    }
}

/// Divides files into as few lists as possible whose files do not overlap, each sorted by row.
pub(crate) fn disjoint_lists(files: &[Arc<StoreFile>]) -> Vec<Vec<Arc<StoreFile>>> {
    let mut files = files.to_vec();
    files.sort_by(|a, b| a.meta.first_row.cmp(&b.meta.first_row).then(b.meta.id.cmp(&a.meta.id)));
    let mut lists: Vec<Vec<Arc<StoreFile>>> = Vec::new();
    for file in files {
        let free = lists.iter_mut().find(|list| {
            list.last().is_some_and(|last: &Arc<StoreFile>| last.meta.last_row < file.meta.first_row)
        });
        match free {
            Some(list) => list.push(file),
            None => lists.push(vec![file]),
        }
    }
    lists
}
