// SPDX-License-Identifier: Apache-2.0
//! Keys of windows that compare what functions make: `OVER (PARTITION BY a + 1 > 2 ORDER BY UPPER(b) < 'M')`. DataFusion 55 asks how such a comparison is ordered by
//! the bounds of its sides, and a function that says nothing of its bounds gives them the type NULL, beside which nothing can be: the question fails, and
//! the window is refused for rows that are sorted as it wants. The comparison becomes a column of the rows below, which is not asked.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Projection, Window};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule, for before all others.
#[derive(Debug)]
pub(super) struct WindowKeys;

impl OptimizerRule for WindowKeys {
    fn name(&self) -> &str {
        "window_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = plan else { return Ok(Transformed::no(plan)) };
        let mut keys: Vec<(Expr, Column)> = vec![];
        let mut windows = vec![];
        for expr in &window.window_expr {
            let replaced = expr.clone().transform_down(|expr| {
                let Expr::WindowFunction(mut of) = expr else { return Ok(Transformed::no(expr)) };
                let sorted = of.params.order_by.iter_mut().map(|sort| &mut sort.expr);
                for key in of.params.partition_by.iter_mut().chain(sorted) {
                    if compares(key)? {
                        let column = known(&mut keys, key, config);
                        *key = Expr::Column(column);
                    }
                }
                Ok(Transformed::yes(Expr::WindowFunction(of)))
            })?;
            windows.push(replaced.data);
        }
        if keys.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let of_input = window.input.schema().columns().into_iter().map(Expr::Column);
        let count = window.input.schema().fields().len();
        let below = of_input.clone().chain(keys.into_iter().map(|(key, column)| key.alias(column.name)));
        let below = Projection::try_new(below.collect(), Arc::clone(&window.input))?;
        let made = Window::try_new(windows, Arc::new(LogicalPlan::Projection(below)))?;
        // The columns and names of before.
        let made_columns = made.schema.columns();
        let results = &made_columns[made_columns.len() - window.window_expr.len()..];
        let names = window.schema.columns().into_iter().skip(count);
        let results = results.iter().zip(names).map(|(made, before)| {
            let made = Expr::Column(made.clone());
            made.alias_qualified(before.relation, before.name)
        });
        let above = of_input.chain(results).collect();
        let above = Projection::try_new(above, Arc::new(LogicalPlan::Window(made)))?;
        Ok(Transformed::yes(LogicalPlan::Projection(above)))
    }
}

/// True of an expression with a comparison in it by which something is before something else.
fn compares(expr: &Expr) -> Result<bool> {
    use Operator::{Gt, GtEq, Lt, LtEq};
    expr.exists(|expr| {
        let is_comparison = matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Lt | LtEq | Gt | GtEq, .. }));
        Ok(is_comparison || matches!(expr, Expr::Between(_)))
    })
}

/// The column that a key becomes, one for all that are the same.
fn known(keys: &mut Vec<(Expr, Column)>, key: &Expr, config: &dyn OptimizerConfig) -> Column {
    if let Some((_, column)) = keys.iter().find(|(known, _)| known == key) {
        return column.clone();
    }
    let column = Column::new_unqualified(config.alias_generator().next("$window_key"));
    keys.push((key.clone(), column.clone()));
    column
}
