// SPDX-License-Identifier: Apache-2.0
//! Open scans of clients.
//!
//! ```text
//! rows of the store -> cells in wire form, a [`Piece`] per result -> answers, cut out of the front
//! ```
//!
//! A scanner holds results that are ready to be sent: what an answer had no room for, and what was read while the last answers
//! travelled ([`front`]). All scanners together hold `read_ahead_bytes` of them, beyond which nothing is prepared. A scanner that nobody
//! asks for during its lease is closed.

mod front;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use basalt_wire::{Exception, exception};
use parking_lot::Mutex;

use crate::regions::Region;

pub(crate) use front::{Filled, Front, Goal, Piece, Scanner, Shape, Source};

/// Scanners open at once, at most.
const SCANNERS_MAX: usize = 16_384;
/// Scanners that are remembered after they were done.
const DONE_MAX: usize = 4096;

/// All open scanners.
pub(crate) struct Scanners {
    lease: Duration,
    open: Mutex<HashMap<u64, Arc<Scanner>>>,
    /// With the number that a next call would have had.
    done: Mutex<VecDeque<(u64, u64)>>,
    next_id: AtomicU64,
    ahead: Arc<Ahead>,
    began: Instant,
}

/// Memory for results that are ready.
struct Ahead {
    bytes: AtomicU64,
    max: u64,
}

impl Scanners {
    pub(crate) fn new(lease_ms: u64, read_ahead_bytes: u64) -> Self {
        Self {
            lease: Duration::from_millis(lease_ms.max(1)),
            open: Mutex::default(),
            done: Mutex::default(),
            next_id: AtomicU64::new(0),
            ahead: Arc::new(Ahead { bytes: AtomicU64::new(0), max: read_ahead_bytes }),
            began: Instant::now(),
        }
    }

    /// How long a scanner may be left alone.
    pub(crate) fn lease(&self) -> Duration {
        self.lease
    }

    pub(crate) fn len(&self) -> usize {
        self.open.lock().len()
    }

    pub(crate) fn read_ahead_bytes(&self) -> u64 {
        self.ahead.bytes.load(Relaxed)
    }

    /// A scan that no other call can see yet. `start_code` makes its id differ from those of other runs of the server.
    pub(crate) fn prepare(
        &self,
        source: Source,
        shape: Shape,
        region: Option<Arc<Region>>,
        start_code: u64,
    ) -> Arc<Scanner> {
        let id = (start_code << 24).wrapping_add(self.next_id.fetch_add(1, Relaxed)) & (u64::MAX >> 1);
        Arc::new(Scanner::new(id, region, source, Front::new(shape, Arc::clone(&self.ahead))))
    }

    /// Makes a scan known to later calls.
    pub(crate) fn open(&self, scanner: &Arc<Scanner>) -> Result<(), Exception> {
        let mut open = self.open.lock();
        if open.len() >= SCANNERS_MAX {
            return Err(Exception::new(
                exception::REGION_TOO_BUSY,
                format!("{SCANNERS_MAX} scanners are open; close some or wait until they expire"),
            ));
        }
        self.touch(scanner);
        open.insert(scanner.id, Arc::clone(scanner));
        Ok(())
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Scanner>> {
        self.open.lock().get(&id).cloned()
    }

    /// Begins the lease anew.
    pub(crate) fn touch(&self, scanner: &Scanner) {
        let expires = self.began.elapsed() + self.lease;
        scanner.expires_ms.store(u64::try_from(expires.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Closes a scanner that gave all it had, or that the client needs no more. A late call for it is no mistake.
    pub(crate) fn close_done(&self, id: u64, next_seq: u64) {
        self.open.lock().remove(&id);
        let mut done = self.done.lock();
        done.push_back((id, next_seq));
        if done.len() > DONE_MAX {
            done.pop_front();
        }
    }

    /// Closes a scanner that lost its place: whoever asks for it has to open another.
    pub(crate) fn close_lost(&self, id: u64) {
        self.open.lock().remove(&id);
    }

    /// The number that a next call of a scanner would have, if it was done not long ago.
    pub(crate) fn done(&self, id: u64) -> Option<u64> {
        self.done.lock().iter().rfind(|(done, _)| *done == id).map(|(_, next_seq)| *next_seq)
    }

    pub(crate) fn close_all(&self) {
        self.open.lock().clear();
    }

    /// Closes the scanners whose lease is over, but for those that work.
    pub(crate) fn end_leases(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let over = |scanner: &Arc<Scanner>| scanner.expires_ms.load(Relaxed) < now && !scanner.is_called();
        let mut expired = Vec::new();
        self.open.lock().retain(|_, scanner| {
            let over = over(scanner);
            if over {
                expired.push(Arc::clone(scanner));
            }
            !over
        });
        // What they hold goes here, not under the lock.
        drop(expired);
    }
}

impl Ahead {
    /// True if there is memory to prepare answers.
    fn has_room(&self) -> bool {
        self.bytes.load(Relaxed) < self.max
    }
}
