// SPDX-License-Identifier: Apache-2.0
//! Columns and types of a file.
//!
//! Parquet and Arrow say what they hold. Text is guessed from its first [`SAMPLE_ROWS`] rows, by the narrowest of BOOLEAN, BIGINT, DOUBLE,
//! DATE and VARCHAR that takes every value; a later row that does not fit is a bad row. Columns of a text without names are C1, C2 and
//! so on; `.tbl` files never have names.

use std::path::Path;

use arrow::datatypes::{DataType, Schema, TimeUnit};
use basalt_hfile::typed::DECIMAL_DEFAULT;
use basalt_model::SqlType;

use super::records::Records;
use super::text::{dialect, sample};
use super::value::{Value, parse};
use super::{columnar, input, jsonl, shown, unfit};
use crate::error::Result;
use crate::format::{Format, Header, Options};

/// Rows of a text that its types are guessed from.
const SAMPLE_ROWS: usize = 10_000;
/// What a text may be, from narrow to wide.
const GUESSES: [SqlType; 5] =
    [SqlType::Boolean, SqlType::BigInt, SqlType::Double, SqlType::Date, SqlType::Varchar(None)];

/// A column found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inferred {
    /// As in the file.
    pub name: String,
    /// The type that takes its values.
    pub sql_type: SqlType,
}

/// True if a load finds the columns of the file by name, so that their order in the table is free.
pub fn has_names(path: &Path, options: &Options) -> Result<bool> {
    Ok(match options.format_of(path)? {
        Format::Parquet | Format::Arrow | Format::Jsonl => true,
        Format::Tbl => false,
        format => {
            let mut records = Records::new(input(path)?, dialect(format, options.delimiter));
            sample(&mut records, 1)?.first().is_some_and(|first| is_header(first, options.header))
        }
    })
}

/// The columns of the file at `path`.
pub fn infer(path: &Path, options: &Options) -> Result<Vec<Inferred>> {
    if path == Path::new("-") {
        let message =
            "the columns of a file are found by reading it twice, which the standard input does not allow";
        return unfit(message.into());
    }
    let columns = match options.format_of(path)? {
        Format::Parquet => of_schema(columnar::parquet_schema(path)?.as_ref())?,
        Format::Arrow => of_schema(columnar::arrow_schema(path)?.as_ref())?,
        Format::Jsonl => of_json(path)?,
        format => of_text(path, format, options)?,
    };
    if columns.is_empty() {
        return unfit(format!("{} has no columns", shown(path)));
    }
    Ok(columns)
}

/// The columns of an Arrow schema.
pub fn of_schema(schema: &Schema) -> Result<Vec<Inferred>> {
    let mut columns = Vec::new();
    for field in schema.fields() {
        let Some(sql_type) = of_arrow(field.data_type()) else {
            let (name, found) = (field.name(), field.data_type());
            return unfit(format!("column {name} is {found}, which no column of a table can hold"));
        };
        columns.push(Inferred { name: field.name().clone(), sql_type });
    }
    Ok(columns)
}

fn of_arrow(data_type: &DataType) -> Option<SqlType> {
    Some(match data_type {
        DataType::Boolean => SqlType::Boolean,
        DataType::Int8 => SqlType::TinyInt,
        DataType::Int16 | DataType::UInt8 => SqlType::SmallInt,
        DataType::Int32 | DataType::UInt16 => SqlType::Integer,
        DataType::Int64 | DataType::UInt32 => SqlType::BigInt,
        DataType::UInt64 => SqlType::Decimal(Some((20, 0))),
        DataType::Float16 | DataType::Float32 => SqlType::Float,
        DataType::Float64 => SqlType::Double,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale)
            if *precision <= 38 && *scale >= 0 =>
        {
            SqlType::Decimal(Some((*precision, *scale)))
        }
        DataType::Decimal256(_, scale) if (0..=DECIMAL_DEFAULT.1).contains(scale) => SqlType::Decimal(None),
        DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(TimeUnit::Millisecond | TimeUnit::Second, _) => SqlType::Date,
        DataType::Timestamp(..) => SqlType::Timestamp,
        // Nothing but NULLs, which a column of any type can have.
        DataType::Null => SqlType::Varchar(None),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => SqlType::Varchar(None),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => SqlType::Varbinary(None),
        DataType::FixedSizeBinary(length) => SqlType::Binary(u32::try_from(*length).ok()?),
        DataType::Dictionary(_, values) => of_arrow(values)?,
        DataType::List(element) => SqlType::Array(of_arrow(element.data_type())?.as_element()?),
        _ => return None,
    })
}

fn of_text(path: &Path, format: Format, options: &Options) -> Result<Vec<Inferred>> {
    let mut records = Records::new(input(path)?, dialect(format, options.delimiter));
    let mut rows = sample(&mut records, SAMPLE_ROWS)?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let width = first.len();
    let column = |rows: &[Vec<Option<String>>], i: usize| {
        guess(rows.iter().filter_map(|row| row.get(i)).filter_map(Option::as_deref))
    };
    let has_header = format != Format::Tbl && is_header(first, options.header);
    let names: Vec<String> = if has_header {
        let header = rows.remove(0);
        header.into_iter().map(|name| name.unwrap_or_default().trim().to_string()).collect()
    } else {
        (1..=width).map(|number| format!("C{number}")).collect()
    };
    Ok(names.into_iter().enumerate().map(|(i, name)| Inferred { name, sql_type: column(&rows, i) }).collect())
}

/// Names are texts that differ: a line of nothing else is taken for a header.
fn is_header(first: &[Option<String>], asked: Header) -> bool {
    match asked {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => {
            let names: Vec<_> = first.iter().flatten().filter(|name| !name.is_empty()).collect();
            let distinct = names.iter().enumerate().all(|(i, name)| !names[..i].contains(name));
            let all_texts =
                names.iter().all(|name| guess([name.as_str()].into_iter()) == SqlType::Varchar(None));
            names.len() == first.len() && distinct && all_texts
        }
    }
}

fn of_json(path: &Path) -> Result<Vec<Inferred>> {
    let mut names: Vec<String> = Vec::new();
    let mut values: Vec<Vec<(String, bool)>> = Vec::new();
    for row in jsonl::sample(input(path)?, SAMPLE_ROWS)? {
        for (key, value, is_text) in row {
            let i = names.iter().position(|name| *name == key).unwrap_or_else(|| {
                names.push(key);
                values.push(Vec::new());
                names.len() - 1
            });
            values[i].extend(value.map(|value| (value, is_text)));
        }
    }
    let columns = names.into_iter().zip(values).map(|(name, values)| {
        let guessed = guess(values.iter().map(|(value, _)| value.as_str()));
        // A text of digits is a text, because the file says so; only dates have no kind of their own in JSON.
        let any_text = values.iter().any(|(_, is_text)| *is_text);
        let sql_type = if any_text && guessed != SqlType::Date { SqlType::Varchar(None) } else { guessed };
        Inferred { name, sql_type }
    });
    Ok(columns.collect())
}

/// The narrowest type that takes every value.
fn guess<'a>(values: impl Iterator<Item = &'a str> + Clone) -> SqlType {
    if values.clone().next().is_none() {
        return SqlType::Varchar(None);
    }
    let takes = |sql_type: SqlType| {
        values.clone().all(|value| match sql_type {
            // 0, 1, y and n are read as BOOLEAN where one is declared, but do not make one.
            SqlType::Boolean => value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false"),
            // A number that begins with 0 is more often a code: a postcode, an article.
            SqlType::BigInt | SqlType::Double if has_leading_zero(value) => false,
            _ => matches!(parse(sql_type, value), Ok(found) if found != Value::Null),
        })
    };
    GUESSES.into_iter().find(|&sql_type| takes(sql_type)).unwrap_or(SqlType::Varchar(None))
}

fn has_leading_zero(value: &str) -> bool {
    let digits = value.trim().trim_start_matches('-').as_bytes();
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests;
