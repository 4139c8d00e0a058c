// SPDX-License-Identifier: Apache-2.0
//! OFFSET inside of the scan: rows that nobody will see are counted, where the files say how many there are, and not read.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use super::BasaltScan;

/// Moves an OFFSET into the scan below it. The scan then has one partition: what comes behind the offset is read by one
/// thread, so this is for offsets that are larger than what is read behind them.
#[derive(Debug)]
pub(crate) struct OffsetInScan;

impl PhysicalOptimizerRule for OffsetInScan {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let moved = |plan: Arc<dyn ExecutionPlan>| {
            let below = plan.downcast_ref::<GlobalLimitExec>().and_then(|limit| {
                let (skip, fetch) = (limit.skip(), limit.fetch());
                let worth_it =
                    skip >= config.execution.batch_size.get() && fetch.is_none_or(|fetch| skip >= fetch);
                worth_it.then(|| without_first(limit.input(), skip, fetch)).flatten()
            });
            Ok(below.map_or_else(|| Transformed::no(plan), Transformed::yes))
        };
        plan.transform_down(moved).data()
    }

    fn name(&self) -> &str {
        "offset_in_scan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan without its first rows, if it does nothing to rows but hand them on.
fn without_first(
    plan: &Arc<dyn ExecutionPlan>,
    skip: usize,
    fetch: Option<usize>,
) -> Option<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<BasaltScan>() {
        let worth_it = fetch.is_some() || skip >= scan.rows_estimate() / 2;
        return worth_it.then(|| scan.skipping(skip, fetch)).flatten().map(|scan| Arc::new(scan) as _);
    }
    let wanted = fetch.map(|fetch| skip.saturating_add(fetch));
    let enough = plan.fetch().is_none_or(|own| wanted.is_some_and(|wanted| own >= wanted));
    let hands_on = plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<LocalLimitExec>();
    if hands_on && enough {
        return without_first(plan.children().first()?, skip, fetch);
    }
    if plan.is::<ProjectionExec>() {
        let child = without_first(plan.children().first()?, skip, fetch)?;
        let recompute = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        return Arc::clone(plan).replace_children(vec![child], recompute).ok();
    }
    None
}
