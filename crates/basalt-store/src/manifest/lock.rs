// SPDX-License-Identifier: Apache-2.0
//! The lock of the manifest, under which it and the version in memory change together.
//!
//! A change is durable first and then made in memory. Whatever came between the two, a panic above all, would leave memory behind: what it
//! compacts later would be of files that the manifest no longer has, beside those that took their place. So whoever lets go of the
//! lock there leaves a database that takes no more changes; an opening finds the manifest and the log, which have everything.

use std::ops::Deref;

use parking_lot::{Mutex, MutexGuard};

use super::Manifest;
use super::store::ManifestStore;
use crate::error::Result;

/// See the module.
#[derive(Debug)]
pub(crate) struct ManifestLock(Mutex<ManifestStore>);

/// The manifest, while nobody else changes it.
pub(crate) struct ManifestGuard<'a> {
    store: MutexGuard<'a, ManifestStore>,
    /// Memory has not followed a change yet.
    is_ahead: bool,
}

impl ManifestLock {
    pub(crate) fn new(store: ManifestStore) -> Self {
        Self(Mutex::new(store))
    }

    pub(crate) fn lock(&self) -> ManifestGuard<'_> {
        ManifestGuard { store: self.0.lock(), is_ahead: false }
    }
}

impl ManifestGuard<'_> {
    /// As [`ManifestStore::change`]. The caller makes the same change in memory and then says [`Self::is_in_memory`].
    pub(crate) fn change(&mut self, edit: impl FnOnce(&mut Manifest)) -> Result<()> {
        self.store.change(edit)?;
        self.is_ahead = true;
        Ok(())
    }

    /// As [`ManifestStore::change`], of what only the manifest has: namespaces, snapshots of tables, numbers to hand out.
    pub(crate) fn change_alone(&mut self, edit: impl FnOnce(&mut Manifest)) -> Result<()> {
        self.store.change(edit).map(drop)
    }

    /// Memory has what was changed.
    pub(crate) fn is_in_memory(&mut self) {
        self.is_ahead = false;
    }

    pub(crate) fn settle(&mut self) -> Result<()> {
        self.store.settle()
    }

    pub(crate) fn close(&mut self) -> Result<()> {
        self.store.close()
    }
}

impl Deref for ManifestGuard<'_> {
    type Target = ManifestStore;

    fn deref(&self) -> &ManifestStore {
        &self.store
    }
}

impl Drop for ManifestGuard<'_> {
    fn drop(&mut self) {
        if self.is_ahead {
            self.store.leave_behind();
        }
    }
}

#[cfg(test)]
mod tests;
