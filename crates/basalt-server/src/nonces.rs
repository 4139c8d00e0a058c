// SPDX-License-Identifier: Apache-2.0
//! Changes that must not be made twice. A client that got no answer to an increment sends it again under the same number;
//! if it was made, it is not made again, and the client gets what the row holds now.
//!
//! The last [`NONCES_MAX`] numbers are remembered, for at most half an hour, as in HBase; not over a restart of the server.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Numbers remembered, at most.
const NONCES_MAX: usize = 100_000;
/// How long they are remembered.
const KEPT: Duration = Duration::from_secs(30 * 60);

/// Group and number of a change; no change has number 0.
pub(crate) type Nonce = (u64, u64);

/// What is known of a change that comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is new, and now under way: [`Nonces::end`] must follow.
    New,
    /// It is being made.
    UnderWay,
    /// It was made.
    Done,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Nonces(Mutex<State>);

#[derive(Default)]
struct State {
    /// True for those that were made.
    known: HashMap<Nonce, bool>,
    made: VecDeque<(Instant, Nonce)>,
}

impl Nonces {
    /// Begins a change.
    pub(crate) fn begin(&self, nonce: Nonce) -> Seen {
        if nonce.1 == 0 {
            return Seen::New;
        }
        let mut state = self.0.lock();
        match state.known.get(&nonce) {
            Some(true) => Seen::Done,
            Some(false) => Seen::UnderWay,
            None => {
                state.known.insert(nonce, false);
                Seen::New
            }
        }
    }

    /// Ends a change that [`Nonces::begin`] called new.
    pub(crate) fn end(&self, nonce: Nonce, made: bool) {
        if nonce.1 == 0 {
            return;
        }
        let mut state = self.0.lock();
        let State { known, made: order } = &mut *state;
        if !made {
            known.remove(&nonce);
            return;
        }
        known.insert(nonce, true);
        order.push_back((Instant::now(), nonce));
        while order.len() > NONCES_MAX || order.front().is_some_and(|(at, _)| at.elapsed() > KEPT) {
            if let Some((_, old)) = order.pop_front() {
                known.remove(&old);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_made_once() {
        let nonces = Nonces::default();
        assert_eq!(nonces.begin((1, 7)), Seen::New);
        assert_eq!(nonces.begin((1, 7)), Seen::UnderWay);
        nonces.end((1, 7), false);
        assert_eq!(nonces.begin((1, 7)), Seen::New);
        nonces.end((1, 7), true);
        assert_eq!(nonces.begin((1, 7)), Seen::Done);
        assert_eq!(nonces.begin((2, 7)), Seen::New);
        assert_eq!(nonces.begin((1, 0)), Seen::New);
        assert_eq!(nonces.begin((1, 0)), Seen::New);
    }

    #[test]
    fn old_numbers_are_forgotten() {
        let nonces = Nonces::default();
        for number in 1..=NONCES_MAX as u64 + 1 {
            nonces.begin((0, number));
            nonces.end((0, number), true);
        }
        assert_eq!(nonces.begin((0, 1)), Seen::New);
        assert_eq!(nonces.begin((0, 2)), Seen::Done);
    }
}
