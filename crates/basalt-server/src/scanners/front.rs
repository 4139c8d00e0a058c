// SPDX-License-Identifier: Apache-2.0
//! One open scan: its source, and the results that are ready.
//!
//! ```text
//! source -> chunk -> ready | ready | ready -> answers
//!        one reader        short locks only   one call at a time
//! ```
//!
//! Whoever reads the source says so (`reading`), reads a chunk without holding up anybody, and adds it. A call takes from what is ready; if
//! that is too little it reads itself, or waits for who does. So a call that finds enough never waits, also while the answers
//! after it are being prepared.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use basalt_store::read::ReadCounters;
use basalt_store::{CellRun, Rows, Snapshot, Step};
use basalt_wire::cell_block::{encode_cell, encode_flat_cell};
use basalt_wire::{Exception, exception};
use bytes::{Bytes, BytesMut};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::Ahead;
use super::measures::Measures;
use crate::failure;
use crate::meta::MetaRow;
use crate::regions::Region;

/// Rows between two looks at the clock.
const ROWS_PER_LOOK: u64 = 64;
/// Results that are read before they are made ready, at most, and their bytes.
const CHUNK_PIECES: usize = 128;
const CHUNK_BYTES: usize = 128 << 10;

/// One open scan.
pub(crate) struct Scanner {
    pub(crate) id: u64,
    /// `None` for `hbase:meta`.
    pub(crate) region: Option<Arc<Region>>,
    /// The state of its table that it reads; `None` for `hbase:meta`.
    pub(crate) snapshot: Option<Snapshot>,
    /// What it has read.
    pub(crate) counters: Arc<ReadCounters>,
    /// Milliseconds after the server's start at which the lease is over.
    pub(super) expires_ms: AtomicU64,
    front: Mutex<Front>,
    /// Of who says `reading` in `front`.
    source: Mutex<Reader>,
    /// Somebody stopped reading.
    paused: Condvar,
}

/// The source, and where it stands.
struct Reader {
    source: Source,
    /// Row of the last result if more of it could follow.
    cut_row: Vec<u8>,
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
    /// It shows that the row of the piece before, of which more could have followed, is complete.
    pub(crate) completes: bool,
}

impl Piece {
    /// Rows that are complete with it.
    pub(crate) fn rows(&self) -> usize {
        usize::from(self.completes) + usize::from(!self.partial)
    }
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

/// How reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// The goal is reached, or nothing is left.
    Enough,
    /// The deadline of the goal has passed.
    Late,
    /// Who asked does not want to wait so long.
    Unfinished,
}

/// What is ready, and where the scan stands.
pub(crate) struct Front {
    pub(crate) shape: Shape,
    pieces: VecDeque<Piece>,
    buffer: BytesMut,
    /// Rows that are complete with what is ready.
    complete: usize,
    /// The source has nothing more.
    ended: bool,
    /// A filter ended the scan, here and in all regions that would follow.
    filter_done: bool,
    /// Number that the next call must have.
    next_seq: u64,
    /// What the source had read when it was last asked.
    told: Measures,
    /// Where the scan paused.
    cursor: Option<Bytes>,
    /// Why the last reading failed, if nobody was told yet.
    failed: Option<Exception>,
    /// Somebody reads the source.
    reading: bool,
    /// A call is being made.
    called: bool,
    ahead: Arc<Ahead>,
    accounted: u64,
}

/// What was read at once.
#[derive(Default)]
struct Chunk {
    pieces: Vec<Piece>,
    bytes: BytesMut,
    complete: usize,
    cursor: Option<Bytes>,
    ended: bool,
    failed: Option<Exception>,
}

/// What a goal lacks.
struct Missing {
    pieces: usize,
    bytes: usize,
    rows: usize,
}

impl Scanner {
    pub(super) fn new(id: u64, place: Option<(Arc<Region>, Snapshot)>, source: Source, front: Front) -> Self {
        let (region, snapshot) = place.unzip();
        let counters = match &source {
            Source::Stored(rows) => Arc::clone(rows.counters()),
            Source::Meta(_) => Arc::default(),
        };
        Self {
            id,
            region,
            snapshot,
            counters,
            expires_ms: AtomicU64::new(u64::MAX),
            front: Mutex::new(front),
            source: Mutex::new(Reader { source, cut_row: Vec::new() }),
            paused: Condvar::new(),
        }
    }

    /// For a moment: what needs time is done without it.
    pub(crate) fn front(&self) -> MutexGuard<'_, Front> {
        self.front.lock()
    }

    /// True while a call is being made.
    pub(super) fn is_called(&self) -> bool {
        self.front.lock().called
    }

    /// Begins a call: one at a time, under the number that is next. [`Scanner::end_call`] must follow.
    pub(crate) fn begin_call(&self, seq: Option<u64>) -> Result<(), Exception> {
        let mut front = self.front.lock();
        if front.called {
            let message = "a call of a scan whose last call is not answered yet";
            return Err(Exception::new(exception::OUT_OF_ORDER_SCANNER, message));
        }
        front.count_call(seq)?;
        front.called = true;
        Ok(())
    }

    /// Begins the first call of a scan, which has no number.
    pub(crate) fn begin_first_call(&self) {
        self.front.lock().called = true;
    }

    pub(crate) fn end_call(&self) {
        self.front.lock().called = false;
    }

    /// Reads until the goal is reached or nothing is left, or until its deadline; with `until`, not longer than that, and without waiting for others.
    /// `is_full` is told how many bytes are ready, and may say that they are enough.
    pub(crate) fn fill(
        &self,
        goal: &Goal,
        until: Option<Instant>,
        is_full: impl Fn(usize) -> bool,
    ) -> Result<Filled, Exception> {
        let stop = [until, goal.deadline].into_iter().flatten().min();
        let (mut late, mut unfinished) = (false, false);
        loop {
            let mut front = self.front.lock();
            if front.reaches(goal) || is_full(front.buffer.len()) && !front.pieces.is_empty() {
                return Ok(Filled::Enough);
            }
            if let Some(exception) = front.failed.take() {
                return Err(exception);
            }
            if late {
                return Ok(Filled::Late);
            }
            if unfinished || front.reading && until.is_some() {
                return Ok(Filled::Unfinished);
            }
            if front.reading {
                match goal.deadline {
                    None => self.paused.wait(&mut front),
                    Some(deadline) => late = self.paused.wait_until(&mut front, deadline).timed_out(),
                }
                continue;
            }
            self.read(front, goal, stop);
            (late, unfinished) = (has_passed(goal.deadline), has_passed(until));
        }
    }

    /// Reads until the goal is reached, as long as nobody else does, there is memory for it, and the scan is open; with `until`, not longer than
    /// that. False if that is why it ended.
    pub(crate) fn read_ahead(self: &Arc<Self>, goal: &Goal, until: Option<Instant>) -> bool {
        let stop = [until, goal.deadline].into_iter().flatten().min();
        loop {
            let front = self.front.lock();
            let idle = !front.reading && front.failed.is_none() && front.ahead.has_room();
            if !idle || front.reaches(goal) || has_passed(goal.deadline) || Arc::strong_count(self) == 1 {
                return true;
            }
            if has_passed(until) {
                return false;
            }
            self.read(front, goal, stop);
        }
    }

    /// Reads a chunk and makes it ready.
    fn read(&self, mut front: MutexGuard<'_, Front>, goal: &Goal, stop: Option<Instant>) {
        let missing = front.missing(goal);
        front.reading = true;
        drop(front);
        let _reading = Reading(self);
        let mut source = self.source.lock();
        let chunk = source.read(&missing, stop);
        let filter_done = chunk.ended && source.source.filter_is_done();
        drop(source);
        let mut front = self.front.lock();
        front.filter_done |= filter_done;
        front.add(chunk);
    }
}

/// Says that nobody reads any more, also if reading panics.
struct Reading<'a>(&'a Scanner);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.front.lock().reading = false;
        self.0.paused.notify_all();
    }
}

fn has_passed(time: Option<Instant>) -> bool {
    time.is_some_and(|time| Instant::now() >= time)
}

impl Reader {
    fn read(&mut self, missing: &Missing, stop: Option<Instant>) -> Chunk {
        let mut chunk = Chunk::default();
        let mut looks = 0_u64;
        while !chunk.is_enough(missing) {
            looks += 1;
            if looks.is_multiple_of(ROWS_PER_LOOK) && has_passed(stop) {
                break;
            }
            let read = match self.read_rows(&mut chunk, missing) {
                Ok(false) => self.read_one(&mut chunk, stop),
                read => read,
            };
            match read {
                Ok(true) => {}
                Ok(false) => break,
                Err(exception) => {
                    chunk.failed = Some(exception);
                    break;
                }
            }
        }
        chunk
    }

    /// Reads rows that pass as they lie; false if there are none next.
    fn read_rows(&mut self, chunk: &mut Chunk, missing: &Missing) -> Result<bool, Exception> {
        let Source::Stored(rows) = &mut self.source else { return Ok(false) };
        if !self.cut_row.is_empty() {
            return Ok(false);
        }
        let pieces = missing.pieces.min(CHUNK_PIECES) - chunk.pieces.len();
        let run = rows.next_rows(pieces.min(missing.rows - chunk.complete)).map_err(failure::of_store)?;
        run.iter().for_each(|run| chunk.push_rows(run));
        Ok(run.is_some())
    }

    /// Reads the next result; false at the end, or if time ran out.
    fn read_one(&mut self, chunk: &mut Chunk, stop: Option<Instant>) -> Result<bool, Exception> {
        match &mut self.source {
            Source::Meta(rows) => match rows.pop_front() {
                Some(row) => chunk.push(row.cells(), false, false),
                None => chunk.ended = true,
            },
            Source::Stored(rows) => {
                let mut without_result = 0_u64;
                let mut pause = || {
                    without_result += 1;
                    without_result.is_multiple_of(ROWS_PER_LOOK) && has_passed(stop)
                };
                match rows.step(&mut pause).map_err(failure::of_store)? {
                    Step::Row(row) => {
                        // No row is empty.
                        let completes = !self.cut_row.is_empty() && self.cut_row != row.key();
                        self.cut_row.clear();
                        if row.is_partial() {
                            self.cut_row.extend_from_slice(row.key());
                        }
                        chunk.push(row.cells(), row.is_partial(), completes);
                    }
                    Step::End => chunk.ended = true,
                    Step::Paused(row) => {
                        chunk.cursor = Some(row);
                        return Ok(false);
                    }
                }
            }
        }
        Ok(!chunk.ended)
    }
}

impl Source {
    fn filter_is_done(&self) -> bool {
        matches!(self, Self::Stored(rows) if rows.filter_is_done())
    }
}

impl Chunk {
    fn is_enough(&self, missing: &Missing) -> bool {
        self.pieces.len() >= missing.pieces.min(CHUNK_PIECES)
            || self.bytes.len() >= missing.bytes.min(CHUNK_BYTES)
            || self.complete >= missing.rows
    }

    /// Whole rows of a block.
    fn push_rows(&mut self, run: &CellRun) {
        let CellRun { block, cells } = run;
        let first = block.row_starts.partition_point(|&start| (start as usize) < cells.start);
        let mut start = cells.start;
        let ends = block.row_starts[first..].iter().skip(1).map(|&end| end as usize);
        for end in ends.chain([block.len()]) {
            let before = self.bytes.len();
            for slot in &block.slots[start..end] {
                let (key, value) = (block.key_front_of(slot), block.value_of(slot));
                encode_flat_cell(key, slot.timestamp, slot.cell_type, value, &mut self.bytes);
            }
            let (cells, bytes) = ((end - start) as u32, self.bytes.len() - before);
            self.complete += 1;
            self.pieces.push(Piece { cells, bytes, partial: false, completes: false });
            start = end;
            if start >= run.cells.end {
                break;
            }
        }
    }

    fn push<'a>(
        &mut self,
        row: impl Iterator<Item = basalt_model::CellRef<'a>>,
        partial: bool,
        completes: bool,
    ) {
        let before = self.bytes.len();
        let mut cells = 0;
        for cell in row {
            encode_cell(&cell, &mut self.bytes);
            cells += 1;
        }
        let piece = Piece { cells, bytes: self.bytes.len() - before, partial, completes };
        self.complete += piece.rows();
        self.pieces.push(piece);
    }
}

impl Front {
    pub(super) fn new(shape: Shape, ahead: Arc<Ahead>) -> Self {
        Self {
            shape,
            pieces: VecDeque::new(),
            buffer: BytesMut::new(),
            complete: 0,
            ended: false,
            filter_done: false,
            next_seq: 0,
            told: Measures::default(),
            cursor: None,
            failed: None,
            reading: false,
            called: false,
            ahead,
            accounted: 0,
        }
    }

    /// Counts a call; an exception if it is not the next one.
    pub(crate) fn count_call(&mut self, seq: Option<u64>) -> Result<(), Exception> {
        let expected = self.next_seq;
        if let Some(found) = seq.filter(|&found| found != expected) {
            return Err(Exception::new(
                exception::OUT_OF_ORDER_SCANNER,
                format!("call {found} of a scan; expected call {expected}"),
            ));
        }
        self.next_seq += 1;
        Ok(())
    }

    /// Number that the next call must have.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// True if everything was read and taken.
    pub(crate) fn is_done(&self) -> bool {
        self.ended && self.pieces.is_empty()
    }

    /// True if a filter ended the scan, here and in all regions that would follow.
    pub(crate) fn filter_is_done(&self) -> bool {
        self.filter_done
    }

    /// What the source has read since this was last asked, ahead of the answers as well.
    pub(crate) fn take_read(&mut self, counters: &ReadCounters) -> Measures {
        let now = Measures::of(counters);
        now.since(&std::mem::replace(&mut self.told, now))
    }

    /// Where the scan paused last.
    pub(crate) fn take_cursor(&mut self) -> Option<Bytes> {
        self.cursor.take()
    }

    /// True if less than half of the goal is ready, and there is memory and somebody needed for more.
    pub(crate) fn wants_reading(&self, goal: &Goal) -> bool {
        let low = Goal {
            pieces: goal.pieces.div_ceil(2),
            bytes: goal.bytes.div_ceil(2),
            rows: goal.rows,
            deadline: None,
        };
        !self.reading && self.failed.is_none() && self.ahead.has_room() && !self.reaches(&low)
    }

    /// The next result that is ready.
    pub(crate) fn peek(&self) -> Option<Piece> {
        self.pieces.front().copied()
    }

    /// Takes it; its bytes are taken with [`Front::take`].
    pub(crate) fn pop(&mut self) {
        if let Some(piece) = self.pieces.pop_front() {
            self.complete -= piece.rows();
        }
    }

    /// The bytes of results that were popped.
    pub(crate) fn take(&mut self, bytes: usize) -> BytesMut {
        let taken = match bytes == self.buffer.len() {
            true => std::mem::take(&mut self.buffer),
            false => self.buffer.split_to(bytes),
        };
        self.account();
        taken
    }

    fn reaches(&self, goal: &Goal) -> bool {
        self.ended
            || self.pieces.len() >= goal.pieces
            || self.buffer.len() >= goal.bytes
            || goal.rows.is_some_and(|rows| self.complete >= rows)
    }

    fn missing(&self, goal: &Goal) -> Missing {
        Missing {
            pieces: goal.pieces - self.pieces.len(),
            bytes: goal.bytes - self.buffer.len(),
            rows: goal.rows.map_or(usize::MAX, |rows| rows - self.complete),
        }
    }

    fn add(&mut self, chunk: Chunk) {
        match self.buffer.is_empty() {
            true => self.buffer = chunk.bytes,
            false => self.buffer.extend_from_slice(&chunk.bytes),
        }
        self.pieces.extend(chunk.pieces);
        self.complete += chunk.complete;
        self.ended |= chunk.ended;
        self.cursor = chunk.cursor.or(self.cursor.take());
        self.failed = chunk.failed;
        self.account();
    }

    fn account(&mut self) {
        let bytes = self.buffer.len() as u64;
        self.ahead.bytes.fetch_add(bytes.wrapping_sub(self.accounted), Relaxed);
        self.accounted = bytes;
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.ahead.bytes.fetch_sub(self.accounted, Relaxed);
    }
}
