// SPDX-License-Identifier: Apache-2.0
//! Bytes that Phoenix 5.2.1 wrote, and what no writer wrote.

use proptest::prelude::*;

use super::*;
use crate::schema::SortOrder;
use crate::types::Value;

const TEXTS: SqlType = SqlType::Array(ElementType::Varchar(None));

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn texts(values: &[Option<&str>]) -> Value<'static> {
    let element = |value: &Option<&str>| match value {
        Some(text) => Value::Text(text.to_string().into()),
        None => Value::Null,
    };
    Value::Array(values.iter().map(element).collect())
}

fn encoded(sql_type: SqlType, value: &Value<'_>) -> Result<Vec<u8>, TypeError> {
    let mut bytes = Vec::new();
    sql_type.encode(SortOrder::Asc, value, &mut bytes)?;
    Ok(bytes)
}

#[track_caller]
fn check(sql_type: SqlType, value: &Value<'_>, expected: &str) {
    let bytes = encoded(sql_type, value).unwrap();
    assert_eq!(hex(&bytes), expected.replace([' ', '|'], ""));
    assert_eq!(sql_type.decode(SortOrder::Asc, &bytes).unwrap(), *value);
}

#[test]
fn arrays_have_phoenix_bytes() {
    let integers = Value::Array([1, 2, -3].map(Value::Int).to_vec());
    check(SqlType::Array(ElementType::Integer), &integers, "80000001 80000002 7ffffffd");
    check(
        TEXTS,
        &texts(&[Some("a"), Some("bc"), None, None, Some("d")]),
        "6100 626300 00fe 6400 0000 | 8001 8003 8006 8006 8008 | 0000000b | 00000005 | 01",
    );
    check(TEXTS, &texts(&[None, Some("x")]), "00ff 7800 0000 | 8001 8003 | 00000006 | 00000002 | 01");
    check(TEXTS, &texts(&[Some("x"), None]), "7800 0000 | 8001 8003 | 00000004 | 00000002 | 01");
}

#[test]
fn an_array_without_elements_is_null() {
    assert_eq!(encoded(TEXTS, &Value::Array(vec![])).unwrap(), b"");
    assert!(Value::Array(vec![]).is_null());
}

#[test]
fn arrays_of_fixed_width_hold_no_null() {
    let error = encoded(SqlType::Array(ElementType::Integer), &Value::Array(vec![Value::Null])).unwrap_err();
    assert_eq!(error.to_string(), "an element of INTEGER ARRAY may not be NULL");
}

#[test]
fn an_element_cannot_begin_like_a_null() {
    let binary = SqlType::Array(ElementType::Varbinary(None));
    let error = encoded(binary, &Value::Array(vec![Value::Bytes(vec![0, 1].into())])).unwrap_err();
    assert_eq!(error.to_string(), "an element of VARBINARY ARRAY may not begin with the byte 00");
}

#[test]
fn long_arrays_have_offsets_of_four_bytes() {
    let long = "x".repeat(40_000);
    let value = texts(&[Some(&long), Some(&long), Some("end")]);
    let bytes = encoded(TEXTS, &value).unwrap();
    assert_eq!(hex(&bytes[bytes.len() - 5..]), "fffffffd01");
    assert_eq!(TEXTS.decode(SortOrder::Asc, &bytes).unwrap(), value);
}

proptest! {
    #[test]
    fn arrays_come_back(values in prop::collection::vec(prop::option::of("[a-z]{1,3}"), 1..600)) {
        let values: Vec<_> = values.iter().map(Option::as_deref).collect();
        let bytes = encoded(TEXTS, &texts(&values)).unwrap();
        prop_assert_eq!(TEXTS.decode(SortOrder::Asc, &bytes).unwrap(), texts(&values));
    }

    #[test]
    fn arrays_sort_like_their_elements(
        a in prop::collection::vec("[a-c]{1,2}", 1..4),
        b in prop::collection::vec("[a-c]{1,2}", 1..4),
    ) {
        let bytes = |values: &[String]| {
            let values: Vec<_> = values.iter().map(|value| Some(value.as_str())).collect();
            encoded(TEXTS, &texts(&values)).unwrap()
        };
        prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), a.cmp(&b));
    }

    #[test]
    fn any_bytes_are_an_array_or_an_error(bytes in prop::collection::vec(any::<u8>(), 1..64)) {
        let _ = TEXTS.decode(SortOrder::Asc, &bytes);
        let mut framed = bytes.clone();
        framed.extend_from_slice(&[0, 0, 0, (bytes.len() / 2) as u8, 0, 0, 0, (bytes.len() / 4) as u8, 1]);
        let _ = TEXTS.decode(SortOrder::Asc, &framed);
        let _ = SqlType::Array(ElementType::Date).decode(SortOrder::Asc, &bytes);
    }
}
