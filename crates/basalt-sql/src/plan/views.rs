// SPDX-License-Identifier: Apache-2.0
//! A view as the planner sees it: its rows are those of a scan under the view's condition.

use std::sync::Arc;

use datafusion::common::{Result as PlanResult, TableReference};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{LogicalPlanBuilder, TableSource};
use datafusion::sql::sqlparser::ast::Expr;

use super::{Planning, families};
use crate::scan::BasaltTable;

/// The rows of `table` for which `condition` is true.
pub(super) fn filtered(
    planning: &Planning,
    name: TableReference,
    table: &Arc<BasaltTable>,
    condition: &Expr,
) -> PlanResult<Arc<dyn TableSource>> {
    let mut condition = condition.clone();
    families::resolve_expr(&mut condition, table);
    let scan = LogicalPlanBuilder::scan(name, provider_as_source(Arc::clone(table) as _), None)?;
    let condition = planning.expression(condition, scan.schema())?;
    Ok(provider_as_source(Arc::new(ViewTable::new(scan.filter(condition)?.build()?, None))))
}
