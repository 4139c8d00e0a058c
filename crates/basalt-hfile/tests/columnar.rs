// SPDX-License-Identifier: Apache-2.0
//! COLUMNAR files of tables: many vectors, typed columns and keys, gaps, versions, markers, values that do not fit
//! their type. Whatever is written is read again, whole, by row, by seeking, and from blocks that were opened
//! without being read.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "cell/owned.rs"]
mod cell;
#[path = "columnar/parts.rs"]
mod parts;
#[path = "columnar/values.rs"]
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use basalt_hfile::columnar::VECTOR;
use basalt_hfile::{
    Compression, Encoding, FlatKey, HFileReader, HFileWriter, MemoryFile, ReadOptions, WriterOptions,
};
use basalt_model::rowkey::encode_row_key;
use basalt_model::types::{Decimal, Value};
use basalt_model::{CellRef, CellType, FamilyLayout, KeyColumn, SortOrder, SqlType};
use cell::Cell;
use proptest::prelude::*;
use values::{Chance, TYPES, value};

/// How irregular a table is: one in so many; 0 for never.
#[derive(Debug, Clone)]
struct Shape {
    seed: u64,
    rows: u64,
    types: Vec<usize>,
    key: usize,
    desc: bool,
    missing: u64,
    empty: u64,
    odd: u64,
    versions: u64,
    markers: u64,
    times: u64,
    /// The numbers of a row are close to each other.
    close: bool,
    block_rows: u32,
    compression: Compression,
}

fn shape() -> impl Strategy<Value = Shape> {
    let often = || prop_oneof![3 => Just(0u64), 1 => Just(2), 1 => Just(50), 1 => Just(3000)];
    let rows = prop_oneof![1u64..20, 1000u64..1100, 2000u64..5000];
    let mixed = prop::collection::vec(0..TYPES.len(), 1..6);
    let types =
        prop_oneof![mixed, (0..TYPES.len(), 2usize..5).prop_map(|(number, count)| vec![number; count])];
    let block_rows = prop_oneof![Just(65_536u32), Just(1024), 1u32..3000];
    let compression = prop_oneof![Just(Compression::None), Just(Compression::Zstd), Just(Compression::Lz4)];
    (
        (any::<u64>(), rows, types, 0usize..5, any::<bool>()),
        (often(), often(), often(), often(), often(), often()),
        (any::<bool>(), block_rows, compression),
    )
        .prop_map(|((seed, rows, types, key, desc), rare, (close, block_rows, compression))| Shape {
            seed,
            rows,
            types,
            key,
            desc,
            missing: rare.0,
            empty: rare.1,
            odd: rare.2,
            versions: rare.3,
            markers: rare.4,
            times: rare.5,
            close,
            block_rows,
            compression,
        })
}

impl Shape {
    fn key(&self) -> Vec<KeyColumn> {
        let types: &[SqlType] = match self.key {
            0 => &[SqlType::Integer],
            1 => &[SqlType::BigInt, SqlType::Integer],
            2 => &[SqlType::Varchar(None), SqlType::Integer, SqlType::Varchar(None)],
            3 => &[SqlType::Date, SqlType::Boolean, SqlType::Decimal(Some((9, 0)))],
            _ => &[SqlType::Decimal(Some((38, 6)))],
        };
        let order = if self.desc { SortOrder::Desc } else { SortOrder::Asc };
        let column = |sql_type: &SqlType| KeyColumn {
            name: "K".into(),
            sql_type: *sql_type,
            order,
            nullable: sql_type.fixed_width().is_none(),
        };
        types.iter().map(column).collect()
    }

    fn layout(&self) -> FamilyLayout {
        let columns = self.types.iter().enumerate();
        FamilyLayout {
            key: self.key(),
            columns: columns.map(|(at, &number)| (vec![0x80, 11 + at as u8], TYPES[number])).collect(),
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let mut chance = Chance(self.seed);
        let key = self.key();
        let mut cells = vec![];
        for row_number in 0..self.rows {
            let near = self.close.then(|| (Chance(self.seed ^ row_number).next() % 4_000) as i64);
            let values: Vec<Value<'_>> = key
                .iter()
                .map(|column| match column.sql_type {
                    SqlType::Varchar(_) => Value::Text(format!("key{}", row_number / 100).into()),
                    SqlType::Decimal(Some((38, _))) => {
                        let digits = (i128::from(row_number) - 50) * 10i128.pow(25);
                        Value::Decimal(Decimal::new(digits + i128::from(row_number % 10), 6))
                    }
                    SqlType::Decimal(_) => Value::Decimal(Decimal::new(row_number.into(), 0)),
                    SqlType::Date => Value::Millis((row_number / 10) as i64 * 86_400_000),
                    SqlType::Boolean => Value::Boolean(row_number % 10 >= 5),
                    _ => Value::Int(row_number as i64),
                })
                .collect();
            let mut row = vec![];
            encode_row_key(&key, &values, &mut row).unwrap();
            let time = 1_700_000_000_000 + (row_number / 1000) as i64;
            let cell = |qualifier: &[u8], timestamp, cell_type, value| Cell {
                row: row.clone(),
                qualifier: qualifier.to_vec(),
                timestamp,
                cell_type,
                value,
                seq: row_number / 100,
                tags: vec![],
            };
            if chance.one_in(self.markers) {
                cells.push(cell(b"", time, CellType::DeleteFamily, vec![]));
            }
            cells.push(cell(&[0; 4], time, CellType::Put, b"x".to_vec()));
            for (at, &number) in self.types.iter().enumerate() {
                if chance.one_in(self.missing) {
                    continue;
                }
                let versions = if chance.one_in(self.versions) { 3 } else { 1 };
                for version in 0..versions {
                    let mut bytes = vec![];
                    if !chance.one_in(self.empty) {
                        let value = value(TYPES[number], row_number, near, &mut chance);
                        TYPES[number].encode(SortOrder::Asc, &value, &mut bytes).unwrap();
                    }
                    if chance.one_in(self.odd) {
                        bytes = chance.next().to_be_bytes()[..chance.next() as usize % 9].to_vec();
                    }
                    let time = if chance.one_in(self.times) { time - 500 } else { time } - version;
                    let marked = chance.one_in(self.markers.saturating_mul(3));
                    let cell_type = if marked { CellType::DeleteColumn } else { CellType::Put };
                    cells.push(cell(&[0x80, 11 + at as u8], time, cell_type, bytes));
                }
            }
        }
        cells.sort_by(|a, b| a.borrow().compare(&b.borrow()));
        cells
    }

    fn options(&self, typed: bool) -> WriterOptions {
        WriterOptions {
            encoding: Encoding::Columnar,
            compression: self.compression,
            block_rows: self.block_rows,
            file_number: 7,
            create_time_ms: 1_700_000_000_000,
            layout: typed.then(|| Arc::new(self.layout())),
            ..Default::default()
        }
    }
}

fn file(options: WriterOptions, cells: &[Cell]) -> Vec<u8> {
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for cell in cells {
        writer.append(cell.borrow()).unwrap();
    }
    writer.finish_into().unwrap().1
}

fn open(bytes: Vec<u8>) -> HFileReader {
    HFileReader::open(Arc::new(MemoryFile::new("table", bytes)), ReadOptions::default()).unwrap()
}

fn check(cells: &[Cell], options: WriterOptions) -> HFileReader {
    let reader = open(file(options, cells));
    reader.verify(&mut |finding| panic!("{finding}"));
    let mut expected = cells.iter();
    for index in 0..reader.block_count().unwrap() {
        let block = reader.read_block(index).unwrap();
        for at in 0..block.len() {
            assert_eq!(block.cell(at), expected.next().unwrap().borrow());
        }
    }
    assert!(expected.next().is_none());
    for cell in cells.iter().step_by(cells.len() / 11 + 1) {
        check_row(&reader, cells, &cell.row);
        check_seek(&reader, cells, &cell.borrow());
    }
    reader
}

fn check_row(reader: &HFileReader, cells: &[Cell], row: &[u8]) {
    let mut expected = cells.iter().filter(|cell| cell.row == row);
    for index in reader.find_block(row).unwrap().unwrap()..reader.block_count().unwrap() {
        if reader.block_first_row(index).unwrap() > row {
            break;
        }
        let block = reader.open_block(index).unwrap().decode_row(row).unwrap();
        for at in 0..block.len() {
            assert_eq!(block.cell(at), expected.next().unwrap().borrow());
        }
    }
    assert!(expected.next().is_none());
}

fn check_seek(reader: &HFileReader, cells: &[Cell], cell: &CellRef<'_>) {
    let key = FlatKey::of(cell);
    let at = cells.partition_point(|cell| FlatKey::of(&cell.borrow()).compare(&key).is_lt());
    let index = reader.find_block_of_key(&key).unwrap().unwrap();
    let mut cursor = reader.open_block(index).unwrap().cursor().unwrap();
    assert!(cursor.seek(&key).unwrap());
    assert_eq!(cursor.cell().unwrap(), cells[at].borrow());
    let mut back = at;
    while back > at.saturating_sub(5) && cursor.previous_cell().unwrap() {
        back -= 1;
        assert_eq!(cursor.cell().unwrap(), cells[back].borrow());
    }
    if cursor.cell().is_none() {
        return;
    }
    while back < cells.len().min(at + 5) && cursor.next_cell().unwrap() {
        back += 1;
        assert_eq!(cursor.cell().unwrap(), cells[back].borrow());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_table_comes_back_with_types_and_without(shape in shape()) {
        let cells = shape.cells();
        for typed in [true, false] {
            let reader = check(&cells, shape.options(typed));
            parts::check(&reader, shape.seed);
        }
    }
}

fn plain(types: Vec<usize>) -> Shape {
    Shape {
        seed: 5,
        rows: 3000,
        types,
        key: 0,
        desc: false,
        missing: 0,
        empty: 0,
        odd: 0,
        versions: 0,
        markers: 0,
        times: 0,
        close: false,
        block_rows: 65_536,
        compression: Compression::None,
    }
}

#[test]
fn a_plain_table_is_one_row_group_of_its_forms() {
    let shape = plain(vec![0, 7, 13]);
    let reader = check(&shape.cells(), shape.options(true));
    assert_eq!(reader.block_count().unwrap(), 1);
    let block = reader.open_block(0).unwrap();
    let block = block.columns().unwrap();
    assert_eq!((block.rows(), block.cells(), block.vectors()), (3000, 12_000, 3));
    assert_eq!((block.rows_of(0), block.rows_of(2)), (VECTOR, 3000 - 2 * VECTOR));
    let forms: Vec<String> = block.columns().map(|(_, form)| format!("{form:?}")).collect();
    assert_eq!(forms, ["Unsigned(1)", "Signed(4)", "Decimal(2)", "Bytes"]);
}

/// Of each section what it is.
fn facts(reader: &HFileReader) -> Vec<String> {
    let block = reader.open_block(0).unwrap();
    block.columns().unwrap().facts().unwrap().into_iter().map(|section| section.what).collect()
}

/// Rows of a text of a few words, some rows without a cell or with an empty one. There are more words than codes of one byte, and some that
/// come once.
fn prose() -> Vec<Cell> {
    let mut chance = Chance(7);
    let syllables = ["ba", "salt", "gra", "nite", "sla", "te", "tuff", "quar", "tz", "marl"];
    let often = ["slate", "granite", "the", "of", "größer", "hexagonal_columns_of_basalt"];
    let mut word = || match chance.next() as usize {
        rare if rare.is_multiple_of(200) => format!("{rare:x}"),
        usual if usual.is_multiple_of(3) => [syllables[usual / 3 % 10], syllables[usual / 30 % 10]].concat(),
        usual => often[usual % 6].into(),
    };
    let mut cells = vec![];
    for row in (0..3000u32).filter(|row| row % 50 != 7) {
        let text = format!("{} {}, {}--{}. ", word(), word(), word(), word());
        cells.push(Cell {
            row: row.to_be_bytes().to_vec(),
            qualifier: b"text".to_vec(),
            timestamp: 1_700_000_000_000,
            cell_type: CellType::Put,
            value: if row % 60 == 3 { vec![] } else { text.into_bytes() },
            seq: 5,
            tags: vec![],
        });
    }
    cells
}

fn prose_options(compression: Compression) -> WriterOptions {
    WriterOptions { compression, layout: None, ..plain(vec![]).options(false) }
}

#[test]
fn texts_are_kept_as_words() {
    for compression in [Compression::None, Compression::Zstd] {
        let reader = check(&prose(), prose_options(compression));
        let facts = reader.open_block(0).unwrap().columns().unwrap().facts().unwrap();
        let texts = facts.iter().find(|section| section.what == "Values of text").expect("a column");
        assert_eq!((texts.scheme, texts.compression), ("words", compression));
    }
}

/// Rows of keys like those that benchmarks of key-value stores choose by chance.
fn chosen_keys() -> Vec<Cell> {
    let mut chance = Chance(13);
    let mut number = 0;
    let mut cell = || {
        number += 1 + chance.next() % 300 * (chance.next() % 300) * (chance.next() % 300);
        Cell {
            row: format!("user{number:012}").into_bytes(),
            qualifier: vec![],
            timestamp: 1_700_000_000_000,
            cell_type: CellType::Put,
            value: number.to_be_bytes().to_vec(),
            seq: 2,
            tags: vec![],
        }
    };
    (0..3000).map(|_| cell()).collect()
}

#[test]
fn chosen_keys_are_kept_as_one_ascending_number_each() {
    let reader = check(&chosen_keys(), prose_options(Compression::None));
    let facts = reader.open_block(0).unwrap().columns().unwrap().facts().unwrap();
    let keys: Vec<_> = facts.iter().filter(|section| section.what.starts_with("KeyValues")).collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
    let bits = f64::from(keys[0].bytes * 8) / 3000.0;
    // Gaps of 3,300,000 on average, of which the longest take 25 bits; each vector has a header of 53 bytes.
    assert!(keys[0].scheme == "digits" && bits < 24.5, "{} in {bits} bits", keys[0].scheme);
}

#[test]
fn numbers_that_follow_others_of_their_row_are_kept_as_distances() {
    let dates = |close| Shape { close, ..plain(vec![10, 0, 10, 10]) };
    let alone = file(dates(false).options(true), &dates(false).cells());
    let close = file(dates(true).options(true), &dates(true).cells());
    assert!(close.len() < alone.len() * 3 / 4, "{} and {} bytes", close.len(), alone.len());
    let beside =
        |reader: &HFileReader| facts(reader).iter().filter(|what| what.starts_with("Beside")).count();
    let reader = check(&dates(true).cells(), dates(true).options(true));
    // Two of the three dates; the integer has a form of its own.
    assert_eq!((beside(&reader), beside(&open(alone))), (2, 0));
    // A row without one of them, or with two, or without a value, has no distance.
    for irregular in [
        Shape { missing: 500, ..dates(true) },
        Shape { versions: 500, ..dates(true) },
        Shape { empty: 500, ..dates(true) },
        Shape { odd: 500, ..dates(true) },
    ] {
        let reader = check(&irregular.cells(), irregular.options(true));
        assert_eq!(beside(&reader), 0, "{irregular:?}");
    }
}

#[test]
fn tags_and_thousands_of_columns_are_written_cell_by_cell() {
    let mut cells: Vec<Cell> = (0..3000u32)
        .map(|at| Cell {
            row: b"row".to_vec(),
            qualifier: at.to_be_bytes().to_vec(),
            timestamp: 1,
            cell_type: CellType::Put,
            value: b"v".to_vec(),
            seq: 1,
            tags: vec![],
        })
        .collect();
    let options = plain(vec![]).options(false);
    let reader = check(&cells, options.clone());
    for index in 0..reader.block_count().unwrap() {
        assert!(reader.open_block(index).unwrap().columns().is_none());
    }
    cells.truncate(10);
    let mut writer = HFileWriter::new(Vec::new(), WriterOptions { with_tags: true, ..options }).unwrap();
    for cell in &cells {
        writer.append(CellRef { tags: b"\0\x03\x08T1", ..cell.borrow() }).unwrap();
    }
    let reader = open(writer.finish_into().unwrap().1);
    assert!(reader.open_block(0).unwrap().columns().is_none());
    assert_eq!(reader.read_block(0).unwrap().cell(9).tags, b"\0\x03\x08T1");
}

#[test]
fn a_block_of_another_file_at_the_same_place_is_found_out() {
    let shape = plain(vec![0, 4]);
    let cells = shape.cells();
    let ours = file(shape.options(true), &cells);
    let mut theirs = file(WriterOptions { file_number: 8, ..shape.options(true) }, &cells);
    assert_eq!(ours.len(), theirs.len());
    let end = open(ours.clone()).block_extent(0).unwrap().size_bytes as usize;
    theirs[..end].copy_from_slice(&ours[..end]);
    let error = open(theirs).read_block(0).unwrap_err().to_string();
    assert!(error.contains("checksum mismatch in the head"), "{error}");
}

/// A file kept in the repository: of an earlier release, once there is a later one.
fn golden(name: &str, written: Vec<u8>) -> Vec<u8> {
    let path = std::path::Path::new("testdata/columnar").join(name);
    if std::env::var_os("BASALT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, written).unwrap();
    }
    std::fs::read(&path).unwrap()
}

/// The table of `docs/format.md`: K INTEGER, V DECIMAL(5,2) with a gap, and the empty cell.
fn worked_example() -> (WriterOptions, Vec<Cell>) {
    let key =
        KeyColumn { name: "K".into(), sql_type: SqlType::Integer, order: SortOrder::Asc, nullable: false };
    let layout =
        FamilyLayout { key: vec![key], columns: vec![(vec![0x80, 0x0b], SqlType::Decimal(Some((5, 2))))] };
    let options = WriterOptions {
        encoding: Encoding::Columnar,
        file_number: 7,
        create_time_ms: 1_700_000_000_000,
        layout: Some(Arc::new(layout)),
        ..Default::default()
    };
    let mut cells = vec![];
    for (number, digits) in [(1u32, Some(150)), (2, None), (3, Some(175))] {
        let cell = |qualifier: &[u8], value: Vec<u8>| Cell {
            row: (number ^ 1 << 31).to_be_bytes().to_vec(),
            qualifier: qualifier.to_vec(),
            timestamp: 1_700_000_000_000,
            cell_type: CellType::Put,
            value,
            seq: 5,
            tags: vec![],
        };
        cells.push(cell(&[0; 4], b"x".to_vec()));
        if let Some(digits) = digits {
            let mut bytes = vec![];
            basalt_model::types::decimal::encode(Decimal::new(digits, 2), &mut bytes).unwrap();
            cells.push(cell(&[0x80, 0x0b], bytes));
        }
    }
    (options, cells)
}

#[test]
fn the_worked_example_of_the_format_is_written_byte_for_byte() {
    let (options, cells) = worked_example();
    let written = file(options.clone(), &cells);
    assert!(golden("worked-example.hfile", written.clone()) == written);
    check(&cells, options);
}

/// Rows of random floats, and of texts around numbers, of one form, and with the same beginnings.
fn patterns() -> Vec<Cell> {
    let mut chance = Chance(11);
    let mut cells = vec![];
    for number in 0..1100u64 {
        let random = chance.next();
        let float = (random as i64 >> 10) as f64 / (1u64 << 53) as f64;
        let values = [
            vec![],
            format!("Customer#{:09}", random % 10_000_000).into_bytes(),
            format!("{:05}, of record {:04} --------", random % 90_000, random % 9_999).into_bytes(),
            format!("{:064x}{}", 3u128.pow(60) * (u128::from(number) / 7 + 1).pow(3), number % 7)
                .into_bytes(),
        ];
        for (at, mut value) in values.into_iter().enumerate() {
            if at == 0 {
                SqlType::Double.encode(SortOrder::Asc, &Value::Double(float), &mut value).unwrap();
            }
            cells.push(Cell {
                row: (number as u32).to_be_bytes().to_vec(),
                qualifier: vec![b'a' + at as u8],
                timestamp: 1_700_000_000_000,
                cell_type: CellType::Put,
                value,
                seq: 3,
                tags: vec![],
            });
        }
    }
    cells
}

fn patterns_options() -> WriterOptions {
    let types = [SqlType::Double, SqlType::Varchar(None), SqlType::Varchar(None), SqlType::Varchar(None)];
    let columns = types.into_iter().enumerate().map(|(at, sql_type)| (vec![b'a' + at as u8], sql_type));
    let layout = FamilyLayout { key: vec![], columns: columns.collect() };
    WriterOptions { layout: Some(Arc::new(layout)), ..prose_options(Compression::None) }
}

/// Of numbers, and of texts: of each scheme a file is kept.
const SCHEMES: [&str; 14] = [
    "frame",
    "delta",
    "ascending",
    "runs",
    "dictionary",
    "alp",
    "split",
    "fixed",
    "plain",
    "fsst",
    "prefix",
    "digits",
    "pattern",
    "decimals",
];

#[test]
fn files_kept_in_the_repository_are_read() {
    let shapes = [
        (
            "typed.hfile",
            Shape { rows: 2100, missing: 50, empty: 50, ..plain(vec![0, 4, 5, 7, 10, 11, 13, 14]) },
        ),
        ("versions.hfile", Shape { rows: 600, versions: 2, markers: 50, times: 50, ..plain(vec![1, 13]) }),
        ("decimals.hfile", Shape { rows: 1100, missing: 50, key: 4, close: true, ..plain(vec![27, 28]) }),
        ("beside.hfile", Shape { rows: 1500, close: true, ..plain(vec![10, 1, 10, 1, 10]) }),
        (
            "bytes.hfile",
            Shape { rows: 1100, odd: 50, key: 2, compression: Compression::Zstd, ..plain(vec![7, 15]) },
        ),
    ];
    let of_shape =
        |(name, shape): (&'static str, Shape)| (name, shape.options(name != "bytes.hfile"), shape.cells());
    let files = shapes.into_iter().map(of_shape).chain([
        ("words.hfile", prose_options(Compression::None), prose()),
        ("patterns.hfile", patterns_options(), patterns()),
        ("ascending.hfile", prose_options(Compression::None), chosen_keys()),
    ]);
    let mut schemes = BTreeSet::new();
    for (name, options, cells) in files {
        let reader = open(golden(name, file(options, &cells)));
        let blocks = (0..reader.block_count().unwrap()).map(|index| reader.read_block(index).unwrap());
        let blocks: Vec<_> = blocks.collect();
        let found = blocks.iter().flat_map(|block| (0..block.len()).map(|at| block.cell(at)));
        assert!(found.eq(cells.iter().map(Cell::borrow)), "{name}");
        for index in 0..reader.block_count().unwrap() {
            let block = reader.open_block(index).unwrap();
            let groups = block.columns().into_iter().flat_map(|group| group.facts().unwrap());
            schemes.extend(groups.map(|section| section.scheme));
        }
    }
    let missing: Vec<_> = SCHEMES.into_iter().filter(|scheme| !schemes.contains(scheme)).collect();
    assert!(missing.is_empty() && schemes.contains("words"), "no file has {missing:?}, of {schemes:?}");
}
