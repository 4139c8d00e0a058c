// SPDX-License-Identifier: Apache-2.0
//! The order of joins: a tree of inner joins is taken apart into its inputs and conditions and put together again in the
//! [cheapest order](super::graph), whatever the order in which the statement names them.
//!
//! A join that only asks whether there is a partner (`IN`, `EXISTS`, and their negations) stays above such a tree, unless it
//! asks one input alone and that input has fewer rows than the tree: then it goes down to it, and the tree gets fewer rows.
//!
//! What comes out has the columns that came in, in their order.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchemaRef, NullEquality};
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, Join, JoinConstraint, JoinType, LogicalPlan, Projection};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::estimate::Leaf;
use super::graph::{Graph, Set, Tree};

/// Inputs of a tree, at most.
const LEAVES_MAX: usize = 48;

/// The rule, for after conditions were moved to where they belong.
#[derive(Debug)]
pub(crate) struct JoinOrder;

impl OptimizerRule for JoinOrder {
    fn name(&self) -> &str {
        "join_order"
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        reorder(plan)
    }
}

fn reorder(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let top = match &plan {
        LogicalPlan::Join(join) if is_inner(join) => Some(&plan),
        LogicalPlan::Join(join) if asks_for_partner(join) => Some(&*join.left),
        _ => None,
    };
    if let Some(top) = top
        && let Some(graph) = graph_of(top)?
    {
        return ordered(&plan, graph);
    }
    let plan = plan.map_children(reorder)?;
    plan.transform_data(|plan| plan.map_subqueries(reorder))
}

fn is_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing
}

fn asks_for_partner(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) && !join.null_aware
}

/// The best order of a tree of joins, or of one under a join that asks for partners.
fn ordered(plan: &LogicalPlan, mut graph: Graph) -> Result<Transformed<LogicalPlan>> {
    let mut asking = match plan {
        LogicalPlan::Join(join) if !is_inner(join) => Some(join.clone()),
        _ => None,
    };
    for leaf in &mut graph.leaves {
        *leaf = Leaf::new(reorder(LogicalPlan::clone(&leaf.plan))?.data);
    }
    let mut tree = graph.order();
    if let Some(join) = &mut asking {
        join.right = Arc::new(reorder(LogicalPlan::clone(&join.right))?.data);
        if let Some(leaf) = leaf_asked(join, &graph)
            && graph.leaves[leaf].estimate.rows <= tree.rows()
        {
            let mut below = asking.take().expect("it was just there");
            below.left = Arc::clone(&graph.leaves[leaf].plan);
            below.schema = Arc::clone(below.left.schema());
            graph.leaves[leaf] = Leaf::new(LogicalPlan::Join(below));
            tree = graph.order();
        }
    }
    let schema = match plan {
        LogicalPlan::Join(join) if !is_inner(join) => join.left.schema(),
        plan => plan.schema(),
    };
    let found = with_columns(joined(&graph, &tree, tree.all())?, schema)?;
    let found = match asking {
        Some(join) => LogicalPlan::Join(Join { left: Arc::new(found), ..join }),
        None => found,
    };
    Ok(if found == *plan { Transformed::no(found) } else { Transformed::yes(found) })
}

/// The only input of whose columns a join asks, beside its own right side.
fn leaf_asked(join: &Join, graph: &Graph) -> Option<usize> {
    let mut columns: Vec<&Column> = join.on.iter().flat_map(|(left, _)| left.column_refs()).collect();
    if let Some(filter) = &join.filter {
        let of_right = |column: &&Column| join.right.schema().has_column(column);
        columns.extend(filter.column_refs().into_iter().filter(|column| !of_right(column)));
    }
    let mut leaves = columns.into_iter().map(|column| leaf_of(&graph.leaves, column));
    let first = leaves.next()??;
    leaves.all(|leaf| leaf == Some(first)).then_some(first)
}

fn leaf_of(leaves: &[Leaf], column: &Column) -> Option<usize> {
    leaves.iter().position(|leaf| leaf.plan.schema().has_column(column))
}

/// A tree of inner joins taken apart; `None` if it is none, or has an order only.
fn graph_of(plan: &LogicalPlan) -> Result<Option<Graph>> {
    let mut graph = Graph::default();
    let mut pairs = Vec::new();
    let mut conditions = Vec::new();
    take_apart(plan, &mut graph, &mut pairs, &mut conditions);
    if !(3..=LEAVES_MAX).contains(&graph.leaves.len()) {
        return Ok(None);
    }
    for (left, right) in pairs {
        if let (Some(a), Some(b)) = (left.try_as_col(), right.try_as_col()) {
            let (Some(of_a), Some(of_b)) = (leaf_of(&graph.leaves, a), leaf_of(&graph.leaves, b)) else {
                return Ok(None);
            };
            graph.equate((of_a, a.clone()), (of_b, b.clone()));
            continue;
        }
        let (Some(of_left), Some(of_right)) = (set_of(&graph, &left), set_of(&graph, &right)) else {
            return Ok(None);
        };
        graph.equal.push(((left, of_left), (right, of_right)));
    }
    for condition in conditions {
        let Some(of) = set_of(&graph, &condition) else { return Ok(None) };
        graph.conditions.push((condition, of));
    }
    filter_leaves(&mut graph)?;
    Ok(Some(graph))
}

/// The inputs whose columns an expression names; `None` without any.
fn set_of(graph: &Graph, expr: &Expr) -> Option<Set> {
    let mut set = 0;
    for column in expr.column_refs() {
        set |= 1 << leaf_of(&graph.leaves, column)?;
    }
    (set != 0).then_some(set)
}

fn take_apart(
    plan: &LogicalPlan,
    graph: &mut Graph,
    pairs: &mut Vec<(Expr, Expr)>,
    conditions: &mut Vec<Expr>,
) {
    match plan {
        LogicalPlan::Join(join) if is_inner(join) => {
            take_apart(&join.left, graph, pairs, conditions);
            take_apart(&join.right, graph, pairs, conditions);
            pairs.extend(join.on.iter().cloned());
            conditions.extend(join.filter.iter().cloned().flat_map(split_conjunction_owned));
        }
        LogicalPlan::Projection(Projection { expr, input, .. })
            if matches!(&**input, LogicalPlan::Join(join) if is_inner(join))
                && expr.iter().all(|expr| matches!(expr, Expr::Column(_))) =>
        {
            take_apart(input, graph, pairs, conditions);
        }
        leaf => graph.leaves.push(Leaf::new(leaf.clone())),
    }
}

/// Conditions on one input alone go to it, and so do columns of it that are equal.
fn filter_leaves(graph: &mut Graph) -> Result<()> {
    let mut of_leaves: Vec<Vec<Expr>> = vec![Vec::new(); graph.leaves.len()];
    graph.conditions.retain(|(condition, of)| {
        let alone = of.is_power_of_two();
        if alone {
            of_leaves[of.trailing_zeros() as usize].push(condition.clone());
        }
        !alone
    });
    for class in &graph.classes {
        for (at, (leaf, column)) in class.iter().enumerate() {
            if let Some((_, first)) = class[..at].iter().find(|(other, _)| other == leaf) {
                of_leaves[*leaf].push(Expr::Column(first.clone()).eq(Expr::Column(column.clone())));
            }
        }
    }
    for (leaf, conditions) in graph.leaves.iter_mut().zip(of_leaves) {
        if let Some(condition) = conjunction(conditions) {
            *leaf = Leaf::new(LogicalPlan::Filter(Filter::try_new(condition, Arc::clone(&leaf.plan))?));
        }
    }
    Ok(())
}

/// The joins of a set of inputs.
fn joined(graph: &Graph, tree: &Tree, of: Set) -> Result<LogicalPlan> {
    let Some((left, right)) = tree.sides(of) else {
        return Ok(LogicalPlan::clone(&graph.leaves[of.trailing_zeros() as usize].plan));
    };
    let mut on: Vec<(Expr, Expr)> = graph
        .keys(left, right)
        .map(|(left, right)| (Expr::Column(left.clone()), Expr::Column(right.clone())))
        .collect();
    let is_here = |set: Set| set & of == set && set & left != set && set & right != set;
    let within = |set: Set, side: Set| set & side == set;
    let mut conditions = Vec::new();
    for ((a, of_a), (b, of_b)) in graph.equal.iter().filter(|((_, a), (_, b))| is_here(a | b)) {
        if within(*of_a, left) && within(*of_b, right) {
            on.push((a.clone(), b.clone()));
        } else if within(*of_b, left) && within(*of_a, right) {
            on.push((b.clone(), a.clone()));
        } else {
            conditions.push(a.clone().eq(b.clone()));
        }
    }
    let others = graph.conditions.iter().filter(|(_, of)| is_here(*of));
    conditions.extend(others.map(|(condition, _)| condition.clone()));
    Ok(LogicalPlan::Join(Join::try_new(
        Arc::new(joined(graph, tree, left)?),
        Arc::new(joined(graph, tree, right)?),
        on,
        conjunction(conditions),
        JoinType::Inner,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?))
}

/// The columns of a schema, in its order.
fn with_columns(plan: LogicalPlan, schema: &DFSchemaRef) -> Result<LogicalPlan> {
    if plan.schema().columns() == schema.columns() {
        return Ok(plan);
    }
    let columns = schema.columns().into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

#[cfg(test)]
mod tests;
