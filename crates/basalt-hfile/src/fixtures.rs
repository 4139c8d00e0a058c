// SPDX-License-Identifier: Apache-2.0
//! Files in `testdata/hbase`, written by HBase 2.6.1 and dumped by its own reader, for the tests of this crate.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{HFileReader, MemoryFile, ReadOptions};

pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) dump: String,
}

impl Fixture {
    pub(crate) fn open(&self) -> HFileReader {
        let file = MemoryFile::new(self.name.clone(), self.bytes.clone());
        HFileReader::open(Arc::new(file), ReadOptions::default()).unwrap()
    }
}

/// Tests run where their crate's `Cargo.toml` lies; a path from there holds for every checkout that shares compiled programs.
fn folder() -> PathBuf {
    PathBuf::from("testdata/hbase")
}

fn unpack(name: &str) -> Vec<u8> {
    zstd::decode_all(&fs::read(folder().join(name)).unwrap()[..]).unwrap()
}

/// One line per file: name, bytes, cells, encoding, compression, block size, and more.
pub(crate) fn index() -> String {
    String::from_utf8(unpack("INDEX.tsv.zst")).unwrap()
}

/// All of them.
pub(crate) fn all() -> Vec<Fixture> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".hfile.zst")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() >= 43, "the fixtures are missing");
    let load = |name: String| Fixture {
        bytes: unpack(&format!("{name}.hfile.zst")),
        dump: String::from_utf8(unpack(&format!("{name}.tsv.zst"))).unwrap(),
        name,
    };
    names.into_iter().map(load).collect()
}
