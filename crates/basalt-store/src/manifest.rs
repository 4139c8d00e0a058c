// SPDX-License-Identifier: Apache-2.0
//! What the database consists of at one moment: tables, regions, store files, numbers to hand out next.
//!
//! A manifest is a value. It is never changed in place on disk: every change writes a whole new file
//! `MANIFEST-<20 digits>` and the highest valid one counts (see [`store`]).
//!
//! Rule ([`Manifest::check_invariants`]): the regions of a table cover all keys without overlap, every id is
//! below the next one to be handed out, every file lies in a family that its table has, and no row of a file is listed
//! twice in one table. Several regions may list one file ([`part`]), and so may snapshots of tables.

use std::collections::{BTreeMap, BTreeSet};

use basalt_model::{KeyRange, Seq, TableDescriptor, TableId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::ids::{FileId, RegionId};

pub(crate) mod document;
mod hex;
mod listing;
pub(crate) mod lock;
mod part;
pub(crate) mod store;

pub(crate) use listing::Listing;
pub use part::FilePart;

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
    /// When cells with a TTL of their own end; `None` if there are none, or nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_ttl: Option<OwnTtl>,
    /// Set for bulk-ingested files: every cell reads with this number whatever the file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq_override: Option<Seq>,
    /// When the file was written, milliseconds since the epoch.
    pub created_ms: i64,
    /// Directory of the file, relative to the database, if it is not that of the region that lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// Set if only some rows of the file count. Then counts and sizes above are those of the part, about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<FilePart>,
}

/// When the cells of a file end that carry a TTL of their own. Moments are milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTtl {
    /// The last moment at which all of them are seen.
    pub first_ms: i64,
    /// By then half of all cells of the file have ended, but not long before; `None` if fewer ever do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_ms: Option<i64>,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableEntry {
    pub(crate) id: TableId,
    pub(crate) descriptor: TableDescriptor,
    /// Ports serve no reads and writes of it.
    #[serde(default)]
    pub(crate) disabled: bool,
    /// Of an index that is being built: what it has already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) building: Option<BuildEntry>,
}

/// How far the building of an index has come, for a build that begins where another one ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BuildEntry {
    /// The index has the rows of its table before this one, as of its registration or later.
    #[serde(with = "hex")]
    pub(crate) from: Bytes,
    /// The last commit before the registration.
    pub(crate) seq: Seq,
    /// No write that was followed is older.
    pub(crate) timestamp: i64,
    /// Sorted runs of files so far.
    pub(crate) runs: u64,
}

/// One region and its files by family, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RegionEntry {
    pub(crate) id: RegionId,
    pub(crate) table: TableId,
    /// Directory relative to the database; fixed at birth, so that a table can be renamed.
    pub(crate) dir: String,
    #[serde(with = "range_json")]
    pub(crate) range: KeyRange,
    /// Every commit up to and including this one is in the files, not in the log.
    pub(crate) flushed_seq: Seq,
    pub(crate) families: BTreeMap<String, Vec<FileMeta>>,
}

/// A table as it was: files that stay for as long as the snapshot does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotEntry {
    pub(crate) name: String,
    pub(crate) descriptor: TableDescriptor,
    /// When it was taken, milliseconds since the epoch.
    pub(crate) created_ms: i64,
    /// The regions that the table had.
    pub(crate) regions: Vec<RegionEntry>,
}

/// Everything that must be known to open the database, in one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Raised by every opening for writing; a writer of an older epoch has lost the database.
    pub(crate) epoch: u64,
    /// Mixed into the checksums of the log, so that records of another database never look like ours.
    pub(crate) log_id: u64,
    pub(crate) next_table: u64,
    pub(crate) next_region: u64,
    pub(crate) next_file: u64,
    /// No commit up to this number is handed out again, also when no log or file shows it.
    pub(crate) last_seq: Seq,
    /// No commit gets an older timestamp from the clock, even if it was set back.
    #[serde(default)]
    pub(crate) last_timestamp: i64,
    /// First segment of the log that recovery needs; those before it may be gone.
    pub(crate) first_segment: u64,
    /// Namespaces that exist without a table in them, and all others.
    pub(crate) namespaces: BTreeSet<String>,
    /// Properties of those namespaces that have some.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) namespace_properties: BTreeMap<String, BTreeMap<String, String>>,
    pub(crate) tables: Vec<TableEntry>,
    pub(crate) regions: Vec<RegionEntry>,
    /// Snapshots of tables, by name.
    #[serde(default)]
    pub(crate) snapshots: Vec<SnapshotEntry>,
}

impl Manifest {
    /// A database without tables.
    pub(crate) fn empty(log_id: u64) -> Self {
        Self {
            epoch: 0,
            log_id,
            next_table: 1,
            next_region: 1,
            next_file: 1,
            last_seq: Seq(0),
            last_timestamp: 0,
            first_segment: 1,
            namespaces: BTreeSet::from([basalt_model::table::DEFAULT_NAMESPACE.to_owned()]),
            namespace_properties: BTreeMap::new(),
            tables: Vec::new(),
            regions: Vec::new(),
            snapshots: Vec::new(),
        }
    }

    pub(crate) fn region_mut(&mut self, id: RegionId) -> Option<&mut RegionEntry> {
        self.regions.iter_mut().find(|region| region.id == id)
    }

    pub(crate) fn table(&self, id: TableId) -> Option<&TableEntry> {
        self.tables.iter().find(|table| table.id == id)
    }

    /// Gives a namespace other properties.
    pub(crate) fn set_namespace_properties(&mut self, name: &str, properties: BTreeMap<String, String>) {
        match properties.is_empty() {
            true => self.namespace_properties.remove(name),
            false => self.namespace_properties.insert(name.to_owned(), properties),
        };
    }

    pub(crate) fn snapshot(&self, name: &str) -> Option<&SnapshotEntry> {
        self.snapshots.iter().find(|snapshot| snapshot.name == name)
    }

    /// The regions of a table, in no order.
    pub(crate) fn regions_of(&self, table: TableId) -> impl Iterator<Item = &RegionEntry> {
        self.regions.iter().filter(move |region| region.table == table)
    }

    /// What is wrong with the manifest, or nothing. Bytes from disk are checked with it, and every change
    /// before it is written.
    pub(crate) fn check_invariants(&self) -> Result<(), String> {
        self.check_ids()?;
        for table in &self.tables {
            check_regions(&table.descriptor, &self.regions_of(table.id).collect::<Vec<_>>())?;
        }
        let mut names = BTreeSet::new();
        for snapshot in &self.snapshots {
            if !names.insert(&snapshot.name) {
                return Err(format!("two snapshots are named {:?}", snapshot.name));
            }
            check_regions(&snapshot.descriptor, &snapshot.regions.iter().collect::<Vec<_>>())
                .map_err(|what| format!("snapshot {:?}: {what}", snapshot.name))?;
        }
        self.check_listings()
    }

    fn check_ids(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        let mut tables = BTreeSet::new();
        for table in &self.tables {
            if !tables.insert(table.id) || table.id.0 >= self.next_table {
                return Err(format!(
                    "table id {} is not unique or not below {}",
                    table.id.0, self.next_table
                ));
            }
            if !names.insert(&table.descriptor.name) {
                return Err(format!("two tables are named {}", table.descriptor.name));
            }
        }
        for table in &self.tables {
            if let Some(index) = &table.descriptor.index
                && !tables.contains(&index.base)
            {
                let (name, base) = (&table.descriptor.name, index.base.0);
                return Err(format!("index {name} belongs to table {base}, which is not there"));
            }
        }
        let mut regions = BTreeSet::new();
        for region in &self.regions {
            if !regions.insert(region.id) || region.id.0 >= self.next_region {
                return Err(format!(
                    "region id {} is not unique or not below {}",
                    region.id, self.next_region
                ));
            }
            if !tables.contains(&region.table) {
                return Err(format!(
                    "region {} belongs to table {}, which is not there",
                    region.id, region.table.0
                ));
            }
        }
        Ok(())
    }
}

/// The regions of one table, or of a snapshot of one.
fn check_regions(table: &TableDescriptor, regions: &[&RegionEntry]) -> Result<(), String> {
    let mut ranges: Vec<&KeyRange> = regions.iter().map(|region| &region.range).collect();
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    let mut next = Some(Bytes::new());
    for range in ranges {
        if next.as_ref() != Some(&range.start) {
            return Err(format!("the regions of table {} have a gap or overlap", table.name));
        }
        next = range.end.clone();
    }
    if next.is_some() {
        return Err(format!("the regions of table {} do not reach the end", table.name));
    }
    listing::check_rows(table, regions)
}

mod range_json {
    //! A key range as `{"start": hex, "end": hex or null}`.
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    struct Json {
        start: String,
        end: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(range: &KeyRange, serializer: S) -> Result<S::Ok, S::Error> {
        let end = range.end.as_ref().map(|end| hex::encode(end));
        Json { start: hex::encode(&range.start), end }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<KeyRange, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let key = |text: &str| hex::decode(text).ok_or_else(|| D::Error::custom("key is not hexadecimal"));
        Ok(KeyRange { start: key(&json.start)?, end: json.end.as_deref().map(key).transpose()? })
    }
}

#[cfg(test)]
mod tests;
