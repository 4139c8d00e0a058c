// SPDX-License-Identifier: Apache-2.0
//! Products keep their types. Where a column is never NULL, DataFusion 55 puts zero in the place of its product with zero, and of its rest by one: a zero with the
//! digits that the literal has, not those of the product. What compares it, or another query of a UNION, then has a DECIMAL of another scale beside it, and fails.
//! While expressions are simplified each such product of DECIMALs stands in a cast to its own type, which is gone afterwards or has been given to the zero.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule that simplifies expressions.
#[derive(Debug)]
pub(super) struct ProductTypes(pub(super) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for ProductTypes {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if plan.inputs().is_empty() || !has_product(&plan)? {
            return self.0.rewrite(plan, config);
        }
        let schema = merge_schema(&plan.inputs());
        let kept = plan.map_expressions(|expr| expr.transform_up(|expr| Ok(kept(expr, &schema))))?;
        let simplified = self.0.rewrite(kept.data, config)?;
        simplified.map_data(|plan| {
            Ok(plan.map_expressions(|expr| expr.transform_up(|expr| Ok(bare(expr, &schema))))?.data)
        })
    }
}

fn is_product(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Multiply | Operator::Modulo, .. }))
}

fn has_product(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= expr.exists(|expr| Ok(is_product(expr)))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// A product of DECIMALs in a cast to its type; anything else as it is.
fn kept(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr.get_type(schema) {
        Ok(own @ (DataType::Decimal128(..) | DataType::Decimal256(..))) if is_product(&expr) => {
            Transformed::yes(Expr::Cast(Cast::new(Box::new(expr), own)))
        }
        _ => Transformed::no(expr),
    }
}

/// A product without a cast to the type that it has.
fn bare(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::Cast(Cast { expr, field })
            if is_product(&expr) && expr.get_type(schema).is_ok_and(|own| own == *field.data_type()) =>
        {
            Transformed::yes(*expr)
        }
        expr => Transformed::no(expr),
    }
}
