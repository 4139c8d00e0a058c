// SPDX-License-Identifier: Apache-2.0
//! One value of an Arrow column as text: the one place that decides how a date or a float looks.
//!
//! | value | as text (tables, csv, tsv, markdown) | json, jsonl |
//! |---|---|---|
//! | NULL | left to the format: nothing in csv, where `""` is the empty text | `null` |
//! | BOOLEAN | `true`, `false` | the same |
//! | integers | digits | number |
//! | DECIMAL | exact, with the zeros of its scale; DECIMAL without a scale without trailing zeros | number, exact |
//! | FLOAT, DOUBLE | shortest text that reads back as the same number; `NaN`, `Infinity` | number; text if not finite |
//! | DATE, TIME | `2026-01-31 00:00:00.000`, as Phoenix's shell prints both | text |
//! | TIMESTAMP | the same with 3, 6 or 9 digits of a second | text |
//! | BINARY, VARBINARY | hex | text, hex |
//! | arrays | `[a, b, NULL]`, each element as it is by itself | array |
//!
//! The type of a column is looked at once per batch ([`ColumnText::new`]); values then go straight into the
//! caller's buffer. Types that tables cannot hold (structs, intervals, …) but expressions can return are printed by
//! Arrow's own formatter.

use std::fmt::Write;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array,
    FixedSizeBinaryArray, LargeStringArray, ListArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow::datatypes::{
    DataType, Date32Type, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// What a value is to JSON, which has fewer kinds than SQL, and to a table, which aligns numbers right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integers and decimals.
    Number,
    /// Numbers that may be infinite or none at all.
    Float,
    /// True and false.
    Boolean,
    /// All that is written as text.
    Text,
    /// Lists and structs.
    Other,
}

/// The kind of all values of a column.
pub fn kind_of(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Kind::Float,
        other if other.is_numeric() => Kind::Number,
        DataType::Boolean => Kind::Boolean,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Struct(_) => {
            Kind::Other
        }
        DataType::Dictionary(_, values) => match kind_of(values) {
            Kind::Other => Kind::Other,
            _ => Kind::Text,
        },
        _ => Kind::Text,
    }
}

/// The name of the type as the user declared it, else the SQL type that an expression of this kind has.
pub fn type_name(field: &Field) -> String {
    if let Some(declared) = field.metadata().get("basalt.type") {
        return declared.clone();
    }
    match field.data_type() {
        DataType::Null => "NULL".into(),
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int8 => "TINYINT".into(),
        DataType::Int16 => "SMALLINT".into(),
        DataType::Int32 => "INTEGER".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => "UNSIGNED_LONG".into(),
        DataType::Float16 | DataType::Float32 => "FLOAT".into(),
        DataType::Float64 => "DOUBLE".into(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision},{scale})"),
        DataType::Decimal256(..) => "DECIMAL".into(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".into(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "VARBINARY".into(),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => "DATE".into(),
        DataType::Timestamp(..) => "TIMESTAMP".into(),
        other => other.to_string().to_uppercase(),
    }
}

/// A column of one batch, ready to print.
pub struct ColumnText<'a> {
    values: Values<'a>,
}

impl<'a> ColumnText<'a> {
    /// Looks at the type of the column once.
    pub fn new(array: &'a ArrayRef) -> Self {
        Self { values: Values::new(array) }
    }

    /// True if the value is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        let array = self.values.array();
        // An array of type NULL keeps no list of what is null.
        array.is_null(row) || *array.data_type() == DataType::Null
    }

    /// Appends the text of a value that is not NULL.
    pub fn write(&self, row: usize, out: &mut String) {
        debug_assert!(!self.is_null(row), "NULL has no text of its own");
        self.values.write(row, out);
    }
}

/// The values by their type.
enum Values<'a> {
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    UInt8(&'a PrimitiveArray<UInt8Type>),
    UInt16(&'a PrimitiveArray<UInt16Type>),
    UInt32(&'a PrimitiveArray<UInt32Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Boolean(&'a BooleanArray),
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Binary(&'a BinaryArray),
    BinaryView(&'a BinaryViewArray),
    FixedBinary(&'a FixedSizeBinaryArray),
    Decimal {
        values: &'a Decimal128Array,
        scale: i8,
        trim: bool,
    },
    /// Without declared precision and scale: zeros behind the last digit are not the user's.
    WideDecimal(&'a Decimal256Array),
    Date(&'a PrimitiveArray<Date32Type>),
    Seconds(&'a PrimitiveArray<TimestampSecondType>),
    Millis(&'a PrimitiveArray<TimestampMillisecondType>),
    Micros(&'a PrimitiveArray<TimestampMicrosecondType>),
    Nanos(&'a PrimitiveArray<TimestampNanosecondType>),
    List {
        array: &'a ListArray,
        elements: Box<ColumnText<'a>>,
    },
    Other {
        array: &'a dyn Array,
        formatter: ArrayFormatter<'a>,
    },
    /// A type that Arrow cannot print; its name is shown instead of values.
    Unprintable(&'a dyn Array),
}

impl<'a> Values<'a> {
    fn new(array: &'a ArrayRef) -> Self {
        match array.data_type() {
            DataType::Int8 => Self::Int8(array.as_primitive()),
            DataType::Int16 => Self::Int16(array.as_primitive()),
            DataType::Int32 => Self::Int32(array.as_primitive()),
            DataType::Int64 => Self::Int64(array.as_primitive()),
            DataType::UInt8 => Self::UInt8(array.as_primitive()),
            DataType::UInt16 => Self::UInt16(array.as_primitive()),
            DataType::UInt32 => Self::UInt32(array.as_primitive()),
            DataType::UInt64 => Self::UInt64(array.as_primitive()),
            DataType::Float32 => Self::Float32(array.as_primitive()),
            DataType::Float64 => Self::Float64(array.as_primitive()),
            DataType::Boolean => Self::Boolean(array.as_boolean()),
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string()),
            DataType::Utf8View => Self::TextView(array.as_string_view()),
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Self::FixedBinary(array.as_fixed_size_binary()),
            DataType::Decimal128(precision, scale) => Self::Decimal {
                values: array.as_primitive(),
                scale: *scale,
                // What is computed has as many digits as there is room for; their zeros are not the user's.
                trim: *precision == 38 && *scale >= 10,
            },
            DataType::Decimal256(..) => Self::WideDecimal(array.as_primitive()),
            DataType::Date32 => Self::Date(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Second, None) => Self::Seconds(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Millisecond, None) => Self::Millis(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Microsecond, None) => Self::Micros(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Nanosecond, None) => Self::Nanos(array.as_primitive()),
            DataType::List(_) => {
                let lists = array.as_list();
                Self::List { array: lists, elements: Box::new(ColumnText::new(lists.values())) }
            }
            _ => match ArrayFormatter::try_new(array, &OTHER) {
                Ok(formatter) => Self::Other { array, formatter },
                Err(_) => Self::Unprintable(array),
            },
        }
    }

    fn array(&self) -> &dyn Array {
        match self {
            Self::Int8(array) => array,
            Self::Int16(array) => array,
            Self::Int32(array) => array,
            Self::Int64(array) => array,
            Self::UInt8(array) => array,
            Self::UInt16(array) => array,
            Self::UInt32(array) => array,
            Self::UInt64(array) => array,
            Self::Float32(array) => array,
            Self::Float64(array) => array,
            Self::Boolean(array) => array,
            Self::Text(array) => array,
            Self::LargeText(array) => array,
            Self::TextView(array) => array,
            Self::Binary(array) => array,
            Self::BinaryView(array) => array,
            Self::FixedBinary(array) => array,
            Self::Decimal { values, .. } => values,
            Self::WideDecimal(array) => array,
            Self::Date(array) => array,
            Self::Seconds(array) => array,
            Self::Millis(array) => array,
            Self::Micros(array) => array,
            Self::Nanos(array) => array,
            Self::List { array, .. } => array,
            Self::Other { array, .. } | Self::Unprintable(array) => *array,
        }
    }

    fn write(&self, row: usize, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Self::Int8(array) => write!(out, "{}", array.value(row)),
            Self::Int16(array) => write!(out, "{}", array.value(row)),
            Self::Int32(array) => write!(out, "{}", array.value(row)),
            Self::Int64(array) => write!(out, "{}", array.value(row)),
            Self::UInt8(array) => write!(out, "{}", array.value(row)),
            Self::UInt16(array) => write!(out, "{}", array.value(row)),
            Self::UInt32(array) => write!(out, "{}", array.value(row)),
            Self::UInt64(array) => write!(out, "{}", array.value(row)),
            Self::Float32(array) => write_float(array.value(row), array.value(row).into(), out),
            Self::Float64(array) => write_float(array.value(row), array.value(row), out),
            Self::Boolean(array) => write!(out, "{}", array.value(row)),
            Self::Text(array) => out.write_str(array.value(row)),
            Self::LargeText(array) => out.write_str(array.value(row)),
            Self::TextView(array) => out.write_str(array.value(row)),
            Self::Binary(array) => write_hex(array.value(row), out),
            Self::BinaryView(array) => write_hex(array.value(row), out),
            Self::FixedBinary(array) => write_hex(array.value(row), out),
            Self::Decimal { values, scale, trim } => write_decimal(values.value(row), *scale, *trim, out),
            Self::WideDecimal(array) => {
                write_wide_decimal(&array.value(row).to_string(), array.scale(), out);
                Ok(())
            }
            Self::Date(array) => write_date(i64::from(array.value(row)), out),
            Self::Seconds(array) => write_timestamp(array.value(row), 1, out),
            Self::Millis(array) => write_timestamp(array.value(row), 1_000, out),
            Self::Micros(array) => write_timestamp(array.value(row), 1_000_000, out),
            Self::Nanos(array) => write_timestamp(array.value(row), 1_000_000_000, out),
            Self::List { array, elements } => {
                let offsets = array.value_offsets();
                write_list(elements, offsets[row] as usize..offsets[row + 1] as usize, out);
                Ok(())
            }
            Self::Other { formatter, .. } => write!(out, "{}", formatter.value(row)),
            Self::Unprintable(array) => write!(out, "<{}>", array.data_type()),
        };
    }
}

const OTHER: FormatOptions<'static> = FormatOptions::new().with_null("NULL").with_display_error(true);

fn write_float(value: impl std::fmt::Debug, wide: f64, out: &mut String) -> std::fmt::Result {
    if wide.is_infinite() {
        out.write_str(if wide > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        // Debug is the shortest text that reads back as the same number, with `e` for very large and small ones.
        write!(out, "{value:?}")
    }
}

fn write_hex(bytes: &[u8], out: &mut String) -> std::fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

fn write_decimal(value: i128, scale: i8, trim: bool, out: &mut String) -> std::fmt::Result {
    let Ok(scale) = u32::try_from(scale) else {
        return write!(out, "{value}{}", "0".repeat(scale.unsigned_abs().into()));
    };
    if value < 0 {
        out.push('-');
    }
    let one = 10u128.pow(scale);
    let (whole, fraction) = (value.unsigned_abs() / one, value.unsigned_abs() % one);
    match u64::try_from(whole) {
        Ok(small) => write!(out, "{small}")?,
        Err(_) => write!(out, "{whole}")?,
    }
    if scale == 0 || trim && fraction == 0 {
        return Ok(());
    }
    write!(out, ".{fraction:0width$}", width = scale as usize)?;
    if trim {
        out.truncate(out.trim_end_matches('0').len());
    }
    Ok(())
}

/// Digits with a point before the last `scale` of them, without zeros at the end. Arrow prints no more digits than the type has, which the value of
/// a function may exceed.
fn write_wide_decimal(digits: &str, scale: i8, out: &mut String) {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let behind = usize::try_from(scale).unwrap_or(0);
    let padded = format!("{digits:0>width$}", width = behind + 1);
    let (whole, fraction) = padded.split_at(padded.len() - behind);
    let fraction = fraction.trim_end_matches('0');
    let zeros = "0".repeat(usize::try_from(-i32::from(scale)).unwrap_or(0));
    out.extend([sign, whole, &zeros, if fraction.is_empty() { "" } else { "." }, fraction]);
}

fn write_list(elements: &ColumnText<'_>, rows: std::ops::Range<usize>, out: &mut String) {
    out.push('[');
    for (at, row) in rows.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        match elements.is_null(row) {
            true => out.push_str("NULL"),
            false => elements.write(row, out),
        }
    }
    out.push(']');
}

fn write_timestamp(value: i64, per_second: i64, out: &mut String) -> std::fmt::Result {
    let seconds = value.div_euclid(per_second);
    let nanos = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
    write_date(seconds.div_euclid(86_400), out)?;
    let of_day = seconds.rem_euclid(86_400);
    write!(out, " {:02}:{:02}:{:02}.", of_day / 3600, of_day / 60 % 60, of_day % 60)?;
    if nanos % 1_000_000 == 0 {
        write!(out, "{:03}", nanos / 1_000_000)
    } else if nanos % 1_000 == 0 {
        write!(out, "{:06}", nanos / 1_000)
    } else {
        write!(out, "{nanos:09}")
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years have at least four digits.
fn write_date(days: i64, out: &mut String) -> std::fmt::Result {
    // Count from 0000-03-01 so that the leap day is the last of its year; an era is 400 years, 146,097 days.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if year < 0 {
        write!(out, "-{:04}-{month:02}-{day:02}", -year)
    } else {
        write!(out, "{year:04}-{month:02}-{day:02}")
    }
}
