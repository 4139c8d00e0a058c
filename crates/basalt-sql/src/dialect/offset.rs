// SPDX-License-Identifier: Apache-2.0
//! `OFFSET (k1, k2) = (v1, v2)`, which is no comparison of row values: it becomes a call that no user can name, with the columns and
//! behind them the values as its arguments. What it means is decided where the key is known.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause, Query, VisitMut,
    VisitorMut,
};

/// Name of the call.
pub(crate) const AFTER_KEY: &str = "$after_key";

/// Marks the offsets by a key in a query and in those within it.
pub(super) fn mark(query: &mut Query) {
    let _ = query.visit(&mut Marker);
}

struct Marker;

impl VisitorMut for Marker {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
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
        }
        ControlFlow::Continue(())
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
