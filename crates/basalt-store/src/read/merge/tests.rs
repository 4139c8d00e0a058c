// SPDX-License-Identifier: Apache-2.0
use basalt_model::KeyRange;
use proptest::prelude::*;

use super::*;
use crate::read::source::RunList;
use crate::read::testing::{Cell, cells_of, runs, sorted};

fn merge(sources: &[Vec<Cell>], block_cells: usize) -> Merge<RunList> {
    let list = |cells: &Vec<Cell>| RunList::new(runs(&sorted(cells.clone()), block_cells));
    Merge::new(sources.iter().map(list).collect())
}

fn drain(merge: &mut Merge<RunList>) -> Vec<Stretch> {
    std::iter::from_fn(|| merge.next().expect("memory does not fail")).collect()
}

fn rows(rows: &[&str], seq: u64) -> Vec<Cell> {
    rows.iter().map(|row| Cell::put(row, "q", 1, seq)).collect()
}

#[test]
fn a_source_that_stands_alone_passes_whole_blocks() {
    let sources = [rows(&["a", "b", "c", "d"], 2), rows(&["x", "y"], 1)];
    let mut merge = merge(&sources, 4);
    merge.seek(&KeyRange::all());
    let stretches = drain(&mut merge);
    let shape: Vec<_> = stretches.iter().map(|s| (s.run.cells.clone(), s.lone)).collect();
    assert_eq!(shape, [(0..4, true), (0..2, true)]);
}

#[test]
fn a_shared_row_is_merged_by_cells() {
    let sources = [rows(&["b", "d"], 2), rows(&["a", "b", "c"], 1)];
    let mut merge = merge(&sources, 4);
    merge.seek(&KeyRange::all());
    let shape: Vec<_> = drain(&mut merge)
        .iter()
        .map(|s| (s.run.block.row(s.run.cells.start)[0], s.run.cells.len(), s.lone))
        .collect();
    // The last cell of the shared row comes with the rows behind it.
    assert_eq!(shape, [(b'a', 1, true), (b'b', 1, false), (b'b', 2, true), (b'd', 1, true)]);
}

#[test]
fn equal_cells_come_from_the_newer_source_first() {
    let newer = Cell { value: b"new".to_vec(), ..Cell::put("a", "q", 1, 7) };
    let older = Cell { value: b"old".to_vec(), ..newer.clone() };
    let mut merge = merge(&[vec![newer.clone()], vec![older.clone()]], 4);
    merge.seek(&KeyRange::all());
    let runs: Vec<_> = drain(&mut merge).into_iter().map(|s| s.run).collect();
    assert_eq!(cells_of(&runs), [newer, older]);
}

#[test]
fn a_seek_takes_the_merge_back() {
    let mut merge = merge(&[rows(&["a", "c"], 2), rows(&["a", "b"], 1)], 1);
    for _ in 0..2 {
        merge.seek(&KeyRange { start: "b".into(), end: Some("c".into()) });
        let runs: Vec<_> = drain(&mut merge).into_iter().map(|s| s.run).collect();
        assert_eq!(cells_of(&runs), rows(&["b"], 1));
    }
}

proptest! {
    #[test]
    fn a_merge_is_a_sort(
        cells in prop::collection::vec((0..8u8, 0..3u8, 0..4i64, 0..4usize), 0..80),
        block_cells in 1..7usize, start in 0..9u8, end in prop::option::of(0..9u8),
    ) {
        let name = |n: u8| char::from(b'a' + n).to_string();
        let mut sources = vec![Vec::new(); 4];
        let mut all = Vec::new();
        for (seq, (row, qualifier, timestamp, source)) in cells.into_iter().enumerate() {
            let cell = Cell::put(&name(row), &name(qualifier), timestamp, seq as u64);
            sources[source].push(cell.clone());
            all.push(cell);
        }
        let range = KeyRange { start: name(start).into(), end: end.map(|end| name(end).into()) };
        let mut merge = merge(&sources, block_cells);
        merge.seek(&range);
        let stretches = drain(&mut merge);
        for pair in stretches.windows(2) {
            let same_row = pair[0].run.block.row(pair[0].run.cells.end - 1)
                == pair[1].run.block.row(pair[1].run.cells.start);
            // A lone stretch begins no row that another source has.
            let same_block = Arc::ptr_eq(&pair[0].run.block, &pair[1].run.block);
            prop_assert!(!(same_row && pair[0].lone && !pair[1].lone) || same_block);
        }
        let merged: Vec<_> = stretches.into_iter().map(|s| s.run).collect();
        let expected: Vec<Cell> = sorted(all).into_iter().filter(|cell| range.contains(&cell.row)).collect();
        prop_assert_eq!(cells_of(&merged), expected);
    }
}
