// SPDX-License-Identifier: Apache-2.0

use super::{of_successor, of_ttl};

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
fn a_successors_own_ttl_takes_the_place_of_the_one_before() {
    assert_eq!(of_successor(&[&of_ttl(7), OTHER].concat(), Some(1_000)), [OTHER, SECOND].concat());
    assert_eq!(of_successor(b"", Some(1_000)), SECOND);
}
