// SPDX-License-Identifier: Apache-2.0
//! The socket of a connection, and the two ways in which something is waited for.
//!
//! * **Asleep** ([`Socket::read`]): the runtime watches the socket and wakes the task. Whoever sends then interrupts a core that has
//!   nothing to do, and a thread has to be put on it: that takes longer than a short call does, for both sides.
//! * **Awake** ([`Socket::look`]): the task takes the socket away from the runtime, so that nobody is woken, and looks again and again, for a
//!   limited time. [`super::pace`] says when that is worth a core.

use std::io::{self, IoSlice, Read, Write};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::net::TcpStream;

/// Bytes that are read at once by who looks.
const LOOK_BYTES: usize = 16 << 10;

/// Whoever looks and is held up for so long has to share its core.
const HELD_UP: Duration = Duration::from_micros(100);

/// What looking came to.
pub(super) struct Looked {
    /// Bytes that were read; 0: the peer sends nothing more; `None` if nothing came.
    pub(super) read: Option<usize>,
    /// Others wanted the core: staying awake takes it from them, and a thread that stayed awake waits longer for its turn than one that slept.
    pub(super) crowded: bool,
}

/// See the module.
pub(super) struct Socket {
    state: State,
    /// Where bytes are read to by who looks; empty before.
    seen: Vec<u8>,
}

enum State {
    /// By the runtime.
    Watched(TcpStream),
    Bare(std::net::TcpStream),
    /// It could not be handed over.
    Lost,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { state: State::Watched(stream), seen: Vec::new() }
    }

    /// Reads what is there, or sleeps until something is; [`Socket::watch`] comes before. 0: the peer sends nothing more.
    pub(super) async fn read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        let stream = self.watched()?;
        loop {
            stream.readable().await?;
            match stream.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }

    /// Sleeps until the peer may take more; [`Socket::watch`] comes before.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.watched()?.writable().await
    }

    /// Sends what the peer takes without waiting.
    pub(super) fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.state {
            State::Watched(stream) => stream.try_write_vectored(slices),
            State::Bare(stream) => stream.write_vectored(slices),
            State::Lost => Err(lost()),
        }
    }

    /// Looks for something to read until `limit` has passed, or others want the core.
    pub(super) fn look(&mut self, buffer: &mut BytesMut, limit: Duration) -> io::Result<Looked> {
        self.seen.resize(LOOK_BYTES, 0);
        let stream = self.state.bare()?;
        let began = Instant::now();
        let (mut last, mut crowded) = (began, false);
        loop {
            match stream.read(&mut self.seen) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    buffer.extend_from_slice(&self.seen[..read]);
                    return Ok(Looked { read: Some(read), crowded });
                }
            }
            if crowded || last.duration_since(began) >= limit {
                return Ok(Looked { read: None, crowded });
            }
            // Whoever else has something to do on this core comes first.
            std::thread::yield_now();
            let now = Instant::now();
            crowded = now.duration_since(last) >= HELD_UP;
            last = now;
        }
    }

    /// Gives the socket back to the runtime, if it was taken away.
    pub(super) fn watch(&mut self) -> io::Result<()> {
        self.state = match std::mem::replace(&mut self.state, State::Lost) {
            State::Bare(stream) => State::Watched(TcpStream::from_std(stream)?),
            state => state,
        };
        Ok(())
    }

    fn watched(&self) -> io::Result<&TcpStream> {
        match &self.state {
            State::Watched(stream) => Ok(stream),
            _ => Err(lost()),
        }
    }
}

impl State {
    /// Takes the socket away from the runtime.
    fn bare(&mut self) -> io::Result<&mut std::net::TcpStream> {
        *self = match std::mem::replace(self, Self::Lost) {
            Self::Watched(stream) => Self::Bare(stream.into_std()?),
            state => state,
        };
        match self {
            Self::Bare(stream) => Ok(stream),
            _ => Err(lost()),
        }
    }
}

fn lost() -> io::Error {
    io::Error::other("the socket is not where it is expected")
}
