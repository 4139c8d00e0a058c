// SPDX-License-Identifier: Apache-2.0

use basalt_model::{CellRef, CellType, Seq};

use super::{Ends, of_successor, of_ttl};

const SECOND: &[u8] = &[0, 9, 8, 0, 0, 0, 0, 0, 0, 3, 0xe8];
const OTHER: &[u8] = &[0, 3, 2, b'x', b'y'];

#[test]
fn a_ttl_is_a_tag_of_eleven_bytes() {
    assert_eq!(of_ttl(1_000), SECOND);
}

#[test]
fn a_successor_has_the_tags_of_the_cell_that_it_replaces() {
    assert_eq!(of_successor(&[OTHER, SECOND].concat(), None), [OTHER, SECOND].concat());
}

#[test]
fn the_half_of_the_ends_is_found_to_an_eighth() {
    for left_ms in (0..3_000).chain([1 << 40, (1 << 40) + 12_345, i64::MAX as u64]) {
        let most = Ends::most(Ends::place(left_ms));
        assert!((left_ms..=left_ms + left_ms / 8).contains(&most), "{left_ms}: {most}");
    }
    let mut ends = Ends::new(1_000);
    assert_eq!(ends.of_file(10), None);
    for ttl_ms in [100, 10, 1_000_000, 7, 7] {
        let tags = of_ttl(ttl_ms);
        ends.add(&CellRef {
            row: b"r",
            family: b"f",
            qualifier: b"q",
            timestamp: 1_000,
            cell_type: CellType::Put,
            seq: Seq(1),
            value: b"v",
            tags: &tags,
        });
    }
    let half_ms = |cells| ends.of_file(cells).expect("there are some").half_ms;
    assert_eq!(ends.of_file(10).map(|own| own.first_ms), Some(1_007));
    assert_eq!([4, 6, 8, 11].map(half_ms), [Some(1_007), Some(1_010), Some(1_103), None]);
}

#[test]
fn a_successors_own_ttl_takes_the_place_of_the_one_before() {
    assert_eq!(of_successor(&[&of_ttl(7), OTHER].concat(), Some(1_000)), [OTHER, SECOND].concat());
    assert_eq!(of_successor(b"", Some(1_000)), SECOND);
}
