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
//! is more though nothing may have been found. After each answer the next one is prepared.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use basalt_model::Scan;
use basalt_wire::result::{self, CellForm};
use basalt_wire::{CellReader, Exception, Request, exception, pb, read};
use bytes::BytesMut;
use prost::Message;

use crate::call::{Context, Incoming, Reply};
use crate::failure;
use crate::meta;
use crate::node::Node;
use crate::regions::{Place, Region};
use crate::scanners::{Goal, Piece, Scanner, Shape, Source, Work};

/// Bytes of one answer, at most, whatever the client asks for: about, because results are not cut for it if the client cannot
/// put them together.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Results that are prepared for clients who ask for few at a time, and their bytes.
const AHEAD_PIECES_MIN: usize = 256;
const AHEAD_BYTES_SMALL: usize = 256 << 10;

pub(super) fn call(node: &Arc<Node>, context: &Context, incoming: &Incoming) -> Result<Reply, Exception> {
    let mut request: pb::ScanRequest = incoming.decode()?;
    let (scanner, is_new) = match request.scanner_id {
        None => (open(node, &mut request)?, true),
        Some(id) => match find(node, id, &request)? {
            Some(scanner) => (scanner, false),
            None => return Reply::of(&finished(id)),
        },
    };
    let mut work = scanner.work.lock();
    if !is_new {
        check_sequence(&mut work, &request)?;
    }
    if request.renew() {
        node.scanners.touch(&scanner);
        return Reply::of(&pb::ScanResponse { scanner_id: Some(scanner.id), ..Default::default() });
    }
    let wanted = Wanted::of(&request, work.shape, incoming.timeout_ms, node.scanners.lease());
    let answer = match wanted.answer(&mut work, context.form) {
        Ok(answer) => answer,
        Err(exception) => {
            // Results may be lost with the error: what follows could not be put together with what came before.
            node.scanners.close_lost(scanner.id);
            return Err(exception);
        }
    };
    node.reads.fetch_add(answer.response.cells_per_result.len() as u64, Relaxed);
    let over = answer.over || request.close_scanner();
    match (over, is_new) {
        (true, _) => node.scanners.close_done(scanner.id, work.next_seq),
        (false, true) => node.scanners.open(&scanner)?,
        (false, false) => node.scanners.touch(&scanner),
    }
    drop(work);
    if !over {
        wanted.after(answer.rows).read_ahead(node, &scanner);
    }
    let mut response = answer.response;
    response.scanner_id = Some(scanner.id);
    response.ttl = is_new.then(|| u32::try_from(node.scanners.lease().as_millis()).unwrap_or(u32::MAX));
    response.cursor = response.cursor.filter(|_| wanted.shape.cursor);
    Ok(Reply::with_cells(&response, answer.cells))
}

/// True if the call can be answered out of what is ready.
pub(crate) fn is_prepared(node: &Node, request: &Request) -> bool {
    let Some(Ok(message)) = request.param.clone().map(pb::ScanRequest::decode) else { return false };
    let Some(scanner) = message.scanner_id.and_then(|id| node.scanners.get(id)) else { return false };
    let Some(work) = scanner.work.try_lock() else { return false };
    let rows = message.number_of_rows.unwrap_or(1) as usize;
    work.ended || message.close_scanner() || message.renew() || work.ready.len() >= rows
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
    let (source, region) = match node.place(region)? {
        Place::Meta => (Source::Meta(meta::scan(node, &scan)?), None),
        Place::Stored(region) => {
            if request.client_handles_partials() {
                scan.result_bytes_max = Some(shape.bytes as u64);
            }
            clip(&mut scan, &region);
            let rows = region.table.scan(&scan).map_err(failure::of_store)?;
            (Source::Stored(Box::new(rows)), Some(region))
        }
    };
    Ok(node.scanners.prepare(source, shape, region, node.name.start_code))
}

/// Leaves only the rows of the region.
fn clip(scan: &mut Scan, region: &Region) {
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
        && !node.serves(region)
    {
        node.scanners.close_lost(id);
        return Err(Exception::new(
            exception::NOT_SERVING_REGION,
            format!("region {} is not online any more", region.name.full().escape_ascii()),
        ));
    }
    if request.close_scanner() && request.number_of_rows.unwrap_or(0) == 0 {
        let next_seq = scanner.work.lock().next_seq;
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

fn check_sequence(work: &mut Work, request: &pb::ScanRequest) -> Result<(), Exception> {
    if let Some(found) = request.next_call_seq
        && found != work.next_seq
    {
        let expected = work.next_seq;
        return Err(Exception::new(
            exception::OUT_OF_ORDER_SCANNER,
            format!("call {found} of a scan; expected call {expected}"),
        ));
    }
    work.next_seq += 1;
    Ok(())
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
    /// Complete rows.
    rows: usize,
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

    fn answer(&self, work: &mut Work, form: CellForm) -> Result<Answer, Exception> {
        let goal =
            Goal { pieces: self.pieces, bytes: self.shape.bytes, rows: self.rows, deadline: self.deadline };
        let filtered_before = std::mem::take(&mut work.filtered);
        let in_time = self.pieces == 0 || work.fill(&goal)?;
        let filtered = filtered_before + std::mem::take(&mut work.filtered);
        let (mut pieces, bytes, rows) = self.take(work);
        let region_done = work.ended && work.ready.is_empty();
        if region_done && let Some(last) = pieces.last_mut() {
            last.partial = false;
        }
        let limit_reached = self.rows.is_some_and(|limit| rows >= limit);
        let filter_done = region_done && pieces.is_empty() && work.filter_is_done();
        let heartbeat = !in_time && !region_done;
        let mut response = pb::ScanResponse {
            more_results: Some(!limit_reached && !filter_done),
            more_results_in_region: Some(!region_done),
            heartbeat_message: heartbeat.then_some(true),
            stale: Some(false),
            ..Default::default()
        };
        if heartbeat {
            response.cursor = work.cursor.take().map(|row| pb::Cursor { row: Some(row) });
        }
        if self.metrics {
            response.scan_metrics = Some(metrics(rows as u64 + filtered, filtered));
        }
        let cells = fill_response(&mut response, &pieces, work.take(bytes), form)?;
        Ok(Answer { response, cells, rows, over: region_done || limit_reached || filter_done })
    }

    /// Takes the results that fit from those that are ready, with their bytes and complete rows.
    fn take(&self, work: &mut Work) -> (Vec<Piece>, usize, usize) {
        let (mut pieces, mut bytes, mut rows) = (Vec::new(), 0, 0);
        while pieces.len() < self.pieces
            && bytes < self.shape.bytes
            && self.rows.is_none_or(|limit| rows < limit)
        {
            let Some(piece) = work.ready.pop_front() else { break };
            bytes += piece.bytes;
            rows += usize::from(!piece.partial);
            pieces.push(piece);
            if piece.partial && !self.shape.batched {
                break;
            }
        }
        (pieces, bytes, rows)
    }

    /// What the next call will ask for, as far as one can tell.
    fn after(&self, rows: usize) -> Self {
        Self { rows: self.rows.map(|limit| limit.saturating_sub(rows)), ..*self }
    }

    /// Prepares the answer to the next call, unless there is enough already or no memory for it.
    fn read_ahead(&self, node: &Arc<Node>, scanner: &Arc<Scanner>) {
        let small = self.pieces < AHEAD_PIECES_MIN;
        let goal = Goal {
            pieces: self.pieces.max(AHEAD_PIECES_MIN),
            bytes: if small { self.shape.bytes.min(AHEAD_BYTES_SMALL) } else { self.shape.bytes },
            rows: self.rows,
            deadline: self.deadline,
        };
        let (pieces, bytes) = (self.pieces, self.shape.bytes);
        let enough = |work: &Work| work.ended || work.ready.len() >= pieces || work.ready_bytes() >= bytes;
        // Who works on the scanner at this moment is the next call: too late to prepare anything.
        let idle = scanner.region.is_some() && scanner.work.try_lock().is_some_and(|work| !enough(&work));
        if !idle || !node.scanners.may_read_ahead() {
            return;
        }
        let scanner = Arc::clone(scanner);
        tokio::task::spawn_blocking(move || {
            let Some(mut work) = scanner.work.try_lock() else { return };
            // The next call gets the error.
            work.failed = work.fill(&goal).err();
        });
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

fn metrics(scanned: u64, filtered: u64) -> pb::ScanMetrics {
    let pair = |name: &str, value: u64| pb::NameInt64Pair {
        name: Some(name.to_owned()),
        value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
    };
    pb::ScanMetrics { metrics: vec![pair("ROWS_SCANNED", scanned), pair("ROWS_FILTERED", filtered)] }
}
