// SPDX-License-Identifier: Apache-2.0
use basalt_model::filter::{Comparator, CompareOp, FuzzyKey, RowRange};
use basalt_model::{CellType, Seq};
use bytes::Bytes;

use super::*;

fn cell<'a>(row: &'a str, qualifier: &'a str, value: &'a [u8]) -> CellRef<'a> {
    CellRef {
        row: row.as_bytes(),
        family: b"f",
        qualifier: qualifier.as_bytes(),
        timestamp: 5,
        cell_type: CellType::Put,
        value,
        seq: Seq(1),
        tags: b"",
    }
}

fn compiled(filter: &Filter, reversed: bool) -> Box<dyn CellFilter> {
    compile(filter, reversed, &|| 7).expect("the filter is valid")
}

fn verdict(filter: &mut dyn CellFilter, cell: CellRef<'_>) -> Verdict {
    filter.check(&Seen { cell, in_memory: false }).expect("the filter can judge")
}

fn qualifiers(op: CompareOp, qualifier: &'static str) -> Filter {
    Filter::Qualifier { op, comparator: Comparator::Binary(qualifier.into()) }
}

/// The row to which a filter that refuses `row` seeks.
fn sought(filter: &mut dyn CellFilter, row: &str) -> Option<Vec<u8>> {
    let cell = cell(row, "q", b"");
    assert!(!filter.drops_row_key(&cell).expect("the filter can judge"));
    assert_eq!(verdict(filter, cell), Verdict::Seek, "{row}");
    filter.hint(&cell).expect("the filter can judge").map(|key| key.row)
}

#[test]
fn a_fuzzy_row_seeks_to_the_next_row_that_may_fit() {
    let any = vec![true, false, true, false];
    let filter = Filter::FuzzyRow { keys: vec![FuzzyKey { key: "?1?2".into(), any }] };
    let mut forward = compiled(&filter, false);
    assert_eq!(verdict(&mut *forward, cell("a1b2", "q", b"")), Verdict::Include);
    assert_eq!(sought(&mut *forward, "a0zz"), Some(b"a1\x002".to_vec()));
    assert_eq!(sought(&mut *forward, "a2zz"), Some(b"b1\x002".to_vec()));
    assert_eq!(sought(&mut *forward, "\u{7f}9"), Some(b"\x801\x002".to_vec()));
    let mut backward = compiled(&filter, true);
    // Free positions are zero in this direction, too, as in HBase.
    assert_eq!(sought(&mut *backward, "b2zz"), Some(b"b1\x002".to_vec()));
}

#[test]
fn ranges_are_joined_and_sought_one_after_the_other() {
    let range = |start: &'static str, stop: &'static str| RowRange {
        start: start.into(),
        start_inclusive: true,
        stop: stop.into(),
        stop_inclusive: false,
    };
    let filter = Filter::MultiRowRange { ranges: vec![range("m", "p"), range("c", "e"), range("d", "f")] };
    let mut forward = compiled(&filter, false);
    assert_eq!(sought(&mut *forward, "a"), Some(b"c".to_vec()));
    for row in ["c", "dz", "e"] {
        assert!(!forward.drops_row_key(&cell(row, "q", b"")).expect("ranges can judge"));
        assert_eq!(verdict(&mut *forward, cell(row, "q", b"")), Verdict::Include, "{row}");
    }
    assert_eq!(sought(&mut *forward, "g"), Some(b"m".to_vec()));
    assert!(!forward.drops_row_key(&cell("x", "q", b"")).expect("ranges can judge"));
    assert!(forward.all_remaining(), "behind the last range nothing passes");
}

#[test]
fn members_of_a_list_see_only_what_those_before_let_pass() {
    let limit = Filter::ColumnPagination { limit: 1, offset: basalt_model::filter::ColumnOffset::Count(0) };
    let mut all = compiled(&Filter::all([qualifiers(CompareOp::NotEqual, "a"), limit]), false);
    assert_eq!(verdict(&mut *all, cell("r", "a", b"")), Verdict::Skip);
    assert_eq!(verdict(&mut *all, cell("r", "b", b"")), Verdict::IncludeNextColumn);
    assert_eq!(verdict(&mut *all, cell("r", "c", b"")), Verdict::NextRow);
    all.reset();
    assert_eq!(verdict(&mut *all, cell("s", "b", b"")), Verdict::IncludeNextColumn);
}

#[test]
fn an_alternative_that_is_done_with_a_row_is_not_asked_again() {
    let mut any = compiled(&Filter::any([Filter::FirstKeyOnly, qualifiers(CompareOp::Equal, "c")]), false);
    let found = ["a", "b", "c"].map(|qualifier| verdict(&mut *any, cell("r", qualifier, b"")));
    assert_eq!(found, [Verdict::Include, Verdict::Skip, Verdict::Include]);
}

#[test]
fn a_number_must_have_eight_bytes_once_it_is_in_a_file() {
    let comparator = Comparator::Long(3);
    let mut filter = compiled(&Filter::Value { op: CompareOp::Greater, comparator }, false);
    assert_eq!(verdict(&mut *filter, cell("r", "q", &4_i64.to_be_bytes())), Verdict::Include);
    let short = Seen { cell: cell("r", "q", b"abc"), in_memory: false };
    let error = filter.check(&short).expect_err("three bytes are no number").to_string();
    assert_eq!(error, "a comparator of 64-bit numbers met a value of 3 bytes; expected 8");
    let short = Seen { in_memory: true, ..short };
    assert_eq!(filter.check(&short).expect("padded"), Verdict::Include);
}

#[test]
fn a_decimal_number_must_be_one_on_both_sides() {
    let filter = |given: &'static [u8]| Filter::Value {
        op: CompareOp::Less,
        comparator: Comparator::Decimal(Bytes::from_static(given)),
    };
    assert!(compile(&filter(b"\0\0\0\x01"), false, &|| 7).is_err());
    let mut filter = compiled(&filter(b"\0\0\0\0\x01"), false);
    let error = filter.check(&Seen { cell: cell("r", "q", b"abc"), in_memory: false });
    let error = error.expect_err("three bytes are no number").to_string();
    assert_eq!(error, "a comparator of decimal numbers met a value of 3 bytes; expected 5 to 1024");
}

#[test]
fn cells_up_to_a_qualifier() {
    let mut filter = compiled(&Filter::UpToQualifier { qualifiers: vec!["b".into(), "c".into()] }, false);
    for row in ["r", "s"] {
        filter.reset();
        let found = ["a", "b", "c"].map(|qualifier| verdict(&mut *filter, cell(row, qualifier, b"")));
        assert_eq!(found, [Verdict::Include, Verdict::Include, Verdict::NextRow]);
    }
}

#[test]
fn comparators_compare_what_they_say() {
    let value = |comparator, op, stored: &[u8]| {
        let mut filter = compiled(&Filter::Value { op, comparator }, false);
        verdict(&mut *filter, cell("r", "q", stored)) == Verdict::Include
    };
    let bytes = |text: &'static str| Bytes::from(text);
    assert!(value(Comparator::BinaryPrefix(bytes("ab")), CompareOp::Equal, b"abc"));
    assert!(value(Comparator::BinaryComponent { value: bytes("bc"), offset: 1 }, CompareOp::Equal, b"abcd"));
    assert!(!value(Comparator::BinaryComponent { value: bytes("bc"), offset: 9 }, CompareOp::Equal, b"abcd"));
    assert!(value(Comparator::Substring("ELL".into()), CompareOp::Equal, b"Hello"));
    assert!(value(Comparator::Regex("^h.l+o$".into()), CompareOp::Equal, b"hello"));
    // What has no order is less than what it does not equal.
    assert!(value(Comparator::Substring("x".into()), CompareOp::Less, b"hello"));
    assert!(!value(Comparator::Substring("ell".into()), CompareOp::Less, b"hello"));
    assert!(value(Comparator::Regex("^h".into()), CompareOp::GreaterOrEqual, b"hello"));
    assert!(!value(Comparator::Regex("^x".into()), CompareOp::GreaterOrEqual, b"hello"));
    assert!(value(Comparator::Null, CompareOp::NotEqual, b""));
    // 1.5 < 12.34
    let given = Comparator::Decimal(bytes("\0\0\0\u{1}\u{f}"));
    assert!(value(given.clone(), CompareOp::Greater, b"\0\0\0\x02\x04\xd2"));
    assert!(value(given, CompareOp::Equal, b"\0\0\0\x03\x05\xdc"));
    let op = basalt_model::filter::BitOp::Xor;
    assert!(!value(Comparator::Bit { value: bytes("a"), op }, CompareOp::Equal, b"a"));
}
