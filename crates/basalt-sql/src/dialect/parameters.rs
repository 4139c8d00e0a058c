// SPDX-License-Identifier: Apache-2.0
//! Bind parameters: `?`, counted in the order of the text, and `:1`, by number. A statement with parameters is parsed once; for
//! each execution its values take their places in a copy of what was parsed, so no value is ever read as SQL.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Value as Literal, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::copy::Copy;
use super::fetch::{CursorAction, CursorStatement};
use super::merge::MergeAction;
use super::statement::{OnDuplicate, Statement, UpsertSource};
use crate::error::{SqlError, code};

/// Gives each `?` its number. False if the text has no parameters.
pub(super) fn number(tokens: &mut [TokenWithSpan]) -> bool {
    let (mut last, mut found) = (0, false);
    for token in tokens {
        match &mut token.token {
            Token::Placeholder(name) => {
                found = true;
                if name == "?" {
                    last += 1;
                    *name = format!("?{last}");
                }
            }
            // `:1`; else a part of an array, which is no parameter either.
            Token::Colon => found = true,
            _ => {}
        }
    }
    found
}

/// The number of values that a statement takes.
pub(super) fn count(statement: &mut Statement) -> Result<usize, SqlError> {
    let mut counter = Counter { largest: 0 };
    match visit(statement, &mut counter) {
        ControlFlow::Continue(()) => Ok(counter.largest),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Puts the values, as literals, in the place of the parameters.
pub(crate) fn bind(statement: &mut Statement, values: &[Expr]) -> Result<(), SqlError> {
    match visit(statement, &mut Binder { values }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The number of a parameter; `None` for any other expression.
pub(super) fn parameter(expr: &Expr) -> Option<Result<usize, SqlError>> {
    let Expr::Value(value) = expr else { return None };
    let Literal::Placeholder(name) = &value.value else { return None };
    let number = name.strip_prefix(['?', ':']).and_then(|digits| digits.parse().ok());
    Some(number.filter(|&number| number > 0).ok_or_else(|| {
        SqlError::coded(code::PARSER_ERROR, format!("{name} is no parameter; they are written ? or :1"))
    }))
}

struct Counter {
    largest: usize,
}

impl VisitorMut for Counter {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match parameter(expr) {
            None => {}
            Some(Ok(number)) => self.largest = self.largest.max(number),
            Some(Err(error)) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

struct Binder<'a> {
    values: &'a [Expr],
}

impl VisitorMut for Binder<'_> {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match parameter(expr) {
            None => {}
            Some(Ok(number)) => match self.values.get(number - 1) {
                Some(value) => *expr = value.clone(),
                None => return ControlFlow::Break(unbound(number)),
            },
            Some(Err(error)) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// The error of a parameter without a value.
pub(crate) fn unbound(number: usize) -> SqlError {
    SqlError::coded(
        code::PARAMETER_UNBOUND,
        format!(
            "parameter {number} has no value; prepare the statement and execute it with one value per parameter"
        ),
    )
}

/// Visits the queries and expressions of a statement. Definitions have none that could be parameters.
pub(super) fn visit<V: VisitorMut>(statement: &mut Statement, visitor: &mut V) -> ControlFlow<V::Break> {
    match statement {
        Statement::Query(query) => query.visit(visitor)?,
        Statement::Cursor(CursorStatement { action: CursorAction::Declare(query), .. }) => {
            query.visit(visitor)?;
        }
        Statement::Explain { statement, .. } => visit(statement, visitor)?,
        Statement::CreateTable(table) => table.query.visit(visitor)?,
        Statement::Copy(copy) => match copy.as_mut() {
            Copy::To(copy) => copy.query.visit(visitor)?,
            Copy::From(_) => {}
        },
        Statement::Upsert(upsert) => {
            match &mut upsert.source {
                UpsertSource::Values(rows) => rows.visit(visitor)?,
                UpsertSource::Query(query) => query.visit(visitor)?,
            }
            if let Some(OnDuplicate::Update(assignments) | OnDuplicate::UpdateOnly(assignments)) =
                &mut upsert.on_duplicate
            {
                assignments.iter_mut().try_for_each(|(_, value)| value.visit(visitor))?;
            }
            upsert.returning.visit(visitor)?;
        }
        Statement::Update(update) => {
            update.assignments.iter_mut().try_for_each(|(_, value)| value.visit(visitor))?;
            update.filter.visit(visitor)?;
            update.returning.visit(visitor)?;
        }
        Statement::Merge(merge) => {
            merge.source.visit(visitor)?;
            merge.on.visit(visitor)?;
            for clause in &mut merge.clauses {
                clause.condition.visit(visitor)?;
                match &mut clause.action {
                    MergeAction::Update(assignments) => {
                        assignments.iter_mut().try_for_each(|(_, value)| value.visit(visitor))?;
                    }
                    MergeAction::Delete => {}
                    MergeAction::Insert { values, .. } => values.visit(visitor)?,
                }
            }
            merge.returning.visit(visitor)?;
        }
        Statement::Delete(delete) => {
            delete.filter.visit(visitor)?;
            delete.order_by.visit(visitor)?;
            delete.limit.visit(visitor)?;
            delete.returning.visit(visitor)?;
        }
        _ => {}
    }
    ControlFlow::Continue(())
}
