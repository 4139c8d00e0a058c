// SPDX-License-Identifier: Apache-2.0
//! Every row key of the reference (bytes that Phoenix 5.2.1 wrote), and the laws of the codec.

use proptest::prelude::*;

use super::*;
use crate::schema::SortOrder::{Asc, Desc};
use crate::types::Decimal;
use crate::types::tests::{compare, value_of};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn key(columns: &[(SqlType, SortOrder)]) -> Vec<KeyColumn> {
    let columns = columns.iter().zip('A'..);
    let column = |(&(sql_type, order), name): (&(SqlType, SortOrder), char)| KeyColumn {
        name: name.into(),
        sql_type,
        order,
        nullable: sql_type.fixed_width().is_none(),
    };
    columns.map(column).collect()
}

fn text(text: &str) -> Value<'_> {
    if text.is_empty() { Value::Null } else { Value::Text(text.into()) }
}

#[track_caller]
fn check(columns: &[(SqlType, SortOrder)], values: &[Value<'_>], row: &str) {
    let key = key(columns);
    let mut out = b"before".to_vec();
    encode_row_key(&key, values, &mut out).unwrap();
    assert_eq!(out[6..], hex(row));
    assert_eq!(decode_row_key(&key, &out[6..]).unwrap(), values);
}

const TEXT: SqlType = SqlType::Varchar(None);
const INT: SqlType = SqlType::Integer;
const DECIMAL: SqlType = SqlType::Decimal(None);

#[test]
fn ascending_keys_have_phoenix_bytes() {
    let columns = [(TEXT, Asc), (INT, Asc), (TEXT, Asc)];
    check(&columns, &[text("x"), Value::Int(1), text("y")], "78 00 80000001 79");
    check(&columns, &[text("x"), Value::Int(1), Value::Null], "78 00 80000001");
    let columns = [(TEXT, Asc); 3];
    check(&columns, &[text("x"), Value::Null, Value::Null], "78");
    check(&columns, &[text("x"), Value::Null, text("z")], "78 00 00 7a");
    check(&columns, &[Value::Null, text("y"), Value::Null], "00 79");
}

#[test]
fn descending_keys_have_phoenix_bytes() {
    let columns = [(TEXT, Desc), (TEXT, Desc), (INT, Desc), (TEXT, Desc)];
    check(&columns, &[text("x"), text("y"), Value::Int(1), text("z")], "87ff 86ff 7ffffffe 85ff");
    check(&columns, &[text("x"), Value::Null, Value::Int(1), Value::Null], "87ff 00 7ffffffe");
    check(&columns, &[text("x"), text("y"), Value::Int(1), Value::Null], "87ff 86ff 7ffffffe");
    let columns = [(TEXT, Asc), (TEXT, Desc)];
    check(&columns, &[text("x"), text("y")], "78 00 86 ff");
    check(&columns, &[text("x"), Value::Null], "78");
}

#[test]
fn padded_and_binary_keys_have_phoenix_bytes() {
    let columns = [(SqlType::Char(4), Asc), (SqlType::Binary(3), Asc), (SqlType::Char(3), Desc)];
    let bytes = |bytes: &'static [u8]| Value::Bytes(bytes.into());
    check(&columns, &[text("ab"), bytes(b"x\0\0"), text("q")], "61622020 780000 8edfdf");
    let columns = [(INT, Asc), (SqlType::Varbinary(None), Asc)];
    check(&columns, &[Value::Int(1), bytes(b"zz")], "80000001 7a7a");
    // The separator may lie inside of VARBINARY, which is always last; nor is an ff lost.
    check(&columns, &[Value::Int(1), bytes(b"a\0\xff")], "80000001 6100ff");
    let columns = [(INT, Asc), (SqlType::Varbinary(None), Desc)];
    check(&columns, &[Value::Int(1), bytes(b"\0")], "80000001 ff ff");
}

#[test]
fn index_keys_of_the_reference_are_plain_keys_of_their_columns() {
    let decimal = |digits| Value::Decimal(Decimal::new(digits, 0));
    let columns = [(TEXT, Asc), (DECIMAL, Desc), (TEXT, Asc), (INT, Asc)];
    check(&columns, &[text("one"), decimal(42), text("k"), Value::Int(3)], "6f6e65 00 3ed4ff 6b 00 80000003");
    check(&columns, &[Value::Null, Value::Null, text("k2"), Value::Int(3)], "00 00 6b32 00 80000003");
    let columns = [(TEXT, Asc), (TEXT, Asc), (INT, Asc)];
    check(&columns, &[text("inc"), text("k"), Value::Int(3)], "696e63 00 6b 00 80000003");
    let columns = [(TEXT, Asc), (DECIMAL, Asc), (TEXT, Asc)];
    check(&columns, &[text("ONE"), decimal(5), text("k")], "4f4e45 00 c106 00 6b");
    let columns = [(SqlType::SmallInt, Asc), (DECIMAL, Asc), (TEXT, Asc), (INT, Asc)];
    let index = |id: i64, value, name| [Value::Int(id), value, text(name), Value::Int(3)];
    check(&columns, &index(0, decimal(42), "k"), "8000 c12b 00 6b 00 80000003");
    check(&columns, &index(-32768, decimal(42), "a"), "0000 c12b 00 61 00 80000003");
    check(&columns, &index(-32768, decimal(43), "k"), "0000 c12c 00 6b 00 80000003");
    check(&columns, &index(-32768, Value::Null, "q"), "0000 00 71 00 80000003");
    let columns = [(SqlType::SmallInt, Asc), (TEXT, Asc), (TEXT, Asc), (INT, Asc)];
    check(&columns, &index(-32767, text("inc"), "a"), "0001 696e63 00 61 00 80000003");
    check(&columns, &index(-32766, text("e"), "z"), "0002 65 00 7a 00 80000003");
    check(&columns, &index(-32766, Value::Null, "k"), "0002 00 6b 00 80000003");
    check(&columns[..3], &index(-32768, text("x"), "a")[..3], "0000 78 00 61");
    check(&columns[..3], &index(-32768, text("x"), "b")[..3], "0000 78 00 62");
    // Tenants, statistics and sequences are tables with ordinary keys.
    check(&[(TEXT, Asc), (INT, Asc)], &[text("t1"), Value::Int(3)], "7431 00 80000003");
    let guidepost = Value::Bytes(hex("80000086").into());
    let columns = [(TEXT, Asc), (TEXT, Asc), (SqlType::Varbinary(None), Asc)];
    check(&columns, &[text("ST"), text("0"), guidepost], "5354 00 30 00 80000086");
    check(&[(TEXT, Asc); 3], &[Value::Null, Value::Null, text("S1")], "0000 5331");
}

#[test]
fn salt_bytes_are_those_of_phoenix() {
    for (key, buckets, salt) in [
        (&b"abc"[..], 2, 1),
        (b"abc", 4, 1),
        (b"abc", 16, 1),
        (b"abc", 256, 193),
        (b"\x80\0\0\x01", 4, 2),
        (b"\x80\0\0\x01", 16, 14),
        (b"\x80\0\0\x01", 256, 254),
        (b"", 4, 1),
        (b"", 256, 1),
    ] {
        assert_eq!(salt_byte(key, buckets), salt, "{key:?} in {buckets} buckets");
    }
    for (name, salt) in [("abc", 4), ("abd", 5)] {
        let mut row = Vec::new();
        encode_row_key(&key(&[(TEXT, Asc), (INT, Asc)]), &[text(name), Value::Int(5)], &mut row).unwrap();
        assert_eq!(row, [name.as_bytes(), &hex("00 80000005")].concat());
        assert_eq!(salt_byte(&row, 8), salt);
    }
    let mut row = Vec::new();
    encode_row_key(&key(&[(TEXT, Asc); 3]), &[text("inc"), text("k"), text("x")], &mut row).unwrap();
    assert_eq!(salt_byte(&hex("696e63 00 6b 00 80000003"), 4), 3);
}

#[track_caller]
fn refused(columns: &[(SqlType, SortOrder)], values: &[Value<'_>], code: Option<u16>, message: &str) {
    let mut out = b"before".to_vec();
    let error = encode_row_key(&key(columns), values, &mut out).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.phoenix_code()), (message, code));
    assert_eq!(out, b"before");
}

#[test]
fn impossible_keys_are_refused() {
    refused(&[(INT, Asc)], &[Value::Null], Some(218), "primary key column A may not be null");
    let nulls = "a primary key may not consist of nulls only";
    refused(&[(TEXT, Asc), (TEXT, Desc)], &[Value::Null, text("")], Some(218), nulls);
    for order in [Asc, Desc] {
        let separator = "primary key column A may not contain the byte 00";
        refused(&[(TEXT, order), (INT, Asc)], &[text("a\0b"), Value::Int(1)], Some(201), separator);
    }
    let wide = "primary key column A: value 2147483648 is out of range for INTEGER";
    refused(&[(INT, Asc)], &[Value::Int(1 << 31)], Some(203), wide);
    refused(&[(INT, Asc)], &[], None, "primary key has 1 columns; found 0 values");
    let long = "x".repeat(32_768);
    let message = "row key is 32768 bytes long; at most 32767 are possible";
    refused(&[(TEXT, Asc)], &[text(&long)], Some(206), message);
}

#[test]
fn bytes_that_are_no_key_are_refused() {
    let columns = key(&[(TEXT, Asc), (INT, Asc)]);
    for row in ["78", "78 00", "78 00 800000", "78 00 80000001 00"] {
        assert!(matches!(decode_row_key(&columns, &hex(row)), Err(KeyError::Bytes { .. })), "{row}");
    }
    let mut columns = key(&[(TEXT, Asc), (TEXT, Asc)]);
    columns[0].nullable = false;
    assert!(decode_row_key(&columns, &hex("00 78")).is_err());
    assert!(decode_row_key(&key(&[(TEXT, Asc)]), &hex("ff")).is_err());
}

#[test]
fn a_prefix_range_holds_rows_whose_other_columns_are_null() {
    let columns = key(&[(TEXT, Asc), (TEXT, Asc), (TEXT, Desc)]);
    let range = prefix_range(&columns, &[text("x")]).unwrap();
    for (row, inside) in
        [("78", true), ("78 00 79", true), ("78 79", false), ("77", false), ("78 00 00 86 ff", true)]
    {
        assert_eq!(range.contains(&hex(row)), inside, "{row}");
    }
    let one = prefix_range(&columns, &[text("x"), text("y"), text("z")]).unwrap();
    assert_eq!(one, KeyRange::point(hex("78 00 79 00 85 ff")));
    assert_eq!(prefix_range(&columns, &[]).unwrap(), KeyRange::all());
}

fn any_key() -> impl Strategy<Value = (Vec<KeyColumn>, Vec<Value<'static>>, Vec<Value<'static>>)> {
    let types = [
        TEXT,
        INT,
        DECIMAL,
        SqlType::Boolean,
        SqlType::Double,
        SqlType::Timestamp,
        SqlType::Char(3),
        SqlType::UnsignedLong,
        SqlType::Varchar(Some(3)),
    ];
    let column = (proptest::sample::select(types.to_vec()), any::<bool>());
    let last = proptest::option::of(any::<bool>());
    (proptest::collection::vec(column, 1..4), last).prop_flat_map(|(columns, last)| {
        let mut columns: Vec<_> =
            columns.into_iter().map(|(sql_type, desc)| (sql_type, if desc { Desc } else { Asc })).collect();
        if let Some(desc) = last {
            columns.push((SqlType::Varbinary(None), if desc { Desc } else { Asc }));
        }
        let columns = key(&columns);
        let values = |columns: &[KeyColumn]| -> Vec<BoxedStrategy<Value<'static>>> {
            // A separator inside of a DESC VARBINARY misleads the order, in Phoenix too.
            let no_zeros = |value: Value<'static>| match value {
                Value::Bytes(bytes) => Value::Bytes(bytes.iter().map(|&byte| byte.max(1)).collect()),
                other => other,
            };
            let value_of = |sql_type| value_of(sql_type).prop_map(no_zeros).boxed();
            let value = |column: &KeyColumn| match column.nullable {
                true => prop_oneof![1 => Just(Value::Null), 3 => value_of(column.sql_type)].boxed(),
                false => value_of(column.sql_type),
            };
            columns.iter().map(value).collect()
        };
        let (a, b) = (values(&columns), values(&columns));
        (Just(columns), a, b)
    })
}

/// Order of two keys; NULL sorts first in ASC and, since its separator is `00`, also in DESC.
fn compare_keys(key: &[KeyColumn], a: &[Value<'_>], b: &[Value<'_>]) -> std::cmp::Ordering {
    let columns = key.iter().zip(a).zip(b).map(|((column, a), b)| match (column.order, a, b) {
        (Desc, Value::Null, _) | (Desc, _, Value::Null) | (Asc, ..) => compare(a, b),
        (Desc, ..) => compare(a, b).reverse(),
    });
    columns.fold(std::cmp::Ordering::Equal, |order, next| order.then(next))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn keys_survive_a_round_trip_and_sort_like_their_columns((key, a, b) in any_key()) {
        let row = |values: &[Value<'static>]| {
            let mut out = Vec::new();
            encode_row_key(&key, values, &mut out).map(|()| out)
        };
        let all_null = |values: &[Value<'_>]| values.iter().all(|value| *value == Value::Null);
        prop_assume!(!all_null(&a) && !all_null(&b));
        let (row_a, row_b) = (row(&a).unwrap(), row(&b).unwrap());
        let back = decode_row_key(&key, &row_a).unwrap();
        prop_assert!(compare_keys(&key, &back, &a).is_eq(), "{:?} came back as {:?}", a, back);
        prop_assert_eq!(row_a.cmp(&row_b), compare_keys(&key, &a, &b), "{:?} {:?} {:?}", key, a, b);
        for len in 0..=key.len() {
            let range = prefix_range(&key, &a[..len]).unwrap();
            prop_assert!(range.contains(&row_a));
            let same = compare_keys(&key[..len], &a[..len], &b[..len]).is_eq();
            prop_assert_eq!(range.contains(&row_b), same, "{:?} {:?} {:?} {}", key, a, b, len);
        }
    }

    #[test]
    fn any_bytes_decode_or_are_refused((key, _, _) in any_key(), row in proptest::collection::vec(any::<u8>(), 0..24)) {
        let _ = decode_row_key(&key, &row);
    }
}
