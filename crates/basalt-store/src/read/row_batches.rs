// SPDX-License-Identifier: Apache-2.0
//! The rows of a SQL table as a reader gets them: of all families together, or put together from scans of each.

use std::sync::Arc;

use basalt_hfile::typed::Totals;

use super::access::ReadCounters;
use super::apart::RowsApart;
use super::rows::{RowBatch, RowScan};
use crate::Result;

/// Rows of a scan, some thousands at a time. With a condition a batch may be empty: the scan has looked at a million rows, and lets its
/// caller do something else.
///
/// After an error there are no more batches.
#[derive(Debug)]
pub enum RowBatches {
    /// By one scan.
    Together(Box<RowScan>),
    /// By one scan for each family.
    Apart(Box<RowsApart>),
}

impl RowBatches {
    /// What the scan has read so far; goes on counting while it runs.
    pub fn counters(&self) -> &Arc<ReadCounters> {
        match self {
            Self::Together(scan) => scan.counters(),
            Self::Apart(rows) => rows.counters(),
        }
    }

    /// What the rows come to that were added up so far, and were in no batch.
    pub fn totals(&self) -> Option<&Totals> {
        match self {
            Self::Together(scan) => scan.totals(),
            Self::Apart(_) => None,
        }
    }
}

impl Iterator for RowBatches {
    type Item = Result<RowBatch>;

    fn next(&mut self) -> Option<Result<RowBatch>> {
        match self {
            Self::Together(scan) => scan.next(),
            Self::Apart(rows) => rows.next(),
        }
    }
}
