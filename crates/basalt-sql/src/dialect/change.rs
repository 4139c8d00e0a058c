// SPDX-License-Identifier: Apache-2.0
//! UPSERT and DELETE.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::cursor::Cursor;
use super::statement::{Delete, Name, Statement, Upsert, UpsertSource};
use super::{parse_expr, parse_query};

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
    if parser.at("ON") || parser.at("RETURNING") {
        return parser.expected(
            "end of statement; ON DUPLICATE KEY and RETURNING are not supported yet",
            parser.peek_token(),
        );
    }
    Ok(Statement::Upsert(Upsert { table, columns, source }))
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

fn parse_columns(parser: &mut Parser) -> Result<Vec<Name>, ParserError> {
    parser.expect_symbol("(")?;
    let mut columns = vec![Name::parse(parser)?];
    while parser.accept_symbol(",") {
        columns.push(Name::parse(parser)?);
    }
    parser.expect_symbol(")")?;
    Ok(columns)
}

fn parse_rows(parser: &mut Parser) -> Result<Vec<Vec<Expr>>, ParserError> {
    let mut rows = vec![parse_row(parser)?];
    while parser.accept_symbol(",") {
        rows.push(parse_row(parser)?);
    }
    Ok(rows)
}

fn parse_row(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    parser.expect_symbol("(")?;
    let mut row = vec![parse_expr(parser)?];
    while parser.accept_symbol(",") {
        row.push(parse_expr(parser)?);
    }
    parser.expect_symbol(")")?;
    Ok(row)
}

/// What follows DELETE.
pub(super) fn parse_delete(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect("FROM")?;
    let table = Name::parse(parser)?;
    let filter = if parser.accept("WHERE") { Some(parse_expr(parser)?) } else { None };
    let mut order_by = vec![];
    if parser.accept_all(&["ORDER", "BY"]) {
        order_by = parser.parse_comma_separated(Parser::parse_order_by_expr)?;
    }
    let limit = if parser.accept("LIMIT") { Some(parse_expr(parser)?) } else { None };
    Ok(Statement::Delete(Box::new(Delete { table, filter, order_by, limit })))
}
