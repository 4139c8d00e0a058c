// SPDX-License-Identifier: Apache-2.0
//! `ORDER BY key DESC`: nothing is sorted, the scan goes through its key from the end.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::below;

/// Puts a scan from the end in the place of a sort of all rows by the key in the opposite order. (A sort that keeps a few of the last rows
/// is better off with [`LastRowsFirst`](super::LastRowsFirst).) For before the rules that make something else of sorts.
#[derive(Debug)]
pub(crate) struct KeysFromTheEnd;

impl PhysicalOptimizerRule for KeysFromTheEnd {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let reversed = |plan: Arc<dyn ExecutionPlan>| {
            let Some(sort) = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_none()) else {
                return Ok(Transformed::no(plan));
            };
            let lies_alike = |input: &Arc<dyn ExecutionPlan>| {
                sort.preserve_partitioning()
                    || input.properties().output_partitioning().partition_count() == 1
            };
            let input = reversed(sort.input(), sort.expr().to_vec()).transpose()?;
            Ok(match input.filter(lies_alike) {
                Some(input) => Transformed::yes(input),
                None => Transformed::no(plan),
            })
        };
        plan.transform_down(reversed).data()
    }

    fn name(&self) -> &str {
        "keys_from_the_end"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A scan, below projections, whose rows come in this order because it goes through its key from the end.
fn reversed(
    plan: &Arc<dyn ExecutionPlan>,
    mut order: Vec<PhysicalSortExpr>,
) -> Option<Result<Arc<dyn ExecutionPlan>>> {
    let column = |sorted: &PhysicalSortExpr| Some(sorted.expr.downcast_ref::<Column>()?.index());
    let columns = order.iter().map(column).collect::<Option<_>>()?;
    below::changed(plan, columns, |scan, columns| {
        for (sorted, &column) in order.iter_mut().zip(columns) {
            sorted.expr = Arc::new(Column::new(scan.schema().field(column).name(), column));
        }
        scan.reversed(&order)
    })
}
