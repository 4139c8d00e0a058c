// SPDX-License-Identifier: Apache-2.0
//! Literals of the planner as encoded values of a key column.

use std::borrow::Cow;

use basalt_hfile::typed::{narrowed, wide_power_of_ten};
use basalt_model::types::{Decimal, Value};
use basalt_model::{SortOrder, SqlType};
use datafusion::arrow::datatypes::i256;
use datafusion::scalar::ScalarValue;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// An encoded value and how a plan prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyValue {
    /// The ascending form.
    pub(crate) bytes: Vec<u8>,
    /// For EXPLAIN.
    pub(crate) text: String,
}

/// The literal in the form of the type, or `None` if the type has no such value. NULL and the empty text, which
/// cannot be told from it, are `None` too.
pub(super) fn encode(literal: &ScalarValue, sql_type: SqlType) -> Option<KeyValue> {
    let value = value_of(literal, sql_type)?;
    if value.is_null() {
        return None;
    }
    if let (SqlType::Binary(width), Value::Bytes(bytes)) = (sql_type, &value)
        && bytes.len() < width as usize
    {
        // Beside a key column it is padded by now. In the key of an index it is compared as beside the column that the index is of, as it stands.
        return None;
    }
    // A DECIMAL literal may have more digits than the column: it is compared as it is, not cut.
    let encoded_as = if matches!(sql_type, SqlType::Decimal(_)) { SqlType::Decimal(None) } else { sql_type };
    let mut bytes = Vec::new();
    encoded_as.encode(SortOrder::Asc, &value, &mut bytes).ok()?;
    Some(KeyValue { bytes, text: text_of(literal, &value) })
}

fn value_of(literal: &ScalarValue, sql_type: SqlType) -> Option<Value<'_>> {
    use ScalarValue as S;
    let value = match literal {
        S::Int8(Some(v)) => Value::Int(i64::from(*v)),
        S::Int16(Some(v)) => Value::Int(i64::from(*v)),
        S::Int32(Some(v)) => Value::Int(i64::from(*v)),
        S::Int64(Some(v)) => Value::Int(*v),
        // Not the zero below zero: no row has it, see `crate::coerce`.
        S::Float32(Some(v)) => Value::Float(*v + 0.0),
        S::Float64(Some(v)) => Value::Double(*v + 0.0),
        S::Decimal64(Some(v), _, scale) => Value::Decimal(Decimal::new(i128::from(*v), i32::from(*scale))),
        S::Decimal128(Some(v), _, scale) => Value::Decimal(Decimal::new(*v, i32::from(*scale))),
        S::Decimal256(Some(v), _, scale) => Value::Decimal(exactly(*v, i32::from(*scale))?),
        S::Boolean(Some(v)) => Value::Boolean(*v),
        S::TimestampMillisecond(Some(v), None) => Value::Millis(*v),
        S::TimestampNanosecond(Some(v), None) => {
            let nanos = u32::try_from(v.rem_euclid(NANOS_PER_MILLI)).ok()?;
            Value::Timestamp { millis: v.div_euclid(NANOS_PER_MILLI), nanos }
        }
        S::Utf8(Some(v)) | S::Utf8View(Some(v)) | S::LargeUtf8(Some(v)) => Value::Text(Cow::Borrowed(v)),
        S::Binary(Some(v)) | S::BinaryView(Some(v)) | S::LargeBinary(Some(v)) => {
            Value::Bytes(Cow::Borrowed(v))
        }
        _ => return None,
    };
    // Rows are compared with 0 by the planner as -0 < 0; UNSIGNED_FLOAT stores both as 0.
    let signed_zero = match value {
        Value::Float(v) => v == 0.0,
        Value::Double(v) => v == 0.0,
        _ => false,
    };
    (!(signed_zero && sql_type.is_unsigned())).then_some(value)
}

/// The number, if 38 digits are enough for it.
fn exactly(digits: i256, scale: i32) -> Option<Decimal> {
    let number = narrowed(digits, scale)?;
    let zeros = wide_power_of_ten(u32::try_from(scale.checked_sub(number.scale)?).ok()?)?;
    (i256::from_i128(number.unscaled).checked_mul(zeros)? == digits).then_some(number)
}

fn text_of(literal: &ScalarValue, value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => format!("'{text}'"),
        Value::Bytes(bytes) => {
            format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Value::Millis(_) | Value::Timestamp { .. } => format!("'{literal}'"),
        _ => literal.to_string(),
    }
}
