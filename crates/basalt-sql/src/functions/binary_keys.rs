// SPDX-License-Identifier: Apache-2.0
//! Literals beside a BINARY(n) column of the primary key: a shorter one is padded with zero bytes, as the values of the column are
//! and as Phoenix does. Outside of the key Phoenix compares such a literal as it is, and so does the planner.

use basalt_hfile::typed::{PADDED_METADATA, TYPE_METADATA};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// The rule.
#[derive(Debug, Default)]
pub(crate) struct PaddedKeys;

impl AnalyzerRule for PaddedKeys {
    fn name(&self) -> &str {
        "padded_keys"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(rewrite_plan).map(|rewritten| rewritten.data)
    }
}

fn rewrite_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if matches!(plan, LogicalPlan::TableScan(_) | LogicalPlan::Extension(_) | LogicalPlan::Values(_)) {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    if !schema.fields().iter().any(|field| field.metadata().contains_key(PADDED_METADATA)) {
        return Ok(Transformed::no(plan));
    }
    let preserver = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = preserver.save(&expr);
        let rewritten = expr.transform_up(|expr| Ok(rewrite(expr, &schema)))?;
        Ok(rewritten.update_data(|expr| name.restore(expr)))
    })
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let (left, right) = match (key_width(&left, schema), key_width(&right, schema)) {
                (Some(width), None) => (left, Box::new(padded(*right, width))),
                (None, Some(width)) => (Box::new(padded(*left, width)), right),
                _ => return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            };
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let Some(width) = key_width(&expr, schema) else {
                return Transformed::no(Expr::InList(InList { expr, list, negated }));
            };
            let list = list.into_iter().map(|item| padded(item, width)).collect();
            Transformed::yes(Expr::InList(InList { expr, list, negated }))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let Some(width) = key_width(&expr, schema) else {
                return Transformed::no(Expr::Between(Between { expr, negated, low, high }));
            };
            let (low, high) = (Box::new(padded(*low, width)), Box::new(padded(*high, width)));
            Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
        }
        expr => Transformed::no(expr),
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// The n of a key column of type BINARY(n).
fn key_width(expr: &Expr, schema: &DFSchema) -> Option<usize> {
    let Expr::Column(_) = expr else { return None };
    let (_, field) = expr.to_field(schema).ok()?;
    let metadata = field.metadata();
    metadata.get(PADDED_METADATA)?;
    metadata.get(TYPE_METADATA)?.strip_prefix("BINARY(")?.strip_suffix(')')?.parse().ok()
}

/// A literal of bytes, or a text that stands for its bytes, of at least this many; anything else as it is, also an empty one, which is
/// NULL.
fn padded(expr: Expr, width: usize) -> Expr {
    let (bytes, metadata) = match expr {
        Expr::Literal(ScalarValue::Binary(Some(bytes)), metadata) => (bytes, metadata),
        Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) => (text.into_bytes(), metadata),
        expr => return expr,
    };
    let mut bytes = bytes;
    if !bytes.is_empty() && bytes.len() < width {
        bytes.resize(width, 0);
    }
    Expr::Literal(ScalarValue::Binary(Some(bytes)), metadata)
}
