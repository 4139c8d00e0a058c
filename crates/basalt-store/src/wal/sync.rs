// SPDX-License-Identifier: Apache-2.0
//! Syncs of the log that run while others append to it.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::env::{FileSync, SyncKind};
use crate::error::{Error, Result};

/// What all syncs of a log share.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    /// Held while a sync runs. The system tells of a failure once: of two syncs at a time one would seem to have gone well.
    turn: Mutex<()>,
    failed: OnceLock<Arc<io::Error>>,
}

impl Syncs {
    /// An error if the log has failed (rule 3 of [`super`]).
    pub(super) fn check(&self) -> Result<()> {
        match self.failed.get() {
            Some(source) => Err(Error::LogFailed { source: Arc::clone(source) }),
            None => Ok(()),
        }
    }

    /// The log takes nothing more.
    pub(super) fn fail(&self, source: io::Error) -> Error {
        Error::LogFailed { source: Arc::clone(self.failed.get_or_init(|| Arc::new(source))) }
    }
}

/// A sync that was asked for. It makes durable what was appended before, and needs no lock of the log.
#[derive(Debug)]
pub(crate) struct PendingSync {
    pub(super) file: Arc<dyn FileSync>,
    /// Where the last frame ends.
    pub(super) end: u64,
    /// How far the segment is durable.
    pub(super) durable_end: Arc<AtomicU64>,
    pub(super) syncs: Arc<Syncs>,
}

impl PendingSync {
    /// Runs it, behind a sync that runs already.
    pub(crate) fn run(self, kind: SyncKind) -> Result<()> {
        let _turn = self.syncs.turn.lock();
        self.syncs.check()?;
        if kind == SyncKind::Data && self.durable_end.load(Ordering::Acquire) >= self.end {
            return Ok(());
        }
        self.file.sync(kind).map_err(|error| self.syncs.fail(error))?;
        self.durable_end.fetch_max(self.end, Ordering::AcqRel);
        Ok(())
    }
}
