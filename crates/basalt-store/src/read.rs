// SPDX-License-Identifier: Apache-2.0
//! The one scan path: from store files and memtables to the cells that a reader sees.
//!
//! ```text
//! CellSource   a store file, a run of files, a memtable                    read/source.rs, file.rs
//!    |  runs of cells in key order
//! Merge        lone stretches whole, shared rows cell by cell              read/merge.rs
//!    |  stretches, nothing dropped
//! Resolver     VERSIONS, TTL, delete markers                               read/resolve.rs
//!    |  runs of visible cells
//! CellScan     key ranges, families of a row side by side, chunks          read/scan.rs
//! ```
//!
//! What this folder leaves to others: which files and memtables a snapshot consists of, and their lifetime.
//! The rule it protects: the fast path (whole plain blocks of a source that stands alone) and the plain way
//! (cell by cell) give the same answer; the second is kept in the tests as the oracle of the first.

mod merge;
mod resolve;
mod source;
#[cfg(test)]
mod testing;

pub use resolve::{Purpose, Rules};
pub use source::{CellSource, RunList};
