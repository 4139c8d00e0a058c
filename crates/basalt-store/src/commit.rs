// SPDX-License-Identifier: Apache-2.0
//! The commit line: gives writes their order, makes them durable in groups, and makes them visible.
//!
//! 1. *Sequence.* Under the sequencer's lock a batch gets its timestamp and its sequence numbers, and goes
//!    into the memtables, where no reader sees it yet. Order of sequence numbers = order of timestamps =
//!    order in the log.
//! 2. *Group.* The first writer that finds nobody leading takes all batches that wait, writes them as one
//!    frame and syncs once; the others wait for it. While it syncs, the next group gathers.
//! 3. *Publish.* `visible` moves to the last number of the group. A reader takes `visible` once and sees a
//!    batch wholly or not at all.
//! 4. *Undo.* If the log refuses the group, its batches and all that were sequenced behind them (they may
//!    have read what now never happened) are taken out of the memtables and answered with the error. Their
//!    numbers are not used again. A panic while writing is answered in the same way, and the log is closed.
//!
//! A batch that changes a row several times takes several numbers, one per repetition, so that the order of
//! its changes is the order of numbers too; the numbers follow from the batch alone, so replay finds the same.

mod group;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use basalt_model::{FrozenBatch, RowMutation, Seq, TableId, WriteBatch};
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use self::group::{Groups, Led};
use crate::env::{Env, SyncKind};
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::memtable::Memtable;
use crate::options::Durability;
use crate::wal::frame::{SectionRows, encode_section};
use crate::wal::writer::{LogWriter, Payload};

/// Bytes of batches in one group, unless a single batch is larger.
const GROUP_BYTES_MAX: usize = 16 << 20;
/// Largest batch in bytes; keeps every length in the log far below its 32 bits.
pub(crate) const BATCH_BYTES_MAX: usize = 1 << 30;

/// Where consecutive rows of a batch go.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) table: TableId,
    pub(crate) region: RegionId,
    pub(crate) memtable: Arc<Memtable>,
    pub(crate) rows: Range<usize>,
}

/// Rows of a batch that are in their memtable, and where their bytes are in the batch.
#[derive(Debug)]
struct Stretch {
    target: Target,
    bytes: Range<usize>,
    /// The smallest and the largest row.
    bounds: (Bytes, Bytes),
}

#[derive(Debug)]
struct Pending {
    seq_first: Seq,
    seq_last: Seq,
    timestamp: i64,
    durability: Durability,
    /// The entries of all rows.
    bytes: Bytes,
    stretches: Vec<Stretch>,
}

/// The order of commits; see [`CommitLine`].
#[derive(Debug)]
pub(crate) struct Sequencer {
    last_seq: u64,
    last_timestamp: i64,
    pending: VecDeque<Pending>,
}

/// See the module.
pub(crate) struct CommitLine {
    sequencer: Mutex<Sequencer>,
    groups: Groups,
    log: Mutex<LogWriter>,
    log_id: u64,
    log_bytes: Arc<AtomicU64>,
    visible: AtomicU64,
    visible_timestamp: AtomicI64,
    unflushed_bytes: AtomicU64,
    undone: AtomicU64,
}

impl CommitLine {
    /// Goes on behind the last commit.
    pub(crate) fn new(log: LogWriter, log_id: u64, last_seq: Seq, last_timestamp: i64) -> Self {
        let last_seq = last_seq.0;
        Self {
            sequencer: Mutex::new(Sequencer { last_seq, last_timestamp, pending: VecDeque::new() }),
            groups: Groups::new(last_seq),
            log_bytes: log.size_gauge(),
            log: Mutex::new(log),
            log_id,
            visible: AtomicU64::new(last_seq),
            visible_timestamp: AtomicI64::new(last_timestamp),
            unflushed_bytes: AtomicU64::new(0),
            undone: AtomicU64::new(0),
        }
    }

    /// Commits up to this one were read from the log and are in memtables that take `added` bytes more. For recovery,
    /// before anybody else has the line.
    pub(crate) fn recovered(&self, seq: Seq, timestamp: i64, added: u64) {
        let mut sequencer = self.sequencer.lock();
        let seq = seq.0.max(sequencer.last_seq);
        sequencer.last_seq = seq;
        sequencer.last_timestamp = sequencer.last_timestamp.max(timestamp);
        self.groups.set_resolved(seq);
        self.visible_timestamp.fetch_max(timestamp, Ordering::AcqRel);
        self.visible.store(seq, Ordering::Release);
        self.unflushed_bytes.fetch_add(added, Ordering::Relaxed);
    }

    /// Goes on with the log behind what recovery read.
    pub(crate) fn go_on_with(&self, log: LogWriter) {
        let mut current = self.log.lock();
        *current = log.with_gauge(Arc::clone(&self.log_bytes));
    }

    /// The newest commit that readers see.
    pub(crate) fn visible(&self) -> Seq {
        Seq(self.visible.load(Ordering::Acquire))
    }

    /// The newest timestamp that a visible commit got from the clock.
    pub(crate) fn visible_timestamp(&self) -> i64 {
        self.visible_timestamp.load(Ordering::Acquire)
    }

    /// Bytes in memtables, sealed ones included.
    pub(crate) fn unflushed_bytes(&self) -> u64 {
        self.unflushed_bytes.load(Ordering::Relaxed)
    }

    /// Bytes in the log. Does not wait for a sync under way.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    /// A flushed or dropped memtable has left memory's account.
    pub(crate) fn release(&self, bytes: u64) {
        self.unflushed_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Stops the order of commits while the guard lives. Does not wait for what is on its way.
    pub(crate) fn sequencer(&self) -> MutexGuard<'_, Sequencer> {
        self.sequencer.lock()
    }

    /// Makes all that is visible durable. Others write to the log meanwhile.
    pub(crate) fn sync_log(&self) -> Result<()> {
        let log = self.log.lock();
        log.check()?;
        let sync = if log.has_unsynced() { log.pending_sync() } else { None };
        drop(log);
        sync.map_or(Ok(()), |sync| sync.run(SyncKind::Data))
    }

    /// What the log needs from time to time: syncs what no writer waits for, begins the next segment before this one is full, and
    /// marks the log if it is idle.
    pub(crate) fn tend_log(&self) -> Result<()> {
        self.sync_log()?;
        // A variable of its own, so that the lock is released here.
        let wish = self.log.lock().segment_wish();
        if let Some(wish) = wish {
            let segment = wish.create();
            // What is appended from here to the next segment's header is synced under the lock: let it be little.
            self.sync_log()?;
            self.log.lock().go_on_in(segment)?;
        }
        self.log.lock().mark();
        Ok(())
    }

    /// Forgets the log before segment `first`, and removes what a durable manifest says is not needed.
    pub(crate) fn remove_log_before(&self, env: &Env, first: u64) {
        let forgotten = self.log.lock().forget_before(first);
        for path in forgotten {
            // What stays behind is removed by the next opening.
            let _ = env.storage.remove(&path);
        }
    }

    /// The log, for rotation, syncs and removal of segments.
    pub(crate) fn log(&self) -> MutexGuard<'_, LogWriter> {
        self.log.lock()
    }

    /// Step 1. `route` finds the targets of the rows; nothing has happened if it fails.
    pub(crate) fn sequence(
        &self,
        sequencer: &mut Sequencer,
        mut batch: WriteBatch,
        durability: Durability,
        now_ms: i64,
        route: impl FnOnce(&FrozenBatch) -> Result<Vec<Target>>,
    ) -> Result<Seq> {
        assert!(!batch.is_empty() && batch.size_bytes() <= BATCH_BYTES_MAX, "checked by the caller");
        let timestamp = sequencer.timestamp_at(now_ms);
        batch.stamp(timestamp);
        let batch = batch.freeze();
        let targets = route(&batch)?;
        let seq_first = Seq(sequencer.last_seq + 1);
        let (seqs, seq_last) = assign_seqs(seq_first, &batch.rows);
        let FrozenBatch { bytes, rows } = batch;
        let mut rows = rows.into_iter();
        let mut stretches = Vec::with_capacity(targets.len());
        let mut start = 0;
        for target in targets {
            let own = &rows.as_slice()[..target.rows.len()];
            let end = start + own.iter().map(|(_, mutation)| mutation.entry().len()).sum::<usize>();
            let bounds = bounds(own);
            let entries = target.rows.clone().zip(rows.by_ref());
            let entries = entries.map(|(i, (_, mutation))| (seqs.of(i), mutation));
            let added = target.memtable.insert(entries);
            if durability == Durability::Skip {
                target.memtable.note_unlogged();
            }
            self.unflushed_bytes.fetch_add(added, Ordering::Relaxed);
            stretches.push(Stretch { target, bytes: start..end, bounds });
            start = end;
        }
        assert_eq!(start, bytes.len(), "the targets cover the batch in order");
        sequencer.last_seq = seq_last.0;
        sequencer.last_timestamp = timestamp;
        let pending = Pending { seq_first, seq_last, timestamp, durability, bytes, stretches };
        sequencer.pending.push_back(pending);
        Ok(seq_last)
    }

    /// Steps 2 to 4 for the batch whose last number is `ticket`.
    pub(crate) fn wait(&self, ticket: Seq) -> Result<()> {
        self.groups.wait(ticket.0, || self.lead())
    }

    /// How often commits were undone; only for comparison.
    pub(crate) fn undone(&self) -> u64 {
        self.undone.load(Ordering::Acquire)
    }

    /// Waits until every commit up to `seq` is durable; an error if one was undone since [`Self::undone`] said
    /// `undone`. For answers that rest on a write which was still on its way.
    pub(crate) fn wait_for_reader(&self, seq: Seq, undone: u64) -> Result<()> {
        self.wait_resolved(seq);
        if self.undone() == undone { Ok(()) } else { Err(Error::Conflict) }
    }

    /// Waits until nothing is on its way and keeps it so while the guard lives.
    pub(crate) fn drain(&self) -> MutexGuard<'_, Sequencer> {
        loop {
            let sequencer = self.sequencer.lock();
            let last = Seq(sequencer.last_seq);
            if self.groups.resolved() >= last.0 {
                return sequencer;
            }
            drop(sequencer);
            self.wait_resolved(last);
        }
    }

    /// Waits until every commit up to `seq` is durable or failed.
    pub(crate) fn wait_resolved(&self, seq: Seq) {
        self.groups.wait_resolved(seq.0, || self.lead());
    }

    /// Commits one group; returns the last number that is resolved now, and who failed.
    fn lead(&self) -> Led {
        let group = self.sequencer.lock().take_group();
        let last = group.last().expect("a writer waits, so its batch is pending").seq_last;
        // Whoever leads writes for others too: a panic on the way must not leave them waiting.
        let written = panic::catch_unwind(AssertUnwindSafe(|| self.write_group(&group)));
        match written.unwrap_or_else(|_| Err(self.log.lock().give_up())) {
            Ok(()) => {
                let timestamp = group.last().map_or(0, |pending| pending.timestamp);
                self.visible_timestamp.store(timestamp, Ordering::Release);
                self.visible.store(last.0, Ordering::Release);
                (last, Vec::new())
            }
            Err(error) => self.undo(group, &error),
        }
    }

    fn write_group(&self, group: &[Pending]) -> Result<()> {
        let mut log = self.log.lock();
        log.check()?;
        let payload = self.payload(group, log.new_payload());
        log.append(payload)?;
        match group.iter().map(|pending| pending.durability).max() {
            Some(Durability::Fsync) => log.sync(SyncKind::All),
            Some(Durability::Sync) => log.sync(SyncKind::Data),
            _ => Ok(()),
        }
    }

    fn payload(&self, group: &[Pending], empty: Payload) -> Payload {
        let logged = || group.iter().filter(|pending| pending.durability > Durability::Skip);
        let mut payload = Payload {
            seq_first: logged().next().map_or(Seq(0), |pending| pending.seq_first),
            seq_last: logged().last().map_or(Seq(0), |pending| pending.seq_last),
            timestamp: group.iter().map(|pending| pending.timestamp).max().unwrap_or(0),
            awaited: group.iter().any(|pending| pending.durability >= Durability::Sync),
            ..empty
        };
        payload.bytes.reserve(logged().map(|pending| pending.bytes.len() + 128).sum());
        let mut tables = logged().flat_map(|pending| pending.stretches.iter().map(|of| of.target.table));
        if let Some(first) = tables.next() {
            payload.table = if tables.all(|table| table == first) { first } else { TableId(0) };
        }
        for pending in logged() {
            for Stretch { target, bytes, bounds: (first, last) } in &pending.stretches {
                let rows = SectionRows { count: target.rows.len() as u32, first, last };
                let body = &pending.bytes[bytes.clone()];
                let address = (pending.seq_first, target.table, target.region);
                encode_section(&mut payload.bytes, self.log_id, address, rows, body);
                payload.section_count += 1;
            }
        }
        payload
    }

    /// Step 4.
    fn undo(&self, group: Vec<Pending>, error: &Error) -> Led {
        let mut sequencer = self.sequencer.lock();
        self.undone.fetch_add(1, Ordering::AcqRel);
        let behind = sequencer.pending.drain(..);
        let mut failures = Vec::new();
        let mut last = Seq(0);
        for pending in group.into_iter().chain(behind) {
            let rows = pending.rows();
            let (seqs, _) = assign_seqs(pending.seq_first, &rows);
            for Stretch { target, .. } in &pending.stretches {
                for i in target.rows.clone() {
                    let freed = target.memtable.remove(rows[i].1.borrow().row(), seqs.of(i));
                    self.release(freed);
                }
            }
            last = pending.seq_last;
            failures.push((last.0, error.clone()));
        }
        (last, failures)
    }
}

impl Pending {
    /// The rows again, which only the memtables have otherwise.
    fn rows(&self) -> Vec<(TableId, RowMutation)> {
        let mut rows = Vec::new();
        let mut rest = self.bytes.clone();
        for target in self.stretches.iter().map(|stretch| &stretch.target) {
            for _ in target.rows.clone() {
                let (row, len) = RowMutation::decode(&rest).expect("entries of a batch that was frozen");
                rest = rest.slice(len..);
                rows.push((target.table, row));
            }
        }
        rows
    }
}

impl Sequencer {
    /// The last number given out.
    pub(crate) fn last_seq(&self) -> Seq {
        Seq(self.last_seq)
    }

    /// The timestamp that a write at `now_ms` gets: time never goes back.
    pub(crate) fn timestamp_at(&self, now_ms: i64) -> i64 {
        now_ms.max(self.last_timestamp)
    }

    /// Gives out `count` numbers, first and last, for something that is not a batch.
    pub(crate) fn take_seqs(&mut self, count: u64) -> (Seq, Seq) {
        assert!(count > 0, "a range of numbers is not empty");
        let first = self.last_seq + 1;
        self.last_seq += count;
        (Seq(first), Seq(self.last_seq))
    }

    fn take_group(&mut self) -> Vec<Pending> {
        let mut bytes = 0;
        let mut group = Vec::new();
        while let Some(next) = self.pending.front() {
            bytes += next.bytes.len();
            if bytes > GROUP_BYTES_MAX && !group.is_empty() {
                break;
            }
            group.extend(self.pending.pop_front());
        }
        group
    }
}

impl CommitLine {
    /// Publishes numbers taken with [`Sequencer::take_seqs`] while nothing is on its way; later commits get
    /// no older timestamp.
    pub(crate) fn publish(&self, sequencer: &mut Sequencer, seq: Seq, timestamp: i64) {
        assert!(sequencer.pending.is_empty() && sequencer.last_seq == seq.0, "the line was drained");
        self.groups.set_resolved(seq.0);
        sequencer.last_timestamp = sequencer.last_timestamp.max(timestamp);
        self.visible_timestamp.fetch_max(timestamp, Ordering::AcqRel);
        self.visible.store(seq.0, Ordering::Release);
    }

    /// Gives up numbers taken with [`Sequencer::take_seqs`]; they are not used again.
    pub(crate) fn abandon(&self, sequencer: &Sequencer, seq: Seq) {
        assert!(sequencer.pending.is_empty() && sequencer.last_seq == seq.0, "the line was drained");
        self.groups.set_resolved(seq.0);
    }
}

/// The smallest and the largest row.
fn bounds(rows: &[(TableId, RowMutation)]) -> (Bytes, Bytes) {
    let row = |i: &usize| rows[*i].1.borrow().row();
    let smallest = (0..rows.len()).min_by_key(row).expect("a target has rows");
    let largest = (0..rows.len()).max_by_key(row).expect("a target has rows");
    (rows[smallest].1.row_bytes(), rows[largest].1.row_bytes())
}

/// The numbers of a batch's rows.
#[derive(Debug)]
pub(crate) struct RowSeqs {
    first: Seq,
    /// How often the row came before in the batch; empty if no row repeats.
    repetitions: Vec<u32>,
}

impl RowSeqs {
    /// Number of row `i`.
    pub(crate) fn of(&self, i: usize) -> Seq {
        Seq(self.first.0 + self.repetitions.get(i).map_or(0, |&repetition| u64::from(repetition)))
    }
}

/// The numbers of the rows of a batch that begins with `first`, and the last of them.
pub(crate) fn assign_seqs(first: Seq, rows: &[(TableId, RowMutation)]) -> (RowSeqs, Seq) {
    let key = |i: usize| (rows[i].0, rows[i].1.borrow().row());
    if (1..rows.len()).all(|i| key(i - 1) < key(i)) {
        return (RowSeqs { first, repetitions: Vec::new() }, first);
    }
    let mut seen: HashMap<(TableId, &[u8]), u32> = HashMap::with_capacity(rows.len());
    let mut repetitions = Vec::with_capacity(rows.len());
    for i in 0..rows.len() {
        let count = seen.entry(key(i)).or_default();
        repetitions.push(*count);
        *count += 1;
    }
    let last = repetitions.iter().max().map_or(first, |&most| Seq(first.0 + u64::from(most)));
    (RowSeqs { first, repetitions }, last)
}

#[cfg(test)]
mod tests;
