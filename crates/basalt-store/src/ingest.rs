// SPDX-License-Identifier: Apache-2.0
//! Bulk ingest: row mutations, in any order, straight into store files; no log, no memtable.
//!
//! ```text
//! caller's thread              bounded queue        a thread of its own
//! rows -> WriteBatch  ------>  4 batches  ------->  sorted: file writers, one per family
//!      -> ColumnBatch                               not sorted: buffer -> sort -> the same writers
//! ```
//!
//! Rows that come by column ([`ColumnBatch`]) stay so on the way into an open run; where they would have to be sorted they
//! become mutations.
//!
//! 1. Rows gather in a buffer. When it reaches its share of memory (a few megabytes suffice if they came in
//!    order) it is sorted by row and written; of equal cells the one written later stays. If all of it lies
//!    above the current run it continues that run, otherwise the run ends and the next one begins.
//! 2. With a run open and nothing in the buffer, ascending rows go straight into its files. The first row
//!    that is not above the last one goes into the buffer again, and so does what follows.
//! 3. A later run wins over an earlier one, because its files get the higher sequence number when they become
//!    visible: run `i` of `n` reads as commit `first + i` of `n` consecutive ones.
//!
//! What this folder leaves to others: making the files visible, atomically, through the manifest. Until then
//! they belong to nobody; dropping the ingest, or what it returned, removes them.

mod buffer;
mod builder;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use basalt_hfile::columnar::ColumnBatch;
use basalt_model::table::DeleteRule;
use basalt_model::{LATEST_TIMESTAMP, Seq, TableId, TableName, WriteBatch};
use bytes::Bytes;

use crate::env::{Env, Task};
use crate::new_file::{FamilyTarget, FinishedFile};
use crate::{Error, Result};
use builder::Builder;

/// Batches that may wait for the writing thread; with those in work they are all that is in flight.
const QUEUE_BATCHES: usize = 4;

/// What an ingest writes and where.
pub(crate) struct IngestSpec {
    /// Clock and threads.
    pub(crate) env: Env,
    /// The only table that batches may name.
    pub(crate) table: TableId,
    /// Its name, for errors.
    pub(crate) table_name: TableName,
    /// Largest cell, in bytes.
    pub(crate) cell_bytes_max: u64,
    /// The table's families by name, and what a delete hides in each.
    pub(crate) families: Vec<(String, FamilyTarget, DeleteRule)>,
    /// The newest timestamp given to a write so far: the ingest gets none that is older, whatever the clock says.
    pub(crate) timestamp_min: i64,
    /// The timestamp of rows that are older than that.
    pub(crate) timestamp_fixed: Option<i64>,
    /// Memory for rows that arrive out of order, in bytes.
    pub(crate) memory_bytes: usize,
    /// Size at which a file ends.
    pub(crate) file_bytes_max: u64,
    /// Rows at which a file ends in any case: the first rows of the table's regions.
    pub(crate) bounds: Arc<[Bytes]>,
}

/// Finished, durable, and not visible yet.
pub(crate) struct Ingested {
    /// The files of each run with their families; a later run hides an earlier one.
    pub(crate) runs: Vec<Vec<(String, FinishedFile)>>,
    /// Row mutations taken.
    pub(crate) rows: u64,
    /// Cells written.
    pub(crate) cells: u64,
}

/// An ingest under way.
pub(crate) struct IngestWriter {
    timestamp: i64,
    /// `None` once the batches are over.
    queue: Option<SyncSender<Message>>,
    outcome: Receiver<Result<Ingested>>,
    task: Option<Box<dyn Task>>,
}

enum Message {
    Batch { batch: WriteBatch, has_tags: bool },
    Columns(ColumnBatch),
    Finish,
}

impl IngestWriter {
    /// Starts the writing thread.
    pub(crate) fn start(spec: IngestSpec) -> Result<Self> {
        let timestamp = spec.timestamp_fixed.unwrap_or_else(|| spec.env.now_ms().max(spec.timestamp_min));
        let spawner = spec.env.spawner.clone();
        let builder = Builder::new(spec, timestamp);
        let (queue, batches) = sync_channel(QUEUE_BATCHES);
        let (answer, outcome) = sync_channel(1);
        let body = Box::new(move || {
            if let Some(result) = work(builder, &batches) {
                // A receiver that is gone has dropped the ingest; the files go with the result.
                let _ = answer.send(result);
            }
        });
        let task = spawner
            .spawn("basalt-ingest", body)
            .map_err(Error::io("start a thread for", "ingest".as_ref()))?;
        Ok(Self { timestamp, queue: Some(queue), outcome, task: Some(task) })
    }

    /// What cells without a timestamp get.
    pub(crate) fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Adds rows. Cells without a timestamp get that of the start. An error may concern an earlier batch;
    /// after it the ingest is over.
    pub(crate) fn add(&mut self, mut batch: WriteBatch) -> Result<()> {
        let found = Traits::of(&batch);
        if found.latest && found.explicit {
            // Only then can stamping change the order of cells; otherwise the writing thread does it.
            batch.stamp(self.timestamp);
        }
        self.send(Message::Batch { batch, has_tags: found.tags })
    }

    /// Adds rows by column, as [`Self::add`] does others.
    pub(crate) fn add_columns(&mut self, mut batch: ColumnBatch) -> Result<()> {
        if batch.timestamp() == LATEST_TIMESTAMP {
            batch.set_timestamp(self.timestamp);
        }
        self.send(Message::Columns(batch))
    }

    /// Completes all files.
    pub(crate) fn finish(mut self) -> Result<Ingested> {
        self.send(Message::Finish)?;
        self.outcome()
    }

    fn send(&mut self, message: Message) -> Result<()> {
        let queue = self.queue.as_ref().ok_or(Error::Closed)?;
        match queue.send(message) {
            Ok(()) => Ok(()),
            Err(_) => {
                self.queue = None;
                Err(self.outcome().err().unwrap_or(Error::Closed))
            }
        }
    }

    fn outcome(&mut self) -> Result<Ingested> {
        self.outcome.recv().unwrap_or(Err(Error::Closed))
    }
}

impl Drop for IngestWriter {
    fn drop(&mut self) {
        // Without a `Finish` the thread gives up, and the files it made are gone when this returns.
        self.queue = None;
        if let Some(task) = self.task.take() {
            task.join();
        }
    }
}

/// The writing thread; `None` if the caller went away.
fn work(mut builder: Builder, batches: &Receiver<Message>) -> Option<Result<Ingested>> {
    loop {
        match batches.recv().ok()? {
            Message::Batch { batch, has_tags } => {
                if has_tags {
                    builder.allow_tags();
                }
                if let Err(error) = builder.add(batch) {
                    return Some(Err(error));
                }
            }
            Message::Columns(batch) => {
                if let Err(error) = builder.add_columns(&batch) {
                    return Some(Err(error));
                }
            }
            Message::Finish => return Some(builder.finish()),
        }
    }
}

/// What the cells of a batch are like.
#[derive(Default)]
struct Traits {
    /// One asks for a timestamp.
    latest: bool,
    /// One has a timestamp.
    explicit: bool,
    /// One has tags.
    tags: bool,
}

impl Traits {
    fn of(batch: &WriteBatch) -> Self {
        let mut found = Self::default();
        for (_, mutation) in batch.iter() {
            for cell in mutation.cells(Seq(0)) {
                let asks = cell.timestamp == LATEST_TIMESTAMP;
                found.latest |= asks;
                found.explicit |= !asks;
                found.tags |= !cell.tags.is_empty();
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
