// SPDX-License-Identifier: Apache-2.0
//! The two things a store file needs of its storage: positioned reads and appends. The store implements both
//! over its environment; here are a file in memory and a plain local file, for tools and tests.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use rustix::buffer::spare_capacity;

/// An immutable file that can be read at any offset, from several threads at once.
pub trait FileRead: Send + Sync + Debug {
    /// Exactly `len` bytes from `offset`; fewer is `UnexpectedEof`.
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes>;
    /// Fills `out` with the bytes from `offset` on; fewer is `UnexpectedEof`.
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self.read_at(offset, out.len())?);
        Ok(())
    }
    /// Size in bytes.
    fn size(&self) -> u64;
    /// Name for messages.
    fn name(&self) -> &str;
}

/// A file being written, front to back.
pub trait FileWrite: Send {
    /// Appends all of `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl FileWrite for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl FileWrite for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(self, bytes)
    }
}

impl<W: FileWrite + ?Sized> FileWrite for &mut W {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }
}

impl<W: FileWrite + ?Sized> FileWrite for Box<W> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }
}

/// A file in memory; reads share its buffer.
#[derive(Debug, Clone)]
pub struct MemoryFile {
    name: String,
    bytes: Bytes,
}

impl MemoryFile {
    /// A file of these bytes.
    pub fn new(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

impl FileRead for MemoryFile {
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let start = usize::try_from(offset).ok().filter(|&start| start <= self.bytes.len());
        match start.and_then(|start| Some((start, start.checked_add(len)?))) {
            Some((start, end)) if end <= self.bytes.len() => Ok(self.bytes.slice(start..end)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// A file of the local file system, read with positioned reads.
#[derive(Debug)]
pub struct LocalFile {
    name: String,
    file: File,
    size: u64,
}

impl LocalFile {
    /// Opens a file for reading.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::open(path.as_ref())?;
        let size = file.metadata()?.len();
        Ok(Self { name: path.as_ref().display().to_string(), file, size })
    }
}

impl FileRead for LocalFile {
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        // Checked before the buffer is made: a damaged length must not become an allocation.
        if offset.checked_add(len as u64).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Read into memory as it is: filling it with zeros first would cost a fifth of the reading.
        let mut buffer = Vec::with_capacity(len);
        while buffer.len() < len {
            let at = offset + buffer.len() as u64;
            match rustix::io::pread(&self.file, spare_capacity(&mut buffer), at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The allocator may have given more room than was asked for.
        buffer.truncate(len);
        Ok(buffer.into())
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn name(&self) -> &str {
        &self.name
    }
}
