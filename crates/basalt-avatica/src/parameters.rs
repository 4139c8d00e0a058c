// SPDX-License-Identifier: Apache-2.0
//! Values of parameters, as clients send them.

use basalt_sql::Value;
use basalt_wire::avatica::pb::{Rep, TypedValue};

use crate::failure::Failure;

const DAY_MS: i64 = 86_400_000;
/// Digits that an exponent may ask for; no type has more.
const ZEROS_MAX: i64 = 400;

/// All values of a statement.
pub(crate) fn values(sent: &[TypedValue]) -> Result<Vec<Value>, Failure> {
    sent.iter().enumerate().map(|(at, value)| of(value).map_err(|why| wrong(at, &why))).collect()
}

fn wrong(at: usize, why: &str) -> Failure {
    Failure::coded(203, "22005", &format!("parameter {}: {why}", at + 1))
}

fn of(value: &TypedValue) -> Result<Value, String> {
    if value.null || value.implicitly_null {
        return Ok(Value::Null);
    }
    let rep = Rep::try_from(value.r#type).map_err(|_| format!("{} is no type of Avatica's", value.r#type))?;
    let too_large = |number: i64| format!("{number} is beyond what a moment can be");
    Ok(match rep {
        Rep::Null => Value::Null,
        Rep::PrimitiveBoolean | Rep::Boolean => Value::Boolean(value.bool_value),
        Rep::PrimitiveByte
        | Rep::Byte
        | Rep::PrimitiveShort
        | Rep::Short
        | Rep::PrimitiveInt
        | Rep::Integer
        | Rep::PrimitiveLong
        | Rep::Long => Value::Integer(value.number_value),
        Rep::PrimitiveDouble | Rep::Double => Value::Double(value.double_value),
        // Java sends the bits of a float as a number, Python the number as a double.
        Rep::PrimitiveFloat | Rep::Float if value.double_value == 0.0 => {
            Value::Double(f32::from_bits(value.number_value as u32).into())
        }
        Rep::PrimitiveFloat | Rep::Float => Value::Double(value.double_value),
        Rep::Number | Rep::BigDecimal | Rep::BigInteger => Value::Decimal(plain(&value.string_value)?),
        Rep::String | Rep::PrimitiveChar | Rep::Character => Value::Text(value.string_value.clone()),
        Rep::ByteString => Value::Binary(value.bytes_value.to_vec()),
        Rep::JavaSqlDate => {
            let millis = value.number_value.checked_mul(DAY_MS);
            Value::Date(millis.ok_or_else(|| too_large(value.number_value))?)
        }
        Rep::JavaUtilDate | Rep::JavaSqlTime => Value::Date(value.number_value),
        Rep::JavaSqlTimestamp => {
            // A moment that a TIMESTAMP cannot be is one of a DATE.
            let nanos = value.number_value.checked_mul(1_000_000);
            nanos.map_or(Value::Date(value.number_value), Value::Timestamp)
        }
        Rep::Array => Value::Array(value.array_value.iter().map(of).collect::<Result<_, _>>()?),
        Rep::Object if !value.string_value.is_empty() => Value::Text(value.string_value.clone()),
        Rep::Object | Rep::Struct | Rep::Multiset => {
            return Err(format!("a value of form {} cannot be stored", rep.as_str_name()));
        }
    })
}

/// A number without an exponent: Java and Python write `1.2E+3` for 1200.
fn plain(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is no number");
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else { return Ok(text.to_owned()) };
    let exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().map_err(|_| wrong())?;
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.strip_prefix('+').unwrap_or(digits)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || exponent.abs() > ZEROS_MAX {
        return Err(wrong());
    }
    let all = format!("{whole}{fraction}");
    let point = whole.len() as i64 + exponent;
    let shown = match usize::try_from(point) {
        Ok(point) if point >= all.len() => format!("{all}{}", "0".repeat(point - all.len())),
        Ok(point) if point > 0 => format!("{}.{}", &all[..point], &all[point..]),
        _ => format!("0.{}{all}", "0".repeat(point.unsigned_abs() as usize)),
    };
    Ok(format!("{sign}{shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_written_out() {
        for (text, found) in [
            ("12.50", "12.50"),
            ("1.2E+3", "1200"),
            ("-1.25e1", "-12.5"),
            ("5E-3", "0.005"),
            ("12E0", "12"),
            ("0E-10", "0.0000000000"),
            ("1.2345E2", "123.45"),
        ] {
            assert_eq!(plain(text).as_deref(), Ok(found), "{text}");
        }
        for text in ["E5", "1E", "1E9999999999", "1x2E3", "1E500"] {
            assert!(plain(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_by_their_form() {
        let of_number =
            |rep: Rep, number_value| TypedValue { r#type: rep.into(), number_value, ..TypedValue::default() };
        assert_eq!(of(&of_number(Rep::Integer, -7)), Ok(Value::Integer(-7)));
        assert_eq!(of(&of_number(Rep::JavaSqlDate, 2)), Ok(Value::Date(2 * DAY_MS)));
        assert_eq!(of(&of_number(Rep::JavaSqlTimestamp, 5)), Ok(Value::Timestamp(5_000_000)));
        assert_eq!(of(&of_number(Rep::JavaSqlTimestamp, i64::MAX / 2)), Ok(Value::Date(i64::MAX / 2)));
        assert_eq!(of(&of_number(Rep::Float, i64::from(1.5f32.to_bits()))), Ok(Value::Double(1.5)));
        let null = TypedValue { null: true, r#type: Rep::Object.into(), ..TypedValue::default() };
        assert_eq!(of(&null), Ok(Value::Null));
        let list = TypedValue {
            r#type: Rep::Array.into(),
            array_value: vec![of_number(Rep::Long, 1), null],
            ..TypedValue::default()
        };
        assert_eq!(of(&list), Ok(Value::Array(vec![Value::Integer(1), Value::Null])));
        assert!(of(&of_number(Rep::Struct, 0)).is_err());
        assert!(of(&TypedValue { r#type: 99, ..TypedValue::default() }).is_err());
    }
}
