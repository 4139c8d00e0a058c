// SPDX-License-Identifier: Apache-2.0
//! One Arrow array in the making: the type is decided once per stretch of rows, then a tight loop reads the
//! bytes of each row's value and appends.

mod texts;
mod vectors;
mod views;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanArray, BooleanBufferBuilder, Decimal64Array, Decimal128Array,
    Decimal256Array, ListArray, NullBufferBuilder, PrimitiveArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DECIMAL64_MAX_PRECISION, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMillisecondType, TimestampNanosecondType, i256,
};
use arrow::error::ArrowError;
use basalt_model::rowkey::KeyError;
use basalt_model::types::array::ArrayReader;
use basalt_model::types::decimal::{self, DecimalError};
use basalt_model::types::number;
use basalt_model::types::value::invert;
use basalt_model::{ElementType, SortOrder, SqlType, TypeError};

use self::texts::Texts;
use super::{DECIMAL_DEFAULT, list_field, widened};

/// Where the bytes of one column lie, row by row.
pub(super) trait ValueSource {
    /// Rows of this stretch.
    fn rows(&self) -> usize;
    /// Bytes of the value in row `row` of the stretch; `None` or none for NULL.
    fn value(&mut self, row: usize) -> Result<Option<&[u8]>, KeyError>;
}

/// Why a value of a stretch could not be read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The row key is damaged.
    Key(KeyError),
    /// The value is damaged.
    Value(TypeError),
    /// There is no value, and there must be one.
    Null,
}

/// An array under construction for one column.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    sql_type: SqlType,
    nullable: bool,
    desc: bool,
    nulls: NullBufferBuilder,
    values: Values,
    /// For DESC values of variable width, inverted.
    scratch: Vec<u8>,
}

#[derive(Debug)]
enum Values {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Millis(Vec<i64>),
    Nanos(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Decimal {
        values: Vec<i128>,
        precision: u8,
        scale: i8,
    },
    /// Of as many digits as 64 bits hold.
    ShortDecimal {
        values: Vec<i64>,
        precision: u8,
        scale: i8,
    },
    /// Without declared precision.
    WideDecimal(Vec<i256>),
    Bool(BooleanBufferBuilder),
    Text(Texts),
    Bytes(BinaryBuilder),
    List {
        element: ElementType,
        /// Where each row's elements end, from 0.
        offsets: Vec<i32>,
        elements: Box<ColumnBuilder>,
    },
}

impl ColumnBuilder {
    pub(super) fn new(sql_type: SqlType, order: SortOrder, nullable: bool) -> Self {
        use SqlType::*;
        let values = match sql_type {
            TinyInt | UnsignedTinyInt => Values::I8(Vec::new()),
            SmallInt | UnsignedSmallInt => Values::I16(Vec::new()),
            Integer | UnsignedInt => Values::I32(Vec::new()),
            BigInt | UnsignedLong => Values::I64(Vec::new()),
            Float | UnsignedFloat => Values::F32(Vec::new()),
            Double | UnsignedDouble => Values::F64(Vec::new()),
            Decimal(Some((precision, scale))) => Values::Decimal { values: Vec::new(), precision, scale },
            Decimal(None) => Values::WideDecimal(Vec::new()),
            Boolean => Values::Bool(BooleanBufferBuilder::new(0)),
            Date | Time | UnsignedDate | UnsignedTime => Values::Millis(Vec::new()),
            Timestamp | UnsignedTimestamp => Values::Nanos(Vec::new()),
            Char(_) | Varchar(_) | Json => Values::Text(Texts::default()),
            Binary(_) | Varbinary(_) => Values::Bytes(BinaryBuilder::new()),
            Array(element) => {
                let elements = Box::new(Self::new(element.into(), SortOrder::Asc, true));
                Values::List { element, offsets: vec![0], elements }
            }
        };
        Self::of_values(sql_type, order, nullable, values)
    }

    /// As [`Self::new`], with 64 bits for a DECIMAL that fits them, and dictionaries of texts kept.
    pub(super) fn in_short_form(sql_type: SqlType, order: SortOrder, nullable: bool) -> Self {
        let values = match sql_type {
            SqlType::Decimal(Some((precision, scale))) if precision <= DECIMAL64_MAX_PRECISION => {
                Values::ShortDecimal { values: Vec::new(), precision, scale }
            }
            SqlType::Char(_) | SqlType::Varchar(_) | SqlType::Json => Values::Text(Texts::keeping_codes()),
            _ => return Self::new(sql_type, order, nullable),
        };
        Self::of_values(sql_type, order, nullable, values)
    }

    fn of_values(sql_type: SqlType, order: SortOrder, nullable: bool, values: Values) -> Self {
        let desc = order == SortOrder::Desc;
        Self { sql_type, nullable, desc, nulls: NullBufferBuilder::new(0), values, scratch: Vec::new() }
    }

    /// Appends all rows of a stretch; on error, returns the row at fault.
    pub(super) fn extend(&mut self, source: &mut impl ValueSource) -> Extended {
        let sql_type = self.sql_type;
        let signed = !sql_type.is_unsigned();
        // All bits of a DESC value are inverted; the sign bit of a signed one is flipped on top of that.
        let mask = if self.desc { u64::MAX } else { 0 };
        let target = Target {
            sql_type,
            nullable: self.nullable,
            desc: self.desc,
            nulls: &mut self.nulls,
            scratch: &mut self.scratch,
        };
        match &mut self.values {
            Values::I8(values) => target.fixed(source, values, |[byte]: [u8; 1]| {
                let bits = byte ^ mask as u8;
                if signed { Ok((bits ^ 0x80) as i8) } else { unsigned(sql_type, bits as i8, bits & 0x80) }
            }),
            Values::I16(values) => target.fixed(source, values, |bytes: [u8; 2]| {
                let bits = u16::from_be_bytes(bytes) ^ mask as u16;
                let top = (bits >> 8) as u8 & 0x80;
                if signed { Ok((bits ^ 0x8000) as i16) } else { unsigned(sql_type, bits as i16, top) }
            }),
            Values::I32(values) => target.fixed(source, values, |bytes: [u8; 4]| {
                let bits = u32::from_be_bytes(bytes) ^ mask as u32;
                let top = (bits >> 24) as u8 & 0x80;
                if signed { Ok((bits ^ 1 << 31) as i32) } else { unsigned(sql_type, bits as i32, top) }
            }),
            Values::I64(values) | Values::Millis(values) => target.fixed(source, values, |bytes: [u8; 8]| {
                integer_64(sql_type, signed, u64::from_be_bytes(bytes) ^ mask)
            }),
            Values::Nanos(values) => target.fixed(source, values, |bytes: [u8; 12]| {
                let (millis, nanos) = bytes.split_at(8);
                let millis = u64::from_be_bytes(millis.try_into().expect("8 of 12 bytes")) ^ mask;
                let nanos = u32::from_be_bytes(nanos.try_into().expect("4 of 12 bytes")) ^ mask as u32;
                nanoseconds(sql_type, integer_64(sql_type, signed, millis)?, nanos)
            }),
            Values::F32(values) => target.fixed(source, values, |bytes: [u8; 4]| {
                let bits = u32::from_be_bytes(bytes) ^ mask as u32;
                Ok(if signed { number::decode_f32(bits.to_be_bytes()) } else { f32::from_bits(bits) })
            }),
            Values::F64(values) => target.fixed(source, values, |bytes: [u8; 8]| {
                let bits = u64::from_be_bytes(bytes) ^ mask;
                Ok(if signed { number::decode_f64(bits.to_be_bytes()) } else { f64::from_bits(bits) })
            }),
            Values::Decimal { values, precision, scale } => {
                let limit = decimal::power_of_ten((*precision).into()).unwrap_or(i128::MAX);
                target.decimals(source, values, limit, i32::from(*scale))
            }
            Values::ShortDecimal { values, precision, scale } => {
                let limit = decimal::power_of_ten((*precision).into()).unwrap_or(i128::MAX);
                target.decimals(source, values, limit, i32::from(*scale))
            }
            Values::WideDecimal(values) => target.wide_decimals(source, values),
            Values::Bool(values) => target.booleans(source, values),
            Values::Text(values) => target.texts(source, values),
            Values::Bytes(values) => target.bytes(source, values),
            Values::List { element, offsets, elements } => target.lists(source, *element, offsets, elements),
        }
    }

    /// The array of all rows appended; the builder is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.finish();
        fn primitive<T: ArrowPrimitiveType>(
            values: &mut Vec<T::Native>,
            nulls: Option<arrow::buffer::NullBuffer>,
        ) -> Result<ArrayRef, ArrowError> {
            let values = taken(values);
            Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?))
        }
        Ok(match &mut self.values {
            Values::I8(values) => primitive::<Int8Type>(values, nulls)?,
            Values::I16(values) => primitive::<Int16Type>(values, nulls)?,
            Values::I32(values) => primitive::<Int32Type>(values, nulls)?,
            Values::I64(values) => primitive::<Int64Type>(values, nulls)?,
            Values::Millis(values) => primitive::<TimestampMillisecondType>(values, nulls)?,
            Values::Nanos(values) => primitive::<TimestampNanosecondType>(values, nulls)?,
            Values::F32(values) => primitive::<Float32Type>(values, nulls)?,
            Values::F64(values) => primitive::<Float64Type>(values, nulls)?,
            Values::Decimal { values, precision, scale } => {
                let values = taken(values);
                let array = Decimal128Array::try_new(values.into(), nulls)?;
                Arc::new(array.with_precision_and_scale(*precision, *scale)?)
            }
            Values::ShortDecimal { values, precision, scale } => {
                let values = taken(values);
                let array = Decimal64Array::try_new(values.into(), nulls)?;
                Arc::new(array.with_precision_and_scale(*precision, *scale)?)
            }
            Values::WideDecimal(values) => {
                let array = Decimal256Array::try_new(taken(values).into(), nulls)?;
                Arc::new(array.with_precision_and_scale(DECIMAL_DEFAULT.0, DECIMAL_DEFAULT.1)?)
            }
            Values::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Text(values) => values.finish(nulls)?,
            Values::Bytes(values) => {
                let (offsets, bytes, _) = values.finish().into_parts();
                Arc::new(arrow::array::BinaryArray::try_new(offsets, bytes, nulls)?)
            }
            Values::List { element, offsets, elements } => {
                let offsets = OffsetBuffer::new(std::mem::replace(offsets, vec![0]).into());
                let field = Arc::new(list_field(*element));
                Arc::new(ListArray::try_new(field, offsets, elements.finish()?, nulls)?)
            }
        })
    }
}

/// The values, with room for about as many left behind: the next batch is seldom larger by more than a vector.
fn taken<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.len() + values.len() / 8);
    std::mem::replace(values, room)
}

/// What the loops over a stretch share.
struct Target<'a> {
    sql_type: SqlType,
    nullable: bool,
    desc: bool,
    nulls: &'a mut NullBufferBuilder,
    scratch: &'a mut Vec<u8>,
}

type Extended = Result<(), (usize, ReadError)>;

impl Target<'_> {
    /// Values of one width, each decoded on its own.
    #[inline]
    fn fixed<T: Default, const N: usize>(
        self,
        source: &mut impl ValueSource,
        values: &mut Vec<T>,
        decode: impl Fn([u8; N]) -> Result<T, TypeError>,
    ) -> Extended {
        let sql_type = self.sql_type;
        values.reserve(source.rows());
        self.any(source, |bytes| {
            let value = match bytes {
                None => T::default(),
                Some(bytes) => match <[u8; N]>::try_from(bytes) {
                    Ok(bytes) => decode(bytes)?,
                    Err(_) => return Err(width(sql_type, N, bytes.len())),
                },
            };
            values.push(value);
            Ok(())
        })
    }

    /// `limit` must fit what the digits are kept in.
    fn decimals<T: Default + TryFrom<i128>>(
        self,
        source: &mut impl ValueSource,
        values: &mut Vec<T>,
        limit: i128,
        scale: i32,
    ) -> Extended {
        let sql_type = self.sql_type;
        self.any_asc(source, |bytes| {
            let Some(bytes) = bytes else {
                values.push(T::default());
                return Ok(());
            };
            let number = decimal::decode_to_scale(bytes, scale).map_err(|error| damaged(sql_type, error))?;
            let fits = number.unsigned_abs() < limit.unsigned_abs();
            let number = T::try_from(number).ok().filter(|_| fits);
            values.push(number.ok_or_else(|| damaged(sql_type, DecimalError::OutOfRange))?);
            Ok(())
        })
    }

    fn wide_decimals(self, source: &mut impl ValueSource, values: &mut Vec<i256>) -> Extended {
        let sql_type = self.sql_type;
        self.any_asc(source, |bytes| {
            let number = bytes.map_or(Ok(decimal::Decimal::new(0, 0)), decimal::decode);
            let number = number.map_err(|error| damaged(sql_type, error))?;
            let digits = widened(number).ok_or_else(|| damaged(sql_type, DecimalError::OutOfRange))?;
            values.push(digits);
            Ok(())
        })
    }

    fn booleans(self, source: &mut impl ValueSource, values: &mut BooleanBufferBuilder) -> Extended {
        let sql_type = self.sql_type;
        self.any_asc(source, |bytes| {
            values.append(match bytes {
                None | Some([0]) => false,
                Some([1]) => true,
                Some(&[_]) => {
                    return Err(TypeError::Bytes { sql_type, what: "the byte is neither 00 nor 01" });
                }
                Some(bytes) => return Err(width(sql_type, 1, bytes.len())),
            });
            Ok(())
        })
    }

    fn texts(self, source: &mut impl ValueSource, values: &mut Texts) -> Extended {
        let sql_type = self.sql_type;
        let char_width = sql_type.fixed_width();
        let views = values.views();
        views.reserve(source.rows());
        self.any_asc(source, |bytes| {
            let Some(bytes) = bytes else {
                views.push("");
                return Ok(());
            };
            let damaged = |what| TypeError::Bytes { sql_type, what };
            if let Some(expected) = char_width
                && bytes.len() != expected
            {
                return Err(width(sql_type, expected, bytes.len()));
            }
            let text = std::str::from_utf8(bytes).map_err(|_| damaged("the text is not UTF-8"))?;
            let text = if char_width.is_some() { text.trim_end_matches(' ') } else { text };
            views.push(text);
            Ok(())
        })
    }

    fn bytes(self, source: &mut impl ValueSource, values: &mut BinaryBuilder) -> Extended {
        let sql_type = self.sql_type;
        let fixed_width = sql_type.fixed_width();
        self.any_asc(source, |bytes| {
            if let (Some(expected), Some(bytes)) = (fixed_width, bytes)
                && bytes.len() != expected
            {
                return Err(width(sql_type, expected, bytes.len()));
            }
            values.append_value(bytes.unwrap_or_default());
            Ok(())
        })
    }

    /// Arrays are never DESC.
    fn lists(
        self,
        source: &mut impl ValueSource,
        element: ElementType,
        offsets: &mut Vec<i32>,
        elements: &mut ColumnBuilder,
    ) -> Extended {
        let sql_type = self.sql_type;
        self.any(source, |bytes| {
            let mut end = *offsets.last().expect("begins with 0");
            if let Some(bytes) = bytes {
                let mut stored = Elements { reader: ArrayReader::try_new(element, bytes)?, damage: None };
                let added = elements.extend(&mut stored).map_err(|(_, error)| error);
                match (stored.damage, added) {
                    (Some(damage), _) | (None, Err(ReadError::Value(damage))) => return Err(damage),
                    (None, Err(_)) => {
                        return Err(TypeError::Bytes { sql_type, what: "an element is damaged" });
                    }
                    (None, Ok(())) => {}
                }
                let too_many = TypeError::Bytes { sql_type, what: "the arrays of a batch are too long" };
                let count = i32::try_from(stored.reader.len()).ok();
                end = count.and_then(|count| end.checked_add(count)).ok_or(too_many)?;
            }
            offsets.push(end);
            Ok(())
        })
    }

    /// As [`Target::any`], with the values of a DESC column in their ASC form.
    #[inline]
    fn any_asc(
        self,
        source: &mut impl ValueSource,
        mut append: impl FnMut(Option<&[u8]>) -> Result<(), TypeError>,
    ) -> Extended {
        if !self.desc {
            return self.any(source, append);
        }
        let Self { sql_type, nullable, desc, nulls, scratch } = self;
        let target = Target { sql_type, nullable, desc, nulls, scratch: &mut Vec::new() };
        target.any(source, |bytes| {
            let Some(bytes) = bytes else { return append(None) };
            scratch.clear();
            scratch.extend_from_slice(bytes);
            invert(sql_type, scratch);
            append(Some(scratch))
        })
    }

    /// Hands every value, or `None` for NULL, to `append`.
    #[inline]
    fn any(
        self,
        source: &mut impl ValueSource,
        mut append: impl FnMut(Option<&[u8]>) -> Result<(), TypeError>,
    ) -> Extended {
        for row in 0..source.rows() {
            let bytes = source.value(row).map_err(|error| (row, ReadError::Key(error)))?;
            let bytes = bytes.filter(|bytes| !bytes.is_empty());
            if bytes.is_none() {
                if !self.nullable {
                    return Err((row, ReadError::Null));
                }
                self.nulls.append_null();
            } else {
                self.nulls.append_non_null();
            }
            append(bytes).map_err(|error| (row, ReadError::Value(error)))?;
        }
        Ok(())
    }
}

/// The elements of one array, as rows of the column that they are appended to.
struct Elements<'a> {
    reader: ArrayReader<'a>,
    damage: Option<TypeError>,
}

impl ValueSource for Elements<'_> {
    fn rows(&self) -> usize {
        self.reader.len()
    }

    fn value(&mut self, row: usize) -> Result<Option<&[u8]>, KeyError> {
        self.reader.get(row).map_err(|damage| {
            self.damage = Some(damage);
            KeyError::Bytes { what: "an array is damaged" }
        })
    }
}

#[inline]
fn unsigned<T>(sql_type: SqlType, value: T, sign: u8) -> Result<T, TypeError> {
    if sign == 0 { Ok(value) } else { Err(TypeError::Bytes { sql_type, what: "the sign bit is set" }) }
}

#[inline]
fn integer_64(sql_type: SqlType, signed: bool, bits: u64) -> Result<i64, TypeError> {
    match signed {
        true => Ok((bits ^ 1 << 63) as i64),
        false => unsigned(sql_type, bits as i64, (bits >> 56) as u8 & 0x80),
    }
}

#[inline]
fn nanoseconds(sql_type: SqlType, millis: i64, stored_nanos: u32) -> Result<i64, TypeError> {
    let parts = number::timestamp_parts(millis, stored_nanos);
    let (millis, nanos) =
        parts.ok_or(TypeError::Bytes { sql_type, what: "the nanoseconds are out of range" })?;
    // Checked in 128 bits: the earliest nanoseconds lie in a millisecond that begins before them.
    i64::try_from(millis as i128 * number::NANOS_PER_MILLI as i128 + nanos as i128)
        .map_err(|_| TypeError::Bytes { sql_type, what: "the time is before 1677 or after 2262" })
}

#[cold]
fn width(sql_type: SqlType, expected: usize, found: usize) -> TypeError {
    TypeError::Width { sql_type, expected, found }
}

#[cold]
fn damaged(sql_type: SqlType, error: DecimalError) -> TypeError {
    let what = match error {
        DecimalError::Bytes(what) => what,
        DecimalError::OutOfRange => {
            "the number has more digits than declared, or more than 38 before the point"
        }
    };
    TypeError::Bytes { sql_type, what }
}
