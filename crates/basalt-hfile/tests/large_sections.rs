// SPDX-License-Identifier: Apache-2.0
//! Row groups with sections of more than a mebibyte, which who keeps sections reads into memory of the system's: the same cells come of them, and
//! damage is found.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use basalt_hfile::columnar::{ColumnarBlock, Section, SectionShelf};
use basalt_hfile::{
    BloomKind, CellBlock, Encoding, FileRead, HFileReader, HFileWriter, LocalFile, MemoryFile, ReadOptions,
    WriterOptions,
};
use basalt_model::{CellRef, CellType, Seq};

const ROWS: u64 = 24_000;
const LARGE: usize = 1 << 20;

/// Sections of one block that are kept.
#[derive(Debug, Default, Clone)]
struct Shelf(Arc<Mutex<HashMap<usize, Arc<Section>>>>);

impl SectionShelf for Shelf {
    fn get(&self, number: usize) -> Option<Arc<Section>> {
        self.0.lock().unwrap().get(&number).cloned()
    }

    fn put(&self, number: usize, section: &Arc<Section>) {
        self.0.lock().unwrap().insert(number, Arc::clone(section));
    }
}

/// Bytes by chance.
fn value(row: u64) -> Vec<u8> {
    let mut state = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..8).flat_map(|_| word()).collect()
}

fn file_of_one_group() -> Vec<u8> {
    let options = WriterOptions {
        encoding: Encoding::Columnar,
        bloom: BloomKind::None,
        block_bytes: 16 << 20,
        ..WriterOptions::default()
    };
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..ROWS {
        let (row, value) = (format!("row{number:08}"), value(number));
        let (family, qualifier, cell_type) = (&b"f"[..], &b"q"[..], CellType::Put);
        let cell = CellRef {
            row: row.as_bytes(),
            family,
            qualifier,
            timestamp: 1,
            cell_type,
            value: &value,
            seq: Seq(1),
            tags: b"",
        };
        writer.append(cell).unwrap();
    }
    writer.finish_into().unwrap().1
}

/// The only group of a file, with what it loads on a shelf.
fn group(file: Arc<dyn FileRead>, shelf: &Shelf) -> ColumnarBlock {
    let reader = HFileReader::open(file, ReadOptions::default()).unwrap();
    assert_eq!(reader.block_count().unwrap(), 1);
    let block = reader.open_block(0).unwrap();
    block.columns().unwrap().reopened(Some(Box::new(shelf.clone())))
}

fn check(cells: &CellBlock) {
    assert_eq!(cells.len() as u64, ROWS);
    for at in 0..cells.len() {
        let cell = cells.cell(at);
        assert_eq!((cell.row, cell.value), (format!("row{at:08}").as_bytes(), &value(at as u64)[..]));
    }
}

fn kept_by(file: &Arc<dyn FileRead>) {
    let shelf = Shelf::default();
    let first = group(Arc::clone(file), &shelf);
    assert!(first.load_all().unwrap());
    check(&first.decode(0..first.vectors()).unwrap());
    let bytes: Vec<usize> = shelf.0.lock().unwrap().values().map(|section| section.memory_bytes()).collect();
    assert!(bytes.iter().any(|&bytes| bytes > LARGE), "{bytes:?}");
    // The next one reads nothing.
    let second = group(Arc::clone(file), &shelf);
    assert!(!second.load_all().unwrap());
    check(&second.decode(0..second.vectors()).unwrap());
}

#[test]
fn large_sections_are_kept_and_read_from_memory_and_from_a_file() {
    let bytes = file_of_one_group();
    let directory = tempfile::tempdir().unwrap();
    let path: &Path = &directory.path().join("large");
    std::fs::write(path, &bytes).unwrap();
    kept_by(&(Arc::new(LocalFile::open(path).unwrap()) as _));
    kept_by(&(Arc::new(MemoryFile::new("large", bytes)) as _));
}

#[test]
fn damage_in_a_large_section_is_found_by_who_decodes_it() {
    let mut bytes = file_of_one_group();
    // All but little of the file is values.
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    let shelf = Shelf::default();
    let group = group(Arc::new(MemoryFile::new("large", bytes)), &shelf);
    let found = group.load_all().and_then(|_| group.decode(0..group.vectors()));
    let message = found.unwrap_err().to_string();
    assert!(message.contains("checksum mismatch"), "{message}");
}
