// SPDX-License-Identifier: Apache-2.0
//! MERGE INTO t USING source ON condition WHEN ...

use datafusion::sql::sqlparser::ast::{Expr, SelectItem, TableFactor};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::change::{parse_assignments, parse_columns, parse_returning, parse_row};
use super::cursor::Cursor;
use super::statement::{Name, Statement, Target, UpsertColumn};
use super::{parse_expr, rows};

/// MERGE.
#[derive(Debug, Clone)]
pub(crate) struct Merge {
    /// The table that changes.
    pub(crate) table: Target,
    /// Where rows come from.
    pub(crate) source: TableFactor,
    /// Which rows of the two belong together.
    pub(crate) on: Expr,
    /// What happens to them, in order: the first clause that applies to a row.
    pub(crate) clauses: Vec<MergeClause>,
    /// RETURNING, as in [`Upsert`](super::Upsert).
    pub(crate) returning: Vec<SelectItem>,
}

/// WHEN [NOT] MATCHED [AND condition] THEN action.
#[derive(Debug, Clone)]
pub(crate) struct MergeClause {
    /// Which rows of those that are matched, or are not.
    pub(crate) condition: Option<Expr>,
    pub(crate) action: MergeAction,
}

/// What a clause does.
#[derive(Debug, Clone)]
pub(crate) enum MergeAction {
    /// UPDATE SET, of a matched row.
    Update(Vec<(Name, Expr)>),
    /// DELETE, of a matched row.
    Delete,
    /// INSERT, of a row of the source that is not matched.
    Insert { columns: Option<Vec<UpsertColumn>>, values: Vec<Expr> },
}

impl MergeClause {
    /// True for WHEN MATCHED.
    pub(crate) fn matched(&self) -> bool {
        !matches!(self.action, MergeAction::Insert { .. })
    }
}

/// What follows MERGE.
pub(super) fn parse_merge(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.accept("INTO");
    let table = Target::parse(parser, &["USING"])?;
    parser.expect("USING")?;
    let mut source = parser.parse_table_factor()?;
    rows::expand(&mut source)?;
    parser.expect("ON")?;
    let on = parse_expr(parser)?;
    let mut clauses = vec![];
    while parser.accept("WHEN") {
        clauses.push(parse_clause(parser)?);
    }
    if clauses.is_empty() {
        return parser.expected("WHEN MATCHED or WHEN NOT MATCHED", parser.peek_token());
    }
    let returning = parse_returning(parser)?;
    Ok(Statement::Merge(Box::new(Merge { table, source, on, clauses, returning })))
}

fn parse_clause(parser: &mut Parser) -> Result<MergeClause, ParserError> {
    let matched = !parser.accept("NOT");
    parser.expect("MATCHED")?;
    let condition = if parser.accept("AND") { Some(parse_expr(parser)?) } else { None };
    parser.expect("THEN")?;
    let action = if !matched {
        parser.expect("INSERT")?;
        let columns = if parser.at_symbol("(") { Some(parse_columns(parser)?) } else { None };
        parser.expect("VALUES")?;
        MergeAction::Insert { columns, values: parse_row(parser)? }
    } else if parser.accept("DELETE") {
        MergeAction::Delete
    } else {
        parser.expect("UPDATE")?;
        parser.expect("SET")?;
        MergeAction::Update(parse_assignments(parser)?)
    };
    Ok(MergeClause { condition, action })
}
