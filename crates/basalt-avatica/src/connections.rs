// SPDX-License-Identifier: Apache-2.0
//! The connections that clients have open, by the ids that they gave them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_sql::Engine;
use parking_lot::Mutex;

use crate::connection::Connection;
use crate::failure::Failure;

/// An id is a UUID as a rule; this is what any of them may have.
const ID_BYTES_MAX: usize = 256;

/// See the module.
pub(crate) struct Connections {
    engine: Engine,
    most: usize,
    idle: Duration,
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    connection: Arc<tokio::sync::Mutex<Connection>>,
    asked: Instant,
}

impl Connections {
    pub(crate) fn new(engine: Engine, most: usize, idle: Duration) -> Self {
        Self { engine, most, idle, open: Mutex::default() }
    }

    /// Opens a connection. One of this id that is open already is an error.
    pub(crate) fn open(&self, id: &str, info: &HashMap<String, String>) -> Result<(), Failure> {
        if id.is_empty() || id.len() > ID_BYTES_MAX {
            let message =
                format!("the id of a connection has 1 to {ID_BYTES_MAX} bytes; this one has {}", id.len());
            return Err(Failure::protocol(message));
        }
        self.close_idle();
        let mut open = self.open.lock();
        if open.contains_key(id) {
            return Err(Failure::protocol(format!("connection {id} is open already")));
        }
        if open.len() >= self.most {
            let message = format!("{} connections are open, which is the most; close some", self.most);
            return Err(Failure::limit(message));
        }
        let connection = Arc::new(tokio::sync::Mutex::new(Connection::new(id, self.engine.session(), info)));
        open.insert(id.to_owned(), Open { connection, asked: Instant::now() });
        Ok(())
    }

    /// The connection of this id, about to be asked.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<tokio::sync::Mutex<Connection>>, Failure> {
        let mut open = self.open.lock();
        let found = open.get_mut(id).ok_or_else(|| Failure::no_connection(id))?;
        found.asked = Instant::now();
        Ok(Arc::clone(&found.connection))
    }

    /// Closes a connection, if it is open. Its statements end, and what it has not committed is gone.
    pub(crate) fn close(&self, id: &str) {
        let closed = self.open.lock().remove(id);
        drop(closed);
    }

    /// Closes those that were not asked for too long. One that works on a request is none of them.
    pub(crate) fn close_idle(&self) {
        let idle =
            |open: &mut Open| open.asked.elapsed() > self.idle && Arc::strong_count(&open.connection) == 1;
        let closed: Vec<_> = self.open.lock().extract_if(|_, open| idle(open)).collect();
        drop(closed);
    }

    pub(crate) fn close_all(&self) {
        let closed = std::mem::take(&mut *self.open.lock());
        drop(closed);
    }

    pub(crate) fn count(&self) -> usize {
        self.open.lock().len()
    }
}
