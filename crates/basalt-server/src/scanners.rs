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
//!
//! A client whose scanner is closed in the middle of a row opens another there, and names the state that the first one read. Scanners that are
//! open have theirs; those that were lost leave it for one more lease ([`Scanners::snapshot_at`]).

mod front;
mod measures;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use basalt_model::TableId;
use basalt_store::Snapshot;
use basalt_wire::{Exception, exception};
use parking_lot::Mutex;

use crate::regions::Region;

pub(crate) use front::{Filled, Front, Goal, Piece, Scanner, Shape, Source};
pub(crate) use measures::Measures;

/// Scanners open at once, at most.
const SCANNERS_MAX: usize = 16_384;
/// Scanners that are remembered after they were done.
const DONE_MAX: usize = 4096;
/// Lost scanners whose state is kept, at most.
const LOST_MAX: usize = 256;

/// All open scanners.
pub(crate) struct Scanners {
    lease: Duration,
    open: Mutex<HashMap<u64, Arc<Scanner>>>,
    /// With the number that a next call would have had.
    done: Mutex<VecDeque<(u64, u64)>>,
    /// What lost scanners read, and since when they are lost, oldest first.
    lost: Mutex<VecDeque<(Instant, TableId, Snapshot)>>,
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
            lost: Mutex::default(),
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
        place: Option<(Arc<Region>, Snapshot)>,
        start_code: u64,
    ) -> Arc<Scanner> {
        let id = (start_code << 24).wrapping_add(self.next_id.fetch_add(1, Relaxed)) & (u64::MAX >> 1);
        Arc::new(Scanner::new(id, place, source, Front::new(shape, Arc::clone(&self.ahead))))
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
        let scanner = self.open.lock().remove(&id);
        self.remember(scanner.as_deref());
    }

    /// Closes a scanner of a table that is not served any more: there is nothing to come back to.
    pub(crate) fn close_gone(&self, id: u64) {
        self.open.lock().remove(&id);
    }

    /// Keeps what lost scanners read, for their clients to come back to.
    fn remember<'a>(&self, scanners: impl IntoIterator<Item = &'a Scanner>) {
        let mut lost = self.lost.lock();
        for scanner in scanners {
            if let (Some(region), Some(snapshot)) = (&scanner.region, &scanner.snapshot) {
                lost.push_back((Instant::now(), region.table.id(), snapshot.clone()));
            }
        }
        while lost.len() > LOST_MAX {
            lost.pop_front();
        }
    }

    /// The state of a table that a scanner reads, or read until it was lost not long ago, by the number of its newest commit.
    pub(crate) fn snapshot_at(&self, table: TableId, seq: u64) -> Option<Snapshot> {
        let of_open = self.open.lock().values().find_map(|scanner| {
            let of_table = scanner.region.as_ref().is_some_and(|region| region.table.id() == table);
            scanner.snapshot.as_ref().filter(|snapshot| of_table && snapshot.seq().0 == seq).cloned()
        });
        of_open.or_else(|| {
            let lost = self.lost.lock();
            let found = lost.iter().find(|(_, lost, snapshot)| *lost == table && snapshot.seq().0 == seq);
            found.map(|(_, _, snapshot)| snapshot.clone())
        })
    }

    /// The number that a next call of a scanner would have, if it was done not long ago.
    pub(crate) fn done(&self, id: u64) -> Option<u64> {
        self.done.lock().iter().rfind(|(done, _)| *done == id).map(|(_, next_seq)| *next_seq)
    }

    pub(crate) fn close_all(&self) {
        self.open.lock().clear();
        self.lost.lock().clear();
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
        self.remember(expired.iter().map(|scanner| &**scanner));
        let mut lost = self.lost.lock();
        let forgotten = lost.partition_point(|(since, ..)| since.elapsed() > self.lease);
        let forgotten: Vec<_> = lost.drain(..forgotten).collect();
        drop(lost);
        // What they hold goes here, not under a lock.
        drop((expired, forgotten));
    }
}

impl Ahead {
    /// True if there is memory to prepare answers.
    fn has_room(&self) -> bool {
        self.bytes.load(Relaxed) < self.max
    }
}
