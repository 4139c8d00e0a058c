// SPDX-License-Identifier: Apache-2.0
//! Joins by IS NOT DISTINCT FROM keep their rows with NULL. DataFusion 55 takes joins that lie below each other apart and puts them
//! together again in another way, all of them with what the uppermost says of NULL: one by `=` above one by IS NOT DISTINCT FROM
//! loses that one's NULLs, and the other way round NULL would equal NULL where nobody said so. Plans with such a join are spared: their
//! conditions still find their way to the joins, by the rule that pushes conditions down.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule that makes joins of cross joins, where all joins say the same of NULL.
#[derive(Debug)]
pub(super) struct NullJoins(pub(super) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for NullJoins {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match has_null_join(&plan)? {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

/// True of a plan with an inner join, wherever it lies, for which NULL equals NULL.
fn has_null_join(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= matches!(plan, LogicalPlan::Join(join)
            if join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNull);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
