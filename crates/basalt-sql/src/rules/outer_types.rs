// SPDX-License-Identifier: Apache-2.0
//! The types of the outer row's columns. A UNION of two types gets the common one from the planner's rule about types, DataFusion 55's `TypeCoercion`; what a subquery calls
//! a column of it still has the type of before, that of the first query. A comparison with it would be one of two types, which fails when it runs.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;

/// The rule, for behind `TypeCoercion`, which is asked again if a type has changed.
#[derive(Debug)]
pub(crate) struct OuterTypes;

impl AnalyzerRule for OuterTypes {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let typed = plan.transform_up_with_subqueries(of_plan)?;
        if typed.transformed { TypeCoercion::new().analyze(typed.data, config) } else { Ok(typed.data) }
    }

    fn name(&self) -> &str {
        "outer_types"
    }
}

fn of_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let outer: Vec<_> = plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect();
    let of_inputs = match plan {
        LogicalPlan::Join(mut join) => {
            let left = [Arc::clone(join.left.schema())];
            let right = Arc::unwrap_or_clone(join.right).transform_up(|step| match step {
                LogicalPlan::Subquery(subquery) => {
                    Ok(typed(subquery, &left)?.update_data(LogicalPlan::Subquery))
                }
                other => Ok(Transformed::no(other)),
            })?;
            let changed = right.transformed;
            join.right = Arc::new(right.data);
            Transformed::new_transformed(LogicalPlan::Join(join), changed)
        }
        plan => Transformed::no(plan),
    };
    of_inputs.transform_data(|plan| {
        plan.map_expressions(|expr| {
            expr.transform_up(|expr| {
                Ok(match expr {
                    Expr::Exists(Exists { subquery, negated }) => typed(subquery, &outer)?
                        .update_data(|subquery| Expr::Exists(Exists { subquery, negated })),
                    Expr::InSubquery(InSubquery { expr, subquery, negated }) => typed(subquery, &outer)?
                        .update_data(|subquery| Expr::InSubquery(InSubquery { expr, subquery, negated })),
                    Expr::ScalarSubquery(subquery) => {
                        typed(subquery, &outer)?.update_data(Expr::ScalarSubquery)
                    }
                    other => Transformed::no(other),
                })
            })
        })
    })
}

/// The subquery, whose outer columns have the types that they have there.
fn typed(subquery: Subquery, outer: &[DFSchemaRef]) -> Result<Transformed<Subquery>> {
    let field_of = |expr: Expr| {
        let Expr::OuterReferenceColumn(field, column) = &expr else { return Ok(Transformed::no(expr)) };
        let actual = outer.iter().find_map(|schema| {
            let at = schema.maybe_index_of_column(column)?;
            Some(Arc::clone(&schema.fields()[at]))
        });
        Ok(match actual.filter(|actual| actual.data_type() != field.data_type()) {
            Some(actual) => Transformed::yes(Expr::OuterReferenceColumn(actual, column.clone())),
            None => Transformed::no(expr),
        })
    };
    let plan = subquery.subquery.as_ref().clone();
    let plan = plan.transform_up(|step| step.map_expressions(|expr| expr.transform_up(field_of)))?;
    Ok(match plan.transformed {
        true => Transformed::yes(subquery.with_plan(Arc::new(plan.data))),
        false => Transformed::no(subquery),
    })
}
