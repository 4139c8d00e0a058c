// SPDX-License-Identifier: Apache-2.0
use super::*;

fn refused(filter: Filter) -> String {
    filter.check().expect_err("a filter that cannot be").to_string()
}

fn range(start: &'static str, stop: &'static str) -> RowRange {
    RowRange { start: start.into(), start_inclusive: true, stop: stop.into(), stop_inclusive: false }
}

#[test]
fn operators_read_stored_against_given() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let kept = |op: CompareOp| [Less, Equal, Greater].map(|order| op.keeps(order));
    assert_eq!(kept(CompareOp::Less), [true, false, false]);
    assert_eq!(kept(CompareOp::LessOrEqual), [true, true, false]);
    assert_eq!(kept(CompareOp::Equal), [false, true, false]);
    assert_eq!(kept(CompareOp::NotEqual), [true, false, true]);
    assert_eq!(kept(CompareOp::GreaterOrEqual), [false, true, true]);
    assert_eq!(kept(CompareOp::Greater), [false, false, true]);
    assert_eq!(kept(CompareOp::NoOp), [false, false, false]);
}

#[test]
fn a_filter_that_cannot_be_says_why() {
    let mut deep = Filter::FirstKeyOnly;
    for _ in 0..64 {
        deep = Filter::Skip(Box::new(deep));
    }
    assert_eq!(refused(deep), "filters are nested 65 deep or more; expected at most 64");
    let prefixes = vec!["a\x00".into(), "b".into(), "a\x00".into()];
    assert_eq!(
        refused(Filter::MultipleColumnPrefix { prefixes }),
        "column prefix a\\x00 is given twice; prefixes must be distinct"
    );
    assert_eq!(
        refused(Filter::MultiRowRange { ranges: vec![range("a", "c"), range("x", "b")] }),
        "row range from x to b holds no row; its start must lie before its stop"
    );
    assert_eq!(
        refused(Filter::MultiRowRange { ranges: vec![] }),
        "a multi-row-range filter needs at least one range"
    );
    let keys = vec![FuzzyKey { key: "abc".into(), any: vec![true] }];
    assert_eq!(
        refused(Filter::FuzzyRow { keys }),
        "fuzzy key abc has 3 bytes and a mask for 1; the two must agree"
    );
    assert_eq!(
        refused(Filter::Prefix { prefix: vec![0; 40_000].into() }),
        "row of 40000 bytes in a filter; expected at most 32767"
    );
    assert_eq!(
        refused(Filter::Timestamps { timestamps: vec![1, -5], can_hint: false }),
        "timestamp -5 in a filter is negative; expected 0 or more"
    );
}

#[test]
fn a_range_of_one_row_and_unbounded_ranges_are_fine() {
    let one = RowRange { stop_inclusive: true, ..range("a", "a") };
    let ranges = vec![one, range("", "b"), range("x", ""), range("", "")];
    assert_eq!(Filter::MultiRowRange { ranges }.check(), Ok(()));
}

#[test]
fn filters_that_need_whole_rows_say_so_through_lists() {
    assert!(Filter::any([Filter::FirstKeyOnly, Filter::Page { rows: 1 }]).needs_whole_rows());
    assert!(!Filter::all([Filter::FirstKeyOnly, Filter::prefix("a")]).needs_whole_rows());
}
