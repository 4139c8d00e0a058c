// SPDX-License-Identifier: Apache-2.0
//! Prepared statements and the values of their parameters.

use chrono::{DateTime, Datelike, NaiveDateTime};
use datafusion::sql::sqlparser::ast::{Array, Expr, UnaryOperator, Value as Literal};

use crate::deep;
use crate::dialect::{self, CursorAction, Parsed, Statement, UpsertSource};
use crate::error::{SqlError, code};

/// A value for a parameter of a prepared statement.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// Any of the types of whole numbers.
    Integer(i64),
    /// DOUBLE or FLOAT.
    Double(f64),
    /// DECIMAL, written out: `-12.50`.
    Decimal(String),
    /// VARCHAR or CHAR. The empty text is NULL, as everywhere in this dialect.
    Text(String),
    /// VARBINARY or BINARY.
    Binary(Vec<u8>),
    /// DATE or TIME: milliseconds since 1970 in UTC.
    Date(i64),
    /// TIMESTAMP: nanoseconds since 1970 in UTC.
    Timestamp(i64),
    /// An array.
    Array(Vec<Value>),
}

macro_rules! values {
    ($($from:ty => $variant:ident;)*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

values! {
    bool => Boolean;
    i8 => Integer;
    i16 => Integer;
    i32 => Integer;
    i64 => Integer;
    u8 => Integer;
    u16 => Integer;
    u32 => Integer;
    f32 => Double;
    f64 => Double;
    &str => Text;
    String => Text;
    &[u8] => Binary;
    Vec<u8> => Binary;
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Value {
    /// As a parsed literal.
    fn literal(&self) -> Result<Expr, SqlError> {
        let plain = |literal: Literal| Ok(Expr::Value(literal.into()));
        match self {
            Self::Null => plain(Literal::Null),
            Self::Boolean(value) => plain(Literal::Boolean(*value)),
            Self::Integer(value) => Ok(signed(&value.unsigned_abs().to_string(), *value < 0)),
            Self::Double(value) => dialect::parse_condition(&format!("CAST('{value:e}' AS DOUBLE)")),
            Self::Decimal(text) => decimal(text),
            Self::Text(text) => plain(Literal::SingleQuotedString(text.clone())),
            Self::Binary(bytes) => {
                let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                plain(Literal::HexStringLiteral(digits.concat()))
            }
            Self::Date(millis) => instant(
                "DATE",
                DateTime::from_timestamp_millis(*millis).map(|date| date.naive_utc()),
                *millis,
            ),
            Self::Timestamp(nanos) => {
                instant("TIMESTAMP", Some(DateTime::from_timestamp_nanos(*nanos).naive_utc()), *nanos)
            }
            Self::Array(elements) => {
                let elem = elements.iter().map(Self::literal).collect::<Result<_, _>>()?;
                Ok(Expr::Array(Array { elem, named: true }))
            }
        }
    }
}

fn signed(digits: &str, negative: bool) -> Expr {
    let number = Expr::Value(Literal::Number(digits.to_owned(), false).into());
    match negative {
        true => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number) },
        false => number,
    }
}

fn decimal(text: &str) -> Result<Expr, SqlError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        let message = format!("the parameter {text:?} is no DECIMAL, which is written like -12.50");
        return Err(SqlError::coded(code::TYPE_MISMATCH, message));
    }
    Ok(signed(digits, text.starts_with('-')))
}

fn instant(sql_type: &str, moment: Option<NaiveDateTime>, number: i64) -> Result<Expr, SqlError> {
    match moment.filter(|moment| (1..=9999).contains(&moment.year())) {
        Some(moment) => {
            dialect::parse_condition(&format!("{sql_type} '{}'", moment.format("%Y-%m-%d %H:%M:%S%.9f")))
        }
        None => Err(SqlError::coded(
            code::ILLEGAL_DATA,
            format!("the parameter {number} is no {sql_type} of the years 1 to 9999"),
        )),
    }
}

/// A statement that was parsed and waits for the values of its parameters, `?` or `:1`. Made by
/// [`Session::prepare`](crate::Session::prepare); any session of any engine can execute it, any number of times.
#[derive(Debug, Clone)]
pub struct Prepared {
    parsed: Parsed,
}

impl Prepared {
    pub(crate) fn parse(sql: &str) -> Result<Self, SqlError> {
        Ok(Self { parsed: dialect::parse(sql)? })
    }

    /// How many values the statement takes.
    pub fn parameters(&self) -> usize {
        self.parsed.parameters
    }

    /// True if it answers rows and changes nothing.
    pub fn is_query(&self) -> bool {
        match &self.parsed.statement {
            Statement::Query(_)
            | Statement::Explain { .. }
            | Statement::ShowTables { .. }
            | Statement::ShowSchemas { .. }
            | Statement::Describe { .. }
            | Statement::ShowCreate { .. } => true,
            Statement::Cursor(cursor) => matches!(cursor.action, CursorAction::Fetch(_)),
            _ => false,
        }
    }

    /// True if it writes the rows of its VALUES over whatever there is, so that it does not matter what was written just before.
    pub fn overwrites(&self) -> bool {
        let Statement::Upsert(upsert) = &self.parsed.statement else { return false };
        matches!(upsert.source, UpsertSource::Values(_))
            && upsert.on_duplicate.is_none()
            && upsert.returning.is_empty()
    }

    /// What was parsed, parameters included.
    pub(crate) fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    /// See [`deep`].
    pub(crate) fn is_long(&self) -> bool {
        deep::is_long(&self.parsed.text)
    }

    /// The statement with these values.
    pub(crate) fn bind(&self, values: &[Value]) -> Result<Parsed, SqlError> {
        if values.len() > self.parsed.parameters {
            let message = format!(
                "the statement has {} parameters, but {} values were given",
                self.parsed.parameters,
                values.len()
            );
            return Err(SqlError::coded(code::PARAMETER_INDEX, message));
        }
        let mut parsed = self.parsed.clone();
        let literals = values.iter().map(Value::literal).collect::<Result<Vec<_>, _>>()?;
        dialect::bind(&mut parsed.statement, &literals)?;
        parsed.parameters = 0;
        Ok(parsed)
    }
}
