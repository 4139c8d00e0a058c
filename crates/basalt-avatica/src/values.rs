// SPDX-License-Identifier: Apache-2.0
//! Values of columns as Avatica has them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use arrow::error::ArrowError;
use basalt_files::ColumnText;
use basalt_wire::avatica::pb::{ColumnValue, Rep, TypedValue};
use bytes::Bytes;

use crate::columns::Type;

const DAY_MS: i64 = 86_400_000;

/// A column of one batch, ready to be sent.
pub(crate) struct Column {
    of: Type,
    values: Values,
}

enum Values {
    Numbers(ArrayRef),
    Doubles(ArrayRef),
    Booleans(ArrayRef),
    Binary(ArrayRef),
    /// Texts, decimals, and what is neither.
    Texts(ArrayRef),
    Lists(ArrayRef, Box<Column>),
    /// All of them NULL.
    Nulls,
}

impl Column {
    pub(crate) fn new(of: &Type, array: &ArrayRef) -> Result<Self, ArrowError> {
        if *array.data_type() == DataType::Null {
            return Ok(Self { of: of.clone(), values: Values::Nulls });
        }
        let millis = DataType::Timestamp(TimeUnit::Millisecond, None);
        let values = match of.of_value {
            // Moments count from 1970, in milliseconds or days.
            Rep::Integer | Rep::Long if array.data_type().is_temporal() => {
                Values::Numbers(cast(&cast(array, &millis)?, &DataType::Int64)?)
            }
            Rep::Byte | Rep::Short | Rep::Integer | Rep::Long => {
                Values::Numbers(cast(array, &DataType::Int64)?)
            }
            Rep::Double => Values::Doubles(cast(array, &DataType::Float64)?),
            Rep::Boolean => Values::Booleans(cast(array, &DataType::Boolean)?),
            Rep::ByteString => Values::Binary(cast(array, &DataType::Binary)?),
            Rep::Array => {
                let list = array.as_list_opt::<i32>().cloned();
                let (Some(list), Some(element)) = (list, &of.element) else {
                    return Err(ArrowError::CastError(format!("{} is no array", array.data_type())));
                };
                let elements = Column::new(element, list.values())?;
                Values::Lists(std::sync::Arc::new(list), Box::new(elements))
            }
            _ => Values::Texts(array.clone()),
        };
        Ok(Self { of: of.clone(), values })
    }

    /// The value of a row.
    pub(crate) fn value(&self, row: usize) -> ColumnValue {
        let value = self.typed(row);
        match (&self.values, value.null) {
            (Values::Lists(..), false) => ColumnValue {
                array_value: value.array_value,
                has_array_value: true,
                ..ColumnValue::default()
            },
            _ => ColumnValue { scalar_value: Some(value), ..ColumnValue::default() },
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match &self.values {
            Values::Numbers(array)
            | Values::Doubles(array)
            | Values::Booleans(array)
            | Values::Binary(array)
            | Values::Texts(array)
            | Values::Lists(array, _) => array.is_null(row),
            Values::Nulls => true,
        }
    }

    fn typed(&self, row: usize) -> TypedValue {
        if self.is_null(row) {
            return TypedValue { r#type: Rep::Null.into(), null: true, ..TypedValue::default() };
        }
        let mut value = TypedValue { r#type: self.of.of_value.into(), ..TypedValue::default() };
        match &self.values {
            Values::Numbers(array) => {
                let number = array.as_primitive::<Int64Type>().value(row);
                value.number_value = match self.of.number {
                    // Days, and milliseconds of the day.
                    91 | 19 => number.div_euclid(DAY_MS),
                    92 | 18 => number.rem_euclid(DAY_MS),
                    _ => number,
                };
            }
            Values::Doubles(array) => value.double_value = array.as_primitive::<Float64Type>().value(row),
            Values::Booleans(array) => value.bool_value = array.as_boolean().value(row),
            Values::Binary(array) => {
                value.bytes_value = Bytes::copy_from_slice(array.as_binary::<i32>().value(row));
            }
            Values::Texts(array) => ColumnText::new(array).write(row, &mut value.string_value),
            Values::Lists(array, elements) => {
                let offsets = array.as_list::<i32>().value_offsets();
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                value.array_value = range.map(|at| elements.typed(at)).collect();
                value.component_type = elements.of.of_value.into();
            }
            Values::Nulls => {}
        }
        value
    }
}
