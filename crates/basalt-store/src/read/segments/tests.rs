// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::read::testing::{Cell, memory_env, store_file};

fn numbered(rows: impl Iterator<Item = u64>) -> Vec<Cell> {
    rows.map(|i| Cell::put(&format!("row{i:05}"), "q", 1, i)).collect()
}

fn assert_covers(segments: &[Segment], range: &KeyRange) {
    assert_eq!(segments.first().map(|first| &first.range.start), Some(&range.start));
    assert_eq!(segments.last().map(|last| &last.range.end), Some(&range.end));
    for pair in segments.windows(2) {
        assert_eq!(pair[0].range.end.as_ref(), Some(&pair[1].range.start));
    }
}

#[test]
fn segments_cover_the_range_with_about_equal_bytes() {
    let env = memory_env();
    let files =
        [store_file(&env, 1, &numbered(0..4000)), store_file(&env, 2, &numbered((0..4000).step_by(2)))];
    let segments = segments(&files, &[KeyRange::all()], 4).expect("the files are sound");
    assert_covers(&segments, &KeyRange::all());
    assert_eq!(segments.len(), 4);
    let total: u64 = segments.iter().map(|segment| segment.bytes_estimate).sum();
    for segment in &segments {
        let share = segment.bytes_estimate as f64 / total as f64;
        assert!((0.2..0.3).contains(&share), "{segment:?} has {share} of the bytes");
    }
}

#[test]
fn no_files_are_one_segment_a_range() {
    let ranges = [KeyRange::point("a"), KeyRange::prefix("b")];
    let cut: Vec<_> =
        segments(&[], &ranges, 8).expect("nothing is read").into_iter().map(|s| s.range).collect();
    assert_eq!(cut, ranges);
}

#[test]
fn every_range_keeps_its_bounds() {
    let env = memory_env();
    let files = [store_file(&env, 1, &numbered(0..4000))];
    let ranges: Vec<KeyRange> = (0..100)
        .map(|i| KeyRange {
            start: format!("row{:05}", i * 40).into(),
            end: Some(format!("row{:05}", i * 40 + 30).into()),
        })
        .collect();
    let segments = segments(&files, &ranges, 4).expect("the files are sound");
    for range in &ranges {
        let inside: Vec<Segment> = segments.iter().filter(|s| s.range.overlaps(range)).cloned().collect();
        assert_covers(&inside, range);
    }
}
