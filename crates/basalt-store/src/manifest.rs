// SPDX-License-Identifier: Apache-2.0
//! What the database consists of at one moment: tables, regions, store files, numbers to hand out next.
//!
//! A manifest is a value. It is never changed in place on disk: every change writes a whole new file
//! `MANIFEST-<20 digits>` and the highest valid one counts (see [`store`]).

use std::collections::BTreeMap;

use basalt_model::{KeyRange, Seq, TableDescriptor, TableId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::ids::{FileId, RegionId};

mod hex;

/// One store file of one family of one region: what can be known without opening it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMeta {
    /// Identity; also the file's name on disk.
    pub id: FileId,
    /// Size on disk in bytes.
    pub size_bytes: u64,
    /// Number of cells, delete markers included.
    pub cells: u64,
    /// Number of distinct rows.
    pub rows: u64,
    /// Number of delete markers.
    pub deletes: u64,
    /// Size of the cells before encoding and compression, in bytes.
    pub raw_bytes: u64,
    /// Row of the first cell.
    #[serde(with = "hex")]
    pub first_row: Bytes,
    /// Row of the last cell, inclusive.
    #[serde(with = "hex")]
    pub last_row: Bytes,
    /// Oldest timestamp of a cell.
    pub timestamp_min: i64,
    /// Newest timestamp of a cell.
    pub timestamp_max: i64,
    /// Oldest commit that a cell of the file may come from.
    pub seq_min: Seq,
    /// Newest commit that a cell of the file may come from.
    pub seq_max: Seq,
    /// Set for bulk-ingested files: every cell reads with this number whatever the file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq_override: Option<Seq>,
    /// When the file was written, milliseconds since the epoch.
    pub created_ms: i64,
}
