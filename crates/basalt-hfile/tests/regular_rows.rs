// SPDX-License-Identifier: Apache-2.0
//! Tables as they are: rows with the same columns and lengths, which are decoded in bulk, with a row of another form now
//! and then. What is read must be what was written, by block, by row and by seek, whatever breaks the form where.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "cell/owned.rs"]
mod cell;

use std::sync::Arc;

use basalt_hfile::{
    BloomKind, CellBlock, Checksum, Compression, Encoding, Error, FlatKey, HFileReader, HFileWriter,
    MemoryFile, ReadOptions, RowBlock, RowPart, WriterOptions,
};
use basalt_model::{CellRef, CellType, Seq};
use cell::Cell;
use proptest::collection::vec;
use proptest::prelude::*;

/// What is not as in the row before.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Oddity {
    None,
    /// A column is missing.
    Missing,
    /// A column has an older version as well.
    Version,
    /// A column is deleted.
    Delete,
    /// A value is longer.
    Longer,
    /// All values are equal.
    Equal,
    /// A cell has tags.
    Tags,
    /// The row key is one byte longer.
    LongKey,
}

#[derive(Debug, Clone)]
struct Table {
    key_bytes: usize,
    first_key: u64,
    /// Distance of the row keys.
    key_step: u64,
    columns: Vec<(String, usize)>,
    rows_per_batch: u64,
    /// From batch to batch.
    timestamp_step: i64,
    /// From column to column.
    column_step: i64,
    first_seq: u64,
    oddities: Vec<Oddity>,
    with_seq: bool,
    with_tags: bool,
    tags_compressed: bool,
    seq_override: bool,
    block_bytes: u32,
}

fn oddity() -> impl Strategy<Value = Oddity> {
    use Oddity::*;
    let odd = proptest::sample::select(vec![Missing, Version, Delete, Longer, Equal, Tags, LongKey]);
    prop_oneof![30 => Just(None), 1 => odd]
}

fn table() -> impl Strategy<Value = Table> {
    let column = ("[a-c]{0,9}", 0usize..10);
    let key = (1usize..24, any::<u64>(), prop_oneof![Just(1u64), 1u64..70_000]);
    let seq = prop_oneof![Just(0u64), 100u64..140, 200u64..300, 60_000u64..70_000, Just(1u64 << 40)];
    let flags = any::<(bool, bool, bool, bool)>();
    let rows_per_batch = prop_oneof![1u64..20, 20u64..200];
    let steps = proptest::sample::select(vec![25, 25, 0, 1, -3, 70_000, 1 << 42, -(1 << 41)]);
    let batches = (rows_per_batch, steps, prop_oneof![3 => Just(0i64), 1 => -3i64..300], seq);
    let columns = prop_oneof![12 => vec(column.clone(), 1..7), 1 => vec(column, 7..14)];
    (key, columns, batches, vec(oddity(), 1..200), flags, 200u32..9000).prop_map(
        |(
            (key_bytes, first_key, key_step),
            columns,
            (rows_per_batch, timestamp_step, column_step, first_seq),
            oddities,
            flags,
            block_bytes,
        )| {
            let mut columns = columns;
            columns.sort();
            columns.dedup_by(|a, b| a.0 == b.0);
            Table {
                key_bytes,
                first_key,
                key_step,
                columns,
                rows_per_batch,
                timestamp_step,
                column_step,
                first_seq,
                oddities,
                with_seq: flags.0,
                with_tags: flags.1,
                tags_compressed: flags.2,
                seq_override: flags.3,
                block_bytes,
            }
        },
    )
}

fn cells_of(table: &Table) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (number, &oddity) in table.oddities.iter().enumerate() {
        let key = table.first_key.wrapping_add(number as u64 * table.key_step);
        let mut row = vec![7; table.key_bytes];
        for (byte, from) in row.iter_mut().rev().zip(key.to_le_bytes()) {
            *byte = from;
        }
        if oddity == Oddity::LongKey {
            row.push(1);
        }
        let batch = number as u64 / table.rows_per_batch;
        for (index, (qualifier, value_len)) in table.columns.iter().enumerate() {
            let odd = index == number % table.columns.len();
            let is = |wanted| odd && oddity == wanted;
            if is(Oddity::Missing) {
                continue;
            }
            let mut value: Vec<u8> = (0..*value_len).map(|at| (number * 31 + at * 7 + index) as u8).collect();
            if is(Oddity::Longer) {
                value.extend(vec![b'l'; 200]);
            }
            if oddity == Oddity::Equal {
                value = vec![b'e'; 4];
            }
            let cell = Cell {
                row: row.clone(),
                qualifier: qualifier.clone().into_bytes(),
                timestamp: 1_700_000_000_000
                    + table.timestamp_step * batch as i64
                    + table.column_step * index as i64,
                cell_type: if is(Oddity::Delete) { CellType::DeleteColumn } else { CellType::Put },
                value,
                seq: if table.with_seq { table.first_seq + batch } else { 0 },
                tags: if table.with_tags && is(Oddity::Tags) { b"\0\x03\x08T1".to_vec() } else { vec![] },
            };
            if is(Oddity::Version) {
                let older = Cell { timestamp: cell.timestamp - 300, ..cell.clone() };
                cells.extend([cell, older]);
            } else {
                cells.push(cell);
            }
        }
    }
    cells.sort_by(|a, b| a.borrow().compare(&b.borrow()));
    cells.dedup_by(|a, b| FlatKey::of(&a.borrow()) == FlatKey::of(&b.borrow()));
    cells
}

fn options(table: &Table, encoding: Encoding) -> WriterOptions {
    WriterOptions {
        encoding,
        compression: Compression::None,
        block_bytes: table.block_bytes,
        with_seq: table.with_seq,
        with_tags: table.with_tags,
        tags_compressed: table.tags_compressed,
        ..Default::default()
    }
}

fn write(options: WriterOptions, cells: &[Cell]) -> Vec<u8> {
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for cell in cells {
        writer.append(cell.borrow()).unwrap();
    }
    writer.finish_into().unwrap().1
}

fn open(table: &Table, cells: &[Cell], encoding: Encoding) -> HFileReader {
    let bytes = write(options(table, encoding), cells);
    let seq_override = table.seq_override.then_some(Seq(99));
    let options = ReadOptions { seq_override, ..Default::default() };
    HFileReader::open(Arc::new(MemoryFile::new("table", bytes)), options).unwrap()
}

/// Everything that a block says of its cells beside them.
fn check_facts(block: &CellBlock) {
    let cells: Vec<_> = (0..block.len()).map(|at| block.cell(at)).collect();
    let starts: Vec<u32> = (0..cells.len())
        .filter(|&at| at == 0 || cells[at - 1].row != cells[at].row)
        .map(|at| at as u32)
        .collect();
    assert_eq!(block.row_starts, starts);
    let twice = |pair: &[CellRef<'_>]| pair[0].row == pair[1].row && pair[0].qualifier == pair[1].qualifier;
    let plain = cells.iter().all(|cell| cell.cell_type == CellType::Put) && !cells.windows(2).any(twice);
    assert_eq!(block.plain, plain);
}

/// Runs of rows are the same cells: one after the other, and by row and column; no row is in two stretches.
fn check_rows(block: &RowBlock, expected: &[Cell], encoding: Encoding) {
    assert_eq!(block.len(), expected.len());
    let mut rest = expected.iter();
    block.for_each_cell(|cell| assert_eq!(*cell, rest.next().unwrap().borrow(), "{encoding} by rows"));
    assert!(rest.next().is_none());
    let (mut at, mut last_row) = (0, None);
    for part in block.parts() {
        assert_ne!(last_row, Some(&expected[at].row), "{encoding} divides a row");
        match part {
            RowPart::Cells { first, end, .. } => at += end - first,
            RowPart::Rows(rows) => {
                for row in 0..rows.len() {
                    for column in 0..rows.columns() {
                        let cell = expected[at].borrow();
                        assert_eq!(rows.cell(row, column), cell);
                        assert_eq!((rows.row(row), rows.value(row, column)), (cell.row, cell.value));
                        assert_eq!(rows.name(column), (cell.family, cell.qualifier));
                        at += 1;
                    }
                }
            }
        }
        last_row = Some(&expected[at - 1].row);
    }
}

fn check(table: &Table, encoding: Encoding) {
    let mut cells = cells_of(table);
    let reader = open(table, &cells, encoding);
    if table.seq_override {
        cells.iter_mut().for_each(|cell| cell.seq = 99);
    }
    let mut rest = &cells[..];
    for index in 0..reader.block_count().unwrap() {
        let encoded = reader.read_encoded_block(index).unwrap();
        let block = reader.read_block(index).unwrap();
        check_facts(&block);
        let expected;
        (expected, rest) = rest.split_at(block.len());
        // The cursor goes cell by cell, the block in bulk.
        let mut cursor = encoded.cursor().unwrap();
        for (at, cell) in expected.iter().enumerate() {
            assert_eq!(block.cell(at), cell.borrow(), "{encoding} cell {at} of block {index}");
            assert!(cursor.next_cell().unwrap());
            assert_eq!(cursor.cell(), Some(cell.borrow()));
        }
        check_rows(&encoded.decode_rows().unwrap(), expected, encoding);
        for (at, cell) in expected.iter().enumerate().step_by(5) {
            let of_row: Vec<_> = expected.iter().filter(|other| other.row == cell.row).collect();
            let row = encoded.decode_row(&cell.row).unwrap();
            assert_eq!((0..row.len()).map(|at| row.cell(at)).collect::<Vec<_>>(), borrowed(&of_row));
            check_facts(&row);
            let mut cursor = encoded.cursor().unwrap();
            assert!(cursor.seek(&FlatKey::of(&cell.borrow())).unwrap());
            assert_eq!(cursor.cell(), Some(cell.borrow()), "{encoding} sought");
            assert!(cursor.seek(&FlatKey::first_of_row(&cell.row)).unwrap());
            assert_eq!(cursor.cell(), Some(of_row[0].borrow()), "{encoding} sought by row");
            let first = expected.iter().position(|other| other.row == cell.row).unwrap();
            // Now and then to the start of the block, else a few cells.
            let steps = if at % 50 == 0 { first } else { first.min(3) };
            for back in 1..=steps {
                assert!(cursor.previous_cell().unwrap());
                assert_eq!(cursor.cell(), Some(expected[first - back].borrow()), "{encoding} {back} back");
            }
            assert_eq!(steps == first, !cursor.previous_cell().unwrap(), "{encoding} before the first");
            let other = &expected[(at * 7) % expected.len()];
            assert!(cursor.seek(&FlatKey::of(&other.borrow())).unwrap());
            assert_eq!(cursor.cell(), Some(other.borrow()), "{encoding} sought from elsewhere");
        }
    }
    assert!(rest.is_empty());
}

fn borrowed<'a>(cells: &[&'a Cell]) -> Vec<CellRef<'a>> {
    cells.iter().map(|cell| cell.borrow()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn rows_decoded_in_bulk_are_those_that_were_written(table in table()) {
        for encoding in Encoding::ALL {
            check(&table, encoding);
        }
    }
}

/// What is written from a reader's blocks, in another encoding and with other block sizes and filters.
fn check_rewritten(table: &Table, from: Encoding, to: Encoding, bloom: BloomKind, block_bytes: u32) {
    let cells = cells_of(&Table { seq_override: false, ..table.clone() });
    let reader = open(&Table { seq_override: false, ..table.clone() }, &cells, from);
    let options = || WriterOptions { bloom, block_bytes, ..options(table, to) };
    let mut writer = HFileWriter::new(Vec::new(), options()).unwrap();
    for index in 0..reader.block_count().unwrap() {
        writer.append_block(&reader.read_rows(index).unwrap()).unwrap();
    }
    let (summary, bytes) = writer.finish_into().unwrap();
    assert_eq!(summary.cells, cells.len() as u64);
    assert!(bytes == write(options(), &cells), "{from} to {to} with {bloom:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_file_of_blocks_is_that_of_their_cells(table in table(), block_bytes in 200u32..4000) {
        use Encoding::*;
        let raw = [(None, None), (None, RowIndexV1), (RowIndexV1, None), (FastDiff, None)];
        let by_form = [(None, FastDiff), (None, Prefix), (None, Diff), (Prefix, Diff), (Diff, Prefix), (FastDiff, FastDiff)];
        for (from, to) in raw.into_iter().chain(by_form) {
            for bloom in [BloomKind::None, BloomKind::Row, BloomKind::RowPrefix(2), BloomKind::RowCol] {
                check_rewritten(&table, from, to, bloom, block_bytes);
            }
        }
    }
}

/// A file may have rotted, or be of somebody who does not sort: rows of one form are compared as others are.
#[test]
fn rows_of_one_form_that_are_out_of_order_are_refused() {
    let table = plain_table();
    let cells = cells_of(&table);
    let unchecked = || WriterOptions { checksum: Checksum::Null, ..options(&table, Encoding::None) };
    let mut bytes = write(unchecked(), &cells);
    // The hundredth row gets the key of the third.
    let (later, earlier) =
        ((table.first_key as u32 + 100).to_be_bytes(), (table.first_key as u32 + 3).to_be_bytes());
    let places: Vec<usize> =
        (0..bytes.len() - 6).filter(|&at| bytes[at..at + 6] == [&[0, 4], &later[..]].concat()[..]).collect();
    assert_eq!(places.len(), 3, "a row has three cells");
    places.iter().for_each(|at| bytes[at + 2..at + 6].copy_from_slice(&earlier));
    let reader =
        HFileReader::open(Arc::new(MemoryFile::new("unsorted", bytes)), ReadOptions::default()).unwrap();
    let block = reader.read_rows(0).unwrap();
    assert!(block.parts().any(|part| matches!(part, RowPart::Rows(rows) if rows.len() > 200)));
    let mut writer = HFileWriter::new(Vec::new(), unchecked()).unwrap();
    let refused = writer.append_block(&block).unwrap_err();
    assert!(matches!(refused, Error::Order { .. }), "{refused}");
    assert_eq!(writer.cells(), 300);
}

/// Rows that differ in key, values and now and then in timestamp and sequence number come in runs, nearly all of them.
#[test]
fn rows_of_a_plain_table_come_in_runs() {
    let table = plain_table();
    let cells = cells_of(&table);
    for encoding in Encoding::OF_HBASE {
        let reader = open(&table, &cells, encoding);
        let mut in_runs = 0;
        for index in 0..reader.block_count().unwrap() {
            let block = reader.read_rows(index).unwrap();
            let rows_of = |part| if let RowPart::Rows(rows) = part { rows.len() } else { 0 };
            in_runs += block.parts().map(rows_of).sum::<usize>();
        }
        assert!(in_runs > 2900, "{encoding}: {in_runs} of 3000 rows");
    }
}

fn plain_table() -> Table {
    Table {
        key_bytes: 4,
        first_key: 250,
        key_step: 1,
        columns: vec![("V1".into(), 4), ("V2".into(), 8), ("_0".into(), 1)],
        rows_per_batch: 500,
        timestamp_step: 25,
        column_step: 0,
        first_seq: 20,
        oddities: vec![Oddity::None; 3000],
        with_seq: true,
        with_tags: false,
        tags_compressed: false,
        seq_override: false,
        block_bytes: 60_000,
    }
}
