// SPDX-License-Identifier: Apache-2.0
//! The last rows by the key, as the latest of something: a sort with a limit that wants them asks the scan to begin at the end of the key. What it finds there
//! soon tells the scan that nothing before it is wanted.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::BasaltScan;

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
            let scan = column.and_then(|column| turned_round(sort.input(), column, first.options.descending));
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

/// A scan, below projections, that begins with the greatest values of this column, or the least.
fn turned_round(
    plan: &Arc<dyn ExecutionPlan>,
    column: usize,
    descending: bool,
) -> Option<Result<Arc<dyn ExecutionPlan>>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let below = projection.expr()[column].expr.downcast_ref::<Column>()?.index();
        let input = turned_round(projection.input(), below, descending)?;
        return Some(input.and_then(|input| replace_children_if_necessary(Arc::clone(plan), vec![input])));
    }
    let scan = plan.downcast_ref::<BasaltScan>()?.backwards(column, descending)?;
    Some(Ok(Arc::new(scan)))
}
