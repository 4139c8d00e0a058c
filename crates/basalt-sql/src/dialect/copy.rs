// SPDX-License-Identifier: Apache-2.0
//! COPY: rows into a file, and rows of a file into a table.
//!
//! ```text
//! COPY {table [(column, ..)] | (query)} TO 'file' [(option [value], ..)]
//! COPY table [(column, ..)] FROM 'file' [(option [value], ..)]
//! ```

use datafusion::sql::sqlparser::ast::Query;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Span, Token};

use super::change;
use super::cursor::Cursor;
use super::statement::{Name, OptionDef, Statement, UpsertColumn};
use super::{parse_query, parser_of, tokens};

/// COPY.
#[derive(Debug, Clone)]
pub(crate) enum Copy {
    /// Rows into a file.
    To(CopyTo),
    /// Rows of a file into a table.
    From(CopyFrom),
}

/// COPY .. TO.
#[derive(Debug, Clone)]
pub(crate) struct CopyTo {
    /// Whose rows are copied.
    pub(crate) query: Box<Query>,
    /// The path as written.
    pub(crate) file: String,
    /// Options with their values; `TRUE` where none is written.
    pub(crate) options: Vec<OptionDef>,
}

/// COPY .. FROM.
#[derive(Debug, Clone)]
pub(crate) struct CopyFrom {
    /// The table.
    pub(crate) table: Name,
    /// The columns listed; `None` for all.
    pub(crate) columns: Option<Vec<UpsertColumn>>,
    /// The path as written.
    pub(crate) file: String,
    /// Options with their values; `TRUE` where none is written.
    pub(crate) options: Vec<OptionDef>,
}

/// What follows COPY.
pub(super) fn parse_copy(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept_symbol("(") {
        let query = parse_query(parser)?;
        parser.expect_symbol(")")?;
        parser.expect("TO")?;
        return to(parser, query);
    }
    let table = Name::parse(parser)?;
    let columns = if parser.at_symbol("(") { Some(change::parse_columns(parser)?) } else { None };
    if parser.accept("TO") {
        let query = all_of(&table, columns.as_deref())?;
        return to(parser, query);
    }
    if !parser.accept("FROM") {
        return parser.expected("TO or FROM", parser.peek_token());
    }
    let file = parser.parse_literal_string()?;
    let options = parse_options(parser)?;
    Ok(Statement::Copy(Box::new(Copy::From(CopyFrom { table, columns, file, options }))))
}

fn to(parser: &mut Parser, query: Box<Query>) -> Result<Statement, ParserError> {
    let file = parser.parse_literal_string()?;
    let options = parse_options(parser)?;
    Ok(Statement::Copy(Box::new(Copy::To(CopyTo { query, file, options }))))
}

/// `SELECT .. FROM table`.
fn all_of(table: &Name, columns: Option<&[UpsertColumn]>) -> Result<Box<Query>, ParserError> {
    let quoted = |name: &Name| {
        let part = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
        match &name.schema {
            Some(schema) => format!("{}.{}", part(schema), part(&name.name)),
            None => part(&name.name),
        }
    };
    let columns = match columns {
        Some(columns) => columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", "),
        None => "*".to_owned(),
    };
    let text = format!("SELECT {columns} FROM {}", quoted(table));
    let mut tokens = tokens::tokenize(&text).map_err(|error| ParserError::ParserError(error.to_string()))?;
    // They stand nowhere in the statement.
    tokens.iter_mut().for_each(|token| token.span = Span::empty());
    parse_query(&mut parser_of(tokens))
}

/// `[WITH] (name [=] [value], ..)`
fn parse_options(parser: &mut Parser) -> Result<Vec<OptionDef>, ParserError> {
    let mut options = vec![];
    let with = parser.accept("WITH");
    if !with && !parser.at_symbol("(") {
        return Ok(options);
    }
    parser.expect_symbol("(")?;
    loop {
        let name = parser.name_part()?.to_uppercase();
        let equals = parser.accept_symbol("=");
        let value = if !equals && (parser.at_symbol(",") || parser.at_symbol(")")) {
            "TRUE".to_owned()
        } else {
            parse_value(parser)?
        };
        options.push(OptionDef { family: None, name, value });
        if !parser.accept_symbol(",") {
            break;
        }
    }
    parser.expect_symbol(")")?;
    Ok(options)
}

fn parse_value(parser: &mut Parser) -> Result<String, ParserError> {
    let next = parser.next_token();
    match next.token {
        Token::Word(word) => Ok(word.value),
        Token::Number(text, _) | Token::SingleQuotedString(text) => Ok(text),
        _ => parser.expected("a value", next),
    }
}
