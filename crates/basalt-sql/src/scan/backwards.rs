// SPDX-License-Identifier: Apache-2.0
//! The last rows by the key, as the latest of something: a sort with a limit that wants them asks the scan to begin at the end of the key. What it finds there
//! soon tells the scan that nothing before it is wanted.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::below;

/// Turns scans round below sorts with a limit. For after the rule that hands conditions of sorts to scans, and before
/// [`ScansShareWork`](super::ScansShareWork), which deals such scans out.
#[derive(Debug)]
pub(crate) struct LastRowsFirst;

impl PhysicalOptimizerRule for LastRowsFirst {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let turned = |plan: Arc<dyn ExecutionPlan>| {
            let Some(sort) = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_some()) else {
                return Ok(Transformed::no(plan));
            };
            let first = sort.expr().first();
            let column = first.expr.downcast_ref::<Column>().map(Column::index);
            // One, below projections, that begins with the greatest values of this column, or the least.
            let scan = column.and_then(|column| {
                below::changed(sort.input(), vec![column], |scan, columns| {
                    scan.backwards(columns[0], first.options.descending)
                })
            });
            Ok(match scan {
                Some(input) => Transformed::yes(replace_children_if_necessary(plan, vec![input?])?),
                None => Transformed::no(plan),
            })
        };
        plan.transform_down(turned).data()
    }

    fn name(&self) -> &str {
        "last_rows_first"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
