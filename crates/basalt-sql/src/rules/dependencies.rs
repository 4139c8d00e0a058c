// SPDX-License-Identifier: Apache-2.0
//! What a derived table's groups say of the rows that it is joined to: nothing.
//!
//! The columns that a table was grouped by tell its rows apart, and what DataFusion 55 knows of that goes with the rows through a join: there they still say
//! what the other columns of their table are. Groups of the joined rows make more of it, that they say what all columns of the result are:
//!
//! ```text
//! SELECT DISTINCT o.k, b.k FROM (SELECT k FROM o GROUP BY k) o, b ORDER BY o.k, b.k    -- the order by b.k is left away
//! ```
//!
//! So does a second grouping of them with its groups. Here nothing is known of the rows of a join: [`Forget`] is for before the rules that
//! would make use of it, [`DerivedTables`] is for the planner.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DFSchemaRef, FunctionalDependencies, Result};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::sql::sqlparser::ast::TableFactor;

/// The rule: joins forget what their inputs say of their columns.
#[derive(Debug)]
pub(super) struct Forget(pub(super) &'static str);

impl OptimizerRule for Forget {
    fn name(&self) -> &str {
        self.0
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(forgotten)
    }
}

fn forgotten(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if plan.schema().functional_dependencies().is_empty() {
        return Ok(Transformed::no(plan));
    }
    let plan = match plan {
        LogicalPlan::Join(mut join) => {
            join.schema = without_dependencies(&join.schema)?;
            return Ok(Transformed::yes(LogicalPlan::Join(join)));
        }
        plan => plan,
    };
    // What is said above a join was said by it.
    let has_inputs = plan.inputs().iter().any(|input| has_join(input));
    if has_inputs { plan.recompute_schema().map(Transformed::yes) } else { Ok(Transformed::no(plan)) }
}

fn has_join(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(_)) || plan.inputs().into_iter().any(has_join)
}

fn without_dependencies(schema: &DFSchema) -> Result<DFSchemaRef> {
    let schema = schema.clone().with_functional_dependencies(FunctionalDependencies::empty())?;
    Ok(Arc::new(schema))
}

/// Plans derived tables and WITH as DataFusion does, and lets them say nothing of their columns: the planner adds what a column of GROUP BY determines to the groups.
#[derive(Debug)]
pub(crate) struct DerivedTables;

thread_local! {
    /// True while DataFusion is asked for a relation that it is to plan by itself.
    static IS_ASKED: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for DerivedTables {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if IS_ASKED.take() || !matches!(relation, TableFactor::Derived { .. } | TableFactor::Table { .. }) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        IS_ASKED.set(true);
        let plan = context.plan(relation);
        IS_ASKED.set(false);
        let plan = plan?;
        if plan.schema().functional_dependencies().is_empty() {
            return Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))));
        }
        let schema = without_dependencies(plan.schema())?;
        let plan = match plan {
            LogicalPlan::SubqueryAlias(mut alias) => {
                alias.schema = schema;
                LogicalPlan::SubqueryAlias(alias)
            }
            plan => {
                let list = plan.schema().columns().into_iter().map(Expr::Column);
                let list = Projection::try_new_with_schema(list.collect(), Arc::new(plan), schema)?;
                LogicalPlan::Projection(list)
            }
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}
