// SPDX-License-Identifier: Apache-2.0
//! Left rows of nested-loop joins that come once, after all right rows: of LEFT joins those without a partner, of LEFT SEMI, ANTI and MARK
//! joins all. Which they are is known when every partition of the right input has been looked at.
//!
//! In memory DataFusion's join waits for that. When its left rows do not fit, it goes over to disk, and there each partition knows its own right rows
//! alone: a left row would come once per partition. So such a join of several right partitions may not go to disk. It fails for want of memory, and
//! the plan is made again with joins that need none, in which its right input is one partition:
//!
//! ```text
//! first plan    join without temporary files     inputs with them
//! second plan   join, goes to disk if it must    left    right, one partition
//! ```
//!
//! A FULL join never goes to disk: right rows without a partner were seen missing there.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{JoinType, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

/// True if left rows of the join come after the right rows of several partitions.
pub(crate) fn wait_for_partitions(join: &NestedLoopJoinExec) -> bool {
    use JoinType::{Left, LeftAnti, LeftMark, LeftSemi};
    matches!(join.join_type(), Left | LeftSemi | LeftAnti | LeftMark)
        && join.right().output_partitioning().partition_count() > 1
}

/// True if this is the plan of joins that need no memory.
pub(crate) fn may_spill(config: &ConfigOptions) -> bool {
    !config.optimizer.prefer_hash_join
}

/// The same rows in one partition.
pub(crate) fn in_one_partition(input: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    Arc::new(CoalescePartitionsExec::new(Arc::clone(input)))
}

/// What a context was before temporary files were taken from it.
struct WithFiles(Arc<TaskContext>);

/// The context for a join that must do with memory.
pub(crate) fn without_files(context: Arc<TaskContext>) -> Result<Arc<TaskContext>> {
    let none = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let runtime = RuntimeEnvBuilder::from_runtime_env(&context.runtime_env()).with_disk_manager_builder(none);
    let config = context.session_config().clone().with_extension(Arc::new(WithFiles(Arc::clone(&context))));
    Ok(Arc::new(TaskContext::new(
        context.task_id(),
        context.session_id(),
        config,
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        runtime.build_arc()?,
    )))
}

/// The context for its inputs.
pub(crate) fn with_files(context: Arc<TaskContext>) -> Arc<TaskContext> {
    let before = context.session_config().get_extension::<WithFiles>();
    before.map_or(context, |before| Arc::clone(&before.0))
}
