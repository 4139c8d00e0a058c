// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn a_prefix_ends_before_the_next_key_that_does_not_share_it() {
    let range = KeyRange::prefix(&b"a\xff"[..]);
    assert_eq!(range.end.as_deref(), Some(&b"b"[..]));
    assert!(range.contains(b"a\xff\xff\xff"));
    assert!(!range.contains(b"b"));
    assert_eq!(after_prefix(b"\xff\xff"), None);
    assert_eq!(after_prefix(b""), None);
}

#[test]
fn a_point_holds_one_row() {
    let range = KeyRange::point(&b"k"[..]);
    assert!(range.contains(b"k"));
    assert!(!range.contains(b"k\0"));
    assert!(!range.contains(b"j\xff"));
}

#[test]
fn intersections_keep_the_tighter_bounds() {
    let a = KeyRange { start: Bytes::from_static(b"b"), end: None };
    let b = KeyRange { start: Bytes::from_static(b"a"), end: Some(Bytes::from_static(b"c")) };
    let both = a.intersect(&b);
    assert_eq!(both, KeyRange { start: Bytes::from_static(b"b"), end: Some(Bytes::from_static(b"c")) });
    assert!(a.overlaps(&b));
    let below = KeyRange { start: Bytes::new(), end: Some(Bytes::from_static(b"b")) };
    assert!(!a.overlaps(&below));
    assert!(a.intersect(&below).is_empty());
}
