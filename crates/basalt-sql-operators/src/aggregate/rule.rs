// SPDX-License-Identifier: Apache-2.0
//! Puts [`NumberAggregate`] or [`DistinctRuns`] in the place of the planner's operator, where they can compute the same.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};

use super::ShortSource;
use super::exec::NumberAggregate;
use super::plan::Plan;
use crate::distinct_runs::DistinctRuns;

/// The rule, for after all others: plans that it changed are not to be changed further.
#[derive(Debug)]
pub struct AggregateNumbers {
    source: ShortSource,
}

impl AggregateNumbers {
    /// The rule; `source` knows the scans that have rows in short form.
    pub fn new(source: ShortSource) -> Self {
        Self { source }
    }
}

impl PhysicalOptimizerRule for AggregateNumbers {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = |plan: Arc<dyn ExecutionPlan>| match plan.downcast_ref::<AggregateExec>() {
            Some(aggregation) => Ok(replacement(aggregation, self.source)?
                .map_or_else(|| Transformed::no(plan), Transformed::yes)),
            None => Ok(Transformed::no(plan)),
        };
        plan.transform_up(replaced).data()
    }

    fn name(&self) -> &str {
        "aggregate_numbers"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn replacement(aggregation: &AggregateExec, source: ShortSource) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(runs) = DistinctRuns::of(aggregation) {
        return Ok(Some(Arc::new(runs)));
    }
    let second = match aggregation.mode() {
        AggregateMode::Partial => None,
        AggregateMode::Single => Some(AggregateMode::Final),
        AggregateMode::SinglePartitioned => Some(AggregateMode::FinalPartitioned),
        _ => return Ok(None),
    };
    let Some((plan, input)) = Plan::of(aggregation) else { return Ok(None) };
    let Some(second) = second else {
        return Ok(Some(Arc::new(NumberAggregate::new(aggregation, plan, input, source))));
    };
    let first = |partial: &AggregateExec| Arc::new(NumberAggregate::new(partial, plan, input, source)) as _;
    in_two_steps(aggregation, second, first).map(Some)
}

/// An aggregation of one step as two, of which the second finishes what the first has added up. `first` stands for the first step,
/// which it is given as the planner would make it.
pub fn in_two_steps(
    aggregation: &AggregateExec,
    second: AggregateMode,
    first: impl FnOnce(&AggregateExec) -> Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let step = |mode, group_by, input| {
        let aggregates = aggregation.aggr_expr().to_vec();
        let filters = aggregation.filter_expr().to_vec();
        AggregateExec::try_new(mode, group_by, aggregates, filters, input, aggregation.input_schema())
    };
    let partial =
        step(AggregateMode::Partial, aggregation.group_expr().clone(), Arc::clone(aggregation.input()))?;
    Ok(Arc::new(step(second, aggregation.group_expr().as_final(), first(&partial))?))
}
