// SPDX-License-Identifier: Apache-2.0
//! The options behind CREATE TABLE: `COMPRESSION='ZSTD', F.VERSIONS=3, …`, and those behind CREATE VIEW.
//!
//! Options of column families take effect (for one family when written `F.OPTION`, else for all). A value that
//! no HBase would take is an error. A value that HBase knows and this release does not have is kept, and a warning
//! says what is used instead; so is an option that has no meaning here.

use std::collections::BTreeMap;

use basalt_hfile::{BloomKind, Compression, Encoding};
use basalt_model::table::{DeleteRule, KeepDeletedCells};
use basalt_model::{Durability, FamilyDescriptor};

use crate::catalog::DEFAULT_FAMILY_OPTION;
use crate::dialect::OptionDef;
use crate::error::{SqlError, code, nearest};

/// Compression of tables that do not say.
const COMPRESSION_DEFAULT: &str = "ZSTD";
/// Block encoding of tables that do not say.
const ENCODING_DEFAULT: &str = "COLUMNAR";
/// What HBase knows besides what the store file has.
const COMPRESSIONS_OF_HBASE: [&str; 4] = ["LZO", "BZIP2", "LZMA", "BROTLI"];
const ENCODINGS_OF_HBASE: [&str; 1] = ["PREFIX_TREE"];
const BLOOMS_OF_HBASE: [&str; 1] = ["ROWPREFIX_FIXED_LENGTH"];

/// Options of Phoenix that change nothing here, and what to know instead.
const WITHOUT_EFFECT: [(&str, &str); 7] = [
    ("SALT_BUCKETS", "rows are not salted; writes do not depend on it"),
    ("IMMUTABLE_ROWS", "rows can be changed"),
    ("IMMUTABLE_STORAGE_SCHEME", "rows are stored one cell per column"),
    ("TRANSACTIONAL", "a statement is atomic, transactions of several statements are not supported yet"),
    ("MULTI_TENANT", "tenants are not supported yet"),
    ("STORE_NULLS", "NULL deletes the cell"),
    ("UPDATE_CACHE_FREQUENCY", "every statement sees the newest schema"),
];

/// Options that take effect.
const WITH_EFFECT: [&str; 15] = [
    "COMPRESSION",
    "DATA_BLOCK_ENCODING",
    "BLOOMFILTER",
    "VERSIONS",
    "MIN_VERSIONS",
    "TTL",
    "BLOCKSIZE",
    "KEEP_DELETED_CELLS",
    "NEW_VERSION_BEHAVIOR",
    "IN_MEMORY",
    "BLOCKCACHE",
    "COLUMN_ENCODED_BYTES",
    DEFAULT_FAMILY_OPTION,
    "DURABILITY",
    "DISABLE_WAL",
];

/// Options of a table that say when its regions are split.
const HONOURED: [&str; 2] = ["MAX_FILESIZE", "SPLIT_ENABLED"];

/// What the options of a table say.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableOptions {
    /// COLUMN_ENCODED_BYTES, if given.
    pub(crate) qualifier_bytes: Option<u8>,
    pub(crate) default_family: Option<String>,
    pub(crate) attributes: BTreeMap<String, String>,
    families: Vec<(Option<String>, FamilyOption)>,
}

#[derive(Debug, Clone)]
enum FamilyOption {
    Compression(String),
    Encoding(String),
    Bloom(String),
    Versions(u32),
    VersionsMin(u32),
    Ttl(Option<u64>),
    BlockBytes(u32),
    KeepDeleted(KeepDeletedCells),
    Deletes(DeleteRule),
    InMemory(bool),
    CacheBlocks(bool),
    Attribute(String, String),
}

impl TableOptions {
    pub(crate) fn read(options: &[OptionDef], warnings: &mut Vec<String>) -> Result<Self, SqlError> {
        let mut read = Self::default();
        for option in options {
            read.add(option, warnings)?;
        }
        Ok(read)
    }

    fn add(&mut self, option: &OptionDef, warnings: &mut Vec<String>) -> Result<(), SqlError> {
        let value = option.value.as_str();
        match option.name.as_str() {
            "COLUMN_ENCODED_BYTES" => self.qualifier_bytes = Some(qualifier_bytes(value)?),
            DEFAULT_FAMILY_OPTION => {
                self.default_family = Some(value.to_owned());
                self.attributes.insert(option.name.clone(), value.to_owned());
            }
            "DURABILITY" if Durability::from_name(value).is_none() => {
                return Err(invalid(option, "SKIP_WAL, ASYNC_WAL, SYNC_WAL, FSYNC_WAL or USE_DEFAULT"));
            }
            "DISABLE_WAL" => {
                flag(option)?;
                self.attributes.insert(option.name.clone(), value.to_owned());
            }
            "DURABILITY" => {
                self.attributes.insert(option.name.clone(), value.to_owned());
            }
            _ => match family_option(option, warnings)? {
                Some(parsed) => {
                    self.families.extend(parsed.into_iter().map(|parsed| (option.family.clone(), parsed)))
                }
                None => self.keep(option, warnings)?,
            },
        }
        Ok(())
    }

    fn keep(&mut self, option: &OptionDef, warnings: &mut Vec<String>) -> Result<(), SqlError> {
        if option.name == "SALT_BUCKETS" && !matches!(option.value.parse(), Ok(0..=256_u32)) {
            let message =
                format!("option SALT_BUCKETS must be a number from 0 to 256; found {}", option.value);
            return Err(SqlError::coded(code::SALT_BUCKETS, message));
        }
        if HONOURED.contains(&option.name.as_str()) {
            return self.keep_of_store(option);
        }
        let known = WITHOUT_EFFECT.iter().find(|(name, _)| *name == option.name);
        let off = known.is_some() && matches!(option.value.to_uppercase().as_str(), "FALSE" | "0" | "NONE");
        match known {
            _ if off => {}
            Some((name, instead)) => {
                warnings.push(format!("option {name} is kept but has no effect: {instead}"))
            }
            None => warnings.push(match nearest(&option.name, known_options()) {
                Some(meant) if meant != option.name => {
                    format!("option {} is kept but has no effect; did you mean {meant}?", option.name)
                }
                _ => format!("option {} is kept but has no effect", option.name),
            }),
        }
        self.attributes.insert(option.name.clone(), option.value.clone());
        Ok(())
    }

    /// Options of the whole table that the store asks for.
    fn keep_of_store(&mut self, option: &OptionDef) -> Result<(), SqlError> {
        let value = match option.name.as_str() {
            "MAX_FILESIZE" => match option.value.parse::<u64>() {
                Ok(bytes @ 1..) => bytes.to_string(),
                _ => return Err(invalid(option, "a number of bytes above 0")),
            },
            _ => match option.value.to_lowercase().as_str() {
                known @ ("true" | "false") => known.to_owned(),
                _ => return Err(invalid(option, "TRUE or FALSE")),
            },
        };
        self.attributes.insert(option.name.clone(), value);
        Ok(())
    }

    /// The family with its options over the defaults of SQL tables.
    pub(crate) fn family(&self, name: &str) -> FamilyDescriptor {
        let mut family = FamilyDescriptor {
            compression: COMPRESSION_DEFAULT.to_owned(),
            encoding: ENCODING_DEFAULT.to_owned(),
            delete_rule: DeleteRule::BySequence,
            ..FamilyDescriptor::new(name)
        };
        self.apply(&mut family);
        family
    }

    /// Sets what the options say of a family.
    pub(crate) fn apply(&self, family: &mut FamilyDescriptor) {
        for (only, option) in &self.families {
            if only.as_deref().is_none_or(|only| only == family.name) {
                option.clone().apply(family);
            }
        }
    }

    /// A family that has options and is not among these.
    pub(crate) fn unknown_family(&self, known: &[&str]) -> Option<&str> {
        self.families
            .iter()
            .filter_map(|(family, _)| family.as_deref())
            .find(|family| !known.contains(family))
    }
}

impl FamilyOption {
    fn apply(self, family: &mut FamilyDescriptor) {
        match self {
            Self::Compression(name) => family.compression = name,
            Self::Encoding(name) => family.encoding = name,
            Self::Bloom(name) => family.bloom = name,
            Self::Versions(count) => family.versions_max = count,
            Self::VersionsMin(count) => family.versions_min = count,
            Self::Ttl(seconds) => family.ttl_secs = seconds,
            Self::BlockBytes(bytes) => family.block_bytes = bytes,
            Self::KeepDeleted(keep) => family.keep_deleted_cells = keep,
            Self::Deletes(rule) => family.delete_rule = rule,
            Self::InMemory(favoured) => family.in_memory = favoured,
            Self::CacheBlocks(cached) => family.cache_blocks = cached,
            Self::Attribute(name, value) => {
                family.attributes.insert(name, value);
            }
        }
    }
}

/// Options of a view. What Phoenix keeps for a view and has no effect is answered with a warning; what takes effect is said of the table.
pub(super) fn of_view(options: &[OptionDef], warnings: &mut Vec<String>) -> Result<(), SqlError> {
    for OptionDef { name, value, .. } in options {
        let without = WITHOUT_EFFECT.iter().find(|(known, _)| known == name);
        let off = matches!(value.to_uppercase().as_str(), "FALSE" | "0" | "NONE");
        match without {
            None if known_options().any(|known| known == name) => {
                return Err(SqlError::statement(format!(
                    "a view has no {name} of its own; set it on its table: ALTER TABLE .. SET {name} = {value}"
                )));
            }
            Some(_) if off => {}
            Some((name, instead)) => {
                warnings.push(format!("option {name} of a view has no effect: {instead}"));
            }
            None => warnings.push(format!("option {name} of a view has no effect")),
        }
    }
    Ok(())
}

fn known_options() -> impl Iterator<Item = &'static str> {
    let without = WITHOUT_EFFECT.iter().map(|(name, _)| *name);
    WITH_EFFECT.into_iter().chain(HONOURED).chain(without)
}

fn invalid(option: &OptionDef, expected: &str) -> SqlError {
    SqlError::statement(format!("option {} must be {expected}; found {}", option.name, option.value))
}

fn qualifier_bytes(value: &str) -> Result<u8, SqlError> {
    match value.to_uppercase().as_str() {
        "NONE" => Ok(0),
        text => text.parse().ok().filter(|bytes| *bytes <= 4).ok_or_else(|| {
            SqlError::statement(format!(
                "option COLUMN_ENCODED_BYTES must be NONE, 0, 1, 2, 3 or 4; found {value}"
            ))
        }),
    }
}

/// The option of a family, `None` if it is not one.
fn family_option(
    option: &OptionDef,
    warnings: &mut Vec<String>,
) -> Result<Option<Vec<FamilyOption>>, SqlError> {
    use FamilyOption::*;
    let upper = option.value.to_uppercase();
    let parsed = match option.name.as_str() {
        "COMPRESSION" => {
            let (name, asked) =
                choice(option, compression, &COMPRESSIONS_OF_HBASE, COMPRESSION_DEFAULT, warnings)?;
            with_asked(Compression(name), option, asked)
        }
        "DATA_BLOCK_ENCODING" => {
            let (name, asked) = choice(option, encoding, &ENCODINGS_OF_HBASE, ENCODING_DEFAULT, warnings)?;
            with_asked(Encoding(name), option, asked)
        }
        "BLOOMFILTER" => {
            let (name, asked) = choice(option, bloom, &BLOOMS_OF_HBASE, "ROW", warnings)?;
            with_asked(Bloom(name), option, asked)
        }
        "VERSIONS" => vec![Versions(number(option, 1, i32::MAX as u32)?)],
        "MIN_VERSIONS" => vec![VersionsMin(number(option, 0, i32::MAX as u32)?)],
        "TTL" if matches!(upper.as_str(), "FOREVER" | "NONE") => vec![Ttl(None)],
        "TTL" => {
            vec![Ttl(Some(u64::from(number(option, 1, i32::MAX as u32)?))
                .filter(|&seconds| seconds < i32::MAX as u64))]
        }
        "BLOCKSIZE" => vec![BlockBytes(number(option, 1_024, 16 << 20)?)],
        "KEEP_DELETED_CELLS" => vec![KeepDeleted(match upper.as_str() {
            "TRUE" => KeepDeletedCells::True,
            "FALSE" => KeepDeletedCells::False,
            "TTL" => KeepDeletedCells::Ttl,
            _ => return Err(invalid(option, "TRUE, FALSE or TTL")),
        })],
        "NEW_VERSION_BEHAVIOR" => {
            let by_sequence = flag(option)?;
            vec![Deletes(if by_sequence { DeleteRule::BySequence } else { DeleteRule::ByTimestamp })]
        }
        "IN_MEMORY" => vec![InMemory(flag(option)?)],
        "BLOCKCACHE" => vec![CacheBlocks(flag(option)?)],
        _ if option.family.is_some() => {
            warnings.push(format!("option {} is kept but has no effect", option.name));
            vec![Attribute(option.name.clone(), option.value.clone())]
        }
        _ => return Ok(None),
    };
    Ok(Some(parsed))
}

fn with_asked(used: FamilyOption, option: &OptionDef, asked: Option<String>) -> Vec<FamilyOption> {
    let kept = asked.map(|asked| FamilyOption::Attribute(option.name.clone(), asked));
    [used].into_iter().chain(kept).collect()
}

fn compression(name: &str) -> bool {
    Compression::from_name(name).is_some()
}

fn encoding(name: &str) -> bool {
    Encoding::from_name(name).is_some()
}

fn bloom(name: &str) -> bool {
    BloomKind::from_name(name).is_some()
}

/// The value to use, and the one asked for if that is another.
fn choice(
    option: &OptionDef,
    is_supported: fn(&str) -> bool,
    known: &[&str],
    instead: &str,
    warnings: &mut Vec<String>,
) -> Result<(String, Option<String>), SqlError> {
    let value = option.value.to_uppercase();
    if is_supported(&value) {
        return Ok((value, None));
    }
    if known.contains(&value.as_str()) {
        warnings.push(format!("{} {value} is not supported yet; {instead} is used", option.name));
        return Ok((instead.to_owned(), Some(value)));
    }
    Err(SqlError::statement(format!("option {} has no value {}", option.name, option.value)))
}

fn flag(option: &OptionDef) -> Result<bool, SqlError> {
    match option.value.to_uppercase().as_str() {
        "TRUE" => Ok(true),
        "FALSE" => Ok(false),
        _ => Err(invalid(option, "TRUE or FALSE")),
    }
}

fn number(option: &OptionDef, min: u32, max: u32) -> Result<u32, SqlError> {
    let number = option.value.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| invalid(option, &format!("a number from {min} to {max}")))
}
