// SPDX-License-Identifier: Apache-2.0
//! What an aggregation of the planner is in our terms, if it is one that we compute.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use super::terms::Terms;

/// What is computed of the rows of an input.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Columns of the input by which rows are grouped.
    pub(super) group_by: Vec<usize>,
    pub(super) terms: Terms,
    /// Terms that are added up, each once.
    pub(super) sums: Vec<usize>,
    /// What is counted, each once.
    pub(super) counts: Vec<Counted>,
    /// The columns that follow those of the groups.
    pub(super) states: Vec<State>,
}

/// Rows that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    All,
    /// Those in which a term is not NULL.
    Term(usize),
    /// Those in which a column of the input is not NULL.
    Column(usize),
}

/// A column of the result, by the number of what it shows.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    Count(usize),
    /// What an average is divided by: NULL where nothing was counted.
    Divisor(usize),
    /// A sum, and the count that says whether it is one of anything.
    Sum(usize, usize),
}

impl Plan {
    /// The plan of an aggregation whose input is what is returned with it; `None` if it is none of ours.
    pub(super) fn of(aggregation: &AggregateExec) -> Option<(Self, Arc<dyn ExecutionPlan>)> {
        let plain = aggregation.group_expr().is_single()
            && *aggregation.input_order_mode() == InputOrderMode::Linear
            && aggregation.limit_options().is_none()
            && aggregation.filter_expr().iter().all(Option::is_none);
        if !plain {
            return None;
        }
        let mut input = Input::of(aggregation.input());
        // Computations below the aggregation are made here as well, where they can be.
        if let Some(below) = input.without_projection()
            && let Some(plan) = Self::over(aggregation, &below)
        {
            return Some((plan, below.plan));
        }
        input.computed = None;
        Self::over(aggregation, &input).map(|plan| (plan, input.plan))
    }

    fn over(aggregation: &AggregateExec, input: &Input) -> Option<Self> {
        let mut plan =
            Self { group_by: vec![], terms: Terms::default(), sums: vec![], counts: vec![], states: vec![] };
        for (expr, _) in aggregation.group_expr().expr() {
            plan.group_by.push(input.expression(expr).ok()?.downcast_ref::<Column>()?.index());
        }
        for aggregate in aggregation.aggr_expr() {
            plan.add(aggregate, input)?;
        }
        (!plan.states.is_empty()).then_some(plan)
    }

    fn add(&mut self, aggregate: &AggregateFunctionExpr, input: &Input) -> Option<()> {
        if aggregate.is_distinct() || !aggregate.order_bys().is_empty() {
            return None;
        }
        let arguments = aggregate.expressions();
        let [argument] = arguments.as_slice() else { return None };
        let argument = input.expression(argument).ok()?;
        match aggregate.fun().name() {
            "count" => {
                let counted = match argument.downcast_ref::<Literal>() {
                    Some(literal) if !literal.value().is_null() => Counted::All,
                    _ => Counted::Column(argument.downcast_ref::<Column>()?.index()),
                };
                let count = self.count(counted);
                self.states.push(State::Count(count));
            }
            name @ ("sum" | "avg") => {
                let types = aggregate.state_fields().ok()?;
                let known = |data_type: &DataType| {
                    matches!(data_type, DataType::Decimal128(..) | DataType::Int64 | DataType::UInt64)
                };
                if !types.iter().all(|field| known(field.data_type())) {
                    return None;
                }
                let term = self.terms.add(&argument, &input.schema)?;
                let sum = find_or_push(&mut self.sums, term);
                let count = self.count(Counted::Term(term));
                if name == "avg" {
                    self.states.push(State::Divisor(count));
                }
                self.states.push(State::Sum(sum, count));
            }
            _ => return None,
        }
        Some(())
    }

    fn count(&mut self, counted: Counted) -> usize {
        find_or_push(&mut self.counts, counted)
    }
}

fn find_or_push<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|known| *known == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// Where rows come from, and what is computed of them before they are aggregated.
struct Input {
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    computed: Option<Arc<dyn ExecutionPlan>>,
}

impl Input {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self { plan: Arc::clone(plan), schema: plan.schema(), computed: None }
    }

    /// The input of the projection that this is, if it is one.
    fn without_projection(&self) -> Option<Self> {
        let projection = self.plan.downcast_ref::<ProjectionExec>()?;
        let below = Self::of(projection.input());
        Some(Self { computed: Some(Arc::clone(&self.plan)), ..below })
    }

    /// An expression of the aggregation, on the columns of this input.
    fn expression(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(projection) = self.computed.as_ref().and_then(|plan| plan.downcast_ref::<ProjectionExec>())
        else {
            return Ok(Arc::clone(expr));
        };
        below_projection(expr, projection)
    }
}

/// An expression on the columns of a projection, on those of its input.
pub fn below_projection(
    expr: &Arc<dyn PhysicalExpr>,
    projection: &ProjectionExec,
) -> Result<Arc<dyn PhysicalExpr>> {
    let computed = |expr: Arc<dyn PhysicalExpr>| {
        let column = expr.downcast_ref::<Column>().map(Column::index);
        Ok(match column.and_then(|index| projection.expr().get(index)) {
            // What stands for a column is on the columns below, which have other numbers.
            Some(computed) => Transformed::new(Arc::clone(&computed.expr), true, TreeNodeRecursion::Jump),
            None => Transformed::no(expr),
        })
    };
    Arc::clone(expr).transform_down(computed).data()
}

/// The fields of the columns by which rows are grouped, as the input has them.
pub(super) fn group_schema(schema: &Schema, group_by: &[usize]) -> Result<SchemaRef> {
    Ok(Arc::new(schema.project(group_by)?))
}
