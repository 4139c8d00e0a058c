// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::columnar::Form;

fn rows(rows: &[&str]) -> StringList {
    rows.iter().map(|row| row.as_bytes()).collect()
}

fn texts(values: &[&str]) -> Gathered {
    Gathered::Bytes(rows(values))
}

#[test]
fn only_ascending_rows_and_columns_with_a_value_for_each_make_a_batch() {
    assert!(ColumnBatch::of_rows(b"f", 1, rows(&["a", "a"])).is_none());
    assert!(ColumnBatch::of_rows(b"f", 1, rows(&["b", "a"])).is_none());
    assert!(ColumnBatch::of_rows(b"f", 1, rows(&["", "a"])).is_none());
    assert!(ColumnBatch::of_rows(b"f", 1, rows(&[])).is_none());
    assert!(ColumnBatch::of_rows(b"", 1, rows(&["a"])).is_none());
    let mut batch = ColumnBatch::of_rows(b"f", 1, rows(&["a", "b"])).expect("rows ascend");
    assert_eq!(batch.push_column(b"m", texts(&["1"])), None);
    assert_eq!(batch.push_column(b"m", texts(&["1", "22"])), Some(()));
    assert_eq!(batch.push_column(b"m", texts(&["1", "2"])), None);
    assert_eq!(batch.push_column(b"l", texts(&["1", "2"])), None);
    assert_eq!(batch.push_column(&[b'q'; QUALIFIER_MAX + 1], texts(&["1", "2"])), None);
    assert_eq!((batch.len(), batch.cells(), batch.size_bytes()), (2, 2, 5));
}

#[test]
fn cells_come_row_by_row_and_lengths_are_those_of_their_bytes() {
    let mut batch = ColumnBatch::of_rows(b"f", 9, rows(&["a", "b", "c"])).expect("rows ascend");
    let digits = vec![-12_345, 0, 100];
    batch.push_column(b"d", Gathered::Numbers(Form::Decimal(2), digits)).expect("behind none");
    batch.push_column(b"i", Gathered::Numbers(Form::Signed(2), vec![1, 2, 3])).expect("behind d");
    batch.push_column(b"t", texts(&["", "xyz", "x"])).expect("behind i");
    let mut seen = Vec::new();
    let mut bytes = 0;
    batch
        .for_each_cell::<()>(|cell| {
            seen.push(format!("{}{}", cell.row.escape_ascii(), cell.qualifier.escape_ascii()));
            assert_eq!((cell.timestamp, cell.cell_type, cell.family), (9, CellType::Put, &b"f"[..]));
            bytes += cell.value.len();
            Ok(())
        })
        .expect("nothing fails");
    assert_eq!(seen.concat(), "adaiatbdbibtcdcict");
    assert_eq!(batch.value_bytes(), bytes);
    assert_eq!(batch.biggest_cell(), (0, 0));
}
