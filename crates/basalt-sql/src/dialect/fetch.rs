// SPDX-License-Identifier: Apache-2.0
//! Statements about cursors.
//!
//! ```text
//! DECLARE c CURSOR FOR query
//! OPEN c
//! FETCH NEXT [n] [ROW | ROWS] FROM c
//! CLOSE c
//! ```

use datafusion::sql::sqlparser::ast::Query;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::parse_query;
use super::statement::Statement;

/// A statement about a cursor.
#[derive(Debug, Clone)]
pub(crate) struct CursorStatement {
    /// Name of the cursor.
    pub(crate) name: String,
    /// What to do.
    pub(crate) action: CursorAction,
}

/// What to do with a cursor.
#[derive(Debug, Clone)]
pub(crate) enum CursorAction {
    /// DECLARE.
    Declare(Box<Query>),
    /// OPEN.
    Open,
    /// FETCH so many rows.
    Fetch(usize),
    /// CLOSE.
    Close,
}

/// What follows the first word, which is `verb`.
pub(super) fn parse(parser: &mut Parser, verb: &str) -> Result<Statement, ParserError> {
    let (name, action) = match verb {
        "DECLARE" => {
            let name = parser.name_part()?;
            parser.expect("CURSOR")?;
            parser.expect("FOR")?;
            (name, CursorAction::Declare(parse_query(parser)?))
        }
        "FETCH" => {
            parser.expect("NEXT")?;
            let rows = parse_rows(parser)?;
            parser.expect("FROM")?;
            (parser.name_part()?, CursorAction::Fetch(rows))
        }
        "OPEN" => (parser.name_part()?, CursorAction::Open),
        _ => (parser.name_part()?, CursorAction::Close),
    };
    Ok(Statement::Cursor(CursorStatement { name, action }))
}

/// `[n] [ROW | ROWS]`
fn parse_rows(parser: &mut Parser) -> Result<usize, ParserError> {
    let mut rows = 1;
    if let Token::Number(digits, _) = &parser.peek_token_ref().token {
        rows = match digits.parse() {
            Ok(rows) if rows > 0 => rows,
            _ => return parser.expected("a number of rows above 0", parser.peek_token()),
        };
        parser.advance_token();
    }
    let _ = parser.accept("ROWS") || parser.accept("ROW");
    Ok(rows)
}
