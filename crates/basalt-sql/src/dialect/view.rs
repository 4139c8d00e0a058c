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

/// What is no option behind a view's rows.
pub(crate) const NOTHING_ELSE: &str =
    "the end of the view, for it has rows of one table that a WHERE chooses";
/// Words that go on with a query and begin no option.
const BEHIND_ROWS: [&str; 14] = [
    "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "GROUP", "HAVING", "ORDER", "LIMIT",
    "OFFSET", "FETCH", "UNION",
];

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
        if BEHIND_ROWS.iter().any(|word| parser.at(word)) || parser.at_symbol(",") {
            return parser.expected(NOTHING_ELSE, parser.peek_token());
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
