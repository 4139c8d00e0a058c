// SPDX-License-Identifier: Apache-2.0
//! For random cells of all kinds, writing and reading is the identity: in every encoding and codec, with and
//! without tags and sequence numbers, by scanning, by seeking and by single rows.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "cell/owned.rs"]
mod cell;

use std::sync::Arc;

use basalt_hfile::{
    BloomKind, CellBlock, Checksum, Compression, Encoding, FlatKey, HFileReader, HFileWriter, MemoryFile,
    ReadOptions, WriterOptions,
};
use basalt_model::{CellRef, CellType, Seq};
use cell::Cell;
use proptest::collection::vec;
use proptest::prelude::*;

/// Names over few bytes, so that prefixes are shared, and of lengths on both sides of a byte's end.
fn name(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(0xff)];
    let long =
        (250usize..260, vec(byte.clone(), 0..3)).prop_map(|(len, end)| [vec![b'a'; len], end].concat());
    prop_oneof![12 => vec(byte, len), 1 => long]
}

fn timestamp() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => (0i64..2000).prop_map(|step| 1_700_000_000_000 + step),
        2 => 0i64..300,
        1 => Just(i64::MAX - 1),
        1 => Just(i64::MIN),
        1 => any::<i64>(),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => Just(vec![]),
        4 => vec(any::<u8>(), 4),
        4 => Just(b"same".to_vec()),
        3 => vec(any::<u8>(), 0..200),
        1 => (200usize..5000).prop_map(|len| vec![7; len]),
    ]
}

fn tags() -> impl Strategy<Value = Vec<u8>> {
    let tag = (1u8..9, vec(0u8..3, 0..6)).prop_map(|(kind, payload)| {
        let len = (1 + payload.len()) as u16;
        [&len.to_be_bytes()[..], &[kind], &payload].concat()
    });
    vec(tag, 0..4).prop_map(|tags| tags.concat())
}

fn cell_type() -> impl Strategy<Value = CellType> {
    prop_oneof![
        10 => Just(CellType::Put),
        1 => Just(CellType::Delete),
        1 => Just(CellType::DeleteColumn),
        1 => Just(CellType::DeleteFamily),
        1 => Just(CellType::DeleteFamilyVersion),
    ]
}

fn cell() -> impl Strategy<Value = Cell> {
    let seq = prop_oneof![4 => Just(0u64), 3 => 0u64..300, 1 => 0..i64::MAX as u64];
    (name(1..6), name(0..4), timestamp(), cell_type(), value(), seq, tags()).prop_map(
        |(row, qualifier, timestamp, cell_type, value, seq, tags)| {
            let of_family = matches!(cell_type, CellType::DeleteFamily | CellType::DeleteFamilyVersion);
            let qualifier = if of_family { vec![] } else { qualifier };
            Cell { row, qualifier, timestamp, cell_type, value, seq, tags }
        },
    )
}

fn cells() -> impl Strategy<Value = Vec<Cell>> {
    vec(cell(), 0..250).prop_map(|mut cells| {
        cells.sort_by(|a, b| a.borrow().compare(&b.borrow()));
        cells
    })
}

fn options() -> impl Strategy<Value = WriterOptions> {
    let bloom = prop_oneof![
        Just(BloomKind::None),
        Just(BloomKind::Row),
        Just(BloomKind::RowCol),
        (1u32..4).prop_map(BloomKind::RowPrefix)
    ];
    let checksum = prop_oneof![Just(Checksum::Crc32c), Just(Checksum::Crc32), Just(Checksum::Null)];
    let sizes = (1u32..4000, 40u32..2000, 33u32..5000);
    (any::<(bool, bool, bool)>(), bloom, checksum, sizes).prop_map(
        |((with_seq, with_tags, tags_compressed), bloom, checksum, sizes)| WriterOptions {
            block_bytes: sizes.0,
            block_rows: sizes.0 % 100 + 1,
            index_block_bytes: sizes.1,
            checksum_chunk_bytes: sizes.2,
            index_entries_min: 2,
            with_seq,
            with_tags,
            tags_compressed,
            bloom,
            checksum,
            ..Default::default()
        },
    )
}

fn write(options: &WriterOptions, cells: &[CellRef<'_>]) -> HFileReader {
    let mut writer = HFileWriter::new(Vec::new(), options.clone()).unwrap();
    for cell in cells {
        writer.append(*cell).unwrap();
    }
    let (summary, bytes) = writer.finish_into().unwrap();
    assert_eq!(summary.cells, cells.len() as u64);
    assert_eq!(summary.size_bytes, bytes.len() as u64);
    let mut rows: Vec<_> = cells.iter().map(|cell| cell.row).collect();
    rows.dedup();
    assert_eq!(summary.rows, rows.len() as u64);
    assert_eq!(summary.first_row, rows.first().copied().unwrap_or_default());
    assert_eq!(summary.last_row, rows.last().copied().unwrap_or_default());
    HFileReader::open(Arc::new(MemoryFile::new("random", bytes)), ReadOptions::default()).unwrap()
}

/// What a block says about itself, computed the plain way.
fn check_block(block: &CellBlock) {
    let cells: Vec<_> = (0..block.len()).map(|at| block.cell(at)).collect();
    let starts = (0..cells.len()).filter(|&at| at == 0 || cells[at - 1].row != cells[at].row);
    assert_eq!(block.row_starts, starts.map(|at| at as u32).collect::<Vec<_>>());
    let columns_differ =
        cells.windows(2).all(|pair| (pair[0].row, pair[0].qualifier) != (pair[1].row, pair[1].qualifier));
    assert_eq!(block.plain, columns_differ && cells.iter().all(|cell| cell.cell_type == CellType::Put));
}

fn check(options: &WriterOptions, cells: &[CellRef<'_>]) {
    let reader = write(options, cells);
    reader.verify(&mut |finding| panic!("{finding}"));
    let mut at = 0;
    for index in 0..reader.block_count().unwrap() {
        let block = reader.read_block(index).unwrap();
        check_block(&block);
        for in_block in 0..block.len() {
            assert_eq!(block.cell(in_block), cells[at]);
            at += 1;
        }
    }
    assert_eq!(at, cells.len());
    for cell in cells.iter().step_by(9) {
        check_row(&reader, cells, cell.row);
        check_seek(&reader, cells, &FlatKey::of(cell));
        assert!(reader.may_contain_row(cell.row).unwrap());
        assert!(reader.may_contain_column(cell.row, cell.qualifier).unwrap());
    }
}

/// All cells of a row, by one encoded block after the other.
fn check_row(reader: &HFileReader, cells: &[CellRef<'_>], row: &[u8]) {
    let expected: Vec<_> = cells.iter().copied().filter(|cell| cell.row == row).collect();
    let mut found = 0;
    let first = reader.find_block(row).unwrap().unwrap();
    for index in first..reader.block_count().unwrap() {
        if reader.block_first_row(index).unwrap() > row {
            break;
        }
        let block = reader.read_encoded_block(index).unwrap().decode_row(row).unwrap();
        check_block(&block);
        for at in 0..block.len() {
            assert_eq!(block.cell(at), expected[found]);
            found += 1;
        }
    }
    assert_eq!(found, expected.len());
}

/// The first cell not below a key is in the block that the index names, or begins the next.
fn check_seek(reader: &HFileReader, cells: &[CellRef<'_>], key: &FlatKey<'_>) {
    let expected = cells.iter().find(|cell| FlatKey::of(cell).compare(key).is_ge()).unwrap();
    let index = reader.find_block_of_key(key).unwrap().unwrap();
    let mut cursor = reader.read_encoded_block(index).unwrap().cursor().unwrap();
    if cursor.seek(key).unwrap() {
        assert_eq!(cursor.cell().unwrap(), *expected);
    } else {
        assert_eq!(reader.read_block(index + 1).unwrap().cell(0), *expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn writing_and_reading_is_the_identity(cells in cells(), options in options()) {
        let cells: Vec<_> = cells
            .iter()
            .map(|cell| {
                let cell = cell.borrow();
                CellRef {
                    seq: if options.with_seq { cell.seq } else { Seq(0) },
                    tags: if options.with_tags { cell.tags } else { b"" },
                    ..cell
                }
            })
            .collect();
        for encoding in Encoding::ALL {
            for compression in Compression::ALL {
                check(&WriterOptions { encoding, compression, ..options.clone() }, &cells);
            }
        }
    }
}

/// The random cells above are hardly ever none.
#[test]
fn a_file_without_cells_is_read_as_one() {
    for encoding in Encoding::ALL {
        for compression in Compression::ALL {
            for bloom in [BloomKind::None, BloomKind::Row, BloomKind::RowCol, BloomKind::RowPrefix(2)] {
                let options = WriterOptions { encoding, compression, bloom, ..Default::default() };
                check(&options, &[]);
                let reader = write(&options, &[]);
                assert_eq!(
                    (reader.cells(), reader.block_count().unwrap()),
                    (0, 0),
                    "{encoding} {compression}"
                );
                assert_eq!(reader.last_row(), None);
                assert_eq!(reader.find_block(b"r").unwrap(), None);
            }
        }
    }
}
