// SPDX-License-Identifier: Apache-2.0
//! Tells tables in which order a query wants their rows, so that an index that has it can be chosen for that.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Sort, SubqueryAlias, TableScan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use crate::scan::{BasaltTable, WantedColumn, WantedOrder};

/// The rule, for when conditions and limits are where they belong.
#[derive(Debug)]
pub(super) struct IndexOrders;

impl OptimizerRule for IndexOrders {
    fn name(&self) -> &str {
        "index_orders"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Sort(mut sort) = plan else { return Ok(Transformed::no(plan)) };
        let told = told(&sort);
        Ok(match told {
            Some(input) => {
                sort.input = Arc::new(input);
                Transformed::yes(LogicalPlan::Sort(sort))
            }
            None => Transformed::no(LogicalPlan::Sort(sort)),
        })
    }
}

/// The input of the sort with a table that knows of it; `None` if it is another input, or knows already.
fn told(sort: &Sort) -> Option<LogicalPlan> {
    let mut columns = vec![];
    for sorted in &sort.expr {
        let Expr::Column(column) = &sorted.expr else { return None };
        columns.push((column.clone(), !sorted.asc, sorted.nulls_first));
    }
    below(&sort.input, columns, sort.fetch)
}

/// The columns that are sorted by, as the node below has them; whether they descend, and whether NULLs come first.
type Columns = Vec<(Column, bool, bool)>;

fn below(plan: &LogicalPlan, mut columns: Columns, fetch: Option<usize>) -> Option<LogicalPlan> {
    match plan {
        LogicalPlan::Projection(projection) => {
            for (column, ..) in &mut columns {
                *column = source(projection, column)?;
            }
            let input = below(&projection.input, columns, fetch)?;
            let made = Projection::try_new(projection.expr.clone(), Arc::new(input)).ok()?;
            Some(LogicalPlan::Projection(made))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            for (column, ..) in &mut columns {
                let at = alias.schema.maybe_index_of_column(column)?;
                *column = alias.input.schema().columns().swap_remove(at);
            }
            let input = below(&alias.input, columns, fetch)?;
            let made = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone()).ok()?;
            Some(LogicalPlan::SubqueryAlias(made))
        }
        LogicalPlan::TableScan(scan) => {
            let of_table = |(column, descending, nulls_first): (Column, bool, bool)| WantedColumn {
                name: column.name,
                descending,
                nulls_first,
            };
            let columns = columns.into_iter().map(of_table).collect();
            let source = source_as_provider(&scan.source).ok()?;
            let any: &dyn std::any::Any = source.as_ref();
            let table = any.downcast_ref::<BasaltTable>()?.in_order(WantedOrder { columns, fetch })?;
            let source = provider_as_source(Arc::new(table));
            Some(LogicalPlan::TableScan(TableScan { source, ..scan.clone() }))
        }
        _ => None,
    }
}

/// The column of the input that a column of the list is.
fn source(projection: &Projection, column: &Column) -> Option<Column> {
    let at = projection.schema.maybe_index_of_column(column)?;
    match projection.expr[at].clone().unalias() {
        Expr::Column(column) => Some(column),
        _ => None,
    }
}
