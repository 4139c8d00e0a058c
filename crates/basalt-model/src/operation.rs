// SPDX-License-Identifier: Apache-2.0
//! What a program asks of a table of cells: puts, deletes, increments, appends, conditional changes, gets and
//! scans, as values. The names and meanings are those of HBase's client.
//!
//! ```
//! use basalt_model::operation::{Delete, Get, Put, Scan};
//! let put = Put::new("row1").add("d", "name", "Ada").add_at("d", "born", 1_000, "1815");
//! let delete = Delete::new("row2").column("d", "name");
//! let get = Get::new("row1").column("d", "name").versions(3);
//! let scan = Scan::new().start("row1").stop_inclusive("row9").family("d").limit(10);
//! assert_eq!((put.row(), delete.row(), get.row()), (&b"row1"[..], &b"row2"[..], &b"row1"[..]));
//! assert!(!scan.is_reversed());
//! ```

mod change;
mod condition;
mod read;

use serde::{Deserialize, Serialize};

pub use change::{Append, Delete, DeletePart, Increment, Mutation, NewCell, Put};
pub use condition::{CheckAndMutate, Condition};
pub use read::{Get, ReadOptions, Scan, Selection, TimeRange};

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// At once, without the log: lost at a crash before the next flush. The only choice with which a crash may
    /// keep one part of a batch and lose another, if its rows are of several tables or regions.
    Skip,
    /// After it was given to the operating system; synced a moment later.
    Async,
    /// After it is on disk.
    #[default]
    Sync,
    /// After it is on disk together with all metadata of the log file.
    Fsync,
}

impl Durability {
    /// By HBase's name: `SKIP_WAL`, `ASYNC_WAL`, `SYNC_WAL`, `FSYNC_WAL`; `USE_DEFAULT` is what holds without any.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_uppercase().as_str() {
            "SKIP_WAL" => Some(Self::Skip),
            "ASYNC_WAL" => Some(Self::Async),
            "SYNC_WAL" => Some(Self::Sync),
            "FSYNC_WAL" => Some(Self::Fsync),
            "USE_DEFAULT" => Some(Self::default()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
