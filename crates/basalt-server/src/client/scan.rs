// SPDX-License-Identifier: Apache-2.0
//! Scans: one method in five uses, told apart by what is set.
//!
//! | use | set | answer |
//! |---|---|---|
//! | open | region, scan | scanner id, first results |
//! | next | scanner id | results |
//! | renew | scanner id, renew | nothing; the lease begins anew |
//! | close | scanner id, close | nothing |
//! | all in one | region, scan, close | results |
//!
//! A scan is confined to its region; the client walks from region to region. An answer ends with as many results as the client wants, with
//! its bytes, with the rows of the whole scan, with the region, or with the time: then it is a *heartbeat*, which says that there
//! is more though nothing may have been found. Once an answer is sent, the next ones are prepared.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use basalt_model::Scan;
use basalt_wire::result::{self, CellForm};
use basalt_wire::{CellReader, Exception, exception, pb, read};
use bytes::BytesMut;

use crate::answers::{Held, Level};
use crate::call::{Incoming, Reply};
use crate::failure;
use crate::meta;
use crate::node::Node;
use crate::regions::{Place, Region};
use crate::scanners::{Filled, Front, Goal, Measures, Piece, Scanner, Shape, Source};

/// Bytes of one answer, at most, whatever the client asks for: about, because results are not cut for it if the client cannot
/// put them together.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Bytes of one answer while memory for answers is scarce, about.
const ANSWER_BYTES_MIN: usize = 64 << 10;
/// Results that are prepared for clients who ask for few at a time, and their bytes, at least.
const AHEAD_PIECES_MIN: usize = 256;
const AHEAD_BYTES_MIN: usize = 256 << 10;
/// Answers that are prepared, if they are small.
const AHEAD_ANSWERS: usize = 4;
/// How long a call may read before it leaves the thread of its connection.
const READ_AT_ONCE: Duration = Duration::from_micros(500);
/// How long answers are prepared on the thread of the connection, once one is sent: another thread would have to be woken.
const AHEAD_AT_ONCE: Duration = Duration::from_micros(200);

/// What became of a call when it was begun.
pub(crate) enum Begun {
    Answered(Reply),
    /// More has to be read for its answer.
    Reading(Box<Reading>),
}

/// A call of a scan on its way. While there is one, the scan takes no other.
pub(crate) struct Reading {
    scanner: Arc<Scanner>,
    is_new: bool,
    closes: bool,
    wanted: Wanted,
    /// What the answer takes while it grows.
    held: Held,
    began: Instant,
    /// How long it waited for a thread.
    waited: Duration,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.scanner.end_call();
    }
}

/// The answers to prepare for a scan, after one was sent.
pub(crate) struct ReadAhead {
    scanner: Arc<Scanner>,
    goal: Goal,
}

impl ReadAhead {
    /// Prepares some of them, for a short time; gives back what is left to do.
    pub(crate) fn begin(self) -> Option<Self> {
        let done = self.scanner.read_ahead(&self.goal, Some(Instant::now() + AHEAD_AT_ONCE));
        (!done).then_some(self)
    }

    /// Prepares them. Takes a while.
    pub(crate) fn read(self) {
        self.scanner.read_ahead(&self.goal, None);
    }
}

/// Begins a call, and answers it if the answer is prepared or read soon.
pub(crate) fn begin(node: &Arc<Node>, form: CellForm, incoming: &Incoming) -> Result<Begun, Exception> {
    let began = Instant::now();
    let mut request: pb::ScanRequest = incoming.decode()?;
    let (scanner, is_new) = match request.scanner_id {
        None => (open(node, &mut request)?, true),
        Some(id) => match find(node, id, &request)? {
            Some(scanner) => (scanner, false),
            None => return Reply::of(&finished(id)).map(Begun::Answered),
        },
    };
    if request.renew() {
        scanner.front().count_call(request.next_call_seq)?;
        node.scanners.touch(&scanner);
        let renewed = pb::ScanResponse { scanner_id: Some(scanner.id), ..Default::default() };
        return Reply::of(&renewed).map(Begun::Answered);
    }
    match is_new {
        true => scanner.begin_first_call(),
        false => scanner.begin_call(request.next_call_seq)?,
    }
    let shape = scanner.front().shape;
    let wanted = Wanted::of(&request, shape, incoming.timeout_ms, node.scanners.lease());
    let reading = Reading {
        scanner,
        is_new,
        closes: request.close_scanner(),
        wanted,
        held: node.answers.hold(),
        began,
        waited: Duration::ZERO,
    };
    match reading.fill(node, Some(Instant::now() + READ_AT_ONCE))? {
        Filled::Unfinished => Ok(Begun::Reading(Box::new(reading))),
        filled => reading.answer(node, form, filled).map(Begun::Answered),
    }
}

impl Reading {
    /// The rest of a call. May block.
    pub(crate) fn finish(mut self, node: &Arc<Node>, form: CellForm) -> Result<Reply, Exception> {
        // What was read before it left the thread of its connection is a small part of it.
        self.waited = self.began.elapsed().saturating_sub(READ_AT_ONCE);
        let filled = self.fill(node, None)?;
        self.answer(node, form, filled)
    }

    fn fill(&self, node: &Node, until: Option<Instant>) -> Result<Filled, Exception> {
        // Results may be lost with an error: what follows could not be put together with what came before.
        let lost = |_: &Exception| node.scanners.close_lost(self.scanner.id);
        self.scanner.fill(&self.wanted.goal(), until, |bytes| self.is_full(bytes)).inspect_err(lost)
    }

    /// What a client is told of its scan if it wants to know; times in milliseconds. Of the names that HBase has two are missing, the time that the file
    /// system took and the bytes that came out of memtables: nobody measures them.
    fn metrics(&self, rows: u64, read: &Measures) -> pb::ScanMetrics {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let pair = |(name, value): (&str, u64)| pb::NameInt64Pair {
            name: Some(name.to_owned()),
            value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
        };
        let metrics = [
            ("ROWS_SCANNED", rows + read.filtered - read.ended),
            ("ROWS_FILTERED", read.filtered),
            ("BLOCK_BYTES_SCANNED", read.bytes_read + read.bytes_cached),
            ("BYTES_READ_FROM_FS", read.bytes_read),
            ("BYTES_READ_FROM_BLOCK_CACHE", read.bytes_cached),
            ("BLOCK_READ_OPS_COUNT", read.blocks_read),
            ("RPC_SCAN_PROCESSING_TIME", millis(self.began.elapsed().saturating_sub(self.waited))),
            ("RPC_SCAN_QUEUE_WAIT_TIME", millis(self.waited)),
        ];
        pb::ScanMetrics { metrics: metrics.map(pair).to_vec() }
    }

    /// True if an answer that has grown to so many bytes is to be sent as it is, because memory for answers is scarce: whole, since what stayed behind would
    /// be in memory as well. One after which there is no other is not ended so.
    fn is_full(&self, bytes: usize) -> bool {
        self.held.grow(bytes) != Level::Free && bytes >= ANSWER_BYTES_MIN && !self.closes
    }

    fn answer(&self, node: &Arc<Node>, form: CellForm, filled: Filled) -> Result<Reply, Exception> {
        let mut front = self.scanner.front();
        let answer = self.wanted.answer(&mut front, form, filled == Filled::Enough)?;
        let over = answer.over || self.closes;
        let read = front.take_read(&self.scanner.counters);
        let next = self.wanted.after(&answer);
        let ahead = (!over && self.scanner.region.is_some() && front.wants_reading(&next))
            .then(|| ReadAhead { scanner: Arc::clone(&self.scanner), goal: next });
        let next_seq = front.next_seq();
        drop(front);
        match (over, self.is_new) {
            (true, _) => node.scanners.close_done(self.scanner.id, next_seq),
            (false, true) => node.scanners.open(&self.scanner)?,
            (false, false) => node.scanners.touch(&self.scanner),
        }
        node.reads.fetch_add(answer.results as u64, Relaxed);
        let mut response = answer.response;
        response.scanner_id = Some(self.scanner.id);
        response.ttl =
            self.is_new.then(|| u32::try_from(node.scanners.lease().as_millis()).unwrap_or(u32::MAX));
        response.mvcc_read_point =
            self.scanner.snapshot.as_ref().filter(|_| self.is_new).map(|snapshot| snapshot.seq().0);
        if self.wanted.metrics {
            response.scan_metrics = Some(self.metrics(answer.rows as u64, &read));
        }
        response.cursor = response.cursor.filter(|_| self.wanted.shape.cursor);
        Ok(Reply::with_cells(&response, answer.cells).then(ahead))
    }
}

/// A scan that begins.
fn open(node: &Arc<Node>, request: &mut pb::ScanRequest) -> Result<Arc<Scanner>, Exception> {
    let region = request.region.as_ref().ok_or_else(|| Exception::refused("a scan names no region"))?;
    let message = request.scan.clone().unwrap_or_default();
    let mut scan = read::scan(message)?;
    let shape = Shape {
        bytes: answer_bytes(request),
        batched: scan.batch.is_some(),
        cursor: request.scan.as_ref().is_some_and(|scan| scan.need_cursor_result()),
    };
    let (source, place) = match node.place(region)? {
        Place::Meta => (Source::Meta(meta::scan(node, &scan)?), None),
        Place::Stored(region) => {
            if request.client_handles_partials() {
                scan.result_bytes_max = Some(shape.bytes as u64);
            }
            clip(&mut scan, &region);
            let table = region.table.id();
            let snapshot = match read_point(request) {
                Some(point) => node.scanners.snapshot_at(table, point),
                None => None,
            };
            let snapshot = match snapshot {
                Some(snapshot) => snapshot,
                None => node.db.snapshot().of_table(table).map_err(failure::of_store)?,
            };
            let rows = snapshot.query(table, &scan).map_err(failure::of_store)?;
            (Source::Stored(Box::new(rows)), Some((region, snapshot)))
        }
    };
    Ok(node.scanners.prepare(source, shape, place, node.name.start_code))
}

/// The state that a client goes on with whose scanner was closed in the middle of a row: the number that the first answer of that scanner gave.
fn read_point(request: &pb::ScanRequest) -> Option<u64> {
    request.scan.as_ref().and_then(|scan| scan.mvcc_read_point).filter(|&point| point > 0)
}

/// Leaves only the rows of the region.
pub(super) fn clip(scan: &mut Scan, region: &Region) {
    let range = scan.key_range().intersect(&region.range);
    // A range without rows stays one: a limit of none is the way to say so.
    if range.is_empty() {
        scan.limit = Some(0);
        (scan.start, scan.stop) = (Default::default(), Default::default());
        return;
    }
    let (low, high) = (range.start, range.end.unwrap_or_default());
    (scan.start, scan.start_inclusive, scan.stop, scan.stop_inclusive) = match scan.reversed {
        true => (high, false, low, true),
        false => (low, true, high, false),
    };
}

/// The scanner of a later call; `None` if it is done already.
fn find(node: &Node, id: u64, request: &pb::ScanRequest) -> Result<Option<Arc<Scanner>>, Exception> {
    let Some(scanner) = node.scanners.get(id) else {
        // A call that is sent again because its answer was lost has an older number: it must not find the scan at its end.
        let expected = node.scanners.done(id);
        if request.close_scanner() || expected.is_some() && request.next_call_seq == expected {
            return Ok(None);
        }
        return Err(Exception::new(
            exception::UNKNOWN_SCANNER,
            format!(
                "scanner {id} is not open: it was closed, its lease is over, or the server was started again"
            ),
        ));
    };
    if let Some(region) = &scanner.region
        && !node.may_read_on(region)
    {
        node.scanners.close_gone(id);
        return Err(Exception::new(
            exception::NOT_SERVING_REGION,
            format!("region {} is not online any more", region.name.full().escape_ascii()),
        ));
    }
    if request.close_scanner() && request.number_of_rows.unwrap_or(0) == 0 {
        let next_seq = scanner.front().next_seq();
        node.scanners.close_done(id, next_seq);
        return Ok(None);
    }
    Ok(Some(scanner))
}

/// The answer for a scanner that is closed.
fn finished(id: u64) -> pb::ScanResponse {
    pb::ScanResponse {
        scanner_id: Some(id),
        more_results: Some(true),
        more_results_in_region: Some(false),
        ..Default::default()
    }
}

/// What the client allows an answer to have, in bytes.
fn answer_bytes(request: &pb::ScanRequest) -> usize {
    let asked = request.scan.as_ref().and_then(|scan| scan.max_result_size);
    let asked = asked.and_then(|bytes| usize::try_from(bytes as i64).ok()).filter(|&bytes| bytes > 0);
    asked.unwrap_or(ANSWER_BYTES_MAX).min(ANSWER_BYTES_MAX)
}

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    pieces: usize,
    shape: Shape,
    /// Rows that the whole scan still wants; `None` for all.
    rows: Option<usize>,
    /// When to send a heartbeat; `None` if the client does not know them.
    deadline: Option<Instant>,
    metrics: bool,
}

/// An answer before it is sent.
struct Answer {
    response: pb::ScanResponse,
    cells: BytesMut,
    results: usize,
    /// Complete rows.
    rows: usize,
    bytes: usize,
    /// The scanner is not needed any more.
    over: bool,
}

impl Wanted {
    fn of(request: &pb::ScanRequest, shape: Shape, timeout_ms: u32, lease: Duration) -> Self {
        let default_pieces = u32::from(!request.close_scanner());
        let waits = match timeout_ms {
            0 => lease,
            millis => lease.min(Duration::from_millis(millis.into())),
        };
        let rows = request.limit_of_rows();
        Self {
            pieces: request.number_of_rows.unwrap_or(default_pieces) as usize,
            shape,
            rows: (rows > 0).then_some(rows as usize),
            deadline: request.client_handles_heartbeats().then(|| Instant::now() + waits / 2),
            metrics: request.track_scan_metrics(),
        }
    }

    fn goal(&self) -> Goal {
        Goal { pieces: self.pieces, bytes: self.shape.bytes, rows: self.rows, deadline: self.deadline }
    }

    fn answer(&self, front: &mut Front, form: CellForm, in_time: bool) -> Result<Answer, Exception> {
        let (mut pieces, bytes, rows) = self.take(front);
        let region_done = front.is_done();
        if region_done && let Some(last) = pieces.last_mut() {
            last.partial = false;
        }
        let limit_reached = self.rows.is_some_and(|limit| rows >= limit);
        let filter_done = region_done && pieces.is_empty() && front.filter_is_done();
        let heartbeat = !in_time && !region_done;
        let mut response = pb::ScanResponse {
            more_results: Some(!limit_reached && !filter_done),
            more_results_in_region: Some(!region_done),
            heartbeat_message: heartbeat.then_some(true),
            stale: Some(false),
            ..Default::default()
        };
        if heartbeat {
            response.cursor = front.take_cursor().map(|row| pb::Cursor { row: Some(row) });
        }
        let cells = fill_response(&mut response, &pieces, front.take(bytes), form)?;
        let over = region_done || limit_reached || filter_done;
        Ok(Answer { response, cells, results: pieces.len(), rows, bytes, over })
    }

    /// Takes the results that fit from those that are ready, with their bytes and complete rows.
    fn take(&self, front: &mut Front) -> (Vec<Piece>, usize, usize) {
        let (mut pieces, mut bytes, mut rows) = (Vec::new(), 0, 0);
        while pieces.len() < self.pieces
            && bytes < self.shape.bytes
            && self.rows.is_none_or(|limit| rows < limit)
        {
            let Some(piece) = front.peek() else { break };
            if piece.completes && self.rows.is_some_and(|limit| rows + 1 >= limit) {
                // The last row wanted is complete: this piece is of another one.
                rows += 1;
                break;
            }
            front.pop();
            bytes += piece.bytes;
            rows += piece.rows();
            pieces.push(piece);
            if piece.partial && !self.shape.batched {
                break;
            }
        }
        (pieces, bytes, rows)
    }

    /// What the next calls will ask for, as far as one can tell: several small answers, or a large one.
    fn after(&self, answer: &Answer) -> Goal {
        let pieces = self.pieces.saturating_mul(AHEAD_ANSWERS).max(AHEAD_PIECES_MIN);
        let bytes = answer.bytes.saturating_mul(AHEAD_ANSWERS).max(AHEAD_BYTES_MIN).min(self.shape.bytes);
        let rows = self.rows.map(|limit| limit.saturating_sub(answer.rows));
        Goal { pieces, bytes, rows, deadline: self.deadline }
    }
}

/// The results in the form of the connection; gives the cell block.
fn fill_response(
    response: &mut pb::ScanResponse,
    pieces: &[Piece],
    cells: BytesMut,
    form: CellForm,
) -> Result<BytesMut, Exception> {
    match form {
        CellForm::Block => {
            response.cells_per_result = pieces.iter().map(|piece| piece.cells).collect();
            response.partial_flag_per_result = pieces.iter().map(|piece| piece.partial).collect();
            Ok(cells)
        }
        CellForm::Inline => {
            let mut block = CellReader::new(cells.freeze());
            for piece in pieces {
                let mut result = result::of_block(&mut block, piece.cells as usize)?;
                result.partial = Some(piece.partial);
                response.results.push(result);
            }
            Ok(BytesMut::new())
        }
    }
}
