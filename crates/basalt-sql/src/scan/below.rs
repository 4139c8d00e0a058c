// SPDX-License-Identifier: Apache-2.0
//! Scans below projections that only choose columns.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::BasaltScan;

/// The plan with another scan in the place of the one that is its end. `change` is asked for it, with the columns of the scan that these
/// columns of the plan are; `None` if they are none, or there is no other.
pub(super) fn changed(
    plan: &Arc<dyn ExecutionPlan>,
    mut columns: Vec<usize>,
    change: impl FnOnce(&BasaltScan, &[usize]) -> Option<BasaltScan>,
) -> Option<Result<Arc<dyn ExecutionPlan>>> {
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else {
        let scan = change(plan.downcast_ref::<BasaltScan>()?, &columns)?;
        return Some(Ok(Arc::new(scan)));
    };
    for column in &mut columns {
        *column = projection.expr()[*column].expr.downcast_ref::<Column>()?.index();
    }
    let input = changed(projection.input(), columns, change)?;
    Some(input.and_then(|input| replace_children_if_necessary(Arc::clone(plan), vec![input])))
}
