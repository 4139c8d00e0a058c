// SPDX-License-Identifier: Apache-2.0
//! Parts of row groups: some rows of a vector as cells, and its keys.

use std::sync::Arc;

use basalt_hfile::columnar::Mask;
use basalt_hfile::{HFileReader, MemoryFile, ReadOptions};
use basalt_model::{CellRef, CellType};

use super::cell::Cell;
use super::{Chance, file, plain};

/// Some rows of a vector, of some columns, are what is left of all of it without the others; and keys that are numbers are in order as such.
pub(super) fn check(reader: &HFileReader, seed: u64) {
    let mut chance = Chance(seed);
    for index in 0..reader.block_count().unwrap() {
        let block = reader.open_block(index).unwrap();
        let Some(group) = block.columns() else { continue };
        let names: Vec<Vec<u8>> = group.columns().map(|(name, _)| name.to_vec()).collect();
        for vector in 0..group.vectors() {
            let all = group.decode(vector..vector + 1).unwrap();
            let (rows, keys) = (group.rows_of(vector), group.key_rows(vector).unwrap());
            let mut wanted = Mask::NONE;
            let share = 1 + chance.next() % 40;
            (0..rows).filter(|_| chance.one_in(share)).for_each(|row| wanted.set(row, true));
            let some: Vec<Vec<u8>> = names.iter().filter(|_| chance.one_in(2)).cloned().collect();
            let columns = chance.one_in(2).then_some(&some[..]);
            let found = group.decode_rows(vector, &wanted, columns).unwrap();
            let mut bytes = vec![];
            for row in 0..rows {
                let start = bytes.len();
                keys.append(row, &mut bytes).unwrap();
                assert_eq!(keys.lower_bound_of(&bytes[start..]).unwrap(), (row, true));
                if let Some(numbers) = keys.numbers() {
                    let number = bytes[start..].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
                    assert_eq!(number, numbers[row]);
                    assert_eq!(Some((bytes.len() - start) as u32), keys.number_width());
                }
                if row > 20 {
                    break;
                }
            }
            let wanted: Vec<usize> = wanted.rows().collect();
            let is_wanted = |cell: &CellRef<'_>| {
                let row = keys.lower_bound_of(cell.row).unwrap().0;
                let is_of = |names: &[Vec<u8>]| names.iter().any(|name| name == cell.qualifier);
                wanted.binary_search(&row).is_ok() && columns.is_none_or(is_of)
            };
            let expected = (0..all.len()).map(|at| all.cell(at)).filter(is_wanted);
            assert!(expected.eq((0..found.len()).map(|at| found.cell(at))), "vector {vector}");
            assert!(found.row_starts.is_sorted_by(|a, b| a < b), "each row has cells");
        }
    }
}

#[test]
fn rows_of_texts_that_are_often_the_same_take_no_more_bytes_than_all_rows() {
    let text = |row: usize| vec![b'a' + row as u8 % 2; 10_000];
    let cell = |row: usize| Cell {
        row: (row as u32).to_be_bytes().to_vec(),
        qualifier: b"text".to_vec(),
        timestamp: 1,
        cell_type: CellType::Put,
        value: text(row),
        seq: 1,
        tags: vec![],
    };
    let cells: Vec<Cell> = (0..1000).map(cell).collect();
    let bytes = file(plain(vec![]).options(false), &cells);
    // As cells, the texts of a tenth of the rows would be more.
    let options = ReadOptions { block_raw_bytes_max: 1 << 19, ..Default::default() };
    let reader = HFileReader::open(Arc::new(MemoryFile::new("texts", bytes)), options).unwrap();
    let block = reader.open_block(0).unwrap();
    let mut odd = Mask::NONE;
    (1..1000).step_by(2).for_each(|row| odd.set(row, true));
    for rows in [odd, Mask::of_range(0..1000), Mask::of_range(3..999), Mask::of_range(7..8)] {
        let found = block.columns().unwrap().decode_rows(0, &rows, None).unwrap();
        let expected = rows.rows().map(|row| cells[row].borrow());
        assert!(expected.eq((0..found.len()).map(|at| found.cell(at))), "{rows:?}");
    }
}
