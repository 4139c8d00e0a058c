// SPDX-License-Identifier: Apache-2.0
//! One Arrow array as the source of one column's bytes: the type is decided when the array is bound, the loop
//! over rows calls [`Source::append`].

use arrow::array::AsArray;
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMillisecondType, TimestampNanosecondType, i256,
};
use basalt_model::types::array::ArrayWriter;
use basalt_model::types::{Decimal, decimal, number, value};
use basalt_model::{ElementType, SqlType, TypeError};

use super::narrowed;
use crate::columnar::{Form, Gathered, StringList};

/// An array bound to a column.
#[derive(Debug)]
pub(super) struct Source<'a> {
    sql_type: SqlType,
    signed: bool,
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

#[derive(Debug)]
enum Values<'a> {
    Nothing,
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    /// Integers, and milliseconds since the epoch.
    I64(&'a [i64]),
    Nanos(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Decimal {
        values: &'a [i128],
        scale: i32,
        limit: u128,
        exact: bool,
    },
    WideDecimal {
        values: &'a [i256],
        scale: i32,
    },
    Bool(&'a BooleanBuffer),
    Text(&'a arrow::array::StringArray),
    LargeText(&'a arrow::array::LargeStringArray),
    TextView(&'a arrow::array::StringViewArray),
    Bytes(&'a arrow::array::BinaryArray),
    LargeBytes(&'a arrow::array::LargeBinaryArray),
    BytesView(&'a arrow::array::BinaryViewArray),
    FixedBytes(&'a arrow::array::FixedSizeBinaryArray),
    List {
        offsets: &'a [i32],
        element: ElementType,
        elements: Box<Source<'a>>,
    },
}

impl<'a> Source<'a> {
    /// Binds an array to a column type; `None` if the array cannot hold its values.
    pub(super) fn bind(sql_type: SqlType, array: &'a dyn arrow::array::Array) -> Option<Self> {
        use SqlType::*;
        let values = match (sql_type, array.data_type()) {
            (_, DataType::Null) => Values::Nothing,
            (TinyInt | UnsignedTinyInt, DataType::Int8) => {
                Values::I8(array.as_primitive::<Int8Type>().values())
            }
            (SmallInt | UnsignedSmallInt, DataType::Int16) => {
                Values::I16(array.as_primitive::<Int16Type>().values())
            }
            (Integer | UnsignedInt, DataType::Int32) => {
                Values::I32(array.as_primitive::<Int32Type>().values())
            }
            (BigInt | UnsignedLong, DataType::Int64) => {
                Values::I64(array.as_primitive::<Int64Type>().values())
            }
            (Float | UnsignedFloat, DataType::Float32) => {
                Values::F32(array.as_primitive::<Float32Type>().values())
            }
            (Double | UnsignedDouble, DataType::Float64) => {
                Values::F64(array.as_primitive::<Float64Type>().values())
            }
            (Decimal(declared), &DataType::Decimal128(_, scale)) => {
                let limit = declared.and_then(|(precision, _)| decimal::power_of_ten(precision.into()));
                Values::Decimal {
                    values: array.as_primitive::<Decimal128Type>().values(),
                    scale: scale.into(),
                    limit: limit.map_or(u128::MAX, |limit| limit as u128),
                    exact: declared.is_none_or(|(_, declared)| declared == scale),
                }
            }
            (Decimal(_), &DataType::Decimal256(_, scale)) => Values::WideDecimal {
                values: array.as_primitive::<Decimal256Type>().values(),
                scale: scale.into(),
            },
            (Boolean, DataType::Boolean) => Values::Bool(array.as_boolean().values()),
            (Date | Time | UnsignedDate | UnsignedTime, DataType::Timestamp(TimeUnit::Millisecond, _)) => {
                Values::I64(array.as_primitive::<TimestampMillisecondType>().values())
            }
            (Timestamp | UnsignedTimestamp, DataType::Timestamp(TimeUnit::Nanosecond, _)) => {
                Values::Nanos(array.as_primitive::<TimestampNanosecondType>().values())
            }
            (Char(_) | Varchar(_) | Json, DataType::Utf8) => Values::Text(array.as_string()),
            (Char(_) | Varchar(_) | Json, DataType::LargeUtf8) => Values::LargeText(array.as_string()),
            (Char(_) | Varchar(_) | Json, DataType::Utf8View) => Values::TextView(array.as_string_view()),
            (Binary(_) | Varbinary(_), DataType::Binary) => Values::Bytes(array.as_binary()),
            (Binary(_) | Varbinary(_), DataType::LargeBinary) => Values::LargeBytes(array.as_binary()),
            (Binary(_) | Varbinary(_), DataType::BinaryView) => Values::BytesView(array.as_binary_view()),
            (Binary(_) | Varbinary(_), DataType::FixedSizeBinary(_)) => {
                Values::FixedBytes(array.as_fixed_size_binary())
            }
            (Array(element), DataType::List(_)) => {
                let list = array.as_list::<i32>();
                let elements = Box::new(Self::bind(element.into(), list.values())?);
                Values::List { offsets: list.value_offsets(), element, elements }
            }
            _ => return None,
        };
        Some(Self { sql_type, signed: !sql_type.is_unsigned(), nulls: array.nulls(), values })
    }

    /// Appends the ASC bytes of the value in row `row`: nothing for NULL and for what is stored like it.
    #[inline]
    pub(super) fn append(&self, row: usize, out: &mut Vec<u8>) -> Result<(), TypeError> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(());
        }
        match &self.values {
            Values::Nothing => {}
            Values::I8(values) => self.integer(values[row].into(), (values[row] as u8).to_be_bytes(), out)?,
            Values::I16(values) => {
                self.integer(values[row].into(), (values[row] as u16).to_be_bytes(), out)?
            }
            Values::I32(values) => {
                self.integer(values[row].into(), (values[row] as u32).to_be_bytes(), out)?
            }
            Values::I64(values) => self.integer(values[row], (values[row] as u64).to_be_bytes(), out)?,
            Values::Nanos(values) => {
                let (millis, nanos) = number::split_nanos(values[row]);
                self.integer(millis, (millis as u64).to_be_bytes(), out)?;
                out.extend_from_slice(&nanos.to_be_bytes());
            }
            Values::F32(values) if self.signed => out.extend_from_slice(&number::encode_f32(values[row])),
            Values::F32(values) => {
                let bytes = value::unsigned_f32(values[row]);
                out.extend_from_slice(&bytes.ok_or_else(|| self.out_of_range(values[row]))?);
            }
            Values::F64(values) if self.signed => out.extend_from_slice(&number::encode_f64(values[row])),
            Values::F64(values) => {
                let bytes = value::unsigned_f64(values[row]);
                out.extend_from_slice(&bytes.ok_or_else(|| self.out_of_range(values[row]))?);
            }
            Values::Decimal { values, scale, limit, exact } => {
                let number = Decimal::new(values[row], *scale);
                if *exact && number.unscaled.unsigned_abs() < *limit {
                    decimal::encode(number, out).map_err(|_| self.out_of_range(number))?;
                } else {
                    let number = value::Value::Decimal(number);
                    self.sql_type.encode(basalt_model::SortOrder::Asc, &number, out)?;
                }
            }
            Values::WideDecimal { values, scale } => {
                let number = narrowed(values[row], *scale).ok_or_else(|| self.out_of_range(values[row]))?;
                let number = value::Value::Decimal(number);
                self.sql_type.encode(basalt_model::SortOrder::Asc, &number, out)?;
            }
            Values::Bool(values) => out.push(values.value(row) as u8),
            Values::Text(values) => value::put_text(self.sql_type, values.value(row), out)?,
            Values::LargeText(values) => value::put_text(self.sql_type, values.value(row), out)?,
            Values::TextView(values) => value::put_text(self.sql_type, values.value(row), out)?,
            Values::Bytes(values) => value::put_bytes(self.sql_type, values.value(row), out)?,
            Values::LargeBytes(values) => value::put_bytes(self.sql_type, values.value(row), out)?,
            Values::BytesView(values) => value::put_bytes(self.sql_type, values.value(row), out)?,
            Values::FixedBytes(values) => value::put_bytes(self.sql_type, values.value(row), out)?,
            Values::List { offsets, element, elements } => {
                let mut writer = ArrayWriter::new(*element, out);
                for index in offsets[row]..offsets[row + 1] {
                    writer.push(|out| elements.append(index as usize, out))?;
                }
                writer.finish()?;
            }
        }
        Ok(())
    }

    /// The values of all rows as a columnar block stores them; `None` if one is missing, is of no bytes, or cannot be stored, which
    /// [`Self::append`] says better.
    pub(super) fn gathered(&self, rows: usize) -> Option<Gathered> {
        if self.nulls.is_some_and(|nulls| nulls.null_count() > 0) {
            return None;
        }
        if let Some((form, numbers)) = self.numbers() {
            return Some(Gathered::Numbers(form, numbers?));
        }
        let mut list = StringList::with_room(rows, 8 * rows);
        for row in 0..rows {
            let from = list.size_bytes();
            list.push_with(|out| self.append(row, out)).ok()?;
            if list.size_bytes() == from || list.size_bytes() > i32::MAX as usize / 2 {
                return None;
            }
        }
        Some(Gathered::Bytes(list))
    }

    /// Values of a type whose bytes are those of numbers, with their form; `None` for other types, and for numbers if one cannot be
    /// stored.
    fn numbers(&self) -> Option<(Form, Option<Vec<i64>>)> {
        let declared = matches!(self.sql_type, SqlType::Decimal(Some(_)));
        let form = Form::of(self.sql_type, || 0);
        let numbers: Option<Vec<i64>> = match &self.values {
            Values::I8(values) => integers(values, self.signed),
            Values::I16(values) => integers(values, self.signed),
            Values::I32(values) => integers(values, self.signed),
            Values::I64(values) | Values::Nanos(values) => integers(values, self.signed),
            Values::F32(values) if self.signed => {
                values.iter().map(|&value| form.to_integer(&number::encode_f32(value))).collect()
            }
            Values::F64(values) if self.signed => {
                values.iter().map(|&value| form.to_integer(&number::encode_f64(value))).collect()
            }
            Values::Decimal { values, limit, exact: true, .. } if declared => {
                let most = (*limit).min(10u128.pow(18));
                let digits = |&digits: &i128| (digits.unsigned_abs() < most).then_some(digits as i64);
                values.iter().map(digits).collect()
            }
            _ => return None,
        };
        Some((form, numbers))
    }

    #[inline]
    fn integer<const N: usize>(
        &self,
        value: i64,
        mut bytes: [u8; N],
        out: &mut Vec<u8>,
    ) -> Result<(), TypeError> {
        if self.signed {
            bytes[0] ^= 0x80;
        } else if value < 0 {
            return Err(self.out_of_range(value));
        }
        out.extend_from_slice(&bytes);
        Ok(())
    }

    #[cold]
    fn out_of_range(&self, value: impl std::fmt::Display) -> TypeError {
        TypeError::OutOfRange { sql_type: self.sql_type, value: value.to_string() }
    }
}

/// The numbers, if they are of an unsigned type only when none is negative.
fn integers<T: Copy + Into<i64>>(values: &[T], signed: bool) -> Option<Vec<i64>> {
    let all = || values.iter().map(|&value| value.into());
    (signed || all().all(|number| number >= 0)).then(|| all().collect())
}
