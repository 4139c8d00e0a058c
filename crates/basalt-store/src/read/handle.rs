// SPDX-License-Identifier: Apache-2.0
//! A file on storage, however many regions list it: one reader, one decision about its end.
//!
//! The file is removed with the last handle on it, once no manifest names it. There is one handle per file at a time
//! ([`FileHandles`]), so that nobody still reads what another one removes.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use basalt_hfile::HFileReader;
use parking_lot::Mutex;

use crate::env::{DiskCache, Env, FileRead};
use crate::{Error, FileId, Result};

/// See the module.
pub(crate) struct FileHandle {
    path: PathBuf,
    env: Env,
    disk_cache: Option<Arc<DiskCache>>,
    reader: OnceLock<HFileReader>,
    /// Where there is a disk cache, the way through it that leaves nothing there.
    passing: OnceLock<Arc<dyn FileRead>>,
    opening: Mutex<()>,
    obsolete: AtomicBool,
    favoured: AtomicBool,
}

impl FileHandle {
    /// The file at `path`; touches nothing yet.
    pub(crate) fn new(env: Env, path: PathBuf, disk_cache: Option<Arc<DiskCache>>) -> Self {
        Self {
            path,
            env,
            disk_cache,
            reader: OnceLock::new(),
            passing: OnceLock::new(),
            opening: Mutex::new(()),
            obsolete: AtomicBool::new(false),
            favoured: AtomicBool::new(false),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// See [`super::StoreFile::mark_obsolete`].
    pub(crate) fn mark_obsolete(&self) {
        self.obsolete.store(true, Relaxed);
    }

    /// See [`super::StoreFile::favour`].
    pub(super) fn favour(&self, favoured: bool) {
        self.favoured.store(favoured, Relaxed);
    }

    pub(super) fn is_favoured(&self) -> bool {
        self.favoured.load(Relaxed)
    }

    fn open(&self) -> io::Result<Arc<dyn FileRead>> {
        let file = self.env.storage.open(&self.path)?;
        match &self.disk_cache {
            Some(cache) => {
                let near = cache.read_through(file)?;
                let _ = self.passing.set(near.passing());
                Ok(Arc::new(near))
            }
            None => Ok(file),
        }
    }

    /// Where there is a disk cache and the file is open: the way through it for those who leave nothing there.
    pub(super) fn passing(&self) -> Option<&Arc<dyn FileRead>> {
        self.passing.get()
    }

    /// The reader, if somebody opened the file.
    pub(super) fn opened(&self) -> Option<&HFileReader> {
        self.reader.get()
    }

    /// The reader, made by `open` the first time.
    pub(super) fn reader(
        &self,
        open: impl FnOnce(Arc<dyn FileRead>) -> Result<HFileReader>,
    ) -> Result<&HFileReader> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let _one_at_a_time = self.opening.lock();
        if self.reader.get().is_none() {
            let opened = open(self.open().map_err(Error::io("open", &self.path))?)?;
            let _ = self.reader.set(opened);
        }
        Ok(self.reader.get().expect("set above, under the lock"))
    }
}

impl Drop for FileHandle {
    fn drop(&mut self) {
        if self.obsolete.load(Relaxed) {
            // A file that stays behind is found and removed when the database is opened next.
            let _ = self.env.storage.remove(&self.path);
        }
    }
}

/// The handles of a database, and what they read through.
pub(crate) struct FileHandles {
    known: Mutex<Known>,
    disk_cache: Option<Arc<DiskCache>>,
}

#[derive(Default)]
struct Known {
    by_id: HashMap<FileId, Weak<FileHandle>>,
    /// Entries at which those without a handle are cleared away.
    clear_at: usize,
}

/// Entries that are kept without looking whether they are needed.
const CLEAR_AT_MIN: usize = 256;

impl FileHandles {
    pub(crate) fn new(disk_cache: Option<Arc<DiskCache>>) -> Self {
        Self { known: Mutex::default(), disk_cache }
    }

    /// The second tier of the block cache, if there is one.
    pub(crate) fn disk_cache(&self) -> Option<&Arc<DiskCache>> {
        self.disk_cache.as_ref()
    }

    /// The handle of a file. The manifest names it, or is about to name it no more.
    pub(crate) fn of(&self, env: &Env, id: FileId, path: &Path) -> Arc<FileHandle> {
        let mut known = self.known.lock();
        if let Some(handle) = known.by_id.get(&id).and_then(Weak::upgrade) {
            return handle;
        }
        let handle = Arc::new(FileHandle::new(env.clone(), path.to_owned(), self.disk_cache.clone()));
        known.by_id.insert(id, Arc::downgrade(&handle));
        if known.by_id.len() > known.clear_at.max(CLEAR_AT_MIN) {
            known.by_id.retain(|_, handle| handle.strong_count() > 0);
            known.clear_at = 2 * known.by_id.len();
        }
        handle
    }
}
