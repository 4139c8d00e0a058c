// SPDX-License-Identifier: Apache-2.0
//! How fast writers may write, so that they are slowed down smoothly and long before they would have to stop.
//!
//! Two things can run away from the threads behind the writes: memory that waits to be flushed, and store files that wait to be
//! compacted. Of both there is a range in which writers are slowed down:
//!
//! - **memory**, from half of what unflushed writes may have up to all of it, while a flush is due or runs. The rate falls from four times that of the
//!   last flushes to a sixty-fourth of it. A flush that takes as long as the last ones ends when writers have taken a little over half of the
//!   range; one that takes eleven times as long still ends before them.
//! - **depth**, the number of files that one row can be in, from [`DEPTH_SLOW`] to [`DEPTH_MAX`]. The rate goes from that of the last flushes
//!   to a sixteenth of it, so that compactions get ahead again.
//!
//! A write is paid for when it is done: its bytes move the moment up to which all writes are paid for, at the rate of then, and the next
//! writer waits for that moment. Nobody waits while neither range is entered.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use basalt_model::index::IndexState;

use super::Shared;
use crate::compact;
use crate::env::Clock;
use crate::ids::RegionId;
use crate::read::StoreFile;
use crate::version::Version;

/// Rate where half of the memory for unflushed writes is taken, as a multiple of that of flushes.
const RATE_FIRST: f64 = 4.0;
/// Rate where all of it is taken.
const RATE_LAST: f64 = 1.0 / 64.0;
/// Depth from which writers are slowed down: three times what compactions aim at.
const DEPTH_SLOW: usize = 12;
/// Depth from which compactions do not wait for readers.
const DEPTH_BEHIND: usize = 8;
/// Depth from which they are not slowed down any more.
const DEPTH_MAX: usize = 24;
/// Rate of flushes, in bytes a second, before there was one.
const FLUSH_RATE_DEFAULT: u64 = 64 << 20;
/// Flushes of less say more of the disk's latency than of its speed.
const FLUSH_BYTES_MIN: u64 = 1 << 20;
/// Waits below this are put off: a thread that sleeps less wakes up late.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// Nobody waits longer for his turn.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// What is known of the pace of flushes and compactions.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes of memtables that flushes write in a second.
    flush_rate: AtomicU64,
    /// Files that the deepest row spans.
    depth: AtomicUsize,
    /// All writes are paid for at this moment, in nanoseconds of the monotonic clock.
    paid_at: AtomicU64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { flush_rate: FLUSH_RATE_DEFAULT.into(), depth: AtomicUsize::new(0), paid_at: AtomicU64::new(0) }
    }
}

impl Pace {
    /// A flush of `bytes` of memtables took so long.
    pub(super) fn flushed(&self, bytes: u64, took: Duration) {
        if bytes < FLUSH_BYTES_MIN || took.is_zero() {
            return;
        }
        let rate = (bytes as f64 / took.as_secs_f64()) as u64;
        let before = self.flush_rate.load(Relaxed);
        self.flush_rate.store((before - before / 4 + rate / 4).max(1), Relaxed);
    }

    /// Files that the deepest row spans.
    pub(super) fn depth(&self) -> usize {
        self.depth.load(Relaxed)
    }

    /// True if compactions have more to do than readers should have to bear.
    pub(super) fn is_behind(&self) -> bool {
        self.depth() >= DEPTH_BEHIND
    }

    /// Bytes a second that writers may write, `None` for as many as they like. `fill` is the share of the memory for unflushed
    /// writes that they have taken, `None` while no flush is due.
    fn rate(&self, fill: Option<f64>) -> Option<f64> {
        let flush_rate = self.flush_rate.load(Relaxed) as f64;
        let by_fill = fill
            .filter(|&fill| fill > 0.5)
            .map(|fill| RATE_FIRST * (RATE_LAST / RATE_FIRST).powf(2.0 * fill.min(1.0) - 1.0));
        let by_depth = (self.depth() > DEPTH_SLOW).then(|| {
            let over = (self.depth().min(DEPTH_MAX) - DEPTH_SLOW) as f64 / (DEPTH_MAX - DEPTH_SLOW) as f64;
            16_f64.powf(-over)
        });
        let factor = match (by_fill, by_depth) {
            (Some(fill), Some(depth)) => fill.min(depth),
            (one, other) => one.or(other)?,
        };
        Some(flush_rate * factor)
    }

    /// How long a writer has to wait before its turn.
    pub(super) fn pause(&self, fill: Option<f64>, clock: &dyn Clock) -> Option<Duration> {
        self.rate(fill)?;
        let pause = Duration::from_nanos(self.paid_at.load(Relaxed)).saturating_sub(clock.monotonic());
        (pause >= PAUSE_MIN).then(|| pause.min(PAUSE_MAX))
    }

    /// Bytes were written.
    pub(super) fn pay(&self, bytes: u64, fill: Option<f64>, clock: &dyn Clock) {
        let Some(rate) = self.rate(fill) else { return };
        let nanos = (bytes as f64 / rate * 1e9) as u64;
        let now = clock.monotonic().as_nanos() as u64;
        let latest = now + PAUSE_MAX.as_nanos() as u64;
        let _ = self.paid_at.fetch_update(Relaxed, Relaxed, |paid| Some((paid.max(now) + nanos).min(latest)));
    }
}

impl Shared {
    /// Finds out how deep the files lie of which compactions take care.
    pub(super) fn look_at_depth(&self) {
        let is_failing = |region, family: &str| self.upkeep.compacting.is_failing(region, family);
        self.upkeep.pace.depth.store(deepest(&self.version(), is_failing), Relaxed);
    }
}

/// The depth of the deepest family, but for those that cannot be compacted: nobody waits for these.
fn deepest(version: &Version, is_failing: impl Fn(RegionId, &str) -> bool) -> usize {
    let compacted = version.tables.values().filter(|table| {
        let building =
            table.descriptor.index.as_ref().is_some_and(|index| index.state == IndexState::Building);
        table.descriptor.compaction_enabled() && !building
    });
    let families = compacted.flat_map(|table| &table.regions).flat_map(|region| {
        let files = region.files.iter().filter(|(_, files)| files.len() >= DEPTH_BEHIND);
        files.map(|(family, files)| (region.id, family, files))
    });
    families
        .filter(|(region, family, _)| !is_failing(*region, family))
        .map(|(_, _, files)| compact::depth(files.iter().map(|file| StoreFile::meta(file))))
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
