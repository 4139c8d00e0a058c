// SPDX-License-Identifier: Apache-2.0
//! `EXCEPT ALL` and `INTERSECT ALL` count rows: of a row that is there three times on the left and once on the right, two are left or one is common. DataFusion 55
//! makes a join of them that looks only whether a row is there at all. Here equal rows of each side are numbered first, so that no two rows of a side
//! are the same, and the join tells them apart by their number.
//!
//! Such a join is known by its kind and by taking NULLs as equal, which nothing else that is written in SQL becomes before subqueries do. Without ALL its left
//! side is distinct rows, of which there is one each: the join is right as it is.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Distinct, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder, col};
use datafusion::optimizer::AnalyzerRule;

/// Of a row of the left side, how many equal ones came before it, and it.
const OF_LEFT: &str = "$of_left";
const OF_RIGHT: &str = "$of_right";

/// The rule, for before types are made equal.
#[derive(Debug)]
pub(crate) struct CountedRows;

impl AnalyzerRule for CountedRows {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Join(join) if counts_rows(&join) => counted(join).map(Transformed::yes),
            plan => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "counted_rows"
    }
}

fn counts_rows(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftAnti | JoinType::LeftSemi)
        && join.null_equality == NullEquality::NullEqualsNull
        && !matches!(&*join.left, LogicalPlan::Distinct(Distinct::All(_)))
}

/// The join of numbered rows, without their numbers.
fn counted(join: Join) -> Result<LogicalPlan> {
    let Join { left, right, mut on, filter, join_type, join_constraint, null_equality, null_aware, .. } =
        join;
    let columns = left.schema().columns();
    let (lefts, rights): (Vec<Expr>, Vec<Expr>) = on.iter().cloned().unzip();
    let (left, right) = (numbered(left, lefts, OF_LEFT)?, numbered(right, rights, OF_RIGHT)?);
    on.push((col(OF_LEFT), col(OF_RIGHT)));
    let (left, right) = (Arc::new(left), Arc::new(right));
    let join = Join::try_new(left, right, on, filter, join_type, join_constraint, null_equality, null_aware)?;
    LogicalPlanBuilder::from(LogicalPlan::Join(join)).project(columns.into_iter().map(Expr::Column))?.build()
}

/// Rows with the number that each has among those equal to it.
fn numbered(rows: Arc<LogicalPlan>, columns: Vec<Expr>, name: &str) -> Result<LogicalPlan> {
    let number = row_number().partition_by(columns).build()?.alias(name);
    LogicalPlanBuilder::from(rows).window([number])?.build()
}
