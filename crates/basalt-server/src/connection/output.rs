// SPDX-License-Identifier: Apache-2.0
//! Answers that wait to be sent. Small ones are copied together and sent at once; the cells of large ones are sent from where they are.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

use basalt_wire::Response;
use bytes::{Buf, Bytes, BytesMut};

use super::socket::Socket;
use crate::answers::{Answers, Held};

/// Cells below this size are copied.
const COPIED_BYTES: usize = 16 << 10;
/// Memory that is kept for answers to come, at most.
const KEPT_BYTES: usize = 256 << 10;
/// Pieces that are sent with one call of the system.
const SLICES: usize = 16;

/// See the module.
pub(super) struct Output {
    /// In the order in which they are sent, before `last`.
    chunks: VecDeque<Bytes>,
    last: BytesMut,
    len: usize,
    /// Bytes of the first chunk that were sent; it stays in memory until the last of them is.
    sent_of_first: usize,
    held: Held,
}

impl Output {
    pub(super) fn new(answers: &Arc<Answers>) -> Self {
        Self {
            chunks: VecDeque::new(),
            last: BytesMut::new(),
            len: 0,
            sent_of_first: 0,
            held: answers.hold(),
        }
    }

    /// Counts what waits as memory for answers.
    pub(super) fn count(&mut self) {
        self.held.set(self.len + self.sent_of_first);
    }

    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, response: &Response) {
        self.push_bytes(&response.head);
        if response.cells.len() < COPIED_BYTES {
            self.push_bytes(&response.cells);
            return;
        }
        self.chunks.push_back(self.last.split().freeze());
        self.chunks.push_back(response.cells.clone());
        self.len += response.cells.len();
    }

    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        self.last.extend_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Sends what the peer takes without waiting.
    pub(super) fn send_now(&mut self, socket: &mut Socket) -> io::Result<()> {
        while self.len > 0 {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let parts = self.chunks.iter().map(|chunk| &chunk[..]).chain([&self.last[..]]);
            slices.iter_mut().zip(parts).for_each(|(slice, part)| *slice = IoSlice::new(part));
            match socket.try_write(&slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => self.drop_sent(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends all of it.
    pub(super) async fn send(&mut self, socket: &mut Socket) -> io::Result<()> {
        self.send_now(socket)?;
        while self.len > 0 {
            socket.writable().await?;
            self.send_now(socket)?;
        }
        Ok(())
    }

    fn drop_sent(&mut self, mut sent: usize) {
        self.len -= sent;
        while let Some(first) = self.chunks.front_mut() {
            if sent < first.len() {
                first.advance(sent);
                self.sent_of_first += sent;
                return;
            }
            sent -= first.len();
            self.sent_of_first = 0;
            self.chunks.pop_front();
        }
        if sent == self.last.len() {
            // Its memory is used again, unless a slow peer made it grow.
            self.last.clear();
            if self.last.capacity() > KEPT_BYTES {
                self.last = BytesMut::new();
            }
        } else {
            self.last.advance(sent);
        }
    }
}
