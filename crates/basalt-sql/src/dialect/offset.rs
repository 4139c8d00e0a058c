// SPDX-License-Identifier: Apache-2.0
//! `OFFSET (k1, k2) = (v1, v2)`, which is no comparison of row values: it becomes a call that no user can name, with the columns and
//! behind them the values as its arguments. What it means is decided where the key is known. Other offsets are numbers, as limits are.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause, Query, Spanned,
    VisitMut, VisitorMut, visit_expressions,
};
use datafusion::sql::sqlparser::parser::ParserError;

/// Name of the call.
pub(crate) const AFTER_KEY: &str = "$after_key";

/// Marks the offsets by a key in a query and in those within it; an error if a limit or another offset is a column.
pub(super) fn mark(query: &mut Query) -> Result<(), ParserError> {
    match query.visit(&mut Marker) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// An error if a limit or offset has columns, of which there is no row.
pub(super) fn check_number(expr: &Expr) -> Result<(), ParserError> {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(refusal(
            &format!("LIMIT and OFFSET take a number, not the column {expr}"),
            expr,
        )),
        Expr::Subquery(_) => ControlFlow::Break(refusal(
            "LIMIT and OFFSET take a number or a parameter, not a subquery; QUALIFY ROW_NUMBER() OVER (ORDER BY ..) <= (SELECT ..) leaves as many rows as it says",
            expr,
        )),
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Marker;

impl VisitorMut for Marker {
    type Break = ParserError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<ParserError> {
        if let Some(LimitClause::LimitOffset { offset: Some(offset), .. }) = &mut query.limit_clause
            && let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = &offset.value
        {
            return match behind(left, right) {
                Ok(call) => {
                    offset.value = call;
                    ControlFlow::Continue(())
                }
                Err(error) => ControlFlow::Break(error),
            };
        }
        let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause else {
            return ControlFlow::Continue(());
        };
        let numbers = limit.iter().chain(offset.as_ref().map(|offset| &offset.value));
        match numbers.into_iter().try_for_each(check_number) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The call for `(columns) = (values)`.
fn behind(left: &Expr, right: &Expr) -> Result<Expr, ParserError> {
    let (Some(columns), Some(values)) = (parts(left), parts(right)) else {
        return Err(refusal(
            "OFFSET by a key has its columns and its values in parentheses: OFFSET (k1, k2) = (v1, v2)",
            if parts(left).is_none() { left } else { right },
        ));
    };
    if columns.len() != values.len() {
        let message = format!(
            "OFFSET by a key has a value for each of its columns; found {} columns and {} values",
            columns.len(),
            values.len()
        );
        return Err(refusal(&message, right));
    }
    let call = super::parse_condition(&format!("\"{AFTER_KEY}\"(0)"));
    let mut call = call.map_err(|error| ParserError::ParserError(error.message().to_owned()))?;
    if let Expr::Function(function) = &mut call
        && let FunctionArguments::List(list) = &mut function.args
    {
        let arguments = columns.into_iter().chain(values);
        list.args = arguments.map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()))).collect();
    }
    Ok(call)
}

/// An error with the place of an expression, if that is known.
fn refusal(message: &str, expr: &Expr) -> ParserError {
    let start = expr.span().start;
    let place = if start.line > 0 { start.to_string() } else { String::new() };
    ParserError::ParserError(format!("{message}{place}"))
}

/// What stands in the parentheses.
fn parts(expr: &Expr) -> Option<Vec<&Expr>> {
    match expr {
        Expr::Nested(inner) => Some(vec![inner]),
        Expr::Tuple(parts) => Some(parts.iter().collect()),
        _ => None,
    }
}
