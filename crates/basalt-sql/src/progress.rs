// SPDX-License-Identifier: Apache-2.0
//! How far a statement is: counters that the running statement adds to and a progress bar reads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

/// Counters of one statement. Cheap to add to from any thread.
#[derive(Debug, Default)]
pub struct Progress {
    rows: AtomicU64,
    bytes: AtomicU64,
    rows_total: AtomicU64,
    bytes_total: AtomicU64,
    rows_written: AtomicU64,
    phase: Mutex<&'static str>,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressReading {
    /// What the statement does, e.g. `reading`; empty before it begins.
    pub phase: &'static str,
    /// Rows read from tables, or written when nothing is read.
    pub rows: u64,
    /// Bytes read from tables.
    pub bytes: u64,
    /// About how many rows will be read, when that is known.
    pub rows_total: Option<u64>,
    /// About how many bytes will be read, when that is known.
    pub bytes_total: Option<u64>,
    /// Rows written so far.
    pub rows_written: u64,
}

impl Progress {
    /// The counters now.
    pub fn read(&self) -> ProgressReading {
        let known = |total: &AtomicU64| Some(total.load(Relaxed)).filter(|&total| total > 0);
        ProgressReading {
            phase: *self.phase.lock(),
            rows: self.rows.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            rows_total: known(&self.rows_total),
            bytes_total: known(&self.bytes_total),
            rows_written: self.rows_written.load(Relaxed),
        }
    }

    pub(crate) fn enter(&self, phase: &'static str) {
        *self.phase.lock() = phase;
    }

    pub(crate) fn expect(&self, rows: u64, bytes: u64) {
        self.rows_total.fetch_add(rows, Relaxed);
        self.bytes_total.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn add_read(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn add_written(&self, rows: u64) {
        self.rows_written.fetch_add(rows, Relaxed);
    }
}
