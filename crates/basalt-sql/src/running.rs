// SPDX-License-Identifier: Apache-2.0
//! The statements that run now, of all sessions: what SYSTEM.QUERIES lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::progress::Progress;

/// Characters of a statement that are kept.
const TEXT_MAX: usize = 1_000;

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Running {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    statements: BTreeMap<u64, RunningStatement>,
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

/// Takes its statement off the list when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    running: Arc<Running>,
    id: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.running.state.lock().statements.remove(&self.id);
    }
}

impl Running {
    /// Puts a statement on the list.
    pub(crate) fn enter(self: &Arc<Self>, text: &str, started_ms: i64, progress: Arc<Progress>) -> Ticket {
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
}
