// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use basalt_model::{TableId, WriteBatch};

use super::*;
use crate::read::CellSource;

fn mutation(row: &str, cells: &[(&str, &str, i64, &str)]) -> RowMutation {
    let mut batch = WriteBatch::new();
    let mut builder = batch.row(TableId(1), row.as_bytes()).unwrap();
    for (family, qualifier, timestamp, value) in cells {
        builder.put(family.as_bytes(), qualifier.as_bytes(), *timestamp, value.as_bytes()).unwrap();
    }
    builder.finish();
    batch.freeze().rows.remove(0).1
}

fn read(
    memtable: &Arc<Memtable>,
    family: Option<&str>,
    from: &str,
    end: Option<&str>,
    seq: u64,
) -> Vec<String> {
    let mut cursor = MemtableCursor::new(Arc::clone(memtable), family, Seq(seq));
    cursor.seek(from.as_bytes());
    let mut found = Vec::new();
    while let Some(run) = cursor.next_run(end.map(str::as_bytes)).unwrap() {
        for i in run.cells {
            let cell = run.block.cell(i);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            found.push(format!(
                "{}/{}={}@{}",
                text(cell.row),
                text(cell.qualifier),
                text(cell.value),
                cell.seq.0
            ));
        }
    }
    found
}

fn sample() -> Arc<Memtable> {
    let memtable = Memtable::default();
    memtable.insert([(Seq(1), mutation("a", &[("f", "x", 1, "a1"), ("g", "y", 1, "g1")]))].into_iter());
    memtable.insert([(Seq(2), mutation("b", &[("f", "x", 1, "b1")]))].into_iter());
    memtable.insert([(Seq(3), mutation("a", &[("f", "w", 1, "a0"), ("f", "x", 2, "a2")]))].into_iter());
    Arc::new(memtable)
}

/// Rows that are alike in their first eight bytes, zeros filled up, as well as those that are not.
#[test]
fn rows_of_a_batch_are_sorted_by_all_their_bytes() {
    let rows = [
        "a",
        "a\0",
        "a\0\0\0\0\0\0\0",
        "a\0\0\0\0\0\0\0\0",
        "a\0\0\0\0\0\0\0\u{1}",
        "aaaaaaaa",
        "aaaaaaaaa",
        "ab",
        "\u{e4}",
    ];
    let memtable = Memtable::default();
    memtable.insert(rows.iter().rev().map(|row| (Seq(1), mutation(row, &[("f", "x", 1, "v")]))));
    let memtable = Arc::new(memtable);
    let wanted: Vec<String> = rows.iter().map(|row| format!("{row}/x=v@1")).collect();
    assert_eq!(read(&memtable, None, "", None, 9), wanted);
    assert_eq!(read(&memtable, None, "a\0", Some("aaaaaaaaa"), 9), wanted[1..6]);
}

#[test]
fn cells_come_in_key_order_with_the_newest_first() {
    assert_eq!(
        read(&sample(), None, "", None, 9),
        ["a/w=a0@3", "a/x=a2@3", "a/x=a1@1", "a/y=g1@1", "b/x=b1@2"]
    );
    assert_eq!(read(&sample(), Some("g"), "", None, 9), ["a/y=g1@1"]);
}

#[test]
fn a_reader_sees_nothing_newer_than_its_snapshot() {
    assert_eq!(read(&sample(), Some("f"), "", None, 2), ["a/x=a1@1", "b/x=b1@2"]);
    assert_eq!(read(&sample(), Some("f"), "", None, 0), Vec::<String>::new());
}

#[test]
fn bounds_are_kept_and_chunks_join_without_gaps() {
    assert_eq!(read(&sample(), Some("f"), "a\0", None, 9), ["b/x=b1@2"]);
    assert_eq!(read(&sample(), Some("f"), "", Some("b"), 9), ["a/w=a0@3", "a/x=a2@3", "a/x=a1@1"]);
    let memtable = Arc::new(Memtable::default());
    let rows: Vec<String> = (0..3000).map(|i| format!("{i:05}")).collect();
    memtable.insert(rows.iter().zip(1..).map(|(row, seq)| (Seq(seq), mutation(row, &[("f", "q", 1, "v")]))));
    let found = read(&memtable, None, "", None, u64::MAX);
    let expected: Vec<String> = rows.iter().zip(1..).map(|(row, seq)| format!("{row}/q=v@{seq}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_taken_out_leaves_neither_cells_nor_bytes() {
    let memtable = sample();
    let before = memtable.size_bytes();
    let added = memtable.insert([(Seq(4), mutation("b", &[("f", "x", 2, "oops")]))].into_iter());
    assert_eq!(memtable.remove(b"b", Seq(4)), added);
    assert_eq!(memtable.size_bytes(), before);
    assert_eq!(read(&memtable, None, "b", None, 9), ["b/x=b1@2"]);
}

#[test]
fn a_block_is_plain_only_while_nothing_in_it_hides_anything() {
    let plain = |memtable: Arc<Memtable>| {
        MemtableCursor::new(memtable, Some("f"), Seq(9)).next_run(None).unwrap().unwrap().block.plain
    };
    assert!(!plain(sample()));
    let memtable = Memtable::default();
    memtable.insert([(Seq(1), mutation("a", &[("f", "x", 1, ""), ("f", "y", 1, "")]))].into_iter());
    assert!(plain(Arc::new(memtable)));
}
