// SPDX-License-Identifier: Apache-2.0
//! Writes: what is checked before a batch may be sequenced, and where its rows go.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use basalt_hfile::CellRun;
use basalt_model::{CellRef, FrozenBatch, RowMutationRef, Seq, TableDescriptor, TableId, WriteBatch};

use super::{Database, Shared};
use crate::commit::{BATCH_BYTES_MAX, Target};
use crate::error::{Error, Result};
use crate::options::Durability;
use crate::row_order::order_of;
use crate::snapshot::query::View;
use crate::snapshot::read;
use crate::version::{RegionVersion, TableVersion, Version};

impl Database {
    /// Commits a batch: all of its rows, of all tables, or nothing. Cells without a timestamp get the time of
    /// the commit. Returns when the batch is as durable as asked for and visible to new snapshots.
    pub fn write(&self, batch: WriteBatch, durability: Durability) -> Result<Seq> {
        let shared = self.shared();
        shared.check_writable()?;
        if batch.is_empty() {
            return Ok(shared.commit.visible());
        }
        let version = shared.version();
        shared.check_batch(&batch, &version)?;
        self.write_checked(batch, version, durability)
    }

    /// As [`Database::write`], but what makes a batch be refused costs only the rows that are at fault: the others are then written one by one.
    /// Gives the rows that were not written, by their numbers in the batch.
    pub fn write_rows(&self, batch: WriteBatch, durability: Durability) -> Vec<(usize, Error)> {
        let shared = self.shared();
        let rows = batch.len();
        let all = |error: Error| (0..rows).map(|row| (row, error.clone())).collect();
        if rows == 0 {
            return Vec::new();
        }
        if let Err(error) = shared.check_writable() {
            return all(error);
        }
        let version = shared.version();
        let alone = |error: &Error| rows > 1 && !error.retryable();
        match shared.check_batch(&batch, &version) {
            Err(error) if alone(&error) => return self.write_one_by_one(&batch, durability),
            Err(error) => return all(error),
            Ok(()) => {}
        }
        // Nothing but an index has still something to say about a row.
        let copy = (!version.indexes.is_empty()).then(|| batch.clone());
        match (self.write_checked(batch, version, durability), copy) {
            (Ok(_), _) => Vec::new(),
            (Err(error), Some(copy)) if alone(&error) => self.write_one_by_one(&copy, durability),
            (Err(error), _) => all(error),
        }
    }

    fn write_one_by_one(&self, batch: &WriteBatch, durability: Durability) -> Vec<(usize, Error)> {
        let write = |(table, row): (TableId, RowMutationRef<'_>)| {
            let mut alone = WriteBatch::with_capacity(1, row.entry().len());
            alone.push(table, row);
            self.write(alone, durability)
        };
        batch.iter().enumerate().filter_map(|(i, row)| Some((i, write(row).err()?))).collect()
    }

    /// Commits a batch that was checked against a version.
    fn write_checked(&self, batch: WriteBatch, checked: Arc<Version>, durability: Durability) -> Result<Seq> {
        let shared = self.shared();
        // Not held while this waits for memory, of which the version may have some.
        let held = checked;
        let checked = Arc::downgrade(&held);
        drop(held);
        let fill = shared.admit()?;
        let (rows, bytes) = (batch.len() as u64, batch.size_bytes() as u64);
        let ticket = {
            let mut sequencer = shared.commit.sequencer();
            shared.check_open()?;
            let now_ms = shared.env.now_ms();
            shared.sequence(&mut sequencer, (batch, &checked), durability, now_ms)?
        };
        shared.commit.wait(ticket)?;
        shared.count_write(rows, bytes, fill);
        Ok(ticket)
    }

    /// Reads one row and writes what `change` makes of it, with no other write to the database in between:
    /// what a counter, a sequence or a conditional write needs. `change` sees the visible cells of the row in
    /// key order and may return a batch of any rows and tables, or nothing. It runs while all writers wait,
    /// so it must be quick and must not write itself. Returns the commit, if there was something to write.
    pub fn update(
        &self,
        table: TableId,
        row: &[u8],
        durability: Durability,
        change: impl FnOnce(&[CellRun]) -> Result<Option<WriteBatch>>,
    ) -> Result<Option<Seq>> {
        self.update_rows(table, &[row], durability, |mut rows| change(&rows.pop().unwrap_or_default()))
    }

    /// As [`Database::update`], for several rows of a table at once: `change` sees the cells of each, in the order
    /// in which they are named.
    pub fn update_rows(
        &self,
        table: TableId,
        rows: &[impl AsRef<[u8]>],
        durability: Durability,
        change: impl FnOnce(Vec<Vec<CellRun>>) -> Result<Option<WriteBatch>>,
    ) -> Result<Option<Seq>> {
        let (seq, written) = self.read_modify_write(durability, |view| {
            let batch = change(current_rows(view, table, rows)?)?.unwrap_or_default();
            let written = !batch.is_empty();
            Ok((batch, written))
        })?;
        Ok(written.then_some(seq))
    }

    /// Writes what `change` makes of the state just before, and gives back what else it says; no other write comes
    /// in between. Returns the commit, or the newest commit that `change` saw if it wrote nothing.
    pub(crate) fn read_modify_write<T>(
        &self,
        durability: Durability,
        change: impl FnOnce(&View<'_>) -> Result<(WriteBatch, T)>,
    ) -> Result<(Seq, T)> {
        let shared = self.shared();
        shared.check_writable()?;
        let fill = shared.admit()?;
        let mut sequencer = shared.commit.sequencer();
        shared.check_open()?;
        // Also what is on its way: it is before this write in the log, and undone only together with it.
        let (seq, undone) = (sequencer.last_seq(), shared.commit.undone());
        let version = shared.version();
        let now_ms = sequencer.timestamp_at(shared.env.now_ms());
        let (batch, result) = change(&View { shared, version: &version, seq, now_ms })?;
        if batch.is_empty() {
            drop(sequencer);
            // The answer may rest on a write that is not durable yet.
            shared.commit.wait_for_reader(seq, undone)?;
            return Ok((seq, result));
        }
        shared.check_batch(&batch, &version)?;
        let (rows, bytes) = (batch.len() as u64, batch.size_bytes() as u64);
        let ticket =
            shared.sequence(&mut sequencer, (batch, &Arc::downgrade(&version)), durability, now_ms)?;
        drop(sequencer);
        shared.commit.wait(ticket)?;
        shared.count_write(rows, bytes, fill);
        Ok((ticket, result))
    }

    /// Largest batch that [`Database::write`] takes, in bytes.
    pub fn batch_bytes_max(&self) -> u64 {
        self.shared().batch_bytes_max()
    }

    /// Makes everything that was acknowledged durable, [`Durability::Async`] writes included.
    pub fn sync_wal(&self) -> Result<()> {
        self.shared().check_writable()?;
        self.shared().commit.sync_log()
    }
}

impl Shared {
    /// Largest batch that somebody may write, in bytes: it lies in memory until it is flushed. What follows from it for indexes comes on top.
    fn batch_bytes_max(&self) -> u64 {
        self.options.unflushed_bytes_max().min(BATCH_BYTES_MAX as u64)
    }

    /// Counts a write and pays for it; `fill` as [`Shared::admit`] gave it.
    fn count_write(&self, rows: u64, bytes: u64, fill: Option<f64>) {
        self.upkeep.pace.pay(bytes, fill, &*self.env.clock);
        self.metrics.batches_written.fetch_add(1, Relaxed);
        self.metrics.rows_written.fetch_add(rows, Relaxed);
        self.metrics.bytes_written.fetch_add(bytes, Relaxed);
    }

    /// Gives the batch, which was checked against a version, its numbers, with what follows from it for indexes. The caller holds the
    /// sequencer and waits for the ticket afterwards.
    pub(super) fn sequence(
        &self,
        sequencer: &mut crate::commit::Sequencer,
        (batch, checked): (WriteBatch, &Weak<Version>),
        durability: Durability,
        now_ms: i64,
    ) -> Result<Seq> {
        let version = self.version();
        // Tables are disabled, altered and dropped under the sequencer, but maybe since the batch was checked.
        if checked.as_ptr() != Arc::as_ptr(&version) {
            self.check_batch(&batch, &version)?;
        }
        let rows = batch.len();
        let view = View { shared: self, version: &version, seq: sequencer.last_seq(), now_ms };
        let batch = self.follow(&view, batch, sequencer.timestamp_at(now_ms))?;
        // After a crash a row and its index rows must be there together, so what follows is logged with it.
        let followed = batch.len() > rows;
        let durability = if followed { durability.max(Durability::Async) } else { durability };
        check_size(&batch, BATCH_BYTES_MAX as u64)?;
        self.commit.sequence(sequencer, batch, durability, now_ms, |batch| route(batch, &version))
    }

    /// The caller's mistakes: unknown tables and families, impossible timestamps, too many bytes.
    pub(super) fn check_batch(&self, batch: &WriteBatch, version: &Version) -> Result<()> {
        check_size(batch, self.batch_bytes_max())?;
        let mut table: Option<&Arc<TableVersion>> = None;
        let mut max = self.options.cell_bytes_max;
        for (id, row) in batch.iter() {
            if table.is_none_or(|table| table.id != id) {
                let descriptor = &table.insert(version.enabled_table(id)?).descriptor;
                refuse_index(descriptor)?;
                max = descriptor.cell_bytes_max().unwrap_or(self.options.cell_bytes_max);
            }
            let families = &table.expect("set above").descriptor.families;
            let mut known: &[u8] = b"";
            for cell in row.cells(Seq(0)) {
                check_cell(&cell, max)?;
                if cell.family == known {
                    continue;
                }
                if !families.iter().any(|family| family.name.as_bytes() == cell.family) {
                    let table = table.expect("set above").descriptor.name.clone();
                    let family = basalt_model::escape::Escaped(cell.family).to_string();
                    return Err(Error::NoSuchFamily { table, family });
                }
                known = cell.family;
            }
        }
        Ok(())
    }
}

fn check_size(batch: &WriteBatch, max: u64) -> Result<()> {
    let found = batch.size_bytes() as u64;
    let what = "bytes in one batch (a quarter of --memory, at most 1 GiB)";
    if found <= max { Ok(()) } else { Err(Error::OutOfRange { what, found, min: 0, max }) }
}

/// An error for a cell that is larger than `bytes_max`, or older than all time.
pub(crate) fn check_cell(cell: &CellRef<'_>, bytes_max: u64) -> Result<()> {
    if cell.timestamp < 0 {
        return Err(Error::NegativeTimestamp { found: cell.timestamp });
    }
    let name = cell.row.len() + cell.family.len() + cell.qualifier.len();
    let found = (name + cell.value.len() + cell.tags.len()) as u64;
    if found > bytes_max {
        return Err(Error::OutOfRange { what: "bytes of a cell", found, min: 0, max: bytes_max });
    }
    Ok(())
}

/// The visible cells of each row, in the order in which they are named.
fn current_rows(view: &View<'_>, table: TableId, rows: &[impl AsRef<[u8]>]) -> Result<Vec<Vec<CellRun>>> {
    if let [row] = rows {
        return Ok(vec![read::row(view.shared, view.version, table, row.as_ref(), None, view.seq)?]);
    }
    let rows: Vec<&[u8]> = rows.iter().map(AsRef::as_ref).collect();
    let mut order = order_of(&rows);
    order.dedup_by(|next, before| rows[*next] == rows[*before]);
    let distinct: Vec<&[u8]> = order.into_iter().map(|at| rows[at]).collect();
    let found = read::rows(view.shared, view.version, table, &distinct, None, view.seq)?;
    let cells = |row: &&[u8]| found[distinct.partition_point(|known| known < row)].clone();
    Ok(rows.iter().map(cells).collect())
}

/// Nobody but its table writes to an index.
pub(super) fn refuse_index(table: &TableDescriptor) -> Result<()> {
    match &table.index {
        None => Ok(()),
        Some(index) => Err(Error::Invalid(format!("{} is an index; write to {}", table.name, index.on))),
    }
}

/// Cuts a batch into stretches of rows that go to the same region.
fn route(batch: &FrozenBatch, version: &Version) -> Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    let mut current: Option<(TableId, &RegionVersion)> = None;
    for (i, (table, mutation)) in batch.rows.iter().enumerate() {
        let row = mutation.borrow();
        if let Some((id, region)) = current
            && id == *table
            && region.range.contains(row.row())
        {
            targets.last_mut().expect("a current region has a target").rows.end = i + 1;
            continue;
        }
        let region = version.table(*table)?.region_of(row.row());
        current = Some((*table, region));
        let memtable = Arc::clone(&region.active);
        targets.push(Target { table: *table, region: region.id, memtable, rows: i..i + 1 });
    }
    Ok(targets)
}
