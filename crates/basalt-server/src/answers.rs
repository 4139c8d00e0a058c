// SPDX-License-Identifier: Apache-2.0
//! Memory for answers, over all connections: those that grow, those that are made, and those that wait to be sent.
//!
//! | level | used | who begins a call |
//! |---|---|---|
//! | free | less than a quarter | every connection, up to its own bounds |
//! | scarce | a quarter and more | a connection that has no call and no answer under way; scans answer with little at a time |
//! | exhausted | all | nobody, until clients take their answers |
//!
//! No call is refused for it: it waits in the socket of its client, who is held back by that. From a quarter on, clients that do not take their
//! answers add little; who takes them goes on, with one call at a time. What an answer may grow by before somebody looks again is counted
//! before ([`GROWTH_BYTES`]): of many connections that hear of free memory at once only as many begin as there is memory for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use tokio::sync::watch;

/// Bytes that an answer may grow by before it is looked at again, about: the rows of a block may be more.
const GROWTH_BYTES: usize = 128 << 10;
/// An answer that grows is counted in steps of so many bytes.
const STEP: usize = 64 << 10;

/// See the module.
pub(crate) struct Answers {
    bytes: AtomicU64,
    max: u64,
    level: watch::Sender<Level>,
}

/// How much memory is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Free,
    Scarce,
    Exhausted,
}

/// Bytes of answers, counted for as long as it lives.
pub(crate) struct Held {
    answers: Arc<Answers>,
    bytes: AtomicU64,
}

impl Answers {
    pub(crate) fn new(max: u64) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicU64::new(0), max: max.max(1), level: watch::Sender::new(Level::Free) })
    }

    /// Bytes that are counted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(SeqCst)
    }

    pub(crate) fn level(&self) -> Level {
        self.level_at(self.bytes())
    }

    /// Hears of every change of the level.
    pub(crate) fn watch(&self) -> watch::Receiver<Level> {
        self.level.subscribe()
    }

    /// Nothing yet.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held { answers: Arc::clone(self), bytes: AtomicU64::new(0) }
    }

    fn level_at(&self, bytes: u64) -> Level {
        match bytes {
            _ if bytes >= self.max => Level::Exhausted,
            _ if bytes >= self.max / 4 => Level::Scarce,
            _ => Level::Free,
        }
    }

    fn add(&self, bytes: u64) {
        let before = self.bytes.fetch_add(bytes, SeqCst);
        self.tell(before, before + bytes);
    }

    fn remove(&self, bytes: u64) {
        let before = self.bytes.fetch_sub(bytes, SeqCst);
        debug_assert!(before >= bytes, "what is given back was counted");
        self.tell(before, before - bytes);
    }

    fn tell(&self, before: u64, after: u64) {
        if self.level_at(before) == self.level_at(after) {
            return;
        }
        // What is true now, not what was: whoever crosses last says it last.
        self.level.send_if_modified(|level| {
            let now = self.level();
            std::mem::replace(level, now) != now
        });
    }
}

impl Held {
    /// Holds so many bytes, no more and no less.
    pub(crate) fn set(&mut self, bytes: usize) {
        let (before, bytes) = (*self.bytes.get_mut(), bytes as u64);
        *self.bytes.get_mut() = bytes;
        match bytes > before {
            true => self.answers.add(bytes - before),
            false if bytes < before => self.answers.remove(before - bytes),
            false => {}
        }
    }

    /// Counts an answer that has grown to so many bytes and grows further, and says how much is left for others.
    pub(crate) fn grow(&self, bytes: usize) -> Level {
        let bytes = (bytes + GROWTH_BYTES).next_multiple_of(STEP) as u64;
        if self.bytes.load(SeqCst) < bytes {
            let before = self.bytes.fetch_max(bytes, SeqCst);
            self.answers.add(bytes.saturating_sub(before));
        }
        self.answers.level()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_follow_what_is_held_and_are_told() {
        let answers = Answers::new(1 << 20);
        let mut watch = answers.watch();
        let mut first = answers.hold();
        first.set(600 << 10);
        assert_eq!((answers.level(), *watch.borrow_and_update()), (Level::Scarce, Level::Scarce));
        let mut second = answers.hold();
        second.set(600 << 10);
        assert_eq!(*watch.borrow_and_update(), Level::Exhausted);
        second.set(599 << 10);
        assert!(!watch.has_changed().unwrap());
        drop(first);
        drop(second);
        assert_eq!((answers.bytes(), *watch.borrow_and_update()), (0, Level::Free));
    }

    #[test]
    fn an_answer_that_grows_is_counted_in_steps_and_once() {
        let answers = Answers::new(1 << 20);
        let held = answers.hold();
        assert_eq!((held.grow(0), answers.bytes()), (Level::Free, 128 << 10));
        assert_eq!((held.grow(1), answers.bytes()), (Level::Free, 192 << 10));
        held.grow(STEP);
        assert_eq!(answers.bytes(), 192 << 10);
        assert_eq!(held.grow(2 << 20), Level::Exhausted);
        drop(held);
        assert_eq!(answers.bytes(), 0);
    }
}
