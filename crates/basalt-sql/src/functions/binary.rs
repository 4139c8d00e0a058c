// SPDX-License-Identifier: Apache-2.0
//! Bits and bytes: GET_BIT, GET_BYTE, SET_BIT, SET_BYTE (counted from 0; bit 0 is the lowest of the first byte),
//! ENCODE(n, 'BASE62'), SUBBINARY.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int32Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::plain::{Plain, count, is_text};

/// The call that stands for ENCODE(n, 'BASE62').
pub(crate) const BASE62: &str = "$base62";
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        Plain::function(
            "get_bit",
            |name, found| bytes_and(name, found, 1),
            |_| DataType::Int32,
            |args| read(args, |bytes, index| Some(i32::from(bytes.get(index / 8)? >> (index % 8) & 1))),
        ),
        Plain::function(
            "get_byte",
            |name, found| bytes_and(name, found, 1),
            |_| DataType::Int32,
            |args| read(args, |bytes, index| Some(i32::from(*bytes.get(index)? as i8))),
        ),
        Plain::function(
            "set_bit",
            |name, found| bytes_and(name, found, 2),
            |_| DataType::Binary,
            |args| {
                write(args, |bytes, index, value| {
                    let byte = bytes.get_mut(index / 8)?;
                    let mask = 1 << (index % 8);
                    *byte = if value & 1 == 1 { *byte | mask } else { *byte & !mask };
                    Some(())
                })
            },
        ),
        Plain::function(
            "set_byte",
            |name, found| bytes_and(name, found, 2),
            |_| DataType::Binary,
            |args| {
                write(args, |bytes, index, value| {
                    *bytes.get_mut(index)? = value as u8;
                    Some(())
                })
            },
        ),
        Plain::function("subbinary", coerce_subbinary, |_| DataType::Binary, subbinary),
        Plain::function("octet_length", coerce_octets, |_| DataType::Int32, octets),
        Plain::function(BASE62, coerce_base62, |_| DataType::Utf8, run_base62),
    ]
}

fn coerce_subbinary(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 2, 3)?;
    bytes_and(name, found, found.len() - 1)
}

/// SUBBINARY(b, start[, length]): bytes from `start` on, counted from 1, or from the end if it is negative; 0 means 1. NULL if
/// there is none.
fn subbinary(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let (values, starts) = (column(args, 0)?, column(args, 1)?);
    let lengths = args.args.get(2).map(|lengths| lengths.to_array(args.number_rows)).transpose()?;
    let values = values.as_binary::<i32>();
    let cut = |row: usize| {
        let bytes = values.is_valid(row).then(|| values.value(row))?;
        let length = match &lengths {
            Some(lengths) => usize::try_from(number(lengths, row)?).ok()?,
            None => bytes.len(),
        };
        let start = match number(&starts, row)? {
            start @ ..=-1 => bytes.len().checked_sub(usize::try_from(start.unsigned_abs()).ok()?)?,
            start => usize::try_from(start - 1).unwrap_or(0),
        };
        let rest = bytes.get(start..)?;
        Some(&rest[..length.min(rest.len())]).filter(|cut| !cut.is_empty())
    };
    let cut: BinaryArray = (0..args.number_rows).map(cut).collect();
    Ok(ColumnarValue::Array(Arc::new(cut)))
}

fn coerce_octets(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 1, 1)?;
    match &found[0] {
        text if is_text(text) => Ok(vec![DataType::Utf8]),
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            Ok(vec![DataType::Binary])
        }
        other => plan_err!("OCTET_LENGTH takes texts and binary values, not {other}"),
    }
}

fn octets(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let values = column(args, 0)?;
    let lengths: Int32Array = match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().iter().map(|text| Some(text?.len() as i32)).collect(),
        _ => values.as_binary::<i32>().iter().map(|bytes| Some(bytes?.len() as i32)).collect(),
    };
    Ok(ColumnarValue::Array(Arc::new(lengths)))
}

/// A binary value and whole numbers.
fn bytes_and(name: &str, found: &[DataType], numbers: usize) -> Result<Vec<DataType>> {
    count(name, found, 1 + numbers, 1 + numbers)?;
    match &found[0] {
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {}
        other => return plan_err!("{} takes a binary value, not {other}", name.to_uppercase()),
    }
    if let Some(other) = found[1..].iter().find(|found| !found.is_integer()) {
        return plan_err!("{} takes whole numbers, not {other}", name.to_uppercase());
    }
    Ok([vec![DataType::Binary], vec![DataType::Int64; numbers]].concat())
}

fn column(args: &ScalarFunctionArgs, index: usize) -> Result<ArrayRef> {
    args.args[index].to_array(args.number_rows)
}

fn number(column: &ArrayRef, row: usize) -> Option<i64> {
    column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row))
}

/// NULL where an argument is; an error where there is no such bit or byte.
fn read(args: &ScalarFunctionArgs, get: impl Fn(&[u8], usize) -> Option<i32>) -> Result<ColumnarValue> {
    let (values, indices) = (column(args, 0)?, column(args, 1)?);
    let values = values.as_binary::<i32>();
    let mut read = Vec::with_capacity(args.number_rows);
    for row in 0..args.number_rows {
        read.push(match (values.is_valid(row), number(&indices, row)) {
            (true, Some(index)) => {
                match usize::try_from(index).ok().and_then(|at| get(values.value(row), at)) {
                    Some(found) => Some(found),
                    None => {
                        return exec_err!(
                            "a value of {} bytes has no place {index}",
                            values.value(row).len()
                        );
                    }
                }
            }
            _ => None,
        });
    }
    Ok(ColumnarValue::Array(Arc::new(Int32Array::from(read))))
}

fn write(
    args: &ScalarFunctionArgs,
    set: impl Fn(&mut [u8], usize, i64) -> Option<()>,
) -> Result<ColumnarValue> {
    let (values, indices, news) = (column(args, 0)?, column(args, 1)?, column(args, 2)?);
    let values = values.as_binary::<i32>();
    let mut written: Vec<Option<Vec<u8>>> = Vec::with_capacity(args.number_rows);
    for row in 0..args.number_rows {
        let numbers = number(&indices, row).zip(number(&news, row)).filter(|_| values.is_valid(row));
        let Some((index, new)) = numbers else {
            written.push(None);
            continue;
        };
        let mut bytes = values.value(row).to_vec();
        if usize::try_from(index).ok().and_then(|at| set(&mut bytes, at, new)).is_none() {
            return exec_err!("a value of {} bytes has no place {index}", bytes.len());
        }
        written.push(Some(bytes));
    }
    let written: BinaryArray = written.iter().map(Option::as_deref).collect();
    Ok(ColumnarValue::Array(Arc::new(written)))
}

fn coerce_base62(_: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count("encode", found, 1, 1)?;
    if !found[0].is_integer() {
        return plan_err!("ENCODE to BASE62 takes a whole number, not {}", found[0]);
    }
    Ok(vec![DataType::Int64])
}

fn run_base62(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let numbers = column(args, 0)?;
    let text = |row| number(&numbers, row).map(base62);
    Ok(ColumnarValue::Array(Arc::new((0..args.number_rows).map(text).collect::<StringArray>())))
}

fn base62(number: i64) -> String {
    let mut digits = vec![];
    let mut rest = number.unsigned_abs();
    while rest > 0 || digits.is_empty() {
        digits.push(DIGITS[(rest % 62) as usize]);
        rest /= 62;
    }
    if number < 0 {
        digits.push(b'-');
    }
    digits.iter().rev().map(|&digit| char::from(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_62_digits() {
        assert_eq!([255, 0, 1_234_567, -61].map(base62), ["47", "0", "5BAN", "-z"]);
    }
}
