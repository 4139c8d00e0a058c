// SPDX-License-Identifier: Apache-2.0
use basalt_model::filter::Comparator;
use prost::Message;

use super::*;

fn message(name: &str, payload: &impl Message) -> pb::Filter {
    let name = format!("org.apache.hadoop.hbase.filter.{name}");
    pb::Filter { name, serialized_filter: Some(payload.encode_to_vec().into()) }
}

/// The payload of a recorded BinaryComparator of `v1`.
fn binary() -> pb::Comparator {
    let name = "org.apache.hadoop.hbase.filter.BinaryComparator".to_owned();
    pb::Comparator { name, serialized_comparator: Some(Bytes::from_static(b"\x0a\x04\x0a\x02v1")) }
}

#[test]
fn filters_with_comparators() {
    let compare_filter = pb::CompareFilter { compare_op: 5, comparator: Some(binary()) };
    let row = message("RowFilter", &pb::RowFilter { compare_filter });
    let expected = Filter::Row { op: CompareOp::Greater, comparator: Comparator::Binary("v1".into()) };
    assert_eq!(decode(row.clone()).unwrap(), expected);
    let list = message("FilterList", &pb::FilterList { operator: 2, filters: vec![row] });
    assert_eq!(decode(list).unwrap(), Filter::Any(vec![expected]));
}

#[test]
fn java_flags_of_patterns() {
    let of = |pattern: &str, pattern_flags| {
        let payload = pb::RegexStringComparator {
            pattern: pattern.to_owned(),
            pattern_flags,
            charset: "UTF-8".to_owned(),
            engine: Some("JAVA".to_owned()),
        };
        let name = "org.apache.hadoop.hbase.filter.RegexStringComparator".to_owned();
        comparator(pb::Comparator { name, serialized_comparator: Some(payload.encode_to_vec().into()) })
    };
    assert_eq!(of("a.c", 32).unwrap(), Comparator::Regex("a.c".to_owned()));
    assert_eq!(of("a.c", 2).unwrap(), Comparator::Regex("(?i-s)a.c".to_owned()));
    assert_eq!(of("a.c", 16 | 32).unwrap(), Comparator::Regex("a\\.c".to_owned()));
    assert!(of("a.c", 128).is_err());
}

#[test]
fn fuzzy_masks_of_both_kinds() {
    let pair = |second: &'static [u8]| pb::BytesBytesPair { first: "ab".into(), second: second.into() };
    let payload = pb::FuzzyRowFilter {
        fuzzy_keys_data: vec![pair(b"\xff\0"), pair(b"\x02\xff")],
        is_mask_v2: Some(true),
    };
    let Filter::FuzzyRow { keys } = decode(message("FuzzyRowFilter", &payload)).unwrap() else { panic!() };
    assert_eq!((&keys[0].any[..], &keys[1].any[..]), (&[false, true][..], &[true, false][..]));
}

#[test]
fn what_is_not_known_is_named() {
    let unknown = pb::Filter { name: "com.example.Mine".to_owned(), serialized_filter: None };
    assert!(decode(unknown).unwrap_err().message().contains("com.example.Mine"));
    let mut deep = message("FirstKeyOnlyFilter", &pb::KeyOnlyFilter::default());
    for _ in 0..100 {
        deep = message("SkipFilter", &pb::SkipFilter { filter: deep });
    }
    assert!(decode(deep).unwrap_err().message().contains("deep"));
    let damaged = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.PageFilter".to_owned(),
        serialized_filter: Some(Bytes::from_static(b"\xff")),
    };
    assert!(decode(damaged).unwrap_err().message().contains("PageFilter"));
}
