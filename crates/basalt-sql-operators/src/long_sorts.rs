// SPDX-License-Identifier: Apache-2.0
//! `ORDER BY .. LIMIT m OFFSET n` with many rows to leave out. DataFusion keeps the first m + n rows in memory while it sorts, which costs less than
//! a whole sort as long as they fit, and cannot spill them. In the plan that is made when memory has not sufficed everything is
//! sorted, on disk if need be, and the limit stands above:
//!
//! ```text
//! SortExec: fetch=2000010    ->    LocalLimitExec: fetch=2000010
//!                                    SortExec
//! ```

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::left_rows::may_spill;

/// Fewer rows than these are kept in memory in any case.
const ROWS_MIN: usize = 1_000;

/// The rule, for behind those that put limits into sorts.
#[derive(Debug)]
pub struct LongSorts;

impl PhysicalOptimizerRule for LongSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !may_spill(config) {
            return Ok(plan);
        }
        let whole = |plan: Arc<dyn ExecutionPlan>| {
            let Some((sort, rows)) = kept(plan.as_ref()) else { return Ok(Transformed::no(plan)) };
            let sorted = Arc::new(sort.with_fetch(None));
            Ok(Transformed::yes(Arc::new(LocalLimitExec::new(sorted, rows)) as Arc<dyn ExecutionPlan>))
        };
        plan.transform_up(whole).data()
    }

    fn name(&self) -> &str {
        "long_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A sort that keeps many rows in memory, and how many.
pub fn kept(plan: &dyn ExecutionPlan) -> Option<(&SortExec, usize)> {
    let sort = plan.downcast_ref::<SortExec>()?;
    let rows = sort.fetch().filter(|rows| *rows >= ROWS_MIN)?;
    Some((sort, rows))
}
