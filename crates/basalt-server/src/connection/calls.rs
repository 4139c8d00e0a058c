// SPDX-License-Identifier: Apache-2.0
//! The calls of a connection: which are made here, which on a thread of their own, and how many at once.
//!
//! A client can make the server hold [`CALLS_MAX`] calls that are being made, [`QUEUED_BYTES_MAX`] bytes of answers that it does not
//! take before no more calls are read, and a share of [`REQUEST_BYTES`] for what it sends. A request takes its share
//! while it arrives, not when it is announced. Beyond that no call is begun while answers, over all connections, take too much memory
//! ([`Level`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_wire::frame::REQUEST_LEN_MAX;
use basalt_wire::{Exception, Request, exception};
use bytes::{Buf, BytesMut};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::pace::Pace;
use super::{End, Input, Output, READ_BYTES_MAX, STALL, Socket};
use crate::answers::{Held, Level};
use crate::call::{self, Answer, Begun, Context};
use crate::client::scan::ReadAhead;
use crate::node::Node;

/// Calls of one connection that are made on threads.
const CALLS_MAX: usize = 64;
/// Bytes of answers that wait to be sent, at most, before calls are no longer read.
const QUEUED_BYTES_MAX: usize = 16 << 20;
/// Memory for requests that are being read or worked on, in bytes, over all connections.
pub(crate) const REQUEST_BYTES: usize = 1 << 30;
/// Unit in which requests take their share of it.
pub(crate) const SHARE: usize = 64 << 10;
/// Answers are sent, and others get their turn, after so many bytes of them or so much time.
const TURN_BYTES: usize = 64 << 10;
const TURN: Duration = Duration::from_micros(500);
/// A call that took so long waited for something: the next ones are made on threads, where they wait together.
const SLOW: Duration = Duration::from_millis(5);
const CALLS_APART: u32 = 32;

/// See the module.
pub(super) struct Calls {
    node: Arc<Node>,
    context: Arc<Context>,
    arriving: Option<Arriving>,
    /// Shares that the request that arrives needs before more of it is read; 0 as a rule.
    lacking: usize,
    /// Calls on threads.
    in_flight: usize,
    /// Calls that are to be made on threads although they look short.
    apart: u32,
    /// What to do once the answers are sent.
    ahead: Vec<ReadAhead>,
    pace: Pace,
    /// When others could have their turn last.
    yielded: Instant,
    sender: mpsc::UnboundedSender<Made>,
    answers: mpsc::UnboundedReceiver<Made>,
    /// How much memory for answers is left.
    levels: watch::Receiver<Level>,
}

/// An answer that a thread made, and what it takes of the memory for answers.
struct Made {
    answer: Answer,
    _held: Held,
}

/// A request of which the length was read.
struct Arriving {
    len: usize,
    share: Option<OwnedSemaphorePermit>,
}

impl Arriving {
    /// Shares for `len` bytes that it does not have.
    fn lacks(&self, len: usize) -> usize {
        let held = self.share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        len.div_ceil(SHARE).max(1).saturating_sub(held)
    }

    fn add(&mut self, share: OwnedSemaphorePermit) {
        match &mut self.share {
            None => self.share = Some(share),
            Some(held) => held.merge(share),
        }
    }
}

impl Calls {
    pub(super) fn new(node: Arc<Node>, context: Context) -> Self {
        let (sender, answers) = mpsc::unbounded_channel();
        Self {
            pace: Pace::new(Arc::clone(&node.awake)),
            levels: node.answers.watch(),
            yielded: Instant::now(),
            node,
            context: Arc::new(context),
            arriving: None,
            lacking: 0,
            in_flight: 0,
            apart: 0,
            ahead: Vec::new(),
            sender,
            answers,
        }
    }

    /// Reads, makes and answers calls until the connection ends.
    pub(super) async fn run(&mut self, socket: &mut Socket, input: &mut Input, output: &mut Output) -> End {
        loop {
            if let Err(end) = self.turn(socket, input, output).await {
                return end;
            }
        }
    }

    /// Sends the answers of the calls that are being made.
    pub(super) async fn finish(&mut self, socket: &mut Socket, output: &mut Output) {
        loop {
            self.collect(output);
            let sent = socket.watch().and_then(|()| output.send_now(socket));
            if sent.is_err() || self.in_flight == 0 && output.len() == 0 {
                return;
            }
            output.count();
            tokio::select! {
                Some(made) = self.answers.recv() => self.done(&made, output),
                _ = socket.writable(), if output.len() > 0 => {}
                () = tokio::time::sleep(STALL), if output.len() > 0 => return,
            }
        }
    }

    async fn turn(&mut self, socket: &mut Socket, input: &mut Input, output: &mut Output) -> Result<(), End> {
        self.collect(output);
        let unmade = self.make_calls(input, output)?;
        output.send_now(socket)?;
        output.count();
        // Calls that were held back by answers that are sent now have arrived long ago: nothing else would wake them.
        let more = unmade && self.may_begin(output);
        self.read_ahead(more);
        if more || self.yielded.elapsed() >= TURN {
            tokio::task::yield_now().await;
            self.yielded = Instant::now();
        }
        if more || !unmade && self.look(socket, input, output)? {
            return Ok(());
        }
        socket.watch()?;
        self.wait(socket, input, output, unmade).await
    }

    /// Prepares the next answers of scans: what takes long, or if there is `more` to do, on threads.
    fn read_ahead(&mut self, more: bool) {
        for ahead in self.ahead.drain(..) {
            let rest = if more { Some(ahead) } else { ahead.begin() };
            if let Some(rest) = rest {
                tokio::task::spawn_blocking(move || rest.read());
            }
        }
    }

    /// Stays awake for the next call, if it is to be expected soon and nothing else is; false if none came.
    fn look(&mut self, socket: &mut Socket, input: &mut Input, output: &Output) -> Result<bool, End> {
        if self.in_flight > 0 || self.lacking > 0 || output.len() > 0 || !self.may_begin(output) {
            return Ok(false);
        }
        let Some(permit) = self.pace.stays_awake() else { return Ok(false) };
        let looked = input.look(socket, permit.limit())?;
        drop(permit);
        if looked.crowded {
            self.pace.rest();
        } else if looked.read.is_none() {
            self.pace.missed();
        }
        Ok(looked.read.is_some())
    }

    /// Makes calls that have arrived, for a while. True if there may be more of them.
    fn make_calls(&mut self, input: &mut Input, output: &mut Output) -> Result<bool, End> {
        let began = Instant::now();
        while self.may_begin(output) {
            let Some((request, share)) = self.take_request(input)? else { return Ok(false) };
            self.make(request, share, output);
            if output.len() >= TURN_BYTES || began.elapsed() >= TURN {
                break;
            }
        }
        Ok(true)
    }

    fn may_begin(&self, output: &Output) -> bool {
        match self.node.answers.level() {
            Level::Free => self.in_flight < CALLS_MAX && output.len() <= QUEUED_BYTES_MAX,
            Level::Scarce => self.in_flight == 0 && output.len() == 0,
            Level::Exhausted => false,
        }
    }

    fn make(&mut self, request: Request, share: Option<OwnedSemaphorePermit>, output: &mut Output) {
        let apart = self.apart > 0;
        self.apart = self.apart.saturating_sub(1);
        let began = Instant::now();
        match call::begin(&self.node, &self.context, request, apart) {
            Begun::Answered(answer) => {
                output.push(&answer.response);
                self.ahead.extend(answer.ahead);
            }
            Begun::Waiting(call) => {
                self.in_flight += 1;
                let (node, context) = (Arc::clone(&self.node), Arc::clone(&self.context));
                let sender = self.sender.clone();
                tokio::task::spawn_blocking(move || {
                    let Answer { response, ahead } = call.answer(&node, &context);
                    let mut held = node.answers.hold();
                    held.set(response.head.len() + response.cells.len());
                    // Without a receiver the connection is gone, and the answer with it.
                    let _ = sender.send(Made { answer: Answer { response, ahead: None }, _held: held });
                    drop(share);
                    if let Some(ahead) = ahead {
                        ahead.read();
                    }
                });
            }
        }
        if began.elapsed() >= SLOW {
            self.apart = CALLS_APART;
        }
    }

    /// Takes the answers that threads have ready.
    fn collect(&mut self, output: &mut Output) {
        while let Ok(made) = self.answers.try_recv() {
            self.done(&made, output);
        }
    }

    fn done(&mut self, made: &Made, output: &mut Output) {
        self.in_flight -= 1;
        output.push(&made.answer.response);
        output.count();
    }

    /// The next request, with its share of the memory for requests, if it has arrived.
    fn take_request(
        &mut self,
        input: &mut Input,
    ) -> Result<Option<(Request, Option<OwnedSemaphorePermit>)>, End> {
        let arriving = match &mut self.arriving {
            Some(arriving) => arriving,
            None if input.buffer.len() < 4 => return Ok(None),
            None => {
                let len = checked_len(input.buffer.get_u32())?;
                self.arriving.insert(Arriving { len, share: None })
            }
        };
        self.lacking = arriving.lacks(input.buffer.len().min(arriving.len));
        if self.lacking > 0 {
            let shares = Arc::clone(&self.node.request_shares);
            let Ok(share) = shares.try_acquire_many_owned(self.lacking as u32) else { return Ok(None) };
            arriving.add(share);
            self.lacking = 0;
        }
        if input.buffer.len() < arriving.len {
            return Ok(None);
        }
        let Arriving { len, share } = self.arriving.take().expect("set above");
        let frame = input.buffer.split_to(len).freeze();
        if input.buffer.is_empty() && len > READ_BYTES_MAX {
            // Or the memory of the request would stay as long as the connection.
            input.buffer = BytesMut::new();
        }
        let request = Request::decode(frame)
            .map_err(|error| End::Refused(Exception::new(exception::FATAL_CONNECTION, error.to_string())))?;
        Ok(Some((request, share)))
    }

    /// Waits until there is something to do. `unmade`: there may be calls that have arrived and were held back.
    async fn wait(
        &mut self,
        socket: &Socket,
        input: &mut Input,
        output: &mut Output,
        unmade: bool,
    ) -> Result<(), End> {
        // Before it is looked at: a change that comes later is heard.
        self.levels.mark_unchanged();
        let may_begin = self.may_begin(output);
        if unmade && may_begin {
            // Memory came free since they were: nothing that the client sends would say so.
            return Ok(());
        }
        let reads = self.lacking == 0 && may_begin;
        let wanted =
            self.arriving.as_ref().map_or(0, |arriving| arriving.len - input.buffer.len().min(arriving.len));
        let in_message = self.arriving.is_some() || !input.buffer.is_empty();
        let stalls = output.len() > 0 || self.lacking > 0 || reads && in_message;
        let shares = Arc::clone(&self.node.request_shares);
        let began = Instant::now();
        tokio::select! {
            Some(made) = self.answers.recv() => self.done(&made, output),
            changed = self.levels.changed(), if !reads => changed.map_err(|_| End::Gone)?,
            read = input.read(socket, wanted), if reads => {
                read?;
                self.pace.came(began.elapsed());
            }
            writable = socket.writable(), if output.len() > 0 => writable?,
            share = shares.acquire_many_owned(self.lacking as u32), if self.lacking > 0 => {
                let share = share.map_err(|_| End::Gone)?;
                self.arriving.as_mut().expect("what lacks a share is arriving").add(share);
                self.lacking = 0;
            }
            () = tokio::time::sleep(STALL), if stalls => return Err(self.stalled()),
        }
        self.yielded = Instant::now();
        Ok(())
    }

    fn stalled(&self) -> End {
        if self.lacking == 0 {
            return End::Gone;
        }
        End::Refused(Exception::new(
            exception::CALL_QUEUE_TOO_BIG,
            format!("requests of more than {REQUEST_BYTES} bytes are being worked on; try again later"),
        ))
    }
}

fn checked_len(len: u32) -> Result<usize, End> {
    if len > REQUEST_LEN_MAX {
        return Err(End::Refused(Exception::new(
            exception::REQUEST_TOO_BIG,
            format!("a request of {len} bytes; expected at most {REQUEST_LEN_MAX}"),
        )));
    }
    Ok(len as usize)
}
