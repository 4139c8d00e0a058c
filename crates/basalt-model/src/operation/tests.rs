// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::KeyRange;

fn range(start: &'static str, end: Option<&'static str>) -> KeyRange {
    KeyRange { start: start.into(), end: end.map(Into::into) }
}

#[test]
fn a_scan_covers_the_same_rows_in_both_directions() {
    let forward = Scan::new().start_exclusive("a").stop_inclusive("c");
    assert_eq!(forward.key_range(), range("a\0", Some("c\0")));
    let back = Scan::new().start("c").stop("a").reversed();
    assert_eq!(back.key_range(), range("a\0", Some("c\0")));
    let back = Scan::new().start_exclusive("c").stop_inclusive("a").reversed();
    assert_eq!(back.key_range(), range("a", Some("c")));
    assert_eq!(Scan::new().key_range(), KeyRange::all());
    assert_eq!(Scan::new().reversed().key_range(), KeyRange::all());
    assert_eq!(Scan::new().prefix("ab").key_range(), range("ab", Some("ac")));
}

#[test]
fn the_last_word_about_a_family_counts() {
    let mut columns = Selection::default();
    assert!(columns.is_all());
    columns.add_column("f", "a");
    columns.add_family("f");
    assert!(columns.families()[&b"f"[..]].is_empty());
    columns.add_column("f", "b");
    assert_eq!(columns.families()[&b"f"[..]].len(), 1);
}

#[test]
fn a_time_range_ends_before_its_maximum_unless_there_is_none() {
    let range = TimeRange::new(3, 5);
    assert_eq!([2, 3, 4, 5].map(|at| range.contains(at)), [false, true, true, false]);
    assert!(TimeRange::all().contains(i64::MAX) && TimeRange::all().is_all());
}
