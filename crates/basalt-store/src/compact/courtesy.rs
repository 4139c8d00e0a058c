// SPDX-License-Identifier: Apache-2.0
//! How a compaction gives way to readers: it works and rests in turn, and rests more while lookups of rows take longer when it works
//! than when it rests.
//!
//! Only a comparison tells what a compaction costs the readers of this machine: with cores and disk to spare nothing, else a multiple. So some
//! lookups are measured, in both phases, and every few phases the share of rest is moved: up while the difference is noticeable, else down to a
//! rest that is just long enough to compare. Compactions that run at the same time rest together. Without lookups there is no rest, nor while compactions are behind: then readers gain more from a
//! compaction that ends.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::env::Clock;

/// A compaction works that long before it rests.
const WORK: Duration = Duration::from_millis(10);
/// It never rests longer at a time.
const REST_MAX: Duration = Duration::from_millis(100);
/// Phases between two looks at the lookups.
const PHASES: u32 = 8;
/// One lookup of so many is measured.
const SAMPLE: u8 = 8;
/// Lookups of a phase that say something.
const LOOKUPS_MIN: u64 = 32;
/// Difference of the mean times from which on a compaction is noticed, in percent.
const NOTICEABLE_PERCENT: u64 = 125;
/// The shortest rest, in thousandths of the work before it: enough to compare.
const REST_LEAST: u32 = 60;
/// The longest.
const REST_MOST: u32 = 3_000;

/// Times of lookups while compactions work and while all of them rest, and what they made of them.
#[derive(Debug, Default)]
pub(crate) struct LookupTimes {
    /// Compactions that give way; without any nothing is measured.
    polite: AtomicU32,
    /// Those of them that do not rest.
    at_work: AtomicU32,
    /// When the rest ends that one of them began and the others join, in nanoseconds of the clock.
    rest_end: AtomicU64,
    working: Sum,
    resting: Sum,
    /// Rest in thousandths of work; outlives the compaction, for many are over before they could compare.
    rest: AtomicU32,
}

#[derive(Debug, Default)]
struct Sum {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Sum {
    fn add(&self, took: Duration) {
        self.count.fetch_add(1, Relaxed);
        self.nanos.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    /// The mean of what was added since the last look, in nanoseconds, `None` if that is too little.
    fn take_mean(&self) -> Option<u64> {
        let (count, nanos) = (self.count.swap(0, Relaxed), self.nanos.swap(0, Relaxed));
        (count >= LOOKUPS_MIN).then(|| nanos / count)
    }
}

thread_local! {
    static LOOKUP: Cell<u8> = const { Cell::new(0) };
}

impl LookupTimes {
    /// Does a lookup, and measures it if it is its turn.
    #[inline]
    pub(crate) fn measure<T>(&self, clock: &dyn Clock, lookup: impl FnOnce() -> T) -> T {
        if self.polite.load(Relaxed) == 0 || LOOKUP.replace((LOOKUP.get() + 1) % SAMPLE) != 0 {
            return lookup();
        }
        let at_work = self.at_work.load(Relaxed) > 0;
        let started = clock.monotonic();
        let found = lookup();
        let sum = if at_work { &self.working } else { &self.resting };
        sum.add(clock.monotonic().saturating_sub(started));
        found
    }

    /// Compares the phases and moves the share of rest.
    fn compare(&self) {
        let rest = self.rest.load(Relaxed);
        let rest = match (self.working.take_mean(), self.resting.take_mean()) {
            (None, _) if rest <= REST_LEAST => 0,
            (None, _) => rest / 2,
            (Some(_), None) => (2 * rest).clamp(REST_LEAST, REST_MOST),
            (Some(working), Some(resting)) if working * 100 > resting * NOTICEABLE_PERCENT => {
                (rest / 2 * 3).clamp(REST_LEAST, REST_MOST)
            }
            _ => (rest / 4 * 3).max(REST_LEAST),
        };
        self.rest.store(rest, Relaxed);
    }
}

/// A compaction that gives way.
pub(crate) struct Courtesy<'a> {
    lookups: &'a LookupTimes,
    clock: &'a dyn Clock,
    /// True while more waits to be compacted than readers should have to bear.
    behind: &'a dyn Fn() -> bool,
    working_since: Duration,
    phases: u32,
}

impl<'a> Courtesy<'a> {
    /// A compaction that begins to work.
    pub(crate) fn new(lookups: &'a LookupTimes, clock: &'a dyn Clock, behind: &'a dyn Fn() -> bool) -> Self {
        lookups.polite.fetch_add(1, Relaxed);
        lookups.at_work.fetch_add(1, Relaxed);
        Self { lookups, clock, behind, working_since: clock.monotonic(), phases: 0 }
    }

    /// Rests if it is time to, or if another one does. To be called every few milliseconds of work.
    pub(crate) fn give_way(&mut self) {
        let now = self.clock.monotonic();
        let worked = now.saturating_sub(self.working_since);
        let others = Duration::from_nanos(self.lookups.rest_end.load(Relaxed)).saturating_sub(now);
        if !others.is_zero() && !(self.behind)() {
            return self.rest(others);
        }
        if worked < WORK {
            return;
        }
        let rest = (worked * self.lookups.rest.load(Relaxed) / 1_000).min(REST_MAX);
        if rest.is_zero() || (self.behind)() {
            self.working_since = now;
        } else {
            self.lookups.rest_end.store((now + rest).as_nanos() as u64, Relaxed);
            self.rest(rest);
        }
        self.phases += 1;
        if self.phases.is_multiple_of(PHASES) {
            self.lookups.compare();
        }
    }

    fn rest(&mut self, rest: Duration) {
        self.lookups.at_work.fetch_sub(1, Relaxed);
        self.clock.sleep(rest);
        self.lookups.at_work.fetch_add(1, Relaxed);
        self.working_since = self.clock.monotonic();
    }
}

impl Drop for Courtesy<'_> {
    fn drop(&mut self) {
        self.lookups.at_work.fetch_sub(1, Relaxed);
        self.lookups.polite.fetch_sub(1, Relaxed);
    }
}

impl fmt::Debug for Courtesy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courtesy").field("lookups", self.lookups).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
