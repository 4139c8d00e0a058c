// SPDX-License-Identifier: Apache-2.0
//! Columns that `USING` and `NATURAL` merge, of joins that keep rows of the right side without a partner. DataFusion 55 takes the left side's column
//! for the merged one, which is NULL in such rows. A query that names it without a table is refused, and told what to write.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem, Visit, Visitor,
};

use crate::error::SqlError;

/// An error if a query names such a column.
pub(super) fn check(query: &Query) -> Result<(), SqlError> {
    match query.visit(&mut Selects) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Selects;

impl Visitor for Selects {
    type Break = SqlError;

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<SqlError> {
        let mut merged: Vec<String> = vec![];
        for join in select.from.iter().flat_map(|from| &from.joins) {
            match constraint(join) {
                Some(JoinConstraint::Using(columns)) => merged.extend(columns.iter().filter_map(name)),
                Some(JoinConstraint::Natural) => {
                    return ControlFlow::Break(SqlError::unsupported(
                        "NATURAL RIGHT and FULL JOIN are not supported: their common columns would have the values of the left side alone; write ON",
                    ));
                }
                _ => {}
            }
        }
        let Some(first) = merged.first() else { return ControlFlow::Continue(()) };
        if select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_))) {
            return ControlFlow::Break(refused(first));
        }
        select.visit(&mut Names { merged: &merged })
    }
}

/// What joins the sides of a join that keeps all rows of the right one.
fn constraint(join: &Join) -> Option<&JoinConstraint> {
    match &join.join_operator {
        JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

fn name(column: &ObjectName) -> Option<String> {
    Some(column.0.last()?.as_ident()?.value.clone())
}

/// Looks for the names without a table.
struct Names<'a> {
    merged: &'a [String],
}

impl Visitor for Names<'_> {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<SqlError> {
        match expr {
            Expr::Identifier(column) if self.merged.contains(&column.value) => {
                ControlFlow::Break(refused(&column.value))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn refused(column: &str) -> SqlError {
    SqlError::statement(format!(
        "column {column} of RIGHT or FULL JOIN .. USING ({column}) is in both tables: write the table or alias before it, or COALESCE of both in place of it or of *"
    ))
}
