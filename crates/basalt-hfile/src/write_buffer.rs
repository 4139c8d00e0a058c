// SPDX-License-Identifier: Apache-2.0
//! A buffer that cells are written into piece by piece.
//!
//! A cell is a dozen pieces of a few bytes. Appended to a `Vec` each costs a check of the capacity and a call of `memcpy`; here the
//! memory behind the end is there and initialised, and a short piece is two stores that overlap.

use crate::varint;

/// Bytes, and room behind them.
#[derive(Debug, Default)]
pub(crate) struct WriteBuffer {
    /// All of it may be written to; what is in use ends at `len`.
    bytes: Vec<u8>,
    len: usize,
}

impl WriteBuffer {
    /// An empty buffer with room for `room` bytes.
    pub(crate) fn with_room(room: usize) -> Self {
        Self { bytes: vec![0; room], len: 0 }
    }

    /// Bytes in use.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes in use.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The bytes in use, to be changed in place.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// Cuts off what is behind `len`.
    #[inline(always)]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The bytes in use as a vector, for whoever goes on with one; [`Self::take_back`] returns it.
    pub(crate) fn take_vec(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.truncate(self.len);
        self.len = 0;
        bytes
    }

    /// Becomes empty, with the memory of `bytes`.
    pub(crate) fn take_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
        let room = self.bytes.capacity();
        self.bytes.resize(room, 0);
        self.len = 0;
    }

    /// Makes room for `more` bytes.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.bytes.len() - self.len < more {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let room = (self.len + more).max(2 * self.bytes.len());
        self.bytes.resize(room, 0);
    }

    /// Appends a byte; there must be room.
    #[inline(always)]
    pub(crate) fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Appends bytes of a number or the like; there must be room.
    #[inline(always)]
    pub(crate) fn put_array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(&bytes);
        self.len += N;
    }

    /// Appends the first `count` of eight bytes; there must be room for all of them.
    #[inline(always)]
    pub(crate) fn put_front(&mut self, bytes: [u8; 8], count: usize) {
        debug_assert!(count <= 8);
        self.bytes[self.len..self.len + 8].copy_from_slice(&bytes);
        self.len += count;
    }

    /// Appends bytes; there must be room.
    #[inline(always)]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let to = &mut self.bytes[self.len..self.len + bytes.len()];
        self.len += bytes.len();
        match bytes.len() {
            0 => {}
            1 => to[0] = bytes[0],
            2..4 => copy_ends::<2>(to, bytes),
            4..8 => copy_ends::<4>(to, bytes),
            8..16 => copy_ends::<8>(to, bytes),
            16..=32 => copy_ends::<16>(to, bytes),
            _ => to.copy_from_slice(bytes),
        }
    }

    /// Appends a LEB; there must be room for five bytes.
    #[inline(always)]
    pub(crate) fn put_leb(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    /// Appends a VLONG; there must be room for nine bytes.
    #[inline(always)]
    pub(crate) fn put_vlong(&mut self, value: i64) {
        if (-112..=127).contains(&value) {
            return self.push(value as u8);
        }
        let (bytes, len) = varint::vlong_bytes(value);
        self.put(&bytes[..len]);
    }
}

/// Copies `N` to `2 N` bytes: the first and the last `N`.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        let end = to.len();
        to[..N].copy_from_slice(first);
        to[end - N..].copy_from_slice(last);
    }
}

#[cfg(test)]
mod tests;
