// SPDX-License-Identifier: Apache-2.0
//! UPSERT, UPDATE and DELETE.

use datafusion::sql::sqlparser::ast::{Expr, SelectItem};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::cursor::Cursor;
use super::statement::{
    Delete, Name, OnDuplicate, Statement, Target, Update, Upsert, UpsertColumn, UpsertSource,
};
use super::types::parse_type;
use super::{offset, parse_expr, parse_query, rows};

/// What follows UPSERT (or INSERT).
pub(super) fn parse_upsert(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect("INTO")?;
    let table = Name::parse(parser)?;
    let columns = if at_column_list(parser) { Some(parse_columns(parser)?) } else { None };
    let source = if parser.accept("VALUES") {
        UpsertSource::Values(parse_rows(parser)?)
    } else {
        UpsertSource::Query(parse_query(parser)?)
    };
    let on_duplicate = match &source {
        UpsertSource::Values(_) if parser.accept_all(&["ON", "DUPLICATE", "KEY"]) => {
            Some(parse_on_duplicate(parser)?)
        }
        _ => None,
    };
    let returning = parse_returning(parser)?;
    Ok(Statement::Upsert(Upsert { table, columns, source, on_duplicate, returning }))
}

/// `RETURNING * | expr [AS alias], ..`; nothing if it is not written.
pub(super) fn parse_returning(parser: &mut Parser) -> Result<Vec<SelectItem>, ParserError> {
    if !parser.accept("RETURNING") {
        return Ok(vec![]);
    }
    let mut items = parser.parse_comma_separated(Parser::parse_select_item)?;
    rows::expand(&mut items)?;
    Ok(items)
}

fn parse_on_duplicate(parser: &mut Parser) -> Result<OnDuplicate, ParserError> {
    if parser.accept("IGNORE") {
        return Ok(OnDuplicate::Ignore);
    }
    if parser.accept("UPDATE_ONLY") {
        return Ok(OnDuplicate::UpdateOnly(parse_assignments(parser)?));
    }
    if !parser.accept("UPDATE") {
        return parser.expected("IGNORE, UPDATE or UPDATE_ONLY", parser.peek_token());
    }
    Ok(OnDuplicate::Update(parse_assignments(parser)?))
}

/// `column = expr, ..`
pub(super) fn parse_assignments(parser: &mut Parser) -> Result<Vec<(Name, Expr)>, ParserError> {
    let mut assignments = vec![];
    loop {
        let name = Name::parse(parser)?;
        parser.expect_symbol("=")?;
        assignments.push((name, parse_expr(parser)?));
        if !parser.accept_symbol(",") {
            return Ok(assignments);
        }
    }
}

/// What follows UPDATE.
pub(super) fn parse_update(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept("STATISTICS") {
        return parse_statistics(parser);
    }
    let table = Target::parse(parser, &["SET"])?;
    parser.expect("SET")?;
    let assignments = parse_assignments(parser)?;
    let filter = if parser.accept("WHERE") { Some(parse_expr(parser)?) } else { None };
    let returning = parse_returning(parser)?;
    Ok(Statement::Update(Box::new(Update { table, assignments, filter, returning })))
}

/// What follows UPDATE STATISTICS.
fn parse_statistics(parser: &mut Parser) -> Result<Statement, ParserError> {
    let table = Name::parse(parser)?;
    let _ = parser.accept("ALL") || parser.accept("COLUMNS") || parser.accept("INDEX");
    if parser.accept("SET") {
        parse_assignments(parser)?;
    }
    Ok(Statement::UpdateStatistics { table })
}

/// `(` opens the column list unless a query follows it.
fn at_column_list(parser: &Parser) -> bool {
    use datafusion::sql::sqlparser::tokenizer::Token;
    let [open, first] = parser.peek_tokens_ref::<2>();
    open.token == Token::LParen
        && !matches!(&first.token, Token::LParen)
        && !matches!(&first.token, Token::Word(word) if word.quote_style.is_none()
            && matches!(word.value.as_str(), "SELECT" | "WITH" | "VALUES"))
}

pub(super) fn parse_columns(parser: &mut Parser) -> Result<Vec<UpsertColumn>, ParserError> {
    parser.expect_symbol("(")?;
    let mut columns = vec![parse_column(parser)?];
    while parser.accept_symbol(",") {
        columns.push(parse_column(parser)?);
    }
    parser.expect_symbol(")")?;
    Ok(columns)
}

/// A name, and the type of a dynamic column.
fn parse_column(parser: &mut Parser) -> Result<UpsertColumn, ParserError> {
    let name = Name::parse(parser)?;
    let is_last = parser.at_symbol(",") || parser.at_symbol(")");
    let dynamic = if is_last { None } else { Some(parse_type(parser)?) };
    Ok(UpsertColumn { name, dynamic })
}

fn parse_rows(parser: &mut Parser) -> Result<Vec<Vec<Expr>>, ParserError> {
    let mut rows = vec![parse_row(parser)?];
    while parser.accept_symbol(",") {
        rows.push(parse_row(parser)?);
    }
    Ok(rows)
}

pub(super) fn parse_row(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    parser.expect_symbol("(")?;
    let mut row = vec![parse_value(parser)?];
    while parser.accept_symbol(",") {
        row.push(parse_value(parser)?);
    }
    parser.expect_symbol(")")?;
    Ok(row)
}

/// What is no value of VALUES, DEFAULT among it.
pub(crate) const NO_VALUE: &str = "a value (a column that is not listed gets its default)";

fn parse_value(parser: &mut Parser) -> Result<Expr, ParserError> {
    if parser.at("DEFAULT") || parser.at_symbol(")") || parser.at_symbol(",") {
        return parser.expected(NO_VALUE, parser.peek_token());
    }
    parse_expr(parser)
}

/// What follows DELETE.
pub(super) fn parse_delete(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect("FROM")?;
    let table = Target::parse(parser, &["WHERE", "ORDER", "LIMIT", "RETURNING", "USING"])?;
    let filter = if parser.accept("WHERE") { Some(parse_expr(parser)?) } else { None };
    let mut order_by = vec![];
    if parser.accept_all(&["ORDER", "BY"]) {
        order_by = parser.parse_comma_separated(Parser::parse_order_by_expr)?;
    }
    let limit = if parser.accept("LIMIT") { Some(parse_expr(parser)?) } else { None };
    limit.as_ref().map_or(Ok(()), offset::check_number)?;
    let returning = parse_returning(parser)?;
    Ok(Statement::Delete(Box::new(Delete { table, filter, order_by, limit, returning })))
}
