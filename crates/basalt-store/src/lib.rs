// SPDX-License-Identifier: Apache-2.0
//! The store: write-ahead log, memtables, store files, snapshots, compaction. Cells in, sorted cells out;
//! nothing here knows SQL or a socket.

pub mod check;
mod commit;
pub mod compact;
mod database;
pub mod env;
pub mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod ids;
mod index;
mod ingest;
mod layout;
pub mod manifest;
mod memtable;
mod metrics;
mod new_file;
pub mod options;
pub mod read;
mod row_order;
mod snapshot;
mod table;
mod tags;
mod version;
mod wal;
mod workers;

pub use basalt_hfile::CellRun;
pub use check::{CheckReport, Finding, Severity, check};
pub use database::{Database, Ingest, IngestSummary, NamespaceProperties, NewIndex, TableSnapshot};
pub use env::{DiskCacheOptions, Env};
pub use error::{Corruption, Error, Result};
pub use ids::{FileId, RegionId};
pub use index::{IndexChange, IndexKeeper, row_after};
pub use manifest::{FileMeta, FilePart, OwnTtl};
pub use metrics::{CompactionStats, FileStats, Metrics, RegionStats, RunningStats, TableStats};
pub use options::{Durability, OpenOptions, Recovery};
pub use read::{FilterFault, Keep, Row, Rows, Step};
pub use snapshot::{Lookups, ScanOptions, Snapshot};
pub use table::{Action, CheckOutcome, Table};
