// SPDX-License-Identifier: Apache-2.0
//! Cursors and single rows against the whole decoded block, which is the oracle.

use super::*;
use crate::fixtures;

fn every_block(mut check: impl FnMut(&str, &EncodedBlock, &CellBlock)) {
    let mut blocks = 0;
    for fixture in fixtures::all() {
        let reader = fixture.open();
        // The first blocks and the last say as much as all of them.
        let count = reader.block_count().unwrap();
        for index in (0..count).filter(|index| *index < 3 || index + 1 == count) {
            let encoded = reader.read_encoded_block(index).unwrap();
            check(&fixture.name, &encoded, &encoded.decode().unwrap());
            blocks += 1;
        }
    }
    assert!(blocks > 100);
}

/// Keys around a cell: the first of its row and column, the key, and one just behind it.
fn targets<'a>(cell: &CellRef<'a>) -> [FlatKey<'a>; 4] {
    let key = FlatKey::of(cell);
    [
        FlatKey::first_of_row(cell.row),
        FlatKey::first_of_column(cell.row, cell.family, cell.qualifier),
        key,
        FlatKey { type_code: key.type_code - 1, ..key },
    ]
}

#[test]
fn a_seek_lands_on_the_first_cell_not_below_and_walks_both_ways_from_there() {
    every_block(|name, encoded, block| {
        let mut moving = encoded.cursor().unwrap();
        for at in (0..block.len()).rev().step_by(7).chain((0..block.len()).step_by(5)) {
            for target in targets(&block.cell(at)) {
                let expected =
                    (0..block.len()).find(|&at| FlatKey::of(&block.cell(at)).compare(&target).is_ge());
                let mut fresh = encoded.cursor().unwrap();
                for cursor in [&mut fresh, &mut moving] {
                    assert_eq!(cursor.seek(&target).unwrap(), expected.is_some(), "{name} {target}");
                    assert_eq!(cursor.cell(), expected.map(|at| block.cell(at)), "{name} {target}");
                }
                let landed = expected.unwrap_or(block.len());
                for back in (landed.saturating_sub(9)..landed).rev() {
                    assert!(fresh.previous_cell().unwrap());
                    assert_eq!(fresh.cell(), Some(block.cell(back)), "{name} {target} back to {back}");
                }
                for forth in landed.saturating_sub(9) + 1..(landed + 3).min(block.len()) {
                    assert!(fresh.next_cell().unwrap());
                    assert_eq!(fresh.cell(), Some(block.cell(forth)), "{name} {target} forth to {forth}");
                }
            }
        }
    });
}

#[test]
fn a_cursor_walks_all_cells_forward_and_backward() {
    every_block(|name, encoded, block| {
        let mut cursor = encoded.cursor().unwrap();
        assert_eq!(cursor.cell(), None);
        for at in 0..block.len() {
            assert!(cursor.next_cell().unwrap());
            assert_eq!(cursor.cell(), Some(block.cell(at)), "{name} {at}");
        }
        assert!(!cursor.next_cell().unwrap());
        assert_eq!(cursor.cell(), None);
        for at in (0..block.len()).rev() {
            assert!(cursor.previous_cell().unwrap());
            assert_eq!(cursor.cell(), Some(block.cell(at)), "{name} {at}");
        }
        assert!(!cursor.previous_cell().unwrap());
        assert_eq!(cursor.cell(), None);
    });
}

#[test]
fn one_row_decodes_to_its_cells_alone() {
    every_block(|name, encoded, block| {
        let rows: Vec<&[u8]> = block.row_starts.iter().map(|&start| block.row(start as usize)).collect();
        for row in &rows {
            let between = [row, &b"\0"[..]].concat();
            for row in [row, &between[..]] {
                let expected: Vec<_> =
                    (0..block.len()).map(|at| block.cell(at)).filter(|cell| cell.row == row).collect();
                let found = encoded.decode_row(row).unwrap();
                let cells: Vec<_> = (0..found.len()).map(|at| found.cell(at)).collect();
                assert_eq!(cells, expected, "{name}");
                assert_eq!(found.row_starts.len(), usize::from(!expected.is_empty()));
            }
        }
        assert!(encoded.decode_row(b"").unwrap().is_empty());
        assert!(encoded.decode_row(&[0xff; 300]).unwrap().is_empty());
    });
}
