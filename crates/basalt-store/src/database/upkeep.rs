// SPDX-License-Identifier: Apache-2.0
//! What happens behind the writes: flushes, compactions, splits of regions that have grown too large, and syncs of the log for writes that did not wait.
//!
//! Writers are slowed down as [`pacing`](super::pacing) says; where the memory for unflushed writes ends they wait for a flush, at most
//! [`OpenOptions::stall_ms_max`](crate::OpenOptions::stall_ms_max); then they get an error.
//!
//! Compactions run on some threads, each of a family of its own ([`compacting`](super::compacting)).
//!
//! Every [`TICK`] the clock is looked at: memtables with old writes are flushed, files past their TTL or their family's
//! major-compaction period are compacted, indexes and filters counted.
//!
//! A flush or compaction that fails is tried again after a pause. Nothing is lost by waiting: the log has it.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use basalt_model::TableId;
use parking_lot::{Condvar, Mutex};

use super::Shared;
use super::compacting::Compacting;
use super::compaction::Wish;
use super::pacing::Pace;
use super::running::Running;
use crate::env::Task;
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::memtable::Memtable;
use crate::new_file::working_bytes_max;
use crate::options::OpenOptions;
use crate::version::RegionVersion;

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(250);
/// Pause after a failed flush or look at the files.
const RETRY_MS: u64 = 1_000;
/// Pause after a failed split, which flushes each time.
const RETRY_SPLIT_MS: u64 = 60_000;
/// Compactions at once, at least and at most.
const COMPACTORS_MIN: usize = 2;
const COMPACTORS_MAX: usize = 8;

/// State of the background threads.
#[derive(Default)]
pub(super) struct Upkeep {
    /// Held during a flush: one at a time.
    pub(super) flushing: Mutex<()>,
    pub(super) compacting: Compacting,
    state: Mutex<State>,
    /// Something to do, or time to stop.
    wake: Condvar,
    /// A flush has ended.
    flushed: Condvar,
    flush_wanted: AtomicBool,
    /// Memtables that are in files and that snapshots may still read, and what they take of memory.
    pub(super) flushed_memtables: Mutex<ReadStill>,
    read_still_bytes: AtomicU64,
    pub(super) pace: Pace,
    tasks: Mutex<Vec<Box<dyn Task>>>,
    pub(super) running: Running,
    /// Held while it is looked which regions are too large and which families are due by the clock.
    looking: Mutex<()>,
    /// No compactions are begun that nobody asked for.
    compactions_off: AtomicBool,
    failing: Mutex<Failing>,
    /// The same of splits.
    failing_splits: Mutex<Failing>,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    flush_wanted: bool,
    /// How often compactions were asked for; each thread that makes them looks for some when it is more than it knew.
    compactions_wanted: u64,
    /// Why the last flush failed, until one succeeds.
    flush_error: Option<Error>,
}

/// Regions of which the last flush or split by the upkeep failed, and when it is tried again, on the monotonic clock.
#[derive(Debug, Default)]
struct Failing(HashMap<RegionId, Duration>);

impl Failing {
    fn add(&mut self, region: RegionId, now: Duration, pause_ms: u64) {
        self.0.insert(region, now + Duration::from_millis(pause_ms));
    }

    fn has(&self, region: RegionId) -> bool {
        self.0.contains_key(&region)
    }

    /// Forgets those that are to be tried again.
    fn retry(&mut self, now: Duration) {
        self.0.retain(|_, retry_at| *retry_at > now);
    }
}

/// Memtables that leave memory when the last snapshot that reads them goes.
#[derive(Debug, Default)]
pub(super) struct ReadStill(Vec<Weak<Memtable>>);

impl ReadStill {
    pub(super) fn add(&mut self, memtables: &[Arc<Memtable>]) {
        self.0.extend(memtables.iter().map(Arc::downgrade));
    }

    fn bytes(&mut self) -> u64 {
        self.0.retain(|memtable| memtable.strong_count() > 0);
        self.0.iter().filter_map(Weak::upgrade).map(|memtable| memtable.size_bytes()).sum()
    }
}

impl Upkeep {
    pub(super) fn new(options: &OpenOptions) -> Self {
        Self { compacting: Compacting::new(compactors(options)), ..Self::default() }
    }

    pub(super) fn flush_done(&self) {
        let mut state = self.state.lock();
        state.flush_error = None;
        state.compactions_wanted += 1;
        self.flushed.notify_all();
        self.wake.notify_all();
    }

    /// Asks for compactions to be looked for.
    pub(super) fn want_compaction(&self) {
        self.state.lock().compactions_wanted += 1;
        self.wake.notify_all();
    }

    /// Switches compactions that nobody asked for on or off; gives how it was.
    pub(super) fn set_compactions(&self, enabled: bool) -> bool {
        let was_off = self.compactions_off.swap(!enabled, Ordering::AcqRel);
        if enabled && was_off {
            self.want_compaction();
        }
        !was_off
    }

    pub(super) fn compacts(&self) -> bool {
        !self.compactions_off.load(Ordering::Acquire)
    }

    fn want_flush(&self) {
        if !self.flush_wanted.swap(true, Ordering::AcqRel) {
            self.state.lock().flush_wanted = true;
            self.wake.notify_all();
        }
    }

    /// Ends the threads and waits for them.
    pub(super) fn stop(&self) {
        self.state.lock().stopping = true;
        self.compacting.stop();
        self.wake.notify_all();
        self.flushed.notify_all();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.into_iter().for_each(|task| task.join());
    }
}

/// Starts the threads, if the options want them.
pub(super) fn start(shared: &Arc<Shared>) -> Result<()> {
    if !shared.options.background || shared.options.read_only {
        return Ok(());
    }
    // What the last one to have the database open left behind; it may have had no time for it.
    shared.look_at_depth();
    shared.upkeep.want_compaction();
    let loops = [("basalt-flush", flush_loop as fn(&Shared)), ("basalt-log", log_loop as fn(&Shared))];
    let compactors = shared.upkeep.compacting.slots();
    let compactors = std::iter::repeat_n(("basalt-compact", compaction_loop as fn(&Shared)), compactors);
    for (name, body) in loops.into_iter().chain(compactors) {
        let own = Arc::clone(shared);
        let task = shared.env.spawner.spawn(name, Box::new(move || body(&own)));
        match task {
            Ok(task) => shared.upkeep.tasks.lock().push(task),
            Err(error) => {
                let _ = shared.close();
                return Err(Error::io("start a thread for", &shared.root)(error));
            }
        }
    }
    Ok(())
}

/// Compactions at once: on a quarter of the cores, as many as may write with a third of the memory, but two in any case, so that a long one does not
/// hold up a short one.
fn compactors(options: &OpenOptions) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let fitting = options.memory_bytes / 3 / working_bytes_max(options);
    (cores / 4).clamp(COMPACTORS_MIN, COMPACTORS_MAX.min(fitting as usize).max(COMPACTORS_MIN))
}

fn flush_loop(shared: &Shared) {
    let upkeep = &shared.upkeep;
    loop {
        {
            let mut state = upkeep.state.lock();
            if !state.stopping && !state.flush_wanted {
                upkeep.wake.wait_for(&mut state, TICK);
            }
            if state.stopping {
                return;
            }
            state.flush_wanted = false;
            upkeep.flush_wanted.store(false, Ordering::Release);
        }
        shared.count_indexes();
        upkeep.failing.lock().retry(shared.env.clock.monotonic());
        while let Some((table, region)) = shared.next_flush() {
            if let Err(error) = caught("flush", || shared.flush_region(table, region)) {
                shared.metrics.upkeep_failures.fetch_add(1, Ordering::Relaxed);
                // The others are flushed meanwhile.
                upkeep.failing.lock().add(region, shared.env.clock.monotonic(), RETRY_MS);
                let mut state = upkeep.state.lock();
                state.flush_error = Some(error);
                upkeep.flushed.notify_all();
                if state.stopping {
                    return;
                }
            }
        }
    }
}

/// Compacts, splits, and looks at the clock. Each of the threads does all of it, so that none waits for a long compaction of another one.
fn compaction_loop(shared: &Shared) {
    let upkeep = &shared.upkeep;
    let mut known = 0;
    loop {
        let wanted = {
            let mut state = upkeep.state.lock();
            if !state.stopping && state.compactions_wanted == known {
                upkeep.wake.wait_for(&mut state, TICK);
            }
            if state.stopping {
                return;
            }
            let asked = std::mem::replace(&mut known, state.compactions_wanted) != state.compactions_wanted;
            upkeep.compacting.take_look_again(shared.env.clock.monotonic()) || asked
        };
        if caught("look at the files", || shared.tend_files(wanted)).is_err() {
            shared.metrics.upkeep_failures.fetch_add(1, Ordering::Relaxed);
            if upkeep.pause(RETRY_MS) {
                return;
            }
            upkeep.want_compaction();
        }
    }
}

/// A panic as an error: one that came once need not come again, and without these threads no write would pass.
pub(super) fn caught<T>(what: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Error::Panicked { what, message })
    })
}

/// Tends the log until it fails, which it says to every writer from then on.
fn log_loop(shared: &Shared) {
    while !shared.upkeep.pause(shared.options.async_sync_ms) {
        let tended = caught("sync of the log", || shared.commit.tend_log());
        if let Err(error) = tended {
            shared.metrics.upkeep_failures.fetch_add(1, Ordering::Relaxed);
            if matches!(error, Error::Panicked { .. }) {
                shared.commit.log().give_up();
            }
            if shared.commit.log().check().is_err() {
                return;
            }
        }
    }
}

impl Upkeep {
    /// Waits; true if it is time to stop.
    fn pause(&self, millis: u64) -> bool {
        let mut state = self.state.lock();
        let deadline = Duration::from_millis(millis);
        // Other wake-ups shorten the pause; `stopping` must not be missed.
        if !state.stopping {
            self.wake.wait_for(&mut state, deadline);
        }
        state.stopping
    }
}

impl Shared {
    /// Compacts and splits what the rules call for, if it is `wanted` to look at all, and compacts what is due by the clock.
    fn tend_files(&self, wanted: bool) -> Result<()> {
        if wanted && self.upkeep.compacts() {
            self.compact_regions(None, false, Wish::Upkeep)?;
        }
        let looking = if wanted { Some(self.upkeep.looking.lock()) } else { self.upkeep.looking.try_lock() };
        let Some(looking) = looking else { return Ok(()) };
        if wanted {
            self.split_all_large()?;
        }
        let due = if self.upkeep.compacts() { self.due_by_clock() } else { Vec::new() };
        drop(looking);
        due.into_iter().try_for_each(|due| self.compact_due(&due))
    }

    /// Splits the regions that are too large. One that cannot be split keeps no other from it, and nothing else either.
    fn split_all_large(&self) -> Result<()> {
        self.upkeep.failing_splits.lock().retry(self.env.clock.monotonic());
        for (table, region) in self.too_large() {
            if self.upkeep.failing_splits.lock().has(region) {
                continue;
            }
            match caught("split", || self.split_in_halves(table, region)) {
                Err(Error::Closed) => return Err(Error::Closed),
                Err(_) => {
                    self.metrics.upkeep_failures.fetch_add(1, Ordering::Relaxed);
                    let now = self.env.clock.monotonic();
                    self.upkeep.failing_splits.lock().add(region, now, RETRY_SPLIT_MS);
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Tells the cache what indexes and filters take of its memory.
    fn count_indexes(&self) {
        let version = self.version();
        let files = version.regions().flat_map(|region| region.all_files());
        // Regions that were one share files.
        let by_id: BTreeMap<_, _> = files.map(|(_, file)| (file.meta().id, file.memory_bytes())).collect();
        self.cache.make_room_for_indexes(by_id.values().sum());
        self.count_memtables();
    }

    /// Tells the cache what memtables take of its memory.
    pub(super) fn count_memtables(&self) {
        let read_still = self.upkeep.flushed_memtables.lock().bytes();
        self.upkeep.read_still_bytes.store(read_still, Ordering::Relaxed);
        self.cache.make_room_for_memtables(self.commit.unflushed_bytes() + read_still);
    }

    /// Memory for unflushed writes: less while snapshots read memtables that were flushed, but a quarter in any case, so that
    /// a long scan makes files smaller and stops nobody.
    fn unflushed_limit(&self) -> u64 {
        let limit = self.options.unflushed_bytes_max();
        // Twice, because a snapshot that is taken now may keep as much again.
        limit.saturating_sub(2 * self.upkeep.read_still_bytes.load(Ordering::Relaxed)).max(limit / 4)
    }

    /// Lets a write pass, slows it down, or refuses it, by how much memory waits to be flushed and how many files wait to be compacted. Gives the
    /// share of the memory that is taken while a flush is due, with which the write is paid for ([`Pace::pay`]).
    pub(super) fn admit(&self) -> Result<Option<f64>> {
        self.count_memtables();
        let limit = self.unflushed_limit();
        let used = self.commit.unflushed_bytes();
        let due = used >= self.options.memtable_bytes().min(limit / 2);
        if due && !self.options.background {
            return self.flush_inline(limit).map(|()| None);
        }
        let due = due && self.next_flush().is_some();
        if due {
            self.upkeep.want_flush();
        }
        let fill = due.then(|| used as f64 / limit as f64);
        if used >= limit {
            self.metrics.stalled_writes.fetch_add(1, Ordering::Relaxed);
            self.stall()?;
        } else if let Some(pause) = self.upkeep.pace.pause(fill, &*self.env.clock) {
            self.metrics.slowed_writes.fetch_add(1, Ordering::Relaxed);
            self.env.clock.sleep(pause);
        }
        Ok(fill)
    }

    fn flush_inline(&self, limit: u64) -> Result<()> {
        while let Some((table, region)) = self.next_flush() {
            if let Err(error) = self.flush_region(table, region) {
                // Writes go on while there is memory: the log has them.
                return if self.commit.unflushed_bytes() >= limit { Err(error) } else { Ok(()) };
            }
        }
        Ok(())
    }

    fn stall(&self) -> Result<()> {
        let deadline = self.env.clock.monotonic() + Duration::from_millis(self.options.stall_ms_max);
        let mut state = self.upkeep.state.lock();
        loop {
            // The limit rises, too, when a snapshot goes that read what was flushed.
            let (unflushed_bytes, limit_bytes) = (self.commit.unflushed_bytes(), self.unflushed_limit());
            if unflushed_bytes < limit_bytes {
                return Ok(());
            }
            if state.stopping {
                return Err(Error::Closed);
            }
            let left = deadline.saturating_sub(self.env.clock.monotonic());
            if left.is_zero() {
                return Err(state
                    .flush_error
                    .clone()
                    .unwrap_or(Error::Overloaded { unflushed_bytes, limit_bytes }));
            }
            self.upkeep.flushed.wait_for(&mut state, left.min(TICK));
        }
    }

    /// The region that should be flushed next, if any, of those that are not waiting to be tried again: one that is full, waits too long or was left behind by a failure;
    /// the largest if memory runs short; the oldest if the log is too long.
    fn next_flush(&self) -> Option<(TableId, RegionId)> {
        let (version, now_ms) = (self.version(), self.env.now_ms());
        let failing = self.upkeep.failing.lock();
        let regions = || {
            let flushable =
                |region: &&Arc<RegionVersion>| region.memtable_bytes() > 0 && !failing.has(region.id);
            version.regions().filter(flushable)
        };
        let full = |region: &&Arc<RegionVersion>| {
            region.active.size_bytes() >= self.options.memtable_bytes()
                || !region.sealed.is_empty()
                || region.active.age_ms(now_ms) >= self.options.flush_interval_ms
        };
        let found = regions().find(full);
        let found = found.or_else(|| {
            let short = self.commit.unflushed_bytes() >= self.unflushed_limit() / 4 * 3;
            short.then(|| regions().max_by_key(|region| region.memtable_bytes())).flatten()
        });
        let found = found.or_else(|| {
            let long = self.commit.log_bytes() >= self.options.wal_bytes_max;
            let oldest = |region: &&Arc<RegionVersion>| region.active.seq_range().map(|(oldest, _)| oldest);
            long.then(|| regions().min_by_key(oldest)).flatten()
        });
        found.map(|region| (region.table, region.id))
    }
}
