// SPDX-License-Identifier: Apache-2.0
//! Manifests on disk.
//!
//! ```text
//! MANIFEST-00000000000000000007:
//! basalt manifest 2 1234 9a3bc01d\n        magic, format version, bytes of JSON, their CRC-32C in hexadecimal
//! {"epoch": 3, …}
//! ```
//!
//! The protocol of a change:
//!
//! 1. Write `MANIFEST-n.tmp`, sync it.
//! 2. Rename it to `MANIFEST-n`, sync the directory. Only now does the change count.
//! 3. Remove manifests older than `n - 1`. The one before stays, for people with a problem.
//!
//! A number is never used twice, also not after a failure. If step 2 fails, the disk may show the change or
//! not (*uncertain*); the store then writes the old content under the next number at once, and while that does
//! not succeed either, it takes no writes, because they could be acknowledged and then not be seen by an
//! opening that starts from the change. Until that is settled no file is removed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::env::{Env, SyncKind};
use crate::error::{Error, Result};
use crate::layout;
use crate::manifest::{Manifest, document};

/// The format written, and the newest that is read. Since 2, regions share files, there are snapshots of tables, and indexes.
pub(crate) const FORMAT: u32 = 2;
const MAGIC: &str = "basalt manifest";

/// The current manifest and the way to change it. The caller serialises changes.
#[derive(Debug)]
pub(crate) struct ManifestStore {
    env: Env,
    root: PathBuf,
    current: Arc<Manifest>,
    /// Number of the last file attempted.
    number: u64,
    /// Numbers of the files that may exist.
    on_disk: Vec<u64>,
    uncertain: Arc<AtomicBool>,
    /// The database is closed: its directory may be another's.
    is_closed: bool,
    /// A change is not in memory, see [`ManifestStore::leave_behind`].
    is_ahead: bool,
}

/// What a directory says about its manifests.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing at all, or no directory.
    Empty,
    /// The highest valid manifest, the numbers of all, and the errors of those above it that do not read.
    Manifest { manifest: Box<Manifest>, numbers: Vec<u64>, damaged: Vec<Error> },
}

/// Looks for the manifest of the database at `root`; changes nothing.
pub(crate) fn find(env: &Env, root: &Path) -> Result<Found> {
    let entries = match env.storage.list(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Empty),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(Error::NotADatabase { path: root.to_owned(), found: "it is not a directory" });
        }
        Err(error) => return Err(Error::io("list", root)(error)),
    };
    let mut numbers: Vec<u64> =
        entries.iter().filter_map(|entry| layout::parse_manifest_name(&entry.name)).collect();
    numbers.sort_unstable();
    let mut damaged = Vec::new();
    for &number in numbers.iter().rev() {
        match read(env, &root.join(layout::manifest_name(number))) {
            Ok(manifest) => return Ok(Found::Manifest { manifest: Box::new(manifest), numbers, damaged }),
            Err(error @ Error::Corrupt(_)) => damaged.push(error),
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = damaged.into_iter().next() {
        return Err(error);
    }
    // An opening that was interrupted before its first manifest leaves these behind and nothing of value.
    let ours = |name: &str| {
        name == layout::LOCK
            || name == layout::WAL_DIR
            || name == layout::DATA_DIR
            || layout::is_manifest_temporary(name)
    };
    if entries.iter().all(|entry| ours(&entry.name)) {
        let (wal, data) = (root.join(layout::WAL_DIR), root.join(layout::DATA_DIR));
        if holds_something(env, &wal)? || holds_something(env, &data)? {
            // Never an empty directory: what is in it would be taken for leftovers and removed.
            let found = "it has data or a write-ahead log but no manifest";
            return Err(Error::NotADatabase { path: root.to_owned(), found });
        }
        return Ok(Found::Empty);
    }
    Err(Error::NotADatabase { path: root.to_owned(), found: "it holds other files and no manifest" })
}

fn holds_something(env: &Env, dir: &Path) -> Result<bool> {
    match env.storage.list(dir) {
        Ok(entries) => Ok(!entries.is_empty()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("list", dir)(error)),
    }
}

/// Reads and checks one manifest file.
pub(crate) fn read(env: &Env, path: &Path) -> Result<Manifest> {
    let file = env.storage.open(path).map_err(Error::io("open", path))?;
    let bytes = file.read_at(0, file.size() as usize).map_err(Error::io("read", path))?;
    decode(&bytes, path)
}

/// The bytes of a manifest file.
pub(crate) fn encode(manifest: &Manifest) -> Vec<u8> {
    document::encode(MAGIC, FORMAT, manifest)
}

/// The manifest of a file's bytes, checked; `path` is named in errors.
pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Manifest> {
    let (manifest, json_at): (Manifest, _) = document::decode(MAGIC, FORMAT, bytes, path)?;
    manifest.check_invariants().map_err(|what| Error::corrupt(path, json_at, what))?;
    Ok(manifest)
}

impl ManifestStore {
    /// Takes over what [`find`] found. Nothing is written before the first change.
    pub(crate) fn new(env: Env, root: PathBuf, current: Manifest, numbers: Vec<u64>) -> Self {
        let number = numbers.last().copied().unwrap_or(0);
        let current = Arc::new(current);
        let uncertain = Arc::default();
        Self { env, root, current, number, on_disk: numbers, uncertain, is_closed: false, is_ahead: false }
    }

    pub(crate) fn current(&self) -> &Arc<Manifest> {
        &self.current
    }

    /// True while it is unknown which manifest an opening would find.
    pub(crate) fn uncertain(&self) -> bool {
        self.uncertain.load(Ordering::Acquire)
    }

    /// The flag behind [`ManifestStore::uncertain`], for writers that do not hold the manifest's lock.
    pub(crate) fn uncertain_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.uncertain)
    }

    /// Makes a change durable. After an error the change is not in force, here or after an opening, unless
    /// [`ManifestStore::uncertain`] says so.
    pub(crate) fn change(&mut self, edit: impl FnOnce(&mut Manifest)) -> Result<Arc<Manifest>> {
        if self.is_closed {
            return Err(Error::Closed);
        }
        if self.uncertain() {
            self.settle()?;
        }
        let mut next = Manifest::clone(&self.current);
        edit(&mut next);
        next.check_invariants()
            .map_err(|what| Error::Invalid(format!("refused to write a wrong manifest: {what}")))?;
        match self.write(&next) {
            Ok(()) => {
                self.current = Arc::new(next);
                Ok(Arc::clone(&self.current))
            }
            Err(error) => {
                if self.uncertain() {
                    // If this fails as well, the flag stays and the next change or write tries again.
                    let _ = self.settle();
                }
                Err(error)
            }
        }
    }

    /// Takes no more changes, and writers that look at [`ManifestStore::uncertain_flag`] hear why: memory is behind what is in force here.
    pub(crate) fn leave_behind(&mut self) {
        self.is_ahead = true;
        self.uncertain.store(true, Ordering::Release);
    }

    /// Takes no more changes, and ends uncertainty.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.is_closed = true;
        self.settle()
    }

    /// Ends uncertainty by writing the content in force under a higher number; an error if that is not in memory.
    pub(crate) fn settle(&mut self) -> Result<()> {
        if self.is_ahead {
            return Err(Error::MemoryBehind);
        }
        if self.uncertain() {
            let current = Arc::clone(&self.current);
            self.write(&current)?;
        }
        Ok(())
    }

    fn write(&mut self, manifest: &Manifest) -> Result<()> {
        self.number += 1;
        let number = self.number;
        let storage = Arc::clone(&self.env.storage);
        let temporary = self.root.join(layout::manifest_temporary_name(number));
        if let Err(error) = self.write_temporary(&temporary, &encode(manifest)) {
            // Best effort: the next opening removes it otherwise.
            let _ = storage.remove(&temporary);
            return Err(error);
        }
        self.on_disk.push(number);
        let path = self.root.join(layout::manifest_name(number));
        self.uncertain.store(true, Ordering::Release);
        storage.rename(&temporary, &path).map_err(Error::io("rename", &temporary))?;
        storage.sync_dir(&self.root).map_err(Error::io("sync", &self.root))?;
        self.uncertain.store(false, Ordering::Release);
        self.remove_old();
        Ok(())
    }

    fn write_temporary(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = self.env.storage.create(path).map_err(Error::io("create", path))?;
        file.append(bytes).map_err(Error::io("write", path))?;
        file.sync(SyncKind::All).map_err(Error::io("sync", path))
    }

    /// Keeps the last two. What cannot be removed now is tried again after the next change.
    fn remove_old(&mut self) {
        let keep_from = self.on_disk.len().saturating_sub(2);
        let old: Vec<u64> = self.on_disk.drain(..keep_from).collect();
        for number in old {
            let removed = self.env.storage.remove(&self.root.join(layout::manifest_name(number)));
            let gone =
                removed.as_ref().err().is_none_or(|error| error.kind() == std::io::ErrorKind::NotFound);
            if !gone {
                self.on_disk.insert(0, number);
            }
        }
    }
}

#[cfg(test)]
mod tests;
