// SPDX-License-Identifier: Apache-2.0
//! Family attributes by HBase's names, as texts: how clients and `describe` write them.
//!
//! ```
//! use basalt_model::FamilyDescriptor;
//! let mut family = FamilyDescriptor::new("d");
//! family.set("VERSIONS", "3").unwrap();
//! family.set("TTL", "86400").unwrap();
//! assert_eq!((family.versions_max, family.ttl_secs), (3, Some(86_400)));
//! assert_eq!(
//!     family.set("VERSIONS", "many").unwrap_err().to_string(),
//!     "family attribute VERSIONS must be a number from 1 to 2147483647; found many"
//! );
//! ```

use std::collections::BTreeMap;

use super::{DeleteRule, FamilyDescriptor, KeepDeletedCells, TableDescriptor};
use crate::operation::Durability;

/// A value that an attribute cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{of} attribute {name} must be {expected}; found {found}")]
pub struct AttributeError {
    /// What has it: `family` or `table`.
    pub of: &'static str,
    /// The attribute.
    pub name: String,
    /// What it can be.
    pub expected: &'static str,
    /// The value given.
    pub found: String,
}

/// How often everything that no reader sees leaves the files, in milliseconds; 0 for never.
pub const MAJOR_COMPACTION: &str = "hbase.hregion.majorcompaction";
/// BLOOMFILTER of prefixes of rows.
pub const BLOOM_ROW_PREFIX: &str = "ROWPREFIX_FIXED_LENGTH";
/// How many bytes such a prefix has; BLOOMFILTER [`BLOOM_ROW_PREFIX`] needs it.
pub const ROW_PREFIX_LENGTH: &str = "RowPrefixBloomFilter.prefix_length";
/// HBase's TTL for ever.
const FOREVER_SECS: u64 = i32::MAX as u64;
const NUMBER: &str = "a number from 1 to 2147483647";
const COUNT: &str = "a number from 0 to 2147483647";
const FLAG: &str = "TRUE or FALSE";
const ENCODING: &str = "NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1 or COLUMNAR";
const COMPRESSION: &str = "NONE, GZ, SNAPPY, LZ4 or ZSTD";
const BLOOM: &str = "NONE, ROW, ROWCOL or ROWPREFIX_FIXED_LENGTH";

impl AttributeError {
    fn new(of: &'static str, name: &str, expected: &'static str, found: &str) -> Self {
        Self { of, name: name.to_owned(), expected, found: found.to_owned() }
    }
}

/// Table attributes that are flags.
const TABLE_FLAGS: [&str; 4] = ["SPLIT_ENABLED", "MERGE_ENABLED", "COMPACTION_ENABLED", "DISABLE_WAL"];

impl TableDescriptor {
    /// Attributes with values that they cannot have, of those that Basalt knows.
    pub fn wrong_attributes(&self) -> Vec<AttributeError> {
        let wrong = |name: &str, value: &str| {
            let is_number = || value.trim().parse::<i64>().is_ok();
            let expected = match name {
                "MAX_FILESIZE" | "hbase.server.keyvalue.maxsize" if !is_number() => "a number of bytes",
                "DURABILITY" if Durability::from_name(value).is_none() => {
                    "USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL or FSYNC_WAL"
                }
                _ if TABLE_FLAGS.contains(&name) && !is_flag(value) => FLAG,
                _ => return None,
            };
            Some(AttributeError::new("table", name, expected, value))
        };
        self.attributes.iter().filter_map(|(name, value)| wrong(name, value)).collect()
    }
}

fn is_flag(value: &str) -> bool {
    ["true", "false"].iter().any(|flag| value.trim().eq_ignore_ascii_case(flag))
}

impl FamilyDescriptor {
    /// Sets an attribute by HBase's name. One that Basalt does not know is kept as given.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), AttributeError> {
        let upper = value.trim().to_uppercase();
        let refuse = |expected| AttributeError::new("family", name, expected, value);
        let number = |min: u64, expected| {
            let number = upper.parse().ok().filter(|number| (min..=FOREVER_SECS).contains(number));
            number.ok_or_else(|| refuse(expected))
        };
        let flag = || match &upper[..] {
            "TRUE" => Ok(true),
            "FALSE" => Ok(false),
            _ => Err(refuse(FLAG)),
        };
        let one_of = |known: &[&str], expected| {
            let found = known.iter().find(|known| **known == upper);
            found.map(|name| (*name).to_owned()).ok_or_else(|| refuse(expected))
        };
        match name {
            "VERSIONS" => self.versions_max = number(1, NUMBER)? as u32,
            "MIN_VERSIONS" => self.versions_min = number(0, COUNT)? as u32,
            "TTL" if upper == "FOREVER" => self.ttl_secs = None,
            "TTL" => {
                let secs = number(1, "FOREVER or a number of seconds from 1 to 2147483647")?;
                self.ttl_secs = Some(secs).filter(|&secs| secs != FOREVER_SECS);
            }
            "KEEP_DELETED_CELLS" => {
                self.keep_deleted_cells = match &upper[..] {
                    "FALSE" => KeepDeletedCells::False,
                    "TRUE" => KeepDeletedCells::True,
                    "TTL" => KeepDeletedCells::Ttl,
                    _ => return Err(refuse("FALSE, TRUE or TTL")),
                }
            }
            "BLOCKSIZE" => self.block_bytes = number(1, NUMBER)? as u32,
            "DATA_BLOCK_ENCODING" => {
                let known = ["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1", "COLUMNAR"];
                self.encoding = one_of(&known, ENCODING)?;
            }
            "COMPRESSION" => {
                self.compression = one_of(&["NONE", "GZ", "SNAPPY", "LZ4", "ZSTD"], COMPRESSION)?;
            }
            "BLOOMFILTER" => self.bloom = one_of(&["NONE", "ROW", "ROWCOL", BLOOM_ROW_PREFIX], BLOOM)?,
            "NEW_VERSION_BEHAVIOR" => {
                self.delete_rule = if flag()? { DeleteRule::BySequence } else { DeleteRule::ByTimestamp };
            }
            "IN_MEMORY" => self.in_memory = flag()?,
            "BLOCKCACHE" => self.cache_blocks = flag()?,
            MAJOR_COMPACTION => {
                let millis = upper.parse().map_err(|_| refuse("a number of milliseconds, 0 for never"))?;
                self.major_compaction_ms = Some(millis).filter(|&millis| millis > 0);
            }
            _ => {
                self.attributes.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(())
    }

    /// All attributes by HBase's names, those that were only kept included.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let keep = match self.keep_deleted_cells {
            KeepDeletedCells::False => "FALSE",
            KeepDeletedCells::True => "TRUE",
            KeepDeletedCells::Ttl => "TTL",
        };
        let by_sequence = self.delete_rule == DeleteRule::BySequence;
        let mut texts = self.attributes.clone();
        for (name, value) in [
            ("VERSIONS", self.versions_max.to_string()),
            ("MIN_VERSIONS", self.versions_min.to_string()),
            ("TTL", self.ttl_secs.unwrap_or(FOREVER_SECS).to_string()),
            ("KEEP_DELETED_CELLS", keep.to_owned()),
            ("BLOCKSIZE", self.block_bytes.to_string()),
            ("DATA_BLOCK_ENCODING", self.encoding.clone()),
            ("COMPRESSION", self.compression.clone()),
            ("BLOOMFILTER", self.bloom.clone()),
            ("NEW_VERSION_BEHAVIOR", by_sequence.to_string()),
            ("IN_MEMORY", self.in_memory.to_string()),
            ("BLOCKCACHE", self.cache_blocks.to_string()),
        ] {
            texts.insert(name.to_owned(), value);
        }
        if let Some(millis) = self.major_compaction_ms {
            texts.insert(MAJOR_COMPACTION.to_owned(), millis.to_string());
        }
        texts
    }
}
