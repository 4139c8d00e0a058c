// SPDX-License-Identifier: Apache-2.0
//! Expressions that name a type, where the planner's own reading of them is another: `DATE '2024-1-2'` is read as Phoenix reads it,
//! `CAST(x AS UNSIGNED_INT)` refuses negative values, `CAST(x AS INTEGER ARRAY)` makes an array, `1e3` is a DOUBLE.

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName,
    TypedString, Value,
};

use crate::dialect;
use crate::error::{PhoenixCode, Position, SqlError, code};
use crate::functions::{NOT_NEGATIVE, iso};

/// Rewrites the expression itself; those within it come later.
pub(super) fn rewrite(expr: &mut Expr) -> Result<(), SqlError> {
    match expr {
        Expr::Value(value) => {
            if let Value::Number(text, _) = &value.value
                && text.contains(['e', 'E'])
            {
                *expr = double(text)?;
            }
            Ok(())
        }
        Expr::TypedString(literal) => {
            canonical(literal, code::PARSER_ERROR)?;
            if let Some(call) = far_away(literal) {
                *expr = call?;
            }
            Ok(())
        }
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon, data_type, array, expr: value, ..
        } => {
            if std::mem::take(array) {
                let element = Box::new(data_type.clone());
                *data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(element, None));
            }
            if let Some(mut literal) = literal_of(data_type, value) {
                canonical(&mut literal, code::TYPE_MISMATCH)?;
                *expr = Expr::TypedString(literal);
                return Ok(());
            }
            let Some((name, sibling)) = unsigned(data_type) else { return Ok(()) };
            *data_type = sibling;
            let mut call = dialect::parse_condition(&format!("\"{NOT_NEGATIVE}\"(0, '{name}')"))?;
            if let Expr::Function(function) = &mut call
                && let FunctionArguments::List(list) = &mut function.args
                && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(value))) = list.args.first_mut()
            {
                std::mem::swap(value, expr);
            }
            *expr = call;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A number in scientific notation, which the planner would take for a DECIMAL, of fewer than no digits behind the point.
fn double(text: &str) -> Result<Expr, SqlError> {
    if !text.parse().is_ok_and(f64::is_finite) {
        return Err(SqlError::coded(
            code::DATA_EXCEEDS_CAPACITY,
            format!("{text} is beyond the largest DOUBLE"),
        ));
    }
    dialect::parse_condition(&format!("CAST('{text}' AS DOUBLE)"))
}

/// `CAST('2024-1-2' AS DATE)` is the literal `DATE '2024-1-2'`.
fn literal_of(data_type: &DataType, value: &Expr) -> Option<TypedString> {
    let is_moment =
        matches!(data_type, DataType::Date | DataType::Time(None, _) | DataType::Timestamp(None, _));
    match value {
        Expr::Value(value) if is_moment && matches!(value.value, Value::SingleQuotedString(_)) => {
            Some(TypedString { data_type: data_type.clone(), value: value.clone(), uses_odbc_syntax: false })
        }
        _ => None,
    }
}

/// A date of a year that the planner's literals do not have, as a call.
fn far_away(literal: &TypedString) -> Option<Result<Expr, SqlError>> {
    let Value::SingleQuotedString(text) = &literal.value.value else { return None };
    let far = text.strip_prefix('+').filter(|_| !matches!(literal.data_type, DataType::Timestamp(..)))?;
    Some(dialect::parse_condition(&format!("TO_DATE('{far}', 'yyyy-MM-dd HH:mm:ss.SSS')")))
}

/// The name of an unsigned type, and the type of the same width that is not.
fn unsigned(data_type: &DataType) -> Option<(String, DataType)> {
    let DataType::Custom(ObjectName(_), arguments) = data_type else { return None };
    let name = data_type.to_string();
    let sibling = match name.as_str() {
        "UNSIGNED_TINYINT" => "TINYINT",
        "UNSIGNED_SMALLINT" => "SMALLINT",
        "UNSIGNED_INT" => "INTEGER",
        "UNSIGNED_LONG" => "BIGINT",
        "UNSIGNED_FLOAT" => "FLOAT",
        "UNSIGNED_DOUBLE" => "DOUBLE",
        "UNSIGNED_DATE" => "DATE",
        "UNSIGNED_TIME" => "TIME",
        "UNSIGNED_TIMESTAMP" => "TIMESTAMP",
        _ => return None,
    };
    let Ok(Expr::Cast { data_type, .. }) = dialect::parse_condition(&format!("CAST(0 AS {sibling})")) else {
        return None;
    };
    arguments.is_empty().then_some((name, data_type))
}

/// The literal of a date, a time or a timestamp in the form that the planner reads.
fn canonical(literal: &mut TypedString, refusal: PhoenixCode) -> Result<(), SqlError> {
    let digits = match &literal.data_type {
        DataType::Date | DataType::Time(None, _) => 3,
        DataType::Timestamp(None, _) => 9,
        _ => return Ok(()),
    };
    let Value::SingleQuotedString(text) = &mut literal.value.value else { return Ok(()) };
    let instant = iso(text).and_then(|nanos| {
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
        let nanos = u32::try_from(nanos.rem_euclid(1_000_000_000)).ok()?;
        chrono::DateTime::from_timestamp(seconds, nanos)
    });
    let Some(instant) = instant else {
        let message = format!(
            "'{text}' is no {}: it is written as yyyy-MM-dd HH:mm:ss, and the time may be left away",
            literal.data_type
        );
        let start = literal.value.span.start;
        let position = Position { line: start.line as usize, column: start.column as usize };
        return Err(SqlError::coded(refusal, message).at((start.line > 0).then_some(position)));
    };
    let fraction = if digits == 3 { instant.format("%.3f") } else { instant.format("%.9f") };
    *text = format!("{}{fraction}", instant.format("%Y-%m-%d %H:%M:%S"));
    Ok(())
}
