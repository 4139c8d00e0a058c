// SPDX-License-Identifier: Apache-2.0
//! Fences for filters. DataFusion 55 moves filters down a physical plan by the names of their columns: at every operator it looks for the first column of
//! that name in the input. Above a join of two tables whose columns are named alike that may be the other table's column, and rows are lost. A
//! fence lets a filter pass only where its columns' names stand for one column each. They are there while filters move, and gone afterwards.
//!
//! Projections move, too. One that moves below a join which sorts changes the places of columns, and the join's condition beside its equalities would name
//! the places of before: other columns, or none. No projection passes the fence above such a join.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, FilterDescription, FilterPushdownPhase,
};
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

/// A rule that moves filters, with fences.
#[derive(Debug)]
pub struct FencedFilters(pub Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for FencedFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !has_joins(&plan) {
            return self.0.optimize(plan, config);
        }
        let fenced = plan.transform_up(fenced)?;
        let moved = self.0.optimize(fenced.data, config)?;
        if fenced.transformed { moved.transform_up(unfenced).data() } else { Ok(moved) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// A rule that moves projections, with fences above joins that sort and have conditions.
#[derive(Debug)]
pub struct FencedProjections(pub Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for FencedProjections {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let fenced = plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<SortMergeJoinExec>() {
                Some(join) if join.filter.is_some() => {
                    Transformed::yes(Arc::new(Fence { input: plan, open: HashSet::new() }) as _)
                }
                _ => Transformed::no(plan),
            })
        })?;
        let moved = self.0.optimize(fenced.data, config)?;
        if fenced.transformed { moved.transform_up(unfenced).data() } else { Ok(moved) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// True for a plan in which rows of several inputs meet.
fn has_joins(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let inputs = plan.children();
    inputs.len() > 1 || inputs.into_iter().any(has_joins)
}

/// The operator with a fence above it, if it needs one.
fn fenced(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let (all, open) = (plan.schema().fields().len(), open(plan.as_ref()));
    Ok(match open.len() < all {
        true => Transformed::yes(Arc::new(Fence { input: plan, open })),
        false => Transformed::no(plan),
    })
}

fn unfenced(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    Ok(match plan.downcast_ref::<Fence>() {
        Some(fence) => Transformed::yes(Arc::clone(&fence.input)),
        None => Transformed::no(plan),
    })
}

/// The places of columns whose names no other column has, neither here nor in an input. A projection finds the columns of its input by their places.
fn open(plan: &dyn ExecutionPlan) -> HashSet<usize> {
    let schema = plan.schema();
    let inputs = if plan.is::<ProjectionExec>() { vec![] } else { plan.children() };
    let mut closed = twice(&schema);
    inputs.iter().for_each(|input| closed.extend(twice(&input.schema())));
    closed.extend(strangers(plan));
    (0..schema.fields().len()).filter(|at| !closed.contains(schema.field(*at).name())).collect()
}

/// Names that stand for another column in the other input of a semi-join. What is asked of a column that is joined on, and of no other, is asked of the other
/// input's, too, by its name: that is the column that it is joined with, or one that has nothing to do with it.
fn strangers(plan: &dyn ExecutionPlan) -> HashSet<String> {
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return HashSet::new() };
    let name = |expr: &Arc<dyn PhysicalExpr>| Some(expr.downcast_ref::<Column>()?.name().to_owned());
    let on = join.on().iter();
    let (on, other): (Vec<_>, _) = match join.join_type() {
        JoinType::LeftSemi => (on.map(|(left, right)| (name(left), name(right))).collect(), join.right()),
        JoinType::RightSemi => (on.map(|(left, right)| (name(right), name(left))).collect(), join.left()),
        _ => return HashSet::new(),
    };
    let other = other.schema();
    let is_joined =
        |wanted: &String| on.iter().any(|pair| *pair == (Some(wanted.clone()), Some(wanted.clone())));
    let joined_on = on.iter().filter_map(|(own, _)| own.clone());
    joined_on.filter(|name| other.index_of(name).is_ok() && !is_joined(name)).collect()
}

/// Names of more than one column.
fn twice(schema: &Schema) -> HashSet<String> {
    let mut seen = HashSet::new();
    let names = schema.fields().iter().map(|field| field.name());
    names.filter(|name| !seen.insert(*name)).cloned().collect()
}

/// The rows of its input, as they come.
#[derive(Debug)]
struct Fence {
    input: Arc<dyn ExecutionPlan>,
    /// The places of columns whose filters may pass.
    open: HashSet<usize>,
}

impl DisplayAs for Fence {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Fence")
    }
}

impl ExecutionPlan for Fence {
    fn name(&self) -> &str {
        "Fence"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let (open, input) = (self.open.clone(), &self.input);
        let passed = ChildFilterDescription::from_child_with_allowed_indices(&parent_filters, open, input)?;
        Ok(FilterDescription::new().with_child(passed))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { input: Arc::clone(&children[0]), open: self.open.clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
