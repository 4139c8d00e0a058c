// SPDX-License-Identifier: Apache-2.0
//! Rules that are asked only where a plan has what they are about. Asking costs more than looking: a rule goes through the plan node by node,
//! and the planner checks the plan behind each.

use std::ops::BitOr;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use crate::scan::BasaltScan;

/// What a plan has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Contents(u8);

impl Contents {
    const NOTHING: Self = Self(0);
    /// Joins, unions: nodes of several inputs.
    const SEVERAL_INPUTS: Self = Self(1);
    const WINDOWS: Self = Self(2);
    const LIMITS: Self = Self(4);
    /// Also an order that the plan must come to, while rules are at work: what had to be sorted for it may be in order by then.
    const SORTS: Self = Self(8);
    const AGGREGATES: Self = Self(16);
    const FILTERS: Self = Self(32);
    const PROJECTIONS: Self = Self(64);
    /// Leaves that may know for sure how many rows they have.
    const COUNTED: Self = Self(128);

    fn of(plan: &dyn ExecutionPlan) -> Self {
        let children = plan.children();
        let own = match children.len() {
            0 if plan.downcast_ref::<BasaltScan>().is_none_or(|scan| scan.rows_exact().is_some()) => {
                Self::COUNTED
            }
            0 => Self::NOTHING,
            1 => Self::of_step(plan),
            _ => Self::SEVERAL_INPUTS,
        };
        children.into_iter().fold(own, |all, child| all | Self::of(child.as_ref()))
    }

    /// Of a node with one input.
    fn of_step(plan: &dyn ExecutionPlan) -> Self {
        let limit = if plan.fetch().is_some() { Self::LIMITS } else { Self::NOTHING };
        limit | Self::of_kind(plan)
    }

    fn of_kind(plan: &dyn ExecutionPlan) -> Self {
        if plan.is::<ProjectionExec>() {
            Self::PROJECTIONS
        } else if plan.is::<AggregateExec>() {
            Self::AGGREGATES
        } else if plan.is::<FilterExec>() {
            Self::FILTERS
        } else if plan.is::<SortExec>()
            || plan.is::<SortPreservingMergeExec>()
            || plan.is::<OutputRequirementExec>()
        {
            Self::SORTS
        } else if plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>() {
            Self::LIMITS
        } else if plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>() {
            Self::WINDOWS
        } else {
            Self::NOTHING
        }
    }

    fn has_all(self, of: Self) -> bool {
        self.0 & of.0 == of.0
    }
}

impl BitOr for Contents {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a plan must have for a rule to change it; nothing of rules that are not named here.
fn needs(rule: &str) -> Contents {
    match rule {
        "join_keys_in_scan"
        | "join_selection"
        | "joins_take_turns"
        | "kept_orders"
        | "nullable_join_filters"
        | "HashJoinBuffering" => Contents::SEVERAL_INPUTS,
        "WindowTopN" | "LimitPushPastWindows" | "windows_ask_for_memory" => Contents::WINDOWS,
        "LimitPushdown" | "offset_in_scan" => Contents::LIMITS,
        "LimitedDistinctAggregation" => Contents::LIMITS | Contents::AGGREGATES,
        "OutputRequirements" | "PushdownSort" | "TopKRepartition" | "first_rows_at_once" | "columns_late"
        | "keys_from_the_end" | "long_sorts" | "sort_rows" => Contents::SORTS,
        "last_rows_first" => Contents::SORTS | Contents::LIMITS,
        "LimitAggregation" => Contents::SORTS | Contents::AGGREGATES,
        "aggregate_statistics" | "counts_known" => Contents::AGGREGATES | Contents::COUNTED,
        "CombinePartialFinalAggregate"
        | "OptimizeAggregateOrder"
        | "totals_in_scan"
        | "aggregate_numbers" => Contents::AGGREGATES,
        "ProjectionPushdown" => Contents::PROJECTIONS,
        "FilterPushdown" => Contents::FILTERS,
        _ => Contents::NOTHING,
    }
}

/// A rule that is asked only where it may have something to do.
pub(super) fn gated(
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    match needs(rule.name()) {
        Contents::NOTHING => rule,
        needs => Arc::new(Gated { rule, needs }),
    }
}

#[derive(Debug)]
struct Gated {
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
    needs: Contents,
}

impl PhysicalOptimizerRule for Gated {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match Contents::of(plan.as_ref()).has_all(self.needs) {
            true => self.rule.optimize(plan, config),
            false => Ok(plan),
        }
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match Contents::of(plan.as_ref()).has_all(self.needs) {
            true => self.rule.optimize_with_context(plan, context),
            false => Ok(plan),
        }
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}
