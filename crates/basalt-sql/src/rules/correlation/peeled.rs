// SPDX-License-Identifier: Apache-2.0
//! A plan taken apart: the lists, conditions and orders above a step, written over the columns of the step itself.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr};

use super::super::has_subquery;

/// What is above a step, and the step.
pub(super) struct Peeled {
    /// The columns of the whole plan.
    pub(super) columns: Vec<Expr>,
    /// What its rows must fulfil.
    pub(super) conditions: Vec<Expr>,
    /// The order of its rows, if it has one.
    pub(super) order: Vec<SortExpr>,
    /// The step: no list, condition, order or name.
    pub(super) base: LogicalPlan,
}

impl Peeled {
    /// Lists whose values are others each time stay in the base, and conditions that have queries.
    pub(super) fn new(plan: LogicalPlan) -> Result<Self> {
        let columns = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let mut peeled = Self { columns, conditions: vec![], order: vec![], base: plan };
        while let Some(input) = peeled.peel()? {
            peeled.base = Arc::unwrap_or_clone(input);
        }
        Ok(peeled)
    }

    /// Takes one step over; the answer is its input.
    fn peel(&mut self) -> Result<Option<Arc<LogicalPlan>>> {
        if has_subquery(&self.base) || self.base.expressions().iter().any(Expr::is_volatile) {
            return Ok(None);
        }
        let (named, values, input) = match &self.base {
            LogicalPlan::SubqueryAlias(alias) => {
                let values = alias.input.schema().columns().into_iter().map(Expr::Column).collect();
                (alias.schema.columns(), values, Arc::clone(&alias.input))
            }
            LogicalPlan::Projection(projection) => {
                let values = projection.expr.iter().map(|expr| expr.clone().unalias()).collect::<Vec<_>>();
                (projection.schema.columns(), values, Arc::clone(&projection.input))
            }
            LogicalPlan::Filter(filter) => {
                self.conditions.extend(split_conjunction_owned(filter.predicate.clone()));
                return Ok(Some(Arc::clone(&filter.input)));
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                if self.order.is_empty() {
                    self.order.clone_from(&sort.expr);
                }
                return Ok(Some(Arc::clone(&sort.input)));
            }
            LogicalPlan::Subquery(subquery) => return Ok(Some(Arc::clone(&subquery.subquery))),
            _ => return Ok(None),
        };
        self.write_over(&named.into_iter().zip(values).collect())?;
        Ok(Some(input))
    }

    fn write_over(&mut self, values: &HashMap<Column, Expr>) -> Result<()> {
        let exprs = self.columns.iter_mut().chain(&mut self.conditions);
        for expr in exprs.chain(self.order.iter_mut().map(|order| &mut order.expr)) {
            *expr = written_over(std::mem::take(expr), values)?;
        }
        Ok(())
    }
}

/// The expression with these values in place of columns.
pub(super) fn written_over(expr: Expr, values: &HashMap<Column, Expr>) -> Result<Expr> {
    let value = |expr| {
        Ok(match &expr {
            Expr::Column(column) => match values.get(column) {
                Some(value) => Transformed::yes(value.clone()),
                None => Transformed::no(expr),
            },
            _ => Transformed::no(expr),
        })
    };
    expr.transform_up(value).data()
}

/// The expression where the outer row is beside it.
pub(super) fn beside(expr: Expr) -> Result<Expr> {
    let column = |expr| {
        Ok(match expr {
            Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
            other => Transformed::no(other),
        })
    };
    expr.transform_up(column).data()
}

/// True of totals without GROUP BY.
pub(super) fn is_totals(base: &LogicalPlan) -> bool {
    matches!(base, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty())
}
