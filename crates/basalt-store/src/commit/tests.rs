// SPDX-License-Identifier: Apache-2.0
use super::*;

fn rows(keys: &[(u64, &str)]) -> Vec<(TableId, RowMutation)> {
    let mut batch = WriteBatch::new();
    for (table, key) in keys {
        let mut row = batch.row(TableId(*table), key.as_bytes()).unwrap();
        row.put(b"f", b"q", 1, b"v").unwrap();
        row.finish();
    }
    batch.freeze().rows
}

fn seqs(keys: &[(u64, &str)]) -> (Vec<u64>, u64) {
    let rows = rows(keys);
    let (seqs, last) = assign_seqs(Seq(10), &rows);
    ((0..rows.len()).map(|i| seqs.of(i).0).collect(), last.0)
}

#[test]
fn rows_of_a_batch_share_a_number_unless_a_row_repeats() {
    assert_eq!(seqs(&[(1, "a"), (1, "b"), (2, "a")]), (vec![10, 10, 10], 10));
    assert_eq!(seqs(&[(1, "b"), (1, "a")]), (vec![10, 10], 10));
    assert_eq!(seqs(&[(1, "a"), (1, "b"), (1, "a"), (2, "a"), (1, "a")]), (vec![10, 10, 11, 10, 12], 12));
}
