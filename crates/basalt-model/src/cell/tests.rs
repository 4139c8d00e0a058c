// SPDX-License-Identifier: Apache-2.0
use super::*;

fn cell<'a>(
    row: &'a [u8],
    qualifier: &'a [u8],
    timestamp: i64,
    cell_type: CellType,
    seq: u64,
) -> CellRef<'a> {
    CellRef { row, family: b"f", qualifier, timestamp, cell_type, value: b"", seq: Seq(seq), tags: b"" }
}

#[test]
fn newest_version_and_deletes_come_first() {
    let in_order = [
        cell(b"a", b"", 9, CellType::DeleteFamily, 1),
        cell(b"a", b"q", 9, CellType::DeleteColumn, 1),
        cell(b"a", b"q", 9, CellType::Put, 7),
        cell(b"a", b"q", 9, CellType::Put, 3),
        cell(b"a", b"q", 8, CellType::Put, 9),
        cell(b"a", b"qq", 99, CellType::Put, 1),
        cell(b"a\0", b"a", 99, CellType::Put, 1),
        cell(b"b", b"a", -1, CellType::Put, 1),
    ];
    for pair in in_order.windows(2) {
        assert_eq!(pair[0].compare(&pair[1]), Ordering::Less, "{pair:?}");
        assert_eq!(pair[1].compare(&pair[0]), Ordering::Greater, "{pair:?}");
    }
    assert_eq!(in_order[2].compare_without_seq(&in_order[3]), Ordering::Equal);
}

#[test]
fn codes_survive_a_round_trip() {
    for code in 0..=255u8 {
        if let Some(cell_type) = CellType::from_code(code) {
            assert_eq!(cell_type.code(), code);
        }
    }
    assert_eq!(CellType::from_code(0), None);
    assert_eq!(CellType::from_code(255), None);
}
