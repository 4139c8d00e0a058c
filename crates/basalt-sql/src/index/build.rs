// SPDX-License-Identifier: Apache-2.0
//! Building an index: all rows of a snapshot become index rows, which are sorted and written as files.
//!
//! ```text
//! threads, one per core            bounded queue        caller's thread, and that of the load
//! segment of the table -> batch -> index rows  ----->   sort, files
//! ```
//!
//! The index follows writes from the moment of its registration on, so nothing has to be caught up with. A large table is read
//! in parts, one stretch of its key after the other; the files of a part are named by the manifest together with the row where
//! the next one begins. A build that ends early, by an error, a kill or the end of the process, leaves an index that is not
//! read; the next opening of the database goes on behind its last part.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use basalt_model::{IndexState, KeyRange, LATEST_TIMESTAMP, TableDescriptor, TableId, WriteBatch};
use basalt_store::env::Task;
use basalt_store::read::RowRequest;
use basalt_store::{Database, Ingest, NewIndex};
use bytes::Bytes;
use parking_lot::Mutex;

use super::entries::Entries;
use super::keeper::Leading;
use crate::engine::Engine;
use crate::error::{ErrorKind, SqlError};
use crate::ingest::typed;
use crate::progress::{Progress, ProgressReading};

/// Batches of index rows that wait for the writer.
const QUEUE_BATCHES: usize = 4;
/// Segments per thread, so that threads end at about the same time.
const SEGMENTS_PER_THREAD: usize = 8;

/// Builds that run by themselves. Dropping it ends them.
#[derive(Default)]
pub(crate) struct Builders {
    stop: Arc<AtomicBool>,
    running: Mutex<Vec<Box<dyn Task>>>,
    building: Arc<Mutex<Vec<Building>>>,
    failures: Arc<Failures>,
}

/// Why the last build of an index failed, as long as the database is open and the index is there.
#[derive(Debug, Default)]
struct Failures(Mutex<HashMap<TableId, String>>);

impl Failures {
    fn note(&self, database: &Database, index: TableId, error: &SqlError) {
        let mut known = self.0.lock();
        known.retain(|id, _| database.table_by_id(*id).is_ok());
        known.insert(index, error.to_string());
    }

    fn forget(&self, index: TableId) {
        self.0.lock().remove(&index);
    }
}

/// An index, and how far its build is.
type Building = (TableId, Arc<Progress>);

impl Builders {
    /// The indexes that are being built by themselves, and how far they are.
    pub(crate) fn building(&self) -> Vec<(TableId, ProgressReading)> {
        self.building.lock().iter().map(|(index, progress)| (*index, progress.read())).collect()
    }

    /// Why the last build of an index failed, if it did.
    pub(crate) fn failure(&self, index: TableId) -> Option<String> {
        self.failures.0.lock().get(&index).cloned()
    }
}

impl std::fmt::Debug for Builders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builders").finish_non_exhaustive()
    }
}

impl Drop for Builders {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        std::mem::take(&mut *self.running.lock()).into_iter().for_each(|task| task.join());
    }
}

/// A build that can be run by any thread. It holds the database, not the engine.
pub(super) struct Build {
    database: Database,
    index: NewIndex,
    descriptor: Arc<TableDescriptor>,
    entries: Entries,
    threads: usize,
    part_rows: u64,
    progress: Arc<Progress>,
    stop: Arc<AtomicBool>,
    failures: Arc<Failures>,
}

/// Stretches of the table that are read one by one.
type Segments = VecDeque<KeyRange>;

impl Build {
    /// For an index that is registered.
    pub(super) fn try_new(
        engine: &Engine,
        index: NewIndex,
        progress: &Arc<Progress>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, SqlError> {
        let descriptor = engine.database().table_by_id(index.id)?;
        let planning = super::planning(engine, Arc::clone(progress));
        Ok(Self {
            entries: Entries::try_new(&planning, &descriptor)?,
            database: engine.database().clone(),
            index,
            descriptor,
            threads: engine.state().config().target_partitions().max(1),
            part_rows: engine.index_part_rows().max(1),
            progress: Arc::clone(progress),
            stop: Arc::clone(stop),
            failures: Arc::clone(&engine.builders().failures),
        })
    }

    /// Registers an index anew and prepares its build.
    pub(super) fn anew(
        engine: &Engine,
        index: TableId,
        progress: &Arc<Progress>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, SqlError> {
        let index = engine.database().restart_index(index)?;
        Self::try_new(engine, index, progress, stop)
    }

    /// Goes on with a build that ended early; from the start where nothing is left of it.
    fn again(engine: &Engine, index: TableId, stop: &Arc<AtomicBool>) -> Result<Self, SqlError> {
        let descriptor = engine.database().table_by_id(index)?;
        let is_building = descriptor.index.as_ref().is_some_and(|index| index.state == IndexState::Building);
        let known = if is_building { engine.database().resume_index(index)? } else { None };
        match known {
            Some(known) => Self::try_new(engine, known, &Arc::default(), stop),
            None => Self::anew(engine, index, &Arc::default(), stop),
        }
    }

    /// Builds; returns the number of rows that it gave the index. A unique index that cannot be is disabled again. Why a build failed is remembered.
    pub(super) fn run(self) -> Result<u64, SqlError> {
        self.failures.forget(self.index.id);
        let built = self.write();
        if let Err(error) = &built
            && !self.stop.load(Ordering::Acquire)
        {
            self.failures.note(&self.database, self.index.id, error);
        }
        built
    }

    fn base(&self) -> TableId {
        self.descriptor.index.as_ref().expect("a build is of an index").base
    }

    fn write(&self) -> Result<u64, SqlError> {
        self.progress.enter("building the index");
        let rows = self.database.stats(self.base())?.rows_estimate;
        self.progress.expect(rows, 0);
        let mut parts = self.parts(rows)?;
        let mut total = 0;
        while let Some(segments) = parts.pop_front() {
            let last = segments.back().cloned().unwrap_or_else(KeyRange::all);
            let mut load = self.database.build_index(&self.index)?;
            total += self.write_part(segments, &mut load)?;
            match last.end.filter(|_| !parts.is_empty()) {
                Some(behind) => {
                    load.finish_part(behind)?;
                }
                None => {
                    self.progress.enter("finishing");
                    self.finish(load, last.start)?;
                }
            }
        }
        Ok(total)
    }

    /// Ends the build with its last part. A unique index is active once its rows are compared; a process that ends before goes on
    /// at `again`, a row of the part.
    fn finish(&self, load: Ingest, again: Bytes) -> Result<(), SqlError> {
        if !self.descriptor.index.as_ref().is_some_and(|index| index.unique) {
            load.finish()?;
            return Ok(());
        }
        load.finish_part(again)?;
        if let Err(error) = self.check_unique() {
            // Whoever sees that it is disabled sees why.
            self.failures.note(&self.database, self.index.id, &error);
            self.database.set_index_state(self.index.id, IndexState::Disabled)?;
            return Err(error);
        }
        self.database.build_index(&self.index)?.finish()?;
        Ok(())
    }

    /// What the index lacks of its table, which has so many rows: one part at least, in the order of the key.
    fn parts(&self, rows: u64) -> Result<VecDeque<Segments>, SqlError> {
        let parts = rows.div_ceil(self.part_rows).max(1);
        let wanted = self.threads * SEGMENTS_PER_THREAD * usize::try_from(parts).unwrap_or(1);
        let lacking = KeyRange { start: self.index.from.clone(), end: None };
        let segments = self.index.snapshot.segments(self.base(), &[lacking], wanted)?;
        let segments: Vec<KeyRange> = segments.into_iter().map(|segment| segment.range).collect();
        let length = segments.len().div_ceil(usize::try_from(parts).unwrap_or(1)).max(1);
        let mut parts: VecDeque<Segments> =
            segments.chunks(length).map(|part| part.iter().cloned().collect()).collect();
        if parts.is_empty() {
            parts.push_back(Segments::new());
        }
        Ok(parts)
    }

    /// Gives the load the index rows of a part; returns how many they are.
    fn write_part(&self, segments: Segments, load: &mut Ingest) -> Result<u64, SqlError> {
        let segments = Mutex::new(segments);
        let mut total = 0;
        std::thread::scope(|scope| {
            let (queue, batches) = sync_channel(QUEUE_BATCHES);
            for _ in 0..self.threads {
                let (queue, segments) = (queue.clone(), &segments);
                scope.spawn(move || {
                    if let Err(error) = self.read(segments, &queue) {
                        // If nobody listens any more, another thread failed first.
                        let _ = queue.send(Err(error));
                    }
                });
            }
            drop(queue);
            for batch in batches {
                let Made { read, made, batch } = batch?;
                total += made;
                self.progress.add_read(read, 0);
                self.progress.add_written(batch.len() as u64);
                load.add(batch)?;
            }
            Ok(total)
        })
    }

    /// Makes index rows of segments until there are none left.
    fn read(
        &self,
        segments: &Mutex<Segments>,
        queue: &SyncSender<Result<Made, SqlError>>,
    ) -> Result<(), SqlError> {
        let mut encoder = self.entries.encoder()?;
        loop {
            let Some(range) = segments.lock().pop_front() else { return Ok(()) };
            let request = RowRequest::of_columns(self.entries.needed(), super::BATCH_ROWS);
            let request = RowRequest { any_order: true, ..request };
            let mut scan =
                self.index.snapshot.rows(self.base(), self.entries.base(), request, vec![range])?;
            while let Some(rows) = scan.next().transpose()? {
                if self.stop.load(Ordering::Acquire) {
                    return Err(SqlError::new(ErrorKind::Resources, "the build of the index was ended"));
                }
                let read = rows.batch.num_rows() as u64;
                let (rows, _) = self.entries.make(&rows.batch)?;
                let mut batch = WriteBatch::new();
                encoder
                    .encode(&rows, self.index.id, LATEST_TIMESTAMP, true, &mut batch)
                    .map_err(|error| typed(error).error)?;
                if queue.send(Ok(Made { read, made: rows.num_rows() as u64, batch })).is_err() {
                    return Ok(());
                }
            }
        }
    }

    /// An error if two rows of a unique index have the same values.
    fn check_unique(&self) -> Result<(), SqlError> {
        let leading = Leading::of(self.descriptor.index.as_ref().expect("a build is of an index"));
        let mut last: Option<Vec<u8>> = None;
        let schema = self.entries.index();
        super::check::each_row(&self.database.snapshot(), self.index.id, schema, &mut |row, _| {
            let Some(values) = leading.values_of(self.entries.index(), row) else { return Ok(()) };
            if last.as_deref() == Some(values) {
                return Err(leading.repeated_in(&self.descriptor.name, self.entries.index(), row));
            }
            last = Some(values.to_vec());
            Ok(())
        })
    }
}

/// Some rows of the table as index rows.
struct Made {
    /// Rows of the table.
    read: u64,
    /// Rows of the index: fewer where it has a condition.
    made: u64,
    batch: WriteBatch,
}

/// Builds an index anew, on a thread of its own.
pub(super) fn later(engine: &Engine, index: TableId) -> Result<(), SqlError> {
    let build = Build::anew(engine, index, &Arc::default(), &engine.builders().stop)?;
    spawn(engine, build)
}

/// Goes on building an index, on a thread of its own.
pub(super) fn go_on(engine: &Engine, index: TableId) -> Result<(), SqlError> {
    let build = Build::again(engine, index, &engine.builders().stop)?;
    spawn(engine, build)
}

/// Runs a build on a thread of its own.
pub(super) fn spawn(engine: &Engine, build: Build) -> Result<(), SqlError> {
    let building = Arc::clone(&engine.builders().building);
    let progress = Arc::clone(&build.progress);
    building.lock().push((build.index.id, Arc::clone(&progress)));
    let body = Box::new(move || {
        // Whoever looks sees that the index is not active; the next opening tries again.
        let _ = build.run();
        building.lock().retain(|(_, other)| !Arc::ptr_eq(other, &progress));
    });
    let task = engine.spawner().spawn("basalt-index", body);
    let task =
        task.map_err(|error| SqlError::new(ErrorKind::Resources, format!("no thread for a build: {error}")))?;
    engine.builders().running.lock().push(task);
    Ok(())
}

/// The flag that ends builds when the engine goes.
pub(super) fn stop_flag(engine: &Engine) -> Arc<AtomicBool> {
    Arc::clone(&engine.builders().stop)
}

/// Builds the indexes of a table that a bulk load left behind. Where two loads end at the same time, the later one's
/// build is the one that counts.
pub(crate) fn rebuild_outdated(
    engine: &Engine,
    table: TableId,
    progress: &Arc<Progress>,
) -> Result<(), SqlError> {
    loop {
        let indexes = engine.database().indexes(table);
        let outdated = indexes.into_iter().find(|(_, descriptor)| is_outdated(descriptor));
        let Some((id, descriptor)) = outdated else { return Ok(()) };
        let built = Build::anew(engine, id, progress, &Arc::default()).and_then(Build::run);
        if let Err(error) = built {
            let now = engine.database().table(&descriptor.name);
            // Overtaken by another load or a DROP; look again.
            if now.is_err() || now.is_ok_and(|(now, table)| now != id && is_outdated(&table)) {
                continue;
            }
            return Err(error.within(format!(
                "the rows are written, but index {} could not be built; ALTER INDEX .. REBUILD does that",
                descriptor.name
            )));
        }
    }
}

fn is_outdated(descriptor: &TableDescriptor) -> bool {
    descriptor.index.as_ref().is_some_and(|index| index.state == IndexState::Outdated)
}
