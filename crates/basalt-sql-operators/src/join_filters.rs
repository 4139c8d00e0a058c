// SPDX-License-Identifier: Apache-2.0
//! Conditions of joins that sort, told that their columns may be NULL. DataFusion 55 evaluates them on pairs of rows of which one
//! side may be missing (of outer joins), and refuses the NULLs there if a column is one that has none in its table.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::joins::utils::JoinFilter;

/// The rule, for any time after joins are chosen.
#[derive(Debug)]
pub struct NullableJoinFilters;

impl PhysicalOptimizerRule for NullableJoinFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of_plan = |plan: Arc<dyn ExecutionPlan>| match mended(plan.as_ref())? {
            Some(join) => Ok(Transformed::yes(join)),
            None => Ok(Transformed::no(plan)),
        };
        plan.transform_up(of_plan).data()
    }

    fn name(&self) -> &str {
        "nullable_join_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The join with a condition that takes NULLs, if it is one that would not.
fn mended(plan: &dyn ExecutionPlan) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() else { return Ok(None) };
    let strict = |filter: &&JoinFilter| filter.schema().fields().iter().any(|field| !field.is_nullable());
    let Some(filter) = join.filter.as_ref().filter(strict) else { return Ok(None) };
    let fields: Vec<Field> =
        filter.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, filter.schema().metadata().clone()));
    let filter = JoinFilter::new(Arc::clone(filter.expression()), filter.column_indices().to_vec(), schema);
    let mended = SortMergeJoinExec::try_new(
        Arc::clone(&join.left),
        Arc::clone(&join.right),
        join.on.clone(),
        Some(filter),
        join.join_type,
        join.sort_options.clone(),
        join.null_equality,
    )?;
    Ok(Some(Arc::new(mended)))
}
