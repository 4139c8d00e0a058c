// SPDX-License-Identifier: Apache-2.0
//! A row group in the hands of a source, which reads it part by part.

use std::sync::Arc;

use basalt_hfile::{CellBlock, ColumnarBlock};

use super::StoreFile;
use crate::Result;
use crate::read::access::{Keep, ReadAccess, Tally, Way};
use crate::read::cache::WorkingMemory;

#[derive(Debug)]
pub(super) struct Group {
    pub(super) index: usize,
    pub(super) head: Arc<ColumnarBlock>,
    /// The part to be read next.
    pub(super) next: usize,
    stored: Option<Stored>,
}

/// All of a row group as it is stored, in memory.
#[derive(Debug)]
struct Stored {
    group: ColumnarBlock,
    _memory: WorkingMemory,
}

impl Group {
    /// Block `index` of a file, to be read from the part `next` on.
    pub(super) fn new(index: usize, head: Arc<ColumnarBlock>, next: usize) -> Self {
        Self { index, head, next, stored: None }
    }

    /// The cells of one part, from the cache or from storage. Of a source that goes on the group is read as a whole, and goes into the cache as it
    /// is stored.
    pub(super) fn part(
        &mut self,
        part: usize,
        way: Way,
        file: &StoreFile,
        access: &ReadAccess,
    ) -> Result<Arc<CellBlock>> {
        if access.keep == Keep::Nothing || way == Way::Sought {
            return file.part((self.index, part), &self.head, access);
        }
        if let Some(block) = access.cache.get_in_passing(file.meta.id, self.index, part) {
            access.counters.found_in_cache(&block);
            return Ok(block);
        }
        let stored = match &mut self.stored {
            Some(stored) => stored,
            none => none.insert(Stored::new(self.index, &self.head, file, access)?),
        };
        let cells = stored.group.decode(part..part + 1);
        cells.map(Arc::new).map_err(|error| file.explain(error, Some(self.index)))
    }
}

impl Stored {
    fn new(index: usize, head: &ColumnarBlock, file: &StoreFile, access: &ReadAccess) -> Result<Self> {
        let size_bytes = u64::from(file.explained(file.reader()?.block_extent(index))?.size_bytes);
        // As it is stored, and once more in the sections that go into the cache and may have to leave it meanwhile.
        let memory = access.cache.work_with(2 * size_bytes);
        let tally = Tally::new(&access.counters, size_bytes);
        let group = head.reopened(Some(access.cache.shelf(file.owner(), index, tally)));
        group.load_all().map_err(|error| file.explain(error, Some(index)))?;
        Ok(Self { group, _memory: memory })
    }
}
