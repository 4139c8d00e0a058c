// SPDX-License-Identifier: Apache-2.0
//! When to stay awake for the next call: while calls follow each other closely, as those of a program do that waits for each answer.
//!
//! ```text
//! asleep --[CLOSE_CALLS calls, each within the limit]--> awake --[nothing within the limit]--> asleep
//! ```
//!
//! So a connection that goes idle costs one limit of a core's time, and one that calls now and then costs none. Of all connections
//! together at most every second worker stays awake; the others sleep as ever. Where cores are scarce nobody stays awake: who is held up
//! while it looks sleeps for a while ([`Pace::rest`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Calls that have to follow closely before anybody stays awake.
const CLOSE_CALLS: u32 = 16;

/// How long a connection is left asleep after others wanted the core.
const REST: Duration = Duration::from_millis(100);

/// Who may be awake at the same time.
pub(crate) struct Awake {
    free: AtomicUsize,
    /// How long to look for a call.
    limit: Duration,
}

impl Awake {
    /// For so many worker threads; `limit`: how long to look for a call, nothing for never.
    pub(crate) fn new(workers: usize, limit: Duration) -> Arc<Self> {
        let free = if limit.is_zero() { 0 } else { workers / 2 };
        Arc::new(Self { free: AtomicUsize::new(free), limit })
    }

    fn take(&self) -> Option<Permit<'_>> {
        let take = |free: usize| free.checked_sub(1);
        self.free.fetch_update(Relaxed, Relaxed, take).ok().map(|_| Permit { awake: self })
    }
}

/// One may be awake as long as it lives.
pub(super) struct Permit<'a> {
    awake: &'a Awake,
}

impl Permit<'_> {
    pub(super) fn limit(&self) -> Duration {
        self.awake.limit
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.awake.free.fetch_add(1, Relaxed);
    }
}

/// How the calls of one connection follow each other.
pub(super) struct Pace {
    awake: Arc<Awake>,
    /// Calls that followed closely, up to the last.
    close: u32,
    /// Nobody stays awake before.
    rests_until: Option<Instant>,
}

impl Pace {
    pub(super) fn new(awake: Arc<Awake>) -> Self {
        Self { awake, close: 0, rests_until: None }
    }

    /// Something came so long after there was nothing left to do.
    pub(super) fn came(&mut self, after: Duration) {
        self.close = if after <= self.awake.limit { self.close.saturating_add(1) } else { 0 };
    }

    /// Nothing came within the limit.
    pub(super) fn missed(&mut self) {
        self.close = 0;
    }

    /// Others wanted the core.
    pub(super) fn rest(&mut self) {
        self.close = 0;
        self.rests_until = Some(Instant::now() + REST);
    }

    /// Leave to stay awake for what comes next.
    pub(super) fn stays_awake(&self) -> Option<Permit<'_>> {
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        if rests || self.close < CLOSE_CALLS { None } else { self.awake.take() }
    }
}

#[cfg(test)]
mod tests;
