// SPDX-License-Identifier: Apache-2.0
//! The one scan path: from store files and memtables to the cells that a reader sees.
//!
//! ```text
//! CellSource   a store file, a run of files, a memtable                    read/source.rs, file.rs
//!    |  runs of cells in key order
//! Merge        lone stretches whole, shared rows cell by cell              read/merge.rs
//!    |  stretches, nothing dropped
//! Resolver     VERSIONS, TTL, delete markers                               read/resolve.rs
//!    |  runs of visible cells of one family                                read/family.rs
//! CellScan     key ranges, families of a row side by side, chunks          read/scan.rs
//!    |  for SQL tables
//! RowScan      record batches                                              read/rows.rs
//!    |  of several families: a scan of each, put together by their keys    read/apart.rs
//! RowBatches   either of them                                              read/row_batches.rs
//!    ^  row groups of COLUMNAR that nothing else concerns come without the steps above, read/straight.rs
//! ```
//!
//! Readers of cells with wishes of their own (columns, times, filters, limits, backwards) branch off at the merge:
//!
//! ```text
//! Merge
//!    |
//! FamilyScan   a matcher per family; plain rows pass whole                 read/family_scan.rs, matcher.rs
//! RegionScan   families under one filter, row by row                       read/region_scan.rs, filter.rs
//! Rows         regions, limits                                             read/table_scan.rs
//! ```
//!
//! [`get_row`] is the short way for one row, [`point`] the shortest for one that lies whole in one place;
//! [`segments`] cuts a scan into parts for several threads.
//!
//! What this folder leaves to others: which files and memtables a snapshot consists of. A snapshot's `seq_max`
//! must not be below a commit of a file that a compaction wrote, because such a file may have forgotten the
//! sequence numbers of its cells; a flush may be ahead of it.
//!
//! The rule it protects: the fast path (whole plain blocks of a source that stands alone) and the plain way
//! (cell by cell) give the same answer; the second is kept in the tests as the oracle of the first.

mod access;
mod apart;
mod cache;
mod cell_columns;
mod family;
mod family_scan;
mod file;
mod filter;
mod get;
mod handle;
mod known_values;
mod marks;
mod matcher;
mod merge;
mod part;
pub(crate) mod point;
mod region_scan;
mod resolve;
mod result;
mod row_batches;
mod rows;
mod scan;
mod seek;
mod segments;
mod source;
mod straight;
mod table_scan;
#[cfg(test)]
pub(crate) mod testing;

pub use access::{Keep, ReadAccess, ReadCounters};
pub use apart::RowsApart;
pub(crate) use apart::{NextRanges, can_be_apart};
pub(crate) use cache::WorkingMemory;
pub use cache::{BlockCache, CacheStats};
pub use cell_columns::CellColumns;
pub use family::{BoxedSource, FamilyInput, SourceMaker};
pub(crate) use family::{FamilyStream, file_sources};
pub(crate) use family_scan::Limits;
pub use file::StoreFile;
pub(crate) use file::disjoint_lists;
pub use filter::FilterFault;
pub(crate) use filter::compile as compile_filter;
pub use get::get_row;
pub(crate) use get::{RowsInput, get_rows};
pub(crate) use handle::FileHandles;
pub use known_values::KnownValues;
pub(crate) use matcher::Wishes;
pub(crate) use part::{middle_row, part_of};
pub use resolve::{Purpose, Rules};
pub use result::Row;
pub use row_batches::RowBatches;
pub use rows::{Condition, RowBatch, RowRequest, RowScan, families_of};
pub use scan::{CellScan, RegionInput};
pub use segments::{Boundary, Segment, cut, file_blocks, file_boundaries, file_bytes, segments};
pub use source::{CellSource, RunList};
pub(crate) use table_scan::{FamilyPlan, RegionPlan, TableScanPlan, may_concern};
pub use table_scan::{Rows, Step};
