// SPDX-License-Identifier: Apache-2.0
//! Who leads a group of commits, and who waits for it.
//!
//! A waiter is woken once: when its commit is resolved, or when it is to lead. Waking all whenever a group ends would wake those of the next group
//! in vain, and have all of them queue for one lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, Thread};

use basalt_model::Seq;
use parking_lot::Mutex;

use crate::error::{Error, Result};

/// It sleeps.
const ASLEEP: u8 = 0;
/// Its commit is durable.
const DONE: u8 = 1;
/// It is to look again: its commit failed, or it may lead.
const LOOK_AGAIN: u8 = 2;

/// See the module.
#[derive(Debug)]
pub(super) struct Groups(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    leading: bool,
    /// Every commit up to this one is durable or failed.
    resolved: u64,
    /// Errors that their writers have not fetched yet, by last number.
    failures: BTreeMap<u64, Error>,
    waiters: Vec<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    seq: u64,
    thread: Thread,
    said: Arc<AtomicU8>,
}

impl Waiter {
    fn wake(self, what: u8) {
        self.said.store(what, Ordering::Release);
        self.thread.unpark();
    }
}

/// How a group ended: the last number that is resolved now, and who failed.
pub(super) type Led = (Seq, Vec<(u64, Error)>);

impl Groups {
    /// Every commit up to `resolved` is.
    pub(super) fn new(resolved: u64) -> Self {
        Self(Mutex::new(State { resolved, ..State::default() }))
    }

    /// Every commit up to this one is durable or failed.
    pub(super) fn resolved(&self) -> u64 {
        self.0.lock().resolved
    }

    /// Nothing is on its way, and numbers up to `resolved` are given out.
    pub(super) fn set_resolved(&self, resolved: u64) {
        self.0.lock().resolved = resolved;
    }

    /// Waits for the commit whose last number is `seq`, leading groups with `lead` while nobody else does.
    pub(super) fn wait(&self, seq: u64, lead: impl Fn() -> Led) -> Result<()> {
        if self.wait_resolved(seq, lead) {
            return Ok(());
        }
        self.0.lock().failures.remove(&seq).map_or(Ok(()), Err)
    }

    /// Waits until every commit up to `seq` is durable or failed; true if the last of them surely did not fail.
    pub(super) fn wait_resolved(&self, seq: u64, lead: impl Fn() -> Led) -> bool {
        loop {
            let mut state = self.0.lock();
            if state.resolved >= seq {
                return state.failures.is_empty();
            }
            if state.leading {
                let said = Arc::new(AtomicU8::new(ASLEEP));
                state.waiters.push(Waiter { seq, thread: thread::current(), said: Arc::clone(&said) });
                drop(state);
                while said.load(Ordering::Acquire) == ASLEEP {
                    thread::park();
                }
                if said.load(Ordering::Acquire) == DONE {
                    return true;
                }
                continue;
            }
            state.leading = true;
            drop(state);
            self.end(lead());
        }
    }

    /// A group has ended: somebody else may lead, and whoever waited for it goes on.
    fn end(&self, (resolved, failures): Led) {
        let mut state = self.0.lock();
        state.leading = false;
        state.resolved = state.resolved.max(resolved.0);
        let said = if failures.is_empty() { DONE } else { LOOK_AGAIN };
        state.failures.extend(failures);
        let resolved = state.resolved;
        let (done, mut waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.waiters).into_iter().partition(|waiter| waiter.seq <= resolved);
        let next = waiting.pop();
        state.waiters = waiting;
        drop(state);
        // First whoever leads next, so that the disk does not wait for the others to be woken.
        next.into_iter().for_each(|next| next.wake(LOOK_AGAIN));
        done.into_iter().for_each(|waiter| waiter.wake(said));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Numbers that are given out one after the other, and led in groups of those given out by then.
    #[derive(Default)]
    struct Numbers {
        given: AtomicU64,
        resolved: AtomicU64,
        /// Groups without a failure.
        sound: AtomicU64,
    }

    impl Numbers {
        fn take(&self) -> u64 {
            self.given.fetch_add(1, Ordering::AcqRel) + 1
        }

        fn fails(number: u64) -> bool {
            number.is_multiple_of(97)
        }

        fn lead(&self) -> Led {
            let last = self.given.load(Ordering::Acquire);
            let first = self.resolved.swap(last, Ordering::AcqRel) + 1;
            thread::yield_now();
            let failed: Vec<_> = (first..=last)
                .filter(|number| Self::fails(*number))
                .map(|number| (number, Error::Conflict))
                .collect();
            self.sound.fetch_add(u64::from(failed.is_empty()), Ordering::Relaxed);
            (Seq(last), failed)
        }
    }

    #[test]
    fn everybody_comes_back_and_hears_of_its_own_failure() {
        let (groups, numbers) = (Groups::new(0), Numbers::default());
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let number = numbers.take();
                        let found = groups.wait(number, || numbers.lead());
                        assert_eq!(found.is_err(), Numbers::fails(number), "{number}");
                        assert!(groups.resolved() >= number);
                    }
                });
            }
        });
        assert_eq!(groups.resolved(), 16 * 500);
        let state = groups.0.lock();
        assert!(state.waiters.is_empty() && state.failures.is_empty());
        assert!(numbers.sound.load(Ordering::Relaxed) > 10, "groups without a failure");
    }

    #[test]
    fn what_is_resolved_is_not_waited_for() {
        let groups = Groups::new(3);
        assert!(groups.wait(3, || panic!("nothing is to be led")).is_ok());
        groups.set_resolved(9);
        assert!(groups.wait_resolved(9, || panic!("nothing is to be led")));
    }
}
