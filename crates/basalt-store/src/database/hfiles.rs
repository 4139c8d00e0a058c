// SPDX-License-Identifier: Apache-2.0
//! Store files that others wrote, HBase's jobs above all, become a part of a table: HBase's *bulk load*.
//!
//! Their cells are read, checked and written into files of the table's own, in its encodings and with its bounds of regions. So
//! nothing that HBase may have written has to be understood later, and a damaged file is found before anything is visible. The
//! files themselves stay as they are.

use std::path::{Path, PathBuf};

use basalt_hfile::{HFileReader, ReadOptions};
use basalt_model::{CellRef, CellType, KeyRange, TableId, WriteBatch};

use super::{Database, Ingest, IngestSummary};
use crate::error::{Error, Result};

/// Bytes of rows that are handed to the ingest at once.
const BATCH_BYTES: usize = 4 << 20;

impl Database {
    /// Loads store files into a table, all of them at once or none. `files` are a family and a file of its cells each; every row must
    /// lie in `range`. Cells keep their timestamps; among cells of one version, those of the last file count.
    pub fn ingest_files(
        &self,
        table: TableId,
        range: &KeyRange,
        files: &[(String, PathBuf)],
    ) -> Result<IngestSummary> {
        let descriptor = self.table_by_id(table)?;
        for (family, _) in files {
            if !descriptor.families.iter().any(|known| known.name == *family) {
                let (table, family) = (descriptor.name.clone(), family.escape_default().to_string());
                return Err(Error::NoSuchFamily { table, family });
            }
        }
        let mut ingest = self.ingest(table)?;
        for (family, path) in files {
            let file = FileOfOthers { path, family, range, table };
            file.load(self, &mut ingest)?;
        }
        ingest.finish()
    }
}

struct FileOfOthers<'a> {
    path: &'a Path,
    family: &'a str,
    range: &'a KeyRange,
    table: TableId,
}

/// A cell of the row that is being gathered.
struct Held {
    qualifier: Vec<u8>,
    timestamp: i64,
    cell_type: CellType,
    value: Vec<u8>,
    tags: Vec<u8>,
}

impl FileOfOthers<'_> {
    fn load(&self, db: &Database, ingest: &mut Ingest) -> Result<()> {
        let file = db.shared().env.storage.open(self.path).map_err(Error::io("open", self.path))?;
        let reader = HFileReader::open(file, ReadOptions::default()).map_err(|error| self.explain(error))?;
        let (mut batch, mut row, mut cells) = (WriteBatch::new(), Vec::new(), Vec::new());
        for index in 0..reader.block_count().map_err(|error| self.explain(error))? {
            let block = reader.read_block(index).map_err(|error| self.explain(error))?;
            for at in 0..block.len() {
                let cell = block.cell(at);
                self.check(&cell)?;
                if cell.row != row {
                    self.end_row(&mut batch, &row, &mut cells)?;
                    row.clear();
                    row.extend_from_slice(cell.row);
                }
                cells.push(Held::of(&cell));
            }
            if batch.size_bytes() >= BATCH_BYTES {
                ingest.add(std::mem::take(&mut batch))?;
            }
        }
        self.end_row(&mut batch, &row, &mut cells)?;
        if batch.is_empty() { Ok(()) } else { ingest.add(batch) }
    }

    fn check(&self, cell: &CellRef<'_>) -> Result<()> {
        let path = self.path.display();
        if !self.range.contains(cell.row) {
            let row = cell.row.escape_ascii();
            return Err(Error::Invalid(format!("{path} holds row {row}, which lies outside of the region")));
        }
        if cell.family != self.family.as_bytes() {
            let (expected, found) = (self.family, cell.family.escape_ascii());
            let what = format!("{path} holds a cell of family {found}; expected family {expected} only");
            return Err(Error::Invalid(what));
        }
        Ok(())
    }

    fn end_row(&self, batch: &mut WriteBatch, row: &[u8], cells: &mut Vec<Held>) -> Result<()> {
        if cells.is_empty() {
            return Ok(());
        }
        let invalid = |error| Error::Invalid(format!("{}: {error}", self.path.display()));
        let mut builder = batch.row(self.table, row).map_err(invalid)?;
        for cell in cells.drain(..) {
            let Held { qualifier, timestamp, cell_type, value, tags } = &cell;
            builder
                .cell(self.family.as_bytes(), qualifier, *timestamp, *cell_type, value, tags)
                .map_err(invalid)?;
        }
        builder.finish();
        Ok(())
    }

    fn explain(&self, error: basalt_hfile::Error) -> Error {
        match error {
            basalt_hfile::Error::Corrupt { offset, what, .. } => Error::corrupt(self.path, offset, what),
            basalt_hfile::Error::Io { source, .. } => Error::io("read", self.path)(source),
            other => Error::Invalid(format!("{} cannot be loaded: {other}", self.path.display())),
        }
    }
}

impl Held {
    fn of(cell: &CellRef<'_>) -> Self {
        Self {
            qualifier: cell.qualifier.to_vec(),
            timestamp: cell.timestamp,
            cell_type: cell.cell_type,
            value: cell.value.to_vec(),
            tags: cell.tags.to_vec(),
        }
    }
}
