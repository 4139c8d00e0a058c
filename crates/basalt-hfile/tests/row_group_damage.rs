// SPDX-License-Identifier: Apache-2.0
//! Damaged row groups of every scheme: each bit of a file, one at a time. Whoever reads all cells gets an error. Whoever reads by column,
//! from the file or from sections that were kept, gets an error or the rows that were written: what the columns do not need is not read.
#![cfg(feature = "typed")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow::array::RecordBatch;
use basalt_hfile::columnar::{Binder, ColumnarBlock, Section, SectionShelf};
use basalt_hfile::typed::{RowDecoder, TypedError};
use basalt_hfile::{
    BloomKind, Encoding, HFileReader, HFileWriter, MemoryFile, Predicate, ReadOptions, WriterOptions,
};
use basalt_model::rowkey::encode_row_key;
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::types::{Decimal, Value};
use basalt_model::{CellRef, CellType, Seq, SortOrder, SqlType, TableSchema};

/// Every scheme of numbers and of texts, and the mark of distances.
const SCHEMES: [&str; 16] = [
    "alp",
    "ascending",
    "decimals",
    "delta",
    "dictionary",
    "digits",
    "distances",
    "fixed",
    "frame",
    "fsst",
    "pattern",
    "plain",
    "prefix",
    "runs",
    "split",
    "words",
];
const ROWS: i64 = 120;
/// What is read of a row group first; a smaller one is read as a whole.
const FIRST_READ: u32 = 16 << 10;
/// Of a large file one bit of so many bytes is flipped.
const BYTES_A_FLIP: usize = 16;

/// A number without order for each number.
fn spread(number: i64) -> i64 {
    (number.wrapping_mul(0x5851_f42d_4c95_7f2d) as u64 >> 33) as i64
}

fn text(text: String) -> Value<'static> {
    Value::Text(text.into())
}

/// Long words, of which symbols of eight bytes need more.
fn words(row: i64) -> String {
    const LONG: [&str; 7] = [
        "metamorphic",
        "sedimentary",
        "hornblendite",
        "conglomerate",
        "granodiorite",
        "anorthosite",
        "carbonatite",
    ];
    let word = |at: i64| LONG[spread(at) as usize % 7];
    let rare = if row % 30 == 7 { " once" } else { "" };
    format!("{} {} {}{rare}", word(row), word(row * 99), word(row * 777))
}

/// The columns: name, type, and the value of a row.
type Column = (&'static str, SqlType, fn(i64) -> Value<'static>);

/// Of each scheme one, in the form that makes the writer choose it; the key's column is the first.
const COLUMNS: [Column; 17] = [
    ("PREFIX", SqlType::Varchar(None), |row| {
        text(format!("customer/{:05}/{}", row * 3, "y".repeat(row as usize % 3)))
    }),
    ("FRAME", SqlType::Integer, |row| Value::Int(spread(row) % 1000)),
    ("DELTA", SqlType::UnsignedInt, |row| Value::Int(5_000_000 + row * 1000 + spread(row) % 7)),
    ("ASCENDING", SqlType::BigInt, |row| Value::Int(row.pow(6))),
    ("RUNS", SqlType::SmallInt, |row| Value::Int(row / 40 * 1001 - 7)),
    ("FEW", SqlType::UnsignedLong, |row| Value::Int(spread(row % 5 * 77))),
    ("ALP", SqlType::Double, |row| Value::Double((spread(row) % 10_000) as f64 / 100.0)),
    ("SPLIT", SqlType::UnsignedDouble, |row| {
        let mantissa = (spread(row) as u64) << 21 ^ spread(row + 1000) as u64;
        Value::Double(f64::from_bits((100 + 400 * (row % 5) as u64) << 52 | mantissa))
    }),
    ("FIRST", SqlType::BigInt, |row| Value::Int(row * 7919 % 4096 * 1_000_003)),
    ("SECOND", SqlType::BigInt, |row| Value::Int(row * 7919 % 4096 * 1_000_003 + row % 30)),
    ("FIXED", SqlType::Varchar(None), |row| text(format!("{:x}", spread(row) % 0xf000 + 0x1000))),
    ("PLAIN", SqlType::Varbinary(None), |row| {
        let bytes = (0..spread(row) % 9).map(|at| (spread(row + at) >> 7) as u8);
        Value::Bytes(bytes.collect::<Vec<_>>().into())
    }),
    ("FSST", SqlType::Varchar(None), |row| {
        text(format!("httpsexampleorg{}x{}", spread(row) % 100, spread(row + 99)))
    }),
    ("DIGITS", SqlType::Varchar(None), |row| text(format!("order-{:06}", spread(row) % 1_000_000))),
    ("PATTERN", SqlType::Varchar(None), |row| {
        text(format!("{:04x}/state={:04x}", spread(row) % 65_536, spread(row + 99) % 65_536))
    }),
    ("DECIMALS", SqlType::Decimal(Some((38, 4))), |row| {
        let digits = i128::from(spread(row)) << 50 ^ i128::from(spread(row + 99));
        Value::Decimal(Decimal::new(digits - (1 << 79), 4))
    }),
    ("WORDS", SqlType::Varchar(None), |row| text(words(row))),
];

fn table() -> TableSchema {
    let columns = COLUMNS.map(|(name, sql_type, _)| ColumnDefinition::new(name, sql_type));
    TableSchema::try_new(SchemaDefinition::new(columns.into(), vec![KeyPart::asc(COLUMNS[0].0)])).unwrap()
}

/// A file of one row group with all the columns; some rows lack a cell, and those divisible by seven were written later.
fn file_of_every_scheme(table: &TableSchema) -> Vec<u8> {
    let options = WriterOptions {
        encoding: Encoding::Columnar,
        bloom: BloomKind::None,
        layout: Some(Arc::new(table.family_layout(&table.empty_family))),
        ..Default::default()
    };
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..ROWS {
        let mut row = vec![];
        encode_row_key(&table.key, &[COLUMNS[0].2(number)], &mut row).unwrap();
        let mut cells = vec![(table.empty_qualifier.clone(), b"x".to_vec())];
        for (column, (_, sql_type, value)) in table.columns.iter().zip(&COLUMNS[1..]) {
            let mut bytes = vec![];
            sql_type.encode(SortOrder::Asc, &value(number), &mut bytes).unwrap();
            cells.push((column.qualifier.clone(), bytes));
        }
        // The last column has gaps.
        cells.truncate(cells.len() - usize::from(number % 11 == 3));
        for (qualifier, value) in &cells {
            let (cell_type, later) = (CellType::Put, i64::from(number % 7 == 0));
            let (family, timestamp) = (table.empty_family.as_bytes(), 1_700_000_000_000 + later);
            let seq = Seq(5 + later as u64);
            writer
                .append(CellRef { row: &row, family, qualifier, timestamp, cell_type, value, seq, tags: b"" })
                .unwrap();
        }
    }
    writer.finish_into().unwrap().1
}

fn open(bytes: Vec<u8>) -> basalt_hfile::Result<HFileReader> {
    HFileReader::open(Arc::new(MemoryFile::new("damaged", bytes)), ReadOptions::default())
}

/// Reads all there is: cells, and the Bloom filters, which have one chunk.
fn read_cells(bytes: Vec<u8>) -> basalt_hfile::Result<()> {
    let reader = open(bytes)?;
    for index in 0..reader.block_count()? {
        let block = reader.read_block(index)?;
        let row = block.row(block.len() - 1);
        reader.may_contain_row(row)?;
        reader.may_contain_family_delete(row)?;
    }
    Ok(())
}

/// Sections of one block that are kept.
#[derive(Debug, Default)]
struct Shelf(Mutex<HashMap<usize, Arc<Section>>>);

impl SectionShelf for Shelf {
    fn get(&self, number: usize) -> Option<Arc<Section>> {
        self.0.lock().unwrap().get(&number).cloned()
    }

    fn put(&self, number: usize, section: &Arc<Section>) {
        self.0.lock().unwrap().insert(number, Arc::clone(section));
    }
}

/// All rows of plain row groups by column, each vector a batch; from sections that are kept, or as they are read.
fn read_columns(bytes: Vec<u8>, table: &TableSchema, kept: bool) -> Result<Vec<RecordBatch>, TypedError> {
    let (reader, mut batches) = (open(bytes)?, vec![]);
    for index in 0..reader.block_count()? {
        let block = reader.open_block(index)?;
        let Some(group) = block.columns().filter(|group| group.is_plain()) else { continue };
        let shelf = || kept.then(|| Box::new(Shelf::default()) as Box<dyn SectionShelf>);
        let group: ColumnarBlock = group.reopened(shelf());
        let all = Binder::default().bind(&Arc::new(Predicate::ALWAYS), &group, table);
        let mut decoder = RowDecoder::in_short_form(table, table.declared_order());
        decoder.load(&group)?;
        for vector in 0..group.vectors() {
            let rows = decoder.select(&all, &group, vector)?;
            decoder.push_vector(&group, vector, &rows)?;
            batches.push(decoder.finish_batch()?);
        }
    }
    Ok(batches)
}

/// What is in a file.
#[derive(Default)]
struct Contents {
    schemes: BTreeSet<&'static str>,
    /// Bytes that nobody reads who reads columns alone.
    not_read: Vec<Range<usize>>,
    has_columns: bool,
}

impl Contents {
    fn of(bytes: &[u8]) -> Self {
        let (reader, mut contents) = (open(bytes.to_vec()).unwrap(), Self::default());
        for index in 0..reader.block_count().unwrap() {
            let (block, extent) = (reader.open_block(index).unwrap(), reader.block_extent(index).unwrap());
            let group = block.columns().expect("the files have row groups alone");
            contents.has_columns |= group.is_plain();
            let facts = group.facts().unwrap();
            let block_end = extent.offset as usize + extent.size_bytes as usize;
            // Behind the sections are four zeros, which are met only where a block is read as a whole.
            let mut at = block_end - 4 - facts.iter().map(|section| section.bytes as usize).sum::<usize>();
            for section in facts {
                let is_distances = section.what.starts_with("Beside");
                contents.schemes.insert(if is_distances { "distances" } else { section.scheme });
                let end = at + section.bytes as usize;
                let of_cells_alone = ["KeyIndex", "Timestamps", "Types", "Seqs"];
                if of_cells_alone.iter().any(|kind| section.what.starts_with(kind)) {
                    contents.not_read.push(at..end);
                }
                at = end;
            }
            if extent.size_bytes > FIRST_READ {
                contents.not_read.push(at..block_end);
            }
            if index + 1 == reader.block_count().unwrap() {
                // Bloom filters.
                contents.not_read.push(block_end..reader.trailer().load_on_open_offset as usize);
            }
        }
        contents
    }
}

/// Flips some bits, one at a time, each of which must be found.
struct Flips<'a> {
    sound: &'a [u8],
    table: &'a TableSchema,
    contents: Contents,
    rows: Vec<RecordBatch>,
    flipped: usize,
    /// How many are not met by who reads columns, from the file and from what is kept.
    not_met: [usize; 2],
}

impl<'a> Flips<'a> {
    fn new(sound: &'a [u8], table: &'a TableSchema) -> Self {
        read_cells(sound.to_vec()).unwrap();
        let (contents, rows) = (Contents::of(sound), read_columns(sound.to_vec(), table, false).unwrap());
        assert_eq!(contents.has_columns, rows.iter().any(|batch| batch.num_rows() > 0));
        Self { sound, table, contents, rows, flipped: 0, not_met: [0; 2] }
    }

    fn flip(&mut self, at: usize, bit: usize) {
        let mut bytes = self.sound.to_vec();
        bytes[at] ^= 1 << bit;
        self.flipped += 1;
        assert!(read_cells(bytes.clone()).is_err(), "bit {bit} of byte {at} goes unnoticed");
        for kept in [false, true] {
            if !self.contents.has_columns {
                continue;
            }
            if let Ok(rows) = read_columns(bytes.clone(), self.table, kept) {
                assert!(rows == self.rows, "bit {bit} of byte {at} changes what is read, kept: {kept}");
                let is_not_read = self.contents.not_read.iter().any(|range| range.contains(&at));
                assert!(is_not_read, "bit {bit} of byte {at} goes unnoticed by column, kept: {kept}");
                self.not_met[usize::from(kept)] += 1;
            }
        }
    }
}

fn assert_every_scheme(found: &BTreeSet<&'static str>) {
    let missing: Vec<_> = SCHEMES.into_iter().filter(|scheme| !found.contains(scheme)).collect();
    assert!(missing.is_empty(), "no section is {missing:?}");
}

#[test]
fn every_flipped_bit_is_found_in_row_groups_of_every_scheme() {
    let (table, start) = (table(), Instant::now());
    let sound = file_of_every_scheme(&table);
    let mut flips = Flips::new(&sound, &table);
    assert_every_scheme(&flips.contents.schemes);
    for at in 0..sound.len() {
        (0..8).for_each(|bit| flips.flip(at, bit));
    }
    println!("{} bits in {:?}, of {:?} not met by column", flips.flipped, start.elapsed(), flips.not_met);
    assert_eq!(flips.flipped, 8 * sound.len());
    let not_read = flips.contents.not_read.iter().map(Range::len).sum::<usize>();
    assert_eq!(flips.not_met[0], 8 * not_read, "every bit of key index, timestamps and sequence numbers");
    // The key index is kept with the key's sections, and the headers of what is kept are read.
    assert!((1..flips.not_met[0]).contains(&flips.not_met[1]), "{:?}", flips.not_met);
}

/// A table whose columns are those of a file, all as bytes.
fn table_of(bytes: &[u8]) -> TableSchema {
    let reader = open(bytes.to_vec()).unwrap();
    let block = reader.open_block(0).unwrap();
    let bytes = |name: String| ColumnDefinition::new(name, SqlType::Varbinary(None));
    let mut columns = vec![bytes("K".to_owned())];
    let qualifiers: Vec<Vec<u8>> =
        block.columns().unwrap().columns().map(|(name, _)| name.to_vec()).collect();
    columns.extend((0..qualifiers.len()).map(|at| bytes(format!("C{at}"))));
    let definition = SchemaDefinition::new(columns, vec![KeyPart::asc("K")]);
    let mut table = TableSchema::try_new(definition).unwrap();
    let family = String::from_utf8(reader.read_block(0).unwrap().cell(0).family.to_vec()).unwrap();
    for (column, qualifier) in table.columns.iter_mut().zip(qualifiers) {
        (column.family, column.qualifier) = (family.clone(), qualifier);
    }
    table
}

/// Files of several vectors and pages, too large to be read at once and for each of their bits: one bit of every so many bytes.
#[test]
fn flipped_bits_are_found_in_the_files_kept_in_the_repository() {
    let (mut schemes, mut flipped, start) = (BTreeSet::new(), 0, Instant::now());
    for name in ["ascending", "beside", "bytes", "decimals", "patterns", "typed", "versions", "words"] {
        let sound = std::fs::read(format!("testdata/columnar/{name}.hfile")).unwrap();
        let table = table_of(&sound);
        let mut flips = Flips::new(&sound, &table);
        for at in (0..sound.len()).step_by(BYTES_A_FLIP) {
            flips.flip(at, at / BYTES_A_FLIP % 8);
        }
        schemes.extend(&flips.contents.schemes);
        flipped += flips.flipped;
    }
    println!("{flipped} bits of files of {schemes:?} in {:?}", start.elapsed());
    assert_every_scheme(&schemes);
    assert!(flipped > 200_000 / BYTES_A_FLIP, "{flipped} bits");
}
