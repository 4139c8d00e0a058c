// SPDX-License-Identifier: Apache-2.0
//! One connection: preamble, header, then calls. Calls are answered in the order in which they are done.
//!
//! ```text
//! socket -> frames -> here (short calls that come alone) or a thread (all others) -> queue -> socket
//! ```
//!
//! What a client can make the server hold is bounded: [`CALLS_MAX`] calls in flight, [`QUEUED_BYTES_MAX`] bytes of answers that it does
//! not take before no more calls are read, and a share of [`REQUEST_BYTES`] for what it sends. Who stands still in the middle of a
//! message for [`STALL`] loses the connection.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use basalt_wire::frame::{PREAMBLE_CALL, REQUEST_LEN_MAX};
use basalt_wire::preamble::{HEADER_LEN_MAX, PREAMBLE_LEN, Preamble, SWITCH_TO_SIMPLE};
use basalt_wire::{Exception, Request, Response, exception, pb};
use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::timeout;

use crate::call::{self, Context};
use crate::node::Node;

/// Calls of one connection that are worked on or wait to be sent.
const CALLS_MAX: u32 = 64;
/// Bytes of answers that wait to be sent, at most, before calls are no longer read.
const QUEUED_BYTES_MAX: usize = 16 << 20;
/// Memory for requests that are being read or worked on, in bytes, over all connections.
pub(crate) const REQUEST_BYTES: usize = 1 << 30;
/// Unit in which requests take their share of it.
pub(crate) const SHARE: usize = 64 << 10;
/// A peer that neither sends the rest of a message nor takes an answer for so long is given up.
const STALL: Duration = Duration::from_secs(60);
/// Answers below this size are copied together and sent at once.
const TOGETHER_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 64 << 10;

/// Why a connection ends early.
enum End {
    /// The peer closed it, broke it, or stood still.
    Gone,
    /// It cannot go on; the peer is told why, if there is anything to say.
    Refused(Exception),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

pub(crate) async fn serve(stream: TcpStream, node: &Arc<Node>, mut stopped: watch::Receiver<bool>) {
    let (reader, mut writer) = stream.into_split();
    let mut input = Input { reader, buffer: BytesMut::with_capacity(READ_BYTES) };
    let opening = tokio::select! {
        opening = timeout(STALL, open(&mut input, &mut writer, node)) => opening,
        _ = stopped.changed() => return,
    };
    let context = match opening {
        Ok(Ok(Some(context))) => Arc::new(context),
        Ok(Err(End::Refused(exception))) => {
            let _ = timeout(STALL, send(&mut writer, &Response::failure(PREAMBLE_CALL, &exception))).await;
            return;
        }
        Ok(Ok(None) | Err(End::Gone)) | Err(_) => return,
    };
    let (sender, queue) = mpsc::unbounded_channel();
    let flow = Arc::new(Flow::default());
    let mut writing = tokio::spawn(write_answers(writer, queue, Arc::clone(&flow)));
    let calls = Calls { node: Arc::clone(node), context, sender, flow };
    tokio::select! {
        end = calls.read(&mut input) => {
            if let End::Refused(exception) = end {
                calls.put(Response::failure(PREAMBLE_CALL, &exception), None);
            }
        }
        // Nobody takes the answers any more.
        _ = &mut writing => return,
        _ = stopped.changed() => {}
    }
    // Calls in flight hold clones of the sender: the writer ends when the last of them is answered.
    drop(calls);
    let _ = writing.await;
}

/// What comes in.
struct Input {
    reader: OwnedReadHalf,
    buffer: BytesMut,
}

impl Input {
    /// Reads until `len` bytes are there. `None` if the peer closed the connection before the first of them.
    async fn fill(&mut self, len: usize) -> Result<Option<()>, End> {
        let began = !self.buffer.is_empty();
        while self.buffer.len() < len {
            // Never more at once than a peer has shown to send.
            self.buffer.reserve((len - self.buffer.len()).clamp(READ_BYTES / 4, 16 * READ_BYTES));
            let idle = !began && self.buffer.is_empty();
            let read = match idle {
                true => self.reader.read_buf(&mut self.buffer).await?,
                false => {
                    timeout(STALL, self.reader.read_buf(&mut self.buffer)).await.map_err(|_| End::Gone)??
                }
            };
            if read == 0 {
                return if idle { Ok(None) } else { Err(End::Gone) };
            }
        }
        Ok(Some(()))
    }

    async fn take(&mut self, len: usize) -> Result<Bytes, End> {
        self.fill(len).await?.ok_or(End::Gone)?;
        Ok(self.buffer.split_to(len).freeze())
    }
}

/// Everything before the first call; `None` if the connection was only asked for the registry.
async fn open(input: &mut Input, writer: &mut OwnedWriteHalf, node: &Node) -> Result<Option<Context>, End> {
    loop {
        let bytes = input.take(PREAMBLE_LEN).await?;
        let bytes = <[u8; PREAMBLE_LEN]>::try_from(&bytes[..]).expect("taken with this length");
        match Preamble::decode(bytes).map_err(End::Refused)? {
            Preamble::Simple => break,
            Preamble::Sasl => {
                writer.write_all(&SWITCH_TO_SIMPLE).await?;
                let len = input.take(4).await?.get_u32();
                input.take(checked_len(len)?).await?;
                break;
            }
            Preamble::Registry => {
                let answer = pb::GetConnectionRegistryResponse { cluster_id: node.cluster_id.clone() };
                send(writer, &Response::answer(PREAMBLE_CALL, &answer, Bytes::new())).await?;
                return Ok(None);
            }
            Preamble::Security => {
                let refused = Exception::new(exception::SECURITY_NOT_ENABLED, "this server has no principal");
                send(writer, &Response::failure(PREAMBLE_CALL, &refused)).await?;
            }
        }
    }
    let len = input.take(4).await?.get_u32();
    let header = input.take(checked_len(len)?).await?;
    let header = pb::ConnectionHeader::decode(header).map_err(|error| {
        let message = format!("the connection header cannot be read: {error}");
        End::Refused(Exception::new(exception::FATAL_CONNECTION, message))
    })?;
    Context::try_new(header).map(Some).map_err(End::Refused)
}

fn checked_len(len: u32) -> Result<usize, End> {
    if len > HEADER_LEN_MAX {
        let message = format!("a connection header of {len} bytes; expected at most {HEADER_LEN_MAX}");
        return Err(End::Refused(Exception::new(exception::FATAL_CONNECTION, message)));
    }
    Ok(len as usize)
}

/// Answers that wait to be sent.
#[derive(Default)]
struct Flow {
    queued_bytes: AtomicUsize,
    sent: Notify,
}

/// An answer on its way, and what it frees when it is sent.
struct Outgoing {
    response: Response,
    _call: Option<Call>,
}

/// What a call in flight holds.
struct Call {
    _place: OwnedSemaphorePermit,
    _request: OwnedSemaphorePermit,
}

struct Calls {
    node: Arc<Node>,
    context: Arc<Context>,
    sender: mpsc::UnboundedSender<Outgoing>,
    flow: Arc<Flow>,
}

impl Calls {
    /// Reads and starts calls until the connection ends.
    async fn read(&self, input: &mut Input) -> End {
        let places = Arc::new(Semaphore::new(CALLS_MAX as usize));
        loop {
            if let Err(end) = self.read_one(input, &places).await {
                return end;
            }
        }
    }

    async fn read_one(&self, input: &mut Input, places: &Arc<Semaphore>) -> Result<(), End> {
        let place = Arc::clone(places).acquire_owned().await.map_err(|_| End::Gone)?;
        self.wait_until_sent().await;
        input.fill(4).await?.ok_or(End::Gone)?;
        let len = input.buffer.get_u32();
        if len > REQUEST_LEN_MAX {
            return Err(End::Refused(Exception::new(
                exception::REQUEST_TOO_BIG,
                format!("a request of {len} bytes; expected at most {REQUEST_LEN_MAX}"),
            )));
        }
        let (frame, share) = self.read_frame(input, len as usize).await?;
        let request = Request::decode(frame)
            .map_err(|error| End::Refused(Exception::new(exception::FATAL_CONNECTION, error.to_string())))?;
        let call = Call { _place: place, _request: share };
        let alone = input.buffer.is_empty() && places.available_permits() + 1 == CALLS_MAX as usize;
        if alone && call::is_short(&self.node, &self.context, &request) {
            let response = tokio::task::block_in_place(|| call::answer(&self.node, &self.context, request));
            self.put(response, Some(call));
            return Ok(());
        }
        let (node, context) = (Arc::clone(&self.node), Arc::clone(&self.context));
        let (sender, flow) = (self.sender.clone(), Arc::clone(&self.flow));
        tokio::task::spawn_blocking(move || {
            let response = call::answer(&node, &context, request);
            put(&sender, &flow, response, Some(call));
        });
        Ok(())
    }

    /// A frame takes its share of the memory for requests while it arrives, not when it is announced.
    async fn read_frame(&self, input: &mut Input, len: usize) -> Result<(Bytes, OwnedSemaphorePermit), End> {
        let mut share = self.share(1).await?;
        let mut held = SHARE;
        while input.buffer.len() < len {
            if input.buffer.len() >= held {
                share.merge(self.share(1).await?);
                held += SHARE;
            }
            input.fill(len.min(held)).await?.ok_or(End::Gone)?;
        }
        Ok((input.buffer.split_to(len).freeze(), share))
    }

    async fn share(&self, parts: u32) -> Result<OwnedSemaphorePermit, End> {
        let acquired = Arc::clone(&self.node.request_shares).acquire_many_owned(parts);
        match timeout(STALL, acquired).await {
            Ok(Ok(share)) => Ok(share),
            _ => Err(End::Refused(Exception::new(
                exception::CALL_QUEUE_TOO_BIG,
                format!("requests of more than {REQUEST_BYTES} bytes are being worked on; try again later"),
            ))),
        }
    }

    async fn wait_until_sent(&self) {
        while self.flow.queued_bytes.load(Ordering::Acquire) > QUEUED_BYTES_MAX {
            let sent = self.flow.sent.notified();
            if self.flow.queued_bytes.load(Ordering::Acquire) > QUEUED_BYTES_MAX {
                sent.await;
            }
        }
    }

    fn put(&self, response: Response, call: Option<Call>) {
        put(&self.sender, &self.flow, response, call);
    }
}

fn put(sender: &mpsc::UnboundedSender<Outgoing>, flow: &Flow, response: Response, call: Option<Call>) {
    flow.queued_bytes.fetch_add(response.len(), Ordering::AcqRel);
    // Without a receiver the connection is gone, and the answer with it.
    let _ = sender.send(Outgoing { response, _call: call });
}

async fn send(writer: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    writer.write_all(&response.head).await?;
    writer.write_all(&response.cells).await
}

async fn write_answers(
    mut writer: OwnedWriteHalf,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    flow: Arc<Flow>,
) {
    let mut together = BytesMut::with_capacity(TOGETHER_BYTES);
    while let Some(first) = queue.recv().await {
        let mut bytes = 0;
        let mut outgoing = Some(first);
        let mut calls = Vec::new();
        while let Some(Outgoing { response, _call: call }) = outgoing {
            bytes += response.len();
            calls.push(call);
            together.extend_from_slice(&response.head);
            if response.cells.len() < TOGETHER_BYTES / 2 {
                together.extend_from_slice(&response.cells);
            } else {
                let sent = write(&mut writer, &together).await && write(&mut writer, &response.cells).await;
                together.clear();
                if !sent {
                    return;
                }
            }
            outgoing = if together.len() < TOGETHER_BYTES { queue.try_recv().ok() } else { None };
        }
        if !write(&mut writer, &together).await {
            return;
        }
        together.clear();
        drop(calls);
        flow.queued_bytes.fetch_sub(bytes, Ordering::AcqRel);
        flow.sent.notify_one();
    }
    let _ = writer.shutdown().await;
}

/// False if the peer does not take the bytes.
async fn write(writer: &mut OwnedWriteHalf, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match timeout(STALL, writer.write(bytes)).await {
            Ok(Ok(written)) if written > 0 => bytes = &bytes[written..],
            _ => return false,
        }
    }
    true
}
