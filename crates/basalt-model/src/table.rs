// SPDX-License-Identifier: Apache-2.0
//! Tables and families as the store knows them: names, ids and the family attributes that decide how cells
//! are kept. What SQL adds (columns, types, primary key) is [`crate::schema::TableSchema`].

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::index::IndexDescriptor;
use crate::schema::TableSchema;
use crate::{Durability, FAMILY_LEN_MAX};

mod attributes;

pub use attributes::{AttributeError, BLOOM_ROW_PREFIX, MAJOR_COMPACTION, ROW_PREFIX_LENGTH};

/// Identity of a table for its whole life; a name that is dropped and created again gets a new id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableId(pub u64);

/// Namespace and name. SQL's schema is the namespace; tables without one live in `default`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableName {
    /// HBase's namespace, Phoenix's schema.
    pub namespace: String,
    /// The table itself.
    pub name: String,
}

/// The namespace of tables that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

impl TableName {
    /// A table in the namespace `default`.
    pub fn in_default(name: impl Into<String>) -> Self {
        Self { namespace: DEFAULT_NAMESPACE.into(), name: name.into() }
    }

    /// A table in the given namespace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for TableName {
    /// `T` in the default namespace, `S.T` elsewhere, as SQL writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace == DEFAULT_NAMESPACE {
            f.write_str(&self.name)
        } else {
            write!(f, "{}.{}", self.namespace, self.name)
        }
    }
}

/// Which of two cells of one column wins when a delete marker is involved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeleteRule {
    /// HBase's default: a delete marker hides every put with a timestamp at or below its own, also one
    /// written later, until a major compaction removes the marker.
    #[default]
    ByTimestamp,
    /// HBase's NEW_VERSION_BEHAVIOR: a delete marker hides only what was written before it, and what was beyond VERSIONS once
    /// never comes back.
    BySequence,
}

/// Whether deleted cells and markers outlive a compaction (HBase's KEEP_DELETED_CELLS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepDeletedCells {
    /// Deleted cells leave at the next major compaction.
    #[default]
    False,
    /// Deleted cells stay until TTL or VERSIONS removes them.
    True,
    /// Deleted cells stay until their TTL.
    Ttl,
}

/// One column family and how its cells are kept. Attribute names are HBase's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyDescriptor {
    /// Family name, 1 to 127 printable bytes without `:`.
    pub name: String,
    /// VERSIONS: versions kept per column. Default 1.
    pub versions_max: u32,
    /// MIN_VERSIONS: versions kept even when older than the TTL. Default 0.
    pub versions_min: u32,
    /// TTL in seconds; `None` for ever (HBase's FOREVER).
    pub ttl_secs: Option<u64>,
    /// KEEP_DELETED_CELLS.
    pub keep_deleted_cells: KeepDeletedCells,
    /// DATA_BLOCK_ENCODING by name, e.g. `NONE`.
    pub encoding: String,
    /// COMPRESSION by name, e.g. `ZSTD`.
    pub compression: String,
    /// BLOOMFILTER: `NONE`, `ROW`, `ROWCOL` or [`BLOOM_ROW_PREFIX`].
    pub bloom: String,
    /// BLOCKSIZE in bytes of unencoded cells. Default 65,536.
    pub block_bytes: u32,
    /// NEW_VERSION_BEHAVIOR.
    pub delete_rule: DeleteRule,
    /// IN_MEMORY: blocks of this family stay in the cache longer than others. Default false.
    #[serde(default)]
    pub in_memory: bool,
    /// BLOCKCACHE: blocks that are read go into the cache. Default true.
    #[serde(default = "yes")]
    pub cache_blocks: bool,
    /// `hbase.hregion.majorcompaction`, in milliseconds: how often everything that no reader sees leaves the files at
    /// the latest. Default none: when files are rewritten anyway.
    #[serde(default)]
    pub major_compaction_ms: Option<u64>,
    /// Attributes that Basalt does not know; kept as given.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

fn yes() -> bool {
    true
}

impl FamilyDescriptor {
    /// True if a family may have this name: 1 to [`FAMILY_LEN_MAX`] bytes, no control character, no `:` or `/`, no dot at
    /// the front.
    pub fn is_name(name: &str) -> bool {
        let forbidden = |c: char| c.is_control() || matches!(c, ':' | '/');
        (1..=FAMILY_LEN_MAX).contains(&name.len()) && !name.contains(forbidden) && !name.starts_with('.')
    }

    /// A family with HBase's defaults, but for its blocks, which are COLUMNAR.
    pub fn new(name: impl Into<String>) -> Self {
        Self { encoding: "COLUMNAR".into(), ..Self::of_hbase(name) }
    }

    /// A family with HBase's defaults, whose files HBase can read.
    pub fn of_hbase(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            versions_max: 1,
            versions_min: 0,
            ttl_secs: None,
            keep_deleted_cells: KeepDeletedCells::False,
            encoding: "NONE".into(),
            compression: "NONE".into(),
            bloom: "ROW".into(),
            block_bytes: 65_536,
            delete_rule: DeleteRule::ByTimestamp,
            in_memory: false,
            cache_blocks: true,
            major_compaction_ms: None,
            attributes: BTreeMap::new(),
        }
    }
}

/// A table: its name, families (sorted by name, unique) and, for tables made in SQL, its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDescriptor {
    /// Namespace and name.
    pub name: TableName,
    /// At least one family.
    pub families: Vec<FamilyDescriptor>,
    /// Columns, types and primary key; `None` for tables made through the cell API.
    #[serde(default)]
    pub schema: Option<TableSchema>,
    /// Table attributes that Basalt does not know; kept as given.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// Set if the table is the index of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexDescriptor>,
}

impl TableDescriptor {
    /// A table without families, which it needs before it can be created.
    pub fn new(name: TableName) -> Self {
        Self { name, families: Vec::new(), schema: None, attributes: BTreeMap::new(), index: None }
    }

    /// Adds a family, or replaces the one of its name.
    #[must_use]
    pub fn family(mut self, family: FamilyDescriptor) -> Self {
        self.families.retain(|known| known.name != family.name);
        self.families.push(family);
        self.families.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// False if HBase's attribute COMPACTION_ENABLED says that store files stay as they are.
    pub fn compaction_enabled(&self) -> bool {
        !self
            .attributes
            .get("COMPACTION_ENABLED")
            .is_some_and(|value| value.trim().eq_ignore_ascii_case("false"))
    }

    /// Largest cell that the table takes, in bytes of key, value and tags: HBase's attribute
    /// `hbase.server.keyvalue.maxsize`. `None` if it says nothing; without bound if it is 0 or less.
    pub fn cell_bytes_max(&self) -> Option<u64> {
        let max: i64 = self.attributes.get("hbase.server.keyvalue.maxsize")?.trim().parse().ok()?;
        Some(u64::try_from(max).ok().filter(|&max| max > 0).unwrap_or(u64::MAX))
    }

    /// The durability of writes that ask for none: HBase's attribute DURABILITY, else that of Phoenix's DISABLE_WAL.
    pub fn durability(&self) -> Durability {
        let asked = self.attributes.get("DURABILITY").and_then(|name| Durability::from_name(name));
        let without_log =
            self.attributes.get("DISABLE_WAL").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        asked.unwrap_or(if without_log { Durability::Skip } else { Durability::default() })
    }
}

#[cfg(test)]
mod tests;
