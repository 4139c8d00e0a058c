// SPDX-License-Identifier: Apache-2.0
//! Phoenix's SQL on top of sqlparser: text to [`Statement`].
//!
//! There is no second parser. Text is cut into tokens by sqlparser; unquoted words are folded to upper case
//! (so names compare byte by byte from here on and nothing later needs to know which were quoted); queries and
//! expressions are sqlparser's, with hooks of ours for `NEXT VALUE FOR` and `IS DISTINCT FROM`; and the statements that only Phoenix
//! has are read from the same token stream, one module per family:
//!
//! ```text
//! text -> [tokens] fold -> [dialect] first words -> queries, expressions: sqlparser
//!                                                -> UPSERT, DELETE:  [change]
//!                                                -> CREATE, DROP:    [definition] [view] [types]
//!                                                -> ALTER:           [alter]
//!                                                -> .. INDEX:        [index]
//!                                                -> COPY:            [copy]
//!                                                -> DECLARE, FETCH:  [fetch]
//! ```

mod alter;
mod chains;
mod change;
mod copy;
mod cursor;
mod definition;
mod dynamic;
mod fetch;
mod index;
mod infix;
mod merge;
mod offset;
mod parameter_types;
mod parameters;
mod prefix;
mod refused;
mod rows;
mod size;
mod statement;
mod table_lists;
mod tokens;
mod types;
mod view;
mod written;

pub(crate) use change::NO_VALUE;
pub(crate) use copy::{Copy, CopyFrom};
pub(crate) use definition::{BAD_INCREMENT, BAD_MAX, BAD_MIN, BAD_START, NO_KEY_COLUMN};
pub(crate) use dynamic::{definitions as dynamic_columns, name_of as dynamic_name};
pub(crate) use fetch::{CursorAction, CursorStatement};
pub(crate) use index::{CreateIndex, IndexAction, IndexStatement};
pub(crate) use merge::{Merge, MergeAction, MergeClause};
pub(crate) use offset::AFTER_KEY;
pub(crate) use parameter_types::{parameter_types, relations};
pub(crate) use parameters::{bind, unbound};
pub(crate) use prefix::{BAD_COUNT, CURRENT_VALUE, NEXT_VALUE, sequence_of};
pub(crate) use refused::{NO_FUNCTION, NO_FUNCTIONS};
pub(crate) use rows::{Equal, exists_equal, width};
pub(crate) use statement::{
    Alter, AlterChange, Cascade, ColumnDef, CreateSequence, CreateTable, CreateView, Delete, Name,
    OnDuplicate, OptionDef, Parsed, Statement, Target, Update, Upsert, UpsertColumn, UpsertSource,
};
pub(crate) use tokens::{TokenMap, place_of};
pub(crate) use types::{BAD_LENGTH, BAD_PRECISION, NO_LENGTH, NO_TYPE, TYPE_NAMES};
pub(crate) use view::{NO_WILDCARD, NOTHING_ELSE};
pub(crate) use written::{printable, quoted};

use basalt_model::SqlType;
use datafusion::sql::sqlparser::ast::{Expr, Query};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::{Keyword, RESERVED_FOR_IDENTIFIER};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;

use crate::deep::{self, is_long};
use crate::error::SqlError;
use crate::explain::Form;
use cursor::Cursor;

/// Deepest nesting of expressions and queries.
const DEPTH_MAX: usize = 200;

/// What sqlparser needs to know about the lexical rules, and the hooks for what it reads otherwise.
#[derive(Debug, Default)]
pub(crate) struct PhoenixDialect;

impl Dialect for PhoenixDialect {
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '"'
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('"')
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    /// What they stand for is in [`tokens`].
    fn supports_string_literal_backslash_escape(&self) -> bool {
        true
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_table_versioning(&self) -> bool {
        true
    }

    /// `FROM (t)`.
    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }

    /// `CAST(x AS VARCHAR[])`.
    fn supports_array_typedef_with_brackets(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn is_reserved_for_identifier(&self, word: Keyword) -> bool {
        word == Keyword::NOT || RESERVED_FOR_IDENTIFIER.contains(&word)
    }

    /// `AS` lets any word be a name but FROM, before which the name was forgotten.
    fn is_select_item_alias(&self, explicit: bool, word: &Keyword, parser: &mut Parser) -> bool {
        if explicit { *word != Keyword::FROM } else { self.is_column_alias(word, parser) }
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        prefix::parse(parser)
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        infix::parse(parser, expr)
    }
}

/// Reads one statement; a `;` behind it is allowed.
pub(crate) fn parse(sql: &str) -> Result<Parsed, SqlError> {
    deep::run(is_long(sql), || parse_tokens(sql, tokens::tokenize(sql)?))
}

fn parse_tokens(sql: &str, mut tokens: Vec<TokenWithSpan>) -> Result<Parsed, SqlError> {
    size::check(&tokens)?;
    let hints = tokens::hints(&tokens);
    let map = TokenMap::new(&tokens);
    let has_parameters = parameters::number(&mut tokens);
    let mut parser = parser_of(table_lists::joined(dynamic::collapse(tokens)));
    let mut statement = parse_whole(&mut parser).map_err(|error| SqlError::from_parser(error, sql))?;
    let parameters = if has_parameters { parameters::count(&mut statement)? } else { 0 };
    Ok(Parsed { statement, hints, tokens: map, text: sql.into(), parameters })
}

/// Reads a type as it is printed.
pub(crate) fn sql_type(text: &str) -> Option<SqlType> {
    types::parse_type(&mut parser_of(tokens::tokenize(text).ok()?)).ok()
}

/// Reads a condition that was put together from parts of a statement.
pub(crate) fn parse_condition(text: &str) -> Result<Expr, SqlError> {
    let tokens = tokens::tokenize(text)?;
    size::check(&tokens)?;
    let mut parser = parser_of(dynamic::collapse(tokens));
    parse_expr(&mut parser).map_err(|error| SqlError::from_parser(error, text))
}

fn parser_of(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&PhoenixDialect).with_recursion_limit(DEPTH_MAX).with_tokens_with_locations(tokens)
}

fn parse_whole(parser: &mut Parser) -> Result<Statement, ParserError> {
    let statement = parse_statement(parser)?;
    while parser.accept_symbol(";") {}
    parser.expect_end()?;
    Ok(statement)
}

fn parse_statement(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept("UPSERT") || parser.accept("INSERT") {
        return change::parse_upsert(parser);
    }
    if parser.at_any(&["CREATE", "DROP", "ALTER", "DELETE"]) {
        refused::check(parser)?;
    }
    if parser.accept("DELETE") {
        return change::parse_delete(parser);
    }
    if parser.accept("MERGE") {
        return merge::parse_merge(parser);
    }
    if parser.accept("COPY") {
        return copy::parse_copy(parser);
    }
    if parser.accept("CREATE") {
        return definition::parse_create(parser);
    }
    if parser.accept("DROP") {
        return definition::parse_drop(parser);
    }
    if parser.accept("ALTER") {
        return alter::parse_alter(parser);
    }
    if parser.accept("UPDATE") {
        return change::parse_update(parser);
    }
    if parser.accept("TRUNCATE") {
        parser.accept("TABLE");
        let table = Name::parse(parser)?;
        let keep_regions =
            parser.accept_all(&["PRESERVE", "SPLITS"]) || !parser.accept_all(&["DROP", "SPLITS"]);
        return Ok(Statement::Truncate { table, keep_regions });
    }
    if parser.accept("USE") {
        let schema = parser.name_part()?;
        return Ok(Statement::Use { schema: (schema != "DEFAULT").then_some(schema) });
    }
    if parser.accept("EXPLAIN") {
        return parse_explain(parser);
    }
    if parser.accept("SHOW") {
        return parse_show(parser);
    }
    if let Some(verb) = ["DECLARE", "OPEN", "FETCH", "CLOSE"].into_iter().find(|verb| parser.accept(verb)) {
        return fetch::parse(parser, verb);
    }
    if parser.accept_all(&["CHECK", "INDEX"]) {
        return index::parse_check(parser);
    }
    if parser.accept("DESCRIBE") || parser.accept("DESC") {
        let table = Name::parse(parser)?;
        return Ok(Statement::Describe { table });
    }
    if parser.at_any(&["SELECT", "WITH", "VALUES"]) || parser.at_symbol("(") {
        return Ok(Statement::Query(parse_query(parser)?));
    }
    if parser.accept("ANALYZE") {
        parser.accept("TABLE");
        return Ok(Statement::UpdateStatistics { table: Name::parse(parser)? });
    }
    refused::check(parser)?;
    parser.expected(
        "SELECT, UPSERT, UPDATE, DELETE, MERGE, COPY, TRUNCATE, CREATE, ALTER, DROP, USE, DECLARE, OPEN, FETCH, CLOSE, EXPLAIN, SHOW or DESCRIBE",
        parser.peek_token(),
    )
}

/// A query in which row values are written out (see [`rows`]).
pub(crate) fn parse_query(parser: &mut Parser) -> Result<Box<Query>, ParserError> {
    let mut query = parser.parse_query()?;
    offset::mark(&mut query)?;
    rows::expand(&mut *query)?;
    Ok(query)
}

/// An expression in which row values are written out.
pub(crate) fn parse_expr(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut expr = parser.parse_expr()?;
    if !matches!(expr, Expr::Value(_)) {
        rows::expand(&mut expr)?;
    }
    Ok(expr)
}

fn parse_explain(parser: &mut Parser) -> Result<Statement, ParserError> {
    let analyze = parser.accept("ANALYZE");
    let verbose = parser.accept("VERBOSE");
    let json = parser.accept_all(&["FORMAT", "JSON"]);
    let regions = accept_regions(parser);
    let statement = Box::new(parse_statement(parser)?);
    Ok(Statement::Explain { form: Form { analyzed: analyze, verbose, json, regions }, statement })
}

/// WITH REGIONS, unless a query begins with it that calls a part of itself REGIONS.
fn accept_regions(parser: &mut Parser) -> bool {
    let found = parser.accept_all(&["WITH", "REGIONS"]);
    let names_a_query = found && (parser.at("AS") || parser.at_symbol("("));
    if names_a_query {
        (0..2).for_each(|_| parser.prev_token());
    }
    found && !names_a_query
}

fn parse_show(parser: &mut Parser) -> Result<Statement, ParserError> {
    if parser.accept("SCHEMAS") {
        let like = if parser.accept("LIKE") { Some(parser.parse_literal_string()?) } else { None };
        return Ok(Statement::ShowSchemas { like });
    }
    if parser.accept("CREATE") {
        if !["TABLE", "VIEW", "INDEX"].into_iter().any(|kind| parser.accept(kind)) {
            return parser.expected("TABLE, VIEW or INDEX", parser.peek_token());
        }
        return Ok(Statement::ShowCreate { table: Name::parse(parser)? });
    }
    if !parser.accept("TABLES") {
        return parser.expected("TABLES, SCHEMAS or CREATE TABLE", parser.peek_token());
    }
    let schema = if parser.accept("IN") { Some(parser.name_part()?) } else { None };
    let like = if parser.accept("LIKE") { Some(parser.parse_literal_string()?) } else { None };
    Ok(Statement::ShowTables { schema, like })
}

#[cfg(test)]
mod tests;
