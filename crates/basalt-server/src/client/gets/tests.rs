// SPDX-License-Identifier: Apache-2.0
use super::*;

fn get(row: &[u8]) -> GetParts<'_> {
    GetParts { index: None, row, options: b"" }
}

#[test]
fn gets_are_sorted_by_row_whatever_the_rows_have_in_common() {
    let rows: [&[u8]; 9] = [
        b"row10",
        b"row1",
        b"row",
        b"row2\0",
        b"row2",
        b"row123456789b",
        b"row123456789a",
        b"row1\0",
        b"row\xff",
    ];
    for rows in [&rows[..], &rows[..2], &rows[3..5], &rows[..1], &[]] {
        let gets: Vec<_> = rows.iter().map(|row| get(row)).collect();
        let found: Vec<&[u8]> = by_row(&gets).into_iter().map(|at| rows[at as usize]).collect();
        let mut expected = rows.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
    let gets = [get(b"b"), get(b""), get(b"a")];
    assert_eq!(by_row(&gets), [1, 2, 0]);
}

#[test]
fn wishes_are_read_again_when_too_many_differ() {
    let encoded: Vec<Vec<u8>> = (1..=2 * WISHES_MAX as u32)
        .map(|versions| {
            pb::Get { max_versions: Some(versions), ..Default::default() }.encode_to_vec()[2..].to_vec()
        })
        .collect();
    let mut wishes = Wishes::default();
    for round in 0..2 {
        for (versions, encoded) in (1..).zip(&encoded) {
            assert_eq!(wishes.of(encoded).unwrap().options.versions, versions, "round {round}");
        }
    }
    assert!(wishes.known.len() <= WISHES_MAX);
    assert!(wishes.of(b"\x30").is_err());
}
