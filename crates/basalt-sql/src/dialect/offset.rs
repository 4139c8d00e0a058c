// SPDX-License-Identifier: Apache-2.0
//! `OFFSET (k1, k2) = (v1, v2)`, which is no comparison of row values: it becomes a call that no user can name, with the columns and
//! behind them the values as its arguments. What it means is decided where the key is known. Other offsets are numbers, as limits are.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause, Query, VisitMut,
    VisitorMut, visit_expressions,
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
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(expr.to_string()),
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(column) => {
            Err(ParserError::ParserError(format!("LIMIT and OFFSET take a number, not the column {column}")))
        }
    }
}

struct Marker;

impl VisitorMut for Marker {
    type Break = ParserError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<ParserError> {
        if let Some(LimitClause::LimitOffset { offset: Some(offset), .. }) = &mut query.limit_clause
            && let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = &offset.value
            && let (Some(columns), Some(values)) = (parts(left), parts(right))
            && columns.len() == values.len()
            && let Ok(mut call) = super::parse_condition(&format!("\"{AFTER_KEY}\"(0)"))
        {
            if let Expr::Function(function) = &mut call
                && let FunctionArguments::List(list) = &mut function.args
            {
                let arguments = columns.into_iter().chain(values);
                list.args =
                    arguments.map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()))).collect();
            }
            offset.value = call;
            return ControlFlow::Continue(());
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

/// What stands in the parentheses.
fn parts(expr: &Expr) -> Option<Vec<&Expr>> {
    match expr {
        Expr::Nested(inner) => Some(vec![inner]),
        Expr::Tuple(parts) => Some(parts.iter().collect()),
        _ => None,
    }
}
