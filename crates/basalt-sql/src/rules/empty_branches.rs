// SPDX-License-Identifier: Apache-2.0
//! What is left of a UNION of which all queries but one have no rows. DataFusion 55 puts a projection above that one, which names the columns as the UNION
//! does: without a table, where the query's own are of one. A condition that moves down through it takes that name along, and below a join
//! it is that of the first column which is called so, of any table. Here the projection names the query's columns.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule that takes away what has no rows.
#[derive(Debug)]
pub(super) struct EmptyBranches(pub(super) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for EmptyBranches {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let union = match &plan {
            LogicalPlan::Union(union) => Some(Arc::clone(&union.schema)),
            _ => None,
        };
        let rewritten = self.0.rewrite(plan, config)?;
        rewritten.map_data(|plan| match (plan, union) {
            // A query that has the UNION's names may be a projection itself, of columns of its own.
            (LogicalPlan::Projection(projection), Some(union)) if Arc::ptr_eq(&projection.schema, &union) => {
                with_own_names(projection)
            }
            (plan, _) => Ok(plan),
        })
    }
}

/// A projection of all columns of its input, in their order, that calls them what they are called there.
fn with_own_names(projection: Projection) -> Result<LogicalPlan> {
    let own = projection.input.schema().columns();
    let named = own.into_iter().zip(projection.schema.columns()).map(|(own, wanted)| match own == wanted {
        true => Expr::Column(own),
        false => Expr::Column(own).alias_qualified(wanted.relation, wanted.name),
    });
    let (named, input, schema) = (named.collect(), projection.input, projection.schema);
    Ok(LogicalPlan::Projection(Projection::try_new_with_schema(named, input, schema)?))
}
