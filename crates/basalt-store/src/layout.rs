// SPDX-License-Identifier: Apache-2.0
//! Where everything lies in the directory of a database, and which names are ours.
//!
//! ```text
//! LOCK                                    who has the database open
//! MANIFEST-<20 digits>                    the highest valid one counts; `.tmp` behind it: being written
//! wal/<20 digits>.log                     segments of the write-ahead log; `.tmp` behind it: being copied
//! data/<namespace>/<table>/<region>/<family>/<file>
//! ```
//!
//! Namespace, table and family come from users; bytes that a file system may object to are written `%HH`.
//! The name of the table is for people: the region number alone makes the directory unique.

use std::path::{Path, PathBuf};

use basalt_model::TableName;

use crate::ids::{FileId, RegionId};

pub(crate) const LOCK: &str = "LOCK";
pub(crate) const WAL_DIR: &str = "wal";
pub(crate) const DATA_DIR: &str = "data";
const MANIFEST_PREFIX: &str = "MANIFEST-";
const TEMPORARY_SUFFIX: &str = ".tmp";
const SEGMENT_SUFFIX: &str = ".log";

pub(crate) fn manifest_name(number: u64) -> String {
    format!("{MANIFEST_PREFIX}{number:020}")
}

pub(crate) fn manifest_temporary_name(number: u64) -> String {
    format!("{}{TEMPORARY_SUFFIX}", manifest_name(number))
}

pub(crate) fn parse_manifest_name(name: &str) -> Option<u64> {
    parse_number(name.strip_prefix(MANIFEST_PREFIX)?)
}

pub(crate) fn is_manifest_temporary(name: &str) -> bool {
    name.strip_suffix(TEMPORARY_SUFFIX).is_some_and(|name| parse_manifest_name(name).is_some())
}

pub(crate) fn segment_path(root: &Path, segment: u64) -> PathBuf {
    root.join(WAL_DIR).join(format!("{segment:020}{SEGMENT_SUFFIX}"))
}

pub(crate) fn parse_segment_name(name: &str) -> Option<u64> {
    parse_number(name.strip_suffix(SEGMENT_SUFFIX)?)
}

/// Where a copy of a segment is made that is to take its place.
pub(crate) fn segment_temporary_path(segment: &Path) -> PathBuf {
    segment.with_extension("log.tmp")
}

pub(crate) fn is_segment_temporary(name: &str) -> bool {
    name.strip_suffix(TEMPORARY_SUFFIX).is_some_and(|name| parse_segment_name(name).is_some())
}

/// Directory of a region relative to the database, with `/` between the parts.
pub(crate) fn region_dir(table: &TableName, region: RegionId) -> String {
    format!("{DATA_DIR}/{}/{}/{region}", escape(&table.namespace), escape(&table.name))
}

pub(crate) fn family_dir(root: &Path, region_dir: &str, family: &str) -> PathBuf {
    root.join(region_dir).join(escape(family))
}

pub(crate) fn file_path(root: &Path, region_dir: &str, family: &str, file: FileId) -> PathBuf {
    family_dir(root, region_dir, family).join(file.to_string())
}

pub(crate) fn parse_number(digits: &str) -> Option<u64> {
    let plain = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// A name that every file system takes: letters, digits, `_`, `-` and inner dots stay, other bytes are `%HH`.
fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => out.push(byte as char),
            b'.' if at > 0 => out.push('.'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    // Longer names than any file system takes are cut; the region number keeps the directory unique.
    out.truncate(200);
    out
}

#[cfg(test)]
mod tests;
