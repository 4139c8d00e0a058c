// SPDX-License-Identifier: Apache-2.0
//! Memory of window functions. One whose frame reaches to the end of its partition (`SUM(x) OVER (PARTITION BY g)`) needs rows that are still to
//! come: DataFusion's operator keeps its whole input, joins it into one batch, and asks the budget for none of that. [`Kept`] below it
//! asks for it, so that a statement which needs more than there is ends with an error and not with the process.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, Statistics, replace_children_if_necessary,
};
use futures::StreamExt;

/// A batch, and its part of the one that all are joined into.
const COPIES: usize = 2;

/// The rule, for behind all others.
#[derive(Debug)]
pub struct WindowsAskForMemory;

impl PhysicalOptimizerRule for WindowsAskForMemory {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let asking = |plan: Arc<dyn ExecutionPlan>| {
            let Some(window) = plan.downcast_ref::<WindowAggExec>() else { return Ok(Transformed::no(plan)) };
            // One below another asks for the same rows again: each keeps them.
            let input: Arc<dyn ExecutionPlan> = Arc::new(Kept { input: Arc::clone(window.input()) });
            replace_children_if_necessary(Arc::clone(&plan), vec![input]).map(Transformed::yes)
        };
        plan.transform_up(asking).data()
    }

    fn name(&self) -> &str {
        "windows_ask_for_memory"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The rows of its input, for an operator that keeps them all.
#[derive(Debug)]
struct Kept {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for Kept {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Kept")
    }
}

impl ExecutionPlan for Kept {
    fn name(&self) -> &str {
        "Kept"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { input: Arc::clone(&children[0]) }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let consumer = MemoryConsumer::new(format!("WindowAggExec[{partition}]"));
        // It lives as long as the stream, which is as long as the operator above.
        let reservation = consumer.register(context.memory_pool());
        let kept = input.map(move |batch| {
            let batch = batch?;
            reservation.try_grow(COPIES * bytes(&batch)?)?;
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, kept)))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }
}

fn bytes(batch: &RecordBatch) -> Result<usize> {
    let mut bytes = 0;
    for column in batch.columns() {
        // The texts of views are not among what a slice takes.
        bytes += column.to_data().get_slice_memory_size()?;
        bytes += match column.data_type() {
            DataType::Utf8View => column.as_string_view().total_buffer_bytes_used(),
            DataType::BinaryView => column.as_binary_view().total_buffer_bytes_used(),
            _ => 0,
        };
    }
    Ok(bytes)
}
