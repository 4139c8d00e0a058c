// SPDX-License-Identifier: Apache-2.0
//! One connection: preamble, header, then calls. Calls are answered in the order in which they are done.
//!
//! ```text
//! socket -> input -> calls: answered here (short ones), or on a thread (all others) -> output -> socket
//! ```
//!
//! One task does all of it, so that a short call costs no change of threads: it is read, made and answered where the socket woke
//! somebody. What a client can make the server hold is bounded; [`calls`] says how. Who stands still in the middle of a message,
//! or does not take its answers, for [`STALL`] loses the connection.

mod calls;
mod output;
mod pace;
mod socket;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use basalt_wire::frame::PREAMBLE_CALL;
use basalt_wire::preamble::{HEADER_LEN_MAX, PREAMBLE_LEN, Preamble, SWITCH_TO_SIMPLE};
use basalt_wire::{Exception, Response, exception, pb};
use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::call::Context;
use crate::node::Node;
use calls::Calls;
pub(crate) use calls::{REQUEST_BYTES, SHARE};
use output::Output;
pub(crate) use pace::Awake;
use socket::{Looked, Socket};

/// A peer that neither sends the rest of a message nor takes an answer for so long is given up.
const STALL: Duration = Duration::from_secs(60);
/// Bytes that are read at once: at least, and at most.
const READ_BYTES_MIN: usize = 16 << 10;
const READ_BYTES_MAX: usize = 1 << 20;

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
    let mut socket = Socket::new(stream);
    let mut input = Input::default();
    let mut output = Output::new(&node.answers);
    let opening = tokio::select! {
        opening = timeout(STALL, open(&mut socket, &mut input, &mut output, node)) => opening,
        _ = stopped.changed() => return,
    };
    let context = match opening {
        Ok(Ok(Some(context))) => context,
        Ok(Err(End::Refused(exception))) => {
            output.push(&Response::failure(PREAMBLE_CALL, &exception));
            let _ = timeout(STALL, output.send(&mut socket)).await;
            return;
        }
        Ok(Ok(None) | Err(End::Gone)) | Err(_) => return,
    };
    let mut calls = Calls::new(Arc::clone(node), context);
    tokio::select! {
        end = calls.run(&mut socket, &mut input, &mut output) => {
            if let End::Refused(exception) = end {
                output.push(&Response::failure(PREAMBLE_CALL, &exception));
            }
        }
        _ = stopped.changed() => {}
    }
    calls.finish(&mut socket, &mut output).await;
}

/// What comes in.
#[derive(Default)]
struct Input {
    buffer: BytesMut,
}

impl Input {
    /// Reads what is there, or sleeps until something is; `wanted`: how many bytes are known to follow.
    async fn read(&mut self, socket: &Socket, wanted: usize) -> Result<(), End> {
        // Never more at once than a peer has shown to send.
        self.buffer.reserve(wanted.clamp(READ_BYTES_MIN, READ_BYTES_MAX));
        match socket.read(&mut self.buffer).await? {
            0 => Err(End::Gone),
            _ => Ok(()),
        }
    }

    /// Looks for something to read, for so long.
    fn look(&mut self, socket: &mut Socket, limit: Duration) -> Result<Looked, End> {
        match socket.look(&mut self.buffer, limit)? {
            Looked { read: Some(0), .. } => Err(End::Gone),
            looked => Ok(looked),
        }
    }

    async fn take(&mut self, socket: &Socket, len: usize) -> Result<Bytes, End> {
        while self.buffer.len() < len {
            self.read(socket, 0).await?;
        }
        Ok(self.buffer.split_to(len).freeze())
    }
}

/// Everything before the first call; `None` if the connection was only asked for the registry.
async fn open(
    socket: &mut Socket,
    input: &mut Input,
    output: &mut Output,
    node: &Node,
) -> Result<Option<Context>, End> {
    loop {
        let bytes = input.take(socket, PREAMBLE_LEN).await?;
        let bytes = <[u8; PREAMBLE_LEN]>::try_from(&bytes[..]).expect("taken with this length");
        match Preamble::decode(bytes).map_err(End::Refused)? {
            Preamble::Simple => break,
            Preamble::Sasl => {
                output.push_bytes(&SWITCH_TO_SIMPLE);
                output.send(socket).await?;
                let len = input.take(socket, 4).await?.get_u32();
                input.take(socket, checked_len(len)?).await?;
                break;
            }
            Preamble::Registry => {
                let answer = pb::GetConnectionRegistryResponse { cluster_id: node.cluster_id.clone() };
                output.push(&Response::answer(PREAMBLE_CALL, &answer, Bytes::new()));
                output.send(socket).await?;
                return Ok(None);
            }
            Preamble::Security => {
                let refused = Exception::new(exception::SECURITY_NOT_ENABLED, "this server has no principal");
                output.push(&Response::failure(PREAMBLE_CALL, &refused));
                output.send(socket).await?;
            }
        }
    }
    let len = input.take(socket, 4).await?.get_u32();
    let header = input.take(socket, checked_len(len)?).await?;
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
