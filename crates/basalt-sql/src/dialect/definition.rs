// SPDX-License-Identifier: Apache-2.0
//! CREATE and DROP.

use basalt_model::SortOrder;
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, Precedence};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::index;
use super::statement::{ColumnDef, CreateSequence, CreateTable, Name, OptionDef, Statement};
use super::types::parse_type;
use super::view::parse_create_view;
use super::{PhoenixDialect, parse_query, rows};

/// What follows CREATE.
pub(super) fn parse_create(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept("SEQUENCE") {
        return parse_create_sequence(parser);
    }
    if parser.accept("VIEW") {
        return parse_create_view(parser);
    }
    if parser.accept("SCHEMA") {
        let if_not_exists = parser.accept_all(&["IF", "NOT", "EXISTS"]);
        return Ok(Statement::CreateSchema { name: parser.name_part()?, if_not_exists });
    }
    if let Some(statement) = index::parse_create(parser)? {
        return Ok(statement);
    }
    let immutable = parser.accept("IMMUTABLE");
    if parser.accept("TABLE") {
        return parse_create_table(parser, immutable);
    }
    parser.expected("TABLE, VIEW, INDEX, SEQUENCE or SCHEMA", parser.peek_token())
}

/// What follows DROP.
pub(super) fn parse_drop(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept("INDEX") {
        return index::parse_drop(parser);
    }
    let kinds = ["TABLE", "VIEW", "SEQUENCE", "SCHEMA"];
    let Some(kind) = kinds.into_iter().find(|kind| parser.accept(kind)) else {
        return parser.expected("TABLE, VIEW, INDEX, SEQUENCE or SCHEMA", parser.peek_token());
    };
    let if_exists = parser.accept_all(&["IF", "EXISTS"]);
    if kind == "SCHEMA" {
        let name = parser.name_part()?;
        return Ok(Statement::DropSchema { name, if_exists, cascade: parser.accept("CASCADE") });
    }
    let name = Name::parse(parser)?;
    Ok(match kind {
        "SEQUENCE" => Statement::DropSequence { name, if_exists },
        "VIEW" => Statement::DropView { name, if_exists, cascade: parser.accept("CASCADE") },
        _ => Statement::DropTable { name, if_exists, cascade: parser.accept("CASCADE") },
    })
}

fn parse_create_table(parser: &mut Parser, immutable: bool) -> Result<Statement, ParserError> {
    let if_not_exists = parser.accept_all(&["IF", "NOT", "EXISTS"]);
    let name = Name::parse(parser)?;
    let (columns, primary_key) = if parser.at("AS") { (vec![], None) } else { parse_columns(parser)? };
    let no_verify = parser.accept("NOVERIFY");
    let options = parse_options(parser)?;
    let splits = parse_splits(parser)?;
    let query = if parser.accept("AS") { Some(parse_query(parser)?) } else { None };
    Ok(Statement::CreateTable(Box::new(CreateTable {
        name,
        if_not_exists,
        immutable,
        no_verify,
        columns,
        primary_key,
        options,
        splits,
        query,
    })))
}

pub(super) type KeyDef = Vec<(String, SortOrder)>;

pub(super) fn parse_columns(parser: &mut Parser) -> Result<(Vec<ColumnDef>, Option<KeyDef>), ParserError> {
    let mut columns = vec![];
    let mut primary_key = None;
    parser.expect_symbol("(")?;
    loop {
        if parser.at("CONSTRAINT") || parser.at("PRIMARY") {
            primary_key = Some(parse_constraint(parser, &mut columns)?);
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

/// What is no name in PRIMARY KEY (..).
pub(crate) const NO_KEY_COLUMN: &str = "a column of the key";

fn parse_constraint(parser: &mut Parser, columns: &mut [ColumnDef]) -> Result<KeyDef, ParserError> {
    if parser.accept("CONSTRAINT") && !parser.at("PRIMARY") {
        parser.name_part()?;
    }
    parser.expect("PRIMARY")?;
    parser.expect("KEY")?;
    parser.expect_symbol("(")?;
    let mut key = vec![];
    loop {
        if parser.at_symbol(")") {
            return parser.expected(NO_KEY_COLUMN, parser.peek_token());
        }
        let name = parser.name_part()?;
        let order = parse_sort_order(parser);
        if parser.at("ROW_TIMESTAMP") {
            let Some(column) = columns.iter_mut().find(|column| column.name.name == name) else {
                return parser.expected("a ROW_TIMESTAMP that is declared as a column", parser.peek_token());
            };
            parser.accept("ROW_TIMESTAMP");
            column.row_timestamp = true;
        }
        key.push((name, order));
        if !parser.accept_symbol(",") {
            break;
        }
    }
    parser.expect_symbol(")")?;
    Ok(key)
}

pub(super) fn parse_sort_order(parser: &mut Parser) -> SortOrder {
    if parser.accept("DESC") {
        return SortOrder::Desc;
    }
    parser.accept("ASC");
    SortOrder::Asc
}

pub(super) fn parse_column(parser: &mut Parser) -> Result<ColumnDef, ParserError> {
    let name = Name::parse(parser)?;
    let sql_type = parse_type(parser)?;
    let mut column =
        ColumnDef { name, sql_type, nullable: None, primary_key: None, row_timestamp: false, default: None };
    loop {
        if parser.accept_all(&["NOT", "NULL"]) {
            column.nullable = Some(false);
        } else if parser.accept("NULL") {
            column.nullable = Some(true);
        } else if parser.accept("DEFAULT") {
            column.default = Some(parse_default(parser)?);
        } else if parser.accept_all(&["PRIMARY", "KEY"]) {
            column.primary_key = Some(parse_sort_order(parser));
            column.row_timestamp = parser.accept("ROW_TIMESTAMP");
        } else {
            return Ok(column);
        }
    }
}

/// A constant, without the `NOT NULL` that may follow it: sqlparser knows that as a question, too.
fn parse_default(parser: &mut Parser) -> Result<Expr, ParserError> {
    let binding = PhoenixDialect.prec_value(Precedence::Is);
    let mut expr = parser.parse_subexpr(binding)?;
    rows::expand(&mut expr)?;
    Ok(expr)
}

pub(super) fn parse_options(parser: &mut Parser) -> Result<Vec<OptionDef>, ParserError> {
    let mut options = vec![];
    while matches!(&parser.peek_token_ref().token, Token::Word(_))
        && !parser.at_any(&["SPLIT", "AS", "CASCADE"])
    {
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

/// `SPLIT ON (value, ..)`; none if it is not written.
pub(super) fn parse_splits(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    if !parser.accept_all(&["SPLIT", "ON"]) {
        return Ok(vec![]);
    }
    parser.expect_symbol("(")?;
    let splits = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_symbol(")")?;
    Ok(splits)
}

/// What START WITH takes, and the others.
pub(crate) const BAD_START: &str = "a whole number of at most 64 bits behind START WITH";
pub(crate) const BAD_INCREMENT: &str = "a whole number of at most 64 bits behind INCREMENT BY";
pub(crate) const BAD_MIN: &str = "a whole number of at most 64 bits behind MINVALUE";
pub(crate) const BAD_MAX: &str = "a whole number of at most 64 bits behind MAXVALUE";

/// A whole number, or an error that expects `what`.
fn parse_number(parser: &mut Parser, what: &str) -> Result<i64, ParserError> {
    let start = parser.peek_token();
    parser.signed_integer().or_else(|_| parser.expected(what, start))
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
            sequence.start = Some(parse_number(parser, BAD_START)?);
        } else if parser.accept("INCREMENT") {
            parser.accept("BY");
            sequence.increment = Some(parse_number(parser, BAD_INCREMENT)?);
        } else if parser.accept("MINVALUE") {
            sequence.min = Some(parse_number(parser, BAD_MIN)?);
        } else if parser.accept("MAXVALUE") {
            sequence.max = Some(parse_number(parser, BAD_MAX)?);
        } else if parser.accept("CYCLE") {
            sequence.cycle = true;
        } else if parser.accept("CACHE") {
            sequence.cache = Some(parser.signed_integer()?);
        } else {
            return Ok(Statement::CreateSequence(sequence));
        }
    }
}
