// SPDX-License-Identifier: Apache-2.0
//! A store file that some version uses.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::env::{FileRead, Storage};
use crate::manifest::FileMeta;

/// An open store file. When the manifest has dropped it and the last version that uses it is gone, it removes
/// itself from the disk; what a crash leaves behind, the next opening removes.
#[derive(Debug)]
pub(crate) struct LiveFile {
    pub(crate) meta: FileMeta,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn FileRead>,
    storage: Arc<dyn Storage>,
    obsolete: AtomicBool,
}

impl LiveFile {
    pub(crate) fn new(meta: FileMeta, path: PathBuf, file: Arc<dyn FileRead>, storage: Arc<dyn Storage>) -> Self {
        Self { meta, path, file, storage, obsolete: AtomicBool::new(false) }
    }

    /// The manifest no longer names the file.
    pub(crate) fn mark_obsolete(&self) {
        self.obsolete.store(true, Relaxed);
    }
}

impl Drop for LiveFile {
    fn drop(&mut self) {
        if self.obsolete.load(Relaxed) {
            // Best effort: an orphan is removed by the next opening.
            let _ = self.storage.remove(&self.path);
        }
    }
}
