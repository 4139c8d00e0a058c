// SPDX-License-Identifier: Apache-2.0
//! ALTER TABLE and ALTER VIEW.

use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::cursor::Cursor;
use super::definition::{parse_column, parse_options};
use super::index;
use super::statement::{Alter, AlterChange, Cascade, Name, Statement};

/// What follows ALTER.
pub(super) fn parse_alter(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept("INDEX") {
        return index::parse_alter(parser);
    }
    let view = parser.accept("VIEW");
    if !view && !parser.accept("TABLE") {
        return parser.expected("TABLE, VIEW or INDEX", parser.peek_token());
    }
    let name = Name::parse(parser)?;
    let change = if parser.accept("ADD") {
        let if_not_exists = parser.accept_all(&["IF", "NOT", "EXISTS"]);
        let mut columns = vec![parse_column(parser)?];
        while parser.accept_symbol(",") {
            columns.push(parse_column(parser)?);
        }
        let options = parse_options(parser)?;
        AlterChange::Add { if_not_exists, columns, options, cascade: parse_cascade(parser)? }
    } else if parser.accept_all(&["DROP", "COLUMN"]) {
        let if_exists = parser.accept_all(&["IF", "EXISTS"]);
        let mut columns = vec![Name::parse(parser)?];
        while parser.accept_symbol(",") {
            columns.push(Name::parse(parser)?);
        }
        AlterChange::Drop { if_exists, columns }
    } else if parser.accept("SET") {
        let options = parse_options(parser)?;
        if options.is_empty() {
            return parser.expected("an option and its value", parser.peek_token());
        }
        AlterChange::Set { options }
    } else {
        return parser.expected("ADD, DROP COLUMN or SET", parser.peek_token());
    };
    Ok(Statement::Alter(Box::new(Alter { view, name, change })))
}

/// `CASCADE INDEX {ALL | index, ..}`; nothing if it is not written.
fn parse_cascade(parser: &mut Parser) -> Result<Option<Cascade>, ParserError> {
    if !parser.accept("CASCADE") {
        return Ok(None);
    }
    parser.expect("INDEX")?;
    if parser.accept("ALL") {
        return Ok(Some(Cascade::All));
    }
    let mut names = vec![parser.name_part()?];
    while parser.accept_symbol(",") {
        names.push(parser.name_part()?);
    }
    Ok(Some(Cascade::Named(names)))
}
