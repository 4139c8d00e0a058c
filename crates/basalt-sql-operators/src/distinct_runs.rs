// SPDX-License-Identifier: Apache-2.0
//! Distinct rows of an input in which equal rows follow each other: the first of each run.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
};
use futures::StreamExt;

/// In place of an aggregation of nothing by columns in whose order the rows come.
#[derive(Debug)]
pub(crate) struct DistinctRuns {
    input: Arc<dyn ExecutionPlan>,
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl DistinctRuns {
    /// `None` if the aggregation is none such.
    pub(crate) fn of(aggregation: &AggregateExec) -> Option<Self> {
        let group_by = aggregation.group_expr();
        let plain = group_by.is_single()
            && !group_by.is_empty()
            && *aggregation.input_order_mode() == InputOrderMode::Sorted
            && aggregation.limit_options().is_none()
            && aggregation.aggr_expr().is_empty();
        if !plain {
            return None;
        }
        let column = |expr: &Arc<dyn PhysicalExpr>| Some(expr.downcast_ref::<Column>()?.index());
        let columns = group_by.expr().iter().map(|(expr, _)| column(expr)).collect::<Option<_>>()?;
        Some(Self {
            input: Arc::clone(aggregation.input()),
            columns,
            properties: Arc::clone(aggregation.properties()),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl DisplayAs for DistinctRuns {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let schema = self.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        match t {
            DisplayFormatType::TreeRender => write!(f, "columns={}", names.join(", ")),
            _ => write!(f, "DistinctRuns: columns=[{}]", names.join(", ")),
        }
    }
}

impl ExecutionPlan for DistinctRuns {
    fn name(&self) -> &str {
        "DistinctRuns"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self {
            input: children.remove(0),
            columns: self.columns.clone(),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (columns, schema) = (self.columns.clone(), self.schema());
        let mut last: Option<Vec<ArrayRef>> = None;
        let firsts = input.map(move |batch| {
            let batch = batch?;
            let timer = metrics.elapsed_compute().clone();
            let _running = timer.timer();
            let columns: Vec<ArrayRef> =
                columns.iter().map(|&index| Arc::clone(batch.column(index))).collect();
            let batch = RecordBatch::try_new(SchemaRef::clone(&schema), columns)?;
            Ok(firsts(&batch, &mut last)?.record_output(&metrics))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), firsts)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The rows that differ from the one before. `last` is the row before the first one, and is moved on.
fn firsts(batch: &RecordBatch, last: &mut Option<Vec<ArrayRef>>) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    if rows == 0 {
        return Ok(batch.clone());
    }
    let mut differs = BooleanBuffer::new_unset(rows - 1);
    let mut first = last.is_none();
    for (index, column) in batch.columns().iter().enumerate() {
        let (above, below) = (column.slice(0, rows - 1), column.slice(1, rows - 1));
        differs = &differs | distinct(&above, &below)?.values();
        if let Some(last) = last {
            first |= distinct(&last[index], &column.slice(0, 1))?.value(0);
        }
    }
    *last = Some(batch.columns().iter().map(|column| column.slice(rows - 1, 1)).collect());
    let kept = std::iter::once(first).chain(differs.iter()).collect::<BooleanBuffer>();
    Ok(filter_record_batch(batch, &BooleanArray::from(kept))?)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{AsArray, Int64Array, StringViewArray};
    use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};

    use super::*;

    #[test]
    fn runs_go_on_from_batch_to_batch() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("t", DataType::Utf8View, true),
        ]));
        let batches: [&[(Option<i64>, &str)]; 5] = [
            &[(None, "a"), (None, "a"), (None, "b")],
            &[(None, "b")],
            &[],
            &[(None, "b"), (Some(1), "b"), (Some(1), "b")],
            &[(Some(1), "c"), (Some(2), "c")],
        ];
        let mut last = None;
        let mut found = vec![];
        for rows in batches {
            let keys: ArrayRef = Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0)));
            let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(rows.iter().map(|row| row.1)));
            let batch = RecordBatch::try_new(SchemaRef::clone(&schema), vec![keys, texts]).expect("fits");
            let firsts = firsts(&batch, &mut last).expect("columns of two types");
            let keys = firsts.column(0).as_primitive::<Int64Type>();
            let texts = firsts.column(1).as_string_view();
            found.extend(keys.iter().zip(texts.iter().flatten().map(str::to_owned)));
        }
        let expected = [(None, "a"), (None, "b"), (Some(1), "b"), (Some(1), "c"), (Some(2), "c")];
        assert_eq!(found, expected.map(|(key, text)| (key, text.to_owned())));
    }
}
