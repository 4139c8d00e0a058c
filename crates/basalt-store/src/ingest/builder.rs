// SPDX-License-Identifier: Apache-2.0
//! Rows into runs of files, on the writing thread.

use std::sync::Arc;

use basalt_hfile::columnar::ColumnBatch;
use basalt_model::mutation::MutationError;
use basalt_model::table::DeleteRule;
use basalt_model::{
    CellRef, CellType, LATEST_TIMESTAMP, RowMutationRef, Seq, TableId, TableName, WriteBatch,
};
use bytes::Bytes;

use super::buffer::Buffer;
use super::{IngestSpec, Ingested};
use crate::compact::RunWriter;
use crate::database::check_cell;
use crate::new_file::{FamilyTarget, FinishedFile};
use crate::{Error, Result};

/// Rows that are looked at before the input counts as sorted, in bytes: input without order must not begin
/// with a run of the few rows that happened to ascend.
const PROBE_BYTES: usize = 4 << 20;

/// See the parent module.
pub(super) struct Builder {
    table: TableId,
    families: Vec<Family>,
    memory_bytes: usize,
    /// Timestamp of cells without one.
    timestamp: i64,
    /// The last row of the current run.
    last_row: Vec<u8>,
    buffer: Buffer,
    runs: Vec<Vec<(String, FinishedFile)>>,
    rows: u64,
    cells: u64,
    with_tags: bool,
    file_bytes_max: u64,
    bounds: Arc<[Bytes]>,
    table_name: TableName,
    cell_bytes_max: u64,
}

struct Family {
    name: String,
    target: FamilyTarget,
    delete_rule: DeleteRule,
    /// The current run, once a row has a cell of the family.
    writer: Option<RunWriter>,
}

impl Builder {
    pub(super) fn new(spec: IngestSpec, timestamp: i64) -> Self {
        let family = |(name, target, delete_rule)| Family { name, target, delete_rule, writer: None };
        Self {
            table: spec.table,
            families: spec.families.into_iter().map(family).collect(),
            memory_bytes: spec.memory_bytes,
            timestamp,
            last_row: Vec::new(),
            buffer: Buffer::default(),
            runs: Vec::new(),
            rows: 0,
            cells: 0,
            with_tags: false,
            file_bytes_max: spec.file_bytes_max,
            bounds: spec.bounds,
            table_name: spec.table_name,
            cell_bytes_max: spec.cell_bytes_max,
        }
    }

    /// Cells from now on may have tags.
    pub(super) fn allow_tags(&mut self) {
        if !self.with_tags {
            self.with_tags = true;
            for family in &mut self.families {
                family.target = family.target.clone().with_tags();
                if let Some(writer) = &mut family.writer {
                    writer.allow_tags();
                }
            }
        }
    }

    pub(super) fn add(&mut self, batch: WriteBatch) -> Result<()> {
        self.rows += batch.len() as u64;
        if let Some((other, _)) = batch.iter().find(|(table, _)| *table != self.table) {
            let (this, other) = (self.table.0, other.0);
            return Err(Error::Invalid(format!(
                "a row of table {other} was added to an ingest into table {this}"
            )));
        }
        let run_is_open = !self.last_row.is_empty();
        let streamed = if run_is_open && self.buffer.is_empty() { self.stream(&batch)? } else { 0 };
        if streamed < batch.len() {
            self.buffer.push(batch, streamed);
        }
        let size_bytes = self.buffer.size_bytes();
        let in_order = size_bytes >= PROBE_BYTES && self.buffer.is_ascending();
        if in_order || size_bytes >= self.memory_bytes { self.spill() } else { Ok(()) }
    }

    /// Adds rows by column: to the open run, if they are behind it, else as mutations.
    pub(super) fn add_columns(&mut self, batch: &ColumnBatch) -> Result<()> {
        let run_is_open = !self.last_row.is_empty();
        let behind = run_is_open && self.buffer.is_empty() && batch.first_row() > &self.last_row[..];
        if !behind {
            return self.add(self.mutations(batch)?);
        }
        let family = self.begin_row(batch.family(), batch.first_row())?;
        let writer = self.families[family].writer.as_mut().expect("begun with the row");
        if !writer.has_room_to(batch.last_row()) {
            return self.add(self.mutations(batch)?);
        }
        writer.append_columns(batch)?;
        self.rows += batch.len() as u64;
        self.cells += batch.cells() as u64;
        self.last_row.clear();
        self.last_row.extend_from_slice(batch.last_row());
        Ok(())
    }

    /// The rows as mutations.
    fn mutations(&self, batch: &ColumnBatch) -> Result<WriteBatch> {
        let mut mutations = WriteBatch::new();
        let invalid = |error: MutationError| Error::Invalid(error.to_string());
        for index in 0..batch.len() {
            let mut row = mutations.row(self.table, batch.row(index)).map_err(invalid)?;
            batch.for_each_of_row(index, |cell| {
                row.put(cell.family, cell.qualifier, cell.timestamp, cell.value).map(|_| ()).map_err(invalid)
            })?;
            row.finish();
        }
        Ok(mutations)
    }

    pub(super) fn finish(mut self) -> Result<Ingested> {
        self.spill()?;
        self.end_run()?;
        Ok(Ingested { runs: self.runs, rows: self.rows, cells: self.cells })
    }

    /// Writes rows as long as they ascend; the number written.
    fn stream(&mut self, batch: &WriteBatch) -> Result<usize> {
        for (index, (_, mutation)) in batch.iter().enumerate() {
            if mutation.row() <= &self.last_row[..] {
                return Ok(index);
            }
            self.write_row(mutation.row(), mutation.cells(Seq(0)))?;
        }
        Ok(batch.len())
    }

    /// Writes the buffer, into the current run if all of it lies behind that.
    fn spill(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.sort();
        let Some(first_row) = buffer.first_row() else { return Ok(()) };
        if first_row <= &self.last_row[..] {
            self.end_run()?;
        }
        for mutations in buffer.rows() {
            match &mutations[..] {
                [only] => self.write_row(only.row(), only.cells(Seq(0)))?,
                several => self.write_row(several[0].row(), self.merged(several).into_iter())?,
            }
        }
        buffer.clear();
        Ok(())
    }

    /// The cells of several mutations of one row, given in the order in which they came. They have one sequence number, so that it cannot tell
    /// which of a put and a delete of one version came last: where it should ([`DeleteRule::BySequence`]) the last one alone stays.
    fn merged<'a>(&self, mutations: &[RowMutationRef<'a>]) -> Vec<CellRef<'a>> {
        use CellType::{DeleteFamily, DeleteFamilyVersion};
        let by_sequence = |cell: &CellRef<'_>| {
            let of_cell = |family: &&Family| family.name.as_bytes() == cell.family;
            self.families.iter().find(of_cell).is_some_and(|of| of.delete_rule == DeleteRule::BySequence)
        };
        let later_first = mutations.iter().rev().enumerate();
        let mut cells: Vec<(usize, CellRef<'a>)> = later_first
            .flat_map(|(age, mutation)| mutation.cells(Seq(0)).map(move |cell| (age, cell)))
            .map(|(age, cell)| (age, stamped(cell, self.timestamp)))
            .collect();
        cells.sort_by(|(_, a), (_, b)| a.compare_without_seq(b));
        cells.dedup_by(|(_, earlier), (_, later)| earlier.compare_without_seq(later).is_eq());
        cells.dedup_by(|(age, next), (kept_age, kept)| {
            let is_of_family =
                |cell: &CellRef<'_>| matches!(cell.cell_type, DeleteFamily | DeleteFamilyVersion);
            let is_same = next.timestamp == kept.timestamp
                && next.qualifier == kept.qualifier
                && !is_of_family(next)
                && !is_of_family(kept)
                && next.family == kept.family
                && by_sequence(next);
            if is_same && age < kept_age {
                (*kept_age, *kept) = (*age, *next);
            }
            is_same
        });
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    fn write_row<'a>(&mut self, row: &[u8], cells: impl Iterator<Item = CellRef<'a>>) -> Result<()> {
        let mut current: Option<usize> = None;
        for cell in cells {
            check_cell(&cell, self.cell_bytes_max)?;
            let family = match current.filter(|&at| self.families[at].name.as_bytes() == cell.family) {
                Some(at) => at,
                None => self.begin_row(cell.family, row)?,
            };
            current = Some(family);
            let writer = self.families[family].writer.as_mut().expect("begun with the row");
            writer.append(stamped(cell, self.timestamp))?;
            self.cells += 1;
        }
        self.last_row.clear();
        self.last_row.extend_from_slice(row);
        Ok(())
    }

    fn begin_row(&mut self, name: &[u8], row: &[u8]) -> Result<usize> {
        let at = self.families.iter().position(|family| family.name.as_bytes() == name).ok_or_else(|| {
            let family = basalt_model::escape::Escaped(name).to_string();
            Error::NoSuchFamily { table: self.table_name.clone(), family }
        })?;
        let family = &mut self.families[at];
        let new_writer = || {
            RunWriter::new(family.target.clone(), false, self.file_bytes_max, (Seq(0), Seq(0)))
                .over_regions(Arc::clone(&self.bounds))
        };
        family.writer.get_or_insert_with(new_writer).begin_row(row)?;
        Ok(at)
    }

    fn end_run(&mut self) -> Result<()> {
        let mut files = Vec::new();
        for family in &mut self.families {
            if let Some(writer) = family.writer.take() {
                let finished = writer.finish()?;
                files.extend(finished.into_iter().map(|file| (family.name.clone(), file)));
            }
        }
        if !files.is_empty() {
            self.runs.push(files);
        }
        self.last_row.clear();
        Ok(())
    }
}

#[inline]
fn stamped(mut cell: CellRef<'_>, timestamp: i64) -> CellRef<'_> {
    if cell.timestamp == LATEST_TIMESTAMP {
        cell.timestamp = timestamp;
    }
    cell
}
