// SPDX-License-Identifier: Apache-2.0
//! Rows of a batch in the order of their keys.

/// The numbers of the rows, in the order of the rows; equal ones keep theirs.
pub(crate) fn order_of(rows: &[&[u8]]) -> Vec<usize> {
    // Most are decided by the first eight bytes behind what all have in common, which lie in the list itself.
    let first = rows.first().copied().unwrap_or_default();
    let in_common = |row: &&[u8]| row.iter().zip(first).take_while(|(a, b)| a == b).count();
    let common = rows.iter().map(in_common).min().unwrap_or(0);
    let front = |row: &[u8]| {
        let mut front = [0; 8];
        front.iter_mut().zip(&row[common..]).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(front)
    };
    let mut order: Vec<_> = rows.iter().enumerate().map(|(at, row)| (front(row), at)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| rows[a.1].cmp(rows[b.1])).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::order_of;

    #[test]
    fn rows_are_ordered_by_all_their_bytes_and_equal_ones_keep_their_order() {
        let rows: [&[u8]; 9] =
            [b"rb", b"ra\0\0\0\0\0\0\0\0", b"ra", b"r", b"ra\0", b"rb", b"raaaaaaaab", b"raaaaaaaaa", b"r"];
        assert_eq!(order_of(&rows), [3, 8, 2, 4, 1, 7, 6, 0, 5]);
        assert_eq!(order_of(&[]), [0; 0]);
    }
}
