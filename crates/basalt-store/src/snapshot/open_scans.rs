// SPDX-License-Identifier: Apache-2.0
//! Which commits open scans read at. They keep their files, but HBase's rule is visible and kept: a delete marker
//! leaves the files only when no open scan is older, and hides until then what is put with an older timestamp.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_model::Seq;
use parking_lot::Mutex;

/// The commits, each with the number of scans that read at it.
#[derive(Debug, Default)]
pub(crate) struct OpenScans(Mutex<BTreeMap<u64, usize>>);

/// One open scan.
#[derive(Debug)]
pub(crate) struct OpenScan {
    scans: Arc<OpenScans>,
    seq: u64,
}

impl OpenScans {
    /// Opens a scan at `seq`; it is open until the result is dropped.
    pub(crate) fn open(self: &Arc<Self>, seq: Seq) -> OpenScan {
        *self.0.lock().entry(seq.0).or_default() += 1;
        OpenScan { scans: Arc::clone(self), seq: seq.0 }
    }

    /// The oldest commit that a scan reads at; `u64::MAX` if none is open.
    pub(crate) fn oldest(&self) -> u64 {
        self.0.lock().keys().next().copied().unwrap_or(u64::MAX)
    }
}

impl Drop for OpenScan {
    fn drop(&mut self) {
        let mut scans = self.scans.0.lock();
        if let Some(count) = scans.get_mut(&self.seq) {
            *count -= 1;
            if *count == 0 {
                scans.remove(&self.seq);
            }
        }
    }
}
