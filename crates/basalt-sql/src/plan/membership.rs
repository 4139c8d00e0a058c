// SPDX-License-Identifier: Apache-2.0
//! `x IN (SELECT …)` inside of OR and NOT, where x or a row of the subquery is NULL.
//!
//! The planner turns it into a mark: true if a row equals x, else false. Where unknown counts as false, as it does for a
//! condition's own parts, that is the same. Under NOT it is not: `NOT unknown` would become true. There the question is asked
//! the other way round, so that what is unknown comes out true before it is negated: is there a row that equals x, or one that is NULL, or any row
//! if x is NULL? `NOT IN` as a condition of its own is a join that knows of NULL, and stays, unless the subquery mentions the outer row, or x
//! may be the same for all rows: no column is left for the join then, and the planner looks among the rows that equal x alone.
//!
//! Below anything but AND, OR and NOT all three are told apart: first it is asked whether a row equals x, then whether one may.
//!
//! Totals without GROUP BY are one row, also of nothing. The planner would look for x among the totals of outer rows that have a partner, so that
//! `x IN (SELECT COUNT(*) ..)` of the outer row becomes `x = (SELECT COUNT(*) ..)` in any place.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, Spans};
use datafusion::logical_expr::expr::{Case, Exists, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery, SubqueryAlias,
    lit, not, when,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use super::existence::with_member;

/// The name of a subquery's rows.
const MEMBERS: &str = "$members";

/// The rule, for after types were made equal.
#[derive(Debug)]
pub(crate) struct UnknownMembership;

impl AnalyzerRule for UnknownMembership {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut questions = 0;
        plan.transform_up_with_subqueries(|plan| of_plan(plan, &mut questions)).data()
    }

    fn name(&self) -> &str {
        "unknown_membership"
    }
}

fn of_plan(plan: LogicalPlan, questions: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = &plan else {
        return Ok(Transformed::no(plan));
    };
    let before = *questions;
    let predicate = predicate.clone().transform_up(|expr| Ok(of_total(expr, questions))).data()?;
    let part = |part: Expr| match part {
        Expr::InSubquery(InSubquery { negated: false, .. }) => Ok(part),
        Expr::InSubquery(ref of) if joins_rows(of) => Ok(part),
        Expr::Not(inner) if matches!(*inner, Expr::InSubquery(_)) => {
            let Expr::InSubquery(InSubquery { expr, subquery, negated }) = *inner else {
                unreachable!("just looked at")
            };
            *questions += 1;
            Ok(Expr::InSubquery(InSubquery { expr, subquery, negated: !negated }))
        }
        part => of_condition(part, false, input.schema(), questions),
    };
    let parts = split_conjunction_owned(predicate).into_iter().map(part).collect::<Result<Vec<_>>>()?;
    match conjunction(parts) {
        Some(predicate) if *questions > before => {
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, Arc::clone(input))?)))
        }
        _ => Ok(Transformed::no(plan)),
    }
}

/// True of `x NOT IN (SELECT ..)` that becomes a join which knows of NULL.
fn joins_rows(of: &InSubquery) -> bool {
    of.subquery.outer_ref_columns.is_empty() && !may_be_constant(&of.expr)
}

/// True of what may come out, once it is simplified, as the same for every row.
fn may_be_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => false,
        Expr::Alias(alias) => may_be_constant(&alias.expr),
        Expr::Cast(cast) => may_be_constant(&cast.expr),
        Expr::TryCast(cast) => may_be_constant(&cast.expr),
        Expr::Negative(negated) => may_be_constant(negated),
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => may_be_constant(left) && may_be_constant(right),
        // COALESCE and its like have a constant if it comes first.
        Expr::ScalarFunction(function) => function.args.first().is_none_or(may_be_constant),
        _ => true,
    }
}

/// `x = (SELECT ..)` for `x IN (SELECT ..)` of totals of the outer row.
fn of_total(expr: Expr, questions: &mut usize) -> Transformed<Expr> {
    match expr {
        Expr::InSubquery(InSubquery { expr, subquery, negated })
            if is_one_row(&subquery.subquery) && !subquery.outer_ref_columns.is_empty() =>
        {
            *questions += 1;
            let equal = Expr::eq(*expr, Expr::ScalarSubquery(subquery));
            Transformed::yes(if negated { not(equal) } else { equal })
        }
        other => Transformed::no(other),
    }
}

/// True for totals without groups, perhaps under other names.
fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => is_one_row(input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// The condition with the same rows for which it is true, or under an odd number of NOTs, is false.
fn of_condition(expr: Expr, under_not: bool, schema: &DFSchema, questions: &mut usize) -> Result<Expr> {
    let mut of = |expr: Box<Expr>, under_not| of_condition(*expr, under_not, schema, questions).map(Box::new);
    Ok(match expr {
        Expr::Not(inner) => Expr::Not(of(inner, !under_not)?),
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            Expr::BinaryExpr(BinaryExpr { left: of(left, under_not)?, op, right: of(right, under_not)? })
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) if under_not != negated => {
            *questions += 1;
            let subquery = equal_or_null(*expr, subquery, schema)?;
            Expr::Exists(Exists { subquery, negated })
        }
        Expr::InSubquery(_) | Expr::Exists(_) | Expr::ScalarSubquery(_) => expr,
        // What makes a condition's part of it asks whether it is true.
        Expr::Case(Case { expr: None, when_then_expr, else_expr }) => {
            let mut arms = Vec::with_capacity(when_then_expr.len());
            for (when, then) in when_then_expr {
                let when = of_condition(*when, false, schema, questions)?;
                arms.push((Box::new(when), Box::new(of_value(*then, schema, questions)?)));
            }
            let other = else_expr.map(|other| of_value(*other, schema, questions)).transpose()?;
            Expr::Case(Case { expr: None, when_then_expr: arms, else_expr: other.map(Box::new) })
        }
        other => of_value(other, schema, questions)?,
    })
}

/// The expression, in which what is unknown is so.
fn of_value(expr: Expr, schema: &DFSchema, questions: &mut usize) -> Result<Expr> {
    let told_apart = |expr: Expr| match expr {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            *questions += 1;
            let unknown = equal_or_null((*expr).clone(), subquery.clone(), schema)?;
            let unknown = Expr::Exists(Exists { subquery: unknown, negated: false });
            let found = Expr::InSubquery(InSubquery { expr, subquery, negated: false });
            let mut told = when(found, lit(!negated)).when(unknown, lit(ScalarValue::Boolean(None)));
            Ok(Transformed::yes(told.otherwise(lit(negated))?))
        }
        other => Ok(Transformed::no(other)),
    };
    expr.transform_up(told_apart).data()
}

/// The rows of a subquery that equal x, or are NULL; if x is NULL all of them.
fn equal_or_null(x: Expr, subquery: Subquery, schema: &DFSchema) -> Result<Subquery> {
    let is_correlated = !subquery.outer_ref_columns.is_empty();
    let mut outer = subquery.outer_ref_columns;
    let of_outer = |expr: Expr| match expr {
        Expr::Column(column) => {
            let field = Arc::clone(schema.field_from_column(&column)?);
            let reference = Expr::OuterReferenceColumn(field, column);
            if !outer.contains(&reference) {
                outer.push(reference.clone());
            }
            Ok(Transformed::yes(reference))
        }
        other => Ok(Transformed::no(other)),
    };
    let x = x.transform(of_outer).data()?;
    let rows = Arc::unwrap_or_clone(subquery.subquery);
    let rows = match is_correlated {
        true => LogicalPlanBuilder::from(with_member(rows)?),
        // Its tables may be those of the outer query under the same names, unless it names both.
        false => LogicalPlanBuilder::from(rows).alias(MEMBERS)?,
    };
    let value = Expr::Column(Column::from(rows.schema().qualified_field(0)));
    let unknown = value.clone().is_null().or(x.clone().is_null());
    let plan = rows.filter(value.eq(x).or(unknown))?.build()?;
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns: outer, spans: Spans::new() })
}
