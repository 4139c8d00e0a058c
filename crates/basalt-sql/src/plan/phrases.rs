// SPDX-License-Identifier: Apache-2.0
//! Phrases of the dialect that the planner has in other words: `''` is NULL, `FETCH FIRST n ROWS ONLY` is LIMIT,
//! `x > ANY (SELECT ..)` and `x > ALL (SELECT ..)` ask whether rows exist.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, LimitClause, Query, Value, VisitMut, VisitorMut,
};

use crate::dialect;

/// Rewrites a query.
pub(super) fn rewrite(query: &mut Query) {
    let _ = query.visit(&mut Phrases);
}

struct Phrases;

impl VisitorMut for Phrases {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let takes_rows = query
            .fetch
            .as_ref()
            .is_some_and(|fetch| !fetch.with_ties && !fetch.percent && fetch.quantity.is_some());
        if takes_rows && let Some(fetch) = query.fetch.take() {
            let offset = match query.limit_clause.take() {
                Some(LimitClause::LimitOffset { offset, .. }) => offset,
                _ => None,
            };
            let limit = fetch.quantity;
            query.limit_clause = Some(LimitClause::LimitOffset { limit, offset, limit_by: vec![] });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && matches!(&value.value, Value::SingleQuotedString(text) if text.is_empty())
        {
            value.value = Value::Null;
        }
        if let Some(rewritten) = quantified(expr) {
            *expr = rewritten;
        }
        ControlFlow::Continue(())
    }
}

/// A comparison with ANY or ALL rows of a subquery, as a question whether such a row, or one that is otherwise, exists.
fn quantified(expr: &Expr) -> Option<Expr> {
    let (left, op, right, all) = match expr {
        Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, false),
        Expr::AllOp { left, compare_op, right } => (left, compare_op, right, true),
        _ => return None,
    };
    let Expr::Subquery(subquery) = right.as_ref() else { return None };
    let same = matches!(op, BinaryOperator::Eq) && !all;
    let text = if same {
        format!("{left} IN ({subquery})")
    } else if all {
        format!(
            "NOT EXISTS (SELECT 1 FROM ({subquery}) AS \"$of\" (\"V\") WHERE ({left} {op} \"$of\".\"V\") IS NOT TRUE)"
        )
    } else {
        format!("EXISTS (SELECT 1 FROM ({subquery}) AS \"$of\" (\"V\") WHERE {left} {op} \"$of\".\"V\")")
    };
    dialect::parse_condition(&text).ok()
}
