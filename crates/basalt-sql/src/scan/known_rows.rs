// SPDX-License-Identifier: Apache-2.0
//! COUNT(*) of a table whose files say how many rows it has: nothing is read. The planner has a rule that puts the number itself into
//! the plan; [`KnownRows`] keeps the scan in its place, so that EXPLAIN names it and a plan that is kept can be asked again.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::stream;

use super::BasaltScan;

/// Puts [`KnownRows`] in the place of counts of all rows.
#[derive(Debug)]
pub(crate) struct CountsKnown;

impl PhysicalOptimizerRule for CountsKnown {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|plan| Ok(known(&plan).map_or_else(|| Transformed::no(plan), Transformed::yes)))
            .data()
    }

    fn name(&self) -> &str {
        "counts_known"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn known(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let aggregation = plan.downcast_ref::<AggregateExec>()?;
    let of_all = |aggregate: &Arc<AggregateFunctionExpr>| {
        let is_count = aggregate.fun().name() == "count" && !aggregate.is_distinct();
        is_count && matches!(aggregate.expressions().as_slice(), [one] if is_value(one))
    };
    let is_whole = matches!(aggregation.mode(), AggregateMode::Final | AggregateMode::Single)
        && aggregation.group_expr().is_empty()
        && aggregation.filter_expr().iter().all(Option::is_none)
        && aggregation.aggr_expr().iter().all(of_all)
        && aggregation.schema().fields().iter().all(|field| *field.data_type() == DataType::Int64);
    let scan = is_whole.then(|| scan_below(aggregation.input())).flatten()?;
    let properties = PlanProperties::new(
        EquivalenceProperties::new(aggregation.schema()),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Final,
        Boundedness::Bounded,
    );
    // One row lets others run.
    let properties = properties.with_scheduling_type(SchedulingType::Cooperative);
    Some(Arc::new(KnownRows { scan: Arc::clone(scan), properties: Arc::new(properties) }))
}

/// True of a literal that is not NULL.
fn is_value(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Literal>().is_some_and(|literal| !literal.value().is_null())
}

/// The scan whose rows these are, if their number is known.
fn scan_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<BasaltScan>() {
        return scan.rows_exact().map(|_| plan);
    }
    let is_first_step =
        |step: &AggregateExec| *step.mode() == AggregateMode::Partial && step.group_expr().is_empty();
    let passes_all = plan.is::<CoalescePartitionsExec>() && plan.fetch().is_none()
        || plan.is::<ProjectionExec>()
        || plan.downcast_ref::<AggregateExec>().is_some_and(is_first_step);
    let [input] = plan.children()[..] else { return None };
    passes_all.then(|| scan_below(input)).flatten()
}

/// As many numbers as there are counts, each of them that of a scan's rows.
#[derive(Debug)]
pub(super) struct KnownRows {
    /// A [`BasaltScan`], or the outline of one.
    scan: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl KnownRows {
    pub(super) fn scan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.scan
    }

    /// The same of another scan, or of an outline; `None` if the number of its rows is not known.
    pub(super) fn of(&self, scan: Arc<dyn ExecutionPlan>) -> Option<Self> {
        let is_known = scan.downcast_ref::<BasaltScan>().is_none_or(|scan| scan.rows_exact().is_some());
        is_known.then(|| Self { scan, properties: Arc::clone(&self.properties) })
    }
}

impl DisplayAs for KnownRows {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let scan = self.scan.downcast_ref::<BasaltScan>();
        let (table, rows) = (scan.map(BasaltScan::table_name), scan.and_then(BasaltScan::rows_exact));
        let table = table.map(ToString::to_string).unwrap_or_default();
        match t {
            DisplayFormatType::TreeRender => write!(f, "table={table}\nrows={}", rows.unwrap_or(0)),
            _ => write!(f, "KnownRows: table={table}, rows={}", rows.unwrap_or(0)),
        }
    }
}

impl ExecutionPlan for KnownRows {
    fn name(&self) -> &str {
        "KnownRows"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.scan.downcast_ref::<BasaltScan>().and_then(BasaltScan::rows_exact);
        let Some(rows) = rows else {
            return internal_err!("a number of rows is not known when it is asked for");
        };
        let schema = self.schema();
        let number = || Arc::new(Int64Array::from(vec![rows as i64])) as ArrayRef;
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), schema.fields().iter().map(|_| number()).collect())?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter([Ok(batch)]))))
    }
}
