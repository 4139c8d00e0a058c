// SPDX-License-Identifier: Apache-2.0
//! Entry points for fuzzers. Not part of the public interface.
//!
//! Each target takes any bytes, as a damaged disk may give them, and must return: no panic, no second of work, no memory that
//! the input does not account for. `fuzz/` at the root of the repository runs them under cargo-fuzz; the tests of this module run
//! them over sound inputs that were changed at random. Store files have targets of their own, in
//! `basalt_hfile::fuzzing`, and the row mutations that a log holds in `basalt_model::fuzzing`.

use std::path::Path;

use basalt_model::{TableDescriptor, TableId, TableName};

use crate::manifest::{Manifest, SnapshotEntry, TableEntry, document, store};
use crate::wal::fuzzed;

/// What a fuzzer calls with each input.
pub type Target = fn(&[u8]);

/// Name and function of every target.
pub const TARGETS: [(&str, Target); 4] = [
    ("wal", |data| fuzzed::read(data.to_vec())),
    ("resealed_wal", resealed_wal),
    ("manifest", manifest),
    ("resealed_manifest", resealed_manifest),
];

/// A segment of the log whose checksums are first made right, so that the damage reaches the decoders.
fn resealed_wal(data: &[u8]) {
    let mut bytes = data.to_vec();
    fuzzed::reseal(&mut bytes);
    fuzzed::read(bytes);
}

/// A manifest as it is; what is read is written and read again.
fn manifest(data: &[u8]) {
    let path = Path::new("MANIFEST-fuzz");
    if let Ok(manifest) = store::decode(data, path) {
        let again = store::decode(&store::encode(&manifest), path);
        assert_eq!(again.ok(), Some(manifest));
    }
    let _ = document::decode::<SnapshotEntry>("basalt snapshot", 1, data, path);
}

/// JSON behind a header line that fits it: first as a manifest, then as the description of a snapshot.
fn resealed_manifest(data: &[u8]) {
    for (magic, format) in [("basalt manifest", store::FORMAT), ("basalt snapshot", 1)] {
        let line = format!("{magic} {format} {} {:08x}\n", data.len(), crc32c::crc32c(data));
        manifest(&[line.as_bytes(), data].concat());
    }
}

/// Sound inputs: the name of a target, and what it takes.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let segment = fuzzed::segment();
    let mut described = Manifest::empty(77);
    let name = TableName::in_default("T");
    let descriptor = TableDescriptor::new(name).family(basalt_model::FamilyDescriptor::new("f"));
    described.tables.push(TableEntry { id: TableId(1), descriptor, disabled: false, building: None });
    described.next_table = 2;
    let json = |manifest: &Manifest| serde_json::to_vec(manifest).expect("a manifest is JSON");
    vec![
        ("wal", segment.clone()),
        ("resealed_wal", segment),
        ("manifest", store::encode(&Manifest::empty(77))),
        ("resealed_manifest", json(&Manifest::empty(77))),
        ("resealed_manifest", json(&described)),
    ]
}

#[cfg(test)]
mod tests;
