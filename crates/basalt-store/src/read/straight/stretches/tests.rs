// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::read::testing::{Cell, encoded_file, memory_env};

/// Files of (first row, last row, encoding), the first with the most bytes if they have as many rows.
fn files(of: &[(u64, u64, Encoding)]) -> Vec<Arc<StoreFile>> {
    let env = memory_env();
    let file = |(id, &(first, last, encoding)): (usize, &(u64, u64, Encoding))| {
        let cells: Vec<_> =
            (first..=last).map(|row| Cell::put(&format!("row{row:05}"), "q", 1, row)).collect();
        encoded_file(&env, id as u64, &cells, encoding)
    };
    of.iter().enumerate().map(file).collect()
}

/// First row, number of the lone file and of the others.
fn shown(files: &[Arc<StoreFile>]) -> Vec<(String, Option<u64>, Vec<u64>)> {
    let stretches = stretches(files, &KeyRange::all()).expect("the files are sound");
    for pair in stretches.windows(2) {
        assert_eq!(pair[0].range.end.as_ref(), Some(&pair[1].range.start));
    }
    assert!(stretches.last().is_none_or(|last| last.range.end.is_none()));
    let shown = |stretch: Stretch| {
        let start = String::from_utf8_lossy(&stretch.range.start).replace('\0', "+");
        let others = stretch.others.iter().map(|file| file.meta().id.0).collect();
        (start, stretch.lone.map(|file| file.meta().id.0), others)
    };
    stretches.into_iter().map(shown).collect()
}

const COLUMNAR: Encoding = Encoding::Columnar;

#[test]
fn files_that_overlap_at_their_ends_are_lone_in_turn() {
    // As a load leaves them whose rows are almost in order.
    let files = files(&[(0, 1005, COLUMNAR), (1000, 2005, COLUMNAR), (2000, 2500, COLUMNAR)]);
    let found = shown(&files);
    let lone: Vec<_> = found.iter().map(|(_, lone, _)| lone.expect("all have row groups")).collect();
    assert_eq!(lone, [0, 1, 2]);
    assert_eq!(found[0].0, "");
    assert_eq!(found[2], ("row02005+".into(), Some(2), vec![]));
    // Where two overlap both are there.
    assert!(found[0].2 == [1] || found[1].2.contains(&0), "{found:?}");
}

#[test]
fn a_large_file_stays_lone_among_small_ones() {
    let files = files(&[(100, 3000, COLUMNAR), (500, 510, COLUMNAR), (505, 600, Encoding::None)]);
    assert_eq!(shown(&files), [(String::new(), Some(0), vec![1, 2])]);
}

#[test]
fn gaps_belong_to_what_is_before_them_and_no_group_is_no_lone_file() {
    let files = files(&[(10, 20, COLUMNAR), (30, 400, Encoding::None), (300, 310, COLUMNAR)]);
    let expected = [
        (String::new(), Some(0), vec![]),
        ("row00030".into(), None, vec![1]),
        ("row00300".into(), Some(2), vec![1]),
        ("row00310+".into(), None, vec![1]),
    ];
    assert_eq!(shown(&files), expected);
}

#[test]
fn without_row_groups_there_are_no_stretches() {
    assert_eq!(shown(&files(&[(0, 9, Encoding::None)])), []);
    assert_eq!(shown(&[]), []);
}
