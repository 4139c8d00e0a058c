// SPDX-License-Identifier: Apache-2.0
//! Open scans of clients.
//!
//! ```text
//! rows of the store -> cells in wire form, a [`Piece`] per result -> answers, cut out of the front
//! ```
//!
//! A scanner holds results that are ready to be sent: what an answer had no room for, and what was prepared while the last
//! answer travelled. Both are bounded by the size of one answer; all scanners together by `read_ahead_bytes`, beyond which nothing
//! is prepared. A scanner that nobody asks for during its lease is closed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use basalt_store::{Rows, Step};
use basalt_wire::cell_block::encode_cell;
use basalt_wire::{Exception, exception};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;

use crate::failure;
use crate::meta::MetaRow;
use crate::regions::Region;

/// Scanners open at once, at most.
const SCANNERS_MAX: usize = 16_384;
/// Scanners that are remembered after they were done.
const DONE_MAX: usize = 4096;
/// Rows without a result between two looks at the clock.
const ROWS_PER_LOOK: u64 = 64;

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

/// One open scan.
pub(crate) struct Scanner {
    pub(crate) id: u64,
    /// `None` for `hbase:meta`.
    pub(crate) region: Option<Arc<Region>>,
    /// Milliseconds after the server's start at which the lease is over.
    expires_ms: AtomicU64,
    pub(crate) work: Mutex<Work>,
}

/// Where results come from.
pub(crate) enum Source {
    Stored(Box<Rows>),
    Meta(VecDeque<MetaRow>),
}

/// A result in wire form: so many cells, so many bytes of the buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) cells: u32,
    pub(crate) bytes: usize,
    /// More cells of the row may follow.
    pub(crate) partial: bool,
}

/// What the opening call of a scan says about all its answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes of an answer, at most.
    pub(crate) bytes: usize,
    /// Rows are cut by a number of cells. If not, a piece of a row is the last result of its answer: clients that put rows together
    /// look for it there.
    pub(crate) batched: bool,
    /// Heartbeats say where the scan stands.
    pub(crate) cursor: bool,
}

/// How far to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    /// Results that are ready.
    pub(crate) pieces: usize,
    /// Bytes that are ready.
    pub(crate) bytes: usize,
    /// Rows that are ready and complete; `None` for any number.
    pub(crate) rows: Option<usize>,
    /// When to give up and say so; `None` for never.
    pub(crate) deadline: Option<Instant>,
}

/// The state of a scan, for one call at a time.
pub(crate) struct Work {
    source: Source,
    pub(crate) shape: Shape,
    pub(crate) ready: VecDeque<Piece>,
    buffer: BytesMut,
    /// The source has nothing more.
    pub(crate) ended: bool,
    /// Number that the next call must have.
    pub(crate) next_seq: u64,
    /// Rows that filters left out, since it was last asked.
    pub(crate) filtered: u64,
    /// Where the scan paused.
    pub(crate) cursor: Option<Bytes>,
    /// Why the last reading failed, if nobody was told yet.
    pub(crate) failed: Option<Exception>,
    ahead: Arc<Ahead>,
    accounted: u64,
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
        Arc::new(Scanner {
            id,
            region,
            expires_ms: AtomicU64::new(u64::MAX),
            work: Mutex::new(Work {
                source,
                shape,
                ready: VecDeque::new(),
                buffer: BytesMut::new(),
                ended: false,
                next_seq: 0,
                filtered: 0,
                cursor: None,
                failed: None,
                ahead: Arc::clone(&self.ahead),
                accounted: 0,
            }),
        })
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
        let over = |scanner: &Arc<Scanner>| {
            scanner.expires_ms.load(Relaxed) < now && scanner.work.try_lock().is_some()
        };
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

    /// True if there is memory to prepare answers.
    pub(crate) fn may_read_ahead(&self) -> bool {
        self.ahead.bytes.load(Relaxed) < self.ahead.max
    }
}

impl Work {
    /// Reads until the goal is reached or nothing is left. False if time ran out before.
    pub(crate) fn fill(&mut self, goal: &Goal) -> Result<bool, Exception> {
        if let Some(exception) = self.failed.take() {
            return Err(exception);
        }
        let mut complete = self.ready.iter().filter(|piece| !piece.partial).count();
        let mut looks = 0_u64;
        let in_time = loop {
            let enough = self.ready.len() >= goal.pieces
                || self.buffer.len() >= goal.bytes
                || goal.rows.is_some_and(|rows| complete >= rows);
            if self.ended || enough {
                break true;
            }
            looks += 1;
            if looks.is_multiple_of(ROWS_PER_LOOK)
                && goal.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            {
                break false;
            }
            match self.read_one(goal.deadline)? {
                Some(piece) => {
                    complete += usize::from(!piece.partial);
                    self.ready.push_back(piece);
                }
                None if self.ended => {}
                None => break false,
            }
        };
        self.account();
        Ok(in_time)
    }

    /// The next result; `None` at the end, or if time ran out.
    fn read_one(&mut self, deadline: Option<Instant>) -> Result<Option<Piece>, Exception> {
        let before = self.buffer.len();
        let (cells, partial) = match &mut self.source {
            Source::Meta(rows) => match rows.pop_front() {
                None => {
                    self.ended = true;
                    return Ok(None);
                }
                Some(row) => (encode(row.cells(), &mut self.buffer), false),
            },
            Source::Stored(rows) => {
                let filtered = &mut self.filtered;
                let mut pause = || {
                    *filtered += 1;
                    filtered.is_multiple_of(ROWS_PER_LOOK)
                        && deadline.is_some_and(|deadline| Instant::now() >= deadline)
                };
                match rows.step(&mut pause).map_err(failure::of_store)? {
                    Step::Row(row) => (encode(row.cells(), &mut self.buffer), row.is_partial()),
                    Step::End => {
                        self.ended = true;
                        return Ok(None);
                    }
                    Step::Paused(row) => {
                        self.cursor = Some(row);
                        return Ok(None);
                    }
                }
            }
        };
        Ok(Some(Piece { cells, bytes: self.buffer.len() - before, partial }))
    }

    /// True if a filter ended the scan, here and in all regions that would follow.
    pub(crate) fn filter_is_done(&self) -> bool {
        self.ended && matches!(&self.source, Source::Stored(rows) if rows.filter_is_done())
    }

    /// Bytes that are ready.
    pub(crate) fn ready_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Takes the bytes of results that were taken from `ready`.
    pub(crate) fn take(&mut self, bytes: usize) -> BytesMut {
        let taken = match bytes == self.buffer.len() {
            true => std::mem::take(&mut self.buffer),
            false => self.buffer.split_to(bytes),
        };
        self.account();
        taken
    }

    fn account(&mut self) {
        let bytes = self.buffer.len() as u64;
        self.ahead.bytes.fetch_add(bytes.wrapping_sub(self.accounted), Relaxed);
        self.accounted = bytes;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.ahead.bytes.fetch_sub(self.accounted, Relaxed);
    }
}

fn encode<'a>(cells: impl Iterator<Item = basalt_model::CellRef<'a>>, buffer: &mut BytesMut) -> u32 {
    let mut count = 0;
    for cell in cells {
        encode_cell(&cell, buffer);
        count += 1;
    }
    count
}
