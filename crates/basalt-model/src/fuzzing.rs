// SPDX-License-Identifier: Apache-2.0
//! Entry points for fuzzers. Not part of the public interface.
//!
//! Each target takes any bytes, as a log or a client of the cell API may hold them, and must return: no panic, no second of work. `fuzz/`
//! at the root of the repository runs them under cargo-fuzz; the tests of this module run them over sound inputs that were
//! changed at random.

use bytes::Bytes;

use crate::mutation::RowMutation;
use crate::rowkey::decode_row_key;
use crate::types::Decimal;
use crate::{ElementType, KeyColumn, Seq, SortOrder, SqlType, Value};

/// What a fuzzer calls with each input.
pub type Target = fn(&[u8]);

/// Name and function of every target.
pub const TARGETS: [(&str, Target); 3] = [("mutation", mutation), ("value", value), ("row_key", row_key)];

/// Types of values, by the lower bits of the byte that chooses.
const TYPES: [SqlType; 22] = [
    SqlType::TinyInt,
    SqlType::SmallInt,
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::UnsignedTinyInt,
    SqlType::UnsignedSmallInt,
    SqlType::UnsignedInt,
    SqlType::UnsignedLong,
    SqlType::Float,
    SqlType::Double,
    SqlType::UnsignedFloat,
    SqlType::UnsignedDouble,
    SqlType::Decimal(None),
    SqlType::Decimal(Some((9, 2))),
    SqlType::Boolean,
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::Char(3),
    SqlType::Varchar(None),
    SqlType::Varbinary(None),
    SqlType::Array(ElementType::Integer),
    SqlType::Array(ElementType::Varchar(None)),
];

/// Row mutations one behind the other, as in the body of a section of the log.
fn mutation(data: &[u8]) {
    let mut rest = Bytes::copy_from_slice(data);
    while let Ok((row, len)) = RowMutation::decode(&rest) {
        assert_eq!(row.entry()[..], rest[..len]);
        let borrowed = row.borrow();
        assert_eq!(borrowed.row(), &row.row_bytes()[..]);
        assert_eq!(borrowed.cells(Seq(7)).count(), borrowed.cell_count());
        rest = rest.slice(len..);
    }
}

fn chosen(byte: u8) -> (SqlType, SortOrder) {
    let order = if byte & 0x80 == 0 { SortOrder::Asc } else { SortOrder::Desc };
    (TYPES[usize::from(byte & 0x7f) % TYPES.len()], order)
}

/// A byte that chooses type and order, then the value; what is read can be written, and read again.
fn value(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let (sql_type, order) = chosen(choice);
    let Ok(value) = sql_type.decode(order, bytes) else { return };
    let mut again = Vec::new();
    if sql_type.encode(order, &value, &mut again).is_ok() {
        assert!(sql_type.decode(order, &again).is_ok(), "{sql_type} {order:?} {value:?}");
    }
}

/// A byte that says how many columns, a byte for each, then the row key.
fn row_key(data: &[u8]) {
    let Some((&count, rest)) = data.split_first() else { return };
    let Some((choices, row)) = rest.split_at_checked(1 + usize::from(count % 4)) else { return };
    let column = |(at, &choice): (usize, &u8)| {
        let (sql_type, order) = chosen(choice);
        KeyColumn { name: format!("K{at}"), sql_type, order, nullable: sql_type.fixed_width().is_none() }
    };
    let _ = decode_row_key(&choices.iter().enumerate().map(column).collect::<Vec<_>>(), row);
}

/// Sound inputs: the name of a target, and what it takes.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let row = b"\x02\0\x01\0\0\0\x18\0\0\0r1\x04\x01\0\0\x01\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0fqv1";
    let numbers = Value::Array(vec![Value::Int(1), Value::Int(-2)]);
    let texts = Value::Array(["a", "", "bc"].map(|text| Value::Text(text.into())).to_vec());
    let values = [
        (2, Value::Int(7)),
        (0x83, Value::Int(-7)),
        (8, Value::Float(0.5)),
        (12, Value::Decimal(Decimal::new(12_345, 2))),
        (16, Value::Timestamp { millis: 1_700_000_000_000, nanos: 7 }),
        (18, Value::Text("text".into())),
        (20, numbers),
        (21, texts),
    ];
    let mut seeds = vec![
        ("mutation", row.repeat(2)),
        ("row_key", b"\x01\x02\x12\x80\0\0\x07text".to_vec()),
        ("row_key", b"\x02\x12\x92\x12a\0\x9d\xffc".to_vec()),
    ];
    for (choice, value) in values {
        let (sql_type, order) = chosen(choice);
        let mut input = vec![choice];
        sql_type.encode(order, &value, &mut input).expect("the value is of the type");
        seeds.push(("value", input));
    }
    seeds
}

#[cfg(test)]
mod tests;
