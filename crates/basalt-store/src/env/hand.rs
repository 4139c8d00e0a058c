// SPDX-License-Identifier: Apache-2.0
//! A clock for tests that moves when somebody sleeps, and not otherwise.

use std::time::Duration;

use parking_lot::Mutex;

use super::Clock;

#[derive(Debug, Default)]
pub(crate) struct Hand(Mutex<Duration>);

impl Clock for Hand {
    fn now_ms(&self) -> i64 {
        self.monotonic().as_millis() as i64
    }

    fn monotonic(&self) -> Duration {
        *self.0.lock()
    }

    fn sleep(&self, duration: Duration) {
        *self.0.lock() += duration;
    }
}
