// SPDX-License-Identifier: Apache-2.0
//! A file system in memory for tests: it fails, tears and forgets on command.
//!
//! What it models of a disk:
//! * Bytes appended to a file are in the page cache until `sync`; a power loss keeps the synced prefix and
//!   a random part of the rest: torn at any byte, its end possibly zeros, or some of its sectors written and others not.
//! * A cut (truncate, or create over an existing file) is volatile until `sync` as well: a power loss may bring back
//!   the durable bytes that it took away, in part. The same holds for reserved zeros that are written over.
//! * Names (create, rename, remove) are volatile until `sync_dir` of the directory; a power loss undoes them
//!   one by one at random, but in order: what survives is a prefix of the directory's changes.
//! * The n-th call can fail: with a full disk, an I/O error, a write of half the bytes, or a sync that loses
//!   what it was asked to keep.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::{
    DirEntry, FileRead, FileSync, FileWrite, LockError, LockGuard, LockMode, Storage, StorageFile, SyncKind,
};

/// What an injected fault does to the call that it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `ENOSPC` for a call that needs space: create, append, reserve, rename, create_dir. Others succeed.
    Full,
    /// `EIO`; nothing happens.
    Io,
    /// An append writes half of its bytes, then `ENOSPC`. Any other call does as with [`Fault::Full`].
    ShortWrite,
    /// A sync fails, and the bytes that it was asked to keep are never written again: readers see them, later syncs
    /// succeed without them, and a power loss may take them. Any other call fails as with [`Fault::Io`].
    LostSync,
    /// The call panics, as a bug below the engine would.
    Panic,
}

/// Which calls fail.
#[derive(Debug, Clone, Copy)]
pub struct FaultPlan {
    /// The first call to fail, counted from 1.
    pub at: u64,
    /// How many calls fail in a row.
    pub calls: u64,
    /// How.
    pub fault: Fault,
}

/// The unit in which a disk writes: of bytes that were not synced any of these may have arrived, in any order.
const SECTOR: usize = 512;

/// What a process reads of a file, and what the disk may hold of it.
#[derive(Debug, Clone, Default)]
struct File {
    bytes: Vec<u8>,
    /// So many bytes from the front are durable.
    synced: usize,
    /// Durable bytes that followed them before they were cut off.
    stale: Vec<u8>,
    /// Bytes that count as durable because a failed sync gave them up.
    lost: Vec<Range<usize>>,
    /// So many zeros at the end are there to be written over.
    reserved: usize,
}

impl File {
    fn durable(bytes: Vec<u8>) -> Self {
        Self { synced: bytes.len(), bytes, ..Self::default() }
    }

    fn cut(&mut self, len: usize) {
        self.give_up_behind(len);
        self.bytes.truncate(len);
        self.reserved = 0;
    }

    /// What is durable behind `len` is to be replaced.
    fn give_up_behind(&mut self, len: usize) {
        if len < self.synced {
            let mut stale = self.bytes[len..self.synced].to_vec();
            stale.append(&mut self.stale);
            (self.synced, self.stale) = (len, stale);
        }
        self.lost.retain(|lost| lost.start < len);
        self.lost.iter_mut().for_each(|lost| lost.end = lost.end.min(len));
    }

    fn append(&mut self, bytes: &[u8]) {
        let end = self.bytes.len() - self.reserved;
        let over = self.reserved.min(bytes.len());
        if over > 0 {
            self.give_up_behind(end);
        }
        self.bytes[end..end + over].copy_from_slice(&bytes[..over]);
        self.bytes.extend_from_slice(&bytes[over..]);
        self.reserved -= over;
    }

    fn reserve(&mut self, len: usize) {
        let more = len.saturating_sub(self.reserved);
        self.bytes.resize(self.bytes.len() + more, 0);
        self.reserved += more;
    }

    /// A sync fails as Linux has it fail: the pages are clean, and not on the disk.
    fn lose(&mut self) {
        self.lost.push(self.synced..self.bytes.len());
        self.sync();
    }

    fn sync(&mut self) {
        self.synced = self.bytes.len();
        self.stale.clear();
    }

    fn is_durable(&self) -> bool {
        self.bytes.len() == self.synced && self.stale.is_empty() && self.lost.is_empty()
    }
}

/// One volatile change of a directory.
#[derive(Debug, Clone)]
enum NameChange {
    Link { name: String, file: u64, replaced: Option<u64> },
    Unlink { name: String, file: u64 },
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<u64, File>,
    dirs: BTreeMap<PathBuf, BTreeMap<String, u64>>,
    pending: BTreeMap<PathBuf, Vec<NameChange>>,
    locks: BTreeMap<PathBuf, (usize, bool)>,
    file_next: u64,
    calls: u64,
    injected: u64,
    plan: Option<FaultPlan>,
    rng: u64,
    generation: u64,
}

/// The file system. Clones share it; keep one to inject faults and cut the power.
#[derive(Debug, Clone)]
pub struct SimStorage {
    state: Arc<Mutex<State>>,
    generation: u64,
}

impl SimStorage {
    /// An empty file system; `seed` decides what power losses keep.
    pub fn new(seed: u64) -> Self {
        let mut state = State { rng: seed ^ 0x9e37_79b9_7f4a_7c15, ..State::default() };
        state.dirs.insert(PathBuf::from("/"), BTreeMap::new());
        Self { state: Arc::new(Mutex::new(state)), generation: 0 }
    }

    /// Fails calls from now on; counting starts anew. `None` ends it.
    pub fn set_faults(&self, plan: Option<FaultPlan>) {
        let mut state = self.state.lock();
        state.plan = plan;
        state.calls = 0;
    }

    /// Calls that could have failed since [`SimStorage::set_faults`].
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    /// Faults injected so far, power losses included.
    pub fn injected(&self) -> u64 {
        self.state.lock().injected
    }

    /// Cuts the power: what was not synced is lost in part, all locks are gone, and handles from before fail
    /// for ever. Returns the file system as it is after the restart.
    pub fn power_loss(&self) -> SimStorage {
        let mut state = self.state.lock();
        state.injected += 1;
        state.undo_names();
        state.tear_files();
        state.locks.clear();
        state.plan = None;
        state.generation += 1;
        SimStorage { state: Arc::clone(&self.state), generation: state.generation }
    }

    /// A deep copy in which nothing has happened to the original: for trying several fates of one moment.
    pub fn fork(&self, seed: u64) -> SimStorage {
        let state = self.state.lock();
        let copy = State {
            files: state.files.clone(),
            dirs: state.dirs.clone(),
            pending: state.pending.clone(),
            locks: BTreeMap::new(),
            file_next: state.file_next,
            rng: seed ^ 0x9e37_79b9_7f4a_7c15,
            generation: state.generation,
            ..State::default()
        };
        SimStorage { state: Arc::new(Mutex::new(copy)), generation: self.generation }
    }

    /// The bytes of a file as a process would read them now.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.state.lock();
        let id = state.find(path)?;
        Ok(state.files[&id].bytes.clone())
    }

    /// Replaces the bytes of a file behind everybody's back: bit rot.
    pub fn overwrite(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        let mut state = self.state.lock();
        let id = state.find(path)?;
        let before = &state.files[&id];
        let reserved = if before.bytes.len() == bytes.len() { before.reserved } else { 0 };
        state.files.insert(id, File { reserved, ..File::durable(bytes) });
        Ok(())
    }

    /// Puts an empty durable file where there is none.
    pub fn create_if_missing(&self, path: &Path) {
        if self.read(path).is_err() && self.create(path).is_ok() {
            self.state.lock().pending.clear();
        }
    }

    /// All files, sorted by path.
    pub fn files(&self) -> Vec<PathBuf> {
        let state = self.state.lock();
        state.dirs.iter().flat_map(|(dir, names)| names.keys().map(move |name| dir.join(name))).collect()
    }

    fn call(&self, op: &'static str) -> io::Result<parking_lot::MutexGuard<'_, State>> {
        let mut state = self.state.lock();
        if state.generation != self.generation {
            return Err(io::Error::other("the power was cut"));
        }
        state.count(op)?;
        Ok(state)
    }
}

impl Fault {
    fn strike(self, op: &'static str) -> io::Error {
        match self {
            Self::Full | Self::ShortWrite => {
                io::Error::new(io::ErrorKind::StorageFull, "injected: no space left on device")
            }
            Self::Io | Self::LostSync => io::Error::other("injected: input/output error"),
            Self::Panic => panic!("injected: a bug in {op}"),
        }
    }
}

impl State {
    fn random(&mut self, below: u64) -> u64 {
        // xorshift64*: chance that a seed repeats, nothing more.
        self.rng ^= self.rng >> 12;
        self.rng ^= self.rng << 25;
        self.rng ^= self.rng >> 27;
        self.rng.wrapping_mul(0x2545_f491_4f6c_dd1d) % below.max(1)
    }

    /// The fault for this call, if it is one of those to fail.
    fn next_fault(&mut self, op: &'static str) -> Option<Fault> {
        self.calls += 1;
        let plan = self.plan?;
        let full = matches!(plan.fault, Fault::Full | Fault::ShortWrite);
        let concerned = !full || matches!(op, "create" | "append" | "reserve" | "rename" | "create_dir");
        let hit = concerned && self.calls >= plan.at && self.calls - plan.at < plan.calls;
        self.injected += u64::from(hit);
        hit.then_some(plan.fault)
    }

    fn count(&mut self, op: &'static str) -> io::Result<()> {
        match self.next_fault(op) {
            None => Ok(()),
            Some(fault) => Err(fault.strike(op)),
        }
    }

    fn find(&self, path: &Path) -> io::Result<u64> {
        let (dir, name) = split(path)?;
        self.dirs.get(dir).and_then(|names| names.get(name)).copied().ok_or(io::ErrorKind::NotFound.into())
    }

    fn link(&mut self, dir: &Path, name: &str, file: u64) -> io::Result<()> {
        let names = self.dirs.get_mut(dir).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        let replaced = names.insert(name.to_owned(), file);
        let change = NameChange::Link { name: name.to_owned(), file, replaced };
        self.pending.entry(dir.to_owned()).or_default().push(change);
        Ok(())
    }

    fn unlink(&mut self, dir: &Path, name: &str) -> io::Result<u64> {
        let names = self.dirs.get_mut(dir).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        let file = names.remove(name).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        let change = NameChange::Unlink { name: name.to_owned(), file };
        self.pending.entry(dir.to_owned()).or_default().push(change);
        Ok(file)
    }

    fn undo_names(&mut self) {
        for (dir, changes) in std::mem::take(&mut self.pending) {
            let kept = self.random(changes.len() as u64 + 1) as usize;
            let Some(names) = self.dirs.get_mut(&dir) else { continue };
            for change in changes[kept..].iter().rev() {
                match change {
                    NameChange::Link { name, file, replaced } => {
                        if names.get(name) == Some(file) {
                            names.remove(name);
                        }
                        if let Some(before) = replaced {
                            names.insert(name.clone(), *before);
                        }
                    }
                    NameChange::Unlink { name, file } => {
                        names.insert(name.clone(), *file);
                    }
                }
            }
        }
    }

    fn tear_files(&mut self) {
        let mut ids: Vec<u64> = self.files.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let file = self.files[&id].clone();
            if !file.is_durable() {
                let left = self.torn(&file);
                self.files.insert(id, File::durable(left));
            }
        }
    }

    /// What a power loss leaves of a file.
    fn torn(&mut self, file: &File) -> Vec<u8> {
        let (new, old) = (&file.bytes[file.synced..], &file.stale[..]);
        let cut_is_lost = !old.is_empty() && self.random(2) == 0;
        let kept = if cut_is_lost { old.len() } else { self.random(new.len() as u64 + 1) as usize };
        let (by_sector, zeros) = match self.random(4) {
            0 => (false, true),
            1 => (true, false),
            _ => (false, false),
        };
        // The length reached the disk, some of the bytes did not.
        let new_end = if zeros { self.random(kept as u64 + 1) as usize } else { kept };
        let mut left = file.bytes[..file.synced].to_vec();
        for lost in &file.lost {
            if self.random(2) == 0 {
                left[lost.clone()].fill(0);
            }
        }
        let mut arrived = true;
        for i in 0..kept {
            if by_sector && (i == 0 || left.len().is_multiple_of(SECTOR)) {
                arrived = self.random(2) == 0;
            }
            let before = old.get(i).copied().unwrap_or(0);
            left.push(*new.get(i).filter(|_| arrived && i < new_end).unwrap_or(&before));
        }
        left
    }
}

fn split(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(io::ErrorKind::InvalidInput)?;
    Ok((path.parent().ok_or(io::ErrorKind::InvalidInput)?, name))
}

#[derive(Debug)]
struct SimRead {
    storage: SimStorage,
    id: u64,
    size: u64,
    name: String,
}

impl FileRead for SimRead {
    fn read_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let state = self.storage.call("read_at")?;
        let file = state.files.get(&self.id).ok_or(io::ErrorKind::NotFound)?;
        let bytes = file.bytes.get(offset as usize..).and_then(|rest| rest.get(..len));
        Ok(Bytes::copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?))
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[derive(Debug, Clone)]
struct SimWrite {
    storage: SimStorage,
    id: u64,
}

impl SimWrite {
    fn with_file<T>(&self, state: &mut State, change: impl FnOnce(&mut File) -> T) -> io::Result<T> {
        Ok(change(state.files.get_mut(&self.id).ok_or(io::ErrorKind::NotFound)?))
    }
}

impl FileWrite for SimWrite {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.storage.state.lock();
        if state.generation != self.storage.generation {
            return Err(io::Error::other("the power was cut"));
        }
        let fault = state.next_fault("append");
        let written = match fault {
            None => bytes.len(),
            Some(Fault::ShortWrite) => bytes.len() / 2,
            Some(_) => 0,
        };
        self.with_file(&mut state, |file| file.append(&bytes[..written]))?;
        match fault {
            None => Ok(()),
            Some(fault) => Err(fault.strike("append")),
        }
    }
}

impl FileSync for SimWrite {
    fn sync(&self, _kind: SyncKind) -> io::Result<()> {
        let mut state = self.storage.state.lock();
        if state.generation != self.storage.generation {
            return Err(io::Error::other("the power was cut"));
        }
        match state.next_fault("sync") {
            None => self.with_file(&mut state, File::sync),
            Some(fault) => {
                if fault == Fault::LostSync {
                    self.with_file(&mut state, File::lose)?;
                }
                Err(fault.strike("sync"))
            }
        }
    }
}

impl StorageFile for SimWrite {
    fn syncer(&self) -> Arc<dyn FileSync> {
        Arc::new(self.clone())
    }

    fn reserve(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.storage.call("reserve")?;
        self.with_file(&mut state, |file| file.reserve(len as usize))
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.storage.call("truncate")?;
        self.with_file(&mut state, |file| file.cut(len as usize))
    }
}

#[derive(Debug)]
struct SimLock {
    storage: SimStorage,
    path: PathBuf,
}

impl LockGuard for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.storage.state.lock();
        if state.generation != self.storage.generation {
            return;
        }
        if let Some((holders, _)) = state.locks.get_mut(&self.path) {
            *holders -= 1;
            if *holders == 0 {
                state.locks.remove(&self.path);
            }
        }
    }
}

impl Storage for SimStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.call("create")?;
        let (dir, name) = split(path)?;
        let id = match state.find(path) {
            Ok(id) => {
                state.files.entry(id).or_default().cut(0);
                id
            }
            Err(_) => {
                state.file_next += 1;
                let id = state.file_next;
                state.link(dir, name, id)?;
                state.files.insert(id, File::default());
                id
            }
        };
        Ok(Box::new(SimWrite { storage: self.clone(), id }))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.call("open_append")?;
        let id = state.find(path)?;
        state.files.entry(id).or_default().reserved = 0;
        Ok(Box::new(SimWrite { storage: self.clone(), id }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn FileRead>> {
        let state = self.call("open")?;
        let id = state.find(path)?;
        let size = state.files[&id].bytes.len() as u64;
        Ok(Arc::new(SimRead { storage: self.clone(), id, size, name: path.display().to_string() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.call("rename")?;
        let ((from_dir, from_name), (to_dir, to_name)) = (split(from)?, split(to)?);
        assert_eq!(from_dir, to_dir, "the store renames within a directory only");
        let file = state.find(from)?;
        // One change, so that a power loss undoes both halves or none: first the new name, then the old goes.
        state.link(to_dir, to_name, file)?;
        state.unlink(from_dir, from_name).map(drop)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call("remove")?;
        let (dir, name) = split(path)?;
        // The bytes stay for readers that have the file open, as on POSIX.
        state.unlink(dir, name).map(drop)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call("remove_dir")?;
        let busy = state.dirs.get(path).ok_or(io::ErrorKind::NotFound)?;
        let has_dirs = state.dirs.keys().any(|dir| dir.parent() == Some(path));
        if !busy.is_empty() || has_dirs {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.dirs.remove(path);
        state.pending.remove(path);
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let state = self.call("list")?;
        let names = state.dirs.get(path).ok_or(io::ErrorKind::NotFound)?;
        let files = names.keys().map(|name| DirEntry { name: name.clone(), is_dir: false });
        let dirs =
            state.dirs.keys().filter(|dir| dir.parent() == Some(path)).filter_map(|dir| {
                Some(DirEntry { name: dir.file_name()?.to_str()?.to_owned(), is_dir: true })
            });
        let mut entries: Vec<DirEntry> = files.chain(dirs).collect();
        entries.sort();
        Ok(entries)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call("create_dir")?;
        // Directories themselves are durable at once: losing one loses only files that nobody acknowledged,
        // which the loss of the files' own names models already.
        for dir in path.ancestors() {
            state.dirs.entry(dir.to_owned()).or_default();
        }
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call("sync_dir")?;
        state.pending.remove(path);
        Ok(())
    }

    fn lock(&self, path: &Path, mode: LockMode) -> Result<Box<dyn LockGuard>, LockError> {
        let mut state = self.state.lock();
        let exclusive = mode == LockMode::Exclusive;
        let entry = state.locks.entry(path.to_owned()).or_insert((0, exclusive));
        if entry.0 > 0 && (exclusive || entry.1) {
            return Err(LockError::Held("another simulated process".into()));
        }
        *entry = (entry.0 + 1, exclusive);
        drop(state);
        Ok(Box::new(SimLock { storage: self.clone(), path: path.to_owned() }))
    }
}
