// SPDX-License-Identifier: Apache-2.0
//! EXISTS and IN with a subquery in a select list. The planner knows them as conditions; in a list they are made of numbers of rows:
//!
//! ```text
//! EXISTS (SELECT ..)   ->  (SELECT COUNT(*) FROM (SELECT ..)) > 0
//! x IN (SELECT v ..)   ->  CASE WHEN (SELECT COUNT(*) .. WHERE v = x) > 0 THEN TRUE
//!                               WHEN (SELECT COUNT(*) .. WHERE v IS NULL) > 0 THEN NULL
//!                               WHEN x IS NULL AND (SELECT COUNT(*) ..) > 0 THEN NULL
//!                               ELSE FALSE END
//! ```
//!
//! Rows that are chosen by something else than equalities with the outer row are not counted: there are no groups of them. Whether there are such stays a
//! question, for which the list's rows are joined with them for a mark.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, Spans};
use datafusion::functions_aggregate::count::count_all;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{merge_schema, split_conjunction};
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Subquery, lit, not, when,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use crate::rules::is_equality;

/// The name of a number of rows.
const ROWS: &str = "$rows";
/// The name of the rows that are counted.
const LISTED: &str = "$listed";

/// The rule, for behind those about conditions.
#[derive(Debug)]
pub(crate) struct ListedSubqueries;

impl AnalyzerRule for ListedSubqueries {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            if !matches!(plan, LogicalPlan::Projection(_)) {
                return Ok(Transformed::no(plan));
            }
            let (schema, names) = (merge_schema(&plan.inputs()), NamePreserver::new(&plan));
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let counted = expr.transform_up(|expr| counted(expr, &schema))?;
                Ok(counted.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "listed_subqueries"
    }
}

fn counted(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::Exists(Exists { subquery, negated }) => {
            let has_rows = has_rows(rows_of(&subquery)?, subquery.outer_ref_columns)?;
            Transformed::yes(if negated { not(has_rows) } else { has_rows })
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) if !expr.is_volatile() => {
            let is_member = is_member(*expr, &subquery, schema)?;
            Transformed::yes(if negated { not(is_member) } else { is_member })
        }
        other => Transformed::no(other),
    })
}

/// The rows of a subquery, which have a name of their own unless it names both its own tables and the outer query's, which may have one.
fn rows_of(subquery: &Subquery) -> Result<LogicalPlanBuilder> {
    let rows = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery));
    if subquery.outer_ref_columns.is_empty() { rows.alias(LISTED) } else { Ok(rows) }
}

/// Whether there is a row.
fn has_rows(rows: LogicalPlanBuilder, outer_ref_columns: Vec<Expr>) -> Result<Expr> {
    if !is_of_equals(rows.plan()) {
        let subquery = Subquery { subquery: Arc::new(rows.build()?), outer_ref_columns, spans: Spans::new() };
        return Ok(Expr::Exists(Exists { subquery, negated: false }));
    }
    let rows = if outer_ref_columns.is_empty() { rows.limit(0, Some(1))? } else { rows };
    let total = rows.aggregate(Vec::<Expr>::new(), [count_all()])?;
    let number = Expr::Column(Column::from(total.schema().qualified_field(0)));
    let subquery = Arc::new(total.project([number.alias(ROWS)])?.build()?);
    let number = Expr::ScalarSubquery(Subquery { subquery, outer_ref_columns, spans: Spans::new() });
    Ok(number.gt(lit(0_i64)))
}

/// True unless something else than an equality with the outer row chooses rows.
fn is_of_equals(rows: &LogicalPlan) -> bool {
    let mut is_of_equals = true;
    let look = |step: &LogicalPlan| {
        if let LogicalPlan::Filter(filter) = step {
            let mut asked =
                split_conjunction(&filter.predicate).into_iter().filter(|part| part.contains_outer());
            is_of_equals &= asked.all(is_equality);
        }
        Ok(TreeNodeRecursion::Continue)
    };
    rows.apply(look).expect("the closure does not fail");
    is_of_equals
}

fn is_member(x: Expr, subquery: &Subquery, schema: &DFSchema) -> Result<Expr> {
    let may_be_null = x.nullable(schema)?;
    let around = subquery.outer_ref_columns.clone();
    let mut outer = around.clone();
    let of_outer = |expr: Expr| match expr {
        Expr::Column(column) => {
            let reference =
                Expr::OuterReferenceColumn(Arc::clone(schema.field_from_column(&column)?), column);
            if !outer.contains(&reference) {
                outer.push(reference.clone());
            }
            Ok(Transformed::yes(reference))
        }
        other => Ok(Transformed::no(other)),
    };
    let outside = x.clone().transform(of_outer).data()?;
    let rows = rows_of(subquery)?;
    let (qualifier, field) = rows.schema().qualified_field(0);
    let value = Expr::Column(Column::from((qualifier, field)));
    let nulls = field.is_nullable();
    let unknown = lit(ScalarValue::Boolean(None));
    let mut cases = when(has_rows(rows.clone().filter(value.clone().eq(outside))?, outer)?, lit(true));
    if nulls {
        cases = cases.when(has_rows(rows.clone().filter(value.is_null())?, around.clone())?, unknown.clone());
    }
    if may_be_null {
        cases = cases.when(x.is_null().and(has_rows(rows, around)?), unknown);
    }
    cases.otherwise(lit(false))
}
