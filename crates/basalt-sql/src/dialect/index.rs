// SPDX-License-Identifier: Apache-2.0
//! Statements about indexes.
//!
//! ```text
//! CREATE [LOCAL | UNCOVERED] [UNIQUE] INDEX [IF NOT EXISTS] i ON t (expr [ASC|DESC], ..)
//!     [INCLUDE (column, ..)] [WHERE condition] [ASYNC] [options] [SPLIT ON (..)]
//! DROP INDEX [IF EXISTS] i ON t
//! ALTER INDEX [IF EXISTS] i ON t {USABLE | UNUSABLE | ACTIVE | DISABLE | REBUILD [ALL] [ASYNC]}
//! CHECK INDEX i ON t
//! ```

use basalt_model::SortOrder;
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::cursor::Cursor;
use super::definition::{parse_options, parse_sort_order, parse_splits};
use super::parse_expr;
use super::statement::{Name, OptionDef, Statement};

/// A statement about one index of a table.
#[derive(Debug, Clone)]
pub(crate) struct IndexStatement {
    /// Name of the index, in the schema of its table.
    pub(crate) index: String,
    /// The table or view.
    pub(crate) table: Name,
    /// What to do.
    pub(crate) action: IndexAction,
}

/// What to do with an index.
#[derive(Debug, Clone)]
pub(crate) enum IndexAction {
    /// CREATE INDEX.
    Create(Box<CreateIndex>),
    /// DROP INDEX.
    Drop { if_exists: bool },
    /// ALTER INDEX .. USABLE or ACTIVE.
    Use { if_exists: bool },
    /// ALTER INDEX .. UNUSABLE: followed, but not read.
    Spare { if_exists: bool },
    /// ALTER INDEX .. DISABLE: neither followed nor read.
    Disable { if_exists: bool },
    /// ALTER INDEX .. REBUILD.
    Rebuild { if_exists: bool, later: bool },
    /// CHECK INDEX.
    Check,
}

/// CREATE INDEX.
#[derive(Debug, Clone)]
pub(crate) struct CreateIndex {
    pub(crate) if_not_exists: bool,
    pub(crate) local: bool,
    pub(crate) unique: bool,
    /// What is indexed, in order.
    pub(crate) parts: Vec<(Expr, SortOrder)>,
    /// INCLUDE.
    pub(crate) included: Vec<Name>,
    /// WHERE.
    pub(crate) condition: Option<Expr>,
    /// ASYNC: the statement does not wait until the index is built.
    pub(crate) later: bool,
    pub(crate) options: Vec<OptionDef>,
    /// SPLIT ON.
    pub(crate) splits: Vec<Expr>,
}

/// What follows CREATE, if it is about an index.
pub(super) fn parse_create(parser: &mut Parser) -> Result<Option<Statement>, ParserError> {
    let uncovered = parser.accept("UNCOVERED");
    let local = parser.accept("LOCAL");
    let unique = parser.accept("UNIQUE");
    if !parser.accept("INDEX") {
        return match uncovered || local || unique {
            true => parser.expected("INDEX", parser.peek_token()),
            false => Ok(None),
        };
    }
    if uncovered && local {
        return parser.expected("UNCOVERED without LOCAL", parser.peek_token());
    }
    let if_not_exists = parser.accept_all(&["IF", "NOT", "EXISTS"]);
    let (index, table) = parse_names(parser)?;
    let parts = parse_parts(parser)?;
    let included = if parser.accept("INCLUDE") { parse_included(parser)? } else { vec![] };
    if uncovered && !included.is_empty() {
        return parser.expected("no INCLUDE in an UNCOVERED index", parser.peek_token());
    }
    let condition = if parser.accept("WHERE") { Some(parse_expr(parser)?) } else { None };
    let later = parser.accept("ASYNC");
    let options = parse_options(parser)?;
    let splits = parse_splits(parser)?;
    let create =
        CreateIndex { if_not_exists, local, unique, parts, included, condition, later, options, splits };
    let action = IndexAction::Create(Box::new(create));
    Ok(Some(Statement::Index(IndexStatement { index, table, action })))
}

/// `i ON t`
fn parse_names(parser: &mut Parser) -> Result<(String, Name), ParserError> {
    let index = parser.name_part()?;
    parser.expect("ON")?;
    Ok((index, Name::parse(parser)?))
}

fn parse_parts(parser: &mut Parser) -> Result<Vec<(Expr, SortOrder)>, ParserError> {
    parser.expect_symbol("(")?;
    let mut parts = vec![];
    loop {
        let part = parse_expr(parser)?;
        parts.push((part, parse_sort_order(parser)));
        if !parser.accept_symbol(",") {
            break;
        }
    }
    parser.expect_symbol(")")?;
    Ok(parts)
}

fn parse_included(parser: &mut Parser) -> Result<Vec<Name>, ParserError> {
    parser.expect_symbol("(")?;
    let mut names = vec![Name::parse(parser)?];
    while parser.accept_symbol(",") {
        names.push(Name::parse(parser)?);
    }
    parser.expect_symbol(")")?;
    Ok(names)
}

/// What follows DROP INDEX.
pub(super) fn parse_drop(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_exists = parser.accept_all(&["IF", "EXISTS"]);
    let (index, table) = parse_names(parser)?;
    Ok(Statement::Index(IndexStatement { index, table, action: IndexAction::Drop { if_exists } }))
}

/// What follows ALTER INDEX.
pub(super) fn parse_alter(parser: &mut Parser) -> Result<Statement, ParserError> {
    let if_exists = parser.accept_all(&["IF", "EXISTS"]);
    let (index, table) = parse_names(parser)?;
    let action = if parser.accept("USABLE") || parser.accept("ACTIVE") {
        IndexAction::Use { if_exists }
    } else if parser.accept("UNUSABLE") {
        IndexAction::Spare { if_exists }
    } else if parser.accept("DISABLE") {
        IndexAction::Disable { if_exists }
    } else if parser.accept("REBUILD") {
        parser.accept("ALL");
        IndexAction::Rebuild { if_exists, later: parser.accept("ASYNC") }
    } else {
        return parser.expected("USABLE, UNUSABLE, ACTIVE, DISABLE or REBUILD", parser.peek_token());
    };
    Ok(Statement::Index(IndexStatement { index, table, action }))
}

/// What follows CHECK INDEX.
pub(super) fn parse_check(parser: &mut Parser) -> Result<Statement, ParserError> {
    let (index, table) = parse_names(parser)?;
    Ok(Statement::Index(IndexStatement { index, table, action: IndexAction::Check }))
}
