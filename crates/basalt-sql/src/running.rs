// SPDX-License-Identifier: Apache-2.0
//! The statements that run now, of all sessions, and the last slow ones: what SYSTEM.QUERIES and SYSTEM.SLOW_QUERIES list.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use basalt_store::env::Clock;
use parking_lot::Mutex;

use crate::progress::Progress;

/// Characters of a statement that are kept.
const TEXT_MAX: usize = 1_000;

/// Slow statements that are remembered.
const SLOW_MAX: usize = 256;

/// All of them.
#[derive(Debug)]
pub(crate) struct Running {
    clock: Arc<dyn Clock>,
    /// Statements that take longer are slow.
    slow_ms: i64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    statements: BTreeMap<u64, RunningStatement>,
    slow: VecDeque<SlowStatement>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct RunningStatement {
    pub(crate) id: u64,
    /// The beginning of its text.
    pub(crate) text: String,
    /// Milliseconds since 1970.
    pub(crate) started_ms: i64,
    pub(crate) progress: Arc<Progress>,
}

/// One that was slow.
#[derive(Debug, Clone)]
pub(crate) struct SlowStatement {
    pub(crate) statement: RunningStatement,
    pub(crate) elapsed_ms: i64,
}

/// Takes its statement off the list when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    running: Arc<Running>,
    id: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let now_ms = self.running.clock.now_ms();
        let mut state = self.running.state.lock();
        let Some(statement) = state.statements.remove(&self.id) else { return };
        let elapsed_ms = now_ms - statement.started_ms;
        if elapsed_ms < self.running.slow_ms {
            return;
        }
        if state.slow.len() == SLOW_MAX {
            state.slow.pop_front();
        }
        state.slow.push_back(SlowStatement { statement, elapsed_ms });
    }
}

impl Running {
    /// Statements that take longer than `slow` are remembered.
    pub(crate) fn new(clock: Arc<dyn Clock>, slow: Duration) -> Self {
        let slow_ms = i64::try_from(slow.as_millis()).unwrap_or(i64::MAX);
        Self { clock, slow_ms, state: Mutex::default() }
    }

    /// Puts a statement on the list.
    pub(crate) fn enter(self: &Arc<Self>, text: &str, progress: Arc<Progress>) -> Ticket {
        let started_ms = self.clock.now_ms();
        let text = text.chars().take(TEXT_MAX).collect();
        let mut state = self.state.lock();
        state.last += 1;
        let id = state.last;
        state.statements.insert(id, RunningStatement { id, text, started_ms, progress });
        Ticket { running: Arc::clone(self), id }
    }

    /// Those that run now, by age.
    pub(crate) fn list(&self) -> Vec<RunningStatement> {
        self.state.lock().statements.values().cloned().collect()
    }
    /// The last slow ones, the newest last.
    pub(crate) fn slow(&self) -> Vec<SlowStatement> {
        self.state.lock().slow.iter().cloned().collect()
    }
}
