// SPDX-License-Identifier: Apache-2.0
//! The one handle to the outside world: storage, clock, chance and threads.
//!
//! Everything in this crate that touches a file, reads a clock, needs a random number or starts a thread does
//! so through an [`Env`] that its caller passed in. With [`Env::local`] that is the machine; with
//! [`sim::SimStorage`] it is a file system in memory that fails, tears and forgets on command, and a run can
//! be repeated. `clippy.toml` of this crate bans the direct calls outside of this folder.
//!
//! What a [`Storage`] promises, and all that the rest of the crate may rely on:
//!
//! 1. Bytes given to [`FileWrite::append`] survive a power loss once a later [`StorageFile::sync`] or [`FileSync::sync`] returned.
//! 2. A file's *name* (after create, rename, remove) survives once a later [`Storage::sync_dir`] of its
//!    directory returned.
//! 3. [`Storage::rename`] is atomic: after a crash the target is the old file or the new one, whole.
//! 4. After a failed `sync` nothing is known about what reached the disk, and a second `sync` proves nothing.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

mod disk_cache;
#[cfg(test)]
pub(crate) mod hand;
mod local;
pub mod sim;

pub use basalt_hfile::{FileRead, FileWrite};
pub use disk_cache::{DiskCache, DiskCacheOptions, DiskCacheStats};

/// How much a sync has to make durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncKind {
    /// The bytes, and of the metadata what is needed to read them back (`fdatasync`).
    Data,
    /// The bytes and all metadata (`fsync`).
    All,
}

/// Makes a file durable while others append to it.
pub trait FileSync: Send + Sync + Debug {
    /// Makes everything durable that was appended before.
    fn sync(&self, kind: SyncKind) -> io::Result<()>;
}

/// A file being written from front to back.
pub trait StorageFile: FileWrite {
    /// For syncs beside appends. The file stays open as long as it lives.
    fn syncer(&self) -> Arc<dyn FileSync>;
    /// Makes everything appended so far durable.
    fn sync(&mut self, kind: SyncKind) -> io::Result<()> {
        self.syncer().sync(kind)
    }
    /// Writes `len` zeros behind the end, which later appends write over: a sync of these has no new length to make durable.
    /// If it fails, some of them may be there.
    fn reserve(&mut self, len: u64) -> io::Result<()>;
    /// Cuts the file to `len` bytes, and what is left of [`Self::reserve`] off; later appends go behind them.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

/// What [`Storage::list`] finds in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Name inside the directory.
    pub name: String,
    /// True for a directory.
    pub is_dir: bool,
}

/// Whether others may hold the lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// One holder.
    Exclusive,
    /// Any number of holders, none of them exclusive.
    Shared,
}

/// A lock on a file; dropping it releases the lock.
pub trait LockGuard: Send + Sync + Debug {}

/// Why a lock was not granted.
#[derive(Debug)]
pub enum LockError {
    /// Somebody else holds it; the text that the holder wrote into the file.
    Held(String),
    /// The file could not be opened, locked or written.
    Io(io::Error),
}

/// Files and directories.
pub trait Storage: Send + Sync + Debug {
    /// Creates an empty file, or empties the one that is there.
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;
    /// Opens an existing file for appending at its end.
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;
    /// Opens an existing file for reading.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn FileRead>>;
    /// Renames a file, replacing a file that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// The entries of a directory, sorted by name.
    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// Creates a directory and those above it; not an error if it exists.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes the lock `path` and, when exclusive, writes who holds it into the file.
    fn lock(&self, path: &Path, mode: LockMode) -> Result<Box<dyn LockGuard>, LockError>;
}

/// Clocks.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
    /// Waits.
    fn sleep(&self, duration: Duration);
}

/// Chance.
pub trait Random: Send + Sync + Debug {
    /// 64 random bits.
    fn next_u64(&self) -> u64;
}

/// A running background thread.
pub trait Task: Send {
    /// Waits until the thread has ended.
    fn join(self: Box<Self>);
}

/// Threads.
pub trait Spawner: Send + Sync + Debug {
    /// Runs `body` on a thread of its own.
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<Box<dyn Task>>;
}

/// Storage, clock, chance and threads of one process or of one simulation. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Env {
    /// Files and directories.
    pub storage: Arc<dyn Storage>,
    /// Clocks.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Threads.
    pub spawner: Arc<dyn Spawner>,
}

impl Env {
    /// The machine: its file system, clock and threads.
    pub fn local() -> Self {
        Self {
            storage: Arc::new(local::LocalStorage),
            clock: Arc::new(local::LocalClock::new()),
            random: Arc::new(local::LocalRandom),
            spawner: Arc::new(local::LocalSpawner),
        }
    }

    /// The machine's clock and threads over another storage.
    pub fn with_storage(storage: Arc<dyn Storage>) -> Self {
        Self { storage, ..Self::local() }
    }

    /// Milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}

impl Default for Env {
    fn default() -> Self {
        Self::local()
    }
}

#[cfg(test)]
mod tests;
