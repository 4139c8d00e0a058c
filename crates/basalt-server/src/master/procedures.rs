// SPDX-License-Identifier: Apache-2.0
//! Changes of tables and namespaces under a number, as clients wait for them; all are finished when they get one.
//!
//! A client that lost the answer sends the change again with the same nonce, and gets the same number. The last
//! [`KEPT_MAX`] are remembered, not over a restart of the server.

use std::collections::{HashMap, VecDeque};

use basalt_wire::names::table_of_text;
use basalt_wire::{Exception, exception, pb};
use parking_lot::Mutex;

use crate::call::{Incoming, Reply};
use crate::failure;
use crate::node::Node;

/// Procedures remembered, at most.
const KEPT_MAX: usize = 10_000;

/// Group and number that a client gives a change; 0 for none.
pub(crate) type Nonce = (Option<u64>, Option<u64>);

/// See the module.
pub(crate) struct Procedures(Mutex<State>);

struct State {
    next: u64,
    by_nonce: HashMap<(u64, u64), u64>,
    /// Number, nonce, and when it was finished.
    kept: VecDeque<(u64, (u64, u64), u64)>,
}

impl Procedures {
    /// Numbers begin with one that no run before has reached.
    pub(crate) fn new(first: u64) -> Self {
        Self(Mutex::new(State { next: first, by_nonce: HashMap::new(), kept: VecDeque::new() }))
    }

    /// Makes a change, unless its nonce says that it was made; gives its number.
    pub(crate) fn run(
        &self,
        nonce: Nonce,
        now_ms: i64,
        change: impl FnOnce() -> Result<(), Exception>,
    ) -> Result<u64, Exception> {
        let nonce = (nonce.0.unwrap_or(0), nonce.1.unwrap_or(0));
        // One change at a time: they are few, and a repeated one must find the first.
        let mut state = self.0.lock();
        if nonce.1 != 0
            && let Some(&known) = state.by_nonce.get(&nonce)
        {
            return Ok(known);
        }
        change()?;
        let number = state.next;
        state.next += 1;
        state.by_nonce.insert(nonce, number);
        state.kept.push_back((number, nonce, u64::try_from(now_ms).unwrap_or(0)));
        if state.kept.len() > KEPT_MAX
            && let Some((_, old, _)) = state.kept.pop_front()
        {
            state.by_nonce.remove(&old);
        }
        Ok(number)
    }

    /// When a procedure was finished; `None` if it is not known.
    fn finished_ms(&self, number: u64) -> Option<u64> {
        let state = self.0.lock();
        let at = state.kept.binary_search_by_key(&number, |kept| kept.0).ok()?;
        Some(state.kept[at].2)
    }
}

pub(super) fn result(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    use pb::get_procedure_result_response::State;
    let request: pb::GetProcedureResultRequest = incoming.decode()?;
    let finished = node.procedures.finished_ms(request.proc_id);
    let state = if finished.is_some() { State::Finished } else { State::NotFound };
    Reply::of(&pb::GetProcedureResultResponse {
        state: state as i32,
        submitted_time: finished,
        last_update: finished,
        result: None,
        exception: None,
    })
}

/// The only one of the procedures by signature: how clients before 2.6 flush a table.
const FLUSH_TABLE: &str = "flush-table-proc";

/// A procedure that is named by its signature. It is over when it is answered.
pub(super) fn execute(node: &Node, incoming: &Incoming) -> Result<Reply, Exception> {
    let pb::ExecProcedureRequest { procedure } = incoming.decode()?;
    check_signature(&procedure)?;
    let table = table_of_text(procedure.instance().as_bytes())
        .ok_or_else(|| Exception::refused(format!("{FLUSH_TABLE} names no table")))?;
    let (id, _) = node
        .db
        .table(&table)
        .map_err(|_| Exception::new(exception::TABLE_NOT_FOUND, procedure.instance()))?;
    node.db.flush(Some(id)).map_err(failure::of_store)?;
    Reply::of(&pb::ExecProcedureResponse { expected_timeout: Some(0), return_data: None })
}

pub(super) fn is_done(incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::IsProcedureDoneRequest = incoming.decode()?;
    let procedure = request.procedure.unwrap_or_default();
    check_signature(&procedure)?;
    Reply::of(&pb::IsProcedureDoneResponse { done: Some(true), snapshot: Some(procedure) })
}

fn check_signature(procedure: &pb::ProcedureDescription) -> Result<(), Exception> {
    match procedure.signature.as_str() {
        FLUSH_TABLE => Ok(()),
        other => Err(Exception::refused(format!(
            "procedure {other} is not known to this server; expected {FLUSH_TABLE}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_sent_again_is_made_once() {
        let procedures = Procedures::new(100);
        let mut made = 0;
        let mut run = |nonce| {
            procedures.run(nonce, 5, || {
                made += 1;
                Ok(())
            })
        };
        assert_eq!(run((Some(1), Some(2))), Ok(100));
        assert_eq!(run((Some(1), Some(2))), Ok(100));
        assert_eq!(run((None, None)), Ok(101));
        assert_eq!(run((None, None)), Ok(102));
        assert_eq!(made, 3);
        assert_eq!(procedures.finished_ms(101), Some(5));
        assert_eq!(procedures.finished_ms(99), None);
        let failed = procedures.run((Some(1), Some(9)), 6, || Err(Exception::refused("no")));
        assert!(failed.is_err());
        assert_eq!(procedures.run((Some(1), Some(9)), 6, || Ok(())), Ok(103));
    }
}
