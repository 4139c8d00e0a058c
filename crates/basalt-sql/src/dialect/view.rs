// SPDX-License-Identifier: Apache-2.0
//! CREATE VIEW.

use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::definition::{parse_columns, parse_options};
use super::parse_expr;
use super::statement::{CreateView, Name, Statement};

/// What is no `*` in the query of a view.
pub(crate) const NO_WILDCARD: &str = "*, for a view has all columns";

/// What follows CREATE VIEW.
pub(super) fn parse_create_view(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_not_exists = parser.accept_all(&["IF", "NOT", "EXISTS"]);
    let name = Name::parse(parser)?;
    let (columns, primary_key) = if parser.at_symbol("(") { parse_columns(parser)? } else { (vec![], None) };
    let (mut base, mut condition) = (None, None);
    if parser.accept("AS") {
        parser.expect("SELECT")?;
        if parser.peek_token_ref().token != Token::Mul {
            return parser.expected(NO_WILDCARD, parser.peek_token());
        }
        parser.advance_token();
        parser.expect("FROM")?;
        base = Some(Name::parse(parser)?);
        if parser.accept("WHERE") {
            condition = Some(parse_expr(parser)?);
        }
    }
    let options = parse_options(parser)?;
    Ok(Statement::CreateView(Box::new(CreateView {
        name,
        if_not_exists,
        columns,
        primary_key,
        base,
        condition,
        options,
    })))
}
