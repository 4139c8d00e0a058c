// SPDX-License-Identifier: Apache-2.0
//! Types of columns.

use basalt_model::SqlType;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::cursor::Cursor;

/// What a type name stands for.
enum Named {
    Plain(SqlType),
    Double,
    Decimal,
    Char,
    Varchar,
    Binary,
    Varbinary,
}

/// A type by Phoenix's name, or by the SQL standard's where Phoenix has no name of its own for it.
fn named(word: &str) -> Option<Named> {
    use SqlType::*;
    Some(match word {
        "TINYINT" => Named::Plain(TinyInt),
        "SMALLINT" => Named::Plain(SmallInt),
        "INTEGER" | "INT" => Named::Plain(Integer),
        "BIGINT" | "LONG" => Named::Plain(BigInt),
        "UNSIGNED_TINYINT" => Named::Plain(UnsignedTinyInt),
        "UNSIGNED_SMALLINT" => Named::Plain(UnsignedSmallInt),
        "UNSIGNED_INT" => Named::Plain(UnsignedInt),
        "UNSIGNED_LONG" => Named::Plain(UnsignedLong),
        "FLOAT" | "REAL" => Named::Plain(Float),
        "DOUBLE" => Named::Double,
        "UNSIGNED_FLOAT" => Named::Plain(UnsignedFloat),
        "UNSIGNED_DOUBLE" => Named::Plain(UnsignedDouble),
        "DECIMAL" | "NUMERIC" | "DEC" => Named::Decimal,
        "BOOLEAN" | "BOOL" => Named::Plain(Boolean),
        "DATE" => Named::Plain(Date),
        "TIME" => Named::Plain(Time),
        "TIMESTAMP" => Named::Plain(Timestamp),
        "UNSIGNED_DATE" => Named::Plain(UnsignedDate),
        "UNSIGNED_TIME" => Named::Plain(UnsignedTime),
        "UNSIGNED_TIMESTAMP" => Named::Plain(UnsignedTimestamp),
        "CHAR" | "CHARACTER" => Named::Char,
        "VARCHAR" | "TEXT" => Named::Varchar,
        "BINARY" => Named::Binary,
        "VARBINARY" => Named::Varbinary,
        "JSON" => Named::Plain(Json),
        _ => return None,
    })
}

/// Phoenix's names of types.
pub(crate) const TYPE_NAMES: [&str; 25] = [
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UNSIGNED_TINYINT",
    "UNSIGNED_SMALLINT",
    "UNSIGNED_INT",
    "UNSIGNED_LONG",
    "FLOAT",
    "DOUBLE",
    "UNSIGNED_FLOAT",
    "UNSIGNED_DOUBLE",
    "DECIMAL",
    "BOOLEAN",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "UNSIGNED_DATE",
    "UNSIGNED_TIME",
    "UNSIGNED_TIMESTAMP",
    "CHAR",
    "VARCHAR",
    "BINARY",
    "VARBINARY",
    "JSON",
];

/// True for the first word of a type.
pub(super) fn is_type_name(word: &str) -> bool {
    named(word).is_some()
}

/// What is no type, where one should be.
pub(crate) const NO_TYPE: &str = "a type";
/// CHAR and BINARY without a length.
pub(crate) const NO_LENGTH: &str = "a length in parentheses";
/// A length of zero or less.
pub(crate) const BAD_LENGTH: &str = "a length of at least 1";
/// What DECIMAL takes.
pub(crate) const BAD_PRECISION: &str = "a precision of 1 to 38 and a scale of 0 to 38";

/// A type with its arguments.
pub(super) fn parse_type(parser: &mut Parser) -> Result<SqlType, ParserError> {
    let start = parser.next_token();
    let named = if let Token::Word(word) = &start.token { named(&word.value) } else { None };
    let sql_type = match named {
        None if let Some(instead) = missing(&start.token) => {
            let place = start.span.start;
            return Err(ParserError::ParserError(format!("{instead}{place}")));
        }
        None => return parser.expected(NO_TYPE, start),
        Some(Named::Plain(sql_type)) => sql_type,
        Some(Named::Double) => {
            parser.accept("PRECISION");
            SqlType::Double
        }
        Some(Named::Decimal) => SqlType::Decimal(parse_precision(parser)?),
        Some(Named::Char) => SqlType::Char(required_length(parser)?),
        Some(Named::Varchar) => SqlType::Varchar(parse_length(parser)?),
        Some(Named::Binary) => SqlType::Binary(required_length(parser)?),
        Some(Named::Varbinary) => SqlType::Varbinary(parse_length(parser)?),
    };
    parse_array(parser, sql_type)
}

/// What to say of a type of Phoenix 5.3 that is not there.
fn missing(token: &Token) -> Option<&'static str> {
    match token {
        Token::Word(word) if word.value == "BSON" => {
            Some("there is no type BSON; JSON keeps a document as a text")
        }
        Token::Word(word) if word.value == "VARBINARY_ENCODED" => Some(
            "there is no type VARBINARY_ENCODED; VARBINARY is the same at the end of a key, and BINARY(n) before it",
        ),
        _ => None,
    }
}

/// What may follow a type: `ARRAY`, `ARRAY[n]`, `[]`, `[n]`. The length is not part of the type, as in Phoenix.
fn parse_array(parser: &mut Parser, sql_type: SqlType) -> Result<SqlType, ParserError> {
    let is_array = parser.accept("ARRAY");
    if parser.peek_token_ref().token == Token::LBracket {
        parser.advance_token();
        if matches!(parser.peek_token_ref().token, Token::Number(..)) {
            parser.signed_integer()?;
        }
        parser.expect_token(&Token::RBracket)?;
    } else if !is_array {
        return Ok(sql_type);
    }
    match sql_type.as_element() {
        Some(element) => Ok(SqlType::Array(element)),
        None => parser.expected("a type; arrays hold no arrays and no JSON", parser.peek_token()),
    }
}

fn required_length(parser: &mut Parser) -> Result<u32, ParserError> {
    match parse_length(parser)? {
        Some(length) => Ok(length),
        None => parser.expected(NO_LENGTH, parser.peek_token()),
    }
}

fn parse_length(parser: &mut Parser) -> Result<Option<u32>, ParserError> {
    if !parser.accept_symbol("(") {
        return Ok(None);
    }
    let start = parser.peek_token();
    let length = parser.signed_integer()?;
    parser.expect_symbol(")")?;
    match u32::try_from(length) {
        Ok(length) if length > 0 => Ok(Some(length)),
        _ => parser.expected(BAD_LENGTH, start),
    }
}

fn parse_precision(parser: &mut Parser) -> Result<Option<(u8, i8)>, ParserError> {
    if !parser.accept_symbol("(") {
        return Ok(None);
    }
    let start = parser.peek_token();
    let precision = parser.signed_integer()?;
    let scale = if parser.accept_symbol(",") { parser.signed_integer()? } else { 0 };
    parser.expect_symbol(")")?;
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision @ 1..=38), Ok(scale @ 0..=38)) => Ok(Some((precision, scale))),
        _ => parser.expected(BAD_PRECISION, start),
    }
}
