// SPDX-License-Identifier: Apache-2.0
//! Views and samples as the planner sees them: their rows are those of a scan under a condition.

use std::sync::Arc;

use datafusion::common::{Result as PlanResult, TableReference};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{LogicalPlanBuilder, TableSource};
use datafusion::sql::sqlparser::ast::Expr;

use super::sample::Sample;
use super::{Planning, families};
use crate::scan::BasaltTable;

/// The rows of `table` for which `condition` is true and that are in the sample.
pub(super) fn filtered(
    planning: &Planning,
    name: TableReference,
    table: &Arc<BasaltTable>,
    condition: Option<&Expr>,
    sample: Option<Sample>,
) -> PlanResult<Arc<dyn TableSource>> {
    let mut rows = LogicalPlanBuilder::scan(name, provider_as_source(Arc::clone(table) as _), None)?;
    if let Some(condition) = condition {
        let mut condition = condition.clone();
        families::resolve_expr(&mut condition, table);
        let condition = planning.expression(condition, rows.schema())?;
        rows = rows.filter(condition)?;
    }
    if let Some(is_in) = sample.and_then(|sample| sample.condition(table)) {
        rows = rows.filter(is_in)?;
    }
    Ok(provider_as_source(Arc::new(ViewTable::new(rows.build()?, None))))
}
