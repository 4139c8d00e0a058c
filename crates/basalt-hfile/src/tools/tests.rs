// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use crate::fixtures::{self, Fixture};
use crate::tools::{ConvertOptions, convert, dump, stat, verify};
use crate::{Compression, Encoding, HFileReader, MemoryFile, ReadOptions};

#[test]
fn every_file_of_hbase_dumps_to_what_its_own_reader_says() {
    for fixture in fixtures::all() {
        let mut out = vec![];
        dump(&fixture.open(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        for (number, (ours, theirs)) in out.lines().zip(fixture.dump.lines()).enumerate() {
            assert_eq!(ours, theirs, "{} line {}", fixture.name, number + 1);
        }
        assert!(out == fixture.dump, "{}", fixture.name);
    }
}

#[test]
fn every_file_of_hbase_is_found_sound() {
    for fixture in fixtures::all() {
        fixture.open().verify(&mut |finding| panic!("{finding}"));
    }
}

/// Block and index block size that the fixture was written with.
fn sizes(fixture: &Fixture, index: &str) -> ConvertOptions {
    let line = index.lines().find(|line| line.starts_with(&format!("{}.hfile\t", fixture.name))).unwrap();
    let block_bytes = line.split('\t').nth(5).unwrap().parse().unwrap();
    let small_index = fixture.name.starts_with("index_");
    ConvertOptions {
        block_bytes: Some(block_bytes),
        index_block_bytes: small_index.then_some(256),
        index_entries_min: small_index.then_some(2),
        ..Default::default()
    }
}

#[test]
fn uncompressed_files_of_hbase_write_back_to_the_same_file() {
    let index = fixtures::index();
    let mut files = 0;
    for fixture in fixtures::all() {
        let reader = fixture.open();
        if reader.trailer().compression != Compression::None {
            continue;
        }
        let mut copy = Vec::new();
        convert(&reader, &mut copy, &sizes(&fixture, &index)).unwrap();
        let differs = copy.iter().zip(&fixture.bytes).position(|(ours, theirs)| ours != theirs);
        let lens = (copy.len(), fixture.bytes.len());
        assert!(copy == fixture.bytes, "{}: differs at {differs:?}, sizes {lens:?}", fixture.name);
        files += 1;
    }
    assert!(files >= 16);
}

#[test]
fn a_converted_file_holds_the_same_cells() {
    for fixture in fixtures::all().into_iter().step_by(5) {
        let reader = fixture.open();
        for encoding in Encoding::ALL {
            let options = ConvertOptions {
                encoding: Some(encoding),
                compression: Some(Compression::Zstd),
                block_bytes: Some(8192),
                ..Default::default()
            };
            let mut copy = Vec::new();
            convert(&reader, &mut copy, &options).unwrap();
            let copy = Arc::new(MemoryFile::new("copy", copy));
            assert_eq!(verify(copy.clone()), []);
            let copy = HFileReader::open(copy, ReadOptions::default()).unwrap();
            let mut out = vec![];
            dump(&copy, &mut out).unwrap();
            assert!(out == fixture.dump.as_bytes(), "{} as {encoding}", fixture.name);
        }
    }
}

#[test]
fn a_description_counts_what_the_dump_shows() {
    for fixture in fixtures::all() {
        let stat = stat(&fixture.open()).unwrap();
        let lines: Vec<_> =
            fixture.dump.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()).collect();
        let of_type = |name| lines.iter().filter(|line| line[4] == name).count() as u64;
        let mut rows: Vec<_> = lines.iter().map(|line| line[0]).collect();
        rows.dedup();
        assert_eq!(stat.cells.count, lines.len() as u64, "{}", fixture.name);
        assert_eq!(stat.cells.rows, rows.len() as u64, "{}", fixture.name);
        assert_eq!(stat.cells.puts, of_type("Put"));
        assert_eq!(stat.cells.delete_families, of_type("DeleteFamily"));
        assert!(stat.to_string().contains("trailer"));
    }
}
