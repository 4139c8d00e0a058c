// SPDX-License-Identifier: Apache-2.0
use super::*;

const T: TableId = TableId(7);

fn qualifiers(batch: &WriteBatch, index: usize) -> Vec<(Vec<u8>, i64, Vec<u8>)> {
    let cells = batch.get(index).1.cells(Seq(1));
    cells.map(|c| (c.qualifier.to_vec(), c.timestamp, c.value.to_vec())).collect()
}

#[test]
fn the_worked_example_holds() {
    let mut batch = WriteBatch::new();
    let mut row = batch.row(T, b"r").unwrap();
    row.put(b"f", b"q", 1, b"v").unwrap();
    row.finish();
    let expected = [
        &[1, 0, 1, 0, 0, 0, 0x17, 0, 0, 0, b'r'][..],
        &[4, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, b'f', b'q', b'v'],
    ]
    .concat();
    assert_eq!(batch.get(0).1.entry(), expected);
}

#[test]
fn cells_are_sorted_and_the_last_of_equal_keys_wins() {
    let mut batch = WriteBatch::new();
    let mut row = batch.row(T, b"r").unwrap();
    row.put(b"f", b"b", 1, b"old").unwrap();
    row.put(b"f", b"a", 1, b"x").unwrap();
    row.put(b"f", b"b", 1, b"new").unwrap();
    row.finish();
    assert_eq!(
        qualifiers(&batch, 0),
        vec![(b"a".to_vec(), 1, b"x".to_vec()), (b"b".to_vec(), 1, b"new".to_vec())]
    );
}

#[test]
fn stamping_fills_in_the_clock_and_restores_order() {
    let mut batch = WriteBatch::new();
    let mut row = batch.row(T, b"r").unwrap();
    row.put(b"f", b"q", LATEST_TIMESTAMP, b"now").unwrap();
    row.put(b"f", b"q", 500, b"future").unwrap();
    row.finish();
    batch.stamp(100);
    let found = qualifiers(&batch, 0);
    assert_eq!(found[0], (b"q".to_vec(), 500, b"future".to_vec()));
    assert_eq!(found[1], (b"q".to_vec(), 100, b"now".to_vec()));
}

#[test]
fn an_abandoned_row_leaves_no_trace() {
    let mut batch = WriteBatch::new();
    drop(batch.row(T, b"gone").unwrap());
    let mut row = batch.row(T, b"half").unwrap();
    row.put(b"f", b"q", 1, b"v").unwrap();
    assert!(row.put(b"", b"q", 1, b"v").is_err());
    drop(row);
    assert!(batch.is_empty());
    assert_eq!(batch.size_bytes(), 0);
}

#[test]
fn frozen_rows_decode_and_every_truncation_is_refused() {
    let mut batch = WriteBatch::new();
    for key in [&b"a"[..], b"bb"] {
        let mut row = batch.row(T, key).unwrap();
        row.put(b"f", b"q", 1, b"value").unwrap();
        row.delete(b"f", b"", 9, CellType::DeleteFamily).unwrap();
        row.finish();
    }
    let frozen = batch.freeze();
    let (first, len) = RowMutation::decode(&frozen.bytes).unwrap();
    assert_eq!(first.row_bytes(), &b"a"[..]);
    assert_eq!(first, frozen.rows[0].1);
    let (second, _) = RowMutation::decode(&frozen.bytes.slice(len..)).unwrap();
    assert_eq!(second.borrow().cells(Seq(3)).next().unwrap().cell_type, CellType::DeleteFamily);
    for cut in 0..len {
        assert!(RowMutation::decode(&frozen.bytes.slice(..cut)).is_err(), "cut at {cut}");
    }
}

#[test]
fn rows_out_of_range_are_refused() {
    let mut batch = WriteBatch::new();
    assert_eq!(batch.row(T, b"").unwrap_err(), MutationError::RowLength { found: 0 });
    assert!(batch.row(T, &vec![1; ROW_LEN_MAX + 1]).is_err());
    assert!(batch.row(T, &vec![1; ROW_LEN_MAX]).is_ok());
}

#[test]
fn templates_write_the_same_bytes_as_puts() {
    let mut plain = WriteBatch::new();
    let mut row = plain.row(T, b"r").unwrap();
    row.put(b"f", b"a", 7, b"value").unwrap();
    row.delete(b"f", b"c", 7, CellType::DeleteColumn).unwrap();
    row.finish();

    let put = CellTemplate::try_new(b"f", b"a", 7, CellType::Put).unwrap();
    let skipped = CellTemplate::try_new(b"f", b"b", 7, CellType::Put).unwrap();
    let delete = CellTemplate::try_new(b"f", b"c", 7, CellType::DeleteColumn).unwrap();
    let mut templated = WriteBatch::new();
    let mut row = templated.row(T, b"r").unwrap();
    let write = |value: &'static [u8], exists| {
        move |out: &mut Vec<u8>| {
            out.extend_from_slice(value);
            Ok::<_, MutationError>(exists)
        }
    };
    assert!(row.templated(&put, write(b"value", true)).unwrap());
    assert!(!row.templated(&skipped, write(b"gone", false)).unwrap());
    assert!(row.templated(&delete, write(b"", true)).unwrap());
    row.finish();
    assert_eq!(templated, plain);
    assert!(CellTemplate::try_new(b"", b"q", 7, CellType::Put).is_err());
}
