// SPDX-License-Identifier: Apache-2.0
//! Bytes of a file, in the two forms in which store files are read and written.

use std::fmt::Debug;
use std::io;

use bytes::Bytes;

/// A file that can be read at any place.
pub trait FileRead: Send + Sync + Debug {
    /// Reads exactly `len` bytes; fewer are an `UnexpectedEof`.
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes>;
    /// Size in bytes when it was opened.
    fn size(&self) -> u64;
    /// Name for messages.
    fn name(&self) -> &str;
}

/// A file that is written from front to back.
pub trait FileWrite: Send {
    /// Appends all of `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
}
