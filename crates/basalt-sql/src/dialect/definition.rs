// SPDX-License-Identifier: Apache-2.0
//! CREATE and DROP of tables and sequences.

use basalt_model::{SortOrder, SqlType};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::statement::{ColumnDef, CreateSequence, CreateTable, Name, OptionDef, Statement};

/// What follows CREATE.
pub(super) fn parse_create(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept("SEQUENCE") {
        return parse_create_sequence(parser);
    }
    let immutable = parser.accept("IMMUTABLE");
    if parser.accept("TABLE") {
        return parse_create_table(parser, immutable);
    }
    parser.expected("TABLE or SEQUENCE", parser.peek_token())
}

/// What follows DROP.
pub(super) fn parse_drop(parser: &mut Parser) -> Result<Statement, ParserError> {
    let sequence = parser.accept("SEQUENCE");
    if !sequence && !parser.accept("TABLE") {
        return parser.expected("TABLE or SEQUENCE", parser.peek_token());
    }
    let if_exists = parser.accept_all(&["IF", "EXISTS"]);
    let name = Name::parse(parser)?;
    Ok(if sequence {
        Statement::DropSequence { name, if_exists }
    } else {
        parser.accept("CASCADE");
        Statement::DropTable { name, if_exists }
    })
}

fn parse_create_table(parser: &mut Parser, immutable: bool) -> Result<Statement, ParserError> {
    let if_not_exists = parser.accept_all(&["IF", "NOT", "EXISTS"]);
    let name = Name::parse(parser)?;
    let (columns, primary_key) = parse_columns(parser)?;
    parser.accept("NOVERIFY");
    let options = parse_options(parser)?;
    let split = parse_split(parser)?;
    Ok(Statement::CreateTable(Box::new(CreateTable {
        name,
        if_not_exists,
        immutable,
        columns,
        primary_key,
        options,
        split,
    })))
}

type KeyDef = Vec<(String, SortOrder)>;

fn parse_columns(parser: &mut Parser) -> Result<(Vec<ColumnDef>, Option<KeyDef>), ParserError> {
    let mut columns = vec![];
    let mut primary_key = None;
    parser.expect_symbol("(")?;
    loop {
        if parser.at("CONSTRAINT") || parser.at("PRIMARY") {
            primary_key = Some(parse_constraint(parser)?);
            parser.expect_symbol(")")?;
            break;
        }
        columns.push(parse_column(parser)?);
        // Phoenix lets the constraint follow with or without a comma.
        if parser.accept_symbol(",") || parser.at("CONSTRAINT") {
            continue;
        }
        if !parser.accept_symbol(")") {
            return parser.expected("`,` or `)` after the column", parser.peek_token());
        }
        break;
    }
    Ok((columns, primary_key))
}

fn parse_constraint(parser: &mut Parser) -> Result<KeyDef, ParserError> {
    if parser.accept("CONSTRAINT") && !parser.at("PRIMARY") {
        parser.name_part()?;
    }
    parser.expect("PRIMARY")?;
    parser.expect("KEY")?;
    parser.expect_symbol("(")?;
    let mut key = vec![];
    loop {
        let name = parser.name_part()?;
        key.push((name, parse_sort_order(parser)));
        if parser.at("ROW_TIMESTAMP") {
            return parser.expected("`,` or `)`; ROW_TIMESTAMP is not supported yet", parser.peek_token());
        }
        if !parser.accept_symbol(",") {
            break;
        }
    }
    parser.expect_symbol(")")?;
    Ok(key)
}

fn parse_sort_order(parser: &mut Parser) -> SortOrder {
    if parser.accept("DESC") {
        return SortOrder::Desc;
    }
    parser.accept("ASC");
    SortOrder::Asc
}

fn parse_column(parser: &mut Parser) -> Result<ColumnDef, ParserError> {
    let name = Name::parse(parser)?;
    let sql_type = parse_type(parser)?;
    let mut column = ColumnDef { name, sql_type, nullable: None, primary_key: None, default: None };
    loop {
        if parser.accept_all(&["NOT", "NULL"]) {
            column.nullable = Some(false);
        } else if parser.accept("NULL") {
            column.nullable = Some(true);
        } else if parser.accept("DEFAULT") {
            column.default = Some(parser.parse_expr()?.to_string());
        } else if parser.accept_all(&["PRIMARY", "KEY"]) {
            column.primary_key = Some(parse_sort_order(parser));
        } else {
            return Ok(column);
        }
    }
}

/// A type by Phoenix's name, or by the SQL standard's where Phoenix has no name of its own for it.
fn parse_type(parser: &mut Parser) -> Result<SqlType, ParserError> {
    use SqlType::*;
    let start = parser.peek_token();
    let word = parser.name_part()?;
    let sql_type = match word.as_str() {
        "TINYINT" => TinyInt,
        "SMALLINT" => SmallInt,
        "INTEGER" | "INT" => Integer,
        "BIGINT" | "LONG" => BigInt,
        "UNSIGNED_TINYINT" => UnsignedTinyInt,
        "UNSIGNED_SMALLINT" => UnsignedSmallInt,
        "UNSIGNED_INT" => UnsignedInt,
        "UNSIGNED_LONG" => UnsignedLong,
        "FLOAT" | "REAL" => Float,
        "DOUBLE" => {
            parser.accept("PRECISION");
            Double
        }
        "UNSIGNED_FLOAT" => UnsignedFloat,
        "UNSIGNED_DOUBLE" => UnsignedDouble,
        "DECIMAL" | "NUMERIC" | "DEC" => Decimal(parse_precision(parser)?),
        "BOOLEAN" | "BOOL" => Boolean,
        "DATE" => Date,
        "TIME" => Time,
        "TIMESTAMP" => Timestamp,
        "UNSIGNED_DATE" => UnsignedDate,
        "UNSIGNED_TIME" => UnsignedTime,
        "UNSIGNED_TIMESTAMP" => UnsignedTimestamp,
        "CHAR" | "CHARACTER" => Char(parse_length(parser)?.unwrap_or(0)),
        "VARCHAR" | "TEXT" => Varchar(parse_length(parser)?),
        "BINARY" => Binary(parse_length(parser)?.unwrap_or(0)),
        "VARBINARY" => Varbinary(parse_length(parser)?),
        _ => return parser.expected("a type", start),
    };
    if parser.at("ARRAY") || parser.peek_token_ref().token == Token::LBracket {
        return parser.expected("no array; array columns are not supported yet", parser.peek_token());
    }
    Ok(sql_type)
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
        _ => parser.expected("a length of at least 1", start),
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
        _ => parser.expected("a precision of 1 to 38 and a scale of 0 to 38", start),
    }
}

fn parse_options(parser: &mut Parser) -> Result<Vec<OptionDef>, ParserError> {
    let mut options = vec![];
    while matches!(&parser.peek_token_ref().token, Token::Word(_)) && !parser.at("SPLIT") {
        let name = Name::parse(parser)?;
        parser.expect_symbol("=")?;
        let value = parse_option_value(parser)?;
        options.push(OptionDef { family: name.schema, name: name.name.to_uppercase(), value });
        parser.accept_symbol(",");
    }
    Ok(options)
}

fn parse_option_value(parser: &mut Parser) -> Result<String, ParserError> {
    if parser.at_symbol("-") || parser.at_symbol("+") {
        return Ok(parser.signed_integer()?.to_string());
    }
    let next = parser.next_token();
    match next.token {
        Token::Word(word) => Ok(word.value),
        Token::Number(text, _) | Token::SingleQuotedString(text) => Ok(text),
        _ => parser.expected("a value", next),
    }
}

fn parse_split(parser: &mut Parser) -> Result<bool, ParserError> {
    if !parser.accept_all(&["SPLIT", "ON"]) {
        return Ok(false);
    }
    parser.expect_symbol("(")?;
    parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_symbol(")")?;
    Ok(true)
}

fn parse_create_sequence(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_not_exists = parser.accept_all(&["IF", "NOT", "EXISTS"]);
    let name = Name::parse(parser)?;
    let mut sequence = CreateSequence {
        name,
        if_not_exists,
        start: None,
        increment: None,
        min: None,
        max: None,
        cycle: false,
        cache: None,
    };
    loop {
        if parser.accept("START") {
            parser.accept("WITH");
            sequence.start = Some(parser.signed_integer()?);
        } else if parser.accept("INCREMENT") {
            parser.accept("BY");
            sequence.increment = Some(parser.signed_integer()?);
        } else if parser.accept("MINVALUE") {
            sequence.min = Some(parser.signed_integer()?);
        } else if parser.accept("MAXVALUE") {
            sequence.max = Some(parser.signed_integer()?);
        } else if parser.accept("CYCLE") {
            sequence.cycle = true;
        } else if parser.accept("CACHE") {
            sequence.cache = Some(parser.signed_integer()?);
        } else {
            return Ok(Statement::CreateSequence(sequence));
        }
    }
}
